#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CMD: its output untouched and kept line by line, its failure told.
. "$(dirname "$0")/lib.sh"
need_recording

head -c 10000000 /dev/urandom >random
record -o a.hgt -- cat random
check "10 MB of bytes: exit code 0" rc_is 0
check "10 MB of bytes: untouched" cmp random out
check "10 MB of bytes: whole" whole a.hgt

record -o b.hgt -- sh -c 'printf "one\rtwo\r\nthree\n"; sleep 0.3; echo four; echo five >&2'
check "lines: stdout is untouched" cmp out <(printf 'one\rtwo\r\nthree\nfour\n')
check "lines: stderr is untouched" says '^five$'
check "lines: trace" whole b.hgt
for line in '1 [0-9]* one' '1 [0-9]* two' '1 [0-9]* three' '1 [0-9]* four' '2 [0-9]* five'; do
	check "lines: kept: $line" fact "^line $line\$"
done
gap=$(awk '$1 == "line" && $4 == "three" { a = $3 } $1 == "line" && $4 == "four" { print int(($3 - a) / 1000000) }' facts)
check "lines: stamped when they came" at_least "$gap" 290
check "the command is in the trace" fact "^client sh -c 'printf"
check "its start and end too" fact '^client_end [0-9]* 0$'

# messages are counted where nothing else is going to tell the throughput
counts_messages() { "$HOURGLASS" dump --kind messages "$1" | grep -q messages; }
check "messages: counted for a client of no known format" counts_messages b.hgt
record -o m.hgt --client-regex 'done ([0-9]+)' -- sh -c 'sleep 0.5; echo done 5'
no_messages() { ! counts_messages "$1"; }
check "messages: not counted for one whose output is known" no_messages m.hgt

record -o c.hgt -- sh -c 'exit 7'
check "failure: exit code 1" rc_is 1
check "failure: its code" says "sh ended with exit code 7"
check "failure: trace is whole" whole c.hgt
check "failure: its code is in the trace" fact "^client_end [0-9]* $((7 << 8))\$"
record -o d.hgt -- sh -c 'kill -SEGV $$'
check "signal: exit code 1" rc_is 1
check "signal: named" says "ended by signal 11"

record -o e.hgt -- ./hg-no-such-command
check "not found: exit code 1" rc_is 1
check "not found: one sentence" says_only "hg-no-such-command: command not found"
record -o e.hgt -- "$dir"
check "not executable: exit code 1" rc_is 1
printf '#!/no/such/interpreter\n' >script
chmod 755 script
record -o e.hgt -- ./script
check "exec fails: exit code 1" rc_is 1
check "exec fails: why" says "cannot run ./script: No such file"

record -o f.hgt --user nobody --no-args -- sh -c 'id -u'
check "--user" grep -qx 65534 out
check "--no-args" whole f.hgt
check "--no-args: only the name" fact '^client sh$'
record -f -o f.hgt --user hg-no-such-user -- true
check "no such user: exit code 1" rc_is 1
check "no such user: named" says_only "hg-no-such-user: there is no such user"

# As with perf and time: what CMD reads is what hourglass would have read.
echo input | "$HOURGLASS" record -q -o g.hgt -- cat >out 2>err
check "stdin is CMD's" grep -qx input out
check "-q says nothing" test ! -s err
"$HOURGLASS" record -q -o h.hgt -- yes 2>err | head -1 >/dev/null
check "a reader that ends early is seen by CMD" whole h.hgt
check "and one sentence names it" says_only "cannot pass on what yes writes to stdout: Broken pipe; the recording is kept"

# A line longer than the bound is in pieces, which are marked: no figure is read across a cut.
record -f -o j.hgt --client-regex 'rate=([0-9]+)' -- sh -c 'head -c 65534 /dev/zero | tr "\0" x; echo " rate=123456"; echo rate=7; printf "rate=8"; kill -9 $$'
check "a long line: untouched" test "$(wc -c <out)" = 65560
check "a long line: whole" whole j.hgt
check "a long line: its pieces are marked" test "$(grep -c '^piece 1 ' facts)" = 3
"$HOURGLASS" info j.hgt >info.out
check "a long line: info says so" grep -qx "client's lines  3 kept, 2 in pieces or unfinished" info.out
"$HOURGLASS" report --format json j.hgt >report.json 2>/dev/null
check "a long line: the figure is that of the whole line" python3 -c '
import json
assert json.load(open("report.json"))["throughput"]["value"] == 7'

# What cannot be passed on is named, whatever it cannot be written to; the trace has it all the same.
"$HOURGLASS" record -f -o h.hgt -- seq 5 >/dev/full 2>err
rc=$?
check "full disk: exit code 1" rc_is 1
check "full disk: named" says "cannot pass on what seq writes to stdout: No space left on device; the recording is kept"
check "full disk: whole" whole h.hgt
check "full disk: all lines are kept" test "$(grep -c '^line 1 ' facts)" = 5
check "full disk: CMD was let run" fact '^client_end [0-9]* 0$'
"$HOURGLASS" record -q -f -o h.hgt -- seq 5 >&- 2>err
rc=$?
check "closed stdout: exit code 1" rc_is 1
check "closed stdout: named" says_only "cannot pass on what seq writes to stdout: Bad file descriptor"
"$HOURGLASS" record -q -f -o h.hgt -- sh -c 'echo a; echo b >&2' >out 2>/dev/full
rc=$?
check "stderr on a full disk: exit code 1" rc_is 1
check "stderr on a full disk: stdout is passed on" grep -qx a out
check "stderr on a full disk: whole" whole h.hgt
mkfifo early
head -1 <early >/dev/null &
"$HOURGLASS" record -q -f -o h.hgt -- sh -c 'trap "" PIPE; seq 100000; echo "seq: $?" >&2' >early 2>err
rc=$?
check "a pipe that is closed: exit code 1" rc_is 1
check "a pipe that is closed: CMD sees it" says '^seq: 1$'
check "a pipe that is closed: named" says "stdout: Broken pipe"
check "a pipe that is closed: whole" whole h.hgt

touch log
record_background -o i.hgt -a -d 1.5 --client-log log
wait_for 10 test -s i.hgt
sleep 0.3
echo "Requests/sec: 42" >>log
finish "$pid"
check "--client-log: whole" whole i.hgt
check "--client-log: its lines" fact '^line 3 [0-9]* Requests/sec: 42$'
result
