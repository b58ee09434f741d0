#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: check.sh HOURGLASS
set -u
hourglass=$1
status=0 skipped=
work=$(mktemp -d)
chmod 755 "$work"
child= cgroup=
cleanup()
{
	[ -z "$child" ] || { kill "$child"; wait "$child"; } 2> /dev/null
	[ -z "$cgroup" ] || rmdir "$cgroup"
	rm -rf "$work"
}
trap cleanup EXIT

fail()
{
	echo "FAIL: $*"
	status=1
}

# run WANTED_CODE COMMAND...: stdout and stderr go to $work/out and $work/err
run()
{
	local wanted=$1 code
	shift
	"$@" > "$work/out" 2> "$work/err"
	code=$?
	[ "$code" = "$wanted" ] || { fail "exit code $code instead of $wanted: $*"; cat "$work/out" "$work/err"; }
}

says()
{
	grep -qE -- "$1" "$work/out" || { fail "stdout lacks '$1'"; cat "$work/out"; }
}

# The same for what may run over several lines.
says_wrapped()
{
	tr -s ' \n' ' ' < "$work/out" | grep -qE -- "$1" || { fail "stdout lacks '$1'"; cat "$work/out"; }
}

fits()
{
	awk 'length > 80 { print "line of " length ": " $0; bad = 1 } / $/ { print "space at end: " $0; bad = 1 } END { exit bad }' \
		"$work/out" || fail 'the text does not fit 80 columns'
}

# A copy that everybody may run, wherever the build lies.
cp "$hourglass" "$work/hourglass"
chmod 755 "$work/hourglass"

run 0 "$hourglass" check --help
says 'Examples:'
run 2 "$hourglass" check --format xml
run 2 "$hourglass" check -p 12x
run 2 "$hourglass" check -p 0
run 2 "$hourglass" check extra

if [ "$(id -u)" != 0 ]; then
	echo 'skip: not root'
	exit 77
fi

# Root: possible or not, text, JSON and exit code agree.
"$hourglass" check > "$work/out" 2> "$work/err"
code=$?
fits
case $code in
0) says '^Recording is possible\.$' ;;
1) says '^Recording is not possible: ' ;;
*) fail "exit code $code" ;;
esac
if [ -r /sys/kernel/btf/vmlinux ]; then
	says '^btf +yes '
	says '^privileges +(yes|partly) '
	says '^probe\.sched_switch +(yes|no) '
fi
run $code "$hourglass" check --format json
python3 - "$work/out" "$code" <<- 'EOF' || fail 'the JSON is not as documented'
	import json, sys
	check = json.load(open(sys.argv[1]))
	assert check["schema"] == "hourglass-check/1"
	assert check["possible"] == (sys.argv[2] == "0")
	assert {"kernel", "privileges", "btf", "load"} <= {item["id"] for item in check["items"]}
	for item in check["items"]:
	    assert set(item) == {"group", "id", "state", "why", "remedy"}, item
	    assert item["group"] in ("record", "setup") and item["why"], item
	    assert item["state"] in ("yes", "info", "partly", "warn", "spoils", "no"), item
	    assert item["state"] not in ("no", "partly") or item["remedy"], item
	assert check["possible"] == all(item["state"] != "no" for item in check["items"])
EOF

# Nobody.
run 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/hourglass" check
says '^privileges +no +not root'
says '^Recording is not possible: .*privileges'
fits

# A kernel without BTF.
mkdir "$work/empty"
if unshare -m true 2> "$work/err"; then
	run 1 unshare -m sh -c 'mount --bind "$1" /sys/kernel/btf && exec "$2" check' sh "$work/empty" "$hourglass"
	says '^btf +no +no BTF'
	says '^Recording is not possible: .*btf'
	fits
else
	skipped="no mount namespaces: $(cat "$work/err")"
fi

# A target: one CPU, a hostile name, then a quota.
cp /bin/sleep "$work/"$'s\033[7m\xff"<'
taskset -c 0 "$work/"$'s\033[7m\xff"<' 600 &
child=$!
until [ -e /proc/$child ] && ! grep -qx bash /proc/$child/comm && ! grep -qx taskset /proc/$child/comm; do :; done
run $code "$hourglass" check -p $child
says "^target\.$child +yes +s\\\\x1b\[7m"
[ "$(nproc --all)" = 1 ] || says_wrapped "target\.$child\.affinity info 1 thread of [^ ]* may only run on CPUs 0 "
fits
if grep -q $'\033' "$work/out"; then
	fail 'a name reached the terminal unescaped'
fi
if [ -w /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
	cgroup=/sys/fs/cgroup/cpu/hg-test-check-$$
	mkdir $cgroup
elif [ -w /sys/fs/cgroup/cgroup.subtree_control ] && echo +cpu 2> /dev/null > /sys/fs/cgroup/cgroup.subtree_control; then
	cgroup=/sys/fs/cgroup/hg-test-check-$$
	mkdir $cgroup
else
	skipped="no cgroup with the cpu controller that can be written"
fi
if [ -n "$cgroup" ]; then
	if [ -e $cgroup/cpu.max ]; then
		echo '50000 100000' > $cgroup/cpu.max
	else
		echo 50000 > $cgroup/cpu.cfs_quota_us
	fi
	echo $child > $cgroup/cgroup.procs
	run $code "$hourglass" check -p $child
	says_wrapped "target\.$child\.quota warn cgroup /hg-test-check-$$ limits .* to 0\.50 CPUs"
fi
kill $child
wait $child 2> /dev/null
run 1 "$hourglass" check -p $child
says "^target\.$child +no +no process $child"
child=

[ -z "$skipped" ] || echo "skip of a part: $skipped"
exit $status
