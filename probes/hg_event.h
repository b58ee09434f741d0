/* SPDX-License-Identifier: GPL-2.0-only OR GPL-2.0-or-later */
/*
 * What the BPF programs and the collector share: the records of the rings, the state of a CPU
 * that the collector maps into its memory, what programs take and iterators give.
 * Included by the probes and by collector/probes_x.c. Not on disk: both sides are built together.
 */
#ifndef HG_EVENT_H
#define HG_EVENT_H

#ifdef __bpf__
#include "probes/hg_kernel.h"
#else
#include <stddef.h>
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int32_t s32;
#endif

#define HG_COMM_BYTES	 16
#define HG_EXE_BYTES	 96
#define HG_IDLE_WORDS	 8 /* idle CPUs are known for 64 times as many CPUs */
#define HG_ROOTS_MAX	 1024
#define HG_CGROUPS_MAX	 256	    /* named as targets */
#define HG_ANCESTORS_MAX 32	    /* generations between a task and its root */
#define HG_SHORT_NS	 2000	    /* shorter softirqs and irqs in a row become one record */
#define HG_RUN_NS_MAX	 1000000000 /* no run of them is longer */

/* Ids of probes, as in LOSS and PROBE_COST records. A row each in collector/probes_table.c. Append only. */
enum hg_probe_id {
	HG_P_SWITCH = 1,
	HG_P_WAKEUP = 2,
	HG_P_WAKING = 3,
	HG_P_SOFTIRQ = 4,
	HG_P_IRQ = 5,
	HG_P_LOCAL_TIMER = 6,
	HG_P_HRTIMER = 7,
	HG_P_IPI = 8,
	HG_P_MIGRATE = 9,
	HG_P_FORK = 10,
	HG_P_EXEC = 11,
	HG_P_RENAME = 12,
	HG_P_SEED = 13,
	HG_P_PROMOTE = 14,
	HG_P_EXIT = 15,
	HG_P_CGROUP = 16,
	HG_P_CONTENTION = 17,
	HG_P_SAMPLE = 18,
	HG_P_BLOCK = 19,
	HG_P_NETDEV = 20,
	HG_P_NAPI = 21,
	HG_P_MESSAGE = 22,
	HG_P_WAIT_STACK = 23,
	HG_P_COUNT
};

enum hg_event_type {
	HG_EV_SWITCH = 1,
	HG_EV_BLOCK = 2,
	HG_EV_WAKEUP = 3,
	HG_EV_SOFTIRQ = 4,
	HG_EV_IRQ = 5,
	HG_EV_MIGRATE = 6,
	HG_EV_FORK = 7,
	HG_EV_EXEC = 8,
	HG_EV_EXIT = 9,
	HG_EV_AFFINITY = 10,
	HG_EV_TASK = 11,
	HG_EV_RENAME = 12,
	HG_EV_ROLE = 13,
	HG_EV_CONTENTION = 14,
	HG_EV_SAMPLE = 15,
	HG_EV_SAMPLE_STACK = 16,
	HG_EV_BLOCK_IO = 17,
	HG_EV_SAMPLE_CODE = 18,
	HG_EV_WAIT_STACK = 19,
	HG_EV_COUNT
};

/* Beside the flags that go to disk (HG_SWITCHF_*, HG_WAKEUPF_*): for the collector only. */
#define HG_EVF_DISK   0x3f
#define HG_EVF_MEMBER 0x40 /* switch: next is a member; wakeup: the waker is */
#define HG_EVF_LEVEL0 0x80 /* switch: a level 0 lane is queued here; wakeup: the wakee is level 0 */

/* Every record starts with these 16 bytes. */
struct hg_ev_switch {
	u64 time_ns;
	u8 type, flags;
	u16 state; /* prev_state; all states of the kernel fit (TASK_STATE_MAX is 0x10000) */
	u32 prev, next;
	u32 holder; /* 0 in HG_EV_SWITCH */
};

struct hg_ev_block {
	struct hg_ev_switch sw;
	u32 sysnr, pad;
	u64 arg[3];
};

