/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iperf3 3.x as a client, text and -J. What arrived is the throughput, what was sent is beside it; streams and the two
 * directions of --bidir are added. It prints into a pipe at its end, so that the times of intervals are counted back
 * from there by its own clock.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

#define INTERVALS_MAX 100000

/* What both forms fill. */
struct iperf {
	struct hg_client_result *out;
	struct interval {
		double end_s, bits_per_s;
	} * intervals;
	size_t intervals_count;
	double received, sent; /* bit/s */
	bool has_received, has_sent;
};

static bool iperf3_starts(const char *line)
{
	return !strncmp(line, "Connecting to host ", 19) || !strcmp(line, "{");
}

/* Streams of one interval come one after another. */
static void interval_add(struct iperf *f, double end_s, double bits_per_s)
{
	size_t n = f->intervals_count;
	struct interval *grown;

	if (n && f->intervals[n - 1].end_s == end_s) {
		f->intervals[n - 1].bits_per_s += bits_per_s;
		return;
	}
	if (n >= INTERVALS_MAX)
		return;
	if (!(n & (n - 1))) {
		grown = realloc(f->intervals, (n ? 2 * n : 1) * sizeof(*grown));
		if (!grown)
			return;
		f->intervals = grown;
	}
	f->intervals[f->intervals_count++] = (struct interval){end_s, bits_per_s};
}

static bool result_finish(struct iperf *f, uint64_t end_ns)
{
	struct hg_client_result *out = f->out;
	const char *side = f->has_received ? "received" : "sent";

	out->value = f->has_received ? f->received : f->sent;
	out->sent = f->has_sent ? f->sent : 0;
	for (size_t i = 0; i < f->intervals_count; i++) {
		const struct interval *p = &f->intervals[i];
		double before_ns = (out->duration_s - p->end_s) * 1e9;

		/* its last interval may end a little behind what it calls the end */
		if (before_ns <= (double)end_ns && isfinite(p->bits_per_s))
			hg_client_series_add(out, end_ns - (uint64_t)fmax(0, before_ns),
					     p->bits_per_s);
	}
	free(f->intervals);
	snprintf(out->unit, sizeof(out->unit), "bit/s");
	snprintf(out->source, sizeof(out->source), "iperf3's output: bits per second %s", side);
	out->completed = out->value * out->duration_s;
	return f->has_received || f->has_sent;
}

/* -- text -- */

/* "720 MBytes" or "6.03 Gbits/sec", also where -f chose the unit; bits in powers of 1000, bytes of 1024 (iperf3's units.c). */
static bool quantity(const char **p, const char *what, double step, double *out)
{
	static const char prefixes[] = "KMGT";
	const char *s = *p + strspn(*p, " "), *prefix;
	double value, factor = 1;

	if (!hg_client_number(&s, &value))
		return false;
	s += strspn(s, " ");
	prefix = *s ? strchr(prefixes, *s) : NULL;
	for (const char *c = prefixes; prefix && c <= prefix; c++)
		factor *= step;
	s += prefix != NULL;
	if (strncmp(s, what, strlen(what)))
		return false;
	*p = s + strlen(what);
	*out = value * factor;
	return true;
}

static bool rate(const char **p, double *bits_per_s)
{
	if (quantity(p, "bits/sec", 1e3, bits_per_s))
		return true;
	if (!quantity(p, "Bytes/sec", 1024, bits_per_s))
		return false;
	*bits_per_s *= 8;
	return true;
}

/* " 0.051 ms  3/153 (2%)" of UDP */
static void lost_datagrams(const char *p, struct hg_client_result *out)
{
	double jitter, lost;

	p += strspn(p, " ");
	if (!hg_client_number(&p, &jitter) || !(p = hg_client_after(p, "ms")))
		return;
	if (hg_client_number(&p, &lost) && *p == '/')
		out->errors += lost;
}

static bool ends_with(const char *line, const char *word)
{
	size_t length = strlen(line), n = strlen(word);

	while (length && line[length - 1] == ' ')
		length--;
	return length >= n && !strncmp(line + length - n, word, n);
}

/* "[  5][TX-C]   0.00-1.00   sec   720 MBytes  6.03 Gbits/sec   70             sender" */
static void row(struct iperf *f, const char *line)
{
	double id, from_s, to_s, bytes, bits_per_s, retransmits;
	const char *p = hg_client_after(line, "[");

	/* no [SUM]: it is made here, and of both directions */
	if (!p || !hg_client_number(&p, &id) || *p++ != ']')
		return;
	if (*p == '[' && !(p = strchr(p, ']')))
		return;
	p += *p == ']';
	p += strspn(p, " ");
	if (!hg_client_number(&p, &from_s) || *p++ != '-' || !hg_client_number(&p, &to_s) ||
	    !(p = hg_client_after(p, "sec")) || !quantity(&p, "Bytes", 1024, &bytes) ||
	    !rate(&p, &bits_per_s))
		return;
	if (ends_with(line, "receiver")) {
		f->received += bits_per_s;
		f->has_received = true;
		f->out->duration_s = fmax(f->out->duration_s, to_s);
		lost_datagrams(p, f->out);
	} else if (ends_with(line, "sender")) {
		f->sent += bits_per_s;
		f->has_sent = true;
		f->out->duration_s = fmax(f->out->duration_s, to_s);
		f->out->concurrency++;
		p += strspn(p, " ");
		if (hg_client_number(&p, &retransmits) && hg_client_after(p, "sender")) {
			f->out->retransmits += retransmits;
			f->out->retransmits_known = true;
		}
	} else if (!ends_with(line, "(omitted)")) {
		interval_add(f, to_s, bits_per_s);
	}
}

