/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model on small traces: each test is one rule of states, reasons, sums or windows. */
#include "tests/analysis/trace_builder.h"

#include <errno.h>

#include "base/hg_log.h"

enum { A = 2, B = 3, C = 4 };

/* Steps of a sweep. */
struct steps {
	struct hg_step v[256];
	size_t n;
};

static void keep_step(void *arg, const struct hg_step *step)
{
	struct steps *s = arg;

	assert_true(s->n < HG_ARRAY_SIZE(s->v));
	s->v[s->n++] = *step;
}

static const struct hg_lane *lane(const struct hg_model *m, size_t id)
{
	const struct hg_lane *lanes;

	assert_true(hg_model_lanes(m, &lanes) > id);
	assert_int_equal(lanes[id].id, id);
	return &lanes[id];
}

static void assert_sums(const struct hg_model *m)
{
	const struct hg_lane *lanes;
	size_t n = hg_model_lanes(m, &lanes);

	for (size_t i = 2; i < n; i++) {
		uint64_t sum = 0;

		if (!lanes[i].role)
			continue;
		for (int leaf = 0; leaf < HG_LEAVES; leaf++) {
			uint64_t sub = 0;

			sum += lanes[i].leaf_ns[leaf];
			for (unsigned int s = 0; s < hg_model_subwindows(m); s++)
				sub += lanes[i].sub_ns[s][leaf];
			assert_int_equal(sub, lanes[i].leaf_ns[leaf]);
		}
		assert_int_equal(sum, hg_lane_wall_ns(&lanes[i]));
	}
}

static void count_message(void *arg, enum hg_log_level level, const char *message)
{
	++*(int *)arg;
}

/* Two threads of a target, asleep when recording begins at 1000. */
static void begin(struct trace_builder *tb)
{
	tb_open(tb);
	tb_task(tb, 500, A, 100, 100, "server");
	tb_role(tb, 500, A, HG_ROLEF_TARGET, 0);
	tb_seed(tb, 600, A, HG_SEED_BLOCKED, 0, 232, 5);
	tb_task(tb, 500, B, 101, 100, "worker");
	tb_role(tb, 600, B, HG_ROLEF_TARGET, 0);
	tb_seed(tb, 600, B, HG_SEED_BLOCKED, 1, 232, 5);
	tb_mark(tb, 1000, HG_MARK_BEGIN, 0);
}

static void test_life(void **state)
{
	struct trace_builder tb;
	const struct hg_lane *l;
	struct hg_model *m;

	begin(&tb);
	tb_wakeup(&tb, 0, 2000, A, 0, 0, HG_CTX_SOFTIRQ_IRQ, 3, 0);
	tb_switch(&tb, 0, 2300, HG_LANE_IDLE, A, 0, 0);
	tb_switch(&tb, 0, 3300, A, B, 0, HG_SWITCHF_PREEMPT);
	tb_sleep(&tb, 0, 3800, B, A);
	tb_epoll(&tb, 0, 4000, A, HG_LANE_IDLE);
	tb_wakeup(&tb, 0, 5000, B, 1, 0, HG_CTX_TIMER, 1, 0);
	tb_switch(&tb, 1, 5100, HG_LANE_IDLE, B, 0, 0);
	tb_mark(&tb, 6000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	l = lane(m, A);
	assert_int_equal(l->leaf_ns[HG_LEAF_BLOCKED_NET], 1000 + 2000);
	assert_int_equal(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY], 300 + 500);
	assert_int_equal(l->leaf_ns[HG_LEAF_RUNNING], 1000 + 200);
	assert_int_equal(l->switches, 2);
	assert_int_equal(l->wakeups, 1);
	assert_int_equal(l->missing_wakeups, 0);
	assert_int_equal(l->cpu_ran_mask0, 1);
	l = lane(m, B);
	/* The seed's epoll_wait ended at a switch, nobody saw by whom: by the call alone. */
	assert_int_equal(l->leaf_ns[HG_LEAF_BLOCKED_NET], 2300);
	assert_int_equal(l->missing_wakeups, 1);
	assert_int_equal(l->leaf_ns[HG_LEAF_RUNNING], 500 + 900);
	assert_int_equal(l->leaf_ns[HG_LEAF_BLOCKED_TIMER], 1200);
	assert_int_equal(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY], 100);
	assert_int_equal(l->cpu_ran_mask0, 3);
	tb_free(&tb);
}

