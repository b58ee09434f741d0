/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/vmm-io-thread: a thread that is neither target nor client passes the traffic between them, and has no time left: a
 * VMM's network thread, a user-space network back end, a proxy.
 */
#include <math.h>

#include "analysis/attribution.h"

static void refute(const struct hg_attribution *a, struct hg_case *k, const struct hg_outside *run,
		   const struct hg_outside *delay)
{
	const struct hg_outside *tops[] = {&a->target_top_out, &a->client_top_out};
	static const char *const whose[] = {"the target", "the client"};

	if (run->ratio < HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "it ran only %.0f %% of the time: it has room",
			       100 * run->ratio);
	if (delay->ratio > 0.2 * (run->ratio + delay->ratio))
		hg_case_refute(a, k, "it waited for a CPU %.0f %% of the time that it wanted one",
			       100 * delay->ratio / (run->ratio + delay->ratio));
	for (int i = 0; i < 2; i++) {
		if (tops[i]->known && tops[i]->ratio >= HG_UTIL_SERIAL_MIN)
			hg_case_refute(a, k, "a thread of %s is as busy (%.0f %%): both may limit",
				       whose[i], 100 * tops[i]->ratio);
	}
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_RELAY);
	const struct hg_lane *lane;
	struct hg_outside run, delay;
	double share;

	if (!row || row->id >= a->lanes_count)
		return;
	lane = &a->lanes[row->id];
	run = hg_outside_lane(a, lane, false);
	delay = hg_outside_lane(a, lane, true);
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	hg_case_subject_lane(a, k, lane, "thread");
	k->c.saturation = run.known ? run.ratio : NAN;
	k->c.summary = hg_arena_printf(a->arena,
				       "%s, which passes the traffic between client and target, is "
				       "at its limit: the target "
				       "was idle until it went on %.0f %% of the time.",
				       hg_lane_label(a, lane), 100 * share);
	k->c.advice = hg_arena_printf(a->arena,
				      "Give the path more queues or threads than %s, move it into "
				      "the kernel (vhost), or leave it out.",
				      lane->name);
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "the target was idle until %s sent it something for %.1f %% of the time",
			 hg_lane_label(a, lane), 100 * share);
	hg_case_evidence(a, k, false, true, (double)row->ended_client, NAN,
			 "sched_switch and sched_wakeup events",
			 "it ended %.0f waits of the target and %.0f of the client: it stands "
			 "between them",
			 (double)row->ended_target, (double)row->ended_client);
	if (!run.known || !delay.known) {
		k->c.unknown_why = "no schedstat samples of the thread between client and target";
		return;
	}
	hg_case_evidence(
		a, k, true, run.ratio >= HG_UTIL_SERIAL_MIN, run.ratio, HG_UTIL_SERIAL_MIN,
		hg_arena_printf(a->arena, "/proc/%u/task/%u/schedstat", lane->tgid, lane->tid),
		"the kernel's own account: it ran %.1f %% of %.1f s", 100 * run.ratio, run.span_s);
	refute(a, k, &run, &delay);
}

const struct hg_detector hg_detector_vmm_io_thread = {
	.class_name = "net",
	.cause = "vmm-io-thread",
	.needs = "switches and wakeups of target and client with their wakers, schedstat of these",
	.proof_events = "share of time in which the target was idle until that thread woke it",
	.proof_outside = "its run time by schedstat",
	.evaluate = evaluate,
};
