#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wrong usage is 2 and one sentence; a missing right is 1, one sentence and the remedy.
. "$(dirname "$0")/lib.sh"

usage() {
	local name=$1 sentence=$2
	shift 2
	record "$@"
	check "$name: exit code 2" rc_is 2
	check "$name: one sentence" says_only "$sentence"
}

usage "nothing to record" "nothing to record: name processes with -p"
usage "pid is no number" "-p takes process ids" -p abc
usage "pid 0" "-p takes process ids" -p 0
usage "pid list ends in a comma" "-p takes process ids" -p 1,
usage "duration is no number" "-d takes a number of seconds" -a -d abc
usage "duration 0" "-d takes a number of seconds" -a -d 0
usage "duration nan" "-d takes a number of seconds" -a -d nan
usage "ring is no power of two" "-m takes a power of two" -a -m 100K
usage "ring is too large" "-m takes a power of two" -a -m 99999999999M
usage "trace to stdout" "-o needs the name of a file" -a -o -
usage "user without a command" "--user needs a command" -a --user nobody
usage "regex that does not compile" "--client-regex" --client-regex '(' -- true
usage "regex without a group" "has no group" --client-regex 'abc' -- true
usage "client that is not known" "--client knows .*wrk" --client nonesuch -- true
record --no-such-option -a
check "unknown option: exit code 2" rc_is 2
# The user's words are escaped in every error, whoever prints it.
hostile=$'\e[31mx\nhourglass:fake\x9b\u202e'
for words in "record --$hostile" "record -p $hostile" "record --client=$hostile -- true" "record -a -o $hostile/x" \
	"report $hostile" "report --$hostile" "report --format $hostile x" "report a $hostile" "report --window $hostile x" \
	"info $hostile" "info --$hostile" "info --format $hostile x" "info a $hostile" "dump $hostile" "dump --$hostile" \
	"dump --kind $hostile x" "dump --stream $hostile x" "dump --from $hostile x" "check --$hostile" "check -p $hostile" \
	"check $hostile" "$hostile" "record --user $hostile -- true" "record -- $hostile"; do
	IFS=' ' read -r -d '' -a argv <<<"$words"
	argv[-1]=${argv[-1]%$'\n'}
	"$HOURGLASS" "${argv[@]}" >out 2>err
	rc=$?
	check "hostile words: an error" not rc_is 0
	check "hostile words: escaped" not env LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f\x9b]|\xe2\x80\xae' err
	check "hostile words: no line is forged" not grep -q '^hourglass:fake' err
done
record --help
check "help: exit code 0" rc_is 0
check "help has examples" grep -q 'hourglass record -p' out
check "help hides what is for tests" not grep -q test-drop out

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 777 .
	cp "$HOURGLASS" hourglass.copy && chmod 755 hourglass.copy
	HOURGLASS=$dir/hourglass.copy
	exec 3>&1
	setpriv --reuid 65534 --regid 65534 --clear-groups "$HOURGLASS" record -a -d 1 >out 2>err
	rc=$?
	check "not root: exit code 1" rc_is 1
	check "not root: the remedy" says_only "needs root.*run it with sudo"
	check "not root: no file" not test -e hourglass.hgt
	setpriv --bounding-set -bpf,-sys_admin --inh-caps -all "$HOURGLASS" record -a -d 1 >out 2>err
	rc=$?
	check "capability missing: exit code 1" rc_is 1
	check "capability missing: named" says_only "CAP_BPF"
else
	echo "skip: root or setpriv is missing for the tests of rights"
fi
result
