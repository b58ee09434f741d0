/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/saturated: the target keeps all CPUs busy. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define OWN_MIN                                                                                    \
	0.75 /* of the CPUs' busy time: below it others have a good part in the saturation */
#define SPIN_BUSY_MIN 0.25 /* of the time: what spins less does not fill CPUs */

/*
 * Threads that spin in user space for each other's locks keep CPUs busy as well, and more CPUs would not help them. Without
 * samples of the code that runs nothing tells them from work. They need two busy threads, and the time is user time.
 */
static bool may_spin(const struct hg_attribution *a)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	double user_ns = 0, system_ns = 0;
	unsigned int busy = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];
		uint64_t user, system;

		if (!hg_lane_is_target(l, a->level_all))
			continue;
		busy += hg_lane_run_ns(l) >= SPIN_BUSY_MIN * a->wall_ns;
		if (hg_series_delta(&l->times, from, to, &user, &system, NULL)) {
			user_ns += (double)user;
			system_ns += (double)system;
		}
	}
	return busy >= 2 && user_ns >= system_ns;
}

/* By samples where there are some; what they cannot tell is a doubt. */
static void spinning(const struct hg_attribution *a, struct hg_case *k)
{
	struct hg_spinning s = hg_spinning_of(a, NULL);

	if (hg_case_refute_spinning(a, k, NULL))
		return;
	if (s.known) {
		hg_case_evidence(a, k, false, true, s.part, HG_SPIN_MAX,
				 "samples of the code that runs",
				 "its threads do not spin for each other in loops that are known: "
				 "%llu of %llu samples",
				 (unsigned long long)s.spins, (unsigned long long)s.samples);
		return;
	}
	k->doubted = may_spin(a);
	if (k->doubted)
		hg_case_evidence(a, k, false, false, NAN, NAN, "states and the kernel's accounts",
				 "not excluded: threads that spin in user space for each other's "
				 "locks look the same; a profile (perf record) tells");
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_POOL, 0);
	double known = a->target_run_ns + a->client_run_ns, busy;

	if (!row)
		return;
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "cpu-pool";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%zu CPUs", a->cpus_online);
	k->c.subject.name = "all CPUs";
	k->c.saturation = a->pool_out.known ? a->pool_out.ratio : NAN;
	k->c.summary = hg_arena_printf(a->arena,
				       "All %zu CPUs are busy, with the target's own work: %.2f "
				       "CPUs of target, %.2f of client.",
				       a->cpus_online, a->target_run_ns / a->wall_ns,
				       a->client_run_ns / a->wall_ns);
	k->c.advice =
		"Give it more or faster CPUs, move the client to another machine, or make the "
		"target do less per request.";
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "several threads of the target wanted CPUs and none was idle for %.1f %% "
			 "of the time",
			 100 * row->total_ns / a->wall_ns);
	spinning(a, k);
	hg_case_refute_polling(a, k, NULL);
	if (a->pool_out.known)
		hg_case_evidence(a, k, true, a->pool_out.ratio >= HG_UTIL_POOL_MIN,
				 a->pool_out.ratio, HG_UTIL_POOL_MIN, "/proc/stat",
				 "the CPUs were busy %.1f %% of %.1f s", 100 * a->pool_out.ratio,
				 a->pool_out.span_s);
	else
		k->c.unknown_why = "no /proc/stat samples";
	if (a->pool_out.known && a->pool_out.ratio < HG_UTIL_POOL_MIN)
		hg_case_refute(a, k, "the CPUs were idle %.0f %% of the time",
			       100 * (1 - a->pool_out.ratio));
	busy = a->pool_out.ratio * (double)a->cpus_online * a->wall_ns;
	if (a->pool_out.known && known < OWN_MIN * busy)
		hg_case_refute(
			a, k,
			"programs that are neither target nor client use %.0f %% of the busy time",
			100 * (1 - known / busy));
	hg_case_refute_kernel_locks(a, k);
	if (known > 0 && a->target_run_ns < 0.6 * known)
		hg_case_refute(a, k, "the client uses %.0f %% of the CPU time of both",
			       100 * a->client_run_ns / known);
}

const struct hg_detector hg_detector_saturated = {
	.class_name = "cpu",
	.cause = "saturated",
	.needs = "switches and wakeups of the target, per-CPU totals, /proc/stat",
	.proof_events =
		"share of time in which threads of the target wanted CPUs and none was idle",
	.proof_outside = "busy time of the CPUs by /proc/stat",
	.evaluate = evaluate,
};
