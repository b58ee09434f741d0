# SPDX-License-Identifier: GPL-2.0-or-later
# For the tests of record: checks that print ok or FAIL, a directory, and what must be there.
set -u
: "${HOURGLASS:?the binary under test}" "${TRACE_FACTS:?}" "${MANY_THREADS:?}"
failed=0
pids=()
dir=$(mktemp -d /tmp/hg-record-XXXXXX)
chmod 755 "$dir"
mounted=

cleanup() {
	local pid
	exec 2>/dev/null # bash tells who was killed
	# A server that is killed hard leaves its workers behind.
	for pid in "${pids[@]}"; do kill "$pid"; done
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 "${pids[@]}" || break
		sleep 0.2
	done
	for pid in "${pids[@]}"; do kill -9 "$pid"; done
	[ -z "$mounted" ] || umount "$mounted"
	rm -rf "$dir"
}
trap cleanup EXIT
cd "$dir" || exit 1

skip() {
	echo "skip: $*"
	exit 77
}

need_recording() {
	[ "$(id -u)" = 0 ] || skip "root is missing"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
}

# check NAME COMMAND...: ok if it succeeds
check() {
	local name=$1
	shift
	if "$@" >check.out 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name: $*"
		sed 's/^/    /' check.out
		failed=1
	fi
}

# record ARGS...: sets rc; stdout in out, messages in err
record() {
	timeout -k 5 100 "$HOURGLASS" record "$@" >out 2>err
	rc=$?
}

# record_background ARGS...: sets pid. A script's & ignores SIGINT, a terminal does not.
record_background() {
	env --default-signal=INT "$HOURGLASS" record "$@" >out 2>err &
	pid=$!
	pids+=("$pid")
}

# wait_for SECONDS COMMAND...
wait_for() {
	local i n=$(($1 * 20))
	shift
	for ((i = 0; i < n; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	return 1
}

finish() {
	wait "$1"
	rc=$?
}

rc_is() { [ "$rc" = "$1" ] || { echo "exit code $rc"; cat err; return 1; }; }
says() { grep -q -- "$1" err || { cat err; return 1; }; }
# One sentence, nothing else.
says_only() { says "$1" && [ "$(wc -l <err)" = 1 ] || { cat err; return 1; }; }
facts() { "$TRACE_FACTS" "$1" >facts 2>facts.err; }
# fact PATTERN: of the last facts
fact() { grep -q -- "$1" facts || { head -50 facts; cat facts.err; return 1; }; }
count() { awk -v k="$1" '$1 == "count" && $2 == k { print $3 }' facts; }
whole() { facts "$1" && fact '^finalised 1$' && fact '^begin ' && fact '^end '; }
at_least() { [ "$1" -ge "$2" ] || { echo "$1 < $2"; return 1; }; }
not() { ! "$@"; }

result() {
	exit "$failed"
}
