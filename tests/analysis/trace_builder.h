/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes small traces for tests of the analysis: one function per record kind, with the fields as arguments, so that
 * a test reads like the sequence of events that it is about. Used by the tests in this folder only.
 *
 *	struct trace_builder tb;
 *
 *	tb_open(&tb);
 *	tb_task(&tb, 0, 2, 100, 100, "server");
 *	tb_role(&tb, 0, 2, HG_ROLEF_TARGET, 0);
 *	tb_mark(&tb, 0, HG_MARK_BEGIN, 0);
 *	tb_switch(&tb, 0, 1000, HG_LANE_IDLE, 2, 0, 0);
 *	...
 *	tb_mark(&tb, 5000, HG_MARK_END, HG_END_SECS);
 *	model = tb_load(&tb, NULL);
 *	...
 *	tb_free(&tb);
 *
 * Times are ns. Within one stream (a CPU, the sampler, control) they must not decrease, or the writer moves them.
 */
#ifndef HG_TESTS_TRACE_BUILDER_H
#define HG_TESTS_TRACE_BUILDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/hg_model.h"
#include "base/hg_base.h"
#include "trace/hg_writer.h"

struct trace_builder {
	char path[64];
	struct hg_writer *w;
	struct hg_reader *r;
	struct hg_model *m;
};

#define TB_US UINT64_C(1000)
#define TB_MS UINT64_C(1000000)

static inline void tb_open(struct trace_builder *tb)
{
	int fd;

	*tb = (struct trace_builder){0};
	snprintf(tb->path, sizeof(tb->path), "/tmp/hg-test-XXXXXX");
	fd = mkstemp(tb->path);
	assert_true(fd >= 0);
	assert_int_equal(hg_writer_open(fd, tb->path, &tb->w), 0);
}

static inline uint64_t tb_string(struct trace_builder *tb, const char *text)
{
	uint32_t id = 0;

	assert_int_equal(hg_writer_string(tb->w, text, strlen(text), &id), 0);
	return id;
}

/* Any record: tb_record(&tb, stream, time, kind, number of fields, fields as uint64_t ...). */
static inline void tb_record_v(struct trace_builder *tb, uint32_t stream, uint64_t time_ns,
			       uint16_t kind, const uint64_t *f, size_t n)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = kind};

	assert_true(n <= HG_FIELDS_MAX);
	memcpy(rec.f, f, n * sizeof(*f));
	assert_int_equal(hg_writer_record(tb->w, 0, stream, &rec), 0);
}
#define TB_RECORD(tb, stream, time, kind, ...)                                                     \
	tb_record_v(tb, stream, time, kind, (const uint64_t[]){__VA_ARGS__},                       \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Definitions and marks. */
static inline void tb_task_full(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t tid,
				uint64_t tgid, uint64_t nstid, const char *comm, uint64_t cgroup,
				uint64_t flags, uint64_t cpus)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_TASK, lane, tid, tgid, nstid, 1, 1000 + lane,
		  tb_string(tb, comm), cgroup, flags, cpus);
}

static inline void tb_task(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t tid,
			   uint64_t tgid, const char *comm)
{
	tb_task_full(tb, t, lane, tid, tgid, tid, comm, 0, 0, 2);
}

static inline void tb_name(struct trace_builder *tb, uint64_t t, uint64_t lane, const char *comm)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_TASK_NAME, lane, tb_string(tb, comm), 0);
}

static inline void tb_role(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t role,
			   uint64_t target)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_ROLE, lane, role, target);
}

/* state: HG_SEED_*; sysnr -1: unknown. */
static inline void tb_seed(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t state,
			   uint64_t cpu, int sysnr, uint64_t arg0)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_SEED, lane, state, cpu, (uint64_t)(sysnr + 1),
		  arg0);
}

static inline void tb_mark(struct trace_builder *tb, uint64_t t, uint64_t what, uint64_t arg)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_MARK, what, arg);
}

static inline void tb_probe(struct trace_builder *tb, uint64_t t, uint64_t id, const char *name,
			    const char *why)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_PROBE, id, tb_string(tb, name), !why,
		  why ? tb_string(tb, why) : 0);
}