struct hg_ev_wakeup {
	u64 time_ns;
	u8 type, flags, ctx, vec;
	u32 lane, waker;
	u16 cpu, pad;
};

struct hg_ev_softirq {
	u64 time_ns;
	u8 type, ctx;
	u16 vec; /* irqs: unused */
	u32 lane, dur_ns, span_ns, count;
	u32 nr; /* irqs: number */
};

struct hg_ev_contention {
	u64 time_ns;
	u8 type, ctx;
	u16 flags; /* HG_CONTENTIONF_* */
	u32 lane;
	u64 lock, dur_ns, span_ns;
	u32 count, begins;
	u32 stack, pad;
};

struct hg_ev_sample {
	u64 time_ns;
	u8 type, ctx, where, pad; /* enum hg_sample_where */
	u32 lane, period_ns, stack;
};

#define HG_STACK_DEPTH 8
struct hg_ev_sample_stack {
	struct hg_ev_sample sample; /* its stack is the collector's to set */
	u64 ips[HG_STACK_DEPTH];    /* innermost first, 0 after the last */
};

/* In user space: what a loop that waits for a word is told from. */
#define HG_SAMPLE_CODE_BYTES  64
#define HG_SAMPLE_CODE_BEFORE 32 /* of them before the address */
struct hg_ev_sample_code {
	struct hg_ev_sample sample;
	u64 ip;
	u64 regs[16];		       /* ax cx dx bx sp bp si di r8 to r15 */
	u8 code[HG_SAMPLE_CODE_BYTES]; /* a half that cannot be read is 0 */
};

/* Deeper: the scheduler's own functions come first and are left out. */
#define HG_WAIT_STACK_DEPTH 16
struct hg_ev_wait_stack {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane;
	u64 ips[HG_WAIT_STACK_DEPTH]; /* innermost first, 0 after the last */
};

struct hg_ev_block_io {
	u64 time_ns;
	u8 type, op;
	u16 flags; /* HG_BLOCK_IOF_* */
	u32 lane;
	u64 sector, queue_ns, device_ns;
	u32 dev, bytes, error, pad;
};

struct hg_ev_migrate {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane;
	u16 from, to;
	u32 pad2;
};

struct hg_ev_fork {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 parent, child, pad2;
};

struct hg_ev_exec {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane, tid, old_tid;
	char comm[HG_COMM_BYTES];
	char exe[HG_EXE_BYTES];
};

struct hg_ev_rename {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane;
	char comm[HG_COMM_BYTES];
};

struct hg_ev_exit {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane, code, tid;
};

/* A task moved to another cgroup and is something else from now on. */
struct hg_ev_role {
	u64 time_ns;
	u8 type, role, target, flags;
	u32 lane;
	u64 pad;
};

struct hg_ev_affinity {
	u64 time_ns;
	u8 type, flags;
	u16 pad;
	u32 lane;
	u64 mask0;
	u32 count, pad2;
};

struct hg_ev_task {
	u64 time_ns;
	u8 type, role, target, flags; /* HG_TASKF_* */
	u32 lane, tid, tgid, nstid, ppid, cpus;
	u64 start_ns, cgroup;
	char comm[HG_COMM_BYTES];
};

