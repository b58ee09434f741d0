/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of target, client and CPUs over the window: by events, and the same from outside. */
#include <math.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

double hg_lane_run_ns(const struct hg_lane *l)
{
	return (double)(l->leaf_ns[HG_LEAF_RUNNING] + l->leaf_ns[HG_LEAF_RUNNING_SOFTIRQ] +
			l->leaf_ns[HG_LEAF_RUNNING_IRQ]);
}

/* Adds a lane's outside ratio in CPUs: of the window, for the part of it in which the lane lived. */
static void outside_add(const struct hg_attribution *a, struct hg_outside *sum,
			const struct hg_lane *l, bool delay)
{
	struct hg_outside o = hg_outside_lane(a, l, delay);
	double lived = (double)hg_lane_wall_ns(l) / a->wall_ns;

	if (!o.known)
		return;
	sum->known = true;
	sum->ratio += o.ratio * fmin(1, lived);
	sum->span_s = fmax(sum->span_s, o.span_s);
}

static void figures_lanes(struct hg_attribution *a)
{
	double service_ns = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];
		double run = hg_lane_run_ns(l);

		if (hg_lane_is_target(l, a->level_all)) {
			a->target_run_ns += run;
			a->target_delay_ns += (double)(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] +
						       l->leaf_ns[HG_LEAF_RUNNABLE_IDLE]);
			a->target_throttled_ns += (double)l->leaf_ns[HG_LEAF_THROTTLED];
			service_ns += run + (double)(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] +
						     l->leaf_ns[HG_LEAF_RUNNABLE_IDLE] +
						     l->leaf_ns[HG_LEAF_THROTTLED] +
						     l->leaf_ns[HG_LEAF_BLOCKED_TIMER] +
						     l->leaf_ns[HG_LEAF_BLOCKED_DISK]);
			outside_add(a, &a->target_run_out, l, false);
			outside_add(a, &a->target_delay_out, l, true);
			if (!a->target_top || run > hg_lane_run_ns(a->target_top))
				a->target_top = l;
		} else if (hg_lane_is_client(l)) {
			a->client_run_ns += run;
			outside_add(a, &a->client_run_out, l, false);
			if (!a->client_top || run > hg_lane_run_ns(a->client_top))
				a->client_top = l;
		}
	}
	a->in_service = service_ns / a->wall_ns;
	if (a->target_top) {
		a->target_top_util = hg_lane_run_ns(a->target_top) / a->wall_ns;
		a->target_top_out = hg_outside_lane(a, a->target_top, false);
	}
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		enum hg_blame b = a->shares.rows[i].blame;

		if (b == HG_BLAME_POOL || b == HG_BLAME_POOL_MASK || b == HG_BLAME_PLACEMENT ||
		    b == HG_BLAME_WAKE_LATENCY || b == HG_BLAME_COMPETITOR ||
		    b == HG_BLAME_SOFTIRQ || b == HG_BLAME_SPIN)
			a->cpu_wait_share += a->shares.rows[i].total_ns / a->wall_ns;
	}
	if (a->client_top) {
		struct hg_outside delay = hg_outside_lane(a, a->client_top, true);

		a->client_wait = delay.known ? delay.ratio : 0;
		a->client_top_util = hg_lane_run_ns(a->client_top) / a->wall_ns;
		a->client_top_out = hg_outside_lane(a, a->client_top, false);
	}
}

static void figures_cpus(struct hg_attribution *a)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);

	for (size_t i = 0; i < a->cpus_count; i++) {
		uint64_t busy, steal, span;

		if (!hg_series_delta(&a->cpus[i].proc_stat, from, to, &busy, &steal, &span) ||
		    !span)
			continue;
		a->cpus_online++;
		a->pool_out.known = a->steal_out.known = true;
		a->pool_out.ratio += (double)busy / (double)span;
		a->steal_out.ratio += (double)steal / (double)span;
		a->pool_out.span_s = a->steal_out.span_s = (double)span / 1e9;
	}
	if (a->cpus_online) {
		a->other_cpus = fmax(0, a->pool_out.ratio -
						(a->target_run_ns + a->client_run_ns) / a->wall_ns);
		a->pool_out.ratio = fmin(1, a->pool_out.ratio / (double)a->cpus_online);
		a->steal_out.ratio /= (double)a->cpus_online;
	} else {
		a->cpus_online = a->cpus_count;
	}
}

void hg_figures_make(struct hg_attribution *a)
{
	figures_lanes(a);
	figures_cpus(a);
}
