/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attribution on traces whose limit is known by construction: a period of a schedule, written as
 * segments, is repeated for three seconds. For each cause there is also a trace that looks like it and is not.
 */
#include "tests/analysis/trace_builder.h"

#include <math.h>

#include "analysis/attribution.h"

enum leave { EPOLL, SLEEP, LOCK, PREEMPT, THROTTLE, SEMAPHORE };

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
	uint64_t allowed;	 /* mask of the CPUs that the target's lanes may use; 0: any */
	unsigned int extra_busy; /* per cent of CPU 1 that nobody named uses */
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

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return (int)x->order - (int)y->order;
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->t < y->t ? -1 : x->t > y->t;
}

static void emit(struct trace_builder *tb, const struct event *e)
{
	const struct segment *s = &e->s;

	if (e->wake) {
		tb_wakeup(tb, s->waker_cpu, e->t, s->lane, s->cpu, s->waker, (uint64_t)s->ctx,
			  s->ctx == HG_CTX_SOFTIRQ_OWN ? 3 : -1, 0);
		return;
	}
	if (s->lane == HG_LANE_IDLE) {
		tb_switch(tb, s->cpu, e->t, HG_LANE_IDLE, e->next, 0, 0);
		return;
	}
	switch (s->leave) {
	case EPOLL:
		tb_epoll(tb, s->cpu, e->t, s->lane, e->next);
		break;
	case SLEEP:
		tb_sleep(tb, s->cpu, e->t, s->lane, e->next);
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
static size_t switches(const struct event *segs, size_t n, struct event *out)
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

static void samples(struct trace_builder *tb, const struct scene *sc, unsigned int tick)
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
	busy[1] += t * sc->extra_busy / 100;
	for (unsigned int l = SERVER; l < LANES; l++)
		tb_schedstat(tb, t, l, run[l], sc->delays ? run[l] / 2 : wait[l]);
	for (unsigned int c = 0; c < 2; c++) {
		tb_cpu_times(tb, t, c, busy[c], 0, t - busy[c], 0);
		tb_cpu_busy(tb, t, c, busy[c], t - busy[c], tick);
	}
	if (sc->quota)
		tb_cgroup(tb, t, "/web", tick, tick, tick * 70 * TB_MS, tick * 30 * TB_MS, 30000,
			  100000);
	if (sc->waits) {
		tb_wait_sample(tb, t, SERVER, 202, LOCK_ADDRESS, 0x80, 2, 2);
		tb_wait_sample(tb, t, SERVER2, -1, 0, 0, 0, 0);
	}
}

static void build(struct trace_builder *tb, const struct scene *sc)
{
	static const char *const names[] = {NULL,     NULL,  "server", "server",
					    "client", "hog", "server"};
	size_t periods = SECONDS * 1000 * 1000 / sc->period_us, total = periods * sc->count, n = 0,
	       m = 0;
	struct event *segs = calloc(total, sizeof(*segs)),
		     *events = calloc(3 * total + 1, sizeof(*events));

	assert_non_null(segs);
	assert_non_null(events);
	tb_open(tb);
	for (unsigned int l = SERVER; l < LANES; l++) {
		unsigned int tgid = l == CLIENT ? 200 : l == HOG ? 300 : 100;

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
		emit(tb, &events[i]);
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

static void shares_sum_to_wall(struct trace_builder *tb)
{
	struct hg_shares shares;
	double sum = 0;

	assert_int_equal(hg_shares_make(tb_load(tb, NULL), &shares), 0);
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

static struct hg_findings *analyse(struct trace_builder *tb, const struct scene *sc)
{
	struct hg_model_opts opts = {0};
	struct hg_findings *f = NULL;

	build(tb, sc);
	shares_sum_to_wall(tb);
	assert_int_equal(hg_findings_make(tb_reader(tb), &opts, NULL, NULL, &f), 0);
	return f;
}

static void expect(const struct scene *sc, const char *class_name, const char *cause,
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

static void serial_thread(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL), "cpu", "serial-thread", "server (tid 102)");
}

/* A client that is as busy: either may limit. */
static void serial_thread_with_busy_client(void **state)
{
	const struct segment s[] = {
		{0, 0, 900, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 20, 970, CLIENT, EPOLL, 0, 10, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};
	struct trace_builder tb;
	struct hg_findings *f = analyse(&tb, &SCENE(s, 2, 1000, WRK, WRK_FULL));

	assert_null(f->verdict.cause);
	hg_findings_free(f);
	tb_free(&tb);
}

static void saturated(void **state)
{
	const struct segment s[] = {
		{0, 0, 980, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 0, 930, SERVER2, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 930, 990, CLIENT, EPOLL, 0, 925, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 3, 1000, WRK, WRK_FULL), "cpu", "saturated", NULL);
}

/* Two threads take turns on CPU 0; CPU 1 has little to do. */
static const struct segment pinned[] = {
	{0, 0, 490, SERVER, EPOLL, 0, -200, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{0, 490, 990, SERVER2, EPOLL, 0, 5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 780, 810, CLIENT, EPOLL, 0, 770, SERVER2, 0, HG_CTX_SOFTIRQ_OWN},
};

static void affinity(void **state)
{
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL, .allowed = 1), "cpu", "affinity",
	       "only CPU 0");
	/* the other CPU is busy with somebody else's work: letting them on it would gain nothing */
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL, .allowed = 1, .extra_busy = 90), "unknown",
	       NULL, NULL);
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL, .allowed = 1, .no_samples = true),
	       "inconclusive", NULL, "no /proc/stat samples");
}

