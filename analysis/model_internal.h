/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the model share. Not for callers: they use hg_model.h.
 *
 * Loading walks the file three times, each time only over the streams that it needs:
 *   model_definitions.c  control: tasks, roles, names, marks; then the window is known
 *   model_samples.c      sampler and client: series, lock samples, lines
 *   model_replay.c       CPUs and control: the state machine, in "totals" mode
 * and hg_model_sweep runs the same state machine over the CPUs once more, in "sweep" mode.
 *
 * The two runs meet in hg_model.waits: each time a lane begins to wait (blocked or runnable) the next index of that
 * array is its own. Totals writes there, when the wait ends, what only its end tells; the sweep meets the same waits in the
 * same order and so knows at their beginning. This costs 4 bytes a wait: 60 s at 300,000 events a second are at most
 * 18 million waits, 72 MB.
 */
#ifndef HG_MODEL_INTERNAL_H
#define HG_MODEL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define HASH_NONFATAL_OOM 1 /* a library does not exit */
#include <uthash.h>

#include "analysis/hg_model.h"

/* Bounds: what a file may ask for, whatever it says. */
#define HG_LANES_MAX   (1U << 20) /* higher lane ids are ignored, with one message */
#define HG_MEMBERS_MAX (1U << 16) /* lanes with a role: each has sums per sub-window, 2 KB */
#define HG_CPUS_MAX    4096U
#define HG_HOLES_MAX   (1U << 18)
#define HG_WAITS_MAX                                                                               \
	(UINT32_C(1) << 27) /* 512 MB; beyond, waits are classed by what their beginning tells */
#define HG_LOCKS_MAX	    (1U << 16)
#define HG_KERNEL_LOCKS_MAX (1U << 14)
#define HG_WAITERS_MAX	    (1U << 20) /* (lock, lane) pairs that are told apart */
#define HG_SAMPLES_MAX	    (16U << 20)
#define HG_LINES_MAX	    (1U << 20)
#define HG_LOOKS_MAX	    (4U << 20)
#define HG_CGROUPS_MAX	    1024U
#define HG_TARGETS_MAX	    256U
#define HG_PROCESSES_MAX    4096U /* further ones have no footprint */
#define HG_NETNS_MAX	    256U
#define HG_LINKS_MAX	    4096U
#define HG_QDISCS_MAX	    4096U
#define HG_DISKS_MAX	    1024U
#define HG_PSI_MAX	    1024U
#define HG_SOCKETS_MAX	    16384U
#define HG_PROBES_MAX	    64U
#define HG_SPINS_MAX	    4096U
#define HG_SUBWINDOWS_MAX   1000U

/* A wake onto an idle CPU takes some microseconds; only a longer wait beside an idle CPU is one that placement could have saved. */
#define HG_RUNNABLE_IDLE_MIN_NS UINT64_C(50000)

/* Lanes by (tgid, tid in their pid namespace): what a lock word names. */
struct hg_nstid {
	uint64_t key;
	uint32_t lane; /* the newest; older ones by hg_model.nstid_next */
	UT_hash_handle hh;
};

struct hg_lock_key {
	uint64_t tgid, address;
};

struct hg_lock_entry {
	struct hg_lock_key key;
	struct hg_lock l;
	uint32_t index;
	uint32_t waiting;  /* lanes that wait now */
	uint64_t since_ns; /* when the first of them began */
	uint32_t tick;	   /* last sampler tick that found a waiter */
	UT_hash_handle hh;
};

struct hg_locks {
	struct hg_lock_entry *table;
	struct hg_lock_entry **by_index;
	size_t count;
	uint64_t *waiters; /* open addressing: (lock index << 32 | lane) + 1 */
	size_t waiters_count, waiters_size;
	struct hg_lock *sorted;
};

/* A STACK. */
struct hg_stack_def {
	uint32_t frames; /* string; 0: not defined */
	char *caller;	 /* innermost function that is none of a lock's */
	bool sleeps;	 /* of such a lock the waiters sleep in the end: a mutex, an rwsem */
};

