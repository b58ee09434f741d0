/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/competitor: something that is neither target nor client runs where the target waits for a CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

#define SPLIT_MAX 4
#define NAMES_MAX 64 /* rows are sorted: behind these nobody stands out */

/* Programs that come and go are one competitor: tasks of one name, and how much they stood in the way. */
struct by_name {
	const struct hg_lane *lane; /* the one with the largest row */
	double ns;
	size_t tasks;
};

static int by_ns(const void *x, const void *y)
{
	const struct by_name *a = x, *b = y;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->lane->id > b->lane->id) - (a->lane->id < b->lane->id);
}

/* Largest first. Returns how many. */
static size_t sum_by_name(const struct hg_attribution *a, struct by_name out[NAMES_MAX],
			  double *all_ns_out)
{
	size_t n = 0, rows = 0;

	*all_ns_out = 0;
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		const struct hg_blame_row *r = &a->shares.rows[i];
		const struct hg_lane *lane;
		size_t k = 0;

		if (r->blame != HG_BLAME_COMPETITOR)
			continue;
		lane = &a->lanes[r->id];
		*all_ns_out += r->total_ns;
		rows++;
		while (k < n && strcmp(out[k].lane->name, lane->name))
			k++;
		if (k == n && rows > NAMES_MAX)
			continue;
		if (k == n)
			out[n++] = (struct by_name){.lane = lane};
		out[k].ns += r->total_ns;
		out[k].tasks++;
	}
	qsort(out, n, sizeof(*out), by_ns);
	return n;
}

/* "who ran while the target waited: cc1 42 %, python3 20 %, others 38 %" */
static void evidence_split(const struct hg_attribution *a, struct hg_case *k,
			   const struct by_name *names, size_t n, double all_ns)
{
	double rest_ns = all_ns;
	char text[256] = "";

	for (size_t i = 0; i < HG_MIN(n, (size_t)SPLIT_MAX); i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s %.0f %%", i ? ", " : "",
			 names[i].lane->name, 100 * names[i].ns / all_ns);
		rest_ns -= names[i].ns;
	}
	hg_case_evidence(a, k, false, true, NAN, NAN, "sched_switch and sched_wakeup events",
			 "who ran while the target waited: %s, others %.0f %%", text,
			 100 * fmax(0, rest_ns) / all_ns);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	struct by_name names[NAMES_MAX];
	const struct hg_lane *lane;
	struct hg_outside its_run;
	const char *who;
	double sum;
	size_t n;

	n = sum_by_name(a, names, &sum);
	if (!n)
		return;
	lane = names[0].lane;
	hg_case_credit_all(a, k, HG_BLAME_COMPETITOR);
	its_run = hg_outside_lane(a, lane, false);
	hg_case_subject_lane(a, k, lane, "thread");
	who = hg_lane_label(a, lane);
	if (names[0].tasks > 1) {
		k->c.subject.kind = "threads";
		snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%zu tasks, tid %u most",
			 names[0].tasks, lane->tid);
		who = hg_arena_printf(a->arena, "%s (%zu tasks)", lane->name, names[0].tasks);
	}
	k->c.summary = hg_arena_printf(
		a->arena, "The target waits for a CPU on which %s runs (%.0f %% of such waits).",
		who, 100 * names[0].ns / sum);
	k->c.advice = hg_arena_printf(
		a->arena,
		"Stop %s, pin it to other CPUs, or give it a lower weight (nice, cpu.shares).",
		who);
	hg_case_evidence(a, k, true, sum / a->wall_ns >= HG_SHARE_MIN, sum / a->wall_ns,
			 HG_SHARE_MIN, "sched_switch and sched_wakeup events",
			 "threads of the target were runnable while other programs ran on their "
			 "CPU for %.1f %% of the time that counts",
			 100 * sum / a->wall_ns);
	evidence_split(a, k, names, n, sum);
	hg_case_refute_spinning(a, k, NULL);
	if (a->target_delay_out.known) {
		k->c.saturation =
			a->target_run_out.known &&
					a->target_run_out.ratio + a->target_delay_out.ratio > 0
				? fmin(1, a->target_run_out.ratio + a->target_delay_out.ratio)
				: NAN;
		hg_case_evidence(a, k, true, a->target_delay_out.ratio >= HG_SHARE_MIN,
				 a->target_delay_out.ratio, HG_SHARE_MIN,
				 "/proc/PID/task/*/schedstat of the target",
				 "the kernel's own account: its threads waited on run queues %.1f "
				 "%% of the time, in sum",
				 100 * a->target_delay_out.ratio);
		if (a->target_delay_out.ratio < HG_SHARE_MIN)
			hg_case_refute(a, k,
				       "by schedstat the target waited only %.0f %% of the time",
				       100 * a->target_delay_out.ratio);
	} else {
		k->c.unknown_why = "no schedstat samples of the target";
	}
	if (its_run.known)
		hg_case_evidence(a, k, false, its_run.ratio >= HG_SHARE_MIN, its_run.ratio,
				 HG_SHARE_MIN,
				 hg_arena_printf(a->arena, "/proc/%u/task/%u/schedstat", lane->tgid,
						 lane->tid),
				 "%s ran %.1f %% of %.1f s", hg_lane_label(a, lane),
				 100 * its_run.ratio, its_run.span_s);
}

const struct hg_detector hg_detector_competitor = {
	.class_name = "cpu",
	.cause = "competitor",
	.needs = "switches on the target's CPUs, schedstat",
	.proof_events = "share of time in which the target was runnable and others ran on its CPU",
	.proof_outside = "its run-queue delay by schedstat",
	.evaluate = evaluate,
};
