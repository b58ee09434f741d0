/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What detectors use to fill a case. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"

#define RUN_PART_MIN 0.9 /* of the client's run: the window is all of it but its ends */
#define LIST_MAX     16	 /* evidence, refutations and links of one candidate */

void hg_case_credit(const struct hg_attribution *a, struct hg_case *k,
		    const struct hg_blame_row *row)
{
	k->credited = true;
	if (!row)
		return;
	k->blames |= UINT64_C(1) << row->blame;
	for (unsigned int i = 0; i < a->shares.subs; i++)
		k->sub_ns[i] += row->sub_ns[i];
}

static const char *format(const struct hg_attribution *a, const char *fmt, va_list ap)
{
	char text[512];
	const char *copy;

	vsnprintf(text, sizeof(text), fmt, ap);
	copy = hg_arena_printf(a->arena, "%s", text);
	return copy ? copy : "";
}

struct hg_evidence *hg_case_evidence(const struct hg_attribution *a, struct hg_case *k, bool proof,
				     bool holds, double value, double threshold, const char *source,
				     const char *fmt, ...)
{
	struct hg_candidate *c = &k->c;
	struct hg_evidence *e;
	va_list ap;

	if (!c->evidence)
		c->evidence = hg_arena_alloc(a->arena, LIST_MAX * sizeof(*c->evidence));
	if (!c->evidence || c->evidence_count == LIST_MAX)
		return NULL;
	e = &c->evidence[c->evidence_count++];
	va_start(ap, fmt);
	*e = (struct hg_evidence){
		.text = format(a, fmt, ap),
		.source = source,
		.proof = proof,
		.holds = holds,
		.value = value,
		.threshold = threshold,
	};
	va_end(ap);
	return e;
}

static void list_add(const struct hg_attribution *a, const char ***list, size_t *count,
		     const char *text)
{
	if (!*list)
		*list = hg_arena_alloc(a->arena, LIST_MAX * sizeof(**list));
	if (*list && *count < LIST_MAX)
		(*list)[(*count)++] = text;
}

double hg_case_credit_all(const struct hg_attribution *a, struct hg_case *k, enum hg_blame blame)
{
	double sum_ns = 0;

	for (size_t i = 0; i < a->shares.rows_count; i++) {
		if (a->shares.rows[i].blame != blame)
			continue;
		hg_case_credit(a, k, &a->shares.rows[i]);
		sum_ns += a->shares.rows[i].total_ns;
	}
	return sum_ns;
}

void hg_case_refute(const struct hg_attribution *a, struct hg_case *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	list_add(a, &k->c.refuted_by, &k->c.refuted_count, format(a, fmt, ap));
	va_end(ap);
}

void hg_case_chain(const struct hg_attribution *a, struct hg_case *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	list_add(a, &k->c.chain, &k->c.chain_count, format(a, fmt, ap));
	va_end(ap);
}

void hg_case_subject_lane(const struct hg_attribution *a, struct hg_case *k,
			  const struct hg_lane *lane, const char *kind)
{
	k->c.subject.machine = "host";
	k->c.subject.kind = kind;
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "tid %u", lane->tid);
	k->c.subject.name = lane->name;
}

bool hg_case_refute_busy_cpus(const struct hg_attribution *a, struct hg_case *k)
{
	if (!a->pool_out.known || a->pool_out.ratio <= HG_UTIL_POOL_MIN)
		return false;
	if (a->cpu_wait_share > HG_CPU_WAIT_MAX)
		hg_case_refute(a, k,
			       "the CPUs are busy and hold the target back %.0f %% of the time",
			       100 * a->cpu_wait_share);
	else if (a->client_wait > HG_CPU_WAIT_MAX)
		hg_case_refute(a, k,
			       "the CPUs are busy and the client waits for one %.0f %% of the time",
			       100 * a->client_wait);
	else
		return false;
	return true;
}

