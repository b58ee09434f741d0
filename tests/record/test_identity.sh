#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ids that come to mean another task while it is recorded: a thread that execs takes its leader's, a pid is used again.
. "$(dirname "$0")/lib.sh"
need_recording
: "${IDENTITY:?}"

report() { "$HOURGLASS" report --format json "$1" >report.json 2>report.err; }
report_says() {
	python3 - "$1" <<'PY'
import json, sys
d = json.load(open("report.json"))
for row in d["lanes"] + d["targets"]:
    if row["wall_ns"] != sum(row["states"].values()):
        sys.exit("%s: %d ns of states in %d ns" % (row["name"], sum(row["states"].values()), row["wall_ns"]))
ran = lambda l: sum(v for k, v in l["states"].items() if k.startswith("running"))
if not eval(sys.argv[1]):
    for row in d["lanes"]:
        print(row["id"], row["name"], row["wall_ns"], ran(row))
    sys.exit(1)
PY
}

record -o a.hgt -- "$IDENTITY" exec "$IDENTITY"
check "exec by a thread: recorded" rc_is 0
check "exec by a thread: whole" whole a.hgt
check "exec by a thread: its name before" fact '^name [0-9]* caterpillar$'
lane=$(awk '$1 == "name" && $3 == "caterpillar" { print $2 }' facts)
check "exec by a thread: the same lane goes on" fact "^name ${lane:-none} identity\$"
report a.hgt
# 0.1 s of CPU time before and 0.3 s after are one task's, and its id is the process's.
pid=$(awk '$1 == "target" { print $4 }' facts)
check "exec by a thread: the leader's id, all of the time" report_says \
	"[l for l in d['lanes'] if l['id'] == '$pid' and ran(l) > 0.38e9]"

record -o b.hgt -- "$IDENTITY" reuse 10
check "a pid used again: recorded" rc_is 0
read -r pid times <out
if [ "${times:-0}" -lt 3 ]; then
	echo "skip: the kernel gave pid ${pid:-?} only ${times:-0} times (/proc/sys/kernel/ns_last_pid)"
else
	check "a pid used again: whole" whole b.hgt
	check "a pid used again: a lane for each" at_least "$(awk -v t="$pid" '$1 == "task" && $3 == t' facts | wc -l)" "$times"
	report b.hgt
	check "a pid used again: time is conserved" report_says \
		"sum(l['count'] for l in d['lanes'] if l['role'] == 'target') > $times"
	check "a pid used again: no lane has the others' time" report_says \
		"not [l for l in d['lanes'] if l['id'] == '$pid' and l['wall_ns'] > 0.5 * d['window']['wall_s'] * 1e9]"
fi
result