static bool parse_text(const struct hg_client_text *text, struct hg_client_result *out,
		       uint64_t *end_ns)
{
	struct iperf f = {.out = out};

	for (size_t i = 0; i < text->count; i++) {
		row(&f, text->lines[i].text);
		if (ends_with(text->lines[i].text, "sender") ||
		    ends_with(text->lines[i].text, "receiver"))
			*end_ns = text->lines[i].time_ns;
	}
	return result_finish(&f, *end_ns);
}

/* -- JSON -- */

static bool member(const json_t *object, const char *key, double *out)
{
	const json_t *j = json_object_get(object, key);
	double value = json_number_value(j);

	if (!json_is_number(j) || !isfinite(value) || value < 0)
		return false;
	*out = value;
	return true;
}

/* Both directions of --bidir. */
static bool sums(const json_t *end, const char *const names[2], const char *key, double *out)
{
	bool found = false;
	double value;

	for (int i = 0; i < 2; i++) {
		if (!member(json_object_get(end, names[i]), key, &value))
			continue;
		*out += value;
		found = true;
	}
	return found;
}

static void json_intervals(struct iperf *f, const json_t *intervals)
{
	static const char *const names[2] = {"sum", "sum_bidir_reverse"};
	const json_t *interval;
	size_t i;

	json_array_foreach (intervals, i, interval) {
		const json_t *sum = json_object_get(interval, names[0]);
		double end_s, bits_per_s = 0;

		if (!json_is_true(json_object_get(sum, "omitted")) && member(sum, "end", &end_s) &&
		    sums(interval, names, "bits_per_second", &bits_per_s))
			interval_add(f, end_s, bits_per_s);
	}
}

static bool json_result(struct iperf *f, const json_t *root, uint64_t end_ns)
{
	static const char *const received[2] = {"sum_received", "sum_received_bidir_reverse"};
	static const char *const sent[2] = {"sum_sent", "sum_sent_bidir_reverse"};
	static const char *const datagrams[2] = {"sum", "sum_bidir_reverse"};
	const json_t *end = json_object_get(root, "end"), *start = json_object_get(root, "start");
	struct hg_client_result *out = f->out;
	double seconds = 0;

	f->has_received = sums(end, received, "bits_per_second", &f->received);
	f->has_sent = sums(end, sent, "bits_per_second", &f->sent);
	out->retransmits_known = sums(end, sent, "retransmits", &out->retransmits);
	sums(end, datagrams, "lost_packets", &out->errors);
	for (int i = 0; i < 2; i++) {
		member(json_object_get(end, received[i]), "seconds", &seconds);
		out->duration_s = fmax(out->duration_s, seconds);
	}
	if (out->duration_s == 0)
		member(json_object_get(end, sent[0]), "seconds", &out->duration_s);
	member(json_object_get(start, "test_start"), "num_streams", &out->concurrency);
	member(json_object_get(start, "test_start"), "target_bitrate", &out->offered);
	/* one that failed has all but a result */
	if (json_object_get(root, "error"))
		f->has_received = f->has_sent = false;
	json_intervals(f, json_object_get(root, "intervals"));
	return result_finish(f, end_ns);
}

/* The lines of one output, of those that the client has, from "{" to "}" without a space before. NULL: none. */
static json_t *json_join(const struct hg_client_text *text, uint64_t *end_ns)
{
	hg_autofree char *whole = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&whole, &size);
	int fd = 0;
	bool done = false;

	if (!f)
		return NULL;
	for (size_t i = 0; i < text->count && !done; i++) {
		const struct hg_line *line = &text->lines[i];

		if (!fd && !strcmp(line->text, "{"))
			fd = line->fd;
		if (!fd || line->fd != fd)
			continue;
		fprintf(f, "%s\n", line->text);
		*end_ns = line->time_ns;
		done = !strcmp(line->text, "}");
	}
	if (fclose(f) || !done)
		return NULL;
	return json_loadb(whole, size, 0, NULL);
}

static bool iperf3_parse(const struct hg_client_text *text, struct hg_client_result *out,
			 uint64_t *end_ns)
{
	json_t *root = json_join(text, end_ns);
	struct iperf f = {.out = out};
	bool found = root ? json_result(&f, root, *end_ns) : parse_text(text, out, end_ns);

	json_decref(root);
	hg_client_option(text, 'b', "bitrate", &out->offered);
	hg_client_option(text, 0, "bandwidth", &out->offered); /* its former name */
	out->offered *= fmax(1, out->concurrency);	       /* for each stream */
	return found;
}

static const char *const commands[] = {"iperf3", NULL};
const struct hg_client_format hg_client_iperf3 = {"iperf3", commands, iperf3_starts, false,
						  iperf3_parse};
