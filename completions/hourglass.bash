# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of hourglass(1). tests/project/documented.sh runs it: a new option must be listed here.

_hourglass()
{
	local verb='' word cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i options

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# After -- comes a command of its own.
		if [ "$word" = -- ]; then
			if declare -F _command_offset > /dev/null; then
				_command_offset $((i + 1))
			elif ((COMP_CWORD == i + 1)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return 0
		fi
		[ -n "$verb" ] || [[ $word == -* ]] || verb=$word
	done

	# "--format=json" arrives as three words.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ] && ((COMP_CWORD > 2)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi

	case $verb in
	record)
		options='-p --pid --cgroup -a --all -o --output -f --force -d --duration --user --client --client-regex'
		options+=' --client-log -m --mmap-size --no-args -q --quiet --help'
		;;
	report) options='--format --window --help' ;;
	info) options='--format --help' ;;
	dump) options='--format --stream --kind --from --to --help' ;;
	check) options='-p --pid --format --help' ;;
	*)
		mapfile -t COMPREPLY < <(compgen -W 'record report info dump check --help --version' -- "$cur")
		return 0
		;;
	esac

	case $verb:$prev in
	record:-o | record:--output | record:--client-log)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return 0
		;;
	record:-p | record:--pid | check:-p | check:--pid)
		mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(echo [0-9]*)" -- "$cur")
		return 0
		;;
	record:--cgroup)
		mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}")
		return 0
		;;
	record:--user)
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		return 0
		;;
	record:--client)
		mapfile -t COMPREPLY < <(compgen -W 'ab dnsperf hey iperf3 key-value pgbench sysbench wrk' -- "$cur")
		return 0
		;;
	record:-d | record:--duration | record:-m | record:--mmap-size | record:--client-regex | report:--window) return 0 ;;
	*:--format)
		mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur")
		return 0
		;;
	esac

	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

complete -o filenames -F _hourglass hourglass