/* A sleeps twice within one wait for a mutex of the kernel, in write(); B lets it go. Before, it slept for a timer. */
static void kernel_wait(struct trace_builder *tb)
{
	begin(tb);
	tb_wakeup(tb, 0, 2000, A, 0, 0, HG_CTX_TIMER, 1, 0);
	tb_switch(tb, 0, 2100, HG_LANE_IDLE, A, 0, 0);
	tb_block(tb, 0, 3000, A, HG_LANE_IDLE, 2, 1, 5, 0, 0, 0);
	tb_wakeup(tb, 1, 4000, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(tb, 0, 4100, HG_LANE_IDLE, A, 0, 0);
	tb_block(tb, 0, 4200, A, HG_LANE_IDLE, 2, 1, 5, 0, 0, 0);
	tb_wakeup(tb, 1, 5000, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(tb, 0, 5100, HG_LANE_IDLE, A, 0, 0);
	tb_contention(tb, 0, 5200, 2300, A, 0xffff888100000000, HG_CONTENTIONF_MUTEX);
	tb_block(tb, 0, 6000, A, HG_LANE_IDLE, 1, 1, 5, 0, 0, 0);
	tb_wakeup(tb, 1, 7000, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_wchan_sample(tb, 4500, A, 1, "pipe_write");
	tb_mark(tb, 8000, HG_MARK_END, HG_END_SECS);
}

static void test_kernel_lock(void **state)
{
	const struct hg_kernel_lock *locks;
	struct steps s = {.n = 0};
	struct trace_builder tb;
	unsigned int kernel = 0;
	struct hg_model *m;

	kernel_wait(&tb);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	/* only what lies within the wait is for the lock */
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_LOCK], 1000 + 800);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_PEER], 1000);
	assert_int_equal(hg_model_kernel_locks(m, &locks), 1);
	assert_true(locks[0].address == 0xffff888100000000);
	assert_int_equal(locks[0].waits, 1);
	assert_int_equal(locks[0].wait_ns, 2300);
	assert_true(locks[0].p99_ns >= 2300 && locks[0].p99_ns <= 2300 * 5 / 4);
	assert_int_equal(locks[0].waker, B);
	assert_string_equal(locks[0].asleep_in, "pipe_write");
	assert_int_equal(hg_model_sweep(m, keep_step, &s), 0);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(!s.v[i].kernel || s.v[i].leaf == HG_LEAF_BLOCKED_LOCK);
		kernel += s.v[i].kernel;
	}
	assert_int_equal(kernel, 2);
	tb_free(&tb);
}

static void test_kernel_samples(void **state)
{
	const struct hg_kernel_times *t;
	struct hg_model_opts one = {.subwindows = 1};
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	tb_stack(&tb, 1000, 1, "osq_lock;rwsem_down_write_slowpath;down_write;mmap_region;do_mmap");
	tb_stack(&tb, 1000, 2, "native_queued_spin_lock_slowpath;_raw_spin_lock;posix_lock_inode");
	tb_cpu_sample(&tb, 0, 2000, A, HG_SAMPLE_USER, 5 * TB_MS, 0);
	tb_cpu_sample(&tb, 0, 2100, A, HG_SAMPLE_KERNEL, 5 * TB_MS, 0);
	tb_cpu_sample(&tb, 0, 2200, A, HG_SAMPLE_SPINS, 5 * TB_MS, 1);
	tb_cpu_sample(&tb, 0, 2300, B, HG_SAMPLE_SPINS, 5 * TB_MS, 2);
	tb_cpu_sample(&tb, 0, 2400, B, HG_SAMPLE_SPINS, 5 * TB_MS, 2);
	tb_cpu_sample(&tb, 0, 2500, B, HG_SAMPLE_SPINS, 5 * TB_MS, 77); /* a stack that is lost */
	tb_cpu_sample(&tb, 0, 2600, C, HG_SAMPLE_SPINS, 5 * TB_MS, 2);	/* somebody else */
	tb_mark(&tb, 8000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, &one);
	t = hg_model_kernel_times(m);
	assert_int_equal(t[0].samples, 6);
	assert_int_equal(t[0].user, 1);
	assert_int_equal(t[0].spins_sleeping, 1);
	assert_int_equal(t[0].spins, 2);
	assert_string_equal(hg_model_kernel_spins_in(m, true), "mmap_region");
	assert_string_equal(hg_model_kernel_spins_in(m, false), "posix_lock_inode");
	tb_free(&tb);
}

/* With -a alone everybody is the target. */
static void test_kernel_samples_of_all(void **state)
{
	struct hg_model_opts one = {.subwindows = 1};
	const struct hg_kernel_times *t;
	struct trace_builder tb;

	tb_open(&tb);
	tb_task(&tb, 500, A, 100, 100, "server");
	tb_role(&tb, 500, A, HG_ROLEF_ALL, 0);
	tb_seed(&tb, 600, A, HG_SEED_BLOCKED, 0, 232, 5);
	tb_mark(&tb, 1000, HG_MARK_BEGIN, 0);
	tb_stack(&tb, 1000, 1, "native_queued_spin_lock_slowpath;_raw_spin_lock;posix_lock_inode");
	tb_cpu_sample(&tb, 0, 2000, A, HG_SAMPLE_SPINS, 5 * TB_MS, 1);
	tb_mark(&tb, 8000, HG_MARK_END, HG_END_SECS);
	t = hg_model_kernel_times(tb_load(&tb, &one));
	assert_int_equal(t[0].samples, 1);
	assert_int_equal(t[0].spins, 1);
	tb_free(&tb);
}

