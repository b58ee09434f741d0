/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the samplers share: the tasks, files that stay open where descriptors allow it, the turns
 * that bound the work of a tick. Included by hg_sampler.c, sampler_*.c and their test only.
 */
#ifndef HG_SAMPLER_PRIVATE_H
#define HG_SAMPLER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uthash.h>

#include "collector/hg_netlink.h"
#include "collector/hg_sampler.h"

#define SAMPLER_TASKS_MAX     4096
#define SAMPLER_SCHEDSTAT_MAX 512 /* reads a tick; clients take at most half of them */
#define SAMPLER_TIMES_MAX     64
/* Look-ups of the cgroups of threads a tick, leaders of processes apart. */
#define SAMPLER_CGROUP_MAX    32
#define SAMPLER_WAIT_MAX      256
#define SAMPLER_CGROUPS_MAX   256
#define SAMPLER_PROCESSES_MAX 1024
#define SAMPLER_NETNS_MAX     16
#define SAMPLER_LINKS_MAX     256 /* in a namespace */
/* A namespace with more devices is read once a second. */
#define SAMPLER_LINKS_TICK    32
#define SAMPLER_QDISCS_MAX    256 /* a tick, in a namespace */
/* What is read "once a second" is due a little earlier, so that it does not slip by a tick each
 * time. */
#define SAMPLER_SECOND_NS     (HG_NSEC_PER_SEC * 19 / 20)

/* A file of /proc or a cgroup: open all the time, or opened at each read when descriptors are
 * short. */
struct sampler_file {
	char *path; /* NULL: no such file */
	int fd;	    /* -1: open it at each read */
};

/* Descriptors are shared with the rest of hourglass; each class of files gets a part of them. */
enum sampler_file_class {
	SAMPLER_FILE_SCHEDSTAT,
	SAMPLER_FILE_WAIT,
	SAMPLER_FILE_OTHER,
	SAMPLER_FILE_CLASSES
};

struct sampler_cgroup;
struct sampler_link;
struct sampler_sockets;

/* A network namespace. The first slot is hourglass's own; others are reused. */
struct sampler_netns {
	uint32_t id; /* 0: a free slot */
	uint64_t inode;
	uint32_t flags; /* HG_NETNSF_* */
	const char *why;
	bool told; /* the file has what is above */
	struct hg_netns_files files;
	size_t tasks;	   /* that are in it */
	uint64_t empty_ns; /* since when there are none, 0: there are */

	struct sampler_link *links; /* sampler_link.c */
	size_t links_count;
	uint64_t links_ns; /* when they were looked up last, 0: look again */
	uint64_t stats_ns; /* when they were read last */

	uint64_t counters_ns; /* sampler_netns_stats.c: likewise */

	struct sampler_sockets *sockets; /* sampler_socket.c: those that are followed */
};

struct sampler_process;

struct sampler_task {
	uint32_t lane, role;
	pid_t tid, tgid;
	uint64_t order; /* of task_add: the oldest goes first */
	size_t index;	/* in hg_sampler.tasks */
	bool gone;	/* it has exited: nothing is to be had any more */

	struct sampler_file schedstat, wait;
	bool schedstat_fresh; /* not read since it was added */
	uint64_t read_pass;   /* number of the pass that read it last */
	uint64_t run_ns; /* last one read: totals do not decrease, unless the tid is another task's
			    by now */

	uint64_t start_ticks; /* field 22 of stat, 0 unknown: the same guard */
	uint64_t times_ns;    /* when the times were read last, 0 never */

	struct sampler_cgroup *cgroup;
	uint64_t cgroup_ns; /* when its cgroup was looked up last */

	struct sampler_netns *netns;
	uint64_t netns_ns, netns_first_ns; /* when its namespace was looked up last, and first */

	UT_hash_handle hh;
};

/* Where a round over the tasks goes on in the next tick. */
struct sampler_turn {
	size_t at;
};

struct hg_sampler {
	struct sampler_task *by_lane;
	struct sampler_task *tasks[SAMPLER_TASKS_MAX];
	size_t tasks_count;
	uint64_t orders, passes;
	bool full_told, closing;

	size_t files_open[SAMPLER_FILE_CLASSES], files_open_max[SAMPLER_FILE_CLASSES];

	struct hg_record *pending; /* last samples of removed tasks, for the next tick */
	size_t pending_count, pending_max;

	struct hg_netns_opener *netns_opener; /* or NULL */
	struct sampler_netns netns[SAMPLER_NETNS_MAX];
	uint32_t netns_made, links_made; /* ids */
	struct hg_netlink *netlink;

