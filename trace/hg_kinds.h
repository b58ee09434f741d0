/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record kinds of a .hgt file: what a record means and which fields it has.
 * Everybody who writes or reads records includes this. The numbers are on disk:
 * append only, never reuse. A new fact is a new row in hg_kinds.c, or a new last
 * field of an old row: readers see fields that the file lacks as 0.
 */
#ifndef HG_KINDS_H
#define HG_KINDS_H

#include <stddef.h>
#include <stdint.h>

#define HG_FIELDS_MAX 20

/* A record in memory. Times are ns in the clock of the record's stream (host: CLOCK_MONOTONIC). */
struct hg_record {
	uint64_t time_ns;
	uint16_t kind;	  /* enum hg_kind */
	uint16_t machine; /* 0 is the host; set by the reader */
	uint32_t stream;  /* HG_STREAM_*; set by the reader */
	uint64_t f[HG_FIELDS_MAX];
};

/* Streams of the host. Within a stream times never decrease. */
enum hg_stream {
	HG_STREAM_CONTROL = 0, /* definitions and session marks */
	HG_STREAM_SAMPLER = 1,
	HG_STREAM_CLIENT = 2,	/* lines of the client's output */
	HG_STREAM_CPU0 = 0x100, /* + CPU number: that CPU's ring */
};

enum hg_kind {
	/* Definitions, HG_STREAM_CONTROL. Written before the first record that names the lane. */
	HG_KIND_TASK = 1,
	HG_KIND_TASK_NAME = 2,
	HG_KIND_ROLE = 3,
	HG_KIND_SEED = 4,
	HG_KIND_AFFINITY = 5, /* in the CPU's stream, where it was seen */
	HG_KIND_MARK = 6,
	HG_KIND_PROBE = 7,
	HG_KIND_CLIENT = 8,
	HG_KIND_TARGET = 9,
	HG_KIND_BLOCKDEV = 10,
	HG_KIND_STACK = 11,
	HG_KIND_NETNS = 12,
	HG_KIND_LINK = 13,
	HG_KIND_NETDEV = 14,
	HG_KIND_SPIN = 15,

	/* Events of a CPU's stream. */
	HG_KIND_SWITCH = 16,
	HG_KIND_SWITCH_BLOCK = 17,
	HG_KIND_WAKEUP = 18,
	HG_KIND_SOFTIRQ = 19,
	HG_KIND_IRQ = 20,
	HG_KIND_MIGRATE = 21,
	HG_KIND_FORK = 22,
	HG_KIND_EXEC = 23,
	HG_KIND_EXIT = 24,
	HG_KIND_LOSS = 25,
	HG_KIND_CONTENTION = 26,
	HG_KIND_BLOCK_IO = 27,
	HG_KIND_CPU_SAMPLE = 29,
	HG_KIND_WAIT_STACK = 30,

	/* Samples, HG_STREAM_SAMPLER. All are running totals since some start, never rates. */
	HG_KIND_CPU_TIMES = 48,
	HG_KIND_CPU_BUSY = 49,
	HG_KIND_SCHEDSTAT = 50,
	HG_KIND_CGROUP_CPU = 51,
	HG_KIND_CLOCK = 52,
	HG_KIND_RSS = 53,
	HG_KIND_WAIT_SAMPLE = 54,
	HG_KIND_OWN = 55,
	HG_KIND_PROBE_COST = 56,
	HG_KIND_TASK_TIMES = 57,
	HG_KIND_NETDEV_TOTALS = 58,
	HG_KIND_QDISC = 59,
	HG_KIND_NETDEV_STATS = 60,
	HG_KIND_SOFTNET = 61,
	HG_KIND_DISK = 62,
	HG_KIND_PSI = 63,
	HG_KIND_SOCKET = 66,
	HG_KIND_NETNS_STATS = 67,
	HG_KIND_NAPI = 68,
	HG_KIND_MESSAGES = 69,
	HG_KIND_SPIN_LOOK = 70,

	/* HG_STREAM_CLIENT */
	HG_KIND_LINE = 64,
};

/* clang-format takes the comment that names an enum for the end of a line of code. */
/* clang-format off */
/* Fields, by kind. A lane is the small id that HG_KIND_TASK introduces; lane 0 is "no lane",
 * HG_LANE_IDLE the idle task of any CPU. "str" is a string id. */
#define HG_LANE_NONE UINT64_C(0)
#define HG_LANE_IDLE UINT64_C(1)
#define HG_LANE_FIRST UINT64_C(2)