static void test_sweep_knows_the_end(void **state)
{
	struct trace_builder tb;
	struct steps s = {.n = 0};

	begin(&tb);
	tb_task(&tb, 600, C, 200, 200, "client"); /* no role */
	tb_wakeup(&tb, 0, 2000, A, 0, C, HG_CTX_SOFTIRQ_OWN, 3, 0);
	tb_switch(&tb, 0, 2100, C, A, 1, 0);
	tb_lock(&tb, 0, 3000, A, C, 0x7000, 101);
	tb_wakeup(&tb, 1, 4000, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(&tb, 0, 4500, C, A, 0, HG_SWITCHF_PREEMPT);
	tb_mark(&tb, 5000, HG_MARK_END, HG_END_SECS);
	assert_int_equal(hg_model_sweep(tb_load(&tb, NULL), keep_step, &s), 0);

	/* At the window's start, who will end the wait is known. */
	assert_int_equal(s.v[0].time_ns, 1000);
	assert_int_equal(s.v[0].lane, A);
	assert_int_equal(s.v[0].leaf, HG_LEAF_BLOCKED_NET);
	assert_int_equal(s.v[0].ctx, HG_CTX_SOFTIRQ_OWN);
	assert_int_equal(s.v[0].by, C);
	assert_int_equal(s.v[0].sysnr, 232);
	assert_int_equal(s.v[1].lane, B);
	assert_int_equal(s.v[1].ctx, 0);

	assert_int_equal(s.v[2].leaf, HG_LEAF_RUNNABLE_BUSY);
	assert_int_equal(s.v[3].leaf, HG_LEAF_RUNNING);

	assert_int_equal(s.v[4].time_ns, 3000);
	assert_int_equal(s.v[4].leaf, HG_LEAF_BLOCKED_LOCK);
	assert_int_equal(s.v[4].by, B);
	assert_int_equal(s.v[4].holder, B);
	assert_int_equal(s.v[4].object, 0x7000);
	/* A lane without role is seen on the CPU, and to leave it. */
	assert_int_equal(s.v[5].lane, C);
	assert_int_equal(s.v[5].leaf, HG_LEAF_RUNNING);
	/* The wait for the CPU names who has it. */
	assert_int_equal(s.v[6].lane, A);
	assert_int_equal(s.v[6].leaf, HG_LEAF_RUNNABLE_BUSY);
	assert_int_equal(s.v[6].by, C);
	assert_int_equal(s.v[7].lane, C);
	assert_true(s.v[7].gone);
	assert_int_equal(s.v[8].leaf, HG_LEAF_RUNNING);
	assert_int_equal(s.n, 9);
	tb_free(&tb);
}

/* At level 1 switches between other tasks are not seen while no lane of the target waits. */
static void test_unseen_culprit(void **state)
{
	struct trace_builder tb;
	struct steps s = {.n = 0};
	struct hg_model *m;

	begin(&tb);
	tb_switch(&tb, 0, 1500, A, C, 1, 0); /* C comes ... */
	tb_wakeup(&tb, 1, 3000, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 3700, 5, A, 0, HG_SWITCHF_PREEMPT); /* ... but 5 leaves */
	tb_epoll(&tb, 0, 4000, A, HG_LANE_IDLE);
	tb_wakeup(&tb, 1, 4500, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 4600, C, A, 0, HG_SWITCHF_PREEMPT);
	tb_mark(&tb, 5000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	assert_int_equal(lane(m, 5)->leaf_ns[HG_LEAF_RUNNING], 700);
	assert_int_equal(lane(m, C)->leaf_ns[HG_LEAF_RUNNING], 100);
	assert_int_equal(hg_model_sweep(m, keep_step, &s), 0);
	for (size_t i = 0; i < s.n; i++) {
		if (s.v[i].leaf != HG_LEAF_RUNNABLE_BUSY)
			continue;
		assert_int_equal(s.v[i].by, s.v[i].time_ns == 3000 ? 5 : C);
		assert_int_equal(s.v[i - 1].lane, s.v[i].by); /* it runs from then on */
		assert_int_equal(s.v[i - 1].leaf, HG_LEAF_RUNNING);
	}
	tb_free(&tb);
}

static void test_locks(void **state)
{
	struct hg_model_opts opts = {.subwindows = 4};
	struct trace_builder tb;
	const struct hg_lock *locks;
	struct hg_model *m;

	begin(&tb);
	tb_switch(&tb, 0, 1100, HG_LANE_IDLE, A, 0, 0);
	tb_switch(&tb, 1, 1100, HG_LANE_IDLE, B, 0, 0);
	tb_lock(&tb, 0, 2000, A, HG_LANE_IDLE, 0x7000, 999);
	tb_lock(&tb, 1, 2500, B, HG_LANE_IDLE, 0x7000, 100);
	tb_wakeup(&tb, 0, 3000, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 3000, HG_LANE_IDLE, A, 0, 0);
	tb_wakeup(&tb, 0, 3500, B, 1, A, HG_CTX_TASK, -1, 0);
	tb_switch(&tb, 1, 3500, HG_LANE_IDLE, B, 0, 0);
	/* A condition variable: FUTEX_WAIT_BITSET | PRIVATE | CLOCK_REALTIME, and an event. */
	tb_block(&tb, 0, 3600, A, HG_LANE_IDLE, 1, 202, 0x8000, 0x189, 2, 0);
	tb_block(&tb, 1, 3600, B, HG_LANE_IDLE, 1, 202, 0x8000, 0x80, 1, 0);
	tb_wakeup(&tb, 0, 4000, A, 0, B, HG_CTX_TASK, -1, 0);
	for (int i = 0; i < 3; i++) {
		tb_cpu_times(&tb, 2100 + (uint64_t)i * 100 * TB_MS, 0, 0, 0, 0, 0);
		tb_wait_sample(&tb, 2100 + (uint64_t)i * 100 * TB_MS, A, i ? -1 : 202, 0x7000, 0x80,
			       2, 2);
		tb_wait_sample(&tb, 2150 + (uint64_t)i * 100 * TB_MS, B, 202, 0x7000, 0x80, 2, 2);
	}
	tb_mark(&tb, 5000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, &opts);
	assert_sums(m);
	assert_int_equal(hg_model_locks(m, &locks), 1);
	assert_int_equal(locks[0].tgid, 100);
	assert_int_equal(locks[0].address, 0x7000);
	assert_int_equal(locks[0].waits, 2);
	assert_int_equal(locks[0].waiters, 2);
	assert_int_equal(locks[0].wait_ns, 1000 + 1000);
	assert_int_equal(locks[0].contended_ns, 1500);
	assert_int_equal(locks[0].sub_contended_ns[0], 0);
	assert_int_equal(locks[0].sub_contended_ns[1], 1000);
	assert_int_equal(locks[0].sub_contended_ns[2], 500);
	assert_int_equal(locks[0].samples, 1); /* the later ones are beyond the window */
	assert_int_equal(locks[0].samples_waiting, 1);
	/* Ended by a timer, still a lock; the others by task and by nobody. */
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_LOCK], 1000);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_PEER], 400);
	assert_int_equal(lane(m, B)->leaf_ns[HG_LEAF_BLOCKED_PEER], 1400);
	tb_free(&tb);
}

