/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the sweep: its state, and what its files offer to each other. Used by analysis/sweep*.c only.
 *
 * n lanes of the target are active at a time and a step must not cost O(n), so running lanes earn through
 * virtual clocks (integrals of dt/n) that are read when a lane's own state changes.
 */
#ifndef HG_SWEEP_H
#define HG_SWEEP_H

#include <uthash.h>

#include "analysis/attribution.h"

#define HG_SWEEP_CPUS_MAX 1024
#define HG_SWEEP_CLASSES_MAX                                                                       \
	8 /* distinct sets of allowed CPUs that are told apart; the rest counts as "all" */

enum hg_where { WHERE_ALLOWED, WHERE_OUTSIDE, WHERE_NONE, WHERES }; /* where a CPU is idle */

struct hg_sweep_lane {
	uint8_t leaf;
	uint8_t class_index;
	bool target, client, ksoftirqd, present;
	uint8_t ctx;
	int16_t sysnr;
	uint16_t cpu;
	uint32_t by;
	uint32_t ended_on;   /* as hg_step.ended_on */
	uint32_t lock;	     /* index + 1 of the lock that it waits for */
	uint32_t holds;	     /* index + 1 of a lock with waiters that it holds */
	uint32_t woken_from; /* index + 1 of the lock from which it was let go; until it runs */
	uint32_t
		hands; /* index + 1 of a lock from which it has let a lane go that does not run yet, */
	uint32_t hands_to; /* and that lane */
	uint64_t since_ns;
	double seen_single, seen[WHERES]; /* virtual clocks at the last settling */
	struct hg_blame_row *serial, *competitor;
	uint64_t ended_target, ended_client; /* waits for the network or for it that it ended */
	/* clients: what it did since the target became idle */
	uint64_t idle_epoch;
	uint64_t idle_ns[HG_LEAVES];
	uint64_t
		idle_late_ns; /* of its waits for the network, those that nobody's own call ended */
	/* in none of the above: it waited for a CPU that is full of softirqs, the last such one */
	uint64_t idle_softirq_ns;
	unsigned int idle_softirq_cpu;
};

struct hg_sweep_lock_key {
	uint64_t address;
	uint32_t tgid;
	uint32_t kernel; /* all locks of the kernel are one: address and tgid 0 */
};

struct hg_sweep_lock_slot {
	struct hg_sweep_lock_key key;
	uint32_t index;
	UT_hash_handle hh;
};

struct hg_sweep_row_key {
	uint64_t id, blame;
};

struct hg_sweep_row_slot {
	struct hg_sweep_row_key key;
	struct hg_blame_row row;
	UT_hash_handle hh;
};

/* Chance that some CPU of a set is idle, kept as a product over its unoccupied CPUs. */
struct hg_sweep_class {
	uint64_t mask0;
	bool all;
	unsigned int surely_idle; /* unoccupied CPUs whose background is 0 */
	double log_busy;	  /* sum of logs of the others' background */
	double where[WHERES];	  /* see hg_sweep_idle_where() */
	double clock[WHERES];
};

struct hg_sweep {
	struct hg_model *model;
	const struct hg_lane *lanes;
	size_t lanes_count;
	struct hg_sweep_lane *ls;
	struct hg_shares *out;
	struct hg_sweep_row_slot *rows;
	struct hg_sweep_lock_slot *locks;
	struct hg_blame_row **lock_rows;
	size_t locks_capacity;
	uint32_t *contended; /* indexes of the locks that have waiters */
	size_t contended_count;
	struct hg_blame_row *plain[HG_BLAMES];
	struct hg_sweep_class classes[HG_SWEEP_CLASSES_MAX];
	unsigned int classes_count;
	size_t cpus_count;
	uint32_t current[HG_SWEEP_CPUS_MAX];
	uint32_t queued[HG_SWEEP_CPUS_MAX][HG_SWEEP_CLASSES_MAX];
	uint32_t queued_sum[HG_SWEEP_CPUS_MAX];
	uint32_t queued_woken[HG_SWEEP_CPUS_MAX]; /* of these, lanes on their way to a lock: */
	uint32_t queued_lock[HG_SWEEP_CPUS_MAX];  /* index of the last such lock */
	uint16_t queue_list[HG_SWEEP_CPUS_MAX];	  /* CPUs with queued_sum > 0 */
	unsigned int queue_count;
	/* busy share, in this sub-window, of the time without a known lane; and its logarithm */
	double background[HG_SWEEP_CPUS_MAX], log_background[HG_SWEEP_CPUS_MAX];
	bool full[HG_SWEEP_CPUS_MAX]; /* of softirqs, in this sub-window */
	bool where_known;	      /* of all classes; until some CPU's occupancy changes */
	unsigned int sub;
	uint64_t now_ns, sub_end_ns;
	unsigned int running, runnable, throttled;
	unsigned int lock_waiters, net_waiters;
	double single_clock;
	/* locks of the kernel, all as one: lanes that sleep for them, a running lane's time
	 * meanwhile, all running lanes' time */
	uint32_t kernel_waiting;
	double kernel_held[HG_SUBWINDOWS_MAX], kernel_ran[HG_SUBWINDOWS_MAX];
	/* idle period of the target */
	uint64_t idle_start_ns, idle_epoch;
	double idle_pending[HG_SUBWINDOWS_MAX];
	double idle_pending_sum;
	uint32_t last_sender;
	int err;
};

