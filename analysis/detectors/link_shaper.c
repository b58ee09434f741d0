/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/link-shaper: a queueing discipline with a rate, a class of one, or a network adapter's own line holds back what target
 * or client send, and passes all that it may.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define BACKLOG_MIN 0.50 /* packets in it, at a mean look: otherwise nothing waits in it */
/* Of each frame on an Ethernet, in no counter: preamble 8, checksum 4, gap 12 bytes. */
#define FRAME_BYTES 24

enum kind {
	KIND_QDISC,
	KIND_CLASS,
	KIND_LINE_OUT,
	KIND_LINE_IN, /* what waits does so on the other side */
};

struct shaper {
	enum kind kind;
	const struct hg_qdisc *q; /* NULL: a line */
	const struct hg_link *link;
	const struct hg_netns *netns;
	double rate; /* bytes a second */
	double used; /* part of it */
	double backlog_packets, overlimits, span_s;
};

static double mean_backlog(const struct hg_attribution *a, const struct hg_qdisc *q)
{
	double packets = 0;

	hg_series_mean(&q->backlog, hg_model_from_ns(a->model), hg_model_to_ns(a->model), NULL,
		       &packets, NULL);
	return packets;
}

/* Of the device's qdisc that has this handle, 0: of the one at its root. */
static double device_backlog(const struct hg_attribution *a, uint32_t link, uint32_t handle)
{
	const struct hg_qdisc *all;
	size_t n = hg_model_qdiscs(a->model, &all);

	for (size_t i = 0; i < n; i++) {
		if (all[i].link == link &&
		    (handle ? all[i].handle == handle : all[i].parent == HG_QDISC_ROOT))
			return mean_backlog(a, &all[i]);
	}
	return 0;
}

/* False: it has no rate, or is in no namespace of target or client. */
static bool qdisc_judge(const struct hg_attribution *a, const struct hg_qdisc *q, struct shaper *s)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	uint64_t bytes, held, span;

	*s = (struct shaper){.kind = q->handle & 0xffff ? KIND_CLASS : KIND_QDISC,
			     .q = q,
			     .link = hg_model_link_find(a->model, q->link),
			     .rate = (double)q->rate};
	s->netns = s->link ? hg_model_netns_find(a->model, s->link->netns) : NULL;
	if (!q->rate || !s->netns || !(s->netns->flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT)) ||
	    !hg_series_delta(&q->sent, from, to, &bytes, NULL, &span) || !span)
		return false;
	s->span_s = (double)span / 1e9;
	s->used = (double)bytes / s->span_s / s->rate;
	if (hg_series_delta(&q->drops, from, to, NULL, &held, &span))
		s->overlimits = (double)held;
	s->backlog_packets = mean_backlog(a, q);
	/* In a class with others below it nothing waits: what it holds back does so in those. */
	if (s->kind == KIND_CLASS && s->backlog_packets <= 0)
		s->backlog_packets = device_backlog(a, q->link, q->handle & 0xffff0000);
	return true;
}

/*
 * A line that is not full is no shaper. The speed of a device that software makes (it has a kind) says nothing. A packet
 * that the adapter cuts up counts as one with some drivers: there are at least as many frames as fit.
 */
static bool line_judge(const struct hg_attribution *a, const struct hg_link *l, bool out,
		       struct shaper *s)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	uint64_t bytes, packets, span;
	double frames;

	*s = (struct shaper){.kind = out ? KIND_LINE_OUT : KIND_LINE_IN,
			     .link = l,
			     .netns = hg_model_netns_find(a->model, l->netns),
			     .rate = (double)l->mbit * 125e3};
	if (!l->mbit || l->kind[0] || !s->netns ||
	    !(s->netns->flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT)) ||
	    !hg_series_delta(out ? &l->tx : &l->rx, from, to, &bytes, &packets, &span) || !span)
		return false;
	frames = fmax((double)packets, l->mtu ? (double)bytes / (double)l->mtu : 0);
	s->span_s = (double)span / 1e9;
	s->used = ((double)bytes + frames * FRAME_BYTES) / s->span_s / s->rate;
	s->backlog_packets = out ? device_backlog(a, l->id, 0) : 0;
	return s->used >= HG_SHAPER_USED_MIN;
}

