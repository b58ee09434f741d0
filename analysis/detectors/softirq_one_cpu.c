/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/softirq-one-cpu: the receive work of the network (NET_RX softirq, or ksoftirqd) fills one CPU, what target and client
 * wait for stands in its queue, and other CPUs have room.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

#define VEC_NET_RX 3
#define RX_PART_MIN                                                                                \
	0.5 /* of its softirq time that was recorded: else it is other work than receiving */
#define RPS_PART 0.1 /* of its packets' rounds: else a device's interrupt brings them */

struct receiver {
	const struct hg_cpu *cpu;
	double softirq;	    /* share of the time, softirqs and interrupts, by /proc/stat */
	double others_busy; /* of the other CPUs' time; NAN: there is no other */
	double span_s;
};

/* False: no samples of this CPU. */
static bool receiver_find(const struct hg_attribution *a, size_t cpu, struct receiver *out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	uint64_t softirq, irq, busy, span;
	unsigned int others = 0;

	if (!hg_series_delta(&a->cpus[cpu].proc_softirq, from, to, &softirq, &irq, &span) || !span)
		return false;
	*out = (struct receiver){.cpu = &a->cpus[cpu],
				 .softirq = (double)(softirq + irq) / (double)span,
				 .span_s = (double)span / 1e9};
	for (size_t i = 0; i < a->cpus_count; i++) {
		if (i == cpu ||
		    !hg_series_delta(&a->cpus[i].proc_stat, from, to, &busy, NULL, &span) || !span)
			continue;
		out->others_busy += (double)busy / (double)span;
		others++;
	}
	out->others_busy = others ? fmin(1, out->others_busy / others) : NAN;
	return true;
}

/* The device of target's and client's namespaces that received most; NULL if none did. */
static const struct hg_link *busiest_link(const struct hg_attribution *a, double *per_s_out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_link *links, *best = NULL;
	size_t n = hg_model_links(a->model, &links);

	*per_s_out = 0;
	for (size_t i = 0; i < n; i++) {
		const struct hg_netns *ns =
			links[i].id ? hg_model_netns_find(a->model, links[i].netns) : NULL;
		uint64_t packets, span;
		double per_s;

		if (!ns || !(ns->flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT)) ||
		    !hg_series_delta(&links[i].rx, from, to, NULL, &packets, &span) || !span)
			continue;
		per_s = (double)packets * 1e9 / (double)span;
		if (per_s > *per_s_out) {
			*per_s_out = per_s;
			best = &links[i];
		}
	}
	return best;
}

/* What /proc/net/softnet_stat says of the CPU. Returns whether other CPUs give it the packets (RPS). */
static bool evidence_softnet(const struct hg_attribution *a, struct hg_case *k, size_t cpu)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	uint64_t packets, squeezed, dropped = 0, rps = 0, span;
	const struct hg_softnet *softnet;
	double backlog = NAN;

	if (cpu >= hg_model_softnet(a->model, &softnet) ||
	    !hg_series_delta(&softnet[cpu].packets, from, to, &packets, &squeezed, &span) || !span)
		return false;
	hg_series_delta(&softnet[cpu].drops, from, to, &dropped, NULL, NULL);
	hg_series_delta(&softnet[cpu].rps, from, to, &rps, NULL, NULL);
	hg_series_mean(&softnet[cpu].backlog, from, to, &backlog, NULL, NULL);
	hg_case_evidence(a, k, false, packets > 0, (double)packets, NAN, "/proc/net/softnet_stat",
			 "CPU %zu took %.0f packets a second, dropped %llu before it could, and "
			 "left %llu rounds with work undone",
			 cpu, (double)packets * 1e9 / (double)span, (unsigned long long)dropped,
			 (unsigned long long)squeezed);
	if (backlog > 0)
		hg_case_evidence(a, k, false, true, backlog, NAN, "/proc/net/softnet_stat",
				 "%.0f packets stood in its queue, on average", backlog);
	return rps > 0 && (double)rps >= RPS_PART * (double)squeezed;
}

/* A thread that is always at work itself may limit as well; time that softirqs took from it is none of its work. */
static void refute_busy_thread(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_lane *tops[] = {a->target_top, a->client_top};
	static const char *const whose[] = {"the target", "the client"};

	for (size_t i = 0; i < HG_ARRAY_SIZE(tops); i++) {
		double own = tops[i] ? (double)tops[i]->leaf_ns[HG_LEAF_RUNNING] / a->wall_ns : 0;

		if (own >= HG_UTIL_SERIAL_MIN)
			hg_case_refute(a, k,
				       "a thread of %s is at work itself %.0f %% of the time: "
				       "both may limit",
				       whose[i], 100 * own);
	}
}

