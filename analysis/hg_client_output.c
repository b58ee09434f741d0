/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/hg_client_output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"
#include "base/hg_base.h"

#define WORDS_MAX 256
#define RUNS_MAX  64
#define ARGV_MAX  4096
#define OVERLAP_LEAST                                                                              \
	0.9 /* part of the longest run in which all must have been at work, to be added */
#define SKEW_MARKED	     0.05 /* of the common time */
#define SERIES_STEP_LEAST_NS UINT64_C(10000000)

/* The order matters where a generator's lines look like another's: the strict ones first. */
static const struct hg_client_format *const formats[] = {
	&hg_client_wrk,	   &hg_client_dnsperf, &hg_client_ab,	    &hg_client_hey,
	&hg_client_iperf3, &hg_client_pgbench, &hg_client_sysbench, &hg_client_keyvalue,
};

/* CMD as words, quotes taken off. */
struct words {
	char copy[ARGV_MAX];
	const char *v[WORDS_MAX];
	size_t n;
};

struct run {
	struct hg_client_result result;
	uint64_t end_ns;
};

const char *hg_client_format_name(size_t i)
{
	return i < HG_ARRAY_SIZE(formats) ? formats[i]->name : NULL;
}

HG_PRINTF(2, 3) static void say(struct hg_client_result *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->source, sizeof(out->source), fmt, ap);
	va_end(ap);
}

static void words_split(struct words *w, const char *argv)
{
	char *save = NULL;

	w->n = 0;
	snprintf(w->copy, sizeof(w->copy), "%s", argv ? argv : "");
	for (char *s = strtok_r(w->copy, " \t\n'\"", &save); s && w->n < WORDS_MAX;
	     s = strtok_r(NULL, " \t\n'\"", &save))
		w->v[w->n++] = s;
}

static bool is_command(const struct hg_client_format *format, const char *word)
{
	const char *slash = strrchr(word, '/');

	word = slash ? slash + 1 : word;
	for (size_t i = 0; format->commands[i]; i++) {
		if (!strcmp(format->commands[i], word))
			return true;
	}
	return false;
}

static size_t command_count(const struct hg_client_format *format, const struct words *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += is_command(format, w->v[i]);
	return n;
}

bool hg_client_command_known(const char *argument)
{
	struct words w;

	words_split(&w, argument);
	for (size_t i = 0; i < HG_ARRAY_SIZE(formats); i++) {
		if (command_count(formats[i], &w))
			return true;
	}
	return false;
}

/* The options of the format's command; none if it is called more than once: which run had which? */
static void options_find(const struct hg_client_format *format, const struct words *w,
			 struct hg_client_text *text)
{
	size_t from = 0, to;

	if (command_count(format, w) != 1)
		return;
	while (!is_command(format, w->v[from]))
		from++;
	for (to = from + 1; to < w->n; to++) {
		if (strpbrk(w->v[to], ";|&<>"))
			break;
	}
	text->words = w->v + from + 1;
	text->words_count = to - from - 1;
}

static void series_drop(struct hg_client_result *r)
{
	free(r->series);
	r->series = NULL;
	r->series_count = 0;
}

/* A client that buffers its output prints all intervals at its end: their times mean nothing then.
 */
static void series_check(struct hg_client_result *r)
{
	for (size_t i = 1; i < r->series_count; i++) {
		if (r->series[i].time_ns >= r->series[i - 1].time_ns + SERIES_STEP_LEAST_NS)
			continue;
		series_drop(r);
		return;
	}
}

/* One run's lines, if there is a result in them. */
static bool run_parse(const struct hg_client_format *format, const struct hg_client_text *text,
		      struct run *out)
{
	*out = (struct run){0};
	if (!format->parse(text, &out->result, &out->end_ns)) {
		hg_client_result_clear(&out->result);
		return false;
	}
	series_check(&out->result);
	return true;
}

/* Runs that print line by line, at the same time. */
static size_t runs_parse_mixed(const struct hg_client_format *format, const struct hg_line *lines,
			       size_t count, size_t runs_count, struct run *runs)
{
	size_t ends[RUNS_MAX], found = 0;
	hg_autofree struct hg_line *sorted = hg_client_deinterleave(lines, count, runs_count, ends);

	for (size_t i = 0; sorted && i < runs_count; i++) {
		size_t from = i ? ends[i - 1] : 0;
		struct hg_client_text text = {.lines = sorted + from, .count = ends[i] - from};

		found += run_parse(format, &text, &runs[found]);
	}
	return found;
}

