/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random traces. Valid ones come from a small scheduler that keeps its own account: the model must agree to the
 * nanosecond. Damaged ones (records dropped, losses, wrong order, absurd ids) must still add up, in the sums and in the
 * sweep, over any window.
 */
#include "tests/analysis/trace_builder.h"

#include "base/hg_log.h"

#define CPUS  3
#define LANES 12 /* 2 .. 13 */
#define FIRST 2

enum truth { NONE, RUNS, WAITS, SLEEPS, KINDS };

struct world {
	struct trace_builder tb;
	uint64_t seed, now;
	bool damage;
	enum truth state[FIRST + LANES];
	uint64_t since[FIRST + LANES];
	unsigned int cpu[FIRST + LANES];
	uint64_t sum[FIRST + LANES][KINDS];
	uint64_t from[FIRST + LANES], to[FIRST + LANES];
	unsigned int cur[CPUS];
};

static uint64_t rnd(struct world *w, uint64_t below)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed % below;
}

static bool dropped(struct world *w)
{
	return w->damage && rnd(w, 12) == 0;
}

static uint64_t stamp(struct world *w)
{
	return w->damage && rnd(w, 15) == 0 ? w->now - HG_MIN(w->now, rnd(w, 500)) : w->now;
}

static void become(struct world *w, unsigned int lane, enum truth state)
{
	w->sum[lane][w->state[lane]] += w->now - w->since[lane];
	w->state[lane] = state;
	w->since[lane] = w->now;
}

/* The next lane for a CPU: one that waits there, or idle. */
static unsigned int pick(struct world *w, unsigned int cpu)
{
	unsigned int start = (unsigned int)rnd(w, LANES);

	for (unsigned int i = 0; i < LANES; i++) {
		unsigned int lane = FIRST + (start + i) % LANES;

		if (w->state[lane] == WAITS && w->cpu[lane] == cpu)
			return lane;
	}
	return HG_LANE_IDLE;
}

static void reschedule(struct world *w, unsigned int cpu, bool preempt)
{
	static const unsigned int calls[] = {202, 232, 230, 0, 74, 500};
	unsigned int prev = w->cur[cpu], next = pick(w, cpu);
	uint64_t die = rnd(w, 60);

	if (prev == next || (preempt && next == HG_LANE_IDLE))
		return;
	if (prev == HG_LANE_IDLE || preempt) {
		if (!dropped(w))
			tb_switch(&w->tb, cpu, stamp(w), prev, next, 0,
				  preempt ? HG_SWITCHF_PREEMPT |
						    (rnd(w, 5) == 0) * HG_SWITCHF_THROTTLED
					  : rnd(w, 2) * HG_SWITCHF_IDLE_CPU);
	} else if (die == 0) {
		if (!dropped(w))
			tb_switch(&w->tb, cpu, stamp(w), prev, next, 0x80, 0);
		if (!dropped(w))
			tb_exit(&w->tb, cpu, stamp(w), prev);
	} else if (!dropped(w)) {
		tb_block(&w->tb, cpu, stamp(w), prev, next, 1 + rnd(w, 2), calls[rnd(w, 6)],
			 0x7000 + rnd(w, 3) * 64, rnd(w, 2) * 0x80, 1 + rnd(w, 3),
			 100 + rnd(w, LANES));
	}
	if (prev >= FIRST)
		become(w, prev, preempt ? WAITS : die == 0 ? NONE : SLEEPS);
	if (prev >= FIRST && w->state[prev] == NONE)
		w->to[prev] = w->now;
	if (next >= FIRST)
		become(w, next, RUNS);
	w->cur[cpu] = next;
}

static void fork_one(struct world *w, unsigned int cpu, unsigned int lane)
{
	tb_task(&w->tb, w->now, lane, 100 + lane % 3, 100, "child"); /* tids are used again */
	tb_role(&w->tb, w->now, lane, HG_ROLEF_TARGET, 0);
	tb_fork(&w->tb, cpu, w->now, w->cur[cpu], lane);
	w->from[lane] = w->now;
	w->since[lane] = w->now;
	w->state[lane] = SLEEPS;
}

