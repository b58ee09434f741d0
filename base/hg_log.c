/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hg_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hg_escape.h"

static hg_log_fn log_fn;
static void *log_arg;
static enum hg_log_level log_level = HG_LOG_INFO;

static void log_stderr(enum hg_log_level level, const char *message)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};

	fprintf(stderr, "hourglass: %s%s\n", prefix[level], message);
}

const char *hg_error_text(int err)
{
	static const struct {
		int err;
		const char *text;
	} limits[] = {
		{EMFILE, "Too many open files (ulimit -n)"},
		{EAGAIN, "No more processes or threads may be started (ulimit -u)"},
		{EFBIG, "File too large (ulimit -f)"},
		{ENOMEM, "Out of memory (ulimit -v, or the limit of the cgroup)"},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(limits); i++) {
		if (limits[i].err == -err)
			return limits[i].text;
	}
	return strerror(-err);
}

void hg_log_set(hg_log_fn fn, void *arg)
{
	log_fn = fn;
	log_arg = arg;
}

void hg_log_level_set(enum hg_log_level level)
{
	log_level = level;
}

void hg_log(enum hg_log_level level, const char *fmt, ...)
{
	char raw[1024], safe[2 * sizeof(raw)];
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	hg_escape_terminal(safe, sizeof(safe), raw);
	if (log_fn)
		log_fn(log_arg, level, safe);
	else
		log_stderr(level, safe);
}
