/* SPDX-License-Identifier: GPL-2.0-or-later */
/* none: the offered load is met; nothing of the target limits. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define RAN_MIN 1e-5 /* of the time: an idle server still looks around now and then */

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	static const enum hg_blame idle[] = {
		HG_BLAME_CLIENT_TIMER, HG_BLAME_CLIENT_WAIT, HG_BLAME_SERVICE, HG_BLAME_NET,
		HG_BLAME_NET_LATE,     HG_BLAME_CLIENT_BUSY, HG_BLAME_OTHER};
	const struct hg_client_result *r = a->client;
	bool alone = !a->client_top && (!r->valid || r->proxy);
	double sum = 0,
	       busy = a->target_top_out.known ? a->target_top_out.ratio : a->target_top_util;

	/* A closed loop offers no rate that could be met. */
	if (r->valid && r->closed_loop)
		return;
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
		const struct hg_blame_row *row = hg_shares_row(&a->shares, idle[i], 0);

		if (!row)
			continue;
		hg_case_credit(a, k, row);
		sum += row->total_ns;
	}
	if (!k->credited)
		return;
	k->c.subject.machine = "host";
	k->c.saturation = busy;
	hg_case_evidence(a, k, true, sum / a->wall_ns >= HG_SHARE_MIN, sum / a->wall_ns,
			 HG_SHARE_MIN, "sched_switch and sched_wakeup events",
			 "the target had nothing to do for %.1f %% of the time",
			 100 * sum / a->wall_ns);
	if (r->valid && r->offered > 0) {
		double met = r->value / r->offered;

		hg_case_evidence(a, k, true, hg_load_is_met(a), met, HG_MET_MIN,
				 "the client's output",
				 "%.6g of the %.6g %s offered were served: %.1f %%", r->value,
				 r->offered, r->unit, 100 * met);
		k->c.summary =
			hg_arena_printf(a->arena,
					"Nothing limits: the offered load (%.6g %s) is met and the "
					"busiest thread of the target ran %.0f %% of the time.",
					r->offered, r->unit, 100 * busy);
		if (!hg_load_is_met(a))
			hg_case_refute(a, k, "only %.0f %% of the offered load is served",
				       100 * met);
	} else if (alone && a->target_run_ns < RAN_MIN * a->wall_ns) {
		hg_case_refute(a, k, "the target never ran: it may be stopped, or nobody uses it");
	} else if (alone && a->target_top_out.known) {
		hg_case_evidence(a, k, true, busy < HG_UTIL_IDLE_MAX / 2, busy,
				 HG_UTIL_IDLE_MAX / 2, "/proc/PID/task/*/schedstat of the target",
				 "its busiest thread ran %.1f %% of the time", 100 * busy);
		k->c.summary = "Nothing limits: the target is idle and nothing is saturated.";
		if (busy >= HG_UTIL_IDLE_MAX / 2)
			hg_case_refute(
				a, k,
				"its busiest thread ran %.0f %% of the time: not clearly idle",
				100 * busy);
	} else {
		k->c.unknown_why = "the client does not say which rate it offers";
	}
	k->c.advice = "Offer more load to find the limit.";
	if (busy > HG_UTIL_IDLE_MAX)
		hg_case_refute(a, k, "a thread of the target ran %.0f %% of the time", 100 * busy);
	/* A load that is met is proof enough that no CPU was short. */
	if (!(r->valid && r->offered > 0))
		hg_case_refute_busy_cpus(a, k);
	if (a->client_top_out.known && a->client_top_out.ratio > HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "the client's busiest thread ran %.0f %% of the time",
			       100 * a->client_top_out.ratio);
}

const struct hg_detector hg_detector_none = {
	.class_name = "none",
	.cause = NULL,
	.needs = "switches and wakeups of the target, the client's offered and achieved rate",
	.proof_events = "share of time in which the target had nothing to do",
	.proof_outside = "offered against achieved rate by the client's output",
	.evaluate = evaluate,
};
