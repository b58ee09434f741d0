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

#define HG_FIELDS_MAX 12

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
enum { HG_RSS_TGID, HG_RSS_BYTES };
enum { /* WAIT_SAMPLE: /proc/TGID/task/TID/syscall of a target thread that sleeps */
	HG_WAIT_SAMPLE_LANE,
	HG_WAIT_SAMPLE_SYSNR, /* + 1; 0 = running or not readable */
	HG_WAIT_SAMPLE_ARG0,
	HG_WAIT_SAMPLE_ARG1,
	HG_WAIT_SAMPLE_ARG2,
	HG_WAIT_SAMPLE_WORD, /* futex: the 32-bit word at ARG0, read by process_vm_readv; 0 unread */
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
enum { HG_LINE_FD, HG_LINE_TEXT }; /* LINE: fd 1, 2, or 3 = --client-log; TEXT str */
/* clang-format on */

/* How a column's values become small numbers before the byte planes; on disk. */
enum hg_encoding {
	HG_ENC_PLAIN = 0,
	HG_ENC_DELTA = 1, /* zigzag of the difference to this column's last value in the chunk */
	HG_ENC_PREV = 2,  /* xor with the NEXT of the chunk's last switch */
	HG_ENC_KEYED =
		3, /* zigzag of the difference to this field in the chunk's last record of this kind
			     with the same first field: totals of many tasks take turns */
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