/* A stack, and that a lane which has just blocked sleeps there. */
static inline void tb_stack(struct trace_builder *tb, uint64_t t, uint64_t id, const char *frames)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_STACK, id, tb_string(tb, frames));
}

static inline void tb_wait_stack(struct trace_builder *tb, unsigned int cpu, uint64_t t,
				 uint64_t lane, uint64_t id)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_WAIT_STACK, lane, id);
}

static inline void tb_client(struct trace_builder *tb, uint64_t t, uint64_t tid, const char *argv)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_CLIENT, tid, tb_string(tb, argv), 0, 0, 0);
}

static inline void tb_line(struct trace_builder *tb, uint64_t t, uint64_t fd, const char *text)
{
	TB_RECORD(tb, HG_STREAM_CLIENT, t, HG_KIND_LINE, fd, tb_string(tb, text));
}

/* Events of a CPU. flags: HG_SWITCHF_*; state: 0 R, 1 S, 2 D, 0x80 dead. */
static inline void tb_switch(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t prev,
			     uint64_t next, uint64_t state, uint64_t flags)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_SWITCH, prev, next, state, flags);
}

static inline void tb_block(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t prev,
			    uint64_t next, uint64_t state, uint64_t sysnr, uint64_t arg0,
			    uint64_t arg1, uint64_t arg2, uint64_t holder)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_SWITCH_BLOCK, prev, next, state, 0, sysnr,
		  arg0, arg1, arg2, holder);
}

/* prev waits for a contended glibc mutex (FUTEX_WAIT_PRIVATE, value 2). */
static inline void tb_lock(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t prev,
			   uint64_t next, uint64_t address, uint64_t holder_tid)
{
	tb_block(tb, cpu, t, prev, next, 1, 202, address, 0x80, 2, holder_tid);
}

/* prev waits in epoll_wait. */
static inline void tb_epoll(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t prev,
			    uint64_t next)
{
	tb_block(tb, cpu, t, prev, next, 1, 232, 5, 0, 0, 0);
}

/* prev sleeps in clock_nanosleep. */
static inline void tb_sleep(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t prev,
			    uint64_t next)
{
	tb_block(tb, cpu, t, prev, next, 1, 230, 0, 0, 0, 0);
}

/* Written by CPU `on` (the waking one); lane is queued on `cpu`. vec: softirq vector, -1 none. */
static inline void tb_wakeup(struct trace_builder *tb, unsigned int on, uint64_t t, uint64_t lane,
			     uint64_t cpu, uint64_t waker, uint64_t ctx, int vec, uint64_t flags)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + on, t, HG_KIND_WAKEUP, lane, cpu, waker, ctx,
		  (uint64_t)(vec + 1), flags);
}

/* A softirq that ended at t. */
static inline void tb_softirq(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t dur,
			      uint64_t span, uint64_t vec, uint64_t ctx, uint64_t lane)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_SOFTIRQ, dur, span, vec, ctx, lane, 1);
}

static inline void tb_irq(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t dur,
			  uint64_t span, uint64_t nr, uint64_t lane)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_IRQ, dur, span, nr, lane, 1);
}

static inline void tb_migrate(struct trace_builder *tb, unsigned int on, uint64_t t, uint64_t lane,
			      uint64_t from, uint64_t to)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + on, t, HG_KIND_MIGRATE, lane, from, to);
}

static inline void tb_fork(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t parent,
			   uint64_t child)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_FORK, parent, child);
}

static inline void tb_exit(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t lane)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_EXIT, lane, 0);
}

static inline void tb_affinity(struct trace_builder *tb, unsigned int cpu, uint64_t t,
			       uint64_t lane, uint64_t mask)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_AFFINITY, lane,
		  (uint64_t)__builtin_popcountll(mask), mask);
}

static inline void tb_loss(struct trace_builder *tb, unsigned int cpu, uint64_t t, uint64_t probe,
			   uint64_t count, uint64_t since_ns)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_LOSS, probe, count, since_ns);
}

/* Samples: running totals. */
static inline void tb_cpu_times(struct trace_builder *tb, uint64_t t, uint64_t cpu, uint64_t user,
				uint64_t system, uint64_t idle, uint64_t steal)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_CPU_TIMES, cpu, user, 0, system, idle, 0, 0, 0,
		  steal);
}

