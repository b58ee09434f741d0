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
