/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state machine of the model: what model_replay.c (records) and model_state.c (states of lanes) share.
 *
 * One struct hg_replay is one run over the CPUs' streams. In totals mode the end of each interval adds it to the sums; in
 * sweep mode the beginning of each calls the step function. Both see the same records and so pass through the same states.
 */
#ifndef HG_MODEL_REPLAY_H
#define HG_MODEL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/model_internal.h"

enum hg_state {
	HG_STATE_GONE =
		0, /* does not exist, or exists without a role and is on no CPU that we know of */
	HG_STATE_UNKNOWN,
	HG_STATE_RUNNING,
	HG_STATE_RUNNABLE,
	HG_STATE_THROTTLED,
	HG_STATE_BLOCKED,
};

#define HG_WAIT_NONE UINT32_MAX

/* A sleep that has ended: the end of a wait for a lock of the kernel tells that it was one for it. */
#define HG_SLEPT_MAX 4
struct hg_slept {
	uint64_t from_ns, to_ns;
	uint32_t wait; /* index in hg_model.waits */
	uint8_t leaf;
};

struct hg_lane_state {
	uint64_t
		since_ns; /* of the state; of a running one: up to here its time is already counted */
	uint64_t object;
	uint32_t wait; /* its index in hg_model.waits, HG_WAIT_NONE */
	uint32_t holder;
	uint32_t lock;	/* of hg_locks_get */
	uint32_t stack; /* blocked: id of where, 0 not taken */
	uint32_t known; /* its place in hg_replay.known, if its state is neither gone nor unknown */
	uint16_t cpu;
	int16_t sysnr;
	uint8_t state; /* enum hg_state */
	bool member, ended;
	bool was_member;
	bool lock_wait, uninterruptible, newborn;
	bool idle_cpu; /* runnable: a CPU that it may use was idle */
	uint8_t slept_next, slept_count;
	struct hg_slept slept[HG_SLEPT_MAX]; /* the last ones, in turn */
};

/*
 * Intervals that were taken from the lane that runs, newest last: for softirqs with irqs inside. When there is no room,
 * the older half goes.
 */
#define HG_TAKEN_MAX 64
struct hg_taken {
	uint64_t from_ns, to_ns, dur_ns;
};

struct hg_cpu_state {
	uint64_t cur; /* lane id; 0 unknown */
	uint64_t cur_since_ns;
	uint64_t waited_since_ns; /* since when a member waits for cur; 0: none does */
	uint32_t
		visit; /* cur is no member: index in hg_model.waits of who leaves in the end; + 1 */
	uint64_t hole_until_ns;
	bool seen; /* it had a switch or a seed */
	unsigned int taken_count;
	struct hg_taken taken[HG_TAKEN_MAX];
};

struct hg_replay {
	struct hg_model *m;
	bool sweep;
	hg_step_fn fn;
	void *arg;
	struct hg_lane_state *lanes;
	size_t lanes_size;
	struct hg_cpu_state *cpus;
	size_t cpus_size;
	uint32_t *known; /* lanes whose state a hole would make unknown */
	size_t known_count;
	size_t next_hole;
	uint64_t hole_until_ns; /* latest of all CPUs */
	uint64_t due_ns;	/* no hole and no window begins before */
	uint64_t now_ns;
	uint64_t waits; /* index of the next wait */
	bool open;	/* the window has begun, and its first steps are out */
	int err;
};

/* What a new state brings with it. */
struct hg_enter {
	enum hg_state state;
	uint16_t cpu;
	bool idle_cpu;
	bool lock_wait, uninterruptible, newborn;
	int16_t sysnr;
	uint64_t object;
	uint32_t holder;
};

/* How a wait ended. */
struct hg_ender {
	uint8_t ctx; /* 0: nobody saw */
	int vec;
	uint32_t by;
	uint32_t softirq_cpu; /* plus 1: it was a softirq there, in nobody's own call; or 0 */
	bool idle_cpu;
};

/* model_state.c. Lane ids must have room (hg_replay_lane). */
bool hg_replay_lane_want(struct hg_replay *r, uint64_t id);
static inline bool hg_replay_lane(struct hg_replay *r, uint64_t id)
{
	if (id < r->lanes_size && id < r->m->lanes_count)
		return id >= HG_LANE_FIRST;
	return hg_replay_lane_want(r, id);
}
struct hg_cpu_state *hg_replay_cpu_want(struct hg_replay *r, uint64_t cpu);
static inline struct hg_cpu_state *hg_replay_cpu(struct hg_replay *r, uint64_t cpu)
{
	if (cpu < r->cpus_size && cpu < r->m->cpus_count)
		return &r->cpus[cpu];
	return hg_replay_cpu_want(r, cpu);
}
/* Ends the present state at t and begins another. */
void hg_replay_set(struct hg_replay *r, uint32_t lane, uint64_t t, const struct hg_ender *ender,
		   const struct hg_enter *enter);
/* A wait for a lock of the kernel has ended: its sleeps were for the lock. */
void hg_replay_contention(struct hg_replay *r, const struct hg_record *rec);
/* Becomes a member at t, in an unknown state unless it is seen running. */
void hg_replay_join(struct hg_replay *r, uint32_t lane, uint64_t t);
void hg_replay_leave(struct hg_replay *r, uint32_t lane, uint64_t t);
/* A lane without role gets or leaves a CPU. */
void hg_replay_visitor_in(struct hg_replay *r, uint32_t lane, uint16_t cpu, uint64_t t);
void hg_replay_visitor_out(struct hg_replay *r, uint32_t lane, uint64_t t, bool seen);
/* An index of hg_model.waits, HG_WAIT_NONE if there is none. */
uint32_t hg_replay_wait(struct hg_replay *r);
/* Counts the running lane's time up to t, so that parts of it can be moved. */
void hg_replay_flush_running(struct hg_replay *r, uint32_t lane, uint64_t t);
void hg_replay_migrate(struct hg_replay *r, uint32_t lane, uint16_t cpu, uint64_t t);
/* Begins holes and the window, as far as they begin before or at t. */
void hg_replay_begin_due(struct hg_replay *r, uint64_t t);
static inline void hg_replay_advance(struct hg_replay *r, uint64_t t)
{
	if (t >= r->due_ns)
		hg_replay_begin_due(r, t);
	if (t > r->now_ns)
		r->now_ns = t;
}
void hg_replay_finish(struct hg_replay *r);

#endif
