#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real clients, one and many: the throughput of the report against what the server counted.
. "$(dirname "$0")/lib.sh"
need_recording
port=$((20000 + $$ % 20000))

report() {
	"$HOURGLASS" report --format json "$1" >report.json 2>report.err &&
		"$HOURGLASS" report "$1" >report.txt 2>>report.err
}
# holds EXPRESSION: of t, the throughput, and of numbers in the environment
holds() {
	python3 -c '
import json, os, sys
t = json.load(open("report.json"))["throughput"]
print(json.dumps(t)[:600])
sys.exit(not eval(sys.argv[1], {"t": t, "json": json, "env": lambda n: float(os.environ[n])}))' "$1"
}
text_says() { grep -q -- "$1" report.txt || { cat report.txt; return 1; }; }

# -- four wrk at once against one nginx --
requests() {
	python3 -c '
import sys, urllib.request
words = urllib.request.urlopen("http://127.0.0.1:%s/status" % sys.argv[1]).read().decode().split()
print(words[words.index("requests") + 3])' "$port"
}
if command -v nginx >/dev/null && command -v wrk >/dev/null; then
	cat >nginx.conf <<-EOF
		daemon off;
		worker_processes 1;
		pid $dir/nginx.pid;
		error_log $dir/nginx.err;
		events { worker_connections 512; }
		http {
			access_log off;
			server {
				listen 127.0.0.1:$port;
				keepalive_requests 100000000;
				location / { return 200 "ok"; }
				location /status { stub_status; }
			}
		}
	EOF
	nginx -p "$dir" -c "$dir/nginx.conf" 2>nginx.err &
	server=$!
	pids+=("$server")
	wait_for 10 requests
	for how in "line by line" "one after another"; do
		case $how in
		"line by line") four="for i in 1 2 3 4; do stdbuf -oL wrk -t1 -c4 -d3 http://127.0.0.1:$port/ & done; wait" ;;
		*) four="for i in 1 2 3 4; do wrk -t1 -c4 -d3 http://127.0.0.1:$port/ >wrk.\$i & done; wait; cat wrk.?" ;;
		esac
		before=$(requests)
		record -f -p "$server" -o four.hgt -- sh -c "$four"
		check "four wrk, $how: exit code 0" rc_is 0
		served=$(($(requests) - before - 1))
		check "four wrk, $how: a report" report four.hgt
		SERVED=$served check "four wrk, $how: all are added" \
			holds 't["clients"]["count"] == 4 and t["concurrency"] == 16'
		SERVED=$served check "four wrk, $how: the sum is the server's count of $served within 2 %" \
			holds 'abs(t["completed"] - env("SERVED")) <= 0.02 * env("SERVED")'
		check "four wrk, $how: and so is the rate" \
			holds 't["completed"] / t["duration_s"] <= 1.001 * t["value"] <= 1.002 * t["completed"] / t["clients"]["common_s"]'
		# a busy machine may start them apart: what is told must hold all the same
		check "four wrk, $how: the skew is told" \
			holds '2 < t["clients"]["common_s"] < 3.5 and t["clients"]["skewed"] == (max(t["clients"]["start_skew_s"], t["clients"]["stop_skew_s"]) > 0.05 * t["clients"]["common_s"])'
		check "four wrk, $how: in the text" text_says '4 side by side for '
		echo "served $served, reported $(python3 -c 'import json; print(json.load(open("report.json"))["throughput"])')" | cut -c1-400
	done
	record -f -p "$server" -o four.hgt -- sh -c "wrk -t1 -c4 -d6 http://127.0.0.1:$port/ & sleep 0.42; wrk -t1 -c4 -d6 http://127.0.0.1:$port/; wait"
	report four.hgt
	check "two wrk, the second late: marked" holds 't["clients"]["skewed"] and 0.3 < t["clients"]["start_skew_s"] < 0.6'
	check "two wrk, the second late: in the text" text_says 'SKEWED'
	kill "$server"
else
	echo "skip: nginx or wrk is missing for many clients at once"
fi

# -- iperf3, its own count of bytes received is the reference --
port=$((port + 1))
if command -v iperf3 >/dev/null; then
	iperf3 -s -p "$port" >server.out 2>&1 &
	server=$!
	pids+=("$server")
	wait_for 10 grep -q listening server.out
	record -f -p "$server" -o iperf.hgt -- iperf3 -c 127.0.0.1 -p "$port" -t 3 -P 2
	check "iperf3: exit code 0" rc_is 0
	check "iperf3: a report" report iperf.hgt
	total=$(sed -nE 's/^\[SUM\].* ([0-9.]+) ([KMGT]?)bits\/sec +receiver.*/\1 \2/p' out |
		awk '{ f["K"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; f["T"] = 1e12; printf "%.0f", $1 * ($2 == "" ? 1 : f[$2]) }')
	TOTAL=$total check "iperf3: streams are added to its own sum" \
		holds 't["unit"] == "bit/s" and abs(t["value"] - env("TOTAL")) <= 0.01 * env("TOTAL") and t["concurrency"] == 2'
	check "iperf3: a series of its intervals, a second apart" \
		holds 'len(t["series"]) == 3 and all(0.98 < b["time_s"] - a["time_s"] < 1.02 for a, b in zip(t["series"], t["series"][1:]))'
	check "iperf3: retransmits and what was sent" holds 't["retransmits"] is not None and t["sent"] >= 0.9 * t["value"]'
	check "iperf3: in the text" text_says 'bit/s \[from iperf3'
	record -f -p "$server" -o iperf.hgt -- iperf3 -J -c 127.0.0.1 -p "$port" -t 2 -b 40M
	check "iperf3 -J: a report" report iperf.hgt
	cp out iperf.json
	check "iperf3 -J: its figure" holds 'abs(t["value"] - json.load(open("iperf.json"))["end"]["sum_received"]["bits_per_second"]) < 1'
	check "iperf3 -J: the rate that it was to hold" holds 't["offered"] == 40e6 and not t["closed_loop"]'
	kill "$server"
else
	echo "skip: iperf3 is missing"
fi
result
