#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: offline_link.sh SOURCE PROGRAM
# What comes after the trace file needs neither root nor BPF: PROGRAM, the whole of analysis/, trace/ and base/, must
# not need libbpf, nor may their sources include it.
set -u
source_dir=$1 program=$2
status=0

needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || { echo "readelf shows no libraries of $program"; exit 1; }
if grep -E '^lib(bpf|pfm|curl|sodium)' <<< "$needed"; then
	echo "analysis/, trace/ or base/ link the library above, which only the collector may"
	status=1
fi
if grep -rnE '#include [<"](bpf/|linux/bpf|collector/|probes/)' "$source_dir"/analysis "$source_dir"/trace "$source_dir"/base; then
	echo "analysis/, trace/ and base/ must not include what belongs to the collector"
	status=1
fi
exit $status