static void wake(struct world *w, unsigned int on, unsigned int lane)
{
	static const uint64_t ctx[] = {1, 2, 3, 6, 5, 0};

	w->cpu[lane] = (unsigned int)rnd(w, CPUS);
	if (!dropped(w))
		tb_wakeup(&w->tb, on, stamp(w), lane, w->cpu[lane], w->cur[on], ctx[rnd(w, 6)],
			  (int)rnd(w, 11) - 1, rnd(w, 2) * HG_WAKEUPF_IDLE_CPU);
	become(w, lane, WAITS);
}

static void migrate(struct world *w, unsigned int on, unsigned int lane)
{
	unsigned int to = (unsigned int)rnd(w, CPUS);

	if (!dropped(w))
		tb_migrate(&w->tb, on, stamp(w), lane, w->cpu[lane], to);
	w->cpu[lane] = to;
}

static void interrupt(struct world *w, unsigned int cpu)
{
	uint64_t span = 1 + rnd(w, 400), cur = w->cur[cpu];

	if (w->damage && rnd(w, 3) == 0) {
		tb_softirq(&w->tb, cpu, w->now, rnd(w, 1000), rnd(w, 100000), rnd(w, 12), 2,
			   rnd(w, 20));
		return;
	}
	/* Inside of what the lane has run. */
	if (cur < FIRST || w->now - w->since[cur] < span)
		return;
	if (rnd(w, 2))
		tb_irq(&w->tb, cpu, w->now, span / 2, span, 9, cur);
	tb_softirq(&w->tb, cpu, w->now, span, span, rnd(w, 10), HG_CTX_SOFTIRQ_OWN, cur);
}

static void damage_more(struct world *w)
{
	unsigned int cpu = (unsigned int)rnd(w, CPUS);

	switch (rnd(w, 40)) {
	case 0:
		tb_loss(&w->tb, cpu, w->now, rnd(w, 3), rnd(w, 9), rnd(w, 4000));
		break;
	case 1:
		tb_wakeup(&w->tb, cpu, w->now, rnd(w, 40), rnd(w, 9), rnd(w, 40), rnd(w, 12),
			  (int)rnd(w, 12), rnd(w, 8));
		break;
	case 2:
		tb_switch(&w->tb, cpu, w->now, rnd(w, 40), rnd(w, 40), rnd(w, 300), rnd(w, 8));
		break;
	case 3:
		tb_role(&w->tb, w->now, FIRST + rnd(w, LANES), rnd(w, 3), 0);
		break;
	case 4:
		tb_fork(&w->tb, cpu, w->now, rnd(w, 40), rnd(w, 40));
		break;
	case 5:
		tb_exit(&w->tb, cpu, w->now, rnd(w, 40));
		break;
	}
}

static void one_event(struct world *w)
{
	unsigned int cpu = (unsigned int)rnd(w, CPUS), lane = FIRST + (unsigned int)rnd(w, LANES);

	w->now += 1 + rnd(w, 700);
	if (w->damage)
		damage_more(w);
	switch (rnd(w, 6)) {
	case 0:
	case 1:
		reschedule(w, cpu, false);
		break;
	case 2:
		reschedule(w, cpu, true);
		break;
	case 3:
		if (w->state[lane] == SLEEPS)
			wake(w, cpu, lane);
		else if (w->state[lane] == WAITS)
			migrate(w, cpu, lane);
		else if (w->state[lane] == NONE && !w->from[lane])
			fork_one(w, cpu, lane);
		break;
	case 4:
		if (w->state[lane] == SLEEPS)
			wake(w, cpu, lane);
		break;
	case 5:
		interrupt(w, cpu);
		break;
	}
}

