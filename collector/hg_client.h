/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CMD: started stopped, let go when the probes are attached, its output passed through untouched and stamped line by
 * line. Also follows --client-log. Called by the session.
 */
#ifndef HG_CLIENT_H
#define HG_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/hg_writer.h"

struct hg_client;

struct hg_client_opts {
	char *const *argv;
	const char *user; /* --user; NULL: who called sudo, else the caller */
};

/*
 * Forks; the child waits before exec. -ENOENT, -EACCES: not found or not executable, found out now, with
 * one message, not after the probes are attached.
 */
int hg_client_start(const struct hg_client_opts *opts, struct hg_client **out);
pid_t hg_client_pid(const struct hg_client *c);
int hg_client_release(struct hg_client *c);

/* Follows a file from its present end (whole lines only); a file that appears later or is replaced is followed too. */
int hg_client_log_open(const char *path, struct hg_client **out);

/* For epoll: readable when there is output or it has ended. */
int hg_client_fd(const struct hg_client *c);
/* Passes through and writes LINE records. 1 while running, 0 when CMD ended and all its output is read, or -errno of the writer. */
int hg_client_poll(struct hg_client *c, struct hg_writer *w);
/* Wait status as of waitpid, valid once poll returned 0. */
int hg_client_status(const struct hg_client *c);
/* Sends a signal to CMD's process group. */
void hg_client_kill(struct hg_client *c, int signo);
void hg_client_free(struct hg_client *c);

/* uid, gid and groups of the one who called sudo (SUDO_UID, SUDO_GID), else the caller. */
void hg_owner_get(uid_t *uid_out, gid_t *gid_out);

#endif
