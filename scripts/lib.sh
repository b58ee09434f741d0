# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# What scripts/demo and scripts/test share: messages, packages, builds. Sourced, with $source_dir set.

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	say "$*"
	exit 1
}

# packages_for PURPOSE...: the names in scripts/packages that serve any of these purposes.
packages_for()
{
	awk -v want="$*" '
		BEGIN { n = split(want, purposes, " ") }
		/^#/ || NF < 3 { next }
		{ for (i = 1; i <= n; i++)
			if (index("," $2 ",", "," purposes[i] ",")) { print $1; next } }
	' "$source_dir/scripts/packages"
}

# packages_missing NAME...: those that dpkg does not have.
packages_missing()
{
	local name

	for name; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
	done
}

# A package that starts its service would take ports and CPU from whatever runs here, so none is
# started: invoke-rc.d asks policy-rc.d. One that exists already is the administrator's and stays.
apt_install()
{
	local policy=/usr/sbin/policy-rc.d own_policy='' status=0

	if [ ! -e "$policy" ]; then
		own_policy=1
		printf '#!/bin/sh\nexit 101\n' > "$policy"
		chmod 755 "$policy"
	fi
	DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 \
		install --no-install-recommends "$@" < /dev/null >&2 || status=$?
	[ -z "$own_policy" ] || rm -f "$policy"
	return "$status"
}

apt_knows()
{
	local name

	for name; do
		apt-cache show --no-all-versions "$name" > /dev/null 2>&1 || return 1
	done
}

apt_update()
{
	say "fetching the package lists"
	apt-get -q -o DPkg::Lock::Timeout=120 update < /dev/null >&2 || die "apt-get update failed: see its messages above"
}

# install_for PURPOSE...: install what is missing, and nothing else.
install_for()
{
	local missing

	command -v dpkg-query > /dev/null ||
		die "this is no Debian system: install by hand what scripts/packages lists for: $*"
	# shellcheck disable=SC2046
	missing=$(packages_missing $(packages_for "$@") | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "these packages are missing, and only root can install them: $missing"
	say "installing $missing"
	# shellcheck disable=SC2086
	{
		apt_knows $missing || apt_update
		apt_install $missing && return 0
		# The lists may name versions that the mirror has replaced since.
		apt_update
		apt_install $missing || die "cannot install $missing: see apt-get's messages above"
	}
}

# build PRESET TARGET [CMAKE-OPTION...]: configure and build; the log is shown only when it fails.
build()
{
	local preset=$1 target=$2 log
	shift 2

	log=$(mktemp) || die "cannot make a temporary file"
	say "building (preset $preset)"
	if ! (cd "$source_dir" && cmake --preset "$preset" "$@" &&
		cmake --build --preset "$preset" --target "$target") > "$log" 2>&1 < /dev/null; then
		tail -n 100 "$log" >&2
		rm -f "$log"
		die "the build failed (preset $preset): its last lines are above"
	fi
	rm -f "$log"
}