enum { /* TASK: first sight of (tid, start time) */
	HG_TASK_LANE,
	HG_TASK_TID,      /* in the initial pid namespace */
	HG_TASK_TGID,
	HG_TASK_NSTID,    /* in the task's own pid namespace: what its lock words hold */
	HG_TASK_PPID,     /* tgid of the real parent */
	HG_TASK_START_NS, /* start_boottime: CLOCK_BOOTTIME ns */
	HG_TASK_COMM,     /* str */
	HG_TASK_CGROUP,   /* cgroup v2 id of the task's default-hierarchy cgroup */
	HG_TASK_FLAGS,    /* HG_TASKF_* */
	HG_TASK_CPUS,     /* allowed CPUs: count */
};
#define HG_TASKF_KTHREAD   1
#define HG_TASKF_KSOFTIRQD 2

enum { /* TASK_NAME: exec or rename: a new version of the name */
	HG_TASK_NAME_LANE,
	HG_TASK_NAME_COMM, /* str */
	HG_TASK_NAME_EXE,  /* str, 0 unknown */
};

enum { /* ROLE: what a lane is from this time on; replaces the former role */
	HG_ROLE_LANE,
	HG_ROLE_ROLE,   /* HG_ROLEF_* */
	HG_ROLE_TARGET, /* index of the target, from 0 */
};
#define HG_ROLEF_TARGET   1 /* level 0: a thread of the target */
#define HG_ROLEF_CLIENT   2 /* level 0: a thread of CMD's tree */
#define HG_ROLEF_PROMOTED 4 /* level 2: wakes or holds locks of level 0 */
#define HG_ROLEF_ALL      8 /* level 3: -a */

enum { /* SEED: state at attach of a lane that may emit nothing for long */
	HG_SEED_LANE,
	HG_SEED_STATE, /* HG_SEED_*: see below */
	HG_SEED_CPU,
	HG_SEED_SYSNR, /* system call it sleeps in + 1; 0 unknown */
	HG_SEED_ARG0,
};
enum { HG_SEED_RUNNING = 1, HG_SEED_RUNNABLE = 2, HG_SEED_BLOCKED = 3, HG_SEED_DISK = 4 };

enum { /* AFFINITY: seen when the lane became runnable, only when it changed */
	HG_AFFINITY_LANE,
	HG_AFFINITY_COUNT,
	HG_AFFINITY_MASK0, /* CPUs 0 to 63 */
};

enum { /* BLOCKDEV: a block device, before its first BLOCK_IO */
	HG_BLOCKDEV_DEV,  /* major << 20 | minor */
	HG_BLOCKDEV_NAME, /* str: as in /sys/block, 0 unknown */
};
enum { /* SPIN: a loop in user space that does nothing but wait for a word in memory */
	HG_SPIN_ID,    /* from 1 */
	HG_SPIN_TGID,
	HG_SPIN_CODE,  /* its lowest address */
	HG_SPIN_WORD,  /* address; 0: not known, or the loop only pauses */
	HG_SPIN_BYTES, /* of the word */
	HG_SPIN_FLAGS, /* HG_SPINF_* */
};
#define HG_SPINF_TAKES  1 /* it changes the word by an atomic instruction, as one does to take a lock */
#define HG_SPINF_PAUSES 2
enum { /* SPIN_LOOK: the word, read by process_vm_readv */
	HG_SPIN_LOOK_ID,    /* of SPIN */
	HG_SPIN_LOOK_VALUE,
	HG_SPIN_LOOK_WAITS, /* 1: the loop goes on with this value, 0: it ends, 2: not known */
	HG_SPIN_LOOK_CODE,  /* str: file+offset of the loop by /proc/PID/maps, "" unknown */
};
enum { /* STACK: where in the kernel */
	HG_STACK_ID,     /* from 1 */
	HG_STACK_FRAMES, /* str: functions, innermost first, joined by ';' */
};
enum { /* NETDEV: a network device that the probes have seen */
	HG_NETDEVICE_ID,      /* from 1 */
	HG_NETDEVICE_NETNS,   /* inode of its namespace, as in NETNS; 0: no device, the CPUs' backlog */
	HG_NETDEVICE_IFINDEX, /* the device is a LINK too where its namespace can be read */
	HG_NETDEVICE_NAME,    /* str, when first seen */
};