/* Stacks, and the waits that have one. */
struct hg_wait_stack_entry;
struct hg_wait_stacks {
	struct hg_stack_def *defs; /* [id] */
	size_t defs_count;
	struct hg_wait_stack *waits;
	size_t waits_count, waits_size;
	struct hg_wait_stack_entry *by_key;
};

struct hg_spin_pair;
struct hg_spins {
	struct hg_spin_word *words;
	size_t words_count, words_size;
	uint32_t *by_id; /* [HG_SPINS_MAX + 1]: index + 1 */
	struct hg_spin_pair *pairs;
};

/* A thread of the target was found in a system call. */
struct hg_look {
	uint32_t tick;
	int32_t sysnr;
};

/* A few candidates and how often each was met. */
struct hg_kernel_votes {
	uint64_t id[6], count[6];
};

#define HG_KERNEL_LENGTHS 160 /* classes of lengths of waits */
struct hg_kernel_entry {
	struct hg_kernel_lock l;
	uint64_t lengths[HG_KERNEL_LENGTHS];
	struct hg_kernel_votes names, wakers;
	UT_hash_handle hh;
};

/* A thread of the target was found asleep in a function of the kernel. */
struct hg_kernel_look {
	uint64_t time_ns, name; /* a string's id */
	uint32_t lane, tick;
};

/* model_kernel.c: the kernel's own locks. */
struct hg_kernel {
	struct hg_kernel_entry *locks;
	size_t locks_count;
	struct hg_kernel_lock *sorted;
	struct hg_kernel_look *looks; /* by lane and time; in the end by tick */
	size_t looks_count, looks_size;
	struct hg_kernel_times *times;		 /* [subwindows] */
	struct hg_kernel_votes spins_callers[2]; /* stacks: of locks that sleep, that spin */
	const char *spins_sleeping_in, *spins_in;
};

/* A time in which a stream had lost events. */
struct hg_hole {
	uint64_t from_ns, to_ns;
	uint32_t cpu;
};

/* Two PROBE_COST records between which the kernel's statistics were on; not ended: end_ns 0. */
struct hg_probe_cost {
	uint64_t begin_ns, end_ns;
	uint64_t runs, ns; /* in between; until it is ended the totals at its beginning */
};

/* A socket by cookie, or a qdisc by (link, handle, parent). */
struct hg_network_entry {
	uint64_t key[2];
	uint32_t index;
	UT_hash_handle hh;
};

/* model_network.c, model_disk.c: what the samplers saw of the network and the disks. */
struct hg_network {
	struct hg_netns *netns; /* [id - 1], as links */
	struct hg_link *links;
	struct hg_qdisc *qdiscs;
	struct hg_softnet *softnet;
	struct hg_socket *sockets;
	struct hg_network_entry *sockets_by_cookie, *qdiscs_by_key;
	size_t netns_count, links_count, qdiscs_count, softnet_count, sockets_count;
	bool warned;
};

struct hg_disks {
	struct hg_disk *disks;
	struct hg_psi *psi;
	size_t disks_count, psi_count;
};

struct hg_probe_info {
	const char *name, *why;
	bool known, attached;
	bool no_state; /* its events move no lane between states: softirqs, irqs, timers, names */
	struct hg_probe_cost *cost;
	size_t cost_count;
};

struct hg_model {
	struct hg_reader *r;
	uint64_t begin_ns, end_ns; /* recording */
	uint64_t from_ns, to_ns;   /* window */
	unsigned int subwindows;
	uint64_t *sub_ns;      /* [subwindows + 1] */
	unsigned int sub_last; /* sub-window of the last look-up */

	struct hg_lane *lanes;
	uint32_t *nstid_next; /* [lanes]: next lane with the same (tgid, nstid), 0 none */
	size_t lanes_count, lanes_size;
	size_t defined, members;
	struct hg_nstid *nstids;
	char *lane_names; /* "lane N" of undefined lanes */

