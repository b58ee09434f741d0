#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever ends a recording, the file is whole and says what it was.
. "$(dirname "$0")/lib.sh"
need_recording

# As in hg_kinds.h
ended_by() { fact "^end [0-9]* $1\$"; }
END_CLIENT=1 END_SECS=2 END_SIGNAL=3 END_TARGET=4

seconds() { awk '$1 == "begin" { b = $2 } $1 == "end" { print int(($2 - b) / 1000000) }' facts; }

record -o a.hgt -- sleep 0.5
check "CMD ends: exit code 0" rc_is 0
check "CMD ends: whole" whole a.hgt
check "CMD ends: said" ended_by $END_CLIENT
check "CMD ends: its time" at_least "$(seconds)" 500
check "CMD is the target when none is named" fact '^role [0-9]* 1$'

record -o b.hgt -a -d 0.7
check "SECS: exit code 0" rc_is 0
check "SECS: whole" whole b.hgt
check "SECS: said" ended_by $END_SECS
check "SECS: its time" at_least "$(seconds)" 700
check "-a: everything is recorded" fact '^role [0-9]* 8$'

for signal in INT TERM HUP; do
	sleep 30 &
	target=$!
	pids+=("$target")
	record_background -o "$signal.hgt" -p "$target"
	wait_for 10 test -s "$signal.hgt"
	sleep 0.3
	kill -$signal "$pid"
	finish "$pid"
	check "SIG$signal: exit code 0" rc_is 0
	check "SIG$signal: whole" whole "$signal.hgt"
	check "SIG$signal: said" ended_by $END_SIGNAL
	kill "$target"
done

# A child that outlives its parent is target too.
sh -c 'sleep 5 & sleep 3' &
target=$!
record -o c.hgt -p "$target"
check "target ends: exit code 0" rc_is 0
check "target ends: whole" whole c.hgt
check "target ends: said" ended_by $END_TARGET

true &
gone=$!
wait "$gone"
record -o d.hgt -p "$gone"
check "pid that is gone: exit code 1" rc_is 1
check "pid that is gone: named" says_only "process $gone: there is no such process"
check "pid that is gone: no file" test ! -e d.hgt
sleep 0.05 &
record -o e.hgt -p $!
check "pid that ends at once: said or whole" sh -c '[ '$rc' = 0 ] || grep -q "no such process\|has ended" err'

sleep 30 &
target=$!
pids+=("$target")
record -o f.hgt -p "$target" -d 0.5 -- sh -c 'sleep 1.5; echo summary'
check "CMD may finish: exit code 0" rc_is 0
check "CMD may finish: its output" grep -qx summary out
check "CMD may finish: whole" whole f.hgt
check "CMD may finish: said" ended_by $END_SECS
check "CMD may finish: its summary is kept" fact '^line 1 [0-9]* summary$'
check "CMD may finish: its end is kept" fact '^client_end '
check "CMD is the client when a target is named" fact '^role [0-9]* 2$'

record_background -o g.hgt -p "$target" -- sh -c 'trap "echo summary; exit 0" INT; while :; do sleep 0.1; done'
wait_for 10 test -s g.hgt
sleep 0.5
kill -INT "$pid"
sleep 0.5
check "first Ctrl-C: CMD runs on" kill -0 "$pid"
kill -INT "$pid"
finish "$pid"
check "second Ctrl-C: exit code 0" rc_is 0
check "second Ctrl-C: CMD's summary" grep -qx summary out
check "second Ctrl-C: whole" whole g.hgt

record_background -o h.hgt -- sh -c 'trap "" INT TERM; echo deaf; while :; do sleep 0.1; done'
wait_for 10 grep -q deaf out
kill -INT "$pid"
sleep 0.3
kill -INT "$pid"
sleep 0.2
kill -INT "$pid"
sleep 0.2
kill -INT "$pid"
finish "$pid"
check "a deaf CMD is killed by a further Ctrl-C" rc_is 0
check "a deaf CMD: whole" whole h.hgt
result