/* Lanes of the target that run, or want to. */
unsigned int hg_sweep_active(const struct hg_sweep *s);
/* The row of a blame's object, made at first use; NULL and s->err when out of memory. */
struct hg_blame_row *hg_sweep_row(struct hg_sweep *s, enum hg_blame blame, uint64_t id);
/* Credits ns of the current sub-window; row may be NULL. */
void hg_sweep_credit_row(struct hg_sweep *s, struct hg_blame_row *row, double ns);
void hg_sweep_credit(struct hg_sweep *s, enum hg_blame blame, double ns);
/* The part of a lane's running time in this sub-window that the softirqs of its full CPU took; 0 on another CPU. */
double hg_sweep_taken_part(const struct hg_sweep *s, const struct hg_sweep_lane *l);
/* Pays a running lane of the target for the time since it was last paid. */
void hg_sweep_settle(struct hg_sweep *s, struct hg_sweep_lane *l, uint32_t lane);

/* sweep_cpus.c: which CPUs are idle, who runs on them and who waits for them. */
/* Chances that a CPU is idle: among the allowed ones; only outside of them; nowhere. */
void hg_sweep_where_update(struct hg_sweep *s);
static inline const double *hg_sweep_idle_where(struct hg_sweep *s, const struct hg_sweep_class *c)
{
	if (!s->where_known)
		hg_sweep_where_update(s);
	return c->where;
}
void hg_sweep_background_load(struct hg_sweep *s);
void hg_sweep_cpu_set(struct hg_sweep *s, unsigned int cpu, uint32_t lane);
/* Softirqs leave the CPU no room in this sub-window. */
static inline bool hg_sweep_cpu_full(const struct hg_sweep *s, unsigned int cpu)
{
	return cpu < s->cpus_count && s->full[cpu];
}
void hg_sweep_credit_queue(struct hg_sweep *s, unsigned int cpu, double each_ns);
void hg_sweep_queue_change(struct hg_sweep *s, const struct hg_sweep_lane *l, int sign);

/* sweep_locks.c: who waits for which lock, and what its holder does. */
void hg_sweep_lock_enter(struct hg_sweep *s, uint32_t lane, const struct hg_step *step);
void hg_sweep_lock_leave(struct hg_sweep *s, uint32_t lane);
/* A lane that was let go from a lock runs now, or ends. */
void hg_sweep_lock_arrive(struct hg_sweep *s, uint32_t lane);
/* A lane that has let another one go blocks before that one runs. */
void hg_sweep_lock_abandon(struct hg_sweep *s, uint32_t lane);
void hg_sweep_lock_time(struct hg_sweep *s, double dt);
/* Only while s->lock_waiters > 0. */
uint32_t hg_sweep_lock_most_waited(const struct hg_sweep *s);

/* sweep_kernel.c: after the sweep; moves to the kernel's locks what they cost running lanes. */
void hg_sweep_kernel(struct hg_sweep *s);

/* sweep_idle.c: time in which no lane of the target is active. */
void hg_sweep_client_account(struct hg_sweep *s, struct hg_sweep_lane *l, uint64_t t);
/* The idle period ends because of this lane of the target, by its wait. */
void hg_sweep_idle_end(struct hg_sweep *s, const struct hg_sweep_lane *l);
/* The window ends first. */
void hg_sweep_idle_rest(struct hg_sweep *s);

#endif
