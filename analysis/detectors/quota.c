/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/quota: the target's cgroup may not run any longer in this period. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define PERIODS_MIN 0.5 /* in at least every second enforcement period the limit was hit */

/* The cgroup whose limit was hit most. */
static const struct hg_cgroup *most_throttled(const struct hg_attribution *a, double *ratio_out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_cgroup *groups, *best = NULL;
	size_t n = hg_model_cgroups(a->model, &groups);

	*ratio_out = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t periods, throttled, span;
		double ratio;

		if (!groups[i].quota_us || !groups[i].targets ||
		    !hg_series_delta(&groups[i].periods, from, to, &periods, &throttled, &span) ||
		    !periods)
			continue;
		ratio = (double)throttled / (double)periods;
		if (!best || ratio > *ratio_out) {
			best = &groups[i];
			*ratio_out = ratio;
		}
	}
	return best;
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_QUOTA, 0);
	const struct hg_cgroup *group;
	uint64_t throttled, usage, span;
	double ratio, limit;

	if (!row)
		return;
	hg_case_credit(a, k, row);
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch events with the run queue's throttle state",
			 "threads of the target were throttled for %.1f %% of the time that counts",
			 100 * row->total_ns / a->wall_ns);
	group = most_throttled(a, &ratio);
	if (!group) {
		k->c.summary = "Threads of the target are throttled, but no CPU quota of their "
			       "cgroups was found.";
		k->c.unknown_why = "no cpu.stat samples of a cgroup with a quota";
		return;
	}
	limit = (double)group->quota_us / (double)(group->period_us ? group->period_us : 100000);
	k->c.subject.machine = "host";
	k->c.subject.kind = "cgroup";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%s", group->path);
	k->c.subject.name = group->path;
	k->c.summary = hg_arena_printf(a->arena,
				       "The CPU quota of cgroup %s (%.2f CPUs) stops the target in "
				       "%.0f %% of its periods.",
				       group->path, limit, 100 * ratio);
	k->c.advice = hg_arena_printf(a->arena,
				      "Raise the quota (%llu us of CPU each %llu us) or make the "
				      "target do less per request.",
				      (unsigned long long)group->quota_us,
				      (unsigned long long)group->period_us);
	hg_case_evidence(a, k, true, ratio >= PERIODS_MIN, ratio, PERIODS_MIN,
			 "cpu.stat of the cgroup",
			 "%.0f %% of the enforcement periods hit the limit", 100 * ratio);
	k->c.saturation = ratio;
	if (hg_series_delta(&group->stat, hg_model_from_ns(a->model), hg_model_to_ns(a->model),
			    &throttled, &usage, &span) &&
	    usage && span) {
		k->c.saturation = (double)usage / (double)span / limit;
		hg_case_evidence(a, k, false, k->c.saturation >= HG_UTIL_SERIAL_MIN,
				 k->c.saturation, HG_UTIL_SERIAL_MIN,
				 "cpuacct.usage or cpu.stat of the cgroup",
				 "it used %.0f %% of what the quota allows", 100 * k->c.saturation);
	}
	if (ratio < PERIODS_MIN)
		hg_case_refute(a, k, "only %.0f %% of the periods hit the limit", 100 * ratio);
}

const struct hg_detector hg_detector_quota = {
	.class_name = "cpu",
	.cause = "quota",
	.needs = "switches with throttle state, cpu.stat",
	.proof_events = "share of time in which threads of the target were throttled",
	.proof_outside = "throttled periods by cpu.stat",
	.evaluate = evaluate,
};