static void test_wait_stacks(void **state)
{
	struct hg_model_opts opts = {.window_from_s = 1e-6, .window_to_s = 3.5e-6, .subwindows = 1};
	const struct hg_wait_stack *w;
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	tb_stack(&tb, 1000, 1, "do_epoll_wait;do_syscall_64");
	tb_stack(&tb, 1000, 2, "anon_pipe_read;vfs_read");
	tb_stack(&tb, 1000, 7, "anon_pipe_read;vfs_read"); /* the same from elsewhere in it */
	tb_switch(&tb, 0, 1100, HG_LANE_IDLE, A, 0, 0);
	tb_block(&tb, 0, 1200, A, HG_LANE_IDLE, 1, 0, 5, 0, 0, 0);
	tb_wait_stack(&tb, 0, 1200, A, 2);
	tb_wakeup(&tb, 0, 2200, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(&tb, 0, 2200, HG_LANE_IDLE, A, 0, 0);
	tb_wait_stack(&tb, 0, 2250, A, 1); /* it runs */
	tb_block(&tb, 0, 2300, A, HG_LANE_IDLE, 1, 0, 5, 0, 0, 0);
	tb_wait_stack(&tb, 0, 2300, A, 7);
	tb_wakeup(&tb, 0, 2500, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(&tb, 0, 2600, HG_LANE_IDLE, A, 0, 0);
	tb_block(&tb, 0, 2700, A, HG_LANE_IDLE, 1, 0, 5, 0, 0, 0);
	tb_wait_stack(&tb, 0, 2700, A, 999); /* not defined */
	tb_wakeup(&tb, 0, 2800, A, 0, B, HG_CTX_TASK, -1, 0);
	tb_switch(&tb, 0, 2800, HG_LANE_IDLE, A, 0, 0);
	tb_block(&tb, 0, 4000, A, HG_LANE_IDLE, 1, 232, 5, 0, 0, 0);
	tb_wait_stack(&tb, 0, 4000, A, 1);
	tb_wait_stack(&tb, 0, 4000, UINT32_MAX, 1);
	tb_mark(&tb, 5000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, &opts);
	assert_sums(m);
	/* The window, 2000 to 4500, has the end of the first wait, the second, and 500 ns of the last. */
	assert_int_equal(hg_model_wait_stacks(m, &w), 2);
	assert_int_equal(w[0].lane, A);
	assert_int_equal(w[0].leaf, HG_LEAF_BLOCKED_PEER);
	assert_string_equal(w[0].frames, "anon_pipe_read;vfs_read");
	assert_int_equal(w[0].waits, 2);
	assert_int_equal(w[0].ns, 200 + 200);
	assert_int_equal(w[1].leaf, HG_LEAF_BLOCKED_NET);
	assert_string_equal(w[1].frames, "do_epoll_wait;do_syscall_64");
	assert_int_equal(w[1].waits, 1);
	assert_int_equal(w[1].ns, 500);
	tb_free(&tb);
}

static void test_reasons(void **state)
{
	static const struct {
		int sysnr;
		uint64_t st;
		uint64_t ctx;
		int vec;
		enum hg_leaf leaf;
	} t[] = {
		{232, 1, HG_CTX_SOFTIRQ_IRQ, 3, HG_LEAF_BLOCKED_NET},
		{232, 1, HG_CTX_KSOFTIRQD, 3, HG_LEAF_BLOCKED_NET},
		{232, 1, HG_CTX_TASK, -1, HG_LEAF_BLOCKED_PEER},
		{232, 1, HG_CTX_TIMER, 1, HG_LEAF_BLOCKED_TIMER},
		{45, 1, HG_CTX_NAPI_THREAD, -1, HG_LEAF_BLOCKED_NET},
		{0, 1, HG_CTX_TASK, -1, HG_LEAF_BLOCKED_PEER},
		{0, 2, HG_CTX_SOFTIRQ_IRQ, 4, HG_LEAF_BLOCKED_DISK},
		{74, 2, HG_CTX_IRQ, -1, HG_LEAF_BLOCKED_DISK},
		{74, 2, HG_CTX_TIMER, 1, HG_LEAF_BLOCKED_DISK},
		{202, 2, HG_CTX_TASK, -1, HG_LEAF_BLOCKED_PEER},
		{230, 1, HG_CTX_TIMER, -1, HG_LEAF_BLOCKED_TIMER},
		{230, 1, HG_CTX_TASK, -1, HG_LEAF_BLOCKED_PEER}, /* a signal */
		{61, 1, HG_CTX_TASK, -1, HG_LEAF_BLOCKED_PEER},
		{16, 1, HG_CTX_IRQ, -1, HG_LEAF_BLOCKED_OTHER},
		{230, 1, HG_CTX_UNKNOWN, -1, HG_LEAF_BLOCKED_TIMER},
		{202, 1, HG_CTX_UNKNOWN, -1, HG_LEAF_BLOCKED_PEER},
		{999, 1, HG_CTX_UNKNOWN, -1, HG_LEAF_BLOCKED_OTHER},
		{999, 99, 99, 99, HG_LEAF_BLOCKED_DISK}, /* what no kernel says */
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(t); i++) {
		struct trace_builder tb;
		struct hg_model *m;

		begin(&tb);
		tb_switch(&tb, 0, 1000, HG_LANE_IDLE, A, 0, 0);
		tb_block(&tb, 0, 2000, A, HG_LANE_IDLE, t[i].st & 0xf, (uint64_t)t[i].sysnr, 0, 0,
			 0, 0);
		tb_wakeup(&tb, 0, 3000, A, 0, B, t[i].ctx, t[i].vec, 0);
		tb_mark(&tb, 3500, HG_MARK_END, HG_END_SECS);
		m = tb_load(&tb, NULL);
		assert_sums(m);
		if (lane(m, A)->leaf_ns[t[i].leaf] != 1000)
			fail_msg("row %zu is not %s", i, hg_leaf_name(t[i].leaf));
		tb_free(&tb);
	}
}

static void test_runnable_beside_idle_cpu(void **state)
{
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	/* 40 us on an idle CPU are the wake itself; 100 us are not; without the flag it is busy. */
	tb_wakeup(&tb, 0, 100 * TB_US, A, 0, 0, HG_CTX_TIMER, -1, HG_WAKEUPF_IDLE_CPU);
	tb_switch(&tb, 0, 140 * TB_US, HG_LANE_IDLE, A, 0, HG_SWITCHF_IDLE_CPU);
	tb_epoll(&tb, 0, 200 * TB_US, A, HG_LANE_IDLE);
	tb_wakeup(&tb, 0, 300 * TB_US, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 400 * TB_US, HG_LANE_IDLE, A, 0, HG_SWITCHF_IDLE_CPU);
	tb_switch(&tb, 0, 500 * TB_US, A, B, 0, HG_SWITCHF_PREEMPT);
	tb_epoll(&tb, 0, 700 * TB_US, B, A);
	tb_switch(&tb, 0, 800 * TB_US, A, HG_LANE_IDLE, 0,
		  HG_SWITCHF_PREEMPT | HG_SWITCHF_THROTTLED);
	tb_wakeup(&tb, 1, 850 * TB_US, B, 0, 0, HG_CTX_TASK, -1, HG_WAKEUPF_THROTTLED);
	tb_switch(&tb, 0, 900 * TB_US, HG_LANE_IDLE, A, 0, HG_SWITCHF_IDLE_CPU);
	tb_mark(&tb, 950 * TB_US, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNABLE_BUSY], 240 * TB_US);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNABLE_IDLE], 100 * TB_US);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_THROTTLED], 100 * TB_US);
	assert_int_equal(lane(m, B)->leaf_ns[HG_LEAF_THROTTLED], 100 * TB_US);
	tb_free(&tb);
}

