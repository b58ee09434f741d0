/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/link-shaper: a queueing discipline with a rate, or a class of one, holds back what target or client send, and passes
 * all that it may.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define BACKLOG_MIN 0.50 /* packets in it, at a mean look: otherwise nothing waits in it */

struct shaper {
	const struct hg_qdisc *q;
	const struct hg_link *link;
	const struct hg_netns *netns;
	double used; /* part of its rate */
	double backlog_packets, overlimits, span_s;
};

static bool is_class(const struct hg_qdisc *q)
{
	return q->handle & 0xffff;
}

/* Packets at a mean look. In a class with others below it nothing waits: what it holds back does so in those. */
static double backlog_packets(const struct hg_attribution *a, const struct hg_qdisc *q)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_qdisc *all;
	size_t n = hg_model_qdiscs(a->model, &all);
	double packets = 0;

	hg_series_mean(&q->backlog, from, to, NULL, &packets, NULL);
	for (size_t i = 0; is_class(q) && packets <= 0 && i < n; i++) {
		if (all[i].link == q->link && all[i].handle == (q->handle & 0xffff0000))
			hg_series_mean(&all[i].backlog, from, to, NULL, &packets, NULL);
	}
	return packets;
}

/* The one that is nearest to its rate, in a namespace of target or client. False: there is none with a rate. */
static bool shaper_find(const struct hg_attribution *a, struct shaper *out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_qdisc *qdiscs;
	size_t n = hg_model_qdiscs(a->model, &qdiscs);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		struct shaper s = {.q = &qdiscs[i],
				   .link = hg_model_link_find(a->model, qdiscs[i].link)};
		uint64_t bytes, held, span;

		s.netns = s.link ? hg_model_netns_find(a->model, s.link->netns) : NULL;
		if (!s.q->rate || !s.netns ||
		    !(s.netns->flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT)) ||
		    !hg_series_delta(&s.q->sent, from, to, &bytes, NULL, &span) || !span)
			continue;
		s.span_s = (double)span / 1e9;
		s.used = (double)bytes / s.span_s / (double)s.q->rate;
		if (hg_series_delta(&s.q->drops, from, to, NULL, &held, &span))
			s.overlimits = (double)held;
		s.backlog_packets = backlog_packets(a, s.q);
		if (!found || s.used > out->used)
			*out = s;
		found = true;
	}
	return found;
}

double hg_shaper_used(const struct hg_attribution *a)
{
	struct shaper s;

	return shaper_find(a, &s) ? s.used : 0;
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const char *where, *what;
	struct shaper s;
	double share;

	if (!shaper_find(a, &s))
		return;
	share = hg_case_credit_all(a, k, HG_BLAME_NET_LATE) / a->wall_ns;
	if (!k->credited)
		return;
	what = !is_class(s.q) ? s.q->kind
			      : hg_arena_printf(a->arena, "%s class %x:%x", s.q->kind,
						s.q->handle >> 16, s.q->handle & 0xffff);
	k->c.subject.machine = "host";
	k->c.subject.kind = "link";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%.20s in netns %llu", s.link->name,
		 (unsigned long long)s.netns->inode);
	k->c.subject.name = hg_arena_printf(a->arena, "%s of %.4g Mbit/s on %s", what,
					    (double)s.q->rate * 8e-6, s.link->name);
	k->c.saturation = s.used;
	where = s.netns->flags & HG_NETNSF_TARGET ? "target" : "client";
	k->c.summary = hg_arena_printf(
		a->arena,
		"The %s on %s, in the %s's network namespace, lets %.4g Mbit/s through and %.0f %% "
		"of that was used: what is sent waits in it.",
		what, s.link->name, where, (double)s.q->rate * 8e-6, 100 * s.used);
	k->c.advice = is_class(s.q) ? "Raise the ceiling of the class (tc class change), or send "
				      "less per request."
				    : "Raise the rate of the queueing discipline (tc qdisc "
				      "change), or send less "
				      "per request.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch, sched_wakeup and softirq events",
			 "the target was idle while what it or the client had sent was held on its "
			 "way for %.1f %% of the time",
			 100 * share);
	hg_case_evidence(a, k, true, s.used >= HG_SHAPER_USED_MIN, s.used, HG_SHAPER_USED_MIN,
			 "the qdisc's statistics", "it sent %.1f %% of its rate over %.1f s",
			 100 * s.used, s.span_s);
	hg_case_evidence(
		a, k, true, s.backlog_packets >= BACKLOG_MIN, s.backlog_packets, BACKLOG_MIN,
		"the qdisc's statistics",
		"%.3g packets waited in it at a mean look; it held packets back %.0f times",
		s.backlog_packets, s.overlimits);
	if (s.used < HG_SHAPER_USED_MIN)
		hg_case_refute(a, k, "the %s on %s used %.0f %% of its rate", what, s.link->name,
			       100 * s.used);
	if (s.overlimits <= 0)
		hg_case_refute(a, k, "the %s on %s never held a packet back", what, s.link->name);
}

const struct hg_detector hg_detector_link_shaper = {
	.class_name = "net",
	.cause = "link-shaper",
	.needs = "switches, wakeups and softirqs of target and client, qdisc statistics of their "
		 "network namespaces",
	.proof_events = "share of time in which the target was idle and data on its way",
	.proof_outside = "bytes sent against its rate, and the backlog, by the qdisc's statistics",
	.evaluate = evaluate,
};
