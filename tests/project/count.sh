#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: count.sh SOURCE
# scripts/count.awk counts what ctest reports: run on a project of five tests, of which two pass, one fails, one
# skips and one cannot start. A counter that hid a failure would make every other test worthless.
set -u
source_dir=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cat > "$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(count NONE)
enable_testing()
add_test(NAME good COMMAND sh -c "echo fine")
add_test(NAME partly COMMAND sh -c "echo 'skip: no <such> \"thing\"'; echo '[  SKIPPED ] test_one'")
add_test(NAME bad COMMAND sh -c "exit 1")
add_test(NAME skipper COMMAND sh -c "echo 'skip: no moon & no stars'; exit 77")
add_test(NAME absent COMMAND no-such-program)
set_tests_properties(skipper PROPERTIES SKIP_RETURN_CODE 77)
END
(cmake -S "$work" -B "$work/build" && ctest --test-dir "$work/build" --output-junit "$work/debug.xml") > "$work/log" 2>&1
[ -s "$work/debug.xml" ] || { cat "$work/log"; exit 1; }

sort > "$work/want" <<'END'
failed: absent
failed: bad
skipped: skipper: no moon & no stars
skipped inside: partly test_one: no <such> "thing"
2 passed, 2 failed, 1 skipped
END
awk -f "$source_dir/scripts/count.awk" "$work/debug.xml" > "$work/got" && { echo "it calls this a success"; exit 1; }
sort "$work/got" | diff "$work/want" - || exit 1
[ "$(tail -n 1 "$work/got")" = "2 passed, 2 failed, 1 skipped" ] || { echo "the count is not the last line"; exit 1; }
