/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu/affinity: threads of the target share the CPUs that they may use while others are idle. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

#define OWN_MIN                                                                                    \
	0.75 /* of the allowed CPUs' busy time: below it others have a good part in the wait */
#define ROOM_MIN  0.25 /* idle CPUs outside for each allowed one: less gains less than 1.25 times */
#define MASKS_MAX 16

/* The lanes of the target with one set of allowed CPUs. */
struct masked {
	uint64_t mask0;
	unsigned int count;
	size_t threads;
	double run_ns, active_ns;
};

/* The set whose lanes wanted most CPU time; false if no lane is kept off a CPU. */
static bool mask_find(const struct hg_attribution *a, struct masked *out)
{
	struct masked sets[MASKS_MAX], *most = NULL;
	size_t n = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];
		size_t k = 0;

		if (!hg_lane_is_target(l, a->level_all) || !l->cpus_mask0 || !l->cpus_count ||
		    l->cpus_count >= a->cpus_online)
			continue;
		while (k < n && sets[k].mask0 != l->cpus_mask0)
			k++;
		if (k == MASKS_MAX)
			continue;
		if (k == n)
			sets[n++] = (struct masked){.mask0 = l->cpus_mask0, .count = l->cpus_count};
		sets[k].threads++;
		sets[k].run_ns += hg_lane_run_ns(l);
		sets[k].active_ns +=
			hg_lane_run_ns(l) + (double)(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] +
						     l->leaf_ns[HG_LEAF_RUNNABLE_IDLE]);
	}
	for (size_t k = 0; k < n; k++) {
		if (!most || sets[k].active_ns > most->active_ns)
			most = &sets[k];
	}
	if (most)
		*out = *most;
	return most;
}

/* "CPU 0", "CPUs 0,2-3" */
static void mask_text(uint64_t mask, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "CPU%s ", mask & (mask - 1) ? "s" : "");
	const char *comma = "";

	for (unsigned int cpu = 0; cpu < 64 && used < size; cpu++) {
		unsigned int last = cpu;

		if (!(mask >> cpu & 1))
			continue;
		while (last + 1 < 64 && (mask >> (last + 1) & 1))
			last++;
		used += (size_t)(last > cpu
					 ? snprintf(text + used, size - used, "%s%u-%u", comma, cpu,
						    last)
					 : snprintf(text + used, size - used, "%s%u", comma, cpu));
		comma = ",";
		cpu = last;
	}
}

/* By /proc/stat: mean busy share of the CPUs in the mask, and CPUs' worth of idle time outside of it. */
static bool cpus_outside(const struct hg_attribution *a, uint64_t mask, struct hg_outside *busy_out,
			 double *idle_out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	unsigned int inside = 0;
	double busy_sum = 0;

	*busy_out = (struct hg_outside){0};
	*idle_out = 0;
	for (size_t i = 0; i < a->cpus_count; i++) {
		uint64_t busy, span;

		if (!hg_series_delta(&a->cpus[i].proc_stat, from, to, &busy, NULL, &span) || !span)
			continue;
		if (i < 64 && (mask >> i & 1)) {
			inside++;
			busy_sum += (double)busy / (double)span;
			busy_out->span_s = (double)span / 1e9;
		} else {
			*idle_out += fmax(0, 1 - (double)busy / (double)span);
		}
	}
	if (!inside)
		return false;
	busy_out->known = true;
	busy_out->ratio = fmin(1, busy_sum / inside);
	return true;
}

static void outside_check(const struct hg_attribution *a, struct hg_case *k,
			  const struct masked *set, const char *cpus)
{
	struct hg_outside busy;
	double idle, own;

	if (!cpus_outside(a, set->mask0, &busy, &idle)) {
		k->c.unknown_why = "no /proc/stat samples";
		return;
	}
	k->c.saturation = busy.ratio;
	hg_case_evidence(a, k, true, busy.ratio >= HG_UTIL_POOL_MIN, busy.ratio, HG_UTIL_POOL_MIN,
			 "/proc/stat", "%s: busy %.1f %% of %.1f s", cpus, 100 * busy.ratio,
			 busy.span_s);
	hg_case_evidence(a, k, true, idle >= ROOM_MIN * set->count, idle, ROOM_MIN * set->count,
			 "/proc/stat", "the other CPUs were idle: %.2f CPUs' worth", idle);
	if (busy.ratio < HG_UTIL_POOL_MIN)
		hg_case_refute(a, k, "%s had room: idle %.0f %% of the time", cpus,
			       100 * (1 - busy.ratio));
	if (idle < ROOM_MIN * set->count)
		hg_case_refute(a, k, "the other CPUs had room for only %.2f CPUs of work", idle);
	own = set->run_ns / (busy.ratio * set->count * a->wall_ns);
	if (busy.ratio > 0 && own < OWN_MIN)
		hg_case_refute(a, k, "its threads use only %.0f %% of the busy time of %s",
			       100 * own, cpus);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_POOL_MASK, 0);
	struct masked set;
	char cpus[64];

	if (!row)
		return;
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "cpu-pool";
	k->c.subject.name = "allowed CPUs";
	if (!mask_find(a, &set)) {
		k->c.summary = "its threads wait for the CPUs that they may use while others are "
			       "idle";
		k->c.unknown_why = "the allowed CPUs are not known";
		return;
	}
	mask_text(set.mask0, cpus, sizeof(cpus));
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%s", cpus);
	k->c.summary = hg_arena_printf(
		a->arena,
		"%zu threads of the target may use only %s of %zu CPUs, and wait for each other "
		"there while another CPU is idle.",
		set.threads, cpus, a->cpus_online);
	k->c.advice =
		"Let its threads use more CPUs (taskset -p, cpuset, the program's own pinning).";
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "several of its threads wanted a CPU and only CPUs that they may not use "
			 "were idle for %.1f %% of the time",
			 100 * row->total_ns / a->wall_ns);
	outside_check(a, k, &set, cpus);
	hg_case_refute_spinning(a, k, NULL);
	hg_case_refute_polling(a, k, NULL);
}

const struct hg_detector hg_detector_affinity = {
	.class_name = "cpu",
	.cause = "affinity",
	.needs = "switches and wakeups of the target with its allowed CPUs, /proc/stat by CPU",
	.proof_events = "share of time in which its threads waited and only CPUs that they may not "
			"use were idle",
	.proof_outside = "busy time of the allowed CPUs and idle time of the others by /proc/stat",
	.evaluate = evaluate,
};