static void test_softirq_and_irq(void **state)
{
	struct hg_model_opts opts = {.subwindows = 2};
	struct trace_builder tb;
	const struct hg_cpu *cpus;
	struct hg_model *m;

	begin(&tb);
	tb_switch(&tb, 0, 1000, HG_LANE_IDLE, A, 0, 0);
	/* An irq of 100 inside a softirq of 500, across the sub-windows' bound at 2000. */
	tb_irq(&tb, 0, 2000, 100, 100, 11, A);
	tb_softirq(&tb, 0, 2200, 500, 500, 3, HG_CTX_SOFTIRQ_OWN, A);
	/* A run of short ones: 40 of 400; and one that claims more than there is. */
	tb_softirq(&tb, 0, 2600, 40, 400, 1, HG_CTX_SOFTIRQ_IRQ, A);
	tb_softirq(&tb, 0, 2700, 9999, 50, 1, HG_CTX_SOFTIRQ_IRQ, A);
	tb_epoll(&tb, 0, 2800, A, HG_LANE_IDLE);
	tb_softirq(&tb, 0, 2900, 50, 50, 9, HG_CTX_SOFTIRQ_IRQ, HG_LANE_IDLE);
	tb_mark(&tb, 3000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, &opts);
	assert_sums(m);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING_IRQ], 100);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING_SOFTIRQ], 400 + 40 + 50);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING], 1800 - 100 - 490);
	assert_int_equal(lane(m, A)->sub_ns[0][HG_LEAF_RUNNING_IRQ], 100);
	assert_int_equal(lane(m, A)->sub_ns[0][HG_LEAF_RUNNING_SOFTIRQ], 240);
	assert_int_equal(hg_model_cpus(m, &cpus), 2);
	assert_int_equal(cpus[0].softirq_ns, 500 + 40 + 50 + 50);
	assert_int_equal(cpus[0].softirq_vec_ns[3], 500);
	assert_int_equal(cpus[0].irq_ns, 100);
	tb_free(&tb);
}

