/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of attribution: what the sweep over the model adds up, and what a detector gets and gives.
 * Used by analysis/attribution*.c and analysis/detectors/ only.
 *
 * At each moment of the window the target's n active lanes (running, runnable or throttled) share the time: each
 * earns dt/n, credited to what holds it back just then. When none is active, the moment goes to what ends the
 * idleness. Every nanosecond is credited exactly once, so the shares of a sub-window sum to 1
 * (criticality: Du Bois et al., "Criticality stacks", ISCA 2013; blame: Zhou et al., "wPerf", OSDI 2018).
 */
#ifndef HG_ATTRIBUTION_H
#define HG_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/hg_arena.h"
#include "analysis/hg_findings.h"
#include "analysis/hg_model.h"

#define HG_SUBWINDOWS_MAX 64

/* To what a moment is credited. */
enum hg_blame {
	HG_BLAME_SERIAL, /* lane: it runs, and no other lane of the target wants a CPU or one is idle */
	HG_BLAME_POOL,	    /* several lanes want CPUs and none of the machine's is idle */
	HG_BLAME_POOL_MASK, /* the same, but a CPU that they may not use is idle */
	HG_BLAME_PLACEMENT, /* a lane waits behind target or client although another CPU that it may use is idle */
	HG_BLAME_WAKE_LATENCY, /* a lane waits for an idle CPU to take it */
	HG_BLAME_COMPETITOR, /* lane: it runs where a lane of the target waits; it is neither target nor client */
	HG_BLAME_SOFTIRQ, /* CPU: it is full of softirqs, or ksoftirqd runs, and a lane waits for it or for what it receives */
	HG_BLAME_QUOTA,	  /* throttled */
	HG_BLAME_LOCK, /* lock index: waiters, and the holder runs or nobody of the target is active */
	/* nobody of the target is active and nobody waits for a lock; by what ends it: */
	HG_BLAME_CLIENT_BUSY,  /* the client's lane that sends next is running or runnable */
	HG_BLAME_CLIENT_TIMER, /* ... sleeps on a timer: it thinks or is paced */
	HG_BLAME_CLIENT_WAIT,  /* ... waits for the target (or for something else) */
	HG_BLAME_NET,	       /* the network, sender unknown (another machine) */
	HG_BLAME_NET_LATE, /* ... on this machine, but it was not in the sender's own call that it arrived */
	HG_BLAME_SERVICE, /* a lane of the target sleeps on a timer while another one is ready to serve */
	HG_BLAME_SERIAL_WAIT, /* a lane of the target sleeps on a timer and no other one is ready */
	HG_BLAME_DISK,
	HG_BLAME_JOURNAL, /* lane: the thread of a file system's journal, which ends waits for the disk */
	HG_BLAME_PEER,	    /* lane: it is neither target nor client */
	HG_BLAME_PEER_WAIT, /* lane: the same, while it waits itself */
	HG_BLAME_RELAY, /* lane: the same, and it ends waits of the client as well: it stands between them */
	HG_BLAME_OTHER,
	HG_BLAME_SPIN, /* word index: lanes spin for it in user space, or hold it meanwhile; from samples, see hg_spins_credit() */
	HG_BLAME_KERNEL_SLEEP, /* lanes wait for a mutex or rwsem of the kernel, or spin for one */
	HG_BLAME_KERNEL_SPIN,  /* lanes spin for a spinlock of the kernel */
	HG_BLAMES,
};

/* ns of each sub-window that are credited to one object of a blame. */
struct hg_blame_row {
	enum hg_blame blame;
	uint64_t id; /* lane, lock index or CPU, 0 if the blame has no object */
	double sub_ns[HG_SUBWINDOWS_MAX];
	double total_ns;
	uint64_t ended_target, ended_client; /* peer, relay: waits of these that it ended */
};

