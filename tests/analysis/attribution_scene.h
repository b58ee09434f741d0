/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces whose limit is known by construction: a period of a schedule, written as segments, is repeated for three
 * seconds. Used by the tests of attribution in this folder: for each cause there is a trace of it, one that looks like
 * it and is not, and one without the inputs that it needs.
 */
#ifndef HG_TESTS_ATTRIBUTION_SCENE_H
#define HG_TESTS_ATTRIBUTION_SCENE_H

#include "tests/analysis/trace_builder.h"

#include <math.h>

#include "analysis/attribution.h"

enum leave { EPOLL, SLEEP, SYNC, LOCK, PREEMPT, THROTTLE, SEMAPHORE, KLOCK };

/* A lane runs on a CPU in [from, to) us of each period, then leaves; it was woken at wake us. */
struct segment {
	unsigned int cpu, from, to, lane;
	enum leave leave;
	unsigned int holder_tid;
	int wake; /* us, may be negative; NO_WAKE: no wakeup (it was runnable) */
	unsigned int waker, waker_cpu;
	int ctx;
};
#define NO_WAKE	     (-1000000)
#define LOCK_ADDRESS 0x7f0000001000

enum { SERVER = 2, SERVER2, CLIENT, HOG, SERVER3, LANES };

/* What samples find on CPU 0 (SERVER) and 1 (SERVER2). */
struct spins {
	unsigned int parts[2]; /* of ten samples so many spin */
	uint64_t word, flags;
	unsigned int held; /* of ten looks; > 10: there are none */
	bool apart;	   /* SERVER2 spins for another word */
};
#define SAMPLE_NS (5 * TB_MS)

struct scene {
	const struct segment *segments;
	size_t count;
	unsigned int period_us;
	const char *argv;
	const char *lines[8];
	bool quota, waits; /* the cgroup hits its quota; samples find waiters on LOCK_ADDRESS */
	bool delays;	   /* schedstat shows half of the target's run time as waits */
	bool no_samples;   /* the samplers gave nothing */
	uint64_t lost;
	const char *kthread; /* HOG is a thread of the kernel with this name */
	uint64_t allowed;    /* mask of the CPUs that the target's lanes may use; 0: any */
	void (*define)(struct trace_builder *tb); /* further definitions, */
	void (*sample)(struct trace_builder *tb, uint64_t t,
		       unsigned int tick); /* and samples, ten a second */
	const struct spins *spins;
	unsigned int extra_busy;  /* per cent of CPU 1 that nobody named uses */
	unsigned int extra_busy0; /* the same of CPU 0 */
	unsigned int taken_us; /* of each of SERVER's segments, by softirqs at interrupts' ends */
	/* per cent of each CPU that is in softirqs: by the probes, and by /proc/stat */
	unsigned int softirq_events[2], softirq_ticks[2];
	/* events of the lanes' CPUs, at the end of each segment's time on its CPU */
	void (*event)(struct trace_builder *tb, const struct segment *s, uint64_t from_ns,
		      uint64_t to_ns);
};

struct event {
	uint64_t t;
	unsigned int order;
	bool wake;
	struct segment s; /* wake: its lane; switch: out */
	unsigned int next;
};

#define SECONDS 3
#define T0	TB_MS

static inline int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return (int)x->order - (int)y->order;
}

static inline int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->t < y->t ? -1 : x->t > y->t;
}

