/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/serial-thread: one thread of the target is always at work while the machine has room. */
#include <math.h>

#include "analysis/attribution.h"

#define WAKES_MIN      100
#define WAKES_PART_MIN 0.02 /* of the target's: whoever does the work is waited for now and then */

/*
 * A thread for something else, such as collecting garbage, is busy as well. Nobody waits for it: where the target's threads wake
 * the client, this one does not, nor does it wake those who do. Clients elsewhere are woken by the network: no wakeup tells.
 */
static void refute_aside(const struct hg_attribution *a, struct hg_case *k,
			 const struct hg_lane *lane)
{
	uint64_t wakes = 0, client_woken = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (hg_lane_is_target(l, a->level_all))
			wakes += l->wakes;
		else if (hg_lane_is_client(l))
			client_woken += l->woken_by_target;
	}
	if (client_woken < WAKES_MIN || (double)lane->wakes >= WAKES_PART_MIN * (double)wakes)
		return;
	hg_case_refute(a, k,
		       "nobody waits for it: %llu of %llu wakeups of other threads and of the "
		       "client are its own",
		       (unsigned long long)lane->wakes, (unsigned long long)wakes);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_SERIAL);
	const struct hg_lane *lane;
	struct hg_outside run, delay;
	double util, active;

	if (!row || row->id >= a->lanes_count)
		return;
	lane = &a->lanes[row->id];
	run = hg_outside_lane(a, lane, false);
	delay = hg_outside_lane(a, lane, true);
	hg_case_credit(a, k, row);
	hg_case_subject_lane(a, k, lane, "thread");
	util = hg_lane_run_ns(lane) / a->wall_ns;
	k->c.saturation = run.known ? run.ratio : NAN;
	k->c.summary = hg_arena_printf(
		a->arena,
		"One thread, %s, does the work and is at its limit: it ran %.0f %% of the time.",
		hg_lane_label(a, lane), 100 * util);
	k->c.advice = hg_arena_printf(a->arena,
				      "Spread the work of %s over more threads or processes, or "
				      "make it do less per request; "
				      "a faster CPU helps in proportion.",
				      lane->name);
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "%s ran while no other thread of the target wanted a CPU, or one was "
			 "idle, for %.1f %% of the time",
			 hg_lane_label(a, lane), 100 * row->total_ns / a->wall_ns);
	if (run.known)
		hg_case_evidence(a, k, true, run.ratio >= HG_UTIL_SERIAL_MIN, run.ratio,
				 HG_UTIL_SERIAL_MIN,
				 hg_arena_printf(a->arena, "/proc/%u/task/%u/schedstat", lane->tgid,
						 lane->tid),
				 "the kernel's own account: it ran %.1f %% of %.1f s",
				 100 * run.ratio, run.span_s);
	else
		k->c.unknown_why = "no schedstat samples of the thread";
	hg_case_refute_spinning(a, k, lane);
	hg_case_refute_polling(a, k, lane);
	refute_aside(a, k, lane);
	if (run.known && run.ratio < HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "the thread ran only %.0f %% of the time%s", 100 * run.ratio,
			       lane->leaf_ns[HG_LEAF_THROTTLED] > lane->leaf_ns[HG_LEAF_RUNNING] / 4
				       ? ": a quota throttles it"
				       : ": it is not always at work");
	if (run.known && delay.known) {
		active = run.ratio + delay.ratio;
		if (active > 0 && delay.ratio > 0.2 * active)
			hg_case_refute(a, k,
				       "it waited for a CPU %.0f %% of the time that it wanted one",
				       100 * delay.ratio / active);
	}
	if (a->client_top_out.known && run.known && a->client_top_out.ratio >= HG_UTIL_SERIAL_MIN &&
	    a->client_top_out.ratio > run.ratio - 0.02)
		hg_case_refute(a, k, "a thread of the client is as busy (%.0f %%): both may limit",
			       100 * a->client_top_out.ratio);
}

const struct hg_detector hg_detector_serial_thread = {
	.class_name = "cpu",
	.cause = "serial-thread",
	.needs = "switches and wakeups of the target, schedstat",
	.proof_events = "share of time in which only that thread wanted a CPU",
	.proof_outside = "its run time by schedstat",
	.evaluate = evaluate,
};
