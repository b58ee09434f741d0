#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The file: never over another without -f, never through a link, owned by who called sudo.
. "$(dirname "$0")/lib.sh"
need_recording

record -- true
check "default name" whole hourglass.hgt
record -- true
check "exists: exit code 1" rc_is 1
check "exists: the remedy" says_only "hourglass.hgt exists.*-f"
inode=$(stat -c %i hourglass.hgt)
ln hourglass.hgt kept # so that the inode is not reused
record -f -- true
check "-f: exit code 0" rc_is 0
check "-f: whole" whole hourglass.hgt
check "-f: a new file" not test "$(stat -c %i hourglass.hgt)" = "$inode"
check "-f: nothing else is left" test "$(ls -A | grep -c hgt)" = 1

echo precious >victim
ln -s victim link.hgt
record -o link.hgt -- true
check "link without -f: exit code 1" rc_is 1
record -f -o link.hgt -- true
check "link with -f: replaced" test ! -L link.hgt -a -f link.hgt
check "link: its target is untouched" grep -qx precious victim
ln -s nowhere dangling.hgt
record -o dangling.hgt -- true
check "dangling link: exit code 1" rc_is 1
check "dangling link: not followed" test ! -e nowhere

echo old >old.hgt
record -f -o old.hgt -- hg-no-such-command
check "a start that fails: exit code 1" rc_is 1
check "a start that fails: the old file is kept" grep -qx old old.hgt
record -o none.hgt -- hg-no-such-command
check "a start that fails: no new file" test ! -e none.hgt

record -o no/such/dir.hgt -- true
check "no directory: exit code 1" rc_is 1
check "no directory: one sentence" says_only "cannot write no/such/dir.hgt: No such file"
record -o . -- true
check "a directory: one sentence" says_only "it is a directory"
record -f -o /dev/null -- true
check "a device: exit code 1" rc_is 1
check "a device is not replaced" test -c /dev/null

SUDO_UID=65534 SUDO_GID=65533 record -o owned.hgt -- true
check "sudo: the file belongs to the user" test "$(stat -c %u:%g owned.hgt)" = 65534:65533
check "sudo: whole" whole owned.hgt
chmod 777 .
SUDO_UID=65534 SUDO_GID=65534 record -f -o owned.hgt -- sh -c 'id -u; cat /proc/$PPID/status; cat /proc/$PPID/task/*/status >threads.out'
check "sudo: CMD runs as the user" grep -qx 65534 out
check "sudo: hourglass runs as the user" grep -q '^Uid:[[:space:]]*65534[[:space:]]*65534' out
# CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_KILL, CAP_DAC_READ_SEARCH and nothing else
kept=$(printf '%016x' $((1 << 39 | 1 << 38 | 1 << 19 | 1 << 5 | 1 << 2)))
for set in CapPrm CapEff; do
	check "privileges are dropped: $set" grep -q "^$set:[[:space:]]*$kept" out
done
check "and those of all threads" test "$(grep -h CapPrm threads.out | sort -u | grep -cv "$kept\|0000000000000000")" = 0
check "no new privileges" grep -q '^NoNewPrivs:[[:space:]]*1' out
result
