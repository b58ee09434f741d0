/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What removing the limit gains at most, and what would come next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

struct ceiling {
	const char *name;
	double util;
	const char *class_name, *cause;
	struct hg_subject subject;
};

static void next_set(const struct hg_attribution *a, struct hg_what_if *w, const struct ceiling *c)
{
	w->next = hg_arena_alloc(a->arena, sizeof(*w->next));
	if (w->next)
		*w->next = (struct hg_candidate){
			.class_name = c->class_name,
			.cause = c->cause,
			.subject = c->subject,
			.share = NAN,
			.share_low = NAN,
			.share_high = NAN,
			.saturation = c->util,
			.summary = c->name,
		};
}

static bool is_cause(const struct hg_candidate *v, const char *class_name, const char *cause)
{
	return v->cause && !strcmp(v->class_name, class_name) && !strcmp(v->cause, cause);
}

/*
 * Who spins keeps CPUs busy for nothing and slows the one that works on the lock's cache line: what the CPU time says of the work
 * is no bound then.
 */
static bool cpu_time_is_work(const struct hg_candidate *v)
{
	return !is_cause(v, "locking", "user-spin");
}

static size_t ceilings(const struct hg_attribution *a, const struct hg_candidate *v,
		       struct ceiling *out)
{
	size_t n = 0;

	if (!is_cause(v, "cpu", "saturated") && cpu_time_is_work(v)) {
		/* Only what target and client use: other programs may yield, and a bound must hold then too. */
		double util =
			(a->target_run_ns + a->client_run_ns) / a->wall_ns / (double)a->cpus_online;

		out[n] = (struct ceiling){
			"all CPUs",
			util,
			"cpu",
			"saturated",
			{.machine = "host", .kind = "cpu-pool", .name = "all CPUs"}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "%zu CPUs", a->cpus_online);
		n++;
	}
	if (a->target_top && !is_cause(v, "cpu", "serial-thread") && cpu_time_is_work(v)) {
		out[n] = (struct ceiling){
			hg_lane_label(a, a->target_top),
			a->target_top_util,
			"cpu",
			"serial-thread",
			{.machine = "host", .kind = "thread", .name = a->target_top->name}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "tid %u",
			 a->target_top->tid);
		n++;
	}
	if (a->client_top && !is_cause(v, "client", "saturated")) {
		out[n] = (struct ceiling){
			hg_lane_label(a, a->client_top),
			a->client_top_util,
			"client",
			"saturated",
			{.machine = "host", .kind = "client", .name = a->client_top->name}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "tid %u",
			 a->client_top->tid);
		n++;
	}
	return n;
}

/* CPU time of target and client for one completion, s. */
static double cpu_demand_s(const struct hg_attribution *a)
{
	return (a->target_run_ns + a->client_run_ns) / a->wall_ns / a->client->value;
}

/* A closed loop of N requests completes at most N / D: each needs its CPU time one after another. */
static double closed_loop(const struct hg_attribution *a, const struct hg_candidate *v)
{
	const struct hg_client_result *r = a->client;

	if (!r->valid || !r->closed_loop || r->concurrency <= 0 || r->value <= 0 ||
	    cpu_demand_s(a) <= 0 || !cpu_time_is_work(v) ||
	    is_cause(v, "client", "too-few-connections"))
		return INFINITY;
	return r->concurrency / cpu_demand_s(a) / r->value - 1;
}

void hg_what_if_make(const struct hg_attribution *a, const struct hg_candidate *v,
		     struct hg_findings *f)
{
	struct ceiling c[4], *least = NULL;
	struct hg_what_if *w;
	double critical, loop, ceiling = INFINITY;
	size_t n;

	if (!v->cause)
		return;
	w = hg_arena_alloc(a->arena, sizeof(*w));
	if (!w)
		return;
	n = ceilings(a, v, c);
	for (size_t i = 0; i < n; i++) {
		double gain = c[i].util > 0 ? 1 / c[i].util - 1 : INFINITY;

		if (gain < ceiling) {
			ceiling = gain;
			least = &c[i];
		}
	}
	loop = closed_loop(a, v);
	critical = v->share_high < 1 ? v->share_high / (1 - v->share_high) : INFINITY;
	w->relieve = hg_arena_printf(a->arena, "%s/%s%s%s", v->class_name, v->cause,
				     v->subject.name ? ": " : "",
				     v->subject.name ? v->subject.name : "");
	w->gain_at_most = fmax(0, fmin(loop, fmin(critical, ceiling)));
	if (isinf(w->gain_at_most)) /* nothing bounds it */
		return;
	if (loop < critical && loop < ceiling)
		w->bound_by = hg_arena_printf(a->arena,
					      "closed loop: %.0f connections / (%.3g ms CPU of "
					      "target and client a request) / %.6g - 1",
					      a->client->concurrency, 1e3 * cpu_demand_s(a),
					      a->client->value);
	else if (critical <= ceiling)
		w->bound_by = hg_arena_printf(a->arena, "critical path: share %.2f / (1 - %.2f)",
					      v->share_high, v->share_high);
	else
		w->bound_by = hg_arena_printf(
			a->arena,
			"next limit: target and client keep %s %.0f %% busy: 1 / %.2f - 1",
			least->name, 100 * least->util, least->util);
	if (least)
		next_set(a, w, least);
	f->what_if = w;
	f->what_if_count = 1;
}
