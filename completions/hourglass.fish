# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of hourglass(1). tests/project/documented.sh looks for every option here.

complete -c hourglass -n '__fish_use_subcommand' -f -l help -d 'List the verbs'
complete -c hourglass -n '__fish_use_subcommand' -f -l version -d 'Print the version'
complete -c hourglass -n '__fish_use_subcommand' -f -a record -d 'Record a running benchmark'
complete -c hourglass -n '__fish_use_subcommand' -f -a report -d 'Name what limits it'
complete -c hourglass -n '__fish_use_subcommand' -f -a info -d 'Tell what is in a trace'
complete -c hourglass -n '__fish_use_subcommand' -f -a dump -d 'Print every record of a trace'
complete -c hourglass -n '__fish_use_subcommand' -f -a check -d 'Tell what this machine can record'

complete -c hourglass -n '__fish_seen_subcommand_from record' -s o -l output -r -F -d 'Write the trace to FILE'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s f -l force -d 'Overwrite the output'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s p -l pid -x -a '(__fish_complete_pids)' -d 'Record these processes'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l cgroup -r -F -d 'Record all tasks of this cgroup'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s a -l all -d 'Record the whole machine'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s d -l duration -x -d 'Stop after SECS seconds'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l user -x -a '(__fish_complete_users)' -d 'Run CMD as this user'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l client -x -a 'ab dnsperf hey iperf3 key-value pgbench sysbench wrk' -d 'What the client is'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l client-regex -x -d 'How its output tells the throughput'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l client-log -r -F -d 'Follow this file for the throughput'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s m -l mmap-size -x -d 'Ring of each CPU'
complete -c hourglass -n '__fish_seen_subcommand_from record' -l no-args -d 'Leave the arguments of commands out of the trace'
complete -c hourglass -n '__fish_seen_subcommand_from record' -s q -l quiet -d 'No progress and no summary'

complete -c hourglass -n '__fish_seen_subcommand_from report' -l format -x -a 'text json' -d 'Output format'
complete -c hourglass -n '__fish_seen_subcommand_from report' -l window -x -d 'Only seconds A:B of the recording'

complete -c hourglass -n '__fish_seen_subcommand_from info' -l format -x -a 'text json' -d 'Output format'
complete -c hourglass -n '__fish_seen_subcommand_from dump' -l format -x -a 'text json' -d 'Output format'
complete -c hourglass -n '__fish_seen_subcommand_from dump' -l stream -x -d 'Only these streams'
complete -c hourglass -n '__fish_seen_subcommand_from dump' -l kind -x -d 'Only these kinds of record'
complete -c hourglass -n '__fish_seen_subcommand_from dump' -l from -x -d 'Only from this time on'
complete -c hourglass -n '__fish_seen_subcommand_from dump' -l to -x -d 'Only up to this time'
complete -c hourglass -n '__fish_seen_subcommand_from check' -l format -x -a 'text json' -d 'Output format'
complete -c hourglass -n '__fish_seen_subcommand_from check' -s p -l pid -x -a '(__fish_complete_pids)' -d 'Look at these processes as well'

complete -c hourglass -n '__fish_seen_subcommand_from check' -s p -l pid -x -a '(__fish_complete_pids)' -d 'Look at these processes as well'
complete -c hourglass -n '__fish_seen_subcommand_from check' -l format -x -a 'text json' -d 'Output format'

complete -c hourglass -n '__fish_seen_subcommand_from record report info dump check' -l help -d 'Explain the options'