static void build(struct world *w, uint64_t seed, bool damage)
{
	*w = (struct world){
		.seed = seed * 2654435761U + 88172645463325252ULL, .now = 1000, .damage = damage};
	tb_open(&w->tb);
	for (unsigned int i = 0; i < CPUS; i++)
		w->cur[i] = HG_LANE_IDLE;
	for (unsigned int lane = FIRST; lane < FIRST + LANES / 2; lane++) {
		tb_task(&w->tb, 900, lane, 100 + lane, 100, "server");
		tb_role(&w->tb, 900, lane, lane % 3 ? HG_ROLEF_TARGET : HG_ROLEF_CLIENT, 0);
		tb_seed(&w->tb, 950, lane, HG_SEED_BLOCKED, 0, 202, 0x7000);
		w->state[lane] = SLEEPS;
		w->from[lane] = w->since[lane] = 1000;
	}
	tb_mark(&w->tb, 1000, HG_MARK_BEGIN, 0);
	for (int i = 0; i < 3000; i++)
		one_event(w);
	w->now += 100;
	for (unsigned int lane = FIRST; lane < FIRST + LANES; lane++) {
		if (w->state[lane] != NONE)
			w->to[lane] = w->now;
		become(w, lane, w->state[lane]);
	}
	tb_mark(&w->tb, w->now, HG_MARK_END, HG_END_SECS);
}

/* The sweep's account, to be compared with the sums. */
struct account {
	const struct hg_model *m;
	uint64_t last_ns;
	struct {
		uint64_t since;
		int leaf; /* -1: none */
		uint64_t sum[HG_LEAVES];
	} lane[64];
};

static void on_step(void *arg, const struct hg_step *step)
{
	struct account *a = arg;

	assert_true(step->lane < HG_ARRAY_SIZE(a->lane));
	assert_true(step->time_ns >= a->last_ns);
	assert_true(step->time_ns >= hg_model_from_ns(a->m));
	assert_true(step->time_ns < hg_model_to_ns(a->m));
	a->last_ns = step->time_ns;
	if (a->lane[step->lane].leaf >= 0)
		a->lane[step->lane].sum[a->lane[step->lane].leaf] +=
			step->time_ns - a->lane[step->lane].since;
	a->lane[step->lane].since = step->time_ns;
	a->lane[step->lane].leaf = step->gone || !step->member ? -1 : step->leaf;
	if (!step->gone)
		assert_true(step->leaf < HG_LEAVES);
}

static void check_sweep(struct hg_model *m)
{
	struct account a = {.m = m};
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes);

	for (size_t i = 0; i < HG_ARRAY_SIZE(a.lane); i++)
		a.lane[i].leaf = -1;
	assert_int_equal(hg_model_sweep(m, on_step, &a), 0);
	for (size_t i = FIRST; i < n; i++) {
		uint64_t running = 0;

		if (!lanes[i].role)
			continue;
		if (a.lane[i].leaf >= 0)
			a.lane[i].sum[a.lane[i].leaf] += hg_model_to_ns(m) - a.lane[i].since;
		for (int leaf = HG_LEAF_RUNNING; leaf <= HG_LEAF_RUNNING_IRQ; leaf++)
			running += lanes[i].leaf_ns[leaf];
		assert_int_equal(a.lane[i].sum[HG_LEAF_RUNNING], running);
		for (int leaf = HG_LEAF_RUNNABLE_BUSY; leaf < HG_LEAVES; leaf++)
			assert_int_equal(a.lane[i].sum[leaf], lanes[i].leaf_ns[leaf]);
	}
}

static void check_sums(struct hg_model *m)
{
	const struct hg_lock *locks;
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes);

	for (size_t i = FIRST; i < n; i++) {
		uint64_t sum = 0;

		for (int leaf = 0; lanes[i].role && leaf < HG_LEAVES; leaf++) {
			uint64_t sub = 0;

			for (unsigned int s = 0; s < hg_model_subwindows(m); s++)
				sub += lanes[i].sub_ns[s][leaf];
			assert_int_equal(sub, lanes[i].leaf_ns[leaf]);
			sum += sub;
		}
		assert_int_equal(sum, hg_lane_wall_ns(&lanes[i]));
	}
	n = hg_model_locks(m, &locks);
	for (size_t i = 0; i < n; i++) {
		assert_true(locks[i].contended_ns <= hg_model_to_ns(m) - hg_model_from_ns(m));
		assert_true(locks[i].contended_ns <= locks[i].wait_ns);
		assert_true(!locks[i].waits == !locks[i].waiters);
	}
}

