/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/competitor: something that is neither target nor client runs where the target waits for a CPU. */
#include <math.h>

#include "analysis/attribution.h"

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *top = hg_shares_largest(&a->shares, HG_BLAME_COMPETITOR);
	const struct hg_lane *lane;
	struct hg_outside its_run;
	double sum = 0;

	if (!top || top->id >= a->lanes_count)
		return;
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		if (a->shares.rows[i].blame != HG_BLAME_COMPETITOR)
			continue;
		hg_case_credit(a, k, &a->shares.rows[i]);
		sum += a->shares.rows[i].total_ns;
	}
	lane = &a->lanes[top->id];
	its_run = hg_outside_lane(a, lane, false);
	hg_case_subject_lane(a, k, lane, "thread");
	k->c.summary = hg_arena_printf(
		a->arena, "The target waits for a CPU that %s uses (%.0f %% of such waits).",
		hg_lane_label(a, lane), 100 * top->total_ns / sum);
	k->c.advice = hg_arena_printf(
		a->arena,
		"Stop %s, pin it to other CPUs, or give it a lower weight (nice, cpu.shares).",
		hg_lane_label(a, lane));
	hg_case_evidence(a, k, true, sum / a->wall_ns >= HG_SHARE_MIN, sum / a->wall_ns,
			 HG_SHARE_MIN, "sched_switch and sched_wakeup events",
			 "threads of the target were runnable while other programs ran on their "
			 "CPU for %.1f %% of the time that counts",
			 100 * sum / a->wall_ns);
	if (a->target_delay_out.known) {
		k->c.saturation =
			a->target_run_out.known &&
					a->target_run_out.ratio + a->target_delay_out.ratio > 0
				? fmin(1, a->target_run_out.ratio + a->target_delay_out.ratio)
				: NAN;
		hg_case_evidence(a, k, true, a->target_delay_out.ratio >= HG_SHARE_MIN,
				 a->target_delay_out.ratio, HG_SHARE_MIN,
				 "/proc/PID/task/*/schedstat of the target",
				 "the kernel's own account: its threads waited on run queues %.1f "
				 "%% of the time, in sum",
				 100 * a->target_delay_out.ratio);
		if (a->target_delay_out.ratio < HG_SHARE_MIN)
			hg_case_refute(a, k,
				       "by schedstat the target waited only %.0f %% of the time",
				       100 * a->target_delay_out.ratio);
	} else {
		k->c.unknown_why = "no schedstat samples of the target";
	}
	if (its_run.known)
		hg_case_evidence(a, k, false, its_run.ratio >= HG_SHARE_MIN, its_run.ratio,
				 HG_SHARE_MIN,
				 hg_arena_printf(a->arena, "/proc/%u/task/%u/schedstat", lane->tgid,
						 lane->tid),
				 "%s ran %.1f %% of %.1f s", hg_lane_label(a, lane),
				 100 * its_run.ratio, its_run.span_s);
}

const struct hg_detector hg_detector_competitor = {
	.class_name = "cpu",
	.cause = "competitor",
	.needs = "switches on the target's CPUs, schedstat",
	.proof_events = "share of time in which the target was runnable and others ran on its CPU",
	.proof_outside = "its run-queue delay by schedstat",
	.evaluate = evaluate,
};
