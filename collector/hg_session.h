/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording from start to end. Called by `hourglass record`.
 *
 * hg_session.c is the order of things; session_*.c are its parts, which share session_parts.h.
 */
#ifndef HG_SESSION_H
#define HG_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hg_session_progress {
	uint64_t elapsed_ns, events, bytes, lost;
	bool recording; /* false: it is over, and CMD still runs */
};

struct hg_session_opts {
	const char *output;
	bool force;
	const pid_t *pids; /* -p */
	size_t pids_count;
	const char *const *cgroups; /* --cgroup */
	size_t cgroups_count;
	bool all;		  /* -a */
	double duration_s;	  /* -d; 0 = none */
	const char *user;	  /* --user */
	const char *client_log;	  /* --client-log */
	const char *client_name;  /* --client: format */
	const char *client_regex; /* --client-regex */
	bool client_tells;	  /* completed work: messages need not be counted */
	char *const *command;	  /* CMD, NULL if none */
	size_t ring_bytes_cpu;	  /* -m */
	bool no_args;
	uint32_t drop_one_in; /* tests only */
	int argc;	      /* for the environment */
	char *const *argv;
	/*
	 * Twice a second; with NULL: take back what is shown, CMD is going to write to the terminal. May be NULL.
	 */
	void (*progress)(void *arg, const struct hg_session_progress *progress);
	void *progress_arg;
};

struct hg_session_result {
	uint64_t events, bytes; /* that are in the file, whatever happened */
	uint64_t lost;
	uint64_t wall_ns;    /* of the recording; after a failure of what is in the file */
	uint64_t own_cpu_ns; /* user space, all threads, while it recorded */
	uint64_t
		bpf_ns; /* of its probes while it recorded, estimated from measured parts; 0 unknown */
	uint64_t ring_bytes_max; /* fullest that a ring was found */
	uint32_t
		promoted; /* lanes that were followed because they wake or hold locks of the target */
	uint32_t promoted_over; /* lanes that should have been, beyond the cap */
	int command_status;	/* as of waitpid */
	bool command_ended;
	bool command_killed; /* by a second Ctrl-C: what it returned is no failure of its own */
	bool output_broken;  /* CMD's output could not be passed on, which is told */
	bool began;	     /* there is a file */
	bool spoiled;	     /* losses that spoil the verdict: exit code 3 */
	int end_reason;	     /* HG_END_* */
};

/* Lost events beyond this share of all spoil the verdict. */
#define HG_SESSION_LOSS_MAX 0.01

/* 0, or -errno after one message; the file holds all that was recorded until then. */
int hg_session_run(const struct hg_session_opts *opts, struct hg_session_result *out);

#endif
