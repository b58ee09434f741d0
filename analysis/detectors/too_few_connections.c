/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client/too-few-connections: nothing is saturated, every connection waits for its answer, and the target has threads that wait
 * for more to do. With one connection nothing can queue; with more, a queue inside the target that leaves no
 * trace on CPUs, locks or disks would look the same, so all of them must be seen in service.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define CPU_WAIT_PART_MAX 0.5 /* of the idle share */
#define IN_SERVICE_MIN	  0.6 /* of the connections, as lanes of the target that serve */

static double max_util(const struct hg_attribution *a)
{
	double util = fmax(a->target_top_util, a->client_top_util);

	if (a->target_top_out.known)
		util = fmax(util, a->target_top_out.ratio);
	if (a->client_top_out.known)
		util = fmax(util, a->client_top_out.ratio);
	return util;
}

static void refute(const struct hg_attribution *a, struct hg_case *k, double little, double share)
{
	const struct hg_client_result *r = a->client;

	if (max_util(a) > HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "a thread is busy %.0f %% of the time", 100 * max_util(a));
	/* CPUs that are short as well make it slower; more connections still help while that is the smaller part. */
	if (a->cpu_wait_share > CPU_WAIT_PART_MAX * share)
		hg_case_refute_busy_cpus(a, k);
	if (r->offered > 0)
		hg_case_refute(a, k, "the client offers a fixed rate (%.6g %s)", r->offered,
			       r->unit);
	if (!isnan(little) && little < HG_LITTLE_MIN)
		hg_case_refute(a, k, "its connections wait for answers only %.0f %% of the time",
			       100 * little);
	if (r->concurrency > 1 && a->in_service < IN_SERVICE_MIN * r->concurrency)
		hg_case_refute(a, k,
			       "only %.1f of %.0f requests are seen in service: the rest may queue "
			       "inside the target",
			       a->in_service, r->concurrency);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_client_result *r = a->client;
	const struct hg_blame_row *rows[] = {
		hg_shares_row(&a->shares, HG_BLAME_CLIENT_BUSY, 0),
		hg_shares_row(&a->shares, HG_BLAME_CLIENT_WAIT, 0),
		hg_shares_row(&a->shares, HG_BLAME_SERVICE, 0),
	};
	double sum = 0, little = NAN;

	for (size_t i = 0; i < 3; i++) {
		if (!rows[i])
			continue;
		hg_case_credit(a, k, rows[i]);
		sum += rows[i]->total_ns;
	}
	if (!k->credited)
		return;
	k->c.subject.machine = "host";
	k->c.subject.kind = "client";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%.0f connections", r->concurrency);
	k->c.subject.name = r->format ? r->format : "client";
	k->c.saturation = NAN;
	hg_case_evidence(a, k, true, sum / a->wall_ns >= HG_SHARE_MIN, sum / a->wall_ns,
			 HG_SHARE_MIN, "sched_switch and sched_wakeup events",
			 "the target was idle or slept within a request, with threads ready for "
			 "more, for %.1f %% of the time",
			 100 * sum / a->wall_ns);
	if (!r->valid || !r->closed_loop || r->concurrency <= 0 || r->latency_mean_s <= 0) {
		k->c.unknown_why =
			"the client's output does not tell its connections and mean latency";
		if (r->valid && r->offered > 0)
			hg_case_refute(a, k, "the client offers a fixed rate (%.6g %s)", r->offered,
				       r->unit);
		if (max_util(a) > HG_UTIL_SERIAL_MIN)
			hg_case_refute(a, k, "a thread is busy %.0f %% of the time",
				       100 * max_util(a));
		return;
	}
	little = r->value * r->latency_mean_s / r->concurrency;
	k->c.saturation = fmin(1, little);
	hg_case_evidence(a, k, true, little >= HG_LITTLE_MIN, little, HG_LITTLE_MIN,
			 "the client's output",
			 "%.6g %s x %.3g ms / %.0f connections: each waits for an answer %.0f %% "
			 "of the time",
			 r->value, r->unit, 1e3 * r->latency_mean_s, r->concurrency,
			 fmin(100, 100 * little));
	hg_case_evidence(a, k, false, max_util(a) < HG_UTIL_IDLE_MAX, max_util(a), HG_UTIL_IDLE_MAX,
			 "schedstat of target and client",
			 "the busiest thread ran %.0f %% of the time", 100 * max_util(a));
	k->c.summary = hg_arena_printf(a->arena,
				       "Nothing is saturated: the client's %.0f connection%s wait "
				       "for answers and the target has threads to spare.",
				       r->concurrency, r->concurrency == 1 ? "" : "s");
	k->c.advice = "Add client connections: throughput should grow with them until something "
		      "saturates.";
	refute(a, k, little, sum / a->wall_ns);
}

const struct hg_detector hg_detector_too_few = {
	.class_name = "client",
	.cause = "too-few-connections",
	.needs = "switches and wakeups of target and client, the client's connections and mean "
		 "latency",
	.proof_events = "share of time in which the target had threads ready and nothing to do",
	.proof_outside = "throughput x latency / connections (Little's law) by the client's output",
	.evaluate = evaluate,
};
