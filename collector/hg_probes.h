/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes as one object: open, choose targets, attach, seed, drain, promote, free.
 * Called by the session only. Everything that knows libbpf is behind this header.
 */
#ifndef HG_PROBES_H
#define HG_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/spin_loop.h"
#include "trace/hg_kinds.h"
#include "trace/hg_writer.h"

struct hg_probes;

/* A task that just got a lane, a role or a name; pointers are valid during the call. */
struct hg_task_info {
	uint32_t lane, role;
	pid_t tid, tgid;
	uint64_t start_ns;
	const char *comm;
};

/* A loop in user space in which a word is waited for: see collector/spin_loop.h. */
struct hg_spin_seen {
	uint32_t id; /* of its SPIN */
	pid_t tgid;
	struct hg_spin_code code;
	struct hg_spin_loop loop;
};

/* Told during drain and seed, in the session's thread. Any may be NULL. */
struct hg_probes_observer {
	void (*task_new)(void *arg, const struct hg_task_info *task); /* first sight */
	/* it is, or becomes, a member: role != 0 */
	void (*role_new)(void *arg, const struct hg_task_info *task);
	void (*task_exit)(void *arg, uint32_t lane, pid_t tid);
	void (*waker_seen)(void *arg, uint32_t lane); /* lane without role woke one of level 0 */
	/* in the waiter's pid namespace */
	void (*holder_seen)(void *arg, uint32_t waiter_lane, pid_t holder_tid);
	/* lane without role ran where a level 0 lane was runnable */
	void (*competitor_seen)(void *arg, uint32_t lane);
	/* several samples have found threads in this loop; its word is known */
	void (*spin_seen)(void *arg, const struct hg_spin_seen *spin);
	void *arg;
};

struct hg_probes_opts {
	bool all;		 /* level 3 */
	bool cgroups;		 /* hg_probes_cgroup_add() will be called */
	size_t ring_bytes_total; /* cap over all CPUs; 0 = 16 MiB */
	/* 0 = total / CPUs, 128 KiB to 1 MiB (so that caches hold it); a power of two */
	size_t ring_bytes_cpu;
	uint32_t tasks_max; /* lanes alive at once that the kernel side remembers; 0 = 32768 */
	bool packets;	    /* the probes netdev and napi: three programs a packet */
	bool messages;	    /* the probe sock_length: a program a message of any process */
	uint64_t
		wait_stack_period_ns; /* at most one stack of a member's waits in so long; 0 = none */
	uint32_t sample_hz;   /* samples of what runs, a second and CPU; 0 = none, at most 10000 */
	uint32_t drop_one_in; /* tests only: the switch probe drops 1 in N silently; 0 = none */
	struct hg_probes_observer observer;
};

struct hg_probe_status {
	const char *name; /* as after -e: "sched_switch" */
	bool attached;
	bool unasked;	 /* the options do without it */
	const char *why; /* one sentence if not attached */
};

/* Memory that the rings of all CPUs take; ring_bytes_cpu as in hg_probes_opts. */
size_t hg_probes_rings_bytes(size_t ring_bytes_cpu);

/* Loads every probe that this kernel has; each that it lacks is left out with its reason. 0 or -errno with one message. */
int hg_probes_open(const struct hg_probes_opts *opts, struct hg_probes **out);
void hg_probes_close(struct hg_probes *p);

/* Makes a process, its threads, its children and theirs members with this role. Before or after attach. */
int hg_probes_root_add(struct hg_probes *p, pid_t tgid, uint32_t role, uint32_t target);

/* The same with all tasks in a cgroup and below, now and later. id: its inode; hierarchy: as in /proc/PID/cgroup. */
int hg_probes_cgroup_add(struct hg_probes *p, uint32_t hierarchy, uint64_t id, uint32_t role,
			 uint32_t target);

int hg_probes_attach(struct hg_probes *p);
/* No more events from here on; what is in the rings can still be drained. hg_probes_close() does it too. */
void hg_probes_detach(struct hg_probes *p);

/* Walks all tasks in the kernel: members get lanes, roles and seeds, until no new one turns up. */
int hg_probes_seed(struct hg_probes *p, struct hg_writer *w);
/* The same if tasks have moved into a cgroup since: what they sleep in, and those whose event was lost. */
int hg_probes_seed_moved(struct hg_probes *p, struct hg_writer *w);

/* Members alive now, by role bit. */
size_t hg_probes_members(const struct hg_probes *p, uint32_t role);

/* Readable when a ring is half full; for epoll. */
int hg_probes_fd(const struct hg_probes *p);

/*
 * One round over all rings: moves at most budget records a ring to w. Returns the number moved, or -errno
 * of the writer. Losses since the last round become LOSS records of that CPU's stream.
 */
long hg_probes_drain(struct hg_probes *p, struct hg_writer *w, unsigned int budget);

/* Level 2: makes a lane a member. -ESRCH when it is gone. */
int hg_probes_promote(struct hg_probes *p, struct hg_writer *w, uint32_t lane);
/* Lane of a live task by tid in the initial namespace; 0 if none has one. */
uint32_t hg_probes_lane_by_tid(const struct hg_probes *p, pid_t tid);

/* Writes a CPU_BUSY record per CPU. */
int hg_probes_cpu_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns);

/* Writes a NETDEV_TOTALS record per network device and a NAPI record per device and CPU that changed. */
int hg_probes_net_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns);

/* Writes a MESSAGES record per target: what it received and sent as a server. */
int hg_probes_message_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns);

/* Kernel run-time statistics for BPF: on for a tenth of a second in five, by the session. Takes milliseconds. */
int hg_probes_cost_enable(struct hg_probes *p, bool on);
/* A record per probe; measured: statistics were on since the last ones. */
int hg_probes_cost_write(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns, bool measured);
/* Of all probes together, while statistics were on. */
uint64_t hg_probes_cost_ns(const struct hg_probes *p);

/* PROBE records: names of ids, of all that the options ask for. Called once, after attach. */
int hg_probes_describe(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns);

const struct hg_probe_status *hg_probes_status(const struct hg_probes *p, size_t *n_out);
uint64_t hg_probes_lost(const struct hg_probes *p);
size_t hg_probes_ring_bytes_max(const struct hg_probes *p); /* fullest that a ring was found */

/*
 * For check: loads each probe alone, attaches and frees it at once. fn is called per probe.
 */
int hg_probes_check(void (*fn)(void *arg, const struct hg_probe_status *status), void *arg);

#endif
