/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attribution: causes of CPUs, user-space locks and clients. */
#include "analysis/render.h"
#include "tests/analysis/attribution_scene.h"

static void serial_thread(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL), "cpu", "serial-thread", "server (tid 102)");
}

/* Lines of a client with one connection: each of 1000 requests a second takes so long. */
#define ONE_AT_A_TIME(latency, duration)                                                           \
	.lines = {"throughput: 1000 requests/s", "connections: 1", "latency-mean: " latency,       \
		  "duration: " duration}

/* A server that polls runs all the time as well, but no request is in flight meanwhile. */
static void polling_is_no_work(void **state)
{
	static const struct segment one[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};
	static const struct segment all[] = {
		{0, 0, 980, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 0, 930, SERVER2, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 930, 990, CLIENT, EPOLL, 0, 925, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};
	const struct scene work = SCENE(one, 2, 1000, "bench", ONE_AT_A_TIME("0.00096", "3"));
	const struct scene polls = SCENE(one, 2, 1000, "bench", ONE_AT_A_TIME("0.00002", "3"));
	const struct scene longer = SCENE(one, 2, 1000, "bench", ONE_AT_A_TIME("0.00002", "30"));
	const struct scene all_work = SCENE(all, 3, 1000, "bench", ONE_AT_A_TIME("0.00096", "3"));
	const struct scene all_poll = SCENE(all, 3, 1000, "bench", ONE_AT_A_TIME("0.00002", "3"));

	expect(&work, "cpu", "serial-thread", NULL);
	expect(&polls, "unknown", NULL, "refuted");
	/* latency and throughput of a run that is ten times as long as the window tell nothing of it */
	expect(&longer, "cpu", "serial-thread", NULL);
	expect(&all_work, "cpu", "saturated", NULL);
	expect(&all_poll, "unknown", NULL, "refuted");
}

/* A thread of the target that collects garbage: busy, but it is another one whose answers the client waits for. */
static void thread_aside_is_no_limit(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER2, PREEMPT, 0, NO_WAKE, 0, 0, 0},
		{1, 0, 20, SERVER, SLEEP, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 500, 520, SERVER, EPOLL, 0, 500, HG_LANE_IDLE, 1, HG_CTX_TIMER},
		{1, 530, 550, CLIENT, EPOLL, 0, 515, SERVER, 1, HG_CTX_SOFTIRQ_OWN},
	};
	struct trace_builder tb;
	struct hg_findings *f = analyse(&tb, &SCENE(s, 4, 1000, WRK, WRK_FULL));
	bool seen = false;

	assert_null(f->verdict.cause);
	for (size_t i = 0; i < f->candidates_count; i++) {
		const struct hg_candidate *c = &f->candidates[i];

		if (c->cause && !strcmp(c->cause, "serial-thread"))
			seen = c->refuted_count && strstr(c->refuted_by[0], "nobody waits for it");
	}
	assert_true(seen);
	hg_findings_free(f);
	tb_free(&tb);
}

/* All that is offered is served: a busy thread does not limit the throughput. */
static void served_load_is_not_limited(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 2, 1000, "bench", OFFERED("1000", "1002")), "unknown", NULL, "refuted");
	expect(&SCENE(s, 2, 1000, "bench", OFFERED("1000", "1500")), "cpu", "serial-thread", NULL);
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

/*
 * Both threads are always at work for the kernel's accounts, and spin for one lock: half of the time, one after another. The
 * second proof, a look at the word, may be missing, or say that it is free.
 */