_Static_assert(sizeof(struct hg_ev_switch) == 24, "a switch is small");
_Static_assert(sizeof(struct hg_ev_block) == 56, "size of a blocking switch");
_Static_assert(sizeof(struct hg_ev_wakeup) == 24, "a wakeup is small");
_Static_assert(sizeof(struct hg_ev_softirq) == 32, "a softirq is small");
_Static_assert(sizeof(struct hg_ev_contention) == 56, "size of a wait for a lock");
_Static_assert(sizeof(struct hg_ev_sample) == 24, "a sample is small");
_Static_assert(sizeof(struct hg_ev_sample_stack) == 88, "size of a sample with a stack");
_Static_assert(sizeof(struct hg_ev_sample_code) == 224, "size of a sample with code");
_Static_assert(sizeof(struct hg_ev_wait_stack) == 144, "size of a wait's stack");
_Static_assert(sizeof(struct hg_ev_block_io) == 56, "size of a request");
_Static_assert(sizeof(struct hg_ev_migrate) == 24, "size of a migration");
_Static_assert(sizeof(struct hg_ev_fork) == 24, "size of a fork");
_Static_assert(sizeof(struct hg_ev_exec) == 136, "size of an exec");
_Static_assert(sizeof(struct hg_ev_rename) == 32, "size of a rename");
_Static_assert(sizeof(struct hg_ev_exit) == 24, "size of an exit");
_Static_assert(sizeof(struct hg_ev_role) == 24, "size of a role");
_Static_assert(sizeof(struct hg_ev_affinity) == 32, "size of an affinity");
_Static_assert(sizeof(struct hg_ev_task) == 72, "size of a task");
_Static_assert(offsetof(struct hg_ev_block, arg) == 32, "arguments are aligned");

/*
 * A CPU's ring. Only that CPU's programs write, one at a time, and only the collector reads: no lock,
 * no helper. A record is written and head moved on; positions grow for ever. A record that begins before
 * the end of the ring may run on into the spill behind it. Type (byte 8) tells a record's size.
 * An interrupt that hits while a record is being written puts its own into the small side ring.
 * A BPF ring buffer costs 70 to 110 ns a record for its lock, its reservation and its commit; this 3.
 * x86 keeps stores in order; elsewhere the store of head would have to be a release (BPF v4).
 */
#define HG_RING_SPILL_BYTES 256
#define HG_RING_SIDE_BYTES  4096
struct hg_ring_area {
	u64 head, side_head; /* written by the CPU */
	u64 pad[6];
	u64 tail, side_tail; /* written by the collector */
	u64 pad2[6];
	/* side ring, spill, ring (size by options), spill */
	u8 side[HG_RING_SIDE_BYTES + HG_RING_SPILL_BYTES];
	u8 data[HG_RING_SPILL_BYTES];
};
#define HG_RING_AREA_BYTES(ring_bytes)                                                             \
	(offsetof(struct hg_ring_area, data) + (ring_bytes) + HG_RING_SPILL_BYTES)
_Static_assert(offsetof(struct hg_ring_area, data) % 64 == 0, "data is aligned");

/* Totals of a network device on a CPU, which alone writes them. */
#define HG_NET_KEY_BACKLOG                                                                         \
	1 /* packets between devices of this machine, and of receive steering: no device's NAPI */
struct hg_net_dev {
	u64 key; /* network namespace's inode << 32 | ifindex; 0: free */
	u64 rx_packets, rx_bytes, tx_packets, tx_bytes;
	u64 polls, work, full;
	char name[16];
	u64 pad[2];
};
#define HG_NET_DEVS   128 /* a power of two */
#define HG_NET_PROBES 8	  /* places that a device can have */
struct hg_net_cpu {
	struct hg_net_dev devs[HG_NET_DEVS];
};

#define HG_SPIN_RANGES 8

/* The iterator's record: a task and its state. */
struct hg_seed_record {
	struct hg_ev_task task;
	u32 state, cpu, sysnr, pad; /* HG_SEED_* */
	u64 arg0;
};
_Static_assert(sizeof(struct hg_seed_record) == 96, "size of a seed");

struct hg_root {
	u8 role, target;
};

/* A cgroup: its id (kernfs_node.id, the inode number) is unique within its hierarchy only. */
struct hg_cgroup_key {
	u64 id;
	u32 hierarchy; /* cgroup_root.hierarchy_id, as in /proc/PID/cgroup; v2: 0 */
	u32 pad;
};

/* Of a target, or of all members that belong to none (-a): a slot of their own. */
struct hg_messages {
	u64 received, received_bytes, sent, sent_bytes;
};
#define HG_MESSAGES_SLOTS 256

/* In and out of the promoting program. */
struct hg_promote_args {
	u32 lane;
	u32 role;   /* added */
	s32 result; /* 0 or -ESRCH */
	u32 new_role;
};

