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

/* It was woken by a softirq that nobody's own call ran: at the end of an interrupt, or in a thread for it. */
static inline bool hg_wake_is_softirq(uint8_t ctx)
{
	return ctx == HG_CTX_SOFTIRQ_IRQ || ctx == HG_CTX_KSOFTIRQD || ctx == HG_CTX_NAPI_THREAD;
}

/* One outside sample; a series is sorted by time, values are running totals. */
struct hg_sample {
	uint64_t time_ns;
	/*
	 * schedstat: run, delay; CPU times: busy, steal; task times: user, system; cgroup:
	 * throttled_ns, usage_ns; rss: bytes, -. What is called a gauge is no total: hg_series_mean().
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
	/* part of the window in which it existed and was a member, but for the time that it was none */
	uint64_t from_ns, to_ns, away_ns;
	/* sums to hg_lane_wall_ns() for members; for others only running is filled */
	uint64_t leaf_ns[HG_LEAVES];
	uint64_t (*sub_ns)[HG_LEAVES]; /* [subwindows], NULL for lanes without role */
	uint64_t switches, wakeups, migrations, missing_wakeups;
	/* wakeups by the task itself: of the target's lanes by it, of it by theirs */
	uint64_t wakes_target, woken_by_target;
	uint64_t wakes; /* the same, by a lane of the target, of other lanes of target and client */
	uint64_t cpu_ran_mask0; /* CPUs 0 to 63 on which it ran */
	struct hg_series schedstat, times;
	/* CPU_SAMPLE in the window; of them in a loop of user space that only waits for a word */
	uint64_t samples, spins;
};

static inline uint64_t hg_lane_wall_ns(const struct hg_lane *l)
{
	return l->to_ns - l->from_ns - l->away_ns;
}

