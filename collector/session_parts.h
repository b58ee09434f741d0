/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of a recording share. Included by hg_session.c and session_*.c only.
 */
#ifndef HG_SESSION_PARTS_H
#define HG_SESSION_PARTS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "collector/hg_client.h"
#include "collector/hg_client_log.h"
#include "collector/hg_netns.h"
#include "collector/hg_probes.h"
#include "collector/hg_sampler.h"
#include "collector/hg_session.h"
#include "trace/hg_writer.h"

/* -- session_output.c: the file, made so that no one else's link or file is followed or overwritten -- */

struct hg_output {
	int fd;
	int dir_fd;
	int old_fd;	 /* the file to be replaced, locked until it is; -1: none */
	char *name;	 /* in dir_fd */
	char *temp_name; /* what it is called until commit, when it is to replace another; else NULL */
	bool created, committed;
};

/*
 * Makes a new file that belongs to the owner. -EEXIST without force, -EBUSY: another recording is writing it. One
 * message on failure.
 */
int session_output_open(struct hg_output *o, const char *path, bool force);
/* From here on it is there under its own name, and stays. */
int session_output_commit(struct hg_output *o, const char *path);
/* After a start that failed: there is nothing in it. */
void session_output_remove(struct hg_output *o);
/* Its size now. */
uint64_t session_output_bytes(const struct hg_output *o);
/* Removes the file unless it was committed. fd is closed unless it was taken. */
void session_output_clear(struct hg_output *o);

/* -- session_privilege.c -- */

/* -EPERM with one message that names what is missing and the remedy. */
int session_privilege_check(void);
/*
 * Gives up all that only loading and attaching needed: the calling thread becomes the owner and keeps the
 * capabilities of a table. Threads started later have no more. 0 or -errno with one message.
 */
int session_privilege_drop(void);
/* Keeps only what switching the kernel's BPF statistics needs. 0 or -errno. */
int session_privilege_switch_only(void);
/* Becomes the owner and keeps only what entering network namespaces needs. 0 or -errno. */
int session_privilege_netns_only(void);
/* Lets the calling thread, and none that it starts, run before ordinary ones: rings do not wait. Best effort. */
void session_priority_raise(void);
/*
 * Calls fn in such a way that the threads it starts go before what has the usual priority and after what is urgent,
 * and cannot change that. Returns what fn does.
 */
int session_priority_prefer(int (*fn)(void *arg), void *arg);

/* -- session_limits.c -- */

/* -EMFILE or -ENOMEM with one message that names the limit and the remedy. rings_bytes: of all CPUs. */
int session_limits_check(size_t rings_bytes, size_t targets);
/*
 * As many open files as are allowed: the samplers keep some for each thread of the target. Best effort. What was
 * before is for CMD.
 */
void session_files_raise(struct rlimit *before_out);

/* -- session_targets.c: the processes of -p, the cgroups of --cgroup -- */

struct hg_cgroup_found;

struct hg_target {
	enum hg_target_type type;
	pid_t tgid; /* a process's */
	struct hg_cgroup_found *cgroup;
	int fd; /* of the process (pidfd), or of the cgroup's directory; -1: gone */
};

/* A target's place is its index in the trace. */
struct hg_targets {
	struct hg_target *v;
	size_t count, alive;
};

/* We are in a pid namespace of our own: pids here are not those that the probes see. */
bool hg_in_pid_namespace(void);
/* A pid of a thread stands for its process; what is named twice is one target. -errno with one message. */
int session_targets_open(struct hg_targets *t, const struct hg_session_opts *o);
/* Tells the probes. */
int session_targets_root_add(const struct hg_targets *t, struct hg_probes *p, uint32_t role);
/* Processes of all targets now, at most max: for the environment. */
size_t session_targets_processes(const struct hg_targets *t, pid_t *out, size_t max);
/* Writes a TARGET for each. 0 or -errno of the writer. */
int session_targets_describe(const struct hg_targets *t, struct hg_writer *w);
/* The one of CMD, when that is the target. */
int session_targets_describe_command(pid_t pid, const char *program, struct hg_writer *w);
/* Finds cgroups that have been removed; processes tell by their fd. */
void session_targets_look(struct hg_targets *t);
/* Marks target i as gone. */
void session_targets_gone(struct hg_targets *t, size_t i);
void session_targets_clear(struct hg_targets *t);

/* -- session_sampling.c: a thread that samples, so that rings never wait for /proc -- */

struct hg_sampling;

/* Starts the thread, with the privileges of the caller. netns: as of hg_sampler. 0 or -errno with one message. */
int session_sampling_open(struct hg_netns_opener *netns, struct hg_sampling **out);
void session_sampling_free(struct hg_sampling *s);
/* As of hg_sampler, soon. */
void session_sampling_task_add(struct hg_sampling *s, uint32_t lane, pid_t tid, pid_t tgid,
			       uint32_t role);
