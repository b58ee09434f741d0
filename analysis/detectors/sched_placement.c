/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu/sched-placement: threads of the target are queued behind each other or the client while a CPU that they may use
 * is idle. The time that an idle CPU needs to take a thread is no part of it: no other CPU would be faster.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define IDLE_MIN   HG_SHARE_MIN /* CPUs' worth: with less idle there was nowhere to go */
#define LOCKED_MAX 0.5		/* of the time with waiters on one lock */

/* Threads that are placed at once would meet at the lock instead. */
static void refute_locks(const struct hg_attribution *a, struct hg_case *k)
{
	double most_ns = 0;

	for (size_t i = 0; i < a->shares.locks_count; i++)
		most_ns = fmax(most_ns, a->shares.locks[i].contended_ns);
	if (most_ns > LOCKED_MAX * a->wall_ns)
		hg_case_refute(a, k,
			       "a lock has waiters %.0f %% of the time: they would meet there",
			       100 * most_ns / a->wall_ns);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_PLACEMENT, 0);
	double share, idle;

	if (!row)
		return;
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "cpu-pool";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%zu CPUs", a->cpus_online);
	k->c.subject.name = "all CPUs";
	k->c.summary = hg_arena_printf(a->arena,
				       "The scheduler keeps threads of the target waiting behind "
				       "each other although a CPU that they may use is idle: %.0f "
				       "%% of the time that counts.",
				       100 * share);
	k->c.advice = "Pin its threads to CPUs of their own to see what placement costs; look at "
		      "sched domains, isolated CPUs and relax_domain_level.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "threads of the target waited for a CPU that target or client kept busy "
			 "while another one that they may use was idle for %.1f %% of the time",
			 100 * share);
	refute_locks(a, k);
	hg_case_refute_spinning(a, k, NULL);
	if (!a->target_delay_out.known || !a->pool_out.known) {
		k->c.unknown_why = "no schedstat samples of the target, or none of /proc/stat";
		return;
	}
	idle = (1 - a->pool_out.ratio) * (double)a->cpus_online;
	k->c.saturation = fmin(1, a->target_delay_out.ratio);
	hg_case_evidence(a, k, true, a->target_delay_out.ratio >= HG_SHARE_MIN,
			 a->target_delay_out.ratio, HG_SHARE_MIN,
			 "/proc/PID/task/*/schedstat of the target",
			 "the kernel's own account: its threads waited on run queues %.1f %% of "
			 "the time, in sum",
			 100 * a->target_delay_out.ratio);
	hg_case_evidence(a, k, true, idle >= IDLE_MIN, idle, IDLE_MIN, "/proc/stat",
			 "%.2f of %zu CPUs were idle", idle, a->cpus_online);
	if (a->target_delay_out.ratio < HG_SHARE_MIN)
		hg_case_refute(a, k, "by schedstat the target waited only %.0f %% of the time",
			       100 * a->target_delay_out.ratio);
	if (idle < IDLE_MIN)
		hg_case_refute(a, k, "the CPUs were idle only %.0f %% of the time",
			       100 * (1 - a->pool_out.ratio));
}

const struct hg_detector hg_detector_sched_placement = {
	.class_name = "cpu",
	.cause = "sched-placement",
	.needs = "switches and wakeups of the target with its allowed CPUs, schedstat, /proc/stat",
	.proof_events = "share of time in which it waited behind its own kind beside an idle CPU",
	.proof_outside = "its run-queue delay by schedstat, and idle time by /proc/stat",
	.evaluate = evaluate,
};