static inline void emit(struct trace_builder *tb, const struct scene *sc, const struct event *e)
{
	const struct segment *s = &e->s;

	if (e->wake) {
		tb_wakeup(tb, s->waker_cpu, e->t, s->lane, s->cpu, s->waker, (uint64_t)s->ctx,
			  s->ctx == HG_CTX_SOFTIRQ_OWN ? 3 : -1, 0);
		return;
	}
	if (sc->taken_us && s->lane == SERVER)
		tb_softirq(tb, s->cpu, e->t, sc->taken_us * TB_US, (s->to - s->from) * TB_US, 3,
			   HG_CTX_SOFTIRQ_IRQ, s->lane);
	if (s->lane == HG_LANE_IDLE) {
		tb_switch(tb, s->cpu, e->t, HG_LANE_IDLE, e->next, 0, 0);
		return;
	}
	switch (s->leave) {
	case EPOLL:
		tb_epoll(tb, s->cpu, e->t, s->lane, e->next);
		break;
	case SYNC: /* fdatasync, uninterruptible */
		tb_block(tb, s->cpu, e->t, s->lane, e->next, 2, 75, 7, 0, 0, 0);
		break;
	case SLEEP:
		tb_sleep(tb, s->cpu, e->t, s->lane, e->next);
		break;
	case KLOCK: /* a mutex of the kernel, in write(); the end of the wait is the scene's to tell */
		tb_block(tb, s->cpu, e->t, s->lane, e->next, 2, 1, 5, 0, 0, 0);
		break;
	case LOCK:
		tb_lock(tb, s->cpu, e->t, s->lane, e->next, LOCK_ADDRESS, s->holder_tid);
		break;
	case SEMAPHORE:
		tb_block(tb, s->cpu, e->t, s->lane, e->next, 1, 202, LOCK_ADDRESS + 64, 0x189, 0,
			 0);
		break;
	case PREEMPT:
		tb_switch(tb, s->cpu, e->t, s->lane, e->next, 0, HG_SWITCHF_PREEMPT);
		break;
	case THROTTLE:
		tb_switch(tb, s->cpu, e->t, s->lane, e->next, 0, HG_SWITCHF_THROTTLED);
		break;
	}
}

/* Appends the switches of one CPU's segments, which are sorted and do not overlap. */
static inline size_t switches(const struct event *segs, size_t n, struct event *out)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t to = segs[i].t + (segs[i].s.to - segs[i].s.from) * TB_US;
		bool joined =
			i && segs[i - 1].t + (segs[i - 1].s.to - segs[i - 1].s.from) * TB_US ==
				     segs[i].t;

		if (!joined)
			out[m++] = (struct event){.t = segs[i].t,
						  .order = 1,
						  .s = {.lane = HG_LANE_IDLE, .cpu = segs[i].s.cpu},
						  .next = segs[i].s.lane};
		out[m++] = (struct event){.t = to,
					  .order = 1,
					  .s = segs[i].s,
					  .next = i + 1 < n && segs[i + 1].t == to
							  ? segs[i + 1].s.lane
							  : (unsigned int)HG_LANE_IDLE};
	}
	return m;
}

static inline void samples(struct trace_builder *tb, const struct scene *sc, unsigned int tick)
{
	uint64_t t = T0 + tick * 100 * TB_MS, run[LANES] = {0}, busy[2] = {0}, wait[LANES] = {0};
	uint64_t periods = tick * 100 * 1000 / sc->period_us;

	for (size_t i = 0; i < sc->count; i++) {
		const struct segment *s = &sc->segments[i];
		uint64_t ns = (s->to - s->from) * TB_US * periods;

		run[s->lane] += ns;
		busy[s->cpu] += ns;
		if (s->wake ==
		    NO_WAKE) /* it had waited since its last segment ended: the gap before it */
			wait[s->lane] += ns;
	}
	busy[0] += t * sc->extra_busy0 / 100;
	busy[1] += t * sc->extra_busy / 100;
	for (unsigned int l = SERVER; l < LANES; l++)
		tb_schedstat(tb, t, l, run[l], sc->delays ? run[l] / 2 : wait[l]);
	for (unsigned int c = 0; c < 2; c++) {
		uint64_t ticks = t * sc->softirq_ticks[c] / 100;
		uint64_t events = t * sc->softirq_events[c] / 100;

		TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_CPU_TIMES, c,
			  busy[c] - HG_MIN(ticks, busy[c]), 0, 0, t - busy[c], 0, 0, ticks, 0);
		TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_CPU_BUSY, c, busy[c], t - busy[c],
			  events, 0, tick);
	}
	if (sc->quota)
		tb_cgroup(tb, t, "/web", tick, tick, tick * 70 * TB_MS, tick * 30 * TB_MS, 30000,
			  100000);
	if (sc->sample)
		sc->sample(tb, t, tick);
	if (sc->spins && sc->spins->held <= 10)
		tb_spin_look(tb, t, 1, 1, tick % 10 < sc->spins->held);
	if (sc->waits) {
		tb_wait_sample(tb, t, SERVER, 202, LOCK_ADDRESS, 0x80, 2, 2);
		tb_wait_sample(tb, t, SERVER2, -1, 0, 0, 0, 0);
	}
}