/* The same schedule, but they may use CPU 1 as well: nothing forbids it, the scheduler does not do it. */
static void placement(void **state)
{
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL, .delays = true), "cpu", "sched-placement",
	       NULL);
	/* by schedstat they hardly wait */
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL), "unknown", NULL, NULL);
	expect(&SCENE(pinned, 3, 1000, WRK, WRK_FULL, .no_samples = true), "inconclusive", NULL,
	       "no schedstat samples");
}

/* An idle CPU takes long to wake up: no other place would be better. */
static void wake_latency_is_no_placement(void **state)
{
	const struct segment s[] = {
		{0, 500, 900, SERVER, EPOLL, 0, 100, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 950, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL, .delays = true), "inconclusive", NULL,
	       "idle CPU to take them");
}

static void quota(void **state)
{
	const struct segment s[] = {
		{0, 0, 29000, SERVER, THROTTLE, 0, NO_WAKE, 0, 0, 0},
		{0, 99000, 100000, SERVER, PREEMPT, 0, NO_WAKE, 0, 0, 0},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 3, 100000, WRK, WRK_FULL, .quota = true), "cpu", "quota", "/web");
	/* the same events, but cpu.stat does not confirm them */
	expect(&SCENE(s, 3, 100000, WRK, WRK_FULL), "inconclusive", NULL, "proof");
}

static void competitor(void **state)
{
	const struct segment s[] = {
		{0, 0, 4000, SERVER, PREEMPT, 0, NO_WAKE, 0, 0, 0},
		{0, 4000, 8000, HOG, PREEMPT, 0, NO_WAKE, 0, 0, 0},
		{1, 960, 1980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 3, 8000, WRK, WRK_FULL), "cpu", "competitor", "hog (tid 105)");
}

