/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/competitor: something that is neither target nor client runs where the target waits for a CPU. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"

#define SPLIT_MAX 4
#define NAMES_MAX 64 /* rows are sorted: behind these nobody stands out */

/* Programs that come and go are one competitor: the name whose tasks together stood most in the way. */
static const struct hg_lane *top_name(const struct hg_attribution *a, double *sum_out,
				      double *all_out, size_t *tasks_out)
{
	const struct hg_lane *best = NULL;

	size_t names = 0;

	*sum_out = *all_out = 0;
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		const struct hg_blame_row *r = &a->shares.rows[i];
		double sum = 0;
		size_t tasks = 0;

		if (r->blame != HG_BLAME_COMPETITOR)
			continue;
		*all_out += r->total_ns;
		if (++names > NAMES_MAX)
			continue;
		/* Rows are sorted: a later one of the same name adds up to the same sum. */
		for (size_t k = i; k < a->shares.rows_count; k++) {
			if (a->shares.rows[k].blame != HG_BLAME_COMPETITOR ||
			    strcmp(a->lanes[a->shares.rows[k].id].name, a->lanes[r->id].name))
				continue;
			sum += a->shares.rows[k].total_ns;
			tasks++;
		}
		if (sum > *sum_out) {
			*sum_out = sum;
			*tasks_out = tasks;
			best = &a->lanes[r->id];
		}
	}
	return best;
}

/* "of these waits: cc1 42 %, python3 20 %, 37 others" */
static void evidence_split(const struct hg_attribution *a, struct hg_case *k, double all)
{
	const char *names[SPLIT_MAX] = {0};
	double sums[SPLIT_MAX] = {0}, rest = all;
	size_t n = 0, seen = 0;
	char text[256] = "";

	for (size_t i = 0; i < a->shares.rows_count && seen < NAMES_MAX; i++) {
		const struct hg_blame_row *r = &a->shares.rows[i];
		size_t s = 0;

		if (r->blame != HG_BLAME_COMPETITOR)
			continue;
		seen++;
		while (s < n && strcmp(names[s], a->lanes[r->id].name))
			s++;
		if (s == SPLIT_MAX)
			continue;
		if (s == n)
			names[n++] = a->lanes[r->id].name;
		sums[s] += r->total_ns;
		rest -= r->total_ns;
	}
	for (size_t s = 0; s < n; s++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s %.0f %%", s ? ", " : "", names[s],
			 100 * sums[s] / all);
	}
	hg_case_evidence(a, k, false, true, NAN, NAN, "sched_switch and sched_wakeup events",
			 "who ran while the target waited: %s, others %.0f %%", text,
			 100 * fmax(0, rest) / all);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_lane *lane;
	struct hg_outside its_run;
	const char *who;
	double sum, top;
	size_t tasks = 0;

	lane = top_name(a, &top, &sum, &tasks);
	if (!lane)
		return;
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		if (a->shares.rows[i].blame == HG_BLAME_COMPETITOR)
			hg_case_credit(a, k, &a->shares.rows[i]);
	}
	its_run = hg_outside_lane(a, lane, false);
	hg_case_subject_lane(a, k, lane, "thread");
	who = hg_lane_label(a, lane);
	if (tasks > 1) {
		k->c.subject.kind = "threads";
		snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%zu tasks, tid %u most", tasks,
			 lane->tid);
		who = hg_arena_printf(a->arena, "%s (%zu tasks)", lane->name, tasks);
	}
	k->c.summary = hg_arena_printf(
		a->arena, "The target waits for a CPU on which %s runs (%.0f %% of such waits).",
		who, 100 * top / sum);
	k->c.advice = hg_arena_printf(
		a->arena,
		"Stop %s, pin it to other CPUs, or give it a lower weight (nice, cpu.shares).",
		who);
	hg_case_evidence(a, k, true, sum / a->wall_ns >= HG_SHARE_MIN, sum / a->wall_ns,
			 HG_SHARE_MIN, "sched_switch and sched_wakeup events",
			 "threads of the target were runnable while other programs ran on their "
			 "CPU for %.1f %% of the time that counts",
			 100 * sum / a->wall_ns);
	evidence_split(a, k, sum);
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