enum { HG_MARK_WHAT, HG_MARK_ARG }; /* MARK */
enum {                              /* MARK_WHAT */
	HG_MARK_BEGIN = 1,      /* all probes are attached, states are seeded */
	HG_MARK_CLIENT_START = 2, /* CMD is let go; arg its tid */
	HG_MARK_CLIENT_END = 3,   /* arg: wait status as of waitpid */
	HG_MARK_END = 4,        /* arg: HG_END_* ; probes are still attached at this time */
};
enum {
	HG_END_CLIENT = 1,
	HG_END_SECS = 2,
	HG_END_SIGNAL = 3,
	HG_END_TARGET = 4,
	HG_END_ERROR = 5,
};

enum { /* PROBE: names the probe ids of LOSS and PROBE_COST; time 0 = not attached */
	HG_PROBE_ID,
	HG_PROBE_NAME,     /* str */
	HG_PROBE_ATTACHED, /* 0 or 1 */
	HG_PROBE_WHY,      /* str: why not */
};

enum { /* CLIENT: CMD */
	HG_CLIENT_TID,
	HG_CLIENT_ARGV, /* str: words joined by spaces, quoted for sh where needed */
	HG_CLIENT_LOG,  /* str: path of --client-log, or 0 */
	HG_CLIENT_FORMAT, /* str: --client, or 0 */
	HG_CLIENT_REGEX,  /* str: --client-regex, or 0 */
};

enum { /* TARGET: what was named to be recorded */
	HG_TARGET_INDEX, /* as in ROLE */
	HG_TARGET_TYPE,  /* enum hg_target_type */
	HG_TARGET_ID,    /* process: tgid; cgroup: its id, unique in its hierarchy */
	HG_TARGET_NAME,  /* str: comm; path in the hierarchy */
	HG_TARGET_HIERARCHY, /* str: controllers or name of a v1 hierarchy; 0: v2, or no cgroup */
};
enum hg_target_type { HG_TARGET_PROCESS = 1, HG_TARGET_CGROUP = 2 };
enum { /* NETNS: a network namespace; a later record of the same id replaces it */
	HG_NETNS_ID,    /* from 1 */
	HG_NETNS_INODE, /* of nsfs */
	HG_NETNS_FLAGS, /* HG_NETNSF_* */
	HG_NETNS_WHY,   /* str: why nothing is read in it, or not all */
};
#define HG_NETNSF_HOST   1 /* of hourglass itself: the machine's, unless it runs in a container */
#define HG_NETNSF_TARGET 2 /* threads of the target are in it */
#define HG_NETNSF_CLIENT 4 /* threads of CMD's tree are in it */
#define HG_NETNSF_OTHER  8 /* other recorded threads are in it (-a) */
#define HG_NETNSF_OPEN   16 /* it is read */

enum { /* LINK: a network device, (namespace, ifindex); a later record of the same id replaces it */
	HG_LINK_ID,    /* from 1 */
	HG_LINK_NETNS, /* id of NETNS */
	HG_LINK_IFINDEX,
	HG_LINK_NAME,   /* str */
	HG_LINK_KIND,   /* str: veth, bridge, tun, ... as rtnetlink names it; 0 for a plain device */
	HG_LINK_DRIVER, /* str: as ethtool names it, 0 unknown */
	HG_LINK_FLAGS,  /* IFF_* */
	HG_LINK_MBIT,   /* speed as the driver states it, Mbit/s: veth states 10000 and has none; 0 unknown */
	HG_LINK_MTU,
	HG_LINK_TX_QUEUES,
	HG_LINK_RX_QUEUES,
	HG_LINK_OFFLOADS, /* HG_LINKF_* */
	HG_LINK_PEER_IFINDEX, /* other end of a veth, device below a vlan, ...; 0 none */
	HG_LINK_PEER_NETNS,   /* id of NETNS; 0 one that is not known */
	HG_LINK_MASTER,       /* ifindex of its bridge or bond in the same namespace; 0 none */
};
#define HG_LINKF_TSO     1
#define HG_LINKF_GSO     2
#define HG_LINKF_GRO     4
#define HG_LINKF_LRO     8
#define HG_LINKF_TX_CSUM 16
#define HG_LINKF_RX_CSUM 32
#define HG_LINKF_SG      64
#define HG_LINKF_KNOWN   128 /* the others are known */

