#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: format.sh SOURCE
# Every C file is as clang-format 14 leaves it; other versions format differently, so only 14 judges.
set -u
cd "$1" || exit 1

for tool in clang-format-14 clang-format; do
	command -v $tool > /dev/null && $tool --version | grep -q ' 14\.' && break
	tool=
done
[ -n "$tool" ] || { echo "skip: clang-format 14 is not installed"; exit 77; }

mapfile -d '' files < <(find analysis base cli collector guest-agent probes tests trace -name '*.[ch]' -print0 2> /dev/null)
[ ${#files[@]} -gt 0 ] || { echo "no C files under $1"; exit 1; }
if ! output=$($tool --dry-run --Werror --ferror-limit=1 "${files[@]}" 2>&1); then
	grep -E 'error|warning' <<< "$output" | head -n 40
	echo "format them: $tool -i FILE"
	exit 1
fi
echo "${#files[@]} files"
