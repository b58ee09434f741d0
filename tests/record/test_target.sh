#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who is recorded: the target's tree, later threads and children, and who wakes it.
. "$(dirname "$0")/lib.sh"
need_recording

mkfifo fifo
(while sleep 0.01; do echo x; done) >fifo &
waker=$!
cat fifo >copy &
target=$!
pids+=("$waker" "$target")
record -p "$target" -d 3.3 -o a.hgt
check "a waker: whole" whole a.hgt
lane() { awk -v t="$1" '$1 == "task" && $3 == t { print $2; exit }' facts; }
check "the target is target" fact "^role $(lane "$target") 1\$"
check "its waker is promoted" fact "^role $(lane "$waker") 4\$"
check "BPF's cost is measured" at_least "$(count probe_cost)" 1
check "BPF's cost is in the summary" says "% in its probes"
kill "$waker" "$target"

# A client and a target: neither takes the other's role. Children are of their parent's.
sleep 30 &
target=$!
pids+=("$target")
record -p "$target" -o b.hgt -- sh -c 'sleep 0.3; sh -c "sleep 0.2; :"'
check "client: whole" whole b.hgt
check "client: the target" fact "^role $(lane "$target") 1\$"
check "client: its tree" at_least "$(grep -c '^role [0-9]* 2$' facts)" 3

# The id of a thread stands for its process.
"$MANY_THREADS" 3 20 >threads.out &
target=$!
pids+=("$target")
wait_for 10 grep -q ready threads.out
thread=$(ls /proc/$target/task | tail -1)
record -p "$thread" -d 0.5 -o c.hgt
check "a thread's id: whole" whole c.hgt
check "a thread's id: the process" at_least "$(grep -c '^role [0-9]* 1$' facts)" 4

# What the kernel's locks, disks, devices and the clock tell of the target, as dump shows it. The writers share a pipe's mutex,
# and one open file, whose mutex is held while the disk writes: that one waits however busy the CPUs are.
mkfifo shared
record -o e.hgt -- sh -c 'cat shared >/dev/null & for i in 1 2 3; do dd if=/dev/zero of=shared bs=1M count=300 2>/dev/null & done
	{ for i in 1 2 3; do dd if=/dev/zero bs=64k count=20 oflag=direct 2>/dev/null & done; wait; } >block; wait'
check "kernel: whole" whole e.hgt
dumped() { "$HOURGLASS" dump e.hgt --kind "$1" | grep -c "$2"; }
if [ "$(nproc)" -gt 1 ]; then
	check "kernel: waits for a mutex" at_least "$(dumped contention 'lane=[0-9]*\[dd\].*flags=0x2')" 1
else
	echo "skip: a second CPU is missing for waits on a mutex"
fi
check "kernel: samples in the kernel" at_least "$(dumped cpu_sample '\[dd\] where=[23]')" 1
case $(findmnt -no SOURCE -T .) in
/dev/*)
	check "kernel: writes" at_least "$(dumped block_io 'op=1 .*bytes=65536 .*\[dd\]')" 20
	check "kernel: their device" at_least "$(dumped blockdev 'name="[a-z]')" 1
	;;
*) echo "skip: $dir is on no block device" ;;
esac
check "kernel: packets are not counted" at_least 0 "$(dumped netdev_totals .)"
record -a -d 1.3 -o f.hgt -- sh -c '(echo x >/dev/udp/127.0.0.1/9) 2>/dev/null || bash -c "for i in 1 2 3; do echo x >/dev/udp/127.0.0.1/9; done"'
check "kernel: packets of all" at_least "$("$HOURGLASS" dump f.hgt --kind netdev | grep -c 'name="lo"')" 1

# Progress, only on a terminal
if command -v script >/dev/null; then
	TERM=xterm script -qec "$HOURGLASS record -o d.hgt -a -d 1.6" /dev/null >terminal.out </dev/null
	check "progress on a terminal" grep -q 'events.*lost' terminal.out
	check "progress rewrites its line" grep -q $'\r\033\\[K' terminal.out
	TERM=dumb script -qec "$HOURGLASS record -f -o d.hgt -a -d 1.1" /dev/null >terminal.out </dev/null
	check "no progress on a dumb terminal" not grep -q $'\033' terminal.out
	# CMD that reads from the terminal is given it.
	printf 'typed\n' | TERM=xterm script -qec "$HOURGLASS record -f -o d.hgt -- sh -c 'read x; echo got \$x'" /dev/null >terminal.out
	check "CMD may read from the terminal" grep -q 'got typed' terminal.out
else
	echo "skip: script(1) is missing for the tests on a terminal"
fi
result
