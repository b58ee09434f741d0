#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Cgroups as targets, of v1 and v2: who is in them at the start, who comes, who goes; and when they go.
. "$(dirname "$0")/lib.sh"
need_recording

group="hg-test-$$"
v1=$(awk '$3 == "cgroup" && "," $4 "," ~ /,cpu,/ { print $2; exit }' /proc/mounts)
other=$(awk '$3 == "cgroup" && "," $4 "," ~ /,freezer,/ { print $2; exit }' /proc/mounts)
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
home=${v1:-$v2}
[ -n "$home" ] || skip "no cgroup hierarchy with the cpu controller is mounted"
mkdir "$home/$group" 2>/dev/null || skip "no cgroup can be made in $home"
made=("$home/$group")

# Groups are busy until their last task is reaped.
groups_remove() {
	local g i
	for ((i = ${#made[@]} - 1; i >= 0; i--)); do
		g=${made[$i]}
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			[ ! -d "$g" ] || rmdir "$g" 2>/dev/null && break
			sleep 0.1
		done
	done
}
cleanup_all() {
	cleanup
	groups_remove
}
trap cleanup_all EXIT

make_group() {
	mkdir "$1" && made+=("$1")
}
# start_in GROUP CMD...: sets started
start_in() {
	local to=$1
	shift
	(echo "$BASHPID" >"$to/cgroup.procs" && exec "$@") &
	started=$!
	pids+=("$started")
}
lane() { awk -v t="$1" '$1 == "task" && $3 == t { print $2; exit }' facts; }
# members ROLE: lanes that ever had it
members() { awk -v r="$1" '$1 == "role" && $3 == r { print $2 }' facts | sort -u | wc -l; }
report() { "$HOURGLASS" report --format json "$1" >report.json 2>report.err; }
# Of a report: what each lane and target did sums to its time; a check in Python over it.
report_says() {
	python3 - "$1" <<'PY'
import json, sys
d = json.load(open("report.json"))
lanes, targets = d["lanes"], d["targets"]
for row in lanes + targets:
    if row["wall_ns"] != sum(row["states"].values()):
        sys.exit("%s: %d ns of states in %d ns" % (row["name"], sum(row["states"].values()), row["wall_ns"]))
mine = [l for l in lanes if l["role"] == "target"]
if sum(l["wall_ns"] for l in mine) != sum(t["wall_ns"] for t in targets):
    sys.exit("the targets' sum is not that of their lanes")
if not eval(sys.argv[1]):
    print(targets)
    print(mine)
    sys.exit(1)
PY
}

# -- there at the start, with a cgroup below; named by its path in the hierarchy --
make_group "$home/$group/below"
start_in "$home/$group" sleep 60
first=$started
start_in "$home/$group/below" "$MANY_THREADS" 20 60
second=$started
threads_are() { [ "$(ls /proc/"$1"/task | wc -l)" = "$2" ]; }
wait_for 10 threads_are "$second" 21
record --cgroup "$group" -d 0.5 -o a.hgt
check "at the start: whole" whole a.hgt
check "at the start: found where" says "cgroup $group is $home/$group"
check "at the start: a process and 21 threads below" test "$(members 1)" = 22
check "at the start: the target is named" fact "^target 0 2 .* /$group\$"
"$HOURGLASS" info a.hgt >out
check "info names it" grep -q "target 0 *cgroup /$group" out
report a.hgt
check "at the start: time is conserved" report_says 'targets[0]["count"] == 22'
kill "$first" "$second"

# -- they come and go while it is recorded: a process, all its threads at once, one thread, a new child --
"$MANY_THREADS" 30 60 >threads.out &
many=$!
(while :; do :; done) &
busy=$!
pids+=("$many" "$busy")
wait_for 10 grep -q ready threads.out
record_background --cgroup "$home/$group" -d 6 -o b.hgt
wait_for 10 test -s b.hgt
sleep 0.5
echo "$many" >"$home/$group/cgroup.procs"
echo "$busy" >"$home/$group/below/cgroup.procs"
start_in "$home/$group/below" sleep 0.2
child=$started
sleep 1.5
thread=$(ls /proc/"$many"/task | tail -1)
[ -z "$v1" ] || echo "$thread" >"$home/tasks"
echo "$busy" >"$home/cgroup.procs"
sleep 1
echo "$busy" >"$home/$group/cgroup.procs"
finish "$pid"
check "moves: recorded" rc_is 0
check "moves: not said what is known" not says "cgroup .* is"
check "moves: whole" whole b.hgt
check "moves: all threads of a process" at_least "$(members 1)" 33
check "moves: started in a group below" fact "^role $(lane "$child") 1\$"
check "moves: out, and back in" test "$(awk -v l="$(lane "$busy")" '$1 == "role" && $2 == l { printf "%s", $3 }' facts)" = 101
[ -z "$v1" ] || check "moves: one thread goes" fact "^role $(lane "$thread") 0\$"
report b.hgt
check "moves: time is conserved, without that elsewhere" report_says \
	'any(l["id"] == "'"$busy"'" and 0.3 < l["wall_ns"] / 1e9 / d["window"]["wall_s"] < 0.85 and l["states"]["unknown"] < 0.15 * l["wall_ns"] for l in mine)'
kill "$many" "$busy"
wait "$many" "$busy" 2>/dev/null

# -- one that appears below, while another one vanishes; the last one's end ends it --
make_group "$home/$group-2"
start_in "$home/$group-2" sleep 0.7
record_background --cgroup "$group" --cgroup "$group-2" -o c.hgt
wait_for 10 test -s c.hgt
make_group "$home/$group/late"
start_in "$home/$group/late" sleep 1.5
late=$started
sleep 1
wait_for 5 rmdir "$home/$group-2"
sleep 0.5
check "one of two vanishes: it goes on" kill -0 "$pid"
wait_for 5 rmdir "$home/$group/late"
rmdir "$home/$group/below"
sleep 0.3
check "an empty one stays a target" kill -0 "$pid"
rmdir "$home/$group"
check "the last one vanishes: it ends" wait_for 5 not kill -0 "$pid"
finish "$pid"
check "vanished: recorded" rc_is 0
check "vanished: whole" whole c.hgt
check "vanished: that is why" fact '^end [0-9]* 4$'
check "appeared: it was recorded" fact "^role $(lane "$late") 1\$"
mkdir "$home/$group"

# -- several targets, -p and --cgroup --
start_in "$home/$group" sleep 20
inside=$started
sleep 20 &
outside=$!
pids+=("$outside")
record -p "$outside" --cgroup "$home/$group" --cgroup "$home/$group/." -p "$outside" -d 1.2 -o d.hgt
check "two targets: whole" whole d.hgt
check "two targets: a process" fact "^target 0 1 $outside sleep\$"
check "two targets: a cgroup" fact "^target 1 2 .* /$group\$"
check "two targets: no more" not fact '^target 2 '
report d.hgt
check "two targets: threads are told apart" report_says \
	'sorted((l["id"], l["target"]) for l in mine) == sorted([("'"$outside"'", 0), ("'"$inside"'", 1)])'
"$HOURGLASS" report d.hgt >out 2>&1
check "two targets: in the text" grep -q "cgroup /$group" out
kill "$inside" "$outside"
wait "$inside" "$outside" 2>/dev/null

# -- other hierarchies: membership needs no cpu controller --
for where in "$other" "$v2"; do
	[ -n "$where" ] && [ "$where" != "$home" ] || continue
	if ! make_group "$where/$group" 2>/dev/null; then
		echo "skip: no cgroup can be made in $where"
		continue
	fi
	start_in "$where/$group" sleep 20
	record --cgroup "$where/$group" -d 0.3 -o e.hgt -f
	check "in $where: whole" whole e.hgt
	check "in $where: its task" fact "^role $(lane "$started") 1\$"
	check "in $where: nothing else" test "$(members 1)" = 1
	kill "$started"
done
[ -n "$v2" ] || echo "skip: cgroup v2 is not mounted"

# -- the client is no target, nor is hourglass, in whose cgroup they are --
echo 'echo "$BASHPID" >"$1/cgroup.procs"; shift; exec "$@"' >run
timeout 60 bash run "$home/$group" "$HOURGLASS" record --cgroup "$group" -o f.hgt -- sh -c 'sleep 0.3; :' >out 2>err
rc=$?
check "the client in it: recorded" rc_is 0
check "the client in it: whole" whole f.hgt
check "the client in it is the client" at_least "$(members 2)" 1
check "the client in it: no target" test "$(members 1)" = 0

# -- what cannot be --
record --cgroup "$group-none" -d 1 -o z.hgt
check "not there: refused" rc_is 1
check "not there: one sentence" says_only "cannot record cgroup $group-none: there is no such cgroup"
record --cgroup "$dir" -d 1 -o z.hgt
check "no cgroup: refused" rc_is 1
check "no cgroup: one sentence" says_only "no directory of a cgroup hierarchy"
record --cgroup "$home/$group/cgroup.procs" -d 1 -o z.hgt
check "a file: refused" rc_is 1
record --cgroup '' -d 1 -o z.hgt
check "no name: usage" rc_is 2
check "refused: no file" test ! -e z.hgt
result
