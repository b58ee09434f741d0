/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pgbench 9.6 to 17; -P prints the series. */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

static bool pgbench_starts(const char *line)
{
	return !strncmp(line, "pgbench (", 9);
}

/* "progress: 1.0 s, 1786.8 tps, lat 2.132 ms stddev 1.273, 0 failed" */
static bool progress(const struct hg_line *line, struct hg_client_result *out)
{
	const char *p = hg_client_after(line->text, "progress:");
	double at_s, rate;

	if (!p)
		return false;
	if (hg_client_number(&p, &at_s) && hg_client_field(p, "s,", &rate))
		hg_client_series_add(out, line->time_ns, rate);
	return true;
}

static bool pgbench_parse(const struct hg_client_text *text, struct hg_client_result *out,
			  uint64_t *end_ns)
{
	bool found = false;

	for (size_t i = 0; i < text->count; i++) {
		const char *line = text->lines[i].text, *p;

		if (hg_client_field(line, "tps =", &out->value)) {
			*end_ns = text->lines[i].time_ns;
			found = true;
		} else if ((p = hg_client_after(line, "latency average ="))) {
			hg_client_seconds(&p, &out->latency_mean_s);
		} else if (!progress(&text->lines[i], out)) {
			(void)(hg_client_field(line, "number of clients:", &out->concurrency) ||
			       hg_client_field(line, "number of threads:", &out->threads) ||
			       hg_client_field(line, "duration:", &out->duration_s) ||
			       hg_client_field(line, "number of transactions actually processed:",
					       &out->completed) ||
			       hg_client_field(line,
					       "number of failed transactions:", &out->errors));
		}
	}
	out->closed_loop = !hg_client_option(text, 'R', "rate", &out->offered);
	snprintf(out->unit, sizeof(out->unit), "transactions/s");
	snprintf(out->source, sizeof(out->source), "pgbench's output: tps%s",
		 out->series_count ? "" : " (no series without -P)");
	return found;
}

static const char *const commands[] = {"pgbench", NULL};
const struct hg_client_format hg_client_pgbench = {"pgbench", commands, pgbench_starts, false,
						   pgbench_parse};
