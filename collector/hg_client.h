/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CMD: started stopped, let go when the probes are attached, its output passed through untouched and
 * stamped line by line. Called by the session.
 */
#ifndef HG_CLIENT_H
#define HG_CLIENT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "collector/hg_lines.h"
#include "collector/hg_owner.h"

struct hg_client;

struct hg_client_opts {
	char *const *argv;
	const char *user;	     /* --user; NULL: who called sudo, else the caller */
	const sigset_t *mask;	     /* signal mask that CMD starts with */
	const struct rlimit *files;  /* limit of open files that CMD starts with */
	struct hg_line_store *store; /* takes its lines; outlives the client */
};

/*
 * Forks; the child waits before exec, in a process group of its own. It ends when the caller does. -ENOENT,
 * -EACCES: not found or not executable by that user, found out now, with one message, not after the probes
 * are attached. Call before threads start.
 */
int hg_client_start(const struct hg_client_opts *opts, struct hg_client **out);
pid_t hg_client_pid(const struct hg_client *c);
/* Lets it run CMD. */
int hg_client_release(struct hg_client *c);

/* For epoll: readable when there is output, room for it, or an end. */
int hg_client_fd(const struct hg_client *c);
/*
 * Passes output through and its lines to the store, without blocking and in bounded steps. 1 while running, 0 when CMD ended and
 * what it had written is passed on, or -errno of the store.
 */
int hg_client_poll(struct hg_client *c);
/* True as soon as CMD itself has ended. */
bool hg_client_ended(const struct hg_client *c);
/* Wait status as of waitpid, once it has ended. */
int hg_client_status(const struct hg_client *c);
/* Why its output could not be passed on to our stdout or stderr: -errno and which; 0: it was, so far. */
int hg_client_output_error(const struct hg_client *c, int *fd_out);
/* The last byte that went to a terminal did not end a line. */
bool hg_client_line_open(const struct hg_client *c);
/* On SIGCHLD: gives the terminal to a CMD that stopped because it wants to read from it. */
void hg_client_stopped(struct hg_client *c);
/* Sends a signal to CMD's process group. */
void hg_client_kill(struct hg_client *c, int signo);
/* A CMD that was not released ends without having run. */
void hg_client_free(struct hg_client *c);

#endif
