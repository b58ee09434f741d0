/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people: one sentence that says what failed, on which object,
 * why, and what to do. The library writes them here, once, where the most is
 * known; the command decides where they go (stderr unless told otherwise).
 */
#ifndef HG_LOG_H
#define HG_LOG_H

#include "base/hg_base.h"

enum hg_log_level { HG_LOG_ERROR = 0, HG_LOG_WARN = 1, HG_LOG_INFO = 2, HG_LOG_DEBUG = 3 };

typedef void (*hg_log_fn)(void *arg, enum hg_log_level level, const char *message);

/* Replaces the sink; NULL restores stderr. Call before threads start. */
void hg_log_set(hg_log_fn fn, void *arg);
/* Messages above this level are dropped; HG_LOG_INFO at start. */
void hg_log_level_set(enum hg_log_level level);

/* Message without newline; control characters are escaped by the sink. Thread-safe. */
void hg_log(enum hg_log_level level, const char *fmt, ...) HG_PRINTF(2, 3);

/* strerror(-err), but where a resource limit is behind it, which one: "Too many open files (ulimit -n)". */
const char *hg_error_text(int err);

#define hg_error(...) hg_log(HG_LOG_ERROR, __VA_ARGS__)
#define hg_warn(...)  hg_log(HG_LOG_WARN, __VA_ARGS__)
#define hg_info(...)  hg_log(HG_LOG_INFO, __VA_ARGS__)
#define hg_debug(...) hg_log(HG_LOG_DEBUG, __VA_ARGS__)

#endif
