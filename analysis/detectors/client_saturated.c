/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client/saturated: the target waits for a load generator that has no CPU time left. */
#include <math.h>

#include "analysis/attribution.h"

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_CLIENT_BUSY, 0);
	const struct hg_lane *lane = a->client_top;

	if (!row || !lane)
		return;
	hg_case_credit(a, k, row);
	hg_case_subject_lane(a, k, lane, "client");
	k->c.saturation = a->client_top_out.known ? a->client_top_out.ratio : NAN;
	k->c.summary = hg_arena_printf(a->arena,
				       "The client is the limit: its thread %s ran %.0f %% of the "
				       "time while the target was idle, waiting for it.",
				       hg_lane_label(a, lane), 100 * a->client_top_util);
	k->c.advice = "Use more client threads or machines, or a cheaper client; this run says "
		      "little about the target.";
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "the target was idle while the client's thread that sends next was at "
			 "work for %.1f %% of the time",
			 100 * row->total_ns / a->wall_ns);
	if (!a->client_top_out.known) {
		k->c.unknown_why = "no schedstat samples of the client";
		return;
	}
	hg_case_evidence(
		a, k, true, a->client_top_out.ratio >= HG_UTIL_SERIAL_MIN, a->client_top_out.ratio,
		HG_UTIL_SERIAL_MIN,
		hg_arena_printf(a->arena, "/proc/%u/task/%u/schedstat", lane->tgid, lane->tid),
		"the kernel's own account: it ran %.1f %% of %.1f s", 100 * a->client_top_out.ratio,
		a->client_top_out.span_s);
	if (a->client_top_out.ratio < HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "the client's busiest thread ran only %.0f %% of the time",
			       100 * a->client_top_out.ratio);
	if (a->target_top_out.known && a->target_top_out.ratio >= HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k,
			       "a thread of the target is nearly as busy (%.0f %%): both may limit",
			       100 * a->target_top_out.ratio);
}

const struct hg_detector hg_detector_client_saturated = {
	.class_name = "client",
	.cause = "saturated",
	.needs = "switches and wakeups of target and client, schedstat",
	.proof_events =
		"share of time in which the target was idle and the client's sender at work",
	.proof_outside = "the client's run time by schedstat",
	.evaluate = evaluate,
};