static size_t runs_parse(const struct hg_client_format *format, const struct hg_line *lines,
			 size_t count, const struct words *w, bool named, struct run *runs,
			 size_t *starts_out)
{
	struct hg_client_text text = {0};
	size_t found = 0, starts = 0;

	options_find(format, w, &text);
	for (size_t from = 0, to; from < count; from = to) {
		bool started = format->starts(lines[from].text);

		/* what comes before the first start belongs to it */
		for (to = from + 1; to < count; to++) {
			if (!format->starts(lines[to].text))
				continue;
			if (started)
				break;
			started = true;
		}
		starts += started;
		/* tools share phrases: a tool that nobody named must have introduced itself */
		if (found == RUNS_MAX || (!named && !started && !format->starts_optional))
			continue;
		text.lines = lines + from;
		text.count = to - from;
		found += run_parse(format, &text, &runs[found]);
	}
	*starts_out = starts;
	return found;
}

/* Part of the longest run in which all ran, and how far apart they were; 0 if any does not say how long it was. */
static double overlap(const struct run *runs, size_t n, struct hg_client_result *out)
{
	double from_min = INFINITY, from_max = -INFINITY, to_min = INFINITY, to_max = -INFINITY;
	double longest = 0;

	for (size_t i = 0; i < n; i++) {
		double end = (double)runs[i].end_ns / 1e9, duration = runs[i].result.duration_s;

		if (duration <= 0)
			return 0;
		from_min = fmin(from_min, end - duration);
		from_max = fmax(from_max, end - duration);
		to_min = fmin(to_min, end);
		to_max = fmax(to_max, end);
		longest = fmax(longest, duration);
	}
	out->common_s = fmax(0, to_min - from_max);
	out->start_skew_s = from_max - from_min;
	out->stop_skew_s = to_max - to_min;
	out->skewed = fmax(out->start_skew_s, out->stop_skew_s) > SKEW_MARKED * out->common_s;
	return out->common_s / longest;
}

/* Runs side by side: rates and counts add up, latency is weighted by rate. */
static void runs_add(const struct run *runs, size_t n, struct hg_client_result *out)
{
	double latency = 0, rate = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hg_client_result *r = &runs[i].result;

		out->value += r->value;
		out->completed += r->completed;
		out->concurrency += r->concurrency;
		out->threads += r->threads;
		out->offered += r->offered;
		out->errors += r->errors;
		out->sent += r->sent;
		out->retransmits += r->retransmits;
		out->retransmits_known |= r->retransmits_known;
		out->duration_s = fmax(out->duration_s, r->duration_s);
		latency += r->value * r->latency_mean_s;
		rate += r->value;
		out->closed_loop = r->closed_loop && (!i || out->closed_loop);
	}
	out->latency_mean_s = rate > 0 ? latency / rate : 0;
	snprintf(out->unit, sizeof(out->unit), "%s", runs[0].result.unit);
}

static void runs_join(const struct hg_client_format *format, struct run *runs, size_t n,
		      struct hg_client_result *out)
{
	if (n == 1) {
		*out = runs[0].result;
		runs[0].result.series = NULL;
		out->valid = isfinite(out->value) && out->value >= 0;
	} else if (overlap(runs, n, out) >= OVERLAP_LEAST) {
		runs_add(runs, n, out);
		say(out, "sum of %zu runs of %s side by side (no series)", n, format->name);
		out->valid = isfinite(out->value);
	} else {
		snprintf(out->unit, sizeof(out->unit), "%s", runs[0].result.unit);
		say(out, "%zu runs of %s that did not overlap: no single throughput; record one", n,
		    format->name);
	}
	out->format = format->name;
	out->runs = (unsigned int)n;
}

static void runs_clear(struct run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hg_client_result_clear(&runs[i].result);
}

