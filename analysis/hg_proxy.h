/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completed work without a client that tells it: estimated from the messages that the target received and sent
 * as a server. Called by attribution when there is no other throughput.
 *
 * The rule. R receives and S sends, on sockets at which the target serves. A request that comes in one piece and is
 * answered in one has R = S; one that is read in two or three pieces, or answered so (headers, then the body), has a
 * whole number of one for each of the other. Then the work is min(R, S). Whether that holds is checked:
 * - the two counts agree, up to a whole factor of 1, 2 or 3, within 10 % of it;
 * - they do so all the time: their ratio varies by less than 10 % between sub-windows;
 * - the unit of work is the same all the time: its bytes vary by less than 25 %.
 * Else the proxy is unusable, and says why. It cannot tell requests that share a message (pipelining) from one.
 */
#ifndef HG_PROXY_H
#define HG_PROXY_H

#include "analysis/hg_client_output.h"
#include "analysis/hg_model.h"

/* Totals of an interval. */
struct hg_proxy_count {
	double received, received_bytes, sent, sent_bytes;
	double length_s;
};

struct hg_proxy {
	bool usable;
	double work, factor; /* units of work; messages of the other direction for each */
	char why[128];	     /* one sentence: the rule that was used, or why it is unusable */
};

/* Judges the totals of sub-windows. */
void hg_proxy_judge(const struct hg_proxy_count *counts, size_t n, struct hg_proxy *out);

/*
 * Fills out (value, series, source) if the proxy is usable, and marks it as one; else adds why it is not to
 * source. Nothing is done if the trace has no messages. 0 or -ENOMEM.
 */
int hg_proxy_make(const struct hg_model *m, struct hg_client_result *out);

#endif