/* Samples up to t; n[]: taken so far. */
static inline void spin_samples(struct trace_builder *tb, const struct spins *spins, uint64_t t,
				unsigned int n[2])
{
	for (unsigned int cpu = 0; cpu < 2 && spins; cpu++) {
		for (; T0 + TB_MS + n[cpu] * SAMPLE_NS <= t; n[cpu]++) {
			bool spin = n[cpu] % 10 < spins->parts[cpu];

			tb_cpu_sample(tb, cpu, T0 + TB_MS + n[cpu] * SAMPLE_NS,
				      cpu ? SERVER2 : SERVER,
				      spin ? HG_SAMPLE_USER_SPINS : HG_SAMPLE_USER, SAMPLE_NS,
				      spin ? cpu && spins->apart ? 2 : 1 : 0);
		}
	}
}

static inline void build(struct trace_builder *tb, const struct scene *sc)
{
	static const char *const names[] = {NULL,     NULL,  "server", "server",
					    "client", "hog", "server"};
	unsigned int spin_counts[2] = {0};
	size_t periods = SECONDS * 1000 * 1000 / sc->period_us, total = periods * sc->count, n = 0,
	       m = 0;
	struct event *segs = calloc(total, sizeof(*segs)),
		     *events = calloc(3 * total + 1, sizeof(*events));

	assert_non_null(segs);
	assert_non_null(events);
	tb_open(tb);
	if (sc->define)
		sc->define(tb);
	for (unsigned int l = SERVER; l < LANES; l++) {
		unsigned int tgid = l == CLIENT ? 200 : l == HOG ? 300 : 100;

		if (l == HOG && sc->kthread)
			tb_task_full(tb, 0, l, 100 + l, tgid, 100 + l, sc->kthread, 0,
				     HG_TASKF_KTHREAD | (strncmp(sc->kthread, "ksoftirqd/", 10)
								 ? 0
								 : HG_TASKF_KSOFTIRQD),
				     2);
		else
			tb_task(tb, 0, l, 100 + l, tgid, names[l]);
		if (l == HOG)
			continue;
		tb_role(tb, 0, l, l == CLIENT ? HG_ROLEF_CLIENT : HG_ROLEF_TARGET, 0);
		tb_seed(tb, 0, l, HG_SEED_BLOCKED, 0, 232, 5);
	}
	for (unsigned int l = SERVER; l < LANES && sc->allowed; l++) {
		if (l != CLIENT && l != HOG)
			tb_affinity(tb, 0, T0, l, sc->allowed);
	}
	if (sc->spins) {
		tb_spin(tb, 0, 1, 100, sc->spins->word, sc->spins->flags);
		tb_spin(tb, 0, 2, 100, sc->spins->word + 64, sc->spins->flags);
	}
	tb_mark(tb, T0, HG_MARK_BEGIN, 0);
	tb_client(tb, T0, 200, sc->argv);
	tb_mark(tb, T0, HG_MARK_CLIENT_START, 200);
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		n = 0;
		for (size_t p = 0; p < periods; p++) {
			for (size_t i = 0; i < sc->count; i++) {
				uint64_t base = T0 + TB_MS + p * sc->period_us * TB_US;
				const struct segment *s = &sc->segments[i];

				if (s->cpu != cpu)
					continue;
				segs[n++] = (struct event){.t = base + s->from * TB_US, .s = *s};
				if (s->wake != NO_WAKE)
					events[m++] = (struct event){
						.t = (uint64_t)((int64_t)base + s->wake * 1000),
						.order = 0,
						.wake = true,
						.s = *s};
			}
		}
		qsort(segs, n, sizeof(*segs), by_start);
		m += switches(segs, n, events + m);
	}
	qsort(events, m, sizeof(*events), by_time);
	for (size_t i = 0; i < m; i++) {
		spin_samples(tb, sc->spins, events[i].t, spin_counts);
		const struct event *e = &events[i];

		if (sc->event && !e->wake && e->s.lane != HG_LANE_IDLE)
			sc->event(tb, &e->s, e->t - (e->s.to - e->s.from) * TB_US, e->t);
		emit(tb, sc, &events[i]);
		if (sc->lost && i == m / 2)
			tb_loss(tb, 0, events[i].t, 0, sc->lost, 1000);
	}
	for (unsigned int tick = 0; tick <= SECONDS * 10 && !sc->no_samples; tick++)
		samples(tb, sc, tick);
	for (size_t i = 0; i < 8 && sc->lines[i]; i++)
		tb_line(tb, T0 + SECONDS * 1000 * TB_MS, 1, sc->lines[i]);
	tb_mark(tb, T0 + SECONDS * 1000 * TB_MS, HG_MARK_CLIENT_END, 0);
	tb_mark(tb, T0 + SECONDS * 1000 * TB_MS, HG_MARK_END, HG_END_CLIENT);
	free(segs);
	free(events);
}

