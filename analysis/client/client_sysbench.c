/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysbench 1.0: events for cpu, memory, threads and mutex, transactions for databases. */
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

static bool sysbench_starts(const char *line)
{
	return !strncmp(line, "sysbench ", 9);
}

/* "[ 10s ] thds: 4 tps: 1.00 qps: ...", "[ 1s ] thds: 2 eps: 7328.51 ..." */
static bool interval(const struct hg_line *line, struct hg_client_result *out)
{
	const char *p = hg_client_after(line->text, "[");
	const char *rate = p ? strstr(p, " tps:") : NULL;
	double at_s, value;

	if (p && !rate)
		rate = strstr(p, " eps:");
	if (!rate || !hg_client_number(&p, &at_s) || !hg_client_field(rate + 5, "", &value))
		return false;
	hg_client_series_add(out, line->time_ns, value);
	return true;
}

/* "    transactions:                        3412   (340.99 per sec.)" */
static bool transactions(const char *line, struct hg_client_result *out)
{
	const char *p = hg_client_after(line, "transactions:");
	double n, rate;

	if (!p || !hg_client_number(&p, &n) || !hg_client_field(p, "(", &rate))
		return false;
	out->completed = n;
	out->value = rate;
	return true;
}

static bool sysbench_parse(const struct hg_client_text *text, struct hg_client_result *out,
			   uint64_t *end_ns)
{
	const char *what = NULL;

	for (size_t i = 0; i < text->count; i++) {
		const char *line = text->lines[i].text, *p;
		double ms;

		if (transactions(line, out)) {
			*end_ns = text->lines[i].time_ns;
			what = "transactions";
		} else if (!what && hg_client_field(line, "events per second:", &out->value)) {
			*end_ns = text->lines[i].time_ns;
			what = "events";
		} else if (hg_client_field(line, "avg:", &ms)) {
			out->latency_mean_s = ms / 1000;
		} else if ((p = hg_client_after(line, "total time:"))) {
			hg_client_seconds(&p, &out->duration_s);
		} else if (!interval(&text->lines[i], out)) {
			(void)(hg_client_field(line, "Number of threads:", &out->threads) ||
			       hg_client_field(line, "total number of events:", &out->completed));
		}
	}
	out->concurrency = out->threads; /* one outstanding event a thread */
	out->closed_loop = !hg_client_option(text, 0, "rate", &out->offered) || out->offered == 0;
	snprintf(out->unit, sizeof(out->unit), "%s/s", what ? what : "events");
	snprintf(out->source, sizeof(out->source), "sysbench's output: %s per second%s",
		 what ? what : "events",
		 out->series_count ? "" : " (no series without --report-interval)");
	return what;
}

static const char *const commands[] = {"sysbench", NULL};
const struct hg_client_format hg_client_sysbench = {"sysbench", commands, sysbench_starts, false,
						    sysbench_parse};
