#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Disk full, kill -9, two at once, 2,000 threads, hostile names.
. "$(dirname "$0")/lib.sh"
need_recording

busy() { # wakes and sleeps for some seconds
	timeout "$1" sh -c 'while :; do sleep 0.001; done' &
	pids+=($!)
}

# The figures of the last line on stderr against those of the file; rounded to three digits there.
summary_is_that_of() {
	"$HOURGLASS" info --format json "$1" >info.json 2>/dev/null && tail -1 err >summary &&
		python3 - "$(stat -c %s "$1")" <<-'EOF'
			import json, re, sys
			info = json.load(open("info.json"))
			summary = open("summary").read()
			unit = {"": 1, "k": 1e3, "M": 1e6}
			m = re.search(r": ([0-9.]+) s, ([0-9.]+) ?(k|M|) ?events, ([0-9.]+) (k|M|)B, 0 lost$", summary)
			assert m, summary
			def near(a, b, slack): assert abs(a - b) <= slack, (summary, a, b)
			events, size = float(m[2]) * unit[m[3]], float(m[4]) * unit[m[5]]
			near(float(m[1]), info["duration_ns"] / 1e9, 0.051)
			near(events, info["events"], 0.006 * info["events"])
			near(size, int(sys.argv[1]), 0.006 * size)
		EOF
}

# -- disk full --
mkdir full
if mount -t tmpfs -o size=128k none full; then
	mounted=$dir/full
	busy 20
	record -a -d 15 -o full/a.hgt -- sh -c 'sleep 16; echo finished'
	check "disk full: exit code 1" rc_is 1
	check "disk full: one sentence" test "$(grep -c error: err)" = 1
	check "disk full: said" says "cannot write to full/a.hgt: No space left on device; the [0-9]* kB written before stay readable"
	check "disk full: CMD may finish" grep -qx finished out
	check "disk full: what was written is readable" facts full/a.hgt
	check "disk full: with events" at_least "$(count switch)" 100
	check "disk full: the summary tells what can be read" summary_is_that_of full/a.hgt
	# The same when only the last bytes, the index, find no room. How much a recording takes depends on what else runs:
	# one that has fitted has told how much is too much.
	rm full/a.hgt
	record -a -d 0.3 -o full/a.hgt
	for _ in 1 2 3 4 5 6; do
		fill=$((131072 - $(stat -c %s full/a.hgt) / 4096 * 4096 - 4096))
		rm -f full/a.hgt full/fill
		head -c $fill /dev/zero >full/fill
		record -a -d 2 -o full/a.hgt
		[ "$rc" = 0 ] || break
		truncate -s -8192 full/a.hgt
	done
	check "disk full at the end: exit code 1" rc_is 1
	check "disk full at the end: one sentence" test "$(grep -c error: err)" = 1
	check "disk full at the end: the summary tells what can be read" summary_is_that_of full/a.hgt
	umount full && mounted=
else
	echo "skip: a tmpfs cannot be mounted"
fi

# -- kill -9 --
# The ids of the BPF programs that process $1 holds: others may record, too.
programs() { sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -un; }
gone() { ! grep -qxF -f attached <(bpftool prog show | sed -n 's/^\([0-9]*\): .*/\1/p'); }
busy 8
record_background -a -o killed.hgt
wait_for 10 test -s killed.hgt
sleep 2.5
programs "$pid" >attached
check "while it runs: programs are attached" test -s attached
check "while it runs: the kernel lists them" not gone
at_kill=$(awk '{ print int($1 * 1000) }' /proc/uptime)
kill -9 "$pid"
wait "$pid" 2>/dev/null
check "kill -9: nothing stays attached" wait_for 10 gone
check "kill -9: readable" facts killed.hgt
check "kill -9: not finalised" fact '^finalised 0$'
last=$(awk '$1 == "last" { print int($2 / 1000000) }' facts)
# a chunk is closed after a second, and one round waits for definitions
check "kill -9: up to the last second" at_least "$last" $((at_kill - 1500))

# -- two at once --
busy 4
record_background -a -d 2 -o one.hgt
first=$pid
record -a -d 1 -o two.hgt
check "two at once: the second" rc_is 0
finish "$first"
check "two at once: the first" rc_is 0
check "two at once: whole" whole one.hgt
check "two at once: whole too" whole two.hgt
check "two at once: events" at_least "$(count switch)" 100

# -- two into the same file --
for old in "no file" "a file" "a link"; do
	rm -f same.hgt
	case $old in
	"a file") echo old >same.hgt ;;
	"a link") ln -s nowhere same.hgt ;;
	esac
	record_background -f -a -d 3 -o same.hgt
	first=$pid
	wait_for 10 grep -q . same.hgt
	"$HOURGLASS" record -f -a -d 0.5 -o same.hgt >second.out 2>second.err
	second=$?
	check "same file, $old before: the second refuses" test "$second" = 1
	check "same file, $old before: one sentence" grep -qx "hourglass: error: same.hgt is being written by another recording.*" second.err
	check "same file, $old before: nothing else said" test "$(wc -l <second.err)" = 1
	finish "$first"
	check "same file, $old before: the first" rc_is 0
	check "same file, $old before: is whole" whole same.hgt
	check "same file, $old before: nothing is left" test "$(ls -A | grep -c 'same.hgt')" = 1