static void test_membership(void **state)
{
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	tb_task(&tb, 2010, C, 102, 100, "child");
	tb_role(&tb, 2050, C, HG_ROLEF_TARGET, 0); /* written when the ring was drained */
	tb_switch(&tb, 0, 1500, HG_LANE_IDLE, A, 0, 0);
	tb_fork(&tb, 0, 2000, A, C);
	tb_wakeup(&tb, 0, 2020, C, 1, A, HG_CTX_TASK, -1, HG_WAKEUPF_NEW);
	tb_switch(&tb, 1, 2030, HG_LANE_IDLE, C, 0, 0);
	tb_switch(&tb, 1, 2530, C, HG_LANE_IDLE, 0x80, 0);
	tb_exit(&tb, 1, 2530, C);
	tb_name(&tb, 2500, A, "renamed");
	/* A waker that is promoted while it sleeps. */
	tb_task(&tb, 2600, 5, 300, 300, "waker");
	tb_role(&tb, 2600, 5, HG_ROLEF_PROMOTED, 0);
	tb_wakeup(&tb, 1, 2800, 5, 1, A, HG_CTX_TASK, -1, 0);
	tb_mark(&tb, 3000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	assert_int_equal(lane(m, C)->from_ns, 2000);
	assert_int_equal(lane(m, C)->to_ns, 2530);
	assert_int_equal(lane(m, C)->leaf_ns[HG_LEAF_BLOCKED_OTHER], 20);
	assert_int_equal(lane(m, C)->leaf_ns[HG_LEAF_RUNNABLE_BUSY], 10);
	assert_int_equal(lane(m, C)->leaf_ns[HG_LEAF_RUNNING], 500);
	assert_int_equal(lane(m, 5)->from_ns, 2600);
	assert_int_equal(lane(m, 5)->leaf_ns[HG_LEAF_UNKNOWN], 200);
	assert_int_equal(lane(m, 5)->leaf_ns[HG_LEAF_RUNNABLE_BUSY], 200);
	assert_string_equal(lane(m, A)->name, "renamed");
	assert_string_equal(lane(m, B)->name, "worker");
	tb_free(&tb);
}

static void test_losses(void **state)
{
	struct trace_builder tb;
	struct hg_losses losses;
	struct hg_model *m;

	begin(&tb);
	tb_probe(&tb, 900, 1, "sched_switch", NULL);
	tb_probe(&tb, 900, 4, "softirq", NULL);
	tb_switch(&tb, 0, 1100, HG_LANE_IDLE, A, 0, 0);
	tb_switch(&tb, 1, 1100, HG_LANE_IDLE, B, 0, 0);
	tb_loss(&tb, 0, 1900, 4, 7, 500); /* moves nobody between states */
	/* CPU 1 loses events from 2000 to 2500: B is not known from then on, A is, until it leaves CPU 0. */
	tb_epoll(&tb, 0, 2200, A, HG_LANE_IDLE);
	tb_loss(&tb, 1, 2500, 1, 3, 500);
	tb_wakeup(&tb, 1, 2600, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 2700, HG_LANE_IDLE, A, 0, 0);
	tb_mark(&tb, 3000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	assert_int_equal(lane(m, B)->leaf_ns[HG_LEAF_RUNNING], 900);
	assert_int_equal(lane(m, B)->leaf_ns[HG_LEAF_UNKNOWN], 1000);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING], 1100 + 300);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_UNKNOWN], 400);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_NET], 100);
	hg_model_losses(m, &losses);
	assert_int_equal(losses.total, 10);
	assert_int_equal(losses.by_probe[1], 3);
	assert_int_equal(losses.lost_ns, 500);
	tb_free(&tb);
}

