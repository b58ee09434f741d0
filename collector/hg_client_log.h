/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows --client-log FILE, the output of a client that hourglass did not start, as tail -F does. Called
 * by the session.
 */
#ifndef HG_CLIENT_LOG_H
#define HG_CLIENT_LOG_H

#include <stdint.h>

#include "collector/hg_lines.h"

struct hg_client_log;

/*
 * Follows a file from its present end, whole lines only. One that appears later or is replaced is followed too, from its start.
 * -EINVAL with one message if it is there and not a regular file. store outlives the follower.
 */
int hg_client_log_open(const char *path, struct hg_line_store *store, struct hg_client_log **out);
/* For epoll: readable when there may be something new, at least five times a second. */
int hg_client_log_fd(const struct hg_client_log *l);
/* Reads what is new, at most 1 MiB. 0 or -errno of the store. */
int hg_client_log_poll(struct hg_client_log *l);
/* A last line without an end is kept, marked as unfinished. */
int hg_client_log_end(struct hg_client_log *l);
void hg_client_log_free(struct hg_client_log *l);

#endif
