/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording from start to end. Called by `hourglass record`.
 */
#ifndef HG_SESSION_H
#define HG_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hg_session_opts {
	const char *output;
	bool force;
	const pid_t *pids; /* -p */
	size_t pids_count;
	bool all;               /* -a */
	double duration_s;      /* -d; 0 = none */
	const char *user;       /* --user */
	const char *client_log; /* --client-log */
	const char *client_name;  /* --client: format */
	const char *client_regex; /* --client-regex */
	char *const *command;   /* CMD, NULL if none */
	size_t ring_bytes_cpu;  /* -m */
	bool no_args;
	bool quiet;
	uint32_t drop_one_in; /* tests only */
	int argc;             /* for the environment */
	char *const *argv;
};

struct hg_session_result {
	uint64_t events, lost, bytes, wall_ns, own_cpu_ns;
	int command_status; /* as of waitpid */
	bool command_ended;
	bool spoiled;       /* losses that spoil the verdict: exit code 3 */
	int end_reason;     /* HG_END_* */
};

/* 0, or -errno after one message; the file holds all that was recorded until then. */
int hg_session_run(const struct hg_session_opts *opts, struct hg_session_result *out);

#endif
