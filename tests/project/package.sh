#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: package.sh SOURCE BUILD CPACK
# cpack makes a .deb that holds what is installed and depends on the libraries that the program needs.
set -u
source_dir=$1 build_dir=$2 cpack=$3

for tool in dpkg-deb dpkg-shlibdeps file; do
	command -v $tool > /dev/null || { echo "skip: $tool is not installed"; exit 77; }
done
if grep -q '^HG_SANITIZE:BOOL=ON' "$build_dir/CMakeCache.txt"; then
	echo "skip: a build with sanitizers makes no package"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

(cd "$build_dir" && "$cpack" -G DEB -B "$work") > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
deb=$(echo "$work"/hourglass_*.deb)
[ -f "$deb" ] || { cat "$work/log"; echo "cpack made no hourglass_*.deb"; exit 1; }

files=$(dpkg-deb -c "$deb" | awk '{ print $6 }')
for file in ./usr/bin/hourglass ./usr/share/man/man1/hourglass.1.gz ./usr/share/doc/hourglass/copyright \
	./usr/share/doc/hourglass/changelog.gz ./usr/share/bash-completion/completions/hourglass; do
	grep -qxF "$file" <<< "$files" || { echo "the package lacks $file"; status=1; }
done

dpkg-deb -x "$deb" "$work/unpacked"
program=$work/unpacked/usr/bin/hourglass
"$program" --version || { echo "the packaged program does not run"; status=1; }

depends=$(dpkg-deb -f "$deb" Depends)
for library in $(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	# The one that is loaded: another architecture's may be installed too. It may be known under /lib or /usr/lib.
	path=$(ldd "$program" | awk -v l="$library" '$1 == l { print $3 }')
	package=$(dpkg-query -S "$path" "/usr$path" "${path#/usr}" 2> /dev/null | sed -n '1s/:.*//p')
	[ -n "$package" ] || { echo "no package holds $library"; status=1; continue; }
	grep -qE "(^|, )$package( |,|$)" <<< "$depends" || { echo "it needs $library but not $package: $depends"; status=1; }
done
# Where it was built must not show: names in assertions and in the BPF objects' line information are the tree's.
if strings -a "$program" | grep -F "$source_dir"; then
	echo "the packaged program names the folder it was built in"
	status=1
fi
exit $status