enum { /* SWITCH and the first fields of SWITCH_BLOCK */
	HG_SWITCH_PREV, /* lane */
	HG_SWITCH_NEXT, /* lane */
	HG_SWITCH_STATE, /* raw prev_state of the kernel: 0 runnable, 1 S, 2 D, 0x10.. dead, 0x80 dead */
	HG_SWITCH_FLAGS, /* HG_SWITCHF_* */
	/* only SWITCH_BLOCK: prev is in a system call and blocks */
	HG_SWITCH_SYSNR,
	HG_SWITCH_ARG0, /* futex: address */
	HG_SWITCH_ARG1, /* futex: operation */
	HG_SWITCH_ARG2, /* futex: expected value */
	HG_SWITCH_HOLDER, /* futex: tid that the lock word or the word at +8 holds, in the namespace of prev; 0 */
};
#define HG_SWITCHF_PREEMPT   1 /* preempted: runnable whatever STATE says */
#define HG_SWITCHF_THROTTLED 2 /* prev's cfs_rq is throttled: runnable but not allowed to run */
#define HG_SWITCHF_IDLE_CPU  4 /* next had waited while a CPU it may use was idle */

enum { /* WAKEUP: the lane is runnable from here on */
	HG_WAKEUP_LANE,
	HG_WAKEUP_CPU,   /* it is queued on this CPU */
	HG_WAKEUP_WAKER, /* lane that was current on the waking CPU */
	HG_WAKEUP_CTX,   /* enum hg_wake_ctx */
	HG_WAKEUP_VEC,   /* softirq vector + 1 if in one, else 0 */
	HG_WAKEUP_FLAGS, /* HG_WAKEUPF_* */
};
enum hg_wake_ctx {
	HG_CTX_UNKNOWN = 0,
	HG_CTX_TASK = 1,         /* the waker did it itself */
	HG_CTX_SOFTIRQ_OWN = 2,  /* softirq raised by the waker's own system call (loopback, veth) */
	HG_CTX_SOFTIRQ_IRQ = 3,  /* softirq at irq exit: the waker is innocent */
	HG_CTX_KSOFTIRQD = 4,
	HG_CTX_IRQ = 5,          /* hard interrupt of a device */
	HG_CTX_TIMER = 6,        /* hrtimer or timer softirq */
	HG_CTX_IDLE = 7,         /* the idle task itself, no interrupt flagged */
	HG_CTX_NAPI_THREAD = 8,  /* threaded NAPI */
};
#define HG_WAKEUPF_NEW      1 /* first wakeup of a new task */
#define HG_WAKEUPF_IDLE_CPU 2 /* a CPU it may use was idle */
#define HG_WAKEUPF_THROTTLED 4 /* its cfs_rq is throttled: runnable but not allowed to run */

enum { /* SOFTIRQ: emitted at its exit; time is the exit, time - span the first entry */
	HG_SOFTIRQ_DUR,   /* ns inside the vector, summed over COUNT */
	HG_SOFTIRQ_SPAN,  /* ns from first entry to last exit; = DUR when COUNT is 1 */
	HG_SOFTIRQ_VEC,
	HG_SOFTIRQ_CTX,   /* enum hg_wake_ctx: SOFTIRQ_OWN, SOFTIRQ_IRQ, KSOFTIRQD */
	HG_SOFTIRQ_LANE,  /* lane that was current: its time was taken */
	HG_SOFTIRQ_COUNT, /* coalesced runs of short ones; same vec, ctx and lane, no switch between */
};

enum { /* IRQ */
	HG_IRQ_DUR,
	HG_IRQ_SPAN,
	HG_IRQ_NR, /* Linux irq number; HG_IRQ_LOCAL_TIMER for the local timer */
	HG_IRQ_LANE,
	HG_IRQ_COUNT,
};
#define HG_IRQ_LOCAL_TIMER 0xffff

enum { HG_MIGRATE_LANE, HG_MIGRATE_FROM, HG_MIGRATE_TO };
enum { HG_FORK_PARENT, HG_FORK_CHILD };
enum { HG_EXEC_LANE, HG_EXEC_OLD_TID }; /* OLD_TID: tid before a thread other than the leader exec'd */
enum { HG_EXIT_LANE, HG_EXIT_CODE };

enum { /* LOSS: events that this CPU's ring had no room for */
	HG_LOSS_PROBE,
	HG_LOSS_COUNT,
	HG_LOSS_SINCE, /* ns before this record's time when the first was lost */
};

