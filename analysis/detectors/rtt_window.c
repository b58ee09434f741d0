/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/rtt-window: what is under way at once, a window or the requests of a closed loop, takes a round trip of the path to
 * be answered. The least round trip that the kernel has seen counts: what queues adds to the others only.
 */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define RTT_PART_MIN 0.5  /* of the mean latency: without the path 2 times as much may come */
#define LIMITED_MIN  0.5  /* of the time with data: the window is full */
#define RTT_MIN_US   200. /* a path on one machine takes less, most of it wakeups */

struct path {
	unsigned int sockets;
	double rtt_us, least_rtt_us; /* means over the sockets */
	double limited; /* mean part of the time with data outstanding that the window was full */
};

static bool is_established(const struct hg_socket *s)
{
	return s->state == 1 && s->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT);
}

static bool path_find(const struct hg_attribution *a, struct path *out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_socket *sockets;
	size_t n = hg_model_sockets(a->model, &sockets);

	*out = (struct path){0};
	for (size_t i = 0; i < n; i++) {
		const struct hg_socket *s = &sockets[i];
		double rtt, least, cwnd, unacked;
		uint64_t by_peer, busy;

		if (!is_established(s) || !hg_series_mean(&s->rtt, from, to, &rtt, &least, NULL) ||
		    least <= 0)
			continue;
		out->sockets++;
		out->rtt_us += rtt;
		out->least_rtt_us += least;
		if (hg_series_mean(&s->window, from, to, &cwnd, &unacked, NULL) && cwnd > 0 &&
		    unacked >= 0.9 * cwnd)
			out->limited += 1;
		else if (hg_series_delta(&s->limited, from, to, &by_peer, NULL, NULL) &&
			 hg_series_delta(&s->busy, from, to, &busy, NULL, NULL) && busy)
			out->limited += fmin(1, (double)by_peer / (double)busy);
	}
	if (!out->sockets)
		return false;
	out->rtt_us /= out->sockets;
	out->least_rtt_us /= out->sockets;
	out->limited /= out->sockets;
	return true;
}

static void outside_check(const struct hg_attribution *a, struct hg_case *k, const struct path *p)
{
	const struct hg_client_result *r = a->client;
	double part;

	if (r->valid && r->closed_loop && r->latency_mean_s > 0) {
		part = p->least_rtt_us / 1e6 / r->latency_mean_s;
		k->c.saturation = fmin(1, part);
		hg_case_evidence(a, k, true, part >= RTT_PART_MIN, part, RTT_PART_MIN,
				 "TCP_INFO of the sockets",
				 "the least round trip, %.3g ms, is %.0f %% of the %.3g ms that an "
				 "answer takes",
				 p->least_rtt_us / 1e3, 100 * part, 1e3 * r->latency_mean_s);
		if (part < RTT_PART_MIN / 2)
			hg_case_refute(a, k,
				       "the least round trip is only %.0f %% of an answer's time",
				       100 * part);
		return;
	}
	k->c.saturation = p->limited;
	hg_case_evidence(a, k, true, p->limited >= LIMITED_MIN, p->limited, LIMITED_MIN,
			 "TCP_INFO of the sockets",
			 "the window was full %.0f %% of the time with data under way",
			 100 * p->limited);
	if (p->limited < LIMITED_MIN / 2)
		hg_case_refute(a, k, "the windows were full only %.0f %% of the time",
			       100 * p->limited);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	double share = hg_case_credit_all(a, k, HG_BLAME_NET_LATE) / a->wall_ns;
	struct path p;

	if (!k->credited)
		return;
	k->c.subject.machine = "host";
	k->c.subject.kind = "path";
	k->c.summary = "What is sent is held on its way.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch, sched_wakeup and softirq events",
			 "the target was idle while what it or the client had sent was held on its "
			 "way for %.1f %% of the time",
			 100 * share);
	if (!path_find(a, &p)) {
		k->c.unknown_why = "no TCP sockets of target and client were sampled";
		return;
	}
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%u sockets", p.sockets);
	k->c.subject.name = hg_arena_printf(a->arena, "path of %.3g ms", p.least_rtt_us / 1e3);
	k->c.summary = hg_arena_printf(a->arena,
				       "The path is long: a round trip takes %.3g ms at least, and "
				       "what is under way at once "
				       "has to wait for it.",
				       p.least_rtt_us / 1e3);
	k->c.advice = "Keep more under way (connections, pipelined requests, larger windows), or "
		      "shorten the path.";
	outside_check(a, k, &p);
	if (p.least_rtt_us < RTT_MIN_US)
		hg_case_refute(a, k, "a round trip takes only %.0f us", p.least_rtt_us);
}

const struct hg_detector hg_detector_rtt_window = {
	.class_name = "net",
	.cause = "rtt-window",
	.needs = "switches, wakeups and softirqs of target and client, TCP_INFO of their sockets, "
		 "the "
		 "client's mean latency",
	.proof_events = "share of time in which the target was idle and data on its way",
	.proof_outside = "the least round trip against the client's mean latency, or full windows",
	.evaluate = evaluate,
};
