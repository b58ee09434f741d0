/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client/think-time: the target is idle because the clients of a closed loop pause between their requests. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define PAUSE_MIN 0.30 /* of a connection's time: without the pauses 1.4 times as much may come */

static void refute(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_client_result *r = a->client;
	double busy = a->target_top_out.known ? a->target_top_out.ratio : a->target_top_util;

	if (r->offered > 0)
		hg_case_refute(a, k, "the client offers a fixed rate (%.6g %s)", r->offered,
			       r->unit);
	if (busy > HG_UTIL_IDLE_MAX)
		hg_case_refute(a, k, "a thread of the target ran %.0f %% of the time", 100 * busy);
	if (a->client_top_out.known && a->client_top_out.ratio > HG_UTIL_IDLE_MAX)
		hg_case_refute(a, k,
			       "the client's busiest thread ran %.0f %% of the time: it works",
			       100 * a->client_top_out.ratio);
	hg_case_refute_busy_cpus(a, k);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_CLIENT_TIMER, 0);
	const struct hg_client_result *r = a->client;
	double share, pause;

	if (!row)
		return;
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "client";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%.0f connections", r->concurrency);
	k->c.subject.name = r->format ? r->format : "client";
	k->c.summary = "The target is idle while its clients sleep on a timer between requests.";
	k->c.advice = "Shorten the client's pauses or use more clients to find the target's own "
		      "limit; if the pauses are meant, this is all that they offer.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "the target was idle while the client's thread that sends next slept on a "
			 "timer for %.1f %% of the time",
			 100 * share);
	refute(a, k);
	if (!r->valid || !r->closed_loop || r->concurrency <= 0 || r->latency_mean_s <= 0) {
		k->c.unknown_why =
			"the client's output does not tell its connections and mean latency";
		return;
	}
	/* Little's law: of each connection's time X * R / N goes to waiting for answers; the rest passes in the client. */
	pause = fmax(0, 1 - r->value * r->latency_mean_s / r->concurrency);
	k->c.saturation = pause;
	k->c.summary = hg_arena_printf(a->arena,
				       "The clients pause: each of %.0f connections waits for an "
				       "answer %.0f %% of the time and is silent for the rest; the "
				       "target is idle meanwhile.",
				       r->concurrency, 100 * (1 - pause));
	hg_case_evidence(a, k, true, pause >= PAUSE_MIN, pause, PAUSE_MIN, "the client's output",
			 "%.6g %s x %.3g ms / %.0f connections: each is silent %.0f %% of the time",
			 r->value, r->unit, 1e3 * r->latency_mean_s, r->concurrency, 100 * pause);
	if (a->client_top_out.known)
		hg_case_evidence(a, k, false, a->client_top_out.ratio < HG_UTIL_IDLE_MAX,
				 a->client_top_out.ratio, HG_UTIL_IDLE_MAX,
				 "schedstat of the client",
				 "the client's busiest thread ran only %.0f %% of the time",
				 100 * a->client_top_out.ratio);
	if (pause < PAUSE_MIN)
		hg_case_refute(a, k, "its connections wait for answers %.0f %% of the time",
			       100 * (1 - pause));
}

const struct hg_detector hg_detector_think_time = {
	.class_name = "client",
	.cause = "think-time",
	.needs = "switches and wakeups of target and client, the client's connections and mean "
		 "latency",
	.proof_events = "share of time in which the target was idle and the client's sender slept "
			"on a timer",
	.proof_outside = "1 - throughput x latency / connections (Little's law) by the client's "
			 "output",
	.evaluate = evaluate,
};