static void refute(const struct hg_attribution *a, struct hg_case *k, const struct receiver *r)
{
	double rx = (double)r->cpu->softirq_vec_ns[VEC_NET_RX], all = (double)r->cpu->softirq_ns;

	if (r->softirq < HG_UTIL_SERIAL_MIN)
		hg_case_refute(a, k, "softirqs take only %.0f %% of the CPU's time: it has room",
			       100 * r->softirq);
	if (isnan(r->others_busy))
		hg_case_refute(a, k, "it is the only CPU: nothing else could take the work");
	else if (r->others_busy >= HG_UTIL_POOL_MIN)
		hg_case_refute(a, k, "the other CPUs are %.0f %% busy: they have no room either",
			       100 * r->others_busy);
	if (all >= 0.01 * a->wall_ns && rx < RX_PART_MIN * all)
		hg_case_refute(a, k, "receiving is only %.0f %% of its softirqs' time",
			       100 * rx / all);
	refute_busy_thread(a, k);
}

static void advise(const struct hg_attribution *a, struct hg_case *k, size_t cpu, bool rps)
{
	double per_s;
	const struct hg_link *link = busiest_link(a, &per_s);
	const char *device = link ? link->name : "the device";

	if (link)
		hg_case_evidence(a, k, false, true, per_s, NAN,
				 "statistics of their network devices",
				 "most packets came in by %s: %.0f a second", link->name, per_s);
	k->c.advice = hg_arena_printf(
		a->arena,
		"Spread the receive work over more CPUs: %s of %s; or keep traffic away that "
		"target "
		"and client do not need.",
		rps ? hg_arena_printf(
			      a->arena,
			      "other CPUs steer packets to CPU %zu (RPS), so widen the mask "
			      "/sys/class/net/*/queues/rx-*/rps_cpus",
			      cpu)
		    : "more queues (ethtool -L, -X) with interrupts on other CPUs, or RPS "
		      "(/sys/class/net/*/queues/rx-*/rps_cpus)",
		device);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_SOFTIRQ);
	struct receiver r;
	double share;

	if (!row || row->id >= a->cpus_count)
		return;
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "cpu";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "CPU %llu", (unsigned long long)row->id);
	k->c.subject.name = "receive work (softirqs)";
	k->c.saturation = NAN;
	k->c.summary = "Target or client wait for the softirqs of one CPU.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch, sched_wakeup and softirq events",
			 "target and client waited for the softirqs of CPU %llu, or lost their "
			 "time to them, for %.1f %% of the time",
			 (unsigned long long)row->id, 100 * share);
	if (!receiver_find(a, row->id, &r)) {
		k->c.unknown_why = "no /proc/stat samples of the CPU";
		return;
	}
	k->c.saturation = r.softirq;
	k->c.summary = hg_arena_printf(
		a->arena,
		"CPU %llu is full of receive work (softirqs, %.0f %% of its time), and what target "
		"and client wait for waits in its queue; the other CPUs are %.0f %% busy.",
		(unsigned long long)row->id, 100 * r.softirq,
		isnan(r.others_busy) ? 0 : 100 * r.others_busy);
	hg_case_evidence(a, k, true, r.softirq >= HG_UTIL_SERIAL_MIN, r.softirq, HG_UTIL_SERIAL_MIN,
			 "/proc/stat",
			 "the kernel's own account: CPU %llu was in softirqs and interrupts "
			 "%.1f %% of %.1f s",
			 (unsigned long long)row->id, 100 * r.softirq, r.span_s);
	advise(a, k, row->id, evidence_softnet(a, k, row->id));
	refute(a, k, &r);
}

const struct hg_detector hg_detector_softirq_one_cpu = {
	.class_name = "net",
	.cause = "softirq-one-cpu",
	.needs = "switches and wakeups of target and client, per-CPU totals, /proc/stat",
	.proof_events = "share of time in which target and client wait for the softirqs of a CPU "
			"that is full of them",
	.proof_outside = "time of that CPU in softirqs by /proc/stat",
	.evaluate = evaluate,
};
