#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Attached to servers whose clients are not ours: throughput from the trace, against what the clients counted.
. "$(dirname "$0")/lib.sh"
need_recording
: "${HG_SERVER:?}" "${HG_CLIENT:?}"
listens() { ss -ltnH "sport = :$1" | grep -q .; }
command -v ss >/dev/null || skip "ss is missing (iproute2)"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# measure PID CMD...: CMD's whole run lies within a recording of PID; its output in client.out
measure() {
	local server=$1
	shift
	rm -f p.hgt
	record_background -q -p "$server" -d 4.5 -o p.hgt
	wait_for 20 test -s p.hgt
	sleep 0.7
	"$@" >client.out 2>&1
	finish "$pid"
	"$HOURGLASS" report --format json p.hgt >report.json 2>report.err
}
# figures COMPLETED: the proxy's own is within 5 %; in the report it is called one, and caps the confidence
agrees() {
	python3 - "$1" <<'PY'
import json, sys
completed, d = int(sys.argv[1]), json.load(open("report.json"))
t = d["throughput"]
print(t or d["throughput_unknown_why"], completed)
good = t and t["source"].startswith("proxy: ") and abs(t["completed"] / completed - 1) < 0.05 and d["verdict"]["confidence"] != "high"
sys.exit(not good)
PY
}
refused() {
	python3 - "$1" <<'PY'
import json, sys
d = json.load(open("report.json"))
print(d["throughput"], d["throughput_unknown_why"])
sys.exit(not (d["throughput"] is None and "no proxy either: " in d["throughput_unknown_why"]
              and sys.argv[1] in d["throughput_unknown_why"] and d["verdict"]["cause"] is None))
PY
}

port=$(free_port)
"$HG_SERVER" --model=pool --workers=3 --burn-us=30 --port="$port" >/dev/null &
server=$!
pids+=("$server")
wait_for 10 listens "$port"
measure "$server" "$HG_CLIENT" --port="$port" --connections=8 --duration=2
completed=$(grep -oE 'completed[^0-9]*[0-9]+' client.out | grep -oE '[0-9]+$')
check "a pool of threads: within 5 % of its client's count" agrees "${completed:-0}"
kill "$server"

requests() { grep -oE '[0-9]+ requests in' client.out | grep -oE '^[0-9]+'; }
mkdir files
echo hello >files/small
head -c 2000000 /dev/zero >files/large
chmod -R a+rX files
if ! command -v wrk >/dev/null; then
	echo "skip: wrk is missing"
	result
fi
if command -v nginx >/dev/null; then
	port=$(free_port)
	cat >nginx.conf <<N
daemon off; worker_processes 1; pid $dir/nginx.pid; error_log $dir/nginx.err;
events {}
http {
	access_log off; sendfile on; keepalive_requests 100000000;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$port; root $dir/files; location /short { return 200 "ok"; } }
}
N
	nginx -c "$dir/nginx.conf" &
	server=$!
	pids+=("$server")
	wait_for 10 listens "$port"
	measure "$server" wrk -t1 -c8 -d2 "http://127.0.0.1:$port/short"
	check "nginx: within 5 % of wrk's count" agrees "$(requests)"
	measure "$server" wrk -t1 -c8 -d2 "http://127.0.0.1:$port/small"
	check "nginx, a file, header and body apart: within 5 % of wrk's count" agrees "$(requests)"
	cat >batch.lua <<'L'
init = function() local r = {} for i = 1, 8 do r[i] = wrk.format(nil, "/short") end batch = table.concat(r) end
request = function() return batch end
L
	measure "$server" wrk -t1 -c8 -d2 -s batch.lua "http://127.0.0.1:$port/"
	check "nginx, eight requests in a message: declared unusable" refused "disagree"
	kill "$server"
else
	echo "skip: nginx is missing"
fi
port=$(free_port)
(cd files && exec python3 -m http.server "$port" --bind 127.0.0.1 >/dev/null 2>&1) &
server=$!
pids+=("$server")
wait_for 10 listens "$port"
measure "$server" wrk -t1 -c4 -d2 "http://127.0.0.1:$port/small"
check "Python's server: within 5 % of wrk's count" agrees "$(requests)"
measure "$server" wrk -t1 -c4 -d2 "http://127.0.0.1:$port/large"
check "Python's server, a large file in many sends: declared unusable" refused "disagree"
kill "$server"
# A client's own figure comes first.
port=$(free_port)
"$HG_SERVER" --port="$port" >/dev/null &
server=$!
pids+=("$server")
wait_for 10 listens "$port"
record -q -p "$server" -o q.hgt -- "$HG_CLIENT" --port="$port" --connections=2 --duration=1.5
"$HOURGLASS" report --format json q.hgt >report.json
check "the client's own figure comes first" python3 -c \
	'import json; t = json.load(open("report.json"))["throughput"]; assert not t["source"].startswith("proxy"), t'
result