/* SERVER2 holds the lock while it sleeps; SERVER waits for it and then does the same. */
static void lock_held_asleep(void **state)
{
	const struct segment s[] = {
		{0, 0, 50, SERVER, LOCK, 103, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{0, 1000, 1050, SERVER, SLEEP, 0, 990, SERVER2, 1, HG_CTX_TASK},
		{0, 1900, 1950, SERVER, EPOLL, 0, 1890, HG_LANE_IDLE, 0, HG_CTX_TIMER},
		{1, 900, 1000, SERVER2, LOCK, 102, 890, HG_LANE_IDLE, 1, HG_CTX_TIMER},
		{1, 1920, 1940, SERVER2, SLEEP, 0, 1915, SERVER, 0, HG_CTX_TASK},
	};

	expect(&SCENE(s, 5, 2000, "bench", KEYS("1000", "2", "0.002"), .waits = true), "locking",
	       "user", "0x7f0000001000");
	/* samples never find a waiter: the second proof is missing */
	expect(&SCENE(s, 5, 2000, "bench", KEYS("1000", "2", "0.002")), "unknown", NULL, NULL);
}

/* The same, but the holder asks another process and waits for its answer: one chain. */
static void lock_held_in_a_call(void **state)
{
	const struct segment s[] = {
		{0, 0, 50, SERVER, LOCK, 103, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{0, 1000, 1050, SERVER, EPOLL, 0, 990, SERVER2, 1, HG_CTX_TASK},
		{0, 1900, 1950, SERVER, EPOLL, 0, 1890, HOG, 0, HG_CTX_SOFTIRQ_OWN},
		{1, 900, 1000, SERVER2, LOCK, 102, 890, HOG, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 1920, 1940, SERVER2, EPOLL, 0, 1915, SERVER, 0, HG_CTX_TASK},
	};
	struct trace_builder tb;
	struct hg_findings *f = analyse(
		&tb, &SCENE(s, 5, 2000, "bench", KEYS("1000", "2", "0.002"), .waits = true));

	assert_string_equal(f->verdict.class_name, "locking");
	assert_int_equal(f->verdict.chain_count, 3);
	assert_non_null(strstr(f->verdict.chain[1], "waits for the network"));
	assert_non_null(strstr(f->verdict.chain[2], "hog (pid 300)"));
	hg_findings_free(f);
	tb_free(&tb);
}

/*
 * A hot mutex: SERVER lets SERVER2 go and takes it again before that one, queued behind it, gets to run; CPU 1 is idle. A
 * better place would only let SERVER2 find the mutex taken earlier.
 */
static const struct segment hot[] = {
	{0, 0, 90, SERVER, PREEMPT, 0, NO_WAKE, 0, 0, 0},
	{0, 90, 100, SERVER2, LOCK, 102, 10, SERVER, 0, HG_CTX_TASK},
};

static void hot_lock(void **state)
{
	expect(&SCENE(hot, 2, 100, "bench", KEYS("10000", "2", "0.0002"), .waits = true,
		      .delays = true),
	       "locking", "user", "its holder runs");
	/* nobody was seen to wait from outside */
	expect(&SCENE(hot, 2, 100, "bench", KEYS("10000", "2", "0.0002"), .delays = true),
	       "inconclusive", NULL, NULL);
}

/* HOG passes on what client and server send each other. */
static void relay(void **state)
{
	struct segment s[] = {
		{0, 0, 950, HOG, EPOLL, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 500, 530, SERVER, EPOLL, 0, 495, HOG, 0, HG_CTX_SOFTIRQ_OWN},
		{1, 800, 820, CLIENT, EPOLL, 0, 795, HOG, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 3, 1000, WRK, WRK_FULL), "net", "vmm-io-thread", "hog (tid 105)");
	expect(&SCENE(s, 3, 1000, WRK, WRK_FULL, .no_samples = true), "inconclusive", NULL,
	       "no schedstat samples of the thread between");
	/* the client talks to the server directly: HOG is a service behind it */
	s[2].waker = SERVER;
	s[2].waker_cpu = 1;
	expect(&SCENE(s, 3, 1000, WRK, WRK_FULL), "inconclusive", NULL,
	       "neither target nor client");
	/* it has room */
	s[2].waker = HOG;
	s[2].waker_cpu = 0;
	s[0].to = 810;
	expect(&SCENE(s, 3, 1000, WRK, WRK_FULL), "unknown", NULL, NULL);
}

static void client_saturated(void **state)
{
	const struct segment s[] = {
		{0, 0, 200, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 10, 980, CLIENT, EPOLL, 0, 5, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL), "client", "saturated", "client (tid 104)");
}

/* One connection; the server sleeps within the request in one thread while others are ready. */
static const struct segment waits_in_service[] = {
	{0, 0, 50, SERVER, SLEEP, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{0, 4900, 4950, SERVER, EPOLL, 0, 4890, HG_LANE_IDLE, 0, HG_CTX_TIMER},
	{1, 4960, 4990, CLIENT, EPOLL, 0, 4945, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	{1, 0, 5, SERVER2, EPOLL, 0, -2, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
};

static void too_few_connections(void **state)
{
	expect(&SCENE(waits_in_service, 4, 5000, "bench", KEYS("200", "1", "0.00498")), "client",
	       "too-few-connections", NULL);
}

/* Eight connections wait, one is in service: the other seven may queue at something that leaves no trace. */
static void hidden_queue_is_no_too_few(void **state)
{
	expect(&SCENE(waits_in_service, 4, 5000, "bench", KEYS("200", "8", "0.0398")), "unknown",
	       NULL, NULL);
}

/* Two connections; the client's thread sleeps on a timer between its requests. */
static const struct segment thinks[] = {
	{0, 0, 50, SERVER, EPOLL, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 60, 70, CLIENT, EPOLL, 0, 55, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	{1, 970, 990, CLIENT, EPOLL, 0, 965, HG_LANE_IDLE, 1, HG_CTX_TIMER},
};

static void think_time(void **state)
{
	expect(&SCENE(thinks, 3, 1000, "bench", KEYS("1000", "2", "0.0001")), "client",
	       "think-time", "answer 5 %");
	/* its connections wait for answers all the time by its own account */
	expect(&SCENE(thinks, 3, 1000, "bench", KEYS("1000", "2", "0.0019")), "unknown", NULL,
	       NULL);
	/* it does not tell its latency */
	expect(&SCENE(thinks, 3, 1000, "bench", .lines = {"throughput: 1000 requests/s"}),
	       "inconclusive", NULL, "which rate it offers");
}

static const struct segment light[] = {
	{0, 0, 50, SERVER, EPOLL, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 60, 70, CLIENT, EPOLL, 0, 55, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	{1, 970, 990, CLIENT, SLEEP, 0, 965, HG_LANE_IDLE, 1, HG_CTX_TIMER},
};

static void offered_load_is_met(void **state)
{
	expect(&SCENE(light, 3, 1000, "bench", OFFERED("1000", "1002")), "none", NULL, "met");
	/* the same, but half of the offered load is not served: then something limits */
	expect(&SCENE(light, 3, 1000, "bench", OFFERED("1000", "2000")), "unknown", NULL, NULL);
}

static void no_throughput_no_verdict(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, "bench", .lost = 0), "inconclusive", NULL, "throughput");
	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL, .lost = 1000), "inconclusive", NULL, "losses");
}

/* A client with time to spare would meet the CPUs' limit next, which target and client share. */
static void what_if_counts_all_cpus(void **state)
{
	const struct segment s[] = {
		{0, 0, 200, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 10, 980, CLIENT, EPOLL, 0, 5, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};
	struct trace_builder tb;
	struct hg_findings *f = analyse(&tb, &SCENE(s, 2, 1000, WRK, WRK_FULL));

	assert_int_equal(f->what_if_count, 1);
	assert_true(fabs(f->what_if[0].gain_at_most - (2 / 1.17 - 1)) < 0.02);
	assert_string_equal(f->what_if[0].next->class_name, "cpu");
	assert_string_equal(f->what_if[0].next->cause, "saturated");
	hg_findings_free(f);
	tb_free(&tb);
}

static void bootstrap_brackets_the_mean(void **state)
{
	double v[20], w[20], low, high;

	for (int i = 0; i < 20; i++) {
		v[i] = i % 2 ? 0.4 : 0.6;
		w[i] = 1;
	}
	hg_bootstrap(v, w, 20, &low, &high);
	assert_true(low < 0.5 && low > 0.44);
	assert_true(high > 0.5 && high < 0.56);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serial_thread),
		cmocka_unit_test(serial_thread_with_busy_client),
		cmocka_unit_test(saturated),
		cmocka_unit_test(affinity),
		cmocka_unit_test(placement),
		cmocka_unit_test(wake_latency_is_no_placement),
		cmocka_unit_test(quota),
		cmocka_unit_test(competitor),
		cmocka_unit_test(lock_held_asleep),
		cmocka_unit_test(lock_held_in_a_call),
		cmocka_unit_test(hot_lock),
		cmocka_unit_test(relay),
		cmocka_unit_test(client_saturated),
		cmocka_unit_test(too_few_connections),
		cmocka_unit_test(hidden_queue_is_no_too_few),
		cmocka_unit_test(think_time),
		cmocka_unit_test(offered_load_is_met),
		cmocka_unit_test(no_throughput_no_verdict),
		cmocka_unit_test(what_if_counts_all_cpus),
		cmocka_unit_test(bootstrap_brackets_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