enum { /* CONTENTION: a wait for a lock of the kernel that just ended, or a run of short ones */
	HG_CONTENTION_DUR,    /* ns, summed over COUNT */
	HG_CONTENTION_SPAN,   /* ns from the first begin to the last end */
	HG_CONTENTION_LANE,   /* who waits; with an interrupt's CTX: whose time it took */
	HG_CONTENTION_LOCK,   /* its address */
	HG_CONTENTION_FLAGS,  /* HG_CONTENTIONF_* */
	HG_CONTENTION_CTX,    /* enum hg_wake_ctx: where it waits */
	HG_CONTENTION_BEGINS, /* a mutex's phases are one wait with several begins */
	HG_CONTENTION_COUNT,  /* waits of under 2 us in a row for the same lock */
	HG_CONTENTION_STACK,  /* id of a STACK, 0 none */
};
/* As LCB_F_* of the kernel. */
#define HG_CONTENTIONF_SPIN   0x01
#define HG_CONTENTIONF_READ   0x02
#define HG_CONTENTIONF_WRITE  0x04
#define HG_CONTENTIONF_RT     0x08
#define HG_CONTENTIONF_PERCPU 0x10
#define HG_CONTENTIONF_MUTEX  0x20
#define HG_CONTENTIONF_FAILED 0x100 /* gave up: a signal, or another error */

enum { /* BLOCK_IO: a request to a block device that is complete */
	HG_BLOCK_IO_DEV, /* major << 20 | minor */
	HG_BLOCK_IO_OP,  /* enum hg_block_op: the kernel's own numbers */
	HG_BLOCK_IO_FLAGS, /* HG_BLOCK_IOF_* */
	HG_BLOCK_IO_SECTOR, /* of 512 bytes */
	HG_BLOCK_IO_BYTES,
	HG_BLOCK_IO_QUEUE_NS,  /* from its allocation (or insertion) to the last time it was issued; 0 unknown */
	HG_BLOCK_IO_DEVICE_NS, /* from then to its completion */
	HG_BLOCK_IO_LANE,  /* member that asked; 0: another task, or a kernel thread for whomever */
	HG_BLOCK_IO_ERROR, /* blk_status_t, before 5.16 an errno; 0 none */
};
enum hg_block_op { /* REQ_OP_* */
	HG_BLOCK_READ = 0,
	HG_BLOCK_WRITE = 1,
	HG_BLOCK_FLUSH = 2,
	HG_BLOCK_DISCARD = 3,
	HG_BLOCK_SECURE_ERASE = 5,
	HG_BLOCK_WRITE_ZEROES = 9,
};
#define HG_BLOCK_OP_MASK 0xff
#define HG_BLOCK_IOF_SYNC      1
#define HG_BLOCK_IOF_FUA       2  /* to be on the medium when it completes */
#define HG_BLOCK_IOF_PREFLUSH  4  /* after all that is in the device's cache */
#define HG_BLOCK_IOF_META      8  /* a file system's own, its journal too */
#define HG_BLOCK_IOF_READAHEAD 16

enum { /* NETDEV_TOTALS: counted by the probes for all tasks, only when they changed */
	HG_NETDEV_TOTALS_DEV, /* id of NETDEV */
	HG_NETDEV_TOTALS_RX_BYTES, /* with the link's header */
	HG_NETDEV_TOTALS_RX_PACKETS, /* as the protocols got them: merged ones count once */
	HG_NETDEV_TOTALS_TX_BYTES,
	HG_NETDEV_TOTALS_TX_PACKETS, /* as the device got them: one that it is to segment counts once */
};
enum { /* NAPI: polls on one CPU for one device, counted by the probes, only when they changed */
	HG_NAPI_CPU,
	HG_NAPI_DEV,   /* id of NETDEV */
	HG_NAPI_POLLS,
	HG_NAPI_WORK,  /* packets */
	HG_NAPI_FULL,  /* polls that used up their budget: more was waiting */
};

enum { /* WAIT_STACK: where in the kernel a member sleeps that blocks just now; one wait in a while */
	HG_WAIT_STACK_LANE,
	HG_WAIT_STACK_STACK, /* id of STACK */
};
enum { /* CPU_SAMPLE: a member that runs when the clock of its CPU ticks */
	HG_CPU_SAMPLE_LANE,
	HG_CPU_SAMPLE_WHERE,  /* enum hg_sample_where */
	HG_CPU_SAMPLE_CTX,    /* enum hg_wake_ctx: in an interrupt the lane only pays for it */
	HG_CPU_SAMPLE_PERIOD, /* ns between samples: what one stands for */
	HG_CPU_SAMPLE_STACK,  /* spins in the kernel: id of STACK; in user space: id of SPIN; else 0 */
};
enum hg_sample_where {
	HG_SAMPLE_USER = 1,
	HG_SAMPLE_KERNEL = 2,
	HG_SAMPLE_SPINS = 3, /* in the kernel, in the slow path of a lock that spins */
	HG_SAMPLE_USER_SPINS = 4, /* in user space, in a loop that only waits for a word */
};

