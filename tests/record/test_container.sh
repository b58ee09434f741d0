#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container by runc or crun, named by its cgroup: its threads by the host's ids, the verdict found through its namespaces.
. "$(dirname "$0")/lib.sh"
need_recording
: "${HG_SERVER:?}" "${HG_CLIENT:?}"

runtime=
for r in runc crun; do
	command -v "$r" >/dev/null && runtime=$r && break
done
[ -n "$runtime" ] || skip "neither runc nor crun is installed"
command -v nsenter >/dev/null || skip "nsenter is missing (util-linux)"

box="hg-box-$$"
cleanup_all() {
	"$runtime" delete -f "$box" >/dev/null 2>&1
	cleanup
}
trap cleanup_all EXIT

# A file system of nothing but the server and its libraries.
mkdir -p bundle/rootfs/{bin,proc,dev,sys}
cp "$HG_SERVER" bundle/rootfs/bin/server
for library in $(ldd "$HG_SERVER" | grep -o '/[^ ]*'); do
	mkdir -p "bundle/rootfs$(dirname "$library")"
	cp -L "$library" "bundle/rootfs$library"
done
(cd bundle && "$runtime" spec) || skip "$runtime cannot write a specification"
python3 - "$box" <<'PY' || skip "python3 is missing"
import json, sys
with open("bundle/config.json") as f:
    spec = json.load(f)
spec["process"].update(terminal=False, args=[
    "/bin/server", "--port=7777", "--model=connection", "--burn-us=20", "--lock-sleep-us=1500",
    "--name=in-the-box", "--thread-name=boxed"])
spec["linux"]["cgroupsPath"] = "/" + sys.argv[1]
with open("bundle/config.json", "w") as f:
    json.dump(spec, f)
PY
(cd bundle && "$runtime" run --detach "$box") >start.out 2>&1 </dev/null ||
	skip "$runtime cannot start a container here: $(tr '\n' ' ' <start.out)"
server=$("$runtime" state "$box" | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
check "it has a pid namespace of its own" not test "$(readlink /proc/"$server"/ns/pid)" = "$(readlink /proc/self/ns/pid)"
listens() { grep -q ":1E61 .* 0A " /proc/"$server"/net/tcp; }
check "the server listens" wait_for 5 listens

record --cgroup "$box" -o a.hgt -- nsenter -t "$server" -n "$HG_CLIENT" --port=7777 --connections=4 --duration=4
check "recorded" rc_is 0
check "whole" whole a.hgt
check "the cgroup was found in a hierarchy" says "cgroup $box is /"
check "the target is named" fact "^target 0 2 .* /$box\$"
"$HOURGLASS" report --format json a.hgt >report.json 2>report.err

# report_says EXPRESSION over the report d and its target's lanes
report_says() {
	python3 - "$server" "$1" <<'PY'
import json, sys
server, d = sys.argv[1], json.load(open("report.json"))
mine = [l for l in d["lanes"] if l["role"] == "target"]
client = [l for l in d["lanes"] if l["role"] == "client"]
for l in mine:
    if l["wall_ns"] != sum(l["states"].values()):
        sys.exit("the states of %s do not sum to its time" % l["name"])
if not eval("(" + sys.argv[2] + ")"):
    print(json.dumps([d["verdict"], d["targets"], mine], indent=1))
    sys.exit(1)
PY
}
check "its leader, by the host's pid" report_says 'any(l["id"] == server and l["name"] == "in-the-box" for l in mine)'
check "its threads by their names" report_says 'sum(l["name"].startswith("boxed") for l in mine) >= 4'
"$HOURGLASS" dump --kind=task a.hgt >tasks
check "it knows its ids in there as well" grep -q " tid=$server tgid=$server nstid=1 " tasks
check "the client is no part of it" report_says 'client and all(l["target"] is None for l in client)'
check "time was spent waiting for a lock" report_says 'sum(l["states"]["blocked.lock"] for l in mine) > 4e9'
first='(d["candidates"][0]["class"], d["candidates"][0]["cause"], d["candidates"][0]["subject"]["kind"])'
check "the first cause is its lock" report_says "$first == ('locking', 'user', 'lock')"
# While others keep the CPUs busy there is no verdict.
check "the limit is its lock" report_says \
	'(d["verdict"]["class"], d["verdict"]["cause"]) == ("locking", "user") or
	 not all(g["passed"] for g in d["quality"]["gates"] if g["name"] == "other-load")'
check "whoever holds it is known, by its id in there" bash -c '"$1" dump --kind=switch_block a.hgt | grep -q "holder=[1-9]"' - "$HOURGLASS"
# As the kernel calls it; from within a chroot that has more in front.
program=$(readlink /proc/$server/exe)
check "its program is the server" test "${program%/bin/server}/bin/server" = "$program"
check "its program is named as it is called in there" report_says \
	'any(t.get("program") == "'"$program"'" and t["pid"] == int(server) for t in d["environment"]["targets"])'
result
