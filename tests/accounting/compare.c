/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares what the model says of a trace with what the kernel said meanwhile, by sources that share nothing with the
 * events: schedstat of each thread, /proc/stat, cpu.stat. Prints every figure. Exit codes: 0; 1 a figure is out of
 * bounds; 3 likewise, but other tasks had so much of the CPUs that it may be their doing; 2 trouble.
 *
 * usage: compare TRACE [throttled]
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hg_model.h"
#include "base/hg_base.h"
#include "tests/accounting/wake_clock.h"

/* Per cent. The run-queue delay is looser: the kernel's clock is not updated on wake-preemption. */
#define RUNNING_MAX   0.5
#define DELAY_MAX     5.0
#define BUSY_MAX      1.0 /* of wall */
#define THROTTLED_MAX 5.0
#define UNKNOWN_MAX   0.1 /* of wall */
#define SPAN_MIN_NS   (5 * HG_NSEC_PER_SEC)
#define OTHERS_MAX    0.2 /* CPUs */

static int failures;

static void check(const char *what, double ours_s, double theirs_s, double difference, double max)
{
	bool ok = fabs(difference) <= max;

	printf("%-10s model %10.6f s  kernel %10.6f s  difference %+7.3f %% of at most %.1f %%%s\n",
	       what, ours_s, theirs_s, difference, max, ok ? "" : "  OUT OF BOUNDS");
	failures += !ok;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Spans of the target's lanes: from the first to the last schedstat sample within the window. */
static size_t spans_of_samples(const struct hg_model *m, struct hg_span *spans)
{
	uint64_t from = hg_model_from_ns(m), to = hg_model_to_ns(m);
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes), count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hg_series *s = &lanes[i].schedstat;
		size_t first = 0, last = s->n;

		if (!(lanes[i].role & HG_ROLEF_TARGET))
			continue;
		while (first < s->n && s->v[first].time_ns < from)
			first++;
		while (last > first && s->v[last - 1].time_ns > to)
			last--;
		if (last < first + 2)
			continue;
		spans[count++] = (struct hg_span){.lane = (uint32_t)i,
						  .from_ns = s->v[first].time_ns,
						  .to_ns = s->v[last - 1].time_ns};
	}
	return count;
}

struct totals {
	uint64_t run, delay, throttled, unknown, wall, kernel_run, kernel_delay, span_max;
	int64_t moved; /* of the running of others, that the kernel counts as the target's */
};

static void add_lane(struct totals *t, const struct hg_lane *l, const struct hg_span *s)
{
	uint64_t run = 0, delay = 0, span = 0, ours, waited;

	hg_series_delta(&l->schedstat, s->from_ns, s->to_ns, &run, &delay, &span);
	ours = s->leaf_ns[HG_LEAF_RUNNING];
	waited = s->leaf_ns[HG_LEAF_RUNNABLE_BUSY] + s->leaf_ns[HG_LEAF_RUNNABLE_IDLE] +
		 s->leaf_ns[HG_LEAF_THROTTLED];
	t->run += ours;
	t->delay += waited;
	t->throttled += s->leaf_ns[HG_LEAF_THROTTLED];
	t->unknown += s->leaf_ns[HG_LEAF_UNKNOWN];
	t->wall += span;
	t->kernel_run += run;
	t->kernel_delay += delay;
	t->span_max = HG_MAX(t->span_max, span);
	if (getenv("VERBOSE"))
		printf("  tid %u: run %.6f and %.6f, delay %.6f and %.6f, of %.3f s\n", l->tid,
		       ours / 1e9, run / 1e9, waited / 1e9, delay / 1e9, span / 1e9);
}

