/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What load generators print, turned into throughput. One table of formats (analysis/client/ has a file each); the
 * format is found by the command's name and by its lines. Called by attribution.
 */
#ifndef HG_CLIENT_OUTPUT_H
#define HG_CLIENT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/hg_model.h"

struct hg_client_point {
	uint64_t time_ns; /* end of the interval, CLOCK_MONOTONIC */
	double value;	  /* per second, in the interval */
};

struct hg_client_result {
	const char *format;    /* "wrk", "regex", ...; NULL: nothing recognised */
	bool valid;	       /* value is set */
	double value;	       /* completions per second */
	char unit[24];	       /* "requests/s", "bit/s", "queries/s" */
	char source[256];      /* "wrk's output: Requests/sec" */
	bool proxy;	       /* estimated from the trace: see hg_proxy.h */
	double completed;      /* in all; 0 unknown */
	double duration_s;     /* as the client says; 0 unknown */
	double concurrency;    /* connections or outstanding requests; 0 unknown */
	double threads;	       /* 0 unknown */
	double latency_mean_s; /* 0 unknown */
	/* rate that it was told to offer; 0: as fast as it can (closed loop) or unknown */
	double offered;
	bool closed_loop; /* known to send the next request when the last one is answered */
	double errors;	  /* failed or refused, timeouts, non-2xx; datagrams lost */
	double sent;	  /* per second, where value is what arrived; 0 unknown */
	double retransmits;
	bool retransmits_known;
	/* Several runs of the tool: how far they ran side by side, by the times of their results. */
	unsigned int runs; /* 1 usually */
	double common_s;   /* all ran; 0: they did not, or some do not say how long */
	double start_skew_s, stop_skew_s; /* from the first to the last */
	bool skewed; /* by more than 5 % of the common time: the sum holds for a part of the time */
	struct hg_client_point *series; /* owned */
	size_t series_count;
};

/*
 * argv: CMD as one string. name and regex: --client and --client-regex or NULL; the regex's first group is the number.
 * Never fails: what is not recognised leaves format NULL with the reason in source.
 */
void hg_client_output_parse(const struct hg_line *lines, size_t count, const char *argv,
			    const char *name, const char *regex, struct hg_client_result *out);
/* Name of format i, for --client; NULL behind the last. */
const char *hg_client_format_name(size_t i);

/* Does a word of CMD's argument name a command whose output some format reads? For record, before the run. */
bool hg_client_command_known(const char *argument);

/* Why a --client-regex cannot be used ("has no group ..."), or NULL if it can: for record, before the run. */
const char *hg_client_regex_check(const char *regex);
void hg_client_result_clear(struct hg_client_result *r);

#endif