/* A lock as the sweep saw it. */
struct hg_blame_lock {
	uint32_t tgid;
	uint64_t address;
	bool kernel;	  /* all locks of the kernel; then address is 0 */
	uint32_t waiting; /* lanes now */
	uint32_t holder;  /* lane, best knowledge now; 0 */
	double contended_ns;
	double holder_leaf_ns[HG_LEAVES]; /* what the holder did while there were waiters */
	int holder_sysnr;		  /* of its longest blocked state */
	double holder_sysnr_ns;
	uint32_t holder_ender; /* lane that ended most of the holder's waits, by time; 0 */
	double holder_ender_vote_ns;
	uint32_t holder_lane; /* lane that held it longest */
	double holder_lane_ns;
};

struct hg_shares {
	unsigned int subs;
	double sub_ns[HG_SUBWINDOWS_MAX]; /* length of each */
	double wall_ns;
	struct hg_blame_row *rows; /* sorted by total_ns, descending */
	size_t rows_count;
	struct hg_blame_lock *locks;
	size_t locks_count;
};

/* Sweeps the model once. 0 or -errno. */
int hg_shares_make(struct hg_model *m, struct hg_shares *out);
void hg_shares_clear(struct hg_shares *s);
/* Largest rows first, by total_ns. */
void hg_shares_sort(struct hg_shares *s);
/* The row, or NULL. id is ignored for blames without object: pass 0. */
const struct hg_blame_row *hg_shares_row(const struct hg_shares *s, enum hg_blame blame,
					 uint64_t id);
/* The largest row of a blame, or NULL. */
const struct hg_blame_row *hg_shares_largest(const struct hg_shares *s, enum hg_blame blame);

/* A figure from outside the events, over the part of the window that its samples cover. */
struct hg_outside {
	bool known;
	double ratio; /* of the covered time */
	double span_s;
};

/* What detectors look at. */
struct hg_attribution {
	struct hg_model *model;
	struct hg_arena *arena;
	struct hg_shares shares;
	const struct hg_client_result *client;
	const struct hg_lane *lanes;
	size_t lanes_count;
	const struct hg_cpu *cpus;
	size_t cpus_count, cpus_online;
	bool level_all;
	double wall_ns;

	double target_run_ns, client_run_ns, competitor_run_ns; /* by events */
	double target_delay_ns;					/* runnable, by events */
	double target_throttled_ns;
	const struct hg_lane *target_top, *client_top;	  /* most running time */
	double target_top_util, client_top_util;	  /* of it, by events */
	struct hg_outside target_top_out, client_top_out; /* the same by schedstat */
	struct hg_outside target_run_out, target_delay_out,
		client_run_out;	     /* sums by schedstat, in CPUs */
	struct hg_outside pool_out;  /* busy share of all online CPUs by /proc/stat */
	struct hg_outside steal_out; /* steal share of all online CPUs by /proc/stat */
	double cpu_wait_share;	     /* share of time in which CPUs held the target back */
	double client_wait; /* share of time in which the client's busiest thread waited for a CPU, by schedstat */
	double other_cpus; /* CPUs that neither target nor client kept busy, by /proc/stat; 0 unknown */
	double in_service; /* mean number of the target's lanes that serve: active, timer or disk */
};

/* Figures by which a cause is said to be saturated; one place, each with its reason. */
#define HG_UTIL_SERIAL_MIN                                                                         \
	0.85		      /* a thread or client this busy has no room for 1.2 times the load */
#define HG_UTIL_POOL_MIN 0.93 /* /proc/stat counts ticks: an all-busy machine shows 95 to 100 % */
#define HG_UTIL_IDLE_MAX 0.70 /* "nothing is saturated": room for 1.4 times the load */
#define HG_SHARE_MIN	 0.20 /* below it the removal gains less than 1.25 times */
#define HG_SPIN_MAX                                                                                \
	HG_SHARE_MIN /* of the CPU time: whoever spins so much gains more by not spinning than HG_SHARE_MIN allows */