	struct hg_cpu *cpus;
	size_t cpus_count, cpus_size;
	struct hg_cgroup *cgroups;
	size_t cgroups_count;
	struct hg_process *processes;
	size_t processes_count;
	struct hg_message_series *messages;
	size_t messages_count;
	struct hg_model_target targets[HG_TARGETS_MAX];
	size_t targets_count;
	struct hg_line *lines;
	size_t lines_count;
	struct hg_network network;
	struct hg_disks disks;
	struct hg_locks locks;
	struct hg_spins spins;
	struct hg_wait_stacks stacks;
	size_t samples; /* in all series */
	uint32_t ticks; /* of the sampler, in the window */
	struct hg_look *looks;
	size_t looks_count, looks_size;
	struct hg_kernel kernel;

	uint32_t *waits; /* see above */
	size_t waits_count, waits_size;
	struct hg_hole *holes;
	size_t holes_count, holes_size;
	bool holes_known;
	struct hg_losses losses;

	struct hg_probe_info probes[HG_PROBES_MAX];
	struct hg_series own;
	uint64_t wakes_outside; /* of the target's lanes, by other tasks or the network */
	struct hg_model_session session;
	uint64_t mark_begin_ns, mark_end_ns, mark_client_start_ns, mark_client_end_ns;
	bool has_begin, has_end, has_client_start, has_client_end;
	bool warned_lanes, warned_members, warned_cpus, warned_waits, warned_samples, warned_locks;
};

/* model_lanes.c: the tables of lanes and CPUs. */
/* Makes room for a lane of this id. False: it is none, idle, or beyond the bound. */
bool hg_model_lane_want(struct hg_model *m, uint64_t id, int *err);
struct hg_cpu *hg_model_cpu_want(struct hg_model *m, uint64_t cpu, int *err);
int hg_model_nstid_add(struct hg_model *m, uint32_t lane);
/* String of the file that is never NULL. */
const char *hg_model_string(const struct hg_model *m, uint64_t id);

/* model_definitions.c */
int hg_model_read_definitions(struct hg_model *m);
int hg_model_set_window(struct hg_model *m, const struct hg_model_opts *opts);
/* Names, which depend on the window. */
int hg_model_read_names(struct hg_model *m);

/* model_samples.c */
int hg_model_read_samples(struct hg_model *m);
int hg_series_add(struct hg_model *m, struct hg_series *s, uint64_t time_ns, uint64_t a,
		  uint64_t b);
double hg_model_bpf_cpus(const struct hg_model *m);

/* model_client.c: without a CMD, sets the role of the lanes that must be its client; after the totals. */
void hg_model_client_find(struct hg_model *m);

/* model_network.c: a definition, or a sample, that is about it. 0 or -errno. */
int hg_network_define(struct hg_model *m, const struct hg_record *rec);
int hg_network_sample(struct hg_model *m, const struct hg_record *rec);
/* After all definitions: the other ends. */
void hg_network_resolve(struct hg_model *m);
void hg_network_free(struct hg_model *m);

/* model_disk.c */
int hg_disks_sample(struct hg_model *m, const struct hg_record *rec);
void hg_disks_free(struct hg_model *m);

/* model_account.c: interval sums, cut to the window. */
int hg_account_prepare(struct hg_model *m); /* zeroes all sums; allocates those of members */
void hg_account_add(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t from_ns,
		    uint64_t to_ns);
/* Of [from, to], in which the lane was counted as running, dur_ns go to leaf. */
void hg_account_move(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t from_ns,
		     uint64_t to_ns, uint64_t dur_ns);
/* A lane ran on a CPU. */
void hg_account_ran(struct hg_model *m, uint32_t lane, unsigned int cpu, uint64_t from_ns,
		    uint64_t to_ns);
void hg_account_finish(struct hg_model *m);
/* [from, to) was counted as one leaf and is another. */
void hg_account_rename(struct hg_model *m, uint32_t lane, enum hg_leaf was, enum hg_leaf is,
		       uint64_t from_ns, uint64_t to_ns);
