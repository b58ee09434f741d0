/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net/drops: segments are lost on their way, and who waits for them waits for TCP to notice and send them again. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

/* One lost segment stalls a connection for a retransmission timer, 0.2 s or more as a rule, a thousand times a short
 * round trip; with so few lost ones it is no matter. */
#define LOST_MIN  0.005
#define LOST_NONE 0.001

struct lost {
	double sent, again, timeouts, dropped, span_s;
};

/* Sums over the namespaces of target and client. False: none was read. */
static bool lost_find(const struct hg_attribution *a, struct lost *out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_netns *ns;
	size_t n = hg_model_netns(a->model, &ns);
	const struct hg_link *links;
	size_t links_count = hg_model_links(a->model, &links);

	*out = (struct lost){0};
	for (size_t i = 0; i < n; i++) {
		uint64_t sent, again, timeouts, span;

		if (!(ns[i].flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT)) ||
		    !hg_series_delta(&ns[i].tcp, from, to, &sent, &again, &span) || !span)
			continue;
		out->sent += (double)sent;
		out->again += (double)again;
		out->span_s = fmax(out->span_s, (double)span / 1e9);
		if (hg_series_delta(&ns[i].tcp_trouble, from, to, &timeouts, NULL, NULL))
			out->timeouts += (double)timeouts;
		for (size_t k = 0; k < links_count; k++) {
			uint64_t rx, tx;

			if (links[k].id && links[k].netns == ns[i].id &&
			    hg_series_delta(&links[k].drops, from, to, &rx, &tx, NULL))
				out->dropped += (double)(rx + tx);
		}
	}
	return out->sent > 0;
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	double share = hg_case_credit_all(a, k, HG_BLAME_NET_LATE) / a->wall_ns, part, used;
	struct lost l;

	if (!k->credited)
		return;
	k->c.subject.machine = "host";
	k->c.subject.kind = "path";
	k->c.subject.name = "TCP of target and client";
	k->c.summary = "What is sent is held on its way.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch, sched_wakeup and softirq events",
			 "the target was idle while what it or the client had sent was held on its "
			 "way for %.1f %% of the time",
			 100 * share);
	if (!lost_find(a, &l)) {
		k->c.unknown_why = "no TCP counters of their network namespaces";
		return;
	}
	part = l.again / l.sent;
	k->c.saturation = NAN;
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%.0f segments sent again", l.again);
	k->c.summary = hg_arena_printf(a->arena,
				       "Segments are lost: %.2g %% of them were sent again, and "
				       "connections stand still until then.",
				       100 * part);
	k->c.advice = "Find where they are dropped (ip -s link, tc -s qdisc, nstat), and make room "
		      "there.";
	hg_case_evidence(a, k, true, part >= LOST_MIN, part, LOST_MIN,
			 "/proc/net/snmp of their network namespaces",
			 "%.0f of %.0f segments were sent again in %.1f s (%.2g %%)", l.again,
			 l.sent, l.span_s, 100 * part);
	hg_case_evidence(a, k, false, l.timeouts > 0, l.timeouts, NAN,
			 "/proc/net/netstat of their network namespaces",
			 "%.0f retransmission timers ran out", l.timeouts);
	hg_case_evidence(a, k, false, l.dropped > 0, l.dropped, NAN,
			 "statistics of their network devices", "the devices dropped %.0f packets",
			 l.dropped);
	if (part < LOST_NONE)
		hg_case_refute(a, k, "only %.2g %% of the segments were sent again", 100 * part);
	used = hg_shaper_used(a);
	if (used >= HG_SHAPER_USED_MIN)
		hg_case_refute(
			a, k,
			"a queueing discipline or a line passes %.0f %% of its rate: what it drops "
			"is too much for it",
			100 * used);
}

const struct hg_detector hg_detector_drops = {
	.class_name = "net",
	.cause = "drops",
	.needs = "switches, wakeups and softirqs of target and client, TCP counters of their "
		 "network "
		 "namespaces",
	.proof_events = "share of time in which the target was idle and data on its way",
	.proof_outside = "segments sent again by /proc/net/snmp",
	.evaluate = evaluate,
};