enum { /* CPU_TIMES: /proc/stat, ns */
	HG_CPU_TIMES_CPU,
	HG_CPU_TIMES_USER, /* with guest */
	HG_CPU_TIMES_NICE,
	HG_CPU_TIMES_SYSTEM,
	HG_CPU_TIMES_IDLE,
	HG_CPU_TIMES_IOWAIT,
	HG_CPU_TIMES_IRQ,
	HG_CPU_TIMES_SOFTIRQ,
	HG_CPU_TIMES_STEAL,
};
enum { /* CPU_BUSY: totals kept by the switch probe for every task, at every level, ns */
	HG_CPU_BUSY_CPU,
	HG_CPU_BUSY_BUSY,
	HG_CPU_BUSY_IDLE,
	HG_CPU_BUSY_SOFTIRQ,
	HG_CPU_BUSY_IRQ,
	HG_CPU_BUSY_SWITCHES,
};
enum { /* SCHEDSTAT: /proc/TGID/task/TID/schedstat */
	HG_SCHEDSTAT_LANE,
	HG_SCHEDSTAT_RUN_NS,
	HG_SCHEDSTAT_DELAY_NS,
	HG_SCHEDSTAT_SLICES,
};
enum { /* CGROUP_CPU: cpu.stat; a cgroup above or at the target's */
	HG_CGROUP_CPU_PATH, /* str: path below the mount */
	HG_CGROUP_CPU_PERIODS,
	HG_CGROUP_CPU_THROTTLED, /* periods */
	HG_CGROUP_CPU_THROTTLED_NS, /* summed over CPUs, as the kernel counts it */
	HG_CGROUP_CPU_USAGE_NS,
	HG_CGROUP_CPU_QUOTA_US, /* 0 = no limit */
	HG_CGROUP_CPU_PERIOD_US,
	HG_CGROUP_CPU_TARGETS, /* threads of the target in it or below */
};
enum { HG_CLOCK_TSC, HG_CLOCK_MONOTONIC, HG_CLOCK_REALTIME, HG_CLOCK_BOOTTIME }; /* CLOCK, ns */
enum { /* MESSAGES: data that threads of a target received and sent, on sockets at which they serve */
	HG_MESSAGES_TARGET, /* index; HG_MESSAGES_OF_OTHERS: members that are of no target and no client (-a) */
	HG_MESSAGES_RECEIVED,
	HG_MESSAGES_RECEIVED_BYTES,
	HG_MESSAGES_SENT,
	HG_MESSAGES_SENT_BYTES,
};
#define HG_MESSAGES_OF_OTHERS 255
enum { HG_RSS_TGID, HG_RSS_BYTES };
enum { /* WAIT_SAMPLE: /proc/TGID/task/TID/syscall of a target thread that sleeps */
	HG_WAIT_SAMPLE_LANE,
	HG_WAIT_SAMPLE_SYSNR, /* + 1; 0 = running or not readable */
	HG_WAIT_SAMPLE_ARG0,
	HG_WAIT_SAMPLE_ARG1,
	HG_WAIT_SAMPLE_ARG2,
	HG_WAIT_SAMPLE_WORD, /* futex: the 32-bit word at ARG0, read by process_vm_readv; 0 unread */
	HG_WAIT_SAMPLE_WCHAN, /* str: function of the kernel that it sleeps in; 0 not read */
};
enum { /* OWN: hourglass itself */
	HG_OWN_CPU_NS, /* user + system of all its threads */
	HG_OWN_RSS_BYTES,
	HG_OWN_EVENTS, /* records taken from the rings so far */
	HG_OWN_BYTES,  /* written to the file so far */
	HG_OWN_RING_BYTES, /* fullest that a ring was found */
};
enum { /* PROBE_COST: kernel run-time statistics, which are on for a part of the time; totals so far */
	HG_PROBE_COST_ID,
	HG_PROBE_COST_MEASURED, /* 1: statistics were on ever since the record before; 0: they have just gone on */
	HG_PROBE_COST_RUNS,
	HG_PROBE_COST_NS, /* of these runs */
};
enum { /* TASK_TIMES: utime and stime of /proc/TGID/task/TID/stat: tick-based, once a second */
	HG_TASK_TIMES_LANE,
	HG_TASK_TIMES_USER_NS,
	HG_TASK_TIMES_SYSTEM_NS,
};
enum { /* QDISC: a queueing discipline, or a class of an htb; BYTES to REQUEUES are totals since it was made */
	HG_QDISC_LINK,   /* id of LINK */
	HG_QDISC_HANDLE, /* major << 16; 0: a default one; a class: with a minor number */
	HG_QDISC_PARENT, /* HG_QDISC_ROOT, or handle of its class */
	HG_QDISC_KIND,   /* str: tbf, fq_codel, noqueue, ... */
	HG_QDISC_BYTES,  /* sent */
	HG_QDISC_PACKETS,
	HG_QDISC_DROPS,
	HG_QDISC_OVERLIMITS, /* times that it held packets back for its rate */
	HG_QDISC_REQUEUES,
	HG_QDISC_BACKLOG_BYTES, /* now */
	HG_QDISC_BACKLOG_PACKETS,
	HG_QDISC_RATE,  /* bytes a second that tbf or the class lets through at most; 0: no limit of its own */
	HG_QDISC_BURST, /* tbf, class: bytes */
};
#define HG_QDISC_ROOT UINT64_C(0xffffffff)
enum { /* NETDEV_STATS: rtnl_link_stats64 */
	HG_NETDEV_LINK, /* id of LINK */
	HG_NETDEV_RX_BYTES,
	HG_NETDEV_RX_PACKETS,
	HG_NETDEV_RX_ERRORS,
	HG_NETDEV_RX_DROPPED,
	HG_NETDEV_RX_MISSED, /* the device had no room */
	HG_NETDEV_RX_NOHANDLER,
	HG_NETDEV_TX_BYTES,
	HG_NETDEV_TX_PACKETS,
	HG_NETDEV_TX_ERRORS,
	HG_NETDEV_TX_DROPPED,
	HG_NETDEV_COLLISIONS,
};
enum { /* SOFTNET: /proc/net/softnet_stat; one line a CPU, whatever the namespace */
	HG_SOFTNET_CPU,
	HG_SOFTNET_PROCESSED, /* packets */
	HG_SOFTNET_DROPPED,   /* the CPU's backlog was full */
	HG_SOFTNET_SQUEEZED,  /* a round ended with work left */
	HG_SOFTNET_RPS,       /* woken by another CPU's RPS */
	HG_SOFTNET_FLOW_LIMIT,
	HG_SOFTNET_BACKLOG, /* packets now */
};
enum { /* DISK: /proc/diskstats */
	HG_DISK_DEV,  /* major << 20 | minor */
	HG_DISK_NAME, /* str */
	HG_DISK_READS,
	HG_DISK_READS_MERGED,
	HG_DISK_READ_BYTES,
	HG_DISK_READ_NS, /* summed over requests */
	HG_DISK_WRITES,
	HG_DISK_WRITES_MERGED,
	HG_DISK_WRITE_BYTES,
	HG_DISK_WRITE_NS,
	HG_DISK_IN_FLIGHT, /* now */
	HG_DISK_IO_NS,     /* with at least one request, by the kernel's tick */
	HG_DISK_QUEUE_NS,  /* that, times the requests */
	HG_DISK_DISCARDS,
	HG_DISK_DISCARDS_MERGED,
	HG_DISK_DISCARD_BYTES,
	HG_DISK_DISCARD_NS,
	HG_DISK_FLUSHES,
	HG_DISK_FLUSH_NS,
};
enum { /* PSI: pressure stall totals */
	HG_PSI_SCOPE,    /* str: path of a cgroup below the mount, 0 the machine */
	HG_PSI_RESOURCE, /* enum hg_psi_resource */
	HG_PSI_SOME_NS,  /* at least one task stalled */
	HG_PSI_FULL_NS,  /* all of them */
	HG_PSI_WHY,      /* str: why there are no figures; 0: these are */
};
enum hg_psi_resource { HG_PSI_CPU = 0, HG_PSI_IO = 1, HG_PSI_MEMORY = 2, HG_PSI_IRQ = 3, HG_PSI_RESOURCES };
enum { /* SOCKET: a TCP socket of the target or the client, by inet_diag */
	HG_SOCKET_COOKIE, /* the kernel's id of the socket */
	HG_SOCKET_NETNS,  /* id of NETNS */
	HG_SOCKET_ROLE,   /* HG_ROLEF_TARGET, HG_ROLEF_CLIENT, both or 0: whose descriptor it is */
	HG_SOCKET_STATE,  /* TCP_* of linux/tcp.h: 1 established, 10 listening */
	HG_SOCKET_PORTS,  /* local << 16 | peer's */
	HG_SOCKET_RTT_US, /* smoothed */
	HG_SOCKET_MIN_RTT_US,
	HG_SOCKET_CWND, /* segments */
	HG_SOCKET_MSS,
	HG_SOCKET_UNACKED, /* segments in flight; listening: connections to be accepted */
	HG_SOCKET_SENDQ,   /* bytes not acknowledged, sent or not; listening: most that may wait */
	HG_SOCKET_NOTSENT, /* bytes of them that are not sent */
	HG_SOCKET_RECVQ,   /* bytes that the program has not read; listening: connections to be accepted */
	HG_SOCKET_BUSY_NS, /* with data to send or not acknowledged */
	HG_SOCKET_RWND_NS, /* of them, limited by the peer's window */
	HG_SOCKET_SNDBUF_NS, /* of them, limited by the send buffer */
	HG_SOCKET_RETRANS,   /* segments */
	HG_SOCKET_RATE,      /* delivery rate last seen, bytes a second */
	HG_SOCKET_ACKED,     /* bytes */
	HG_SOCKET_RECEIVED,  /* bytes */
};
enum { /* NETNS_STATS: snmp, snmp6 and netstat of a namespace */
	HG_NETNS_STATS_NETNS, /* id of NETNS */
	HG_NETNS_STATS_TCP_IN,  /* segments */
	HG_NETNS_STATS_TCP_OUT,
	HG_NETNS_STATS_TCP_RETRANS,
	HG_NETNS_STATS_TCP_TIMEOUTS,
	HG_NETNS_STATS_TCP_OPENS, /* active and passive */
	HG_NETNS_STATS_LISTEN_OVERFLOWS,
	HG_NETNS_STATS_LISTEN_DROPS, /* with the overflows */
	HG_NETNS_STATS_BACKLOG_DROPS, /* a socket's backlog was full */
	HG_NETNS_STATS_RCVQ_DROPS,    /* a socket's receive queue was full */
	HG_NETNS_STATS_ZERO_WINDOWS,  /* announced: the program does not read */
	HG_NETNS_STATS_UDP_IN,        /* datagrams, delivered; IPv4 and IPv6, as all below */
	HG_NETNS_STATS_UDP_OUT,
	HG_NETNS_STATS_UDP_NO_PORTS,
	HG_NETNS_STATS_UDP_IN_ERRORS, /* with those for want of buffer */
	HG_NETNS_STATS_UDP_RCVBUF_ERRORS,
	HG_NETNS_STATS_UDP_SNDBUF_ERRORS,
};
enum { HG_LINE_FD, HG_LINE_TEXT, HG_LINE_PIECE }; /* LINE: fd 1, 2, or 3 = --client-log; TEXT str */
enum hg_line_piece { /* bits; 0: a whole line */
	HG_LINE_CONTINUES = 1, /* what the LINE before of this fd began */
	HG_LINE_GOES_ON = 2,   /* in the next LINE of this fd, or its end was not seen */
};
/* clang-format on */

