/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hg_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hg_escape.h"

static hg_log_fn log_fn;
static void *log_arg;
static enum hg_log_level log_level = HG_LOG_INFO;

static void log_stderr(enum hg_log_level level, const char *message)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};

	fprintf(stderr, "hourglass: %s%s\n", prefix[level], message);
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