struct hg_spinning hg_spinning_of(const struct hg_attribution *a, const struct hg_lane *lane)
{
	struct hg_spinning s = {0};

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (lane ? l != lane : !hg_lane_is_target(l, a->level_all))
			continue;
		s.samples += l->samples;
		s.spins += l->spins;
	}
	s.known = s.samples >= HG_SPIN_SAMPLES_MIN;
	s.part = s.samples ? (double)s.spins / (double)s.samples : 0;
	return s;
}

bool hg_case_refute_spinning(const struct hg_attribution *a, struct hg_case *k,
			     const struct hg_lane *lane)
{
	struct hg_spinning s = hg_spinning_of(a, lane);

	if (!s.known || s.part < HG_SPIN_MAX)
		return false;
	hg_case_refute(a, k,
		       "%s in user space %.0f %% of the CPU time (%llu of %llu samples): "
		       "it waits for a word in memory and does no work",
		       lane ? hg_arena_printf(a->arena, "%s spins", hg_lane_label(a, lane))
			    : "the target spins",
		       100 * s.part, (unsigned long long)s.spins, (unsigned long long)s.samples);
	return true;
}

/*
 * Part of the time in which a request is in flight, at most: there are X * R of them on average (Little's law). Latency and
 * throughput are those of the client's whole run, so that a part of it may be busier than the rest: NAN then.
 */
static double in_flight_max(const struct hg_attribution *a)
{
	const struct hg_client_result *r = a->client;

	if (!r->valid || r->proxy || r->skewed || r->value <= 0 || r->latency_mean_s <= 0 ||
	    r->duration_s <= 0 || a->wall_ns < RUN_PART_MIN * r->duration_s * 1e9)
		return NAN;
	return fmin(1, r->value * r->latency_mean_s);
}

bool hg_case_refute_polling(const struct hg_attribution *a, struct hg_case *k,
			    const struct hg_lane *lane)
{
	double flight = in_flight_max(a), run_ns = 0, polling_ns = 0;

	if (isnan(flight))
		return false;
	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (lane ? l != lane : !hg_lane_is_target(l, a->level_all))
			continue;
		run_ns += hg_lane_run_ns(l);
		polling_ns += fmax(0, hg_lane_run_ns(l) - flight * a->wall_ns);
	}
	if (run_ns <= 0 || polling_ns < HG_POLL_MIN * run_ns)
		return false;
	hg_case_refute(
		a, k,
		"%s %.0f %% of the CPU time while no request is in flight (%.6g %s x %.3g ms "
		"= %.2g at a time): it polls, or has work of its own",
		lane ? hg_arena_printf(a->arena, "%s uses", hg_lane_label(a, lane))
		     : "the target uses",
		100 * polling_ns / run_ns, a->client->value, a->client->unit,
		1e3 * a->client->latency_mean_s, a->client->value * a->client->latency_mean_s);
	return true;
}

bool hg_load_is_met(const struct hg_attribution *a)
{
	const struct hg_client_result *r = a->client;

	return r->valid && r->offered > 0 && r->value >= HG_MET_MIN * r->offered;
}

const char *hg_lane_label(const struct hg_attribution *a, const struct hg_lane *lane)
{
	const char *label = hg_arena_printf(a->arena, "%s (tid %u)", lane->name, lane->tid);

	return label ? label : "";
}

const char *hg_process_name(const struct hg_attribution *a, uint32_t tgid)
{
	const char *name = "?";

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		if (a->lanes[i].tgid != tgid)
			continue;
		name = a->lanes[i].name;
		if (a->lanes[i].tid == tgid)
			break;
	}
	return name;
}

struct hg_outside hg_outside_lane(const struct hg_attribution *a, const struct hg_lane *lane,
				  bool delay)
{
	uint64_t run, wait, span, from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	struct hg_outside out = {0};

	if (!hg_series_delta(&lane->schedstat, from, to, &run, &wait, &span) || !span)
		return out;
	out.known = true;
	out.ratio = (double)(delay ? wait : run) / (double)span;
	out.span_s = (double)span / 1e9;
	return out;
}