static void check_lanes(struct hg_reader *r, struct hg_model *m, struct totals *t)
{
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes);
	hg_autofree struct hg_span *spans = calloc(n, sizeof(*spans));
	hg_autofree int64_t *moved = calloc(n, sizeof(*moved));
	size_t lanes_count = n;
	double run, delay;

	n = spans && moved ? spans_of_samples(m, spans) : 0;
	if (!n || hg_model_spans(m, spans, n)) {
		fprintf(stderr, "compare: no thread was sampled twice\n");
		exit(2);
	}
	if (wake_clock_moved(r, hg_model_from_ns(m), hg_model_to_ns(m), moved,
			     (uint32_t)lanes_count)) {
		fprintf(stderr, "compare: the records cannot be read again\n");
		exit(2);
	}
	for (size_t i = 0; i < n; i++) {
		add_lane(t, &lanes[spans[i].lane], &spans[i]);
		t->moved += moved[spans[i].lane];
	}
	printf("%zu threads, %.3f s\n", n, t->span_max / 1e9);
	if (t->span_max < SPAN_MIN_NS) {
		printf("the samples span less than 5 s\n");
		failures++;
	}
	/* Where others wake the target, the kernel's clock is the one to compare with: see wake_clock.h. */
	run = (double)t->run + (double)t->moved;
	check("running", run / 1e9, t->kernel_run / 1e9,
	      percent(run - (double)t->kernel_run, (double)t->kernel_run), RUNNING_MAX);
	printf("           of it %+.6f s between wakeups and the switches they caused; %+.3f %% "
	       "without\n",
	       (double)t->moved / 1e9,
	       percent((double)t->run - (double)t->kernel_run, (double)t->kernel_run));
	delay = (double)t->delay - (double)t->moved; /* what is running is not waiting */
	check("delay", delay / 1e9, t->kernel_delay / 1e9,
	      percent(delay - (double)t->kernel_delay, (double)t->kernel_delay), DELAY_MAX);
	check("unknown", t->unknown / 1e9, 0, percent((double)t->unknown, (double)t->wall),
	      UNKNOWN_MAX);
}

/* Returns how many CPUs were busy. */
static double check_cpus(const struct hg_model *m)
{
	uint64_t from = hg_model_from_ns(m), to = hg_model_to_ns(m);
	double ours = 0, theirs = 0, wall = 0;
	const struct hg_cpu *cpus;
	size_t n = hg_model_cpus(m, &cpus);

	for (size_t i = 0; i < n; i++) {
		uint64_t busy, kernel, span, kernel_span;

		if (!hg_series_delta(&cpus[i].probe_busy, from, to, &busy, NULL, &span) ||
		    !hg_series_delta(&cpus[i].proc_stat, from, to, &kernel, NULL, &kernel_span))
			continue;
		ours += (double)busy / (double)span;
		theirs += (double)kernel / (double)kernel_span;
		wall++;
	}
	if (!wall) {
		printf("no CPU was sampled\n");
		failures++;
		return 0;
	}
	check("CPUs busy", ours, theirs, percent(ours - theirs, wall), BUSY_MAX);
	return theirs;
}

/* CPUs that target and client kept busy. */
static double own_cpus(const struct hg_model *m)
{
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes);
	double ns = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(lanes[i].role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT)))
			continue;
		for (int leaf = 0; leaf < HG_LEAVES; leaf++)
			ns += hg_leaf_is_running((enum hg_leaf)leaf)
				      ? (double)lanes[i].leaf_ns[leaf]
				      : 0;
	}
	return ns / (double)(hg_model_to_ns(m) - hg_model_from_ns(m));
}

static void check_throttled(const struct hg_model *m, const struct totals *t)
{
	uint64_t from = hg_model_from_ns(m), to = hg_model_to_ns(m), most = 0;
	const struct hg_cgroup *cgroups;
	size_t n = hg_model_cgroups(m, &cgroups);

	for (size_t i = 0; i < n; i++) {
		uint64_t throttled, span;

		if (cgroups[i].quota_us &&
		    hg_series_delta(&cgroups[i].stat, from, to, &throttled, NULL, &span))
			most = HG_MAX(most, throttled);
	}
	check("throttled", t->throttled / 1e9, most / 1e9,
	      percent((double)t->throttled - (double)most, (double)most), THROTTLED_MAX);
	if (!most) {
		printf("nothing was throttled\n");
		failures++;
	}
}

int main(int argc, char **argv)
{
	struct hg_reader *r __attribute__((cleanup(hg_reader_closep))) = NULL;
	struct hg_model_opts opts = {0};
	struct totals t = {0};
	struct hg_losses losses;
	struct hg_model *m;
	double others;

	if (argc < 2 || hg_reader_open(argv[1], &r) || hg_model_load(r, &opts, &m))
		return 2;
	check_lanes(r, m, &t);
	others = check_cpus(m) - own_cpus(m);
	if (argc > 2 && !strcmp(argv[2], "throttled"))
		check_throttled(m, &t);
	hg_model_losses(m, &losses);
	printf("%" PRIu64 " events lost, %" PRIu64 " contradictions\n", losses.total,
	       losses.contradictions);
	hg_model_free(m);
	if (failures && others > OTHERS_MAX)
		printf("other tasks had %.2f CPUs\n", others);
	return !failures ? 0 : others > OTHERS_MAX ? 3 : 1;
}