#define HG_SPIN_LANES_MIN   2 /* one that polls alone waits for a device or a queue, not for a lock */
#define HG_SPIN_SAMPLES_MIN 50	 /* one of them is 2 %: HG_SPIN_MAX is told from half of it */
#define HG_CPU_WAIT_MAX	    0.10 /* of the time: CPUs do not hold it back */
#define HG_JOURNAL_PART                                                                            \
	0.5 /* of the waits for a device: a journal that ends so many sets the pace of the rest */
#define HG_POLL_MIN                                                                                \
	0.5 /* of its CPU time: a thread may answer first and finish its work after, but not mostly */
#define HG_MET_MIN                                                                                 \
	0.95 /* of the offered load: with what is missing 1.05 times as much would be served */
#define HG_LITTLE_MIN 0.75 /* X * R / connections: the client's connections are all waiting */

/* A candidate in the making, with its credit per sub-window. */
struct hg_case {
	struct hg_candidate c;
	double sub_ns[HG_SUBWINDOWS_MAX];
	bool credited;
	bool doubted; /* something that looks the same cannot be told from it: lowers the confidence */
	uint64_t blames; /* a bit for each that it was credited with */
	bool unjudged;	 /* time of this blame, which no detector judges */
	enum hg_blame blame;
};

/*
 * A cause. evaluate fills k: credits rows (hg_case_credit), subject, evidence, refutations; class and cause
 * are set already. When inputs are missing it sets c.unknown_why instead; a case without credit is dropped.
 */
struct hg_detector {
	const char *class_name, *cause;		  /* cause NULL: none */
	const char *needs;			  /* inputs, for people */
	const char *proof_events, *proof_outside; /* what its two proofs are, for people */
	void (*evaluate)(const struct hg_attribution *a, struct hg_case *k);
};
extern const struct hg_detector *const hg_detectors[]; /* ends with NULL */

extern const struct hg_detector hg_detector_serial_thread;
extern const struct hg_detector hg_detector_saturated;
extern const struct hg_detector hg_detector_affinity;
extern const struct hg_detector hg_detector_sched_placement;
extern const struct hg_detector hg_detector_quota;
extern const struct hg_detector hg_detector_competitor;
extern const struct hg_detector hg_detector_locking_user;
extern const struct hg_detector hg_detector_locking_user_spin;
extern const struct hg_detector hg_detector_kernel_sleep;
extern const struct hg_detector hg_detector_kernel_spin;
extern const struct hg_detector hg_detector_disk_device;
extern const struct hg_detector hg_detector_disk_journal;
extern const struct hg_detector hg_detector_link_shaper;
extern const struct hg_detector hg_detector_rtt_window;
extern const struct hg_detector hg_detector_drops;
extern const struct hg_detector hg_detector_softirq_one_cpu;
extern const struct hg_detector hg_detector_vmm_io_thread;
extern const struct hg_detector hg_detector_client_saturated;
extern const struct hg_detector hg_detector_too_few;
extern const struct hg_detector hg_detector_think_time;
extern const struct hg_detector hg_detector_none;

/*
 * True, with a refutation added, if CPUs hold target or client back. That others keep the machine busy is no objection in
 * itself: the target may get its CPU at once all the same.
 */
bool hg_case_refute_busy_cpus(const struct hg_attribution *a, struct hg_case *k);

/*
 * Part of its CPU time in which lanes of the target (lane NULL: all) spin in user space, by samples. unknown: too few
 * samples.
 */
struct hg_spinning {
	bool known;
	double part;
	uint64_t spins, samples;
};
struct hg_spinning hg_spinning_of(const struct hg_attribution *a, const struct hg_lane *lane);
/* True, with a refutation added, if that is HG_SPIN_MAX or more: the CPU time is not work. */
bool hg_case_refute_spinning(const struct hg_attribution *a, struct hg_case *k,
			     const struct hg_lane *lane);
/*
 * True, with a refutation added, if most of the CPU time of a lane of the target (NULL: all) passes while no request is in
 * flight: it polls, or has work of its own.
 */
bool hg_case_refute_polling(const struct hg_attribution *a, struct hg_case *k,
			    const struct hg_lane *lane);