done
# Many that begin in the same moment: who began has its file, the others have refused.
for i in 1 2 3 4 5 6; do
	("$HOURGLASS" record -q -f -a -d 0.7 -o same.hgt >/dev/null 2>start.$i; echo $? >rc.$i) &
	starts[i]=$!
done
wait "${starts[@]}"
began=$(cat rc.* | grep -c '^0$')
refused=$(cat start.* | grep -c 'is being written by another recording')
check "same moment: one at least has recorded" at_least "$began" 1
check "same moment: all others have refused" test $((began + refused)) = 6
check "same moment: whole" whole same.hgt
check "same moment: nothing is left" test "$(ls -A | grep -c 'same.hgt')" = 1

# -- limits of resources: named with the remedy, and no probe is blamed --
limited() {
	local option=$1 sentence=$2
	timeout -k 5 60 prlimit "$option" "$HOURGLASS" record -f -a -d 0.3 -o limit.hgt >out 2>err
	rc=$?
	check "prlimit $option: exit code 1" rc_is 1
	check "prlimit $option: one sentence" says_only "$sentence"
	check "prlimit $option: no probe is blamed" not grep -q probe err
}
limited --nofile=10 "open files are limited to 10 (ulimit -n).*raise it"
limited --nofile=20 "open files are limited to 20 (ulimit -n).*raise it"
limited --nofile=100 "open files are limited to 100 (ulimit -n).*raise it"
limited --as=60000000 "address space is limited to 58593 KiB (ulimit -v).*raise it"
limited --data=30000000 "data segment is limited to 29296 KiB (ulimit -d).*raise it"
limited --stack=65536 "stack is limited to 64 KiB (ulimit -s).*raise it"
for option in --memlock=65536 --stack=262144 --nofile=128 --nofile=16:200 --as=120000000 --data=80000000; do
	timeout -k 5 60 prlimit $option "$HOURGLASS" record -f -q -a -d 0.3 -o limit.hgt -- sh -c 'ulimit -Sn' >out 2>err
	rc=$?
	check "prlimit $option: enough" rc_is 0
	check "prlimit $option: whole" whole limit.hgt
done
prlimit --nofile=16:200 "$HOURGLASS" record -f -q -o limit.hgt -- sh -c 'ulimit -Sn' >out 2>err
check "CMD has the limit of open files that hourglass was given" grep -qx 16 out
prlimit --fsize=10000 "$HOURGLASS" record -f -a -d 0.5 -o limit.hgt >out 2>err
rc=$?
check "prlimit --fsize: exit code 1" rc_is 1
check "prlimit --fsize: named" says "cannot write to limit.hgt: File too large (ulimit -f)"
check "prlimit --fsize: the summary tells what can be read" summary_is_that_of limit.hgt
chmod 777 .
SUDO_UID=65534 SUDO_GID=65534 prlimit --nproc=1 "$HOURGLASS" record -a -d 0.5 -o processes.hgt >out 2>err
rc=$?
check "prlimit --nproc: exit code 1" rc_is 1
check "prlimit --nproc: one sentence" says_only "(ulimit -u)"

# -- a kernel without BTF --
mkdir empty
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount --bind empty /sys/kernel/btf && exec "$@"' sh "$HOURGLASS" record -a -d 1 -o nobtf.hgt >out 2>err
	rc=$?
	check "no BTF: exit code 1" rc_is 1
	check "no BTF: one sentence" says_only "this kernel gives no BTF: /sys/kernel/btf/vmlinux: No such file or directory; use a kernel with"
	check "no BTF: no file" test ! -e nobtf.hgt
else
	echo "skip: no mount namespaces for the test without BTF"
fi

# -- losses: nobody empties the rings for a while --
busy 6
record_background -a -d 4 -m 16K -o lost.hgt
wait_for 10 test -s lost.hgt
sleep 0.5
kill -STOP "$pid"
sleep 2
kill -CONT "$pid"
finish "$pid"
check "losses: exit code 3" rc_is 3
check "losses: said" says "of the events were lost, which spoils a verdict"
check "losses: whole" whole lost.hgt
check "losses: in the trace" at_least "$(count loss)" 1

# -- 2,000 threads, one with a name that deceives --
"$MANY_THREADS" 2000 8 >threads.out &
target=$!
pids+=("$target")
if wait_for 10 grep -q ready threads.out; then
	record -p "$target" -d 2 -o threads.hgt
	check "2,000 threads: exit code 0" rc_is 0
	check "2,000 threads: whole" whole threads.hgt
	members=$(grep -c '^role [0-9]* 1$' facts)
	check "2,000 threads: all are recorded" at_least "$members" 2001
	check "2,000 threads: and sampled" at_least "$(count schedstat)" 2001
	check "hostile name is kept as it is" fact '^task .* <b>"'"'"'\\\\*\\x0a\\x1b\[31m\\x0d$'
else
	echo "skip: 2,000 threads cannot be started here"
fi
result
