#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: commands.sh HOURGLASS SAMPLE_TRACE
# info and dump on a trace with hostile names, whole and damaged.
set -u
hourglass=$1 sample_trace=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
fail() { echo "failed: $*"; status=1; }

run()
{
	"$hourglass" "$@" > "$work/out" 2> "$work/err"
	code=$?
}

"$sample_trace" "$work/t.hgt" || exit 1

run info "$work/t.hgt"
[ $code = 0 ] && [ ! -s "$work/err" ] || fail "info: $code, $(cat "$work/err")"
grep -qE '^file +whole$' "$work/out" || fail "info: does not say that the file is whole"
grep -qE '^duration +2.500 s, until the time was up$' "$work/out" || fail "info: duration"
grep -qE "^client's lines +2 kept, 1 in pieces or unfinished; 5 left out$" "$work/out" || fail "info: lines"
grep -qE '^lost +7 events$' "$work/out" || fail "info: lost"
LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]' "$work/out" && fail "info: a control character"
LC_ALL=C.UTF-8 awk 'length($0) > 80 { exit 1 }' "$work/out" || fail "info: a line is longer than 80 columns"
cp "$work/out" "$work/info"

run info --format json "$work/t.hgt"
[ $code = 0 ] || fail "info --format json: $code"
cp "$work/out" "$work/info.json"
run dump "$work/t.hgt"
[ $code = 0 ] && [ ! -s "$work/err" ] || fail "dump: $code, $(cat "$work/err")"
LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae|\xff' "$work/out" && fail "dump: hostile bytes"
cp "$work/out" "$work/dump"
run dump --format json "$work/t.hgt"
[ $code = 0 ] || fail "dump --format json: $code"
cp "$work/out" "$work/dump.json"

python3 - "$work" << 'END' || fail "JSON"
import json, sys
work = sys.argv[1]
info = json.load(open(work + "/info.json"))
rows = [json.loads(line) for line in open(work + "/dump.json", encoding="ascii")]
lines = open(work + "/dump", encoding="utf-8").read().splitlines()
assert info["schema"] == "hourglass-info/1" and info["health"]["whole"], info["health"]
assert len(rows) == len(lines) == info["records"] == sum(info["kinds"].values()), (len(rows), len(lines))
assert [r["time_ns"] for r in rows] == sorted(r["time_ns"] for r in rows)
assert info["client_lines"] == {"kept": 2, "in_pieces": 1, "left_out": 5}, info["client_lines"]
assert [s["lost"] for s in info["streams"] if s["name"] in ("client", "cpu0")] == [5, 7]
assert info["lost"] == 7 and info["duration_ns"] == 2500000000 and info["machines"] == [0]
assert sum(s["records"] for s in info["streams"]) == info["records"]
assert {s["name"] for s in info["streams"]} == {"control", "sampler", "client", "cpu0", "cpu1"}
assert [p["attached"] for p in info["probes"]] == [True, False] and info["probes"][0]["why"] is None
assert info["host"]["hostname"] == "h" and info["client"]["command"].endswith("\U0001f600")
tasks = {r["lane"]: r["comm"] for r in rows if r["kind"] == "task"}
assert tasks[2] == "nginx" and tasks[3] == 'evil\033[31m\n"<&\\', tasks
assert tasks[4] == r"\xff\xfe\xc3(" and tasks[5] == "a\0b", tasks
assert tasks[6] == "\u00fcn\u202e\u009b\U0001f600", tasks
last = [r for r in rows if r["kind"] == "exit"][-1]
assert last["lane"] == 99 and last["lane_name"] is None, last
renamed = [r for r in rows if r["kind"] == "task_name"][0]
for r in rows:
    if r.get("lane") == 2:
        after = (r["time_ns"], r["stream"]) >= (renamed["time_ns"], "control")
        assert r["lane_name"] == (renamed["comm"] if after else "nginx"), r
assert any("lane=99[?]" in line for line in lines)
assert any(r'comm="evil\x1b[31m\x0a\"<&\\"' in line for line in lines)
assert any(r'comm="a\x00b"' in line for line in lines)
assert lines[0].startswith("-0.000000010 control task lane=2[")
END

run dump --kind exit,fork --stream cpu0,cpu1 "$work/t.hgt"
[ "$(grep -vcE ' cpu[01] (exit|fork) ' "$work/out")" = 0 ] && [ -s "$work/out" ] || fail "dump: filters"
run dump --from 1.9 --to 2.1 "$work/t.hgt"
[ "$(cut -d' ' -f1 "$work/out")" = 2.000000000 ] || fail "dump: --from, --to"
run dump --from 3 "$work/t.hgt"
[ $code = 0 ] && [ ! -s "$work/out" ] || fail "dump: a time behind the end"

# Every kind is in the help.
"$hourglass" dump --help > "$work/help" || fail "dump --help"
while read -r kind; do
	grep -qE "^  $kind  " "$work/help" || fail "dump --help lacks $kind"
done < <(python3 -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))["kinds"]))' "$work/info.json")

# Whoever reads our output may stop.
for words in "dump $work/t.hgt" "info $work/t.hgt"; do
	# shellcheck disable=SC2086
	"$hourglass" $words 2> "$work/err" | true
	[ -s "$work/err" ] && fail "$words into a closed pipe: $(cat "$work/err")"
	# shellcheck disable=SC2086
	(trap '' PIPE; "$hourglass" $words 2> "$work/err" | true)
	[ -s "$work/err" ] && fail "$words into a closed pipe, signal ignored: $(cat "$work/err")"
	# shellcheck disable=SC2086
	"$hourglass" $words > /dev/full 2> "$work/err" && fail "$words to a full disk is no error"
	[ "$(wc -l < "$work/err")" = 1 ] || fail "$words to a full disk: $(cat "$work/err")"
done

for words in "info" "dump" "info a b" "dump --kind nonsense x" "dump --stream cpu x" "dump --from x y" \
	"info --format xml x"; do
	# shellcheck disable=SC2086
	run $words
	[ $code = 2 ] || fail "$words: exit code $code, not 2"
done
for verb in info dump; do
	run $verb /nonexistent
	[ $code = 1 ] && [ "$(wc -l < "$work/err")" = 1 ] || fail "$verb of no file: $code"
	run $verb "$hourglass"
	[ $code = 1 ] && grep -q 'no hourglass trace' "$work/err" || fail "$verb of another file: $code"
done

# Cut in half: a warning, and what is intact.
size=$(stat -c %s "$work/t.hgt")
head -c $((size / 2)) "$work/t.hgt" > "$work/cut.hgt"
for verb in info dump; do
	run $verb "$work/cut.hgt"
	[ $code = 0 ] && [ "$(wc -l < "$work/err")" = 1 ] && grep -q 'cut.hgt is not whole' "$work/err" ||
		fail "$verb of a cut file: $code, $(cat "$work/err")"
done
[ -s "$work/out" ] || fail "dump of a cut file prints nothing"
run info --format json "$work/cut.hgt"
python3 -c 'import json, sys; h = json.load(open(sys.argv[1]))["health"]; assert not h["whole"] and h["sentence"]' \
	"$work/out" || fail "info --format json of a cut file"
exit $status
