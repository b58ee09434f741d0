#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Disk full, kill -9, two at once, 2,000 threads, hostile names.
. "$(dirname "$0")/lib.sh"
need_recording

busy() { # wakes and sleeps for some seconds
	timeout "$1" sh -c 'while :; do sleep 0.001; done' &
	pids+=($!)
}

# -- disk full --
mkdir full
if mount -t tmpfs -o size=128k none full; then
	mounted=$dir/full
	busy 20
	record -a -d 15 -o full/a.hgt -- sh -c 'sleep 16; echo finished'
	check "disk full: exit code 1" rc_is 1
	check "disk full: said" says "No space left on device.*is kept"
	check "disk full: CMD may finish" grep -qx finished out
	check "disk full: what was written is readable" facts full/a.hgt
	check "disk full: with events" at_least "$(count switch)" 100
	umount full && mounted=
else
	echo "skip: a tmpfs cannot be mounted"
fi

# -- kill -9 --
programs() { bpftool prog show 2>/dev/null | grep -c tracing; }
before=$(programs)
busy 8
record_background -a -o killed.hgt
wait_for 10 test -s killed.hgt
sleep 2.5
check "while it runs: programs are attached" test "$(programs)" -gt "$before"
at_kill=$(awk '{ print int($1 * 1000) }' /proc/uptime)
kill -9 "$pid"
wait "$pid" 2>/dev/null
check "kill -9: nothing stays attached" wait_for 10 sh -c '[ "$(bpftool prog show | grep -c tracing)" = '"$before"' ]'
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
