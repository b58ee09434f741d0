/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that anybody's load generator can print, documented in hourglass-report(1):
 *
 *	throughput: 1234.5 requests/s
 *	interval: 1230.1 requests/s     at the end of each interval, for a series
 *	offered: 2000                   the rate that it holds, in the same unit
 *	connections: 8
 *	threads: 2
 *	completed: 12345
 *	duration: 10.0                  seconds
 *	latency-mean: 0.0012            seconds
 *	errors: 0
 */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

static bool keyvalue_starts(const char *line)
{
	double value;

	return hg_client_field(line, "throughput:", &value);
}

/* A number and at most one word after it: prose such as "duration: 10 s of warm-up" is not meant
 * for us. */
static bool key(const char *line, const char *name, double *out, char *unit, size_t unit_size)
{
	const char *p = hg_client_after(line, name);
	size_t length;
	double value;

	if (!p || !hg_client_number(&p, &value))
		return false;
	p += strspn(p, " \t");
	length = strcspn(p, " \t");
	if (p[length + strspn(p + length, " \t")] || length >= unit_size)
		return false;
	if (length)
		snprintf(unit, unit_size, "%.*s", (int)length, p);
	*out = value;
	return true;
}

static void keyvalue_field(const char *line, struct hg_client_result *out)
{
	const struct {
		const char *name;
		double *value;
	} keys[] = {
		{"offered:", &out->offered},	 {"connections:", &out->concurrency},
		{"threads:", &out->threads},	 {"completed:", &out->completed},
		{"duration:", &out->duration_s}, {"latency-mean:", &out->latency_mean_s},
		{"errors:", &out->errors},
	};
	char unit[24];

	for (size_t i = 0; i < HG_ARRAY_SIZE(keys); i++) {
		if (key(line, keys[i].name, keys[i].value, unit, sizeof(unit)))
			return;
	}
}

static double series_mean(const struct hg_client_result *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->series_count; i++)
		sum += r->series[i].value;
	return sum / (double)r->series_count;
}

static bool keyvalue_parse(const struct hg_client_text *text, struct hg_client_result *out,
			   uint64_t *end_ns)
{
	const char *from = NULL;
	double value;

	snprintf(out->unit, sizeof(out->unit), "requests/s");
	for (size_t i = 0; i < text->count; i++) {
		const struct hg_line *line = &text->lines[i];

		if (key(line->text, "throughput:", &out->value, out->unit, sizeof(out->unit))) {
			from = "throughput line";
			*end_ns = line->time_ns;
		} else if (key(line->text, "interval:", &value, out->unit, sizeof(out->unit))) {
			hg_client_series_add(out, line->time_ns, value);
			if (!from)
				*end_ns = line->time_ns;
		} else {
			keyvalue_field(line->text, out);
		}
	}
	if (!from && out->series_count) {
		out->value = series_mean(out);
		from = "mean of its interval lines";
	}
	out->closed_loop = out->concurrency > 0 && out->offered == 0;
	snprintf(out->source, sizeof(out->source), "the client's key-value lines: %s%s",
		 from ? from : "none", out->series_count ? "" : " (no interval lines)");
	return from;
}

static const char *const commands[] = {NULL};
const struct hg_client_format hg_client_keyvalue = {"key-value", commands, keyvalue_starts, true,
						    keyvalue_parse};