	struct sampler_words *words; /* sampler_word.c */

	void *state[16]; /* by row of the table of samplers */
};

/* One tick. */
struct sampler_pass {
	struct hg_writer *w;
	uint64_t now_ns, number; /* numbers start at 1 */
	bool final;		 /* every member once more, whatever it costs */
};

/* A row of the table. All functions but sample may be NULL. */
struct sampler_ops {
	const char *name;
	int (*init)(struct hg_sampler *s, void **state);
	/* A task is new, or its role has changed. */
	void (*task_add)(struct hg_sampler *s, void *state, struct sampler_task *task);
	void (*task_remove)(struct hg_sampler *s, void *state, struct sampler_task *task);
	/* 0 or -errno of the writer. */
	int (*sample)(struct hg_sampler *s, void *state, const struct sampler_pass *pass);
	void (*free)(struct hg_sampler *s, void *state);
};

extern const struct sampler_ops sampler_clock, sampler_cpu_times, sampler_schedstat,
	sampler_task_times, sampler_cgroup, sampler_rss, sampler_wait, sampler_softnet,
	sampler_disk, sampler_psi, sampler_netns, sampler_link, sampler_netns_stats, sampler_socket,
	sampler_word;

/* Names the file and opens it if its class has a descriptor left. -ENOMEM only. */
int sampler_file_init(struct hg_sampler *s, enum sampler_file_class class, struct sampler_file *f,
		      const char *path);
void sampler_file_close(struct hg_sampler *s, enum sampler_file_class class,
			struct sampler_file *f);
/* Its text, terminated. Length or -errno. */
ssize_t sampler_file_read(const struct sampler_file *f, char *buf, size_t size);

/*
 * The same and the time of the read, the middle of a bracket; a reader that was preempted in
 * between reads again. *now_ns: in, a time before; out, one after the read.
 */
ssize_t sampler_file_read_at(const struct sampler_file *f, char *buf, size_t size, uint64_t *now_ns,
			     uint64_t *time_ns_out);

/* A file that the kernel gives out in pieces (one line a CPU or device): whole, otherwise as above. */
ssize_t sampler_file_read_whole_at(const struct sampler_file *f, char *buf, size_t size,
				   uint64_t *time_ns_out);

/* When a namespace is closed. */
void sampler_links_free(struct sampler_netns *ns);
void sampler_sockets_free(struct sampler_netns *ns);

/* sampler_word.c: a word to look at. -ENOMEM only. */
int sampler_word_add(struct hg_sampler *s, const struct hg_spin_seen *spin);

/* Writes a record of the sampler's stream. */
int sampler_write(const struct sampler_pass *pass, const struct hg_record *rec);

/* The next task in turn, at most each once a tick: start with *seen = 0. NULL after the last. */
struct sampler_task *sampler_turn_next(const struct hg_sampler *s, struct sampler_turn *turn,
				       size_t *seen);

/* utime, stime and starttime of the text of a /proc/PID/stat, whatever its comm holds. false: not
 * one. */
bool sampler_stat_parse(const char *text, uint64_t *utime_out, uint64_t *stime_out,
			uint64_t *start_out);
/* A line "cpuN ..." of /proc/stat in ticks, as HG_CPU_TIMES_*; false for any other line. */
bool sampler_cpu_parse(const char *line, uint64_t f[static 9]);
/* The text of /proc/PID/syscall into HG_WAIT_SAMPLE_SYSNR to ARG2; false when it is none. */
bool sampler_syscall_parse(const char *text, uint64_t f[static 5]);
/*
 * A line of /proc/net/softnet_stat into HG_SOFTNET_CPU to BACKLOG; line: its number, which is the CPU's before Linux
 * 5.10. false: not one.
 */
bool sampler_softnet_parse(const char *text, unsigned int line, uint64_t f[static 7]);
/* A line of /proc/diskstats into HG_DISK_*; the name is terminated in name. false: not one. */
bool sampler_disk_parse(const char *line, char name[static 64], uint64_t f[static 19]);
/* A file of pressure: totals in ns; what it does not say is 0. false: not one. */
bool sampler_psi_parse(const char *text, uint64_t *some_ns_out, uint64_t *full_ns_out);
/* Adds what the text of a /proc/net/snmp or netstat (pairs of lines) or snmp6 says to HG_NETNS_STATS_*. */
void sampler_snmp_parse(const char *text, uint64_t f[static 17]);
void sampler_snmp6_parse(const char *text, uint64_t f[static 17]);
uint64_t sampler_ticks_to_ns(uint64_t ticks);

#endif