void session_sampling_task_remove(struct hg_sampling *s, uint32_t lane);
void session_sampling_spin_add(struct hg_sampling *s, const struct hg_spin_seen *spin);
/* Asks for a sample of everything; asked again before it began, it is one. 0 or the writer's first -errno. */
int session_sampling_tick(struct hg_sampling *s, struct hg_writer *w);
/* The last one: of every task. */
int session_sampling_final(struct hg_sampling *s, struct hg_writer *w);
/* 1 if all that was asked for is written, 0, or the writer's first -errno. */
int session_sampling_idle(struct hg_sampling *s);

/* -- session_lanes.c: level 2, and who is sampled -- */

struct hg_session_lanes;

/* all_is_target: -a, and no target is named. */
int session_lanes_new(bool all_is_target, struct hg_session_lanes **out);
void session_lanes_free(struct hg_session_lanes *l);
/* For hg_probes_opts. */
struct hg_probes_observer session_lanes_observer(struct hg_session_lanes *l);
void session_lanes_sampling_set(struct hg_session_lanes *l, struct hg_sampling *sampling);
/* Once a second: promotes those that woke level 0 or held its locks, up to the cap. 0 or -errno of the writer. */
int session_lanes_promote(struct hg_session_lanes *l, struct hg_probes *p, struct hg_writer *w);
void session_lanes_counts(const struct hg_session_lanes *l, uint32_t *promoted_out,
			  uint32_t *over_out);

/* -- session_cost.c -- */

enum hg_cost_state { HG_COST_OFF, HG_COST_TURNS_ON, HG_COST_ON, HG_COST_TURNS_OFF };

struct hg_cost {
	pid_t pid; /* of the child that switches statistics */
	int fd;	   /* to it, readable when it is done; -1: not measured */
	enum hg_cost_state state;
	uint64_t begin_ns, begin_run_ns; /* when they went on */
	uint64_t measured_ns,
		run_ns; /* of all the time that they were on: its length, run time in it */
};

struct hg_session;
/* Call before the probes are attached. 0 or -errno. */
int session_cost_open(struct hg_cost *c, struct hg_probes *p);
/* Once a tick. 0 or -errno of the writer. */
int session_cost_tick(struct hg_session *s);
/* The child has answered. 0 or -errno of the writer. */
int session_cost_answer(struct hg_session *s);
int session_cost_end(struct hg_session *s);
void session_cost_close(struct hg_cost *c);

/* -- hg_session.c and session_loop.c -- */

struct hg_session {
	const struct hg_session_opts *opts;
	struct hg_session_result *result;
	struct hg_output output;
	struct hg_targets targets;
	struct hg_session_lanes *lanes;
	struct hg_line_store *lines;
	struct hg_client *client;  /* CMD or NULL */
	struct hg_client_log *log; /* or NULL */
	struct hg_probes *probes;
	struct hg_netns_opener *netns; /* or NULL */
	struct hg_sampling *sampling;
	struct hg_writer *writer;
	struct hg_cost cost;
	sigset_t signals, signals_before;
	struct rlimit files_before;
	int epoll_fd, signal_fd, drain_fd, tick_fd, end_fd;
	uint64_t begin_ns, own_cpu_begin_ns;
	uint64_t events, events_lost;
	uint32_t ticks;
	unsigned int kills; /* signals after the end of the recording */
	bool command_is_target;
	bool more; /* a ring was not emptied */
	bool over; /* recording is */
	bool client_end_marked;
};

/* Writes a MARK of this moment. */
int session_mark(struct hg_session *s, uint64_t what, uint64_t arg);
/* The totals of the CPUs, and once a second what hourglass itself uses. */
int session_totals(struct hg_session *s, bool with_own);
/* CPU time of all of hourglass's threads so far. */
uint64_t session_own_cpu_ns(void);

/* Makes the timers and the set of what is waited for. */
int session_loop_open(struct hg_session *s);
int session_loop_end_after(struct hg_session *s, double seconds);
void session_loop_close(struct hg_session *s);
/* Until recording is to end: sets result->end_reason. 0 or -errno of the writer. */
int session_loop_record(struct hg_session *s);
/* Empties the rings until the samplers are done with what was asked. 0 or -errno of the writer. */
int session_loop_wait_samples(struct hg_session *s);
/* Takes all that the rings hold now. */
int session_loop_drain_all(struct hg_session *s);
/* Until CMD has ended and its output is passed on. */
void session_loop_wait_client(struct hg_session *s);

#endif