struct hg_cpu {
	uint32_t cpu;
	struct hg_series
		proc_stat; /* a: busy (wall less idle and iowait, from an arbitrary start), b: steal */
	struct hg_series proc_softirq; /* /proc/stat, ticks as ns; a: softirq, b: irq */
	struct hg_series probe_busy;   /* CPU_BUSY: a: busy, b: switches */
	/* CPU_BUSY: every softirq and interrupt, in ksoftirqd or whatever ran; a: softirq, b: irq */
	struct hg_series probe_softirq;
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

/* A network namespace that threads of the target or the client are in, or hourglass's own. */
struct hg_netns {
	uint32_t id; /* from 1 */
	uint64_t inode;
	uint32_t flags;		       /* HG_NETNSF_* */
	const char *why;	       /* nothing, or not all, is read in it; "" if all is */
	struct hg_series tcp;	       /* a: segments sent, b: of them sent again */
	struct hg_series tcp_in;       /* a: segments received, b: connections opened */
	struct hg_series tcp_trouble;  /* a: retransmission timeouts, b: zero windows announced */
	struct hg_series listen;       /* a: accept queue was full, b: drops, the former included */
	struct hg_series socket_drops; /* a: backlog, b: receive queue of a TCP socket was full */
	struct hg_series udp;	       /* a: datagrams delivered, b: sent */
	struct hg_series
		udp_errors; /* a: not delivered, want of buffer included, b: no such port */
	struct hg_series udp_buffer; /* a: receive buffer was full, b: send buffer */
};

/* A network device, (namespace, ifindex). */
struct hg_link {
	uint32_t id;	/* from 1 */
	uint32_t netns; /* id of its namespace */
	uint32_t ifindex;
	const char *name, *kind, *driver; /* unescaped; kind: "veth", ...; "" if unknown */
	uint32_t flags;			  /* IFF_* */
	uint64_t mbit; /* as the driver states; 0 unknown; of a veth it says nothing */
	uint64_t mtu, tx_queues, rx_queues;
	uint32_t offloads;	 /* HG_LINKF_* */
	uint32_t peer;		 /* id of the other end or the device below; 0 none or not known */
	uint32_t peer_netns;	 /* id of its namespace; 0 not known */
	uint32_t master;	 /* id of its bridge or bond; 0 none */
	struct hg_series rx, tx; /* a: bytes, b: packets */
	struct hg_series drops;	 /* packets, a: rx (dropped and missed), b: tx */
	struct hg_series errors; /* packets, a: rx, b: tx */
};

/* A queueing discipline of a device, or a class of one: its handle has a minor number. */
struct hg_qdisc {
	uint32_t link; /* id */
	uint32_t handle,
		parent;	       /* parent HG_QDISC_ROOT: all that the device sends goes through it */
	const char *kind;      /* "tbf", "noqueue", ... */
	uint64_t rate, burst;  /* tbf, class of htb: bytes a second at most, bytes; 0 for others */
	struct hg_series sent; /* a: bytes, b: packets */
	struct hg_series drops;	   /* a: packets dropped, b: times held back (overlimits) */
	struct hg_series requeues; /* a: packets, - */
	struct hg_series backlog;  /* a: bytes, b: packets; gauges */
};

struct hg_softnet {
	uint32_t cpu;
	struct hg_series packets; /* a: processed, b: rounds that ended with work left (squeezed) */
	struct hg_series drops;	  /* a: backlog was full, b: flow limit */
	struct hg_series rps;	  /* a: times another CPU gave it packets, - */
	struct hg_series backlog; /* a: packets, -; gauge */
};

struct hg_disk {
	uint64_t dev; /* major << 20 | minor */
	const char *name;
	struct hg_series requests, bytes; /* a: reads, b: writes */
	struct hg_series time_ns;	  /* summed over requests; a: reads, b: writes */
	struct hg_series busy;	    /* a: ns with a request in flight, b: that times the requests */
	struct hg_series in_flight; /* a: requests, -; gauge */
	struct hg_series flushes;   /* a: requests, b: ns summed over them */
	struct hg_series discards;  /* a: requests, b: bytes */
	struct hg_series merged;    /* a: reads, b: writes */
};

/* Pressure of the machine or a cgroup of the target. */
struct hg_psi {
	const char *scope; /* path of the cgroup; "" the machine */
	enum hg_psi_resource resource;
	const char *why;	/* there are no figures; "" if there are */
	struct hg_series stall; /* ns, a: some, b: full */
};

/* A TCP socket of the target or the client, sampled once a second. */
struct hg_socket {
	uint64_t cookie;
	uint32_t netns; /* id */
	uint32_t role;	/* HG_ROLEF_TARGET, HG_ROLEF_CLIENT, both, or 0: of somebody else */
	uint32_t state; /* last seen: 1 established, 10 listening */
	uint16_t port, peer_port;
	uint64_t mss;
	struct hg_series rtt;	  /* us, a: smoothed, b: least; gauges */
	struct hg_series window;  /* segments, a: cwnd, b: unacknowledged; gauges */
	struct hg_series queue;	  /* bytes, a: to send or unacknowledged, b: not read; gauges.
				      listening: a: room for, b: connections to be accepted */
	struct hg_series notsent; /* a: bytes, b: delivery rate in bytes a second; gauges */
	struct hg_series limited; /* ns, a: by the peer's window, b: by the send buffer */
	struct hg_series busy;	  /* a: ns with data outstanding, b: segments sent again */
	struct hg_series bytes;	  /* a: acknowledged, b: received */
};

/* What threads of a target received and sent as servers. a: count, b: bytes */
struct hg_message_series {
	uint32_t target; /* index, or HG_MESSAGES_OF_OTHERS */
	struct hg_series received, sent;
};

/* What was named to be recorded. */
struct hg_model_target {
	uint32_t index; /* as hg_lane.target */
	int type;	/* enum hg_target_type */
	uint64_t id;	/* tgid, or the cgroup's */
	/* comm, or path of the cgroup; controllers of its v1 hierarchy, "" none; unescaped, the model's */
	const char *name, *hierarchy;
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
	bool kernel;   /* blocked.lock: a lock of the kernel, not a futex */
	int16_t sysnr; /* blocked: system call, -1 unknown */
	uint16_t cpu;  /* running: on it; runnable, throttled: queued on it */
	/*
	 * blocked: lane that will end it (for softirq context: lane that was current, meaningful
	 * only for SOFTIRQ_OWN); runnable: lane that runs on cpu now; 0 unknown
	 */
	uint32_t by;
	/*
	 * blocked: the softirq that will end it runs on this CPU, plus 1; 0: it is ended otherwise, or in the
	 * call of a task (SOFTIRQ_OWN)
	 */
	uint32_t ended_on;
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

/* Waits of a lane whose stack was taken (one in a while), by what they waited for and by stack. */
struct hg_wait_stack {
	uint32_t lane;
	enum hg_leaf leaf;
	const char *frames; /* functions of the kernel, innermost first, joined by ';' */
	uint64_t waits, ns; /* in the window */
};

/* A word that threads of a process spin for in user space. */
struct hg_spin_word {
	uint32_t tgid;
	uint64_t word;	       /* address; 0: not known, and what follows is of one loop */
	uint64_t code_address; /* of the loop that was seen first */
	const char *code;      /* file+offset of it; "" unknown */
	bool takes; /* its loops change it by an atomic instruction, as one does to take a lock */
	uint64_t samples, ns; /* of all threads that spin for it */
	uint64_t *sub_ns;     /* [subwindows] */
	uint32_t lanes;	      /* that ever did */
	/* looks from outside: in all, with a value for which the loops wait, and for which it is not known */
	uint64_t looks, looks_waits, looks_unknown;
};

/* A lock of the kernel for which threads of the target waited, by the contention events. */
struct hg_kernel_lock {
	uint64_t address;
	uint32_t flags;		 /* HG_CONTENTIONF_*, of any of its waits */
	uint64_t waits, wait_ns; /* over all waiters */
	uint64_t p99_ns;	 /* so long at most, to a quarter */
	uint32_t waker;		 /* lane that ended most of its sleeps; 0 */
	/* function in which the sampler found its waiters asleep most often; NULL */
	const char *asleep_in;
};

/* Samples of running threads of the target in a sub-window. */
struct hg_kernel_times {
	uint32_t samples, user; /* all; those in user space */
	uint32_t
		spins_sleeping; /* in the kernel, spinning for a lock for which they would sleep in the end */
	uint32_t spins; /* for one for which nobody sleeps */
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
	int fd;		  /* 1, 2; 3 = --client-log */
	const char *text; /* NULL: not a whole line, or not text */
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

/* level_all: as in hg_model_session; kernel threads are then nobody's target. */
bool hg_lane_is_target(const struct hg_lane *l, bool level_all);
bool hg_lane_is_client(const struct hg_lane *l);

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
size_t hg_model_messages(const struct hg_model *m, const struct hg_message_series **out);
size_t hg_model_targets(const struct hg_model *m, const struct hg_model_target **out);
size_t hg_model_locks(const struct hg_model *m,
		      const struct hg_lock **out); /* most wait_ns first */
size_t hg_model_wait_stacks(const struct hg_model *m, const struct hg_wait_stack **out);
size_t hg_model_spins(const struct hg_model *m, const struct hg_spin_word **out);
/* The lane was seen to spin for it. */
bool hg_model_spins_for(const struct hg_model *m, const struct hg_spin_word *w, uint32_t lane);
/* By id: a hole in the ids is an entry with id 0. NULL-safe look-ups: hg_model_netns_find(), hg_model_link_find(). */
size_t hg_model_netns(const struct hg_model *m, const struct hg_netns **out);
size_t hg_model_links(const struct hg_model *m, const struct hg_link **out);
size_t hg_model_qdiscs(const struct hg_model *m, const struct hg_qdisc **out);
size_t hg_model_softnet(const struct hg_model *m, const struct hg_softnet **out); /* index = CPU */
size_t hg_model_disks(const struct hg_model *m, const struct hg_disk **out);
size_t hg_model_psi(const struct hg_model *m, const struct hg_psi **out);
size_t hg_model_sockets(const struct hg_model *m, const struct hg_socket **out);
/* NULL: there is none of this id. */
const struct hg_netns *hg_model_netns_find(const struct hg_model *m, uint32_t id);
const struct hg_link *hg_model_link_find(const struct hg_model *m, uint32_t id);

size_t hg_model_lines(const struct hg_model *m, const struct hg_line **out);
void hg_model_losses(const struct hg_model *m, struct hg_losses *out);
/*
 * Part of the sampler's rounds in the window that found at least one thread of the target in one of these system
 * calls (/proc/PID/task/TID/syscall); *rounds_out: how many rounds. False if there were none.
 */
bool hg_model_syscalls_seen(const struct hg_model *m, const int *sysnrs, size_t n, double *part_out,
			    uint64_t *rounds_out);

size_t hg_model_kernel_locks(const struct hg_model *m,
			     const struct hg_kernel_lock **out); /* most wait_ns first */
const struct hg_kernel_times *hg_model_kernel_times(const struct hg_model *m); /* [subwindows] */
/* Function of the kernel that asks for the locks for which most samples spin; NULL: none does. */
const char *hg_model_kernel_spins_in(const struct hg_model *m, bool sleeping);
/*
 * Part of the sampler's rounds in the window that found at least one thread of the target asleep in this function
 * (/proc/PID/task/TID/wchan). False if there are no such looks.
 */
bool hg_model_kernel_seen(const struct hg_model *m, const char *function, double *part_out,
			  uint64_t *rounds_out);

struct hg_model_session {
	bool whole;			      /* recording ended in order and the file is intact */
	int end_reason;			      /* HG_END_*, 0 unknown */
	bool client;			      /* a CMD was run */
	const char *client_argv, *client_log; /* "" if none */
	const char *client_format, *client_regex; /* --client, --client-regex; "" if none */
	bool client_ended;
	int client_status; /* as of waitpid */
	/* without a CMD: program that does nearly all the waking of the target and is taken for the client; NULL none */
	const char *client_found;
	double client_found_share; /* of these wakes */
	uint64_t events;	   /* records of CPU streams in the window */
	uint64_t own_cpu_ns;	   /* hourglass's own user-space CPU in the window */
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

/*
 * Mean of a gauge over the samples in [from, to]; *n_out their number. False if there is none.
 */
bool hg_series_mean(const struct hg_series *s, uint64_t from_ns, uint64_t to_ns, double *a_out,
		    double *b_out, size_t *n_out);

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
