/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hey 0.1. Its Requests/sec counts attempts that got no answer at all: a refused connection gives a
 * splendid rate. The value is therefore the answers, from the two distributions at the end.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

#define CONNECTIONS_DEFAULT 50 /* hey's -c */

static bool hey_starts(const char *line)
{
	return !strcmp(line, "Summary:");
}

/* "  [200]\t159 responses", "  [58225]\tGet ...": the number in brackets; *p moves behind it */
static bool bracketed(const char **p, double *out)
{
	const char *s = hg_client_after(*p, "[");

	if (!s || !hg_client_number(&s, out) || *s != ']')
		return false;
	*p = s + 1;
	return true;
}

static bool hey_parse(const struct hg_client_text *text, struct hg_client_result *out,
		      uint64_t *end_ns)
{
	enum { SUMMARY, CODES, ERRORS } part = SUMMARY;
	double attempts_per_s = 0, code, n, per_worker;
	bool found = false;

	for (size_t i = 0; i < text->count; i++) {
		const char *line = text->lines[i].text, *p = line;

		if (hg_client_field(line, "Requests/sec:", &attempts_per_s)) {
			*end_ns = text->lines[i].time_ns;
			found = true;
		} else if (hg_client_after(line, "Status code distribution:")) {
			part = CODES;
		} else if (hg_client_after(line, "Error distribution:")) {
			part = ERRORS;
		} else if (part == CODES && bracketed(&p, &code) && hg_client_field(p, "", &n)) {
			out->completed += n;
			out->errors += code >= 400 ? n : 0;
		} else if (part == ERRORS && bracketed(&p, &n)) {
			out->errors += n;
		} else if (part == SUMMARY) {
			(void)(hg_client_field(line, "Total:", &out->duration_s) ||
			       hg_client_field(line, "Average:", &out->latency_mean_s));
		}
	}
	out->value = part == SUMMARY || out->duration_s <= 0 ? attempts_per_s
							     : out->completed / out->duration_s;
	if (text->words_count) {
		out->concurrency = CONNECTIONS_DEFAULT;
		hg_client_option(text, 'c', NULL, &out->concurrency);
		if (hg_client_option(text, 'q', NULL, &per_worker))
			out->offered = per_worker * out->concurrency;
	}
	out->closed_loop = text->words_count && out->offered == 0;
	snprintf(out->unit, sizeof(out->unit), "requests/s");
	snprintf(out->source, sizeof(out->source), "hey's output: %s (no series in its summary)",
		 part == SUMMARY ? "Requests/sec" : "responses / Total");
	return found;
}

static const char *const commands[] = {"hey", NULL};
const struct hg_client_format hg_client_hey = {"hey", commands, hey_starts, false, hey_parse};
