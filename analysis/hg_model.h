/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a trace file into states: for every lane, what it did at each nanosecond of the window, why, and
 * by whom. Facts in, states out; no verdicts. Used by attribution, report and (later) flame graphs.
 *
 * Two passes over the file. The first resolves what only the end of a wait tells (who ended it, in which
 * context) and adds up totals; the sweep replays the window in time order with those reasons already known.
 */
#ifndef HG_MODEL_H
#define HG_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_reader.h"

/* Exclusive states of a lane with their reasons; over a window they sum to its wall time. */
enum hg_leaf {
	HG_LEAF_UNKNOWN = 0,
	/* on a CPU; split into user and kernel for a report only (estimate) */
	HG_LEAF_RUNNING,
	HG_LEAF_RUNNING_SOFTIRQ, /* on a CPU, its time taken by a softirq */
	HG_LEAF_RUNNING_IRQ,
	HG_LEAF_RUNNABLE_BUSY, /* waits for a CPU, no CPU that it may use was idle */
	HG_LEAF_RUNNABLE_IDLE, /* waits although one was idle when it was sampled */
	HG_LEAF_THROTTLED,
	HG_LEAF_BLOCKED_LOCK,
	HG_LEAF_BLOCKED_NET,
	HG_LEAF_BLOCKED_DISK,
	HG_LEAF_BLOCKED_TIMER,
	HG_LEAF_BLOCKED_PEER,
	HG_LEAF_BLOCKED_OTHER,
	HG_LEAVES,
};
/* "running", "running.softirq", "runnable.busy", "blocked.lock", ... as in the JSON report. */
const char *hg_leaf_name(enum hg_leaf leaf);
static inline bool hg_leaf_is_running(enum hg_leaf l)
{
	return l >= HG_LEAF_RUNNING && l <= HG_LEAF_RUNNING_IRQ;
}
static inline bool hg_leaf_is_runnable(enum hg_leaf l)
{
	return l == HG_LEAF_RUNNABLE_BUSY || l == HG_LEAF_RUNNABLE_IDLE;
}
static inline bool hg_leaf_is_blocked(enum hg_leaf l)
{
	return l >= HG_LEAF_BLOCKED_LOCK && l < HG_LEAVES;
}

/* One outside sample; a series is sorted by time, values are running totals. */
struct hg_sample {
	uint64_t time_ns;
	/*
	 * schedstat: run, delay; CPU times: busy, steal; task times: user, system; cgroup:
	 * throttled_ns, usage_ns; rss: bytes, -
	 */
	uint64_t a, b;
};
struct hg_series {
	struct hg_sample *v;
	size_t n;
};

/* A lane: one task. Index in hg_model_lanes() is its id; 0 is none, 1 the idle task. */
struct hg_lane {
	uint32_t id;
	uint16_t machine;
	bool defined; /* false: its definition was lost; name is "lane N" */
	uint32_t tid, tgid, nstid, ppid;
	uint64_t start_ns;
	const char *name; /* latest comm in the window; unescaped; owned by the model */
	uint32_t role;	  /* HG_ROLEF_*, all that it ever had */
	uint32_t target;
	uint32_t flags;	     /* HG_TASKF_* */
	uint32_t cpus_count; /* allowed CPUs, 0 unknown */
	uint64_t cpus_mask0;
	/* part of the window in which it existed and was a member; wall = to - from */
	uint64_t from_ns, to_ns;
	/* sums to to_ns - from_ns for members; for others only running is filled */
	uint64_t leaf_ns[HG_LEAVES];
	uint64_t (*sub_ns)[HG_LEAVES]; /* [subwindows], NULL for lanes without role */
	uint64_t switches, wakeups, migrations, missing_wakeups;
	uint64_t cpu_ran_mask0; /* CPUs 0 to 63 on which it ran */
	struct hg_series schedstat, times;
};

struct hg_cpu {
	uint32_t cpu;
	struct hg_series
		proc_stat; /* a: busy (wall less idle and iowait, from an arbitrary start), b: steal */
	struct hg_series probe_busy; /* CPU_BUSY: a: busy, b: switches */
	uint64_t softirq_ns, irq_ns; /* events, in the window */
	uint64_t softirq_vec_ns[10];
	/* [subwindows] time in which a known lane other than idle ran on it */
	uint64_t *sub_known_ns;
};

struct hg_cgroup {
	const char *path;
	uint64_t quota_us, period_us; /* last seen; quota 0: none */
	uint64_t targets;
	struct hg_series stat;	  /* a: throttled_ns, b: usage_ns */
	struct hg_series periods; /* a: periods, b: throttled periods */
};

/* A process of the target whose memory was sampled. */
struct hg_process {
	uint32_t tgid;
	struct hg_series rss; /* a: resident bytes; gauges, not totals */
};

/* One point of the sweep: from time_ns on, lane is in leaf. */
struct hg_step {
	uint64_t time_ns;
	uint32_t lane;
	uint8_t leaf; /* enum hg_leaf */
	/* blocked: enum hg_wake_ctx that will end it; 0 if it does not end in the window */
	uint8_t ctx;
	/* the lane ends here, or one that is no member leaves its CPU (leaf is meaningless) */
	bool gone;
	/* its time counts; false: without a role at this time, only seen running */
	bool member;
	int16_t sysnr; /* blocked: system call, -1 unknown */
	uint16_t cpu;  /* running: on it; runnable, throttled: queued on it */
	/*
	 * blocked: lane that will end it (for softirq context: lane that was current, meaningful
	 * only for SOFTIRQ_OWN); runnable: lane that runs on cpu now; 0 unknown
	 */
	uint32_t by;
	uint32_t holder; /* blocked.lock: lane that held the lock when the wait began, 0 unknown */
	uint64_t object; /* blocked.lock: address; other system calls: first argument */
};
typedef void (*hg_step_fn)(void *arg, const struct hg_step *step);