static void test_window(void **state)
{
	struct hg_model_opts opts = {.window_from_s = 0.5, .window_to_s = 1.5};
	struct trace_builder tb;
	struct hg_model_session session;
	uint64_t busy, switches, span;
	int messages = 0;
	const struct hg_line *lines;
	const struct hg_cpu *cpus;
	struct hg_model *m;
	uint32_t torn;

	tb_open(&tb);
	tb_task(&tb, 0, A, 100, 100, "server");
	tb_role(&tb, 0, A, HG_ROLEF_TARGET, 3);
	tb_client(&tb, 0, 77, "wrk -t2");
	tb_mark(&tb, 1000 * TB_MS, HG_MARK_BEGIN, 0);
	tb_switch(&tb, 0, 1200 * TB_MS, HG_LANE_IDLE, A, 0, 0);
	tb_mark(&tb, 1300 * TB_MS, HG_MARK_CLIENT_START, 77);
	tb_sleep(&tb, 0, 1700 * TB_MS, A, HG_LANE_IDLE);
	tb_wakeup(&tb, 0, 2300 * TB_MS, A, 0, 0, HG_CTX_TIMER, -1, 0);
	tb_switch(&tb, 0, 2300 * TB_MS, HG_LANE_IDLE, A, 0, 0);
	tb_cpu_busy(&tb, 1300 * TB_MS, 0, 100 * TB_MS, 0, 10);
	tb_cpu_busy(&tb, 2300 * TB_MS, 0, 500 * TB_MS, 0, 20);
	tb_line(&tb, 2500 * TB_MS, 1, "Requests/sec: 1");
	/* cut within its figure: by a bound, and by a NUL */
	TB_RECORD(&tb, HG_STREAM_CLIENT, 2500 * TB_MS, HG_KIND_LINE, 1,
		  tb_string(&tb, "Requests/sec: 12"), HG_LINE_GOES_ON);
	assert_int_equal(hg_writer_string(tb.w, "Requests/sec: 12\0 3", 18, &torn), 0);
	TB_RECORD(&tb, HG_STREAM_CLIENT, 2500 * TB_MS, HG_KIND_LINE, 1, torn, 0);
	tb_mark(&tb, 2800 * TB_MS, HG_MARK_CLIENT_END, 256);
	tb_mark(&tb, 3000 * TB_MS, HG_MARK_END, HG_END_CLIENT);

	m = tb_load(&tb, NULL); /* CMD's run */
	assert_sums(m);
	assert_int_equal(hg_model_begin_ns(m), 1000 * TB_MS);
	assert_int_equal(hg_model_end_ns(m), 3000 * TB_MS);
	assert_int_equal(hg_model_from_ns(m), 1300 * TB_MS);
	assert_int_equal(hg_model_to_ns(m), 2800 * TB_MS);
	assert_int_equal(hg_model_subwindows(m), 15);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING], 900 * TB_MS);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_BLOCKED_TIMER], 600 * TB_MS);
	assert_int_equal(lane(m, A)->target, 3);
	hg_model_session_get(m, &session);
	assert_true(session.whole);
	assert_true(session.client);
	assert_true(session.client_ended);
	assert_int_equal(session.client_status, 256);
	assert_int_equal(session.end_reason, HG_END_CLIENT);
	assert_string_equal(session.client_argv, "wrk -t2");
	assert_int_equal(session.events, 3);
	assert_int_equal(hg_model_lines(m, &lines), 3);
	assert_string_equal(lines[0].text, "Requests/sec: 1");
	assert_null(lines[1].text);
	assert_null(lines[2].text);
	assert_int_equal(hg_model_cpus(m, &cpus), 1);
	assert_true(hg_series_delta(&cpus[0].probe_busy, 1400 * TB_MS, 2900 * TB_MS, &busy,
				    &switches, &span));
	assert_int_equal(busy, 360 * TB_MS); /* from the interpolated 140 to the last sample */
	assert_int_equal(switches, 9);
	assert_int_equal(span, 900 * TB_MS);
	assert_false(hg_series_delta(&cpus[0].probe_busy, 2300 * TB_MS, 2900 * TB_MS, &busy, NULL,
				     NULL));

	m = tb_load(&tb, &opts); /* seconds from the start; the wait ends behind it */
	assert_sums(m);
	assert_int_equal(hg_model_from_ns(m), 1500 * TB_MS);
	assert_int_equal(hg_model_to_ns(m), 2500 * TB_MS);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING], 400 * TB_MS);

	opts = (struct hg_model_opts){.window_from_s = 5, .window_to_s = 6};
	m = NULL;
	hg_log_set(count_message, &messages);
	assert_int_equal(hg_model_load(tb.r, &opts, &m), -EINVAL);
	hg_log_set(NULL, NULL);
	assert_int_equal(messages, 1);
	assert_null(m);
	tb_free(&tb);
}

