/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ab of apache2-utils 2.4 */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

static bool ab_starts(const char *line)
{
	return !strncmp(line, "This is ApacheBench", 19);
}

static bool ab_parse(const struct hg_client_text *text, struct hg_client_result *out,
		     uint64_t *end_ns)
{
	bool found = false;
	double n;

	for (size_t i = 0; i < text->count; i++) {
		const char *line = text->lines[i].text;

		if (hg_client_field(line, "Requests per second:", &out->value)) {
			*end_ns = text->lines[i].time_ns;
			found = true;
		} else if (hg_client_field(line, "Failed requests:", &n) ||
			   hg_client_field(line, "Non-2xx responses:", &n)) {
			out->errors += n;
		} else if (hg_client_field(line, "Time per request:", &n)) {
			/* the first of two; the second is the mean over all connections */
			if (out->latency_mean_s == 0)
				out->latency_mean_s = n / 1000;
		} else {
			(void)(hg_client_field(line, "Concurrency Level:", &out->concurrency) ||
			       hg_client_field(line, "Time taken for tests:", &out->duration_s) ||
			       hg_client_field(line, "Complete requests:", &out->completed));
		}
	}
	out->threads = 1;
	out->closed_loop = true;
	snprintf(out->unit, sizeof(out->unit), "requests/s");
	snprintf(out->source, sizeof(out->source),
		 "ab's output: Requests per second (ab prints no series)");
	return found;
}

static const char *const commands[] = {"ab", NULL};
const struct hg_client_format hg_client_ab = {"ab", commands, ab_starts, false, ab_parse};