/* A lock that lanes waited for, in (address space, address). */
struct hg_lock {
	uint32_t tgid;
	uint64_t address;
	uint64_t waits, wait_ns;     /* over all waiters */
	uint64_t contended_ns;	     /* time with at least one waiter */
	uint64_t(*sub_contended_ns); /* [subwindows] */
	/* sampler ticks that found at least one thread in a futex wait on it */
	uint64_t samples_waiting;
	uint64_t samples; /* sampler ticks in the window */
	uint32_t waiters; /* lanes that ever waited */
};

struct hg_losses {
	uint64_t total, damage; /* events; and chunks' worth of damage as records */
	uint64_t by_probe[64];
	/*
	 * switches that do not fit what was known of their CPU, in the window: events were lost,
	 * and nobody counted them
	 */
	uint64_t contradictions;
	uint64_t lost_ns; /* time in which some stream had a hole, in the window */
};

struct hg_line {
	uint64_t time_ns;
	int fd; /* 1, 2; 3 = --client-log */
	const char *text;
};

struct hg_model;

struct hg_model_opts {
	/*
	 * seconds from the start of the recording; to <= from: the default window: CMD's run if
	 * there is one, else begin to end
	 */
	double window_from_s, window_to_s;
	unsigned int subwindows; /* 0: 20, fewer if they would be shorter than 100 ms */
};

/* Reads r to its end; keeps it for the sweep (r must outlive the model). 0 or -errno with one message. */
int hg_model_load(struct hg_reader *r, const struct hg_model_opts *opts, struct hg_model **out);
void hg_model_free(struct hg_model *m);

uint64_t hg_model_begin_ns(const struct hg_model *m); /* recording */
uint64_t hg_model_end_ns(const struct hg_model *m);
uint64_t hg_model_from_ns(const struct hg_model *m); /* window */
uint64_t hg_model_to_ns(const struct hg_model *m);
unsigned int hg_model_subwindows(const struct hg_model *m);
/* Start of sub-window i (i == subwindows: end of the window). */
uint64_t hg_model_sub_ns(const struct hg_model *m, unsigned int i);

size_t hg_model_lanes(const struct hg_model *m, const struct hg_lane **out);
size_t hg_model_cpus(const struct hg_model *m, const struct hg_cpu **out); /* index = CPU number */
size_t hg_model_cgroups(const struct hg_model *m, const struct hg_cgroup **out);
size_t hg_model_processes(const struct hg_model *m, const struct hg_process **out);
size_t hg_model_locks(const struct hg_model *m,
		      const struct hg_lock **out); /* most wait_ns first */
size_t hg_model_lines(const struct hg_model *m, const struct hg_line **out);
void hg_model_losses(const struct hg_model *m, struct hg_losses *out);

struct hg_model_session {
	bool whole;			      /* recording ended in order and the file is intact */
	int end_reason;			      /* HG_END_*, 0 unknown */
	bool client;			      /* a CMD was run */
	const char *client_argv, *client_log; /* "" if none */
	const char *client_format, *client_regex; /* --client, --client-regex; "" if none */
	bool client_ended;
	int client_status;   /* as of waitpid */
	uint64_t events;     /* records of CPU streams in the window */
	uint64_t own_cpu_ns; /* hourglass's own user-space CPU in the window */
	/* mean CPUs' worth of probe run time, estimated from the measured parts; < 0 unknown */
	double bpf_cpus;
	bool level_all;
};
void hg_model_session_get(const struct hg_model *m, struct hg_model_session *out);
/* Names of probe ids; NULL if none. */
const char *hg_model_probe_name(const struct hg_model *m, unsigned int id);
/* Probes that were not attached: name and why. */
size_t hg_model_probes_missing(const struct hg_model *m, const char *(*out)[2], size_t max);

/*
 * Difference of a running total over [from, to], linearly interpolated between samples; *span_out is the part that the
 * samples cover (never extrapolated). False if fewer than two samples touch it.
 */
bool hg_series_delta(const struct hg_series *s, uint64_t from_ns, uint64_t to_ns, uint64_t *a_out,
		     uint64_t *b_out, uint64_t *span_out);

/* Every step of the window in time order; first one step per lane at the window's start. 0 or -errno. */
int hg_model_sweep(struct hg_model *m, hg_step_fn fn, void *arg);

/* A part of the window for one lane, and what it did in it: for comparing with a series over exactly the span of its samples. */
struct hg_span {
	uint32_t lane;
	uint64_t from_ns, to_ns;     /* cut to the window and the lane's membership */
	uint64_t leaf_ns[HG_LEAVES]; /* out; softirqs and irqs stay with running */
};
/* By one sweep; at most one span a lane. 0 or -errno. */
int hg_model_spans(struct hg_model *m, struct hg_span *spans, size_t n);

#endif