/* How a column's values become small numbers before the byte planes; on disk. */
enum hg_encoding {
	HG_ENC_PLAIN = 0,
	HG_ENC_DELTA = 1, /* zigzag of the difference to this column's last value in the chunk */
	HG_ENC_PREV = 2,  /* xor with the NEXT of the chunk's last switch */
	HG_ENC_KEYED =
		3, /* zigzag of the difference to this field in the chunk's last record of this kind
			     with the same first field: totals of many tasks take turns */
	HG_ENC_STEPS =
		4, /* a time as a number of the clock's steps, see hg_steps.h: the writer chooses */
};

/* How a value is shown; not on disk. */
enum hg_show {
	HG_SHOW_DEC = 0,
	HG_SHOW_HEX,
	HG_SHOW_STR,  /* string id */
	HG_SHOW_LANE, /* lane id, name in brackets */
	HG_SHOW_NS,
	HG_SHOW_SIGNED,
};

struct hg_field_desc {
	const char *name; /* as in dump and JSON */
	uint8_t encoding; /* enum hg_encoding */
	uint8_t show;	  /* enum hg_show */
};

struct hg_kind_desc {
	uint16_t kind;
	uint16_t nfields;
	const char *name; /* "switch" */
	const char *help; /* one line, used by dump --help and checked against hourglass-trace(5) */
	struct hg_field_desc fields[HG_FIELDS_MAX];
};

extern const struct hg_kind_desc hg_kinds[];
extern const size_t hg_kinds_count;

/* NULL if this build does not know the kind. */
const struct hg_kind_desc *hg_kind_find(uint16_t kind);

#endif