/* Over the whole window spans are the sums, but for softirqs and irqs; two halves are the whole. */
static void check_spans(struct hg_model *m)
{
	uint64_t from = hg_model_from_ns(m), to = hg_model_to_ns(m),
		 middle = from + (to - from) / 3;
	struct hg_span whole[FIRST + LANES], first[FIRST + LANES], last[FIRST + LANES];
	const struct hg_lane *lanes;
	size_t n = HG_MIN(hg_model_lanes(m, &lanes), (size_t)FIRST + LANES);

	for (uint32_t i = 0; i < n; i++) {
		whole[i] = (struct hg_span){.lane = i, .from_ns = from, .to_ns = to};
		first[i] = (struct hg_span){.lane = i, .from_ns = 0, .to_ns = middle};
		last[i] = (struct hg_span){.lane = i, .from_ns = middle, .to_ns = UINT64_MAX};
	}
	assert_int_equal(hg_model_spans(m, whole, n), 0);
	assert_int_equal(hg_model_spans(m, first, n), 0);
	assert_int_equal(hg_model_spans(m, last, n), 0);
	for (size_t i = FIRST; i < n; i++) {
		for (int leaf = HG_LEAF_RUNNABLE_BUSY; lanes[i].role && leaf < HG_LEAVES; leaf++)
			assert_int_equal(whole[i].leaf_ns[leaf], lanes[i].leaf_ns[leaf]);
		for (int leaf = 0; leaf < HG_LEAVES; leaf++)
			assert_int_equal(first[i].leaf_ns[leaf] + last[i].leaf_ns[leaf],
					 whole[i].leaf_ns[leaf]);
	}
}

static void check_windows(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		double a = (double)rnd(w, w->now - 1100) / 1e9,
		       b = a + 100e-9 + (double)rnd(w, 500000) / 1e9;
		struct hg_model_opts opts = {.window_from_s = i ? a : 0,
					     .window_to_s = i ? b : 0,
					     .subwindows = 1 + (unsigned int)rnd(w, 30)};
		struct hg_model *m = tb_load(&w->tb, &opts);

		check_sums(m);
		check_sweep(m);
		check_spans(m);
	}
}

static void test_valid(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w;
		const struct hg_lane *lanes;
		struct hg_model *m;

		build(&w, seed, false);
		m = tb_load(&w.tb, NULL);
		hg_model_lanes(m, &lanes);
		for (unsigned int i = FIRST; i < FIRST + LANES; i++) {
			const uint64_t *leaf = lanes[i].leaf_ns;
			uint64_t blocked = 0;

			if (!w.from[i])
				continue;
			for (int l = HG_LEAF_BLOCKED_LOCK; l < HG_LEAVES; l++)
				blocked += leaf[l];
			assert_int_equal(lanes[i].from_ns, w.from[i]);
			assert_int_equal(lanes[i].to_ns, w.to[i]);
			assert_int_equal(leaf[HG_LEAF_RUNNING] + leaf[HG_LEAF_RUNNING_SOFTIRQ] +
						 leaf[HG_LEAF_RUNNING_IRQ],
					 w.sum[i][RUNS]);
			assert_int_equal(leaf[HG_LEAF_RUNNABLE_BUSY] + leaf[HG_LEAF_RUNNABLE_IDLE] +
						 leaf[HG_LEAF_THROTTLED],
					 w.sum[i][WAITS]);
			assert_int_equal(blocked, w.sum[i][SLEEPS]);
			assert_int_equal(leaf[HG_LEAF_UNKNOWN], 0);
			assert_int_equal(lanes[i].missing_wakeups, 0);
		}
		check_windows(&w);
		tb_free(&w.tb);
	}
}

static void test_damaged(void **state)
{
	hg_log_level_set(HG_LOG_ERROR);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w;

		build(&w, seed, true);
		check_windows(&w);
		tb_free(&w.tb);
	}
	hg_log_level_set(HG_LOG_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
