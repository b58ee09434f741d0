#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: install.sh SOURCE BUILD CMAKE
# `cmake --install` into an empty DESTDIR puts the program, every man page, the completions, the report's schema and the
# documents in place; the program runs from there.
set -u
source_dir=$1 build_dir=$2 cmake=$3
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT
status=0

DESTDIR=$dest "$cmake" --install "$build_dir" --prefix /usr > "$dest/log" 2>&1 || { cat "$dest/log"; exit 1; }

want=(usr/bin/hourglass
	usr/share/bash-completion/completions/hourglass
	usr/share/zsh/vendor-completions/_hourglass
	usr/share/fish/vendor_completions.d/hourglass.fish
	usr/share/doc/hourglass/LICENSE
	usr/share/doc/hourglass/README.md)
for guide in "$source_dir"/docs/*.md; do
	want+=("usr/share/doc/hourglass/${guide##*/}")
done
for page in "$source_dir"/docs/*.[0-9]; do
	want+=("usr/share/man/man${page##*.}/${page##*/}")
done
for schema in "$source_dir"/docs/*.schema.json; do
	[ ! -e "$schema" ] || want+=("usr/share/hourglass/${schema##*/}")
done
for file in "${want[@]}"; do
	[ -s "$dest/$file" ] || { echo "not installed, or empty: /$file"; status=1; }
done

# Nothing that the list above does not name: test programs, headers and archives stay where they were built.
while read -r file; do
	file=${file#"$dest"/}
	[ "$file" = log ] && continue
	case " ${want[*]} " in
	*" $file "*) ;;
	*) echo "installed, but in no list: /$file"; status=1 ;;
	esac
done < <(find "$dest" -type f)

"$dest/usr/bin/hourglass" --version | grep -Eq '^hourglass [0-9]+\.[0-9]+' || { echo "hourglass --version does not run"; status=1; }
exit $status
