/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What someone needs to repeat or doubt the run, as one JSON object: CPU, topology, SMT, governor,
 * mitigations, kernel and its command line, memory, hugepages, NUMA, virtualisation, affinities and cgroup
 * limits of the targets, versions of the programs, hourglass's own options. docs: hourglass-trace(5).
 */
#ifndef HG_ENVIRONMENT_H
#define HG_ENVIRONMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hg_netns_opener;

struct hg_environment_opts {
	const pid_t *targets; /* tgids */
	size_t targets_count;
	char *const *client_argv; /* or NULL */
	int argc;		  /* hourglass's own */
	char *const *argv;
	bool no_args; /* --no-args: command lines are left out */
	struct hg_netns_opener
		*netns; /* for the targets' namespaces; NULL: only our own is described */
};

/*
 * A new reference, or NULL on ENOMEM. What cannot be read is left out, never made up; empty objects and
 * arrays are left out too. No program is run to ask for its version.
 *
 *	hourglass  {version, arguments[]}
 *	time       ISO 8601, UTC
 *	host       {name, distribution, load[3],
 *	            kernel {release, version, machine, command_line, preemption, preemption_built, realtime, lockdown, tainted},
 *	            cpu {model, vendor, family, model_number, stepping, microcode, count (online), online, possible, isolated, nohz_full,
 *	                 smt (bool), smt_control, sockets, cores},
 *	            frequency {governor, driver, min_khz, max_khz, limit_khz, preference, turbo (bool), pstate, idle_driver, idle_governor},
 *	            mitigations {name: text}, numa[] {node, cpus, total_bytes},
 *	            memory {total_bytes, available_bytes, swap_total_bytes, swap_free_bytes, transparent_hugepages, ...},
 *	            hugepages[] {size_bytes, count, free}, clocksource {current, available},
 *	            scheduler {autogroup, rt_runtime_us, ...},
 *	            virtualisation {virtual (bool), hypervisor, type, vendor, product, container},
 *	            disks[] {name, device, model, size_bytes, rotational (bool), scheduler, queue_depth, queues, read_ahead_kib,
 *	                     write_cache, throttle_latency_us, request_kib_max, block_bytes},
 *	            pressure {cpu, io, memory, irq: "counted" or why not}}
 *	network[]  a namespace {inode, own (bool), pids[], links[] {name, ifindex, kind, driver, mbit, mtu, up (bool),
 *	                tx_queues, rx_queues, offloads[], qdiscs[] {kind, handle, parent, rate_bytes_s, burst_bytes},
 *	                rps {queue: CPUs}, xps {queue: CPUs}}}
 *	targets[]  {pid, comm, arguments[], policy, nice, rt_priority, threads, affinity {CPUs: threads}, cpu_cgroup,
 *	            cpu_limits[] {path, quota_us, period_us}, cgroups[], filesystems[] {path, type, device, source, options}, program, build_id, package, package_version}
 *	targets_not_listed  how many more there were
 *	client     {arguments[], program, build_id, package, package_version}
 */
json_t *hg_environment_collect(const struct hg_environment_opts *opts);

#endif
