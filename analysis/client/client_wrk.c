/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wrk 4 and wrk2, which adds -R: a rate that it holds. */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

static bool wrk_starts(const char *line)
{
	return !strncmp(line, "Running ", 8) && strstr(line, " test @ ");
}

/* "  Socket errors: connect 0, read 70530, write 0, timeout 0" */
static void socket_errors(const char *p, struct hg_client_result *out)
{
	double n;

	for (; *p; p++) {
		if (p[0] == ' ' && hg_client_field(p + 1, "", &n))
			out->errors += n;
	}
}

static void wrk_line(const char *line, struct hg_client_result *out)
{
	const char *p = line + strspn(line, " ");
	double a, b;

	if (hg_client_number(&p, &a)) {
		if (hg_client_field(p, "threads and ", &b)) {
			out->threads = a;
			out->concurrency = b;
		} else if ((p = hg_client_after(p, "requests in ")) && hg_client_seconds(&p, &b)) {
			out->completed = a;
			out->duration_s = b;
		}
	} else if ((p = hg_client_after(line, "Latency "))) {
		/* the first row of the statistics, not "Latency Distribution" */
		if (hg_client_seconds(&p, &a) && out->latency_mean_s == 0)
			out->latency_mean_s = a;
	} else if ((p = hg_client_after(line, "Socket errors:"))) {
		socket_errors(p - 1, out);
	} else if (hg_client_field(line, "Non-2xx or 3xx responses:", &a)) {
		out->errors += a;
	}
}

static bool wrk_parse(const struct hg_client_text *text, struct hg_client_result *out,
		      uint64_t *end_ns)
{
	bool found = false;

	for (size_t i = 0; i < text->count; i++) {
		if (hg_client_field(text->lines[i].text, "Requests/sec:", &out->value)) {
			*end_ns = text->lines[i].time_ns;
			found = true;
		} else {
			wrk_line(text->lines[i].text, out);
		}
	}
	out->closed_loop = !hg_client_option(text, 'R', "rate", &out->offered);
	snprintf(out->unit, sizeof(out->unit), "requests/s");
	snprintf(out->source, sizeof(out->source),
		 "wrk's output: Requests/sec (wrk prints no series)");
	return found;
}

static const char *const commands[] = {"wrk", "wrk2", NULL};
const struct hg_client_format hg_client_wrk = {"wrk", commands, wrk_starts, false, wrk_parse};
