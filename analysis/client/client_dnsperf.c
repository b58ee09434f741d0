/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dnsperf 2. It prints its own command line, which is better than CMD's when a script calls it. */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

#define WORDS_MAX 64

static bool dnsperf_starts(const char *line)
{
	return !strncmp(line, "DNS Performance Testing Tool", 28);
}

static void options(const struct hg_client_text *text, struct hg_client_result *out)
{
	out->concurrency = 100; /* dnsperf's default for -q */
	hg_client_option(text, 'q', NULL, &out->concurrency);
	hg_client_option(text, 'T', NULL, &out->threads);
	hg_client_option(text, 'Q', NULL, &out->offered);
}

static void own_command_line(const char *line, struct hg_client_result *out)
{
	char copy[1024], *save = NULL;
	const char *words[WORDS_MAX];
	struct hg_client_text text = {.words = words};

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w && text.words_count < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[text.words_count++] = w;
	options(&text, out);
}

/* "1796059900.190856: 73035.250512" of -S: rate since the line before */
static void interval(const struct hg_line *line, struct hg_client_result *out)
{
	const char *p = line->text;
	double epoch_s, rate;

	if (hg_client_number(&p, &epoch_s) && epoch_s > 1e9 && hg_client_field(p, ":", &rate))
		hg_client_series_add(out, line->time_ns, rate);
}

static bool dnsperf_parse(const struct hg_client_text *text, struct hg_client_result *out,
			  uint64_t *end_ns)
{
	bool found = false;

	options(text, out);
	for (size_t i = 0; i < text->count; i++) {
		const char *line = text->lines[i].text, *p;

		if ((p = hg_client_after(line, "[Status] Command line:"))) {
			own_command_line(p, out);
		} else if (hg_client_field(line, "Queries per second:", &out->value)) {
			*end_ns = text->lines[i].time_ns;
			found = true;
		} else if (!hg_client_field(line, "Queries completed:", &out->completed) &&
			   !hg_client_field(line, "Queries lost:", &out->errors) &&
			   !hg_client_field(line, "Run time (s):", &out->duration_s) &&
			   !hg_client_field(line, "Average Latency (s):", &out->latency_mean_s)) {
			interval(&text->lines[i], out);
		}
	}
	out->closed_loop = out->offered == 0;
	snprintf(out->unit, sizeof(out->unit), "queries/s");
	snprintf(out->source, sizeof(out->source), "dnsperf's output: Queries per second%s",
		 out->series_count ? "" : " (no series without -S)");
	return found;
}

static const char *const commands[] = {"dnsperf", NULL};
const struct hg_client_format hg_client_dnsperf = {"dnsperf", commands, dnsperf_starts, false,
						   dnsperf_parse};
