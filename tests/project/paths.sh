#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: paths.sh SOURCE
# The tree names no place of the machine that it was written on: home folders, and where this clone lies.
set -u
cd "$1" || exit 1
here=$(pwd -P)
parent=${here%/*}

patterns=(-e '/home/[a-z]' -e '/root/[a-zA-Z.]' -e '/Users/[a-z]')
# A clone directly under / or /tmp has no telling parent.
case $parent in
'' | /tmp | /var/tmp | /srv | /opt | /usr/src) ;;
*) patterns+=(-e "$parent/") ;;
esac

if grep -rnI --exclude-dir=.git --exclude-dir='build*' --exclude=paths.sh --exclude='*.hgt' "${patterns[@]}" .; then
	echo "the lines above name places of one machine"
	exit 1
fi