/* The client offers a rate and is served: whatever is busy, nothing would raise the throughput but more load. */
bool hg_load_is_met(const struct hg_attribution *a);

/* Refutes it if what it takes for work spins for the kernel's locks, or one of them has a queue. */
void hg_case_refute_kernel_locks(const struct hg_attribution *a, struct hg_case *k);

/* The steps of attribution, in their order. */
/* Moves the credit of running threads to the locks that they spin for. 0 or -errno. */
int hg_spins_credit(struct hg_attribution *a);
void hg_figures_make(struct hg_attribution *a);

#define HG_GATES_MAX 10
struct hg_gates {
	struct hg_gate v[HG_GATES_MAX];
	size_t n;
	const char *forbids; /* the first that forbids every verdict */
	const char
		*forbids_all_but_none; /* the same, but an idle target may still be called idle */
	unsigned int lowers;	       /* how many lower the confidence */
};
void hg_gates_check(const struct hg_attribution *a, const struct hg_model_session *session,
		    const struct hg_reader_health *health, struct hg_gates *g);
const char *hg_gate_advice(const char *name);

#define HG_CASES_MAX 48
/* Cases of all detectors and of the time that none judges, ranked. */
size_t hg_cases_make(const struct hg_attribution *a, struct hg_case *cases);
void hg_verdict_make(const struct hg_attribution *a, const struct hg_case *cases, size_t n,
		     const struct hg_gates *g, struct hg_candidate *v);
void hg_what_if_make(const struct hg_attribution *a, const struct hg_candidate *v,
		     struct hg_findings *f);

double hg_lane_run_ns(const struct hg_lane *l);

/* Helpers for detectors. */
/* Adds a row's sub-windows to the case's share; NULL adds nothing. */
void hg_case_credit(const struct hg_attribution *a, struct hg_case *k,
		    const struct hg_blame_row *row);
/* All rows of a blame. Returns their sum, ns. */
double hg_case_credit_all(const struct hg_attribution *a, struct hg_case *k, enum hg_blame blame);
struct hg_evidence *hg_case_evidence(const struct hg_attribution *a, struct hg_case *k, bool proof,
				     bool holds, double value, double threshold, const char *source,
				     const char *fmt, ...) HG_PRINTF(8, 9);
void hg_case_refute(const struct hg_attribution *a, struct hg_case *k, const char *fmt, ...)
	HG_PRINTF(3, 4);
void hg_case_chain(const struct hg_attribution *a, struct hg_case *k, const char *fmt, ...)
	HG_PRINTF(3, 4);
void hg_case_subject_lane(const struct hg_attribution *a, struct hg_case *k,
			  const struct hg_lane *lane, const char *kind);
/* Name of a process: of its first thread, else of the last one seen; "?" if none was. */
const char *hg_process_name(const struct hg_attribution *a, uint32_t tgid);
/* "nginx (tid 12)" */
const char *hg_lane_label(const struct hg_attribution *a, const struct hg_lane *lane);
/* Run (or delay) share of a lane by schedstat in the window. */
struct hg_outside hg_outside_lane(const struct hg_attribution *a, const struct hg_lane *lane,
				  bool delay);

#define HG_SHAPER_USED_MIN                                                                         \
	0.90 /* of what a qdisc may pass: the sender pauses a little between requests */
/* Part of its rate that the fullest qdisc (or full line) of target and client passed; 0: there is none with a rate. */
double hg_shaper_used(const struct hg_attribution *a);

/* A block device by its own account. */
struct hg_device {
	const struct hg_disk *disk;
	double busy;  /* share of the time with a request in flight */
	double queue; /* requests in flight, mean */
	double requests, flushes, request_ms, span_s;
};
/* The one of this name, or, NULL, the one with most requests in flight. False: there are no figures of it. */
bool hg_device_find(const struct hg_attribution *a, const char *name, struct hg_device *out);

/* Deterministic percentile bootstrap of the mean of v over its sub-windows (1,000 resamples). */
void hg_bootstrap(const double *v, const double *weight, unsigned int n, double *low_out,
		  double *high_out);

#endif