static const struct segment busy[] = {
	{0, 0, 980, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 0, 930, SERVER2, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 930, 990, CLIENT, EPOLL, 0, 925, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
};
#define BUSY(...) SCENE(busy, 3, 1000, WRK, WRK_FULL, .spins = &(const struct spins){__VA_ARGS__})
#define SPIN_WORD .word = 0x7f0000002000, .flags = HG_SPINF_TAKES

static void user_spin(void **state)
{
	expect(&BUSY({5, 5}, SPIN_WORD, .held = 9), "locking", "user-spin", "0x7f0000002000");
	expect(&BUSY({5, 5}, SPIN_WORD, .held = 11), "inconclusive", NULL, "second proof");
	expect(&BUSY({5, 5}, SPIN_WORD, .held = 4), "inconclusive", NULL, "40 % of");
	expect(&BUSY({5, 5}, SPIN_WORD, .held = 1), "unknown", NULL, NULL);
	/* hardly ever: the CPUs limit */
	expect(&BUSY({1, 1}, SPIN_WORD, .held = 9), "cpu", "saturated", NULL);
}

/* They wait, but not for a lock: for a flag; each for a word of its own; one thread alone; for what is not known. */
static void spinning_is_no_lock(void **state)
{
	expect(&BUSY({5, 5}, .word = 0x7f0000002000, .held = 9), "inconclusive", NULL,
	       "only reads the word");
	expect(&BUSY({5, 5}, SPIN_WORD, .held = 9, .apart = true), "unknown", NULL, NULL);
	expect(&BUSY({9, 0}, SPIN_WORD, .held = 9), "unknown", NULL, NULL);
	expect(&BUSY({5, 5}, .word = 0, .flags = HG_SPINF_TAKES, .held = 11), "inconclusive", NULL,
	       "not in the registers");
}

/* One thread that polls is not at work, though it always runs. */
static void polling_is_no_serial_work(void **state)
{
	const struct segment s[] = {
		{0, 0, 950, SERVER, EPOLL, 0, -10, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
		{1, 960, 980, CLIENT, EPOLL, 0, 955, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
	};
	const struct spins polls = {{8, 0}, SPIN_WORD, .held = 9}, works = {{1, 0}, SPIN_WORD};

	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL, .spins = &polls), "unknown", NULL, NULL);
	expect(&SCENE(s, 2, 1000, WRK, WRK_FULL, .spins = &works), "cpu", "serial-thread", NULL);
}

/* What is gained is not bounded by CPU time, half of which is no work. */
static void what_if_nobody_spins(void **state)
{
	struct trace_builder tb;
	struct hg_findings *f = analyse(&tb, &BUSY({5, 5}, SPIN_WORD, .held = 9));

	assert_int_equal(f->what_if_count, 1);
	assert_true(f->what_if[0].gain_at_most > 2 / (0.5 * 1.91 + 0.06) - 1);
	assert_non_null(strstr(f->verdict.chain[1], "2 of its threads"));
	assert_non_null(strstr(f->verdict.chain[1], "server+0x1000"));
	hg_findings_free(f);
	tb_free(&tb);
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

#define KERNEL_LOCK 0xffff888100001000

/* SERVER and SERVER2 hold a mutex of the kernel in turn; who waits has slept since its last segment. */
static void klock_event(struct trace_builder *tb, const struct segment *s, uint64_t from_ns,
			uint64_t to_ns)
{
	/* Its end is told when the lane blocks again: a CPU's records come in order. The sleep lies within. */
	if (s->leave == KLOCK)
		tb_contention(tb, s->cpu, to_ns, 2 * (to_ns - from_ns), s->lane, KERNEL_LOCK,
			      HG_CONTENTIONF_MUTEX);
	for (uint64_t t = from_ns + 20 * TB_US; t < to_ns; t += 100 * TB_US)
		tb_cpu_sample(tb, s->cpu, t, s->lane, HG_SAMPLE_KERNEL, 5 * TB_MS, 0);
}

static void klock_look(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	tb_wchan_sample(tb, t + 700 * TB_US, SERVER2, 1, "pipe_write");
}

static void klock_other_look(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	if (tick % 8 == 0)
		klock_look(tb, t, tick);
}

static const struct segment klock[] = {
	{0, 0, 950, SERVER, KLOCK, 0, -10, SERVER2, 1, HG_CTX_TASK},
	{1, 950, 1900, SERVER2, KLOCK, 0, 940, SERVER, 0, HG_CTX_TASK},
};

static void kernel_lock_asleep(void **state)
{
	expect(&SCENE(klock, 2, 1900, "bench", KEYS("1000", "2", "0.002"), .event = klock_event,
		      .sample = klock_look),
	       "locking", "kernel-sleep", "mutex of pipe_write()");
	/* /proc hardly ever finds a waiter, and nobody spins */
	expect(&SCENE(klock, 2, 1900, "bench", KEYS("1000", "2", "0.002"), .event = klock_event,
		      .sample = klock_other_look),
	       "unknown", NULL, NULL);
	/* no looks at all */
	expect(&SCENE(klock, 2, 1900, "bench", KEYS("1000", "2", "0.002"), .event = klock_event),
	       "inconclusive", NULL, "/proc/TID/wchan");
}

/* Both CPUs are busy; while one thread holds a spinlock the other one spins for it. */
static const struct segment kspin[] = {
	{0, 0, 1000, SERVER, PREEMPT, 0, NO_WAKE, 0, 0, 0},
	{1, 0, 1000, SERVER2, PREEMPT, 0, NO_WAKE, 0, 0, 0},
};

static void kspin_define(struct trace_builder *tb)
{
	tb_stack(tb, 0, 1, "native_queued_spin_lock_slowpath;_raw_spin_lock;posix_lock_inode");
}

static void kspin_event(struct trace_builder *tb, const struct segment *s, uint64_t from_ns,
			uint64_t to_ns)
{
	for (uint64_t t = from_ns + 20 * TB_US, i = 0; t < to_ns; t += 100 * TB_US, i++)
		tb_cpu_sample(tb, s->cpu, t, s->lane,
			      i % 5 < 2 ? HG_SAMPLE_SPINS : HG_SAMPLE_KERNEL, 5 * TB_MS, i % 5 < 2);
}

/* One of twenty spins. */
static void kspin_seldom(struct trace_builder *tb, const struct segment *s, uint64_t from_ns,
			 uint64_t to_ns)
{
	for (uint64_t t = from_ns + 20 * TB_US, i = 0; t < to_ns; t += 50 * TB_US, i++)
		tb_cpu_sample(tb, s->cpu, t, s->lane, i ? HG_SAMPLE_USER : HG_SAMPLE_SPINS,
			      5 * TB_MS, !i);
}

static void kspin_system(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	tb_task_times(tb, t, SERVER, t / 10, t - t / 10);
	tb_task_times(tb, t, SERVER2, t / 10, t - t / 10);
}

static void kspin_user(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	tb_task_times(tb, t, SERVER, t - t / 10, t / 10);
	tb_task_times(tb, t, SERVER2, t - t / 10, t / 10);
}

static void kernel_lock_spins(void **state)
{
	expect(&SCENE(kspin, 2, 1000, "bench", KEYS("1000", "2", "0.002"), .define = kspin_define,
		      .event = kspin_event, .sample = kspin_system),
	       "locking", "kernel-spin", "posix_lock_inode()");
	/* the kernel's own account has hardly any system time */
	expect(&SCENE(kspin, 2, 1000, "bench", KEYS("1000", "2", "0.002"), .define = kspin_define,
		      .event = kspin_event, .sample = kspin_user),
	       "unknown", NULL, NULL);
	/* the second proof is missing: no contention events, no account */
	expect(&SCENE(kspin, 2, 1000, "bench", KEYS("1000", "2", "0.002"), .define = kspin_define,
		      .event = kspin_event),
	       "inconclusive", NULL, "no contention events and no /proc/TID/stat");
	/* a little of it is in every program: the CPUs are full of work */
	expect(&SCENE(kspin, 2, 1000, "bench", KEYS("1000", "2", "0.002"), .define = kspin_define,
		      .event = kspin_seldom, .sample = kspin_system),
	       "cpu", "saturated", NULL);
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

/* A cause is a row and a file, and a sentence for people. */
static void test_every_cause_is_explained(void **state)
{
	for (size_t i = 0; hg_detectors[i]; i++) {
		const char *gloss =
			hg_cause_gloss(hg_detectors[i]->class_name, hg_detectors[i]->cause);

		if (!*gloss)
			print_message("%s/%s has no gloss\n", hg_detectors[i]->class_name,
				      hg_detectors[i]->cause);
		assert_true(*gloss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serial_thread),
		cmocka_unit_test(polling_is_no_work),
		cmocka_unit_test(thread_aside_is_no_limit),
		cmocka_unit_test(served_load_is_not_limited),
		cmocka_unit_test(serial_thread_with_busy_client),
		cmocka_unit_test(saturated),
		cmocka_unit_test(user_spin),
		cmocka_unit_test(spinning_is_no_lock),
		cmocka_unit_test(polling_is_no_serial_work),
		cmocka_unit_test(what_if_nobody_spins),
		cmocka_unit_test(affinity),
		cmocka_unit_test(placement),
		cmocka_unit_test(wake_latency_is_no_placement),
		cmocka_unit_test(quota),
		cmocka_unit_test(competitor),
		cmocka_unit_test(lock_held_asleep),
		cmocka_unit_test(lock_held_in_a_call),
		cmocka_unit_test(hot_lock),
		cmocka_unit_test(kernel_lock_asleep),
		cmocka_unit_test(kernel_lock_spins),
		cmocka_unit_test(relay),
		cmocka_unit_test(client_saturated),
		cmocka_unit_test(too_few_connections),
		cmocka_unit_test(hidden_queue_is_no_too_few),
		cmocka_unit_test(think_time),
		cmocka_unit_test(offered_load_is_met),
		cmocka_unit_test(no_throughput_no_verdict),
		cmocka_unit_test(what_if_counts_all_cpus),
		cmocka_unit_test(bootstrap_brackets_the_mean),
		cmocka_unit_test(test_every_cause_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
