/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One load generator's output: a row in the table of hg_client_output.c and a file here. Also what
 * the formats share for reading numbers and options. The lines are hostile: bounded, no locale,
 * nothing but finite numbers >= 0.
 */
#ifndef HG_CLIENT_FORMAT_H
#define HG_CLIENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/hg_client_output.h"
#include "base/hg_base.h"

/* What one run of the tool printed, and how it was called. */
struct hg_client_text {
	const struct hg_line *lines;
	size_t count;
	const char *const *words; /* CMD after the tool's name, no quotes; empty if that is not
				     known for this run */
	size_t words_count;
};

struct hg_client_format {
	const char *name;		  /* as in --client */
	const char *const *commands;	  /* names of the program, NULL at the end */
	bool (*starts)(const char *line); /* the line begins a run's output */
	bool starts_optional;		  /* recognised by its lines without such a line */
	/*
	 * Fills what the run says; out is zeroed and keeps what it allocated on failure too.
	 * *end_ns: time of the line with the result. False: there is no result in it.
	 */
	bool (*parse)(const struct hg_client_text *text, struct hg_client_result *out,
		      uint64_t *end_ns);
};

extern const struct hg_client_format hg_client_wrk, hg_client_dnsperf, hg_client_ab, hg_client_hey,
	hg_client_iperf3, hg_client_pgbench, hg_client_sysbench, hg_client_keyvalue;

/* Lines of the expression's matches; sets value, series and source. False with the reason in
 * source. */
bool hg_client_regex(const struct hg_line *lines, size_t count, const char *regex,
		     struct hg_client_result *out);

/*
 * Lines of several runs that are mixed, as those of run 0, then of run 1 and so on; ends[i]: where run i ends. The
 * caller frees. NULL: no memory.
 */
struct hg_line *hg_client_deinterleave(const struct hg_line *lines, size_t count, size_t runs,
				       size_t *ends);

/* If line, after spaces, begins with key: what follows it and spaces; else NULL. */
const char *hg_client_after(const char *line, const char *key);
/* A finite number >= 0 at *p, in the C locale; moves *p behind it. False leaves both as they are.
 */
bool hg_client_number(const char **p, double *out);
/* The number after key, if line begins with it. */
bool hg_client_field(const char *line, const char *key, double *out);
/* A number with unit us, ms, s, m or h at *p, as seconds. */
bool hg_client_seconds(const char **p, double *out);
/* -x N, -xN, --long N, --long=N; N may end in k, M or G (thousands). long_name or short_name 0:
 * none. */
bool hg_client_option(const struct hg_client_text *text, char short_name, const char *long_name,
		      double *out);

/* Appends to the series; more than 100,000 points are dropped, and so is the point on ENOMEM. */
void hg_client_series_add(struct hg_client_result *out, uint64_t time_ns, double value);

#endif