/* The sub-window in which t lies; t in the window. */
unsigned int hg_account_sub(struct hg_model *m, uint64_t t);
/* Adds [from, to) to the slots of sub-windows that it touches. */
void hg_account_spread(struct hg_model *m, uint64_t *slots, size_t stride, uint64_t from_ns,
		       uint64_t to_ns);
static inline void hg_account_span(struct hg_model *m, uint64_t *slots, size_t stride,
				   uint64_t from_ns, uint64_t to_ns)
{
	/* Mostly it lies in the sub-window of the call before. */
	if (from_ns >= m->sub_ns[m->sub_last] && to_ns < m->sub_ns[m->sub_last + 1] &&
	    from_ns < to_ns)
		slots[m->sub_last * stride] += to_ns - from_ns;
	else
		hg_account_spread(m, slots, stride, from_ns, to_ns);
}
/* The part of dur_ns, spread evenly over [from, to], that lies in [a, b]. */
uint64_t hg_account_part(uint64_t dur_ns, uint64_t from_ns, uint64_t to_ns, uint64_t a, uint64_t b);

/* model_locks.c */
/* Index + 1, or 0 if there is no room. */
uint32_t hg_locks_get(struct hg_model *m, uint32_t tgid, uint64_t address);
void hg_locks_reset(struct hg_model *m); /* keeps what the sampler found */
void hg_locks_begin(struct hg_model *m, uint32_t lock, uint64_t time_ns);
void hg_locks_end(struct hg_model *m, uint32_t lock, uint32_t lane, uint64_t since_ns,
		  uint64_t time_ns);
void hg_locks_sample(struct hg_model *m, uint32_t lock, uint32_t tick);
int hg_locks_finish(struct hg_model *m);
void hg_locks_free(struct hg_model *m);

/* model_stacks.c: a STACK; a wait whose stack was taken. 0 or -errno. */
int hg_stack_define(struct hg_model *m, const struct hg_record *rec);
/* NULL: not defined. */
const struct hg_stack_def *hg_stack_find(const struct hg_model *m, uint64_t id);
int hg_wait_stacks_add(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t stack,
		       uint64_t from_ns, uint64_t to_ns);
void hg_wait_stacks_reset(struct hg_model *m);
void hg_wait_stacks_free(struct hg_model *m);

/* model_spins.c: a SPIN, a SPIN_LOOK, a CPU_SAMPLE. 0 or -errno. */
int hg_spins_define(struct hg_model *m, const struct hg_record *rec);
void hg_spins_look(struct hg_model *m, const struct hg_record *rec);
int hg_spins_reset(struct hg_model *m); /* before the samples are counted (again) */
void hg_spins_sample(struct hg_model *m, const struct hg_record *rec);
void hg_spins_free(struct hg_model *m);

/* model_kernel.c */
/* Of a new stack: caller and sleeps. 0 or -ENOMEM. */
int hg_kernel_stack(const char *frames, struct hg_stack_def *s);
/* The sampler found lane asleep in a function, a string's id. */
int hg_kernel_look(struct hg_model *m, uint32_t lane, uint32_t tick, uint64_t time_ns,
		   uint64_t name);
int hg_kernel_reset(struct hg_model *m); /* keeps looks */
void hg_kernel_sample(struct hg_model *m, const struct hg_record *rec);
/* waker: lane that ended its last sleep, 0. Only waits of the target's threads themselves count. */
void hg_kernel_contention(struct hg_model *m, const struct hg_record *rec, uint32_t waker);
int hg_kernel_finish(struct hg_model *m);
void hg_kernel_free(struct hg_model *m);

/* model_replay.c */
int hg_model_replay_totals(struct hg_model *m);

/* Logs once per model, on behalf of the flag. */
#define hg_model_warn_once(flag, ...)                                                              \
	do {                                                                                       \
		if (!(flag)) {                                                                     \
			(flag) = true;                                                             \
			hg_warn(__VA_ARGS__);                                                      \
		}                                                                                  \
	} while (0)

#endif