static inline void shares_sum_to_wall(struct trace_builder *tb)
{
	struct hg_attribution a = {0};
	struct hg_shares shares;
	double sum = 0;

	assert_int_equal(hg_shares_make(tb_load(tb, NULL), &a.shares), 0);
	a.model = tb->m;
	a.lanes_count = hg_model_lanes(tb->m, &a.lanes);
	a.cpus_count = hg_model_cpus(tb->m, &a.cpus);
	assert_int_equal(hg_spins_credit(&a), 0);
	shares = a.shares;
	for (size_t i = 0; i < shares.rows_count; i++)
		sum += shares.rows[i].total_ns;
	assert_true(fabs(sum / shares.wall_ns - 1) < 1e-9);
	for (unsigned int w = 0; w < shares.subs; w++) {
		sum = 0;
		for (size_t i = 0; i < shares.rows_count; i++)
			sum += shares.rows[i].sub_ns[w];
		assert_true(fabs(sum / shares.sub_ns[w] - 1) < 1e-6);
	}
	hg_shares_clear(&shares);
}

static inline struct hg_findings *analyse(struct trace_builder *tb, const struct scene *sc)
{
	struct hg_model_opts opts = {0};
	struct hg_findings *f = NULL;

	build(tb, sc);
	shares_sum_to_wall(tb);
	assert_int_equal(hg_findings_make(tb_reader(tb), &opts, NULL, NULL, &f), 0);
	return f;
}

static inline void expect(const struct scene *sc, const char *class_name, const char *cause,
			  const char *why)
{
	struct trace_builder tb;
	struct hg_findings *f = analyse(&tb, sc);

	if (strcmp(f->verdict.class_name, class_name))
		print_error("%s\n", f->verdict.summary);
	assert_string_equal(f->verdict.class_name, class_name);
	if (cause)
		assert_string_equal(f->verdict.cause, cause);
	else
		assert_null(f->verdict.cause);
	if (why && !strstr(f->verdict.summary, why))
		print_error("%s\n", f->verdict.summary);
	if (why)
		assert_non_null(strstr(f->verdict.summary, why));
	hg_findings_free(f);
	tb_free(&tb);
}

/* 1 request/ms; 10 connections that all wait. */
#define SCENE(s, n, us, command, ...)                                                              \
	((struct scene){                                                                           \
		.segments = (s), .count = (n), .period_us = (us), .argv = (command), __VA_ARGS__})
#define WRK_FULL                                                                                   \
	.lines = {"Running 3s test @ http://127.0.0.1/",                                           \
		  "  1 threads and 10 connections",                                                \
		  "  Thread Stats   Avg      Stdev     Max   +/- Stdev",                           \
		  "    Latency    10.00ms    0.10ms  11.00ms   99.00%",                            \
		  "  3000 requests in 3.00s, 1.00MB read",                                         \
		  "Requests/sec:   1000.00"}
#define OFFERED(throughput, offered)                                                               \
	.lines = {"throughput: " throughput " requests/s", "offered: " offered}
#define KEYS(throughput, connections, latency)                                                     \
	.lines = {"throughput: " throughput " requests/s", "connections: " connections,            \
		  "latency-mean: " latency}
#define WRK "wrk -t1 -c10 -d3 http://127.0.0.1/"

#endif