/* A run of short softirqs, irqs or waits for a lock that is not in the ring yet. */
struct hg_pending {
	u64 first_ns, last_ns;
	u64 dur_ns;
	u64 lock;     /* contention: its address */
	u32 count;    /* 0: none */
	u32 lane, nr; /* nr, contention: begins of each */
	union {
		struct {
			u16 vec; /* contention: flags */
			u8 type, ctx;
		};
		u32 kind; /* all three, to compare */
	};
};

/* A wait for a lock that has begun. */
#define HG_SPINS_MAX 4 /* a task's, a softirq's, an interrupt's, an NMI's; a power of two */
struct hg_lock_wait {
	u64 lock; /* 0: none */
	u64 since_ns;
	u64 switches; /* spins: of the CPU at the begin */
	u32 begins, flags;
};

/*
 * What a CPU remembers. Only its own programs write it, but for `queued`, which any CPU adds to.
 * The collector maps it read and write, and writes only lost_since_ns.
 */
struct hg_cpu {
	/* The switch probe's clock and totals: since is the last switch. */
	u64 since_ns, busy_ns, idle_ns, switches;
	u64 softirq_ns, irq_ns,
		idle_irq_ns; /* idle_irq: the part of both that interrupted the idle task */

	u64 cur_key;  /* task_struct that has the CPU; 0 before the first switch */
	u32 cur_lane; /* 0: none, or not in a ring yet */
	u8 cur_role, cur_kind, cur_idle, cur_kthread; /* cur_kind: enum hg_cur_kind */

	u8 sirq_vec; /* + 1 */
	u8 sirq_ctx;
	u8 irq_kind; /* enum hg_irq_kind */
	u8 hrtimer;
	u8 busy; /* the ring or pending is being changed: an interrupt uses the side ring */
	u8 side_busy;
	u8 bell_rung;
	u8 cur_target; /* beside cur_role */
	u64 sirq_start_ns, irq_start_ns, irq_exit_ns;
	u64 sirq_irq_ns; /* irq time inside the softirq that runs */
	u64 tail_seen;	 /* of the ring; read again only when it seems full */
	u64 events;
	struct hg_pending pending;

	struct hg_lock_wait spins[HG_SPINS_MAX];
	u32 spins_open, pad2;

	u64 dropped;
	u64 lost[HG_P_COUNT];
	u64 lost_since_ns[HG_P_COUNT]; /* the first that the collector has not seen; it writes 0 */

	s32 queued __attribute__((aligned(64))); /* level 0 lanes that wait for this CPU */
	s32 pad3[15];
};
_Static_assert(offsetof(struct hg_cpu, pending) == 128,
	       "what each softirq needs is in two cache lines");
_Static_assert(sizeof(struct hg_cpu) % 64 == 0, "CPUs do not share a cache line");

/*
 * A task that we know. The key is its task_struct: unlike its tid, it stays the same when a thread
 * other than the leader execs (de_thread() swaps the tids). It is gone at the TASK_DEAD switch.
 */
struct hg_task {
	u64 start_ns;
	u64 waking;   /* who wakes it: HG_WAKING() of probes/hg_maps.bpf.h; 0 none */
	u64 mask0;    /* allowed CPUs when last looked at */
	u64 stack_ns; /* when a wait's stack was last taken */
	u32 cpus;
	u32 lane;
	s32 queued_cpu; /* level 0 and runnable, counted in that CPU's `queued`; else -1 */
	u8 role, target, announced;
	u8 by_cgroup;		  /* the role TARGET is by its cgroup, and goes when it moves out */
	struct hg_lock_wait wait; /* for a lock that sleeps */
};

enum hg_cur_kind { HG_CUR_UNKNOWN = 0, HG_CUR_OTHER, HG_CUR_KSOFTIRQD, HG_CUR_NAPI };
enum hg_irq_kind { HG_IRQ_NONE = 0, HG_IRQ_DEVICE, HG_IRQ_TICK, HG_IRQ_IPI };

#endif