static void test_contradiction(void **state)
{
	struct trace_builder tb;
	struct hg_losses losses;
	struct hg_model *m;

	begin(&tb);
	tb_switch(&tb, 0, 1100, HG_LANE_IDLE, A, 0, 0);
	/* A's end and B's beginning on CPU 0 are missing, and nothing said that they were lost. */
	tb_epoll(&tb, 0, 2000, B, HG_LANE_IDLE);
	tb_mark(&tb, 3000, HG_MARK_END, HG_END_SECS);
	m = tb_load(&tb, NULL);
	assert_sums(m);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_RUNNING], 900);
	assert_int_equal(lane(m, A)->leaf_ns[HG_LEAF_UNKNOWN], 1000);
	assert_int_equal(lane(m, B)->leaf_ns[HG_LEAF_RUNNING], 0);
	hg_model_losses(m, &losses);
	assert_int_equal(losses.contradictions, 1);
	tb_free(&tb);
}

static void test_absurd_ids(void **state)
{
	struct trace_builder tb;
	const struct hg_lane *lanes;
	const struct hg_cpu *cpus;
	struct hg_model *m;

	begin(&tb);
	tb_switch(&tb, 0, 1100, HG_LANE_IDLE, UINT64_MAX, 0, 0);
	tb_switch(&tb, 0, 1200, UINT64_MAX, A, 1, 0);
	tb_wakeup(&tb, 0, 1300, UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1000, UINT64_MAX);
	tb_wakeup(&tb, 0, 1300, B, 1U << 20, A, 1, 0, 0);
	tb_switch(&tb, 0xfffffe00, 1400, A, B, 0, 0);
	tb_migrate(&tb, 0, 1500, B, 0, 77777);
	tb_softirq(&tb, 0, 1600, UINT64_MAX, UINT64_MAX, UINT64_MAX, 3, A);
	tb_mark(&tb, 2000, HG_MARK_END, HG_END_SECS);
	hg_log_level_set(HG_LOG_ERROR);
	m = tb_load(&tb, NULL);
	hg_log_level_set(HG_LOG_INFO);
	assert_sums(m);
	assert_true(hg_model_lanes(m, &lanes) <= B + 1);
	assert_true(hg_model_cpus(m, &cpus) <= 2);
	tb_free(&tb);
}

/* A and C, another program, call each other `calls` times; `remote` packets come from elsewhere as well. */
static struct hg_model *calls(struct trace_builder *tb, int calls, int remote)
{
	uint64_t t = 1000;

	begin(tb);
	tb_task(tb, 700, C, 200, 200, "load");
	tb_role(tb, 700, C, HG_ROLEF_PROMOTED, 0);
	tb_seed(tb, 700, C, HG_SEED_BLOCKED, 0, 232, 5);
	for (int i = 0; i < calls; i++) {
		tb_wakeup(tb, 0, t + 10, C, 0, A, HG_CTX_SOFTIRQ_OWN, 3, 0);
		tb_epoll(tb, 0, t + 20, A, C);
		tb_wakeup(tb, 0, t + 30, A, 0, C, HG_CTX_SOFTIRQ_OWN, 3, 0);
		tb_epoll(tb, 0, t + 40, C, A);
		t += 50;
	}
	for (int i = 0; i < remote; i++) {
		tb_wakeup(tb, 1, t + 10, B, 1, HG_LANE_IDLE, HG_CTX_SOFTIRQ_IRQ, 3, 0);
		tb_switch(tb, 1, t + 20, HG_LANE_IDLE, B, 0, 0);
		tb_epoll(tb, 1, t + 30, B, HG_LANE_IDLE);
		t += 50;
	}
	tb_mark(tb, t, HG_MARK_END, HG_END_SECS);
	return tb_load(tb, NULL);
}

/* Without a CMD: whose work all of it is, is the client; a service that is called for others' work is none. */
static void test_client_is_found(void **state)
{
	struct hg_model_session session;
	struct trace_builder tb;
	struct hg_model *m;

	m = calls(&tb, 200, 0);
	hg_model_session_get(m, &session);
	assert_string_equal(session.client_found, "load");
	assert_true(session.client_found_share == 1);
	assert_true(lane(m, C)->role & HG_ROLEF_CLIENT);
	assert_int_equal(lane(m, C)->wakes_target, 200);
	assert_sums(m);
	tb_free(&tb);
	m = calls(&tb, 200, 100);
	hg_model_session_get(m, &session);
	assert_null(session.client_found);
	assert_false(lane(m, C)->role & HG_ROLEF_CLIENT);
	tb_free(&tb);
	m = calls(&tb, 20, 0); /* too few to tell */
	hg_model_session_get(m, &session);
	assert_null(session.client_found);
	tb_free(&tb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_kernel_lock),
		cmocka_unit_test(test_kernel_samples),
		cmocka_unit_test(test_kernel_samples_of_all),
		cmocka_unit_test(test_sweep_knows_the_end),
		cmocka_unit_test(test_unseen_culprit),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_wait_stacks),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_runnable_beside_idle_cpu),
		cmocka_unit_test(test_softirq_and_irq),
		cmocka_unit_test(test_membership),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_contradiction),
		cmocka_unit_test(test_absurd_ids),
		cmocka_unit_test(test_client_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
