#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: accounting.sh HOURGLASS LOAD COMPARE CASE
# Records a load of known kind for 7 s and compares the model's sums with what the kernel counted meanwhile; then, for
# some cases, once more with one in a hundred switches dropped on purpose: that must be found out.
set -u
hourglass=$1 load=$2 compare=$3 case=$4
seconds=7

skip() {
	echo "skip: $*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "root is missing"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"

dir=$(mktemp -d /tmp/hg-accounting-XXXXXX)
group=
pids=()
cleanup() {
	exec 2> /dev/null # bash tells who was killed
	# A server that is killed hard leaves its workers behind.
	for pid in "${pids[@]}"; do kill "$pid"; done
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 "${pids[@]}" || break
		sleep 0.2
	done
	for pid in "${pids[@]}"; do kill -9 "$pid"; done
	wait
	for _ in 1 2 3 4 5; do
		[ -n "$group" ] && ! rmdir "$group" || break
		sleep 0.3
	done
	rm -rf "$dir"
}
trap cleanup EXIT

# A cgroup with a quota of 30 % of a CPU. Its weight is high, so that it runs as soon as it may: the kernel's throttled
# time ends when the quota is back, the lane's when it runs.
group_make() {
	local v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup
	if [ -d "$v1" ]; then
		group=$v1/hg-accounting-$$
		mkdir "$group" && echo 262144 > "$group/cpu.shares" &&
			echo 100000 > "$group/cpu.cfs_period_us" && echo 30000 > "$group/cpu.cfs_quota_us"
	else
		grep -qw cpu "$v2/cgroup.subtree_control" 2> /dev/null ||
			echo +cpu > "$v2/cgroup.subtree_control" 2> /dev/null || return
		group=$v2/hg-accounting-$$
		mkdir "$group" && echo 10000 > "$group/cpu.weight" && echo "30000 100000" > "$group/cpu.max"
	fi
}

# start COMMAND...: sets pid
start() {
	(
		[ -z "$group" ] || echo "$BASHPID" > "$group/cgroup.procs"
		exec "$@"
	) > "$dir/load.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	sleep 0.5
	kill -0 "$pid" 2> /dev/null || { cat "$dir/load.out"; exit 1; }
}

start_nginx() {
	command -v nginx > /dev/null || skip "nginx is not installed"
	command -v wrk > /dev/null || skip "wrk is not installed"
	mkdir "$dir/www"
	head -c 4096 /dev/zero > "$dir/www/index.html"
	cat > "$dir/nginx.conf" <<- END
		daemon off; worker_processes 2; pid $dir/nginx.pid; error_log $dir/error.log;
		events { worker_connections 256; }
		http { access_log off; server { listen unix:$dir/sock; listen 127.0.0.1:18999; root $dir/www; } }
	END
	chmod -R a+rX "$dir"
	start nginx -c "$dir/nginx.conf"
	command=(-- wrk -t1 -c16 -d$((seconds + 1)) http://127.0.0.1:18999/)
}

# record OPTIONS...: the load, into $dir/trace
record() {
	"$hourglass" record -q -f -o "$dir/trace" -p "$pid" -d $seconds "$@" "${command[@]}" > "$dir/out"
	local rc=$?
	# 3: losses; the comparison counts them.
	[ $rc = 0 ] || [ $rc = 3 ] || { echo "record failed ($rc)"; exit 1; }
}

command=()
mode=
dropped=
case $case in
mixed) kinds=spin=2,nap=2,pipe=2,lock=2,brief=1 dropped=1 ;;
naps) kinds=nap=6 dropped=1 ;;
quota) kinds=spin=1 mode=throttled ;;
nginx) kinds= ;;
*) echo "what is $case?"; exit 2 ;;
esac
if [ "$case" = quota ]; then group_make || skip "a cgroup with a cpu controller is missing"; fi
if [ "$case" = nginx ]; then start_nginx; else start "$load" 300 $kinds; fi

# Other work on the machine disturbs the kernel's account as well as ours: one of three tries must do, and only what
# happened without such work is a failure.
for try in 1 2 3; do
	record
	"$compare" "$dir/trace" $mode
	rc=$?
	[ $rc != 0 ] || break
done
[ $rc != 3 ] || skip "a machine without other work: three times other tasks ran as well"
[ $rc = 0 ] || { echo "FAIL: out of bounds three times ($rc)"; exit 1; }
[ -n "$dropped" ] || exit 0
echo "with one in a hundred switches dropped:"
record --test-drop-one-in 100
"$compare" "$dir/trace" $mode
rc=$?
[ $rc = 1 ] || [ $rc = 3 ] || { echo "FAIL: dropped switches were not found out ($rc)"; exit 1; }