/* The one that is nearest to its rate, in a namespace of target or client. False: there is none with a rate. */
static bool shaper_find(const struct hg_attribution *a, struct shaper *out)
{
	const struct hg_qdisc *qdiscs;
	const struct hg_link *links;
	size_t n = hg_model_qdiscs(a->model, &qdiscs), n_links = hg_model_links(a->model, &links);
	bool found = false;
	struct shaper s;

	for (size_t i = 0; i < n; i++) {
		if (!qdisc_judge(a, &qdiscs[i], &s) || (found && s.used <= out->used))
			continue;
		*out = s;
		found = true;
	}
	for (size_t i = 0; i < 2 * n_links; i++) {
		const struct hg_link *l = &links[i / 2];

		/* a qdisc that is full as well is the one that can be changed */
		if (!l->id || !line_judge(a, l, i % 2, &s) ||
		    (found && (out->used >= HG_SHAPER_USED_MIN || s.used <= out->used)))
			continue;
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

static const char *shaper_label(const struct hg_attribution *a, const struct shaper *s)
{
	if (!s->q)
		return s->kind == KIND_LINE_OUT ? "line" : "line's way in";
	if (s->kind == KIND_QDISC)
		return s->q->kind;
	return hg_arena_printf(a->arena, "%s class %x:%x", s->q->kind, s->q->handle >> 16,
			       s->q->handle & 0xffff);
}

static void describe(const struct hg_attribution *a, struct hg_case *k, const struct shaper *s)
{
	static const char *const advice[] = {
		[KIND_QDISC] = "Raise the rate of the queueing discipline (tc qdisc change), or "
			       "send less per request.",
		[KIND_CLASS] = "Raise the ceiling of the class (tc class change), or send less per "
			       "request.",
		[KIND_LINE_OUT] = "Use a faster adapter or several, or send less per request.",
		[KIND_LINE_IN] =
			"Use a faster adapter or several, or let less be sent per request.",
	};
	const char *what = shaper_label(a, s);

	k->c.subject.machine = "host";
	k->c.subject.kind = "link";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%.20s in netns %llu", s->link->name,
		 (unsigned long long)s->netns->inode);
	k->c.subject.name = hg_arena_printf(a->arena, "%s of %.4g Mbit/s on %s", what,
					    s->rate * 8e-6, s->link->name);
	k->c.saturation = fmin(1, s->used);
	k->c.summary = hg_arena_printf(
		a->arena,
		"The %s on %s, in the %s's network namespace, lets %.4g Mbit/s through and %.0f %% "
		"of that was used: what is sent waits %s it.",
		what, s->link->name, s->netns->flags & HG_NETNSF_TARGET ? "target" : "client",
		s->rate * 8e-6, 100 * s->used, s->q ? "in" : "for");
	k->c.advice = advice[s->kind];
}

/* Both counters are the kernel's own, of another kind than the events. */
static void prove_outside(const struct hg_attribution *a, struct hg_case *k, const struct shaper *s)
{
	const char *source = s->q ? "the qdisc's statistics" : "the device's statistics and speed";

	hg_case_evidence(a, k, true, s->used >= HG_SHAPER_USED_MIN, s->used, HG_SHAPER_USED_MIN,
			 source, "it %s %.1f %% of its rate over %.1f s",
			 s->kind == KIND_LINE_IN ? "brought" : "sent", 100 * s->used, s->span_s);
	if (s->q)
		hg_case_evidence(a, k, true, s->backlog_packets >= BACKLOG_MIN, s->backlog_packets,
				 BACKLOG_MIN, source,
				 "%.3g packets waited in it at a mean look; it held packets back "
				 "%.0f times",
				 s->backlog_packets, s->overlimits);
	else if (s->kind == KIND_LINE_OUT)
		hg_case_evidence(a, k, true, s->backlog_packets >= BACKLOG_MIN, s->backlog_packets,
				 BACKLOG_MIN, "the qdisc's statistics",
				 "%.3g packets waited for it at a mean look", s->backlog_packets);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	struct shaper s;
	double share;

	if (!shaper_find(a, &s))
		return;
	/* from another machine as well: then it is its requests that come late, as the answers to it are held */
	share = (hg_case_credit_all(a, k, HG_BLAME_NET_LATE) +
		 hg_case_credit_all(a, k, HG_BLAME_NET)) /
		a->wall_ns;
	if (!k->credited)
		return;
	describe(a, k, &s);
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch, sched_wakeup and softirq events",
			 "the target was idle while what it or the client had sent was held on its "
			 "way for %.1f %% of the time",
			 100 * share);
	prove_outside(a, k, &s);
	if (s.used < HG_SHAPER_USED_MIN)
		hg_case_refute(a, k, "the %s on %s used %.0f %% of its rate", shaper_label(a, &s),
			       s.link->name, 100 * s.used);
	if (s.q && s.overlimits <= 0)
		hg_case_refute(a, k, "the %s on %s never held a packet back", shaper_label(a, &s),
			       s.link->name);
}

const struct hg_detector hg_detector_link_shaper = {
	.class_name = "net",
	.cause = "link-shaper",
	.needs =
		"switches, wakeups and softirqs of target and client, statistics of the qdiscs and "
		"devices of their network namespaces",
	.proof_events = "share of time in which the target was idle and data on its way",
	.proof_outside = "bytes sent against its rate, and the backlog, by the qdisc's statistics",
	.evaluate = evaluate,
};