/* True: the format has at least one result in the lines. */
static bool format_try(const struct hg_client_format *format, const struct hg_line *lines,
		       size_t count, const struct words *w, bool named,
		       struct hg_client_result *out)
{
	hg_autofree struct run *runs = calloc(RUNS_MAX, sizeof(*runs));
	size_t n, starts;

	if (!runs)
		return false;
	n = runs_parse(format, lines, count, w, named, runs, &starts);
	if (n && n < starts && starts <= RUNS_MAX) {
		runs_clear(runs, n);
		n = runs_parse_mixed(format, lines, count, starts, runs);
	}
	if (n)
		runs_join(format, runs, n, out);
	if (n && n < starts) {
		/* one that failed, or more than can be held: the sum would be too small */
		out->valid = false;
		say(out, "%zu of %zu runs of %s have a result: no single throughput", n, starts,
		    format->name);
	}
	runs_clear(runs, n);
	return n;
}

static const struct hg_client_format *format_named(const char *name)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

/* By the command's name first, then by the lines. Two tools with results each: neither is the
 * throughput. */
static bool formats_try(const struct hg_line *lines, size_t count, const struct words *w,
			struct hg_client_result *out)
{
	const char *first = NULL;

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < HG_ARRAY_SIZE(formats); i++) {
			struct hg_client_result r = {0};

			if (!pass && !command_count(formats[i], w))
				continue;
			if (!format_try(formats[i], lines, count, w, !pass, &r))
				continue;
			if (!first) {
				first = formats[i]->name;
				*out = r;
				continue;
			}
			hg_client_result_clear(&r);
			out->valid = false;
			say(out, "results of both %s and %s: name one with --client", first,
			    formats[i]->name);
			return true;
		}
		if (first)
			return true;
	}
	return false;
}

static bool source_try(const struct hg_line *lines, size_t count, const struct words *w,
		       const char *name, const char *regex, struct hg_client_result *out)
{
	const struct hg_client_format *format = name ? format_named(name) : NULL;

	if (regex) {
		out->valid = hg_client_regex(lines, count, regex, out) && isfinite(out->value);
		out->format = out->valid ? "regex" : NULL;
		series_check(out);
		return out->valid;
	}
	if (name && !format) {
		say(out, "--client %.32s is not a known format", name);
		return false;
	}
	return format ? format_try(format, lines, count, w, true, out)
		      : formats_try(lines, count, w, out);
}

/* Lines of CMD (fd 1 and 2) or of --client-log (3). NULL on ENOMEM. */
static struct hg_line *lines_pick(const struct hg_line *lines, size_t count, bool log,
				  size_t *count_out)
{
	struct hg_line *picked = calloc(count + 1, sizeof(*picked));
	size_t n = 0;

	for (size_t i = 0; picked && i < count; i++) {
		if ((lines[i].fd == 3) == log && lines[i].text)
			picked[n++] = lines[i];
	}
	*count_out = n;
	return picked;
}

void hg_client_output_parse(const struct hg_line *lines, size_t count, const char *argv,
			    const char *name, const char *regex, struct hg_client_result *out)
{
	static const char *const sources[] = {"client's output", "--client-log"};
	hg_autofree struct words *w = calloc(1, sizeof(*w));

	*out = (struct hg_client_result){0};
	name = name && *name ? name : NULL;
	regex = regex && *regex ? regex : NULL;
	if (!w) {
		say(out, "out of memory");
		return;
	}
	words_split(w, argv);
	for (int log = 0; log < 2; log++) {
		size_t n;
		hg_autofree struct hg_line *picked = lines_pick(lines, count, log, &n);

		if (picked && n && source_try(picked, n, w, name, regex, out)) {
			/* say where it comes from, when it is not CMD itself */
			if (log && out->valid) {
				char said[sizeof(out->source)];

				snprintf(said, sizeof(said), "%s", out->source);
				snprintf(out->source, sizeof(out->source), "%s: %.70s",
					 sources[log], said);
			}
			return;
		}
	}
	if (!*out->source && count)
		say(out, "no known result in the client's output (%zu lines)", count);
	else if (!*out->source)
		say(out, "the client printed nothing");
}

void hg_client_result_clear(struct hg_client_result *r)
{
	free(r->series);
	*r = (struct hg_client_result){0};
}