static inline void tb_cpu_busy(struct trace_builder *tb, uint64_t t, uint64_t cpu, uint64_t busy,
			       uint64_t idle, uint64_t switches)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_CPU_BUSY, cpu, busy, idle, 0, 0, switches);
}

static inline void tb_schedstat(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t run,
				uint64_t delay)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_SCHEDSTAT, lane, run, delay, 0);
}

static inline void tb_task_times(struct trace_builder *tb, uint64_t t, uint64_t lane, uint64_t user,
				 uint64_t system)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_TASK_TIMES, lane, user, system);
}

static inline void tb_cgroup(struct trace_builder *tb, uint64_t t, const char *path,
			     uint64_t periods, uint64_t throttled, uint64_t throttled_ns,
			     uint64_t usage_ns, uint64_t quota_us, uint64_t period_us)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_CGROUP_CPU, tb_string(tb, path), periods,
		  throttled, throttled_ns, usage_ns, quota_us, period_us, 1);
}

/* A target thread was found in a futex wait (sysnr 202) or another system call; -1: running. */
static inline void tb_wait_sample(struct trace_builder *tb, uint64_t t, uint64_t lane, int sysnr,
				  uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t word)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_WAIT_SAMPLE, lane, (uint64_t)(sysnr + 1), arg0,
		  arg1, arg2, word);
}

static inline void tb_cpu_sample(struct trace_builder *tb, unsigned int cpu, uint64_t t,
				 uint64_t lane, uint64_t where, uint64_t period, uint64_t id)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_CPU_SAMPLE, lane, where, HG_CTX_TASK, period,
		  id);
}

static inline void tb_spin(struct trace_builder *tb, uint64_t t, uint64_t id, uint64_t tgid,
			   uint64_t word, uint64_t flags)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, t, HG_KIND_SPIN, id, tgid, 0x401000, word, 4, flags);
}

static inline void tb_spin_look(struct trace_builder *tb, uint64_t t, uint64_t id, uint64_t value,
				uint64_t waits)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_SPIN_LOOK, id, value, waits,
		  tb_string(tb, "server+0x1000"));
}

/* A thread that sleeps in a function of the kernel, in a call that is none of a futex. */
static inline void tb_wchan_sample(struct trace_builder *tb, uint64_t t, uint64_t lane, int sysnr,
				   const char *function)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_WAIT_SAMPLE, lane, (uint64_t)(sysnr + 1), 0, 0,
		  0, 0, tb_string(tb, function));
}

/* A wait for a lock of the kernel that ended at t; flags: HG_CONTENTIONF_*. */
static inline void tb_contention(struct trace_builder *tb, unsigned int cpu, uint64_t t,
				 uint64_t dur, uint64_t lane, uint64_t lock, uint64_t flags)
{
	TB_RECORD(tb, HG_STREAM_CPU0 + cpu, t, HG_KIND_CONTENTION, dur, dur, lane, lock, flags,
		  HG_CTX_TASK, 1, 1, 0);
}

/* Closes the file (once) and opens it for reading: for tests that call hg_findings_make themselves. */
static inline struct hg_reader *tb_reader(struct trace_builder *tb)
{
	if (tb->w) {
		assert_int_equal(hg_writer_close(tb->w), 0);
		tb->w = NULL;
	}
	if (!tb->r)
		assert_int_equal(hg_reader_open(tb->path, &tb->r), 0);
	return tb->r;
}

/* The model of the file, owned by the builder. opts NULL: the default window. */
static inline struct hg_model *tb_load(struct trace_builder *tb, const struct hg_model_opts *opts)
{
	struct hg_model_opts none = {0};

	hg_model_free(tb->m);
	tb->m = NULL;
	assert_int_equal(hg_model_load(tb_reader(tb), opts ? opts : &none, &tb->m), 0);
	return tb->m;
}

static inline void tb_free(struct trace_builder *tb)
{
	hg_model_free(tb->m);
	hg_reader_closep(&tb->r);
	if (tb->w)
		hg_writer_close(tb->w);
	unlink(tb->path);
	*tb = (struct trace_builder){0};
}

#endif
