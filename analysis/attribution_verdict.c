/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of all detectors, their ranking, and the one that may be the verdict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

/* A refuted cause need not be stood out from, but one that holds far more of the time is not understood yet. */
#define REFUTED_MAX 1.5

/* clang-format off */
const struct hg_detector *const hg_detectors[] = {
	&hg_detector_serial_thread,
	&hg_detector_saturated,
	&hg_detector_affinity,
	&hg_detector_sched_placement,
	&hg_detector_quota,
	&hg_detector_competitor,
	&hg_detector_locking_user,
	&hg_detector_locking_user_spin,
	&hg_detector_kernel_sleep,
	&hg_detector_kernel_spin,
	&hg_detector_disk_device,
	&hg_detector_disk_journal,
	&hg_detector_link_shaper,
	&hg_detector_rtt_window,
	&hg_detector_drops,
	&hg_detector_softirq_one_cpu,
	&hg_detector_vmm_io_thread,
	&hg_detector_client_saturated,
	&hg_detector_too_few,
	&hg_detector_think_time,
	&hg_detector_none,
	NULL,
};
/* clang-format on */

/*
 * Time that no detector of this version judges, or only ones that refute their own cause: it can keep a verdict from
 * standing out, never be one.
 */
static const struct {
	enum hg_blame blame;
	const char *text;
} unjudged[] = {
	{HG_BLAME_WAKE_LATENCY, "its threads wait for an idle CPU to take them"},
	{HG_BLAME_SOFTIRQ, "it waits for the softirqs of a CPU"},
	{HG_BLAME_NET_LATE, "what it or the client has sent is held on its way"},
	{HG_BLAME_NET, "it waits for the network and the sender is not on this machine"},
	{HG_BLAME_SERIAL_WAIT, "a thread sleeps on a timer and no other one is ready to serve"},
	{HG_BLAME_DISK, "it waits for a disk"},
	{HG_BLAME_JOURNAL, "it waits for a file system's journal"},
	{HG_BLAME_PEER, "it waits for a task that is neither target nor client"},
	{HG_BLAME_PEER_WAIT,
	 "it waits for a task that is neither target nor client and waits itself"},
};

static void case_finish(const struct hg_attribution *a, struct hg_case *k)
{
	double sum = 0;

	for (unsigned int i = 0; i < a->shares.subs; i++)
		sum += k->sub_ns[i];
	k->c.share = a->shares.wall_ns > 0 ? sum / a->shares.wall_ns : 0;
	hg_bootstrap(k->sub_ns, a->shares.sub_ns, a->shares.subs, &k->c.share_low,
		     &k->c.share_high);
}

static bool is_refuted(const struct hg_case *k)
{
	return k->c.refuted_count > 0;
}

/* Two proofs from different sources, both with the figure that they need. */
static bool is_proven(const struct hg_case *k)
{
	const char *first = NULL;
	bool two = false;

	for (size_t i = 0; i < k->c.evidence_count; i++) {
		const struct hg_evidence *e = &k->c.evidence[i];

		if (!e->proof)
			continue;
		if (!e->holds)
			return false;
		if (!first)
			first = e->source;
		else if (strcmp(first, e->source))
			two = true;
	}
	return two;
}

static int by_rank(const void *x, const void *y)
{
	const struct hg_case *a = x, *b = y;

	if (is_refuted(a) != is_refuted(b))
		return is_refuted(a) ? 1 : -1;
	if (a->c.share != b->c.share)
		return a->c.share < b->c.share ? 1 : -1;
	if (is_proven(a) != is_proven(b)) /* they explain the same time */
		return is_proven(a) ? -1 : 1;
	return strcmp(a->c.cause ? a->c.cause : "", b->c.cause ? b->c.cause : "");
}

/* A detector that has not refuted its cause speaks for the time of this blame. */
static bool is_judged(const struct hg_case *cases, size_t n, enum hg_blame blame)
{
	for (size_t i = 0; i < n; i++) {
		if (cases[i].c.cause && !is_refuted(&cases[i]) && (cases[i].blames >> blame & 1))
			return true;
	}
	return false;
}

size_t hg_cases_make(const struct hg_attribution *a, struct hg_case *cases)
{
	size_t n = 0;

	for (size_t i = 0; hg_detectors[i] && n < HG_CASES_MAX; i++) {
		struct hg_case *k = &cases[n];

		memset(k, 0, sizeof(*k));
		k->c.class_name = hg_detectors[i]->class_name;
		k->c.cause = hg_detectors[i]->cause;
		k->c.saturation = NAN;
		hg_detectors[i]->evaluate(a, k);
		if (!k->credited)
			continue;
		if (k->c.cause && hg_load_is_met(a))
			hg_case_refute(a, k,
				       "the offered load is met (%.4g of %.4g %s): relieving this "
				       "would raise nothing",
				       a->client->value, a->client->offered, a->client->unit);
		case_finish(a, k);
		n++;
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(unjudged) && n < HG_CASES_MAX; i++) {
		struct hg_case *k = &cases[n];

		if (is_judged(cases, n, unjudged[i].blame))
			continue;
		memset(k, 0, sizeof(*k));
		k->c.class_name = "unknown";
		k->c.saturation = NAN;
		k->c.summary = unjudged[i].text;
		k->unjudged = true;
		k->blame = unjudged[i].blame;
		k->c.unknown_why = "no detector judges this time";
		hg_case_credit_all(a, k, unjudged[i].blame);
		if (!k->credited)
			continue;
		case_finish(a, k);
		n++;
	}
	qsort(cases, n, sizeof(*cases), by_rank);
	return n;
}

/* Lower bound of the difference of two shares over the sub-windows. */
static double separation(const struct hg_attribution *a, const struct hg_case *x,
			 const struct hg_case *y)
{
	double diff[HG_SUBWINDOWS_MAX], low, high;

	for (unsigned int i = 0; i < a->shares.subs; i++)
		diff[i] = x->sub_ns[i] - y->sub_ns[i];
	hg_bootstrap(diff, a->shares.sub_ns, a->shares.subs, &low, &high);
	return low;
}

/*
 * "None" covers time that no other detector judges, such as waits for other machines: that time is no rival of it. Nor is an
 * explanation of the same time that lacks a proof a rival of one that has both.
 */
static bool is_rival(const struct hg_case *top, const struct hg_case *other)
{
	bool net = other->blame == HG_BLAME_NET || other->blame == HG_BLAME_NET_LATE;

	if (other->unjudged)
		return !(net && !strcmp(top->c.class_name, "none"));
	return !(top->blames & other->blames) || is_proven(other) || !is_proven(top);
}

static const char *case_label(const struct hg_attribution *a, const struct hg_case *k)
{
	if (k->c.cause)
		return hg_arena_printf(a->arena, "%s/%s", k->c.class_name, k->c.cause);
	return !strcmp(k->c.class_name, "none") ? "'nothing limits'" : k->c.summary;
}

static enum hg_confidence confidence(const struct hg_attribution *a, const struct hg_case *k,
				     const struct hg_gates *g, bool alone)
{
	int level = HG_CONFIDENCE_HIGH;

	if (k->c.share_low < 0.4)
		level--;
	if (alone || k->doubted)
		level--;
	level -= (int)g->lowers;
	if (a->client->proxy)
		level = HG_MIN(level, (int)HG_CONFIDENCE_MEDIUM);
	return (enum hg_confidence)HG_MAX(level, (int)HG_CONFIDENCE_LOW);
}

/* The two largest shares, refuted or not: "cpu/quota 71 %, cpu/serial-thread 28 % (refuted)". */
static const char *largest_shares(const struct hg_attribution *a, const struct hg_case *cases,
				  size_t n)
{
	const struct hg_case *first = NULL, *second = NULL;
	const char *one;

	for (size_t i = 0; i < n; i++) {
		const struct hg_case *k = &cases[i];

		if (!first || k->c.share > first->c.share) {
			second = first;
			first = k;
		} else if (!second || k->c.share > second->c.share) {
			second = k;
		}
	}
	if (!first)
		return "";
	one = hg_arena_printf(a->arena, " The largest shares: %s %.0f %%%s", case_label(a, first),
			      100 * first->c.share, is_refuted(first) ? " (refuted)" : "");
	if (!second)
		return hg_arena_printf(a->arena, "%s.", one);
	return hg_arena_printf(a->arena, "%s; %s %.0f %%%s.", one, case_label(a, second),
			       100 * second->c.share, is_refuted(second) ? " (refuted)" : "");
}

/* No cause is named: class_name says why not, why and advice say it to people. */
static void no_verdict(const struct hg_attribution *a, struct hg_candidate *v,
		       const char *class_name, const struct hg_case *cases, size_t n,
		       const char *why, const char *advice)
{
	*v = (struct hg_candidate){
		.class_name = class_name,
		.share = n ? cases[0].c.share : NAN,
		.share_low = n ? cases[0].c.share_low : NAN,
		.share_high = n ? cases[0].c.share_high : NAN,
		.saturation = NAN,
		.summary = hg_arena_printf(a->arena, "No verdict: %s.%s", why,
					   largest_shares(a, cases, n)),
		.advice = advice,
		.unknown_why = why,
	};
}

static const char *failed_proof(const struct hg_attribution *a, const struct hg_case *k)
{
	for (size_t i = 0; i < k->c.evidence_count; i++) {
		const struct hg_evidence *e = &k->c.evidence[i];

		if (e->proof && !e->holds)
			return hg_arena_printf(a->arena, "%s lacks a proof: %s (needs %.2g)",
					       case_label(a, k), e->text, e->threshold);
	}
	return hg_arena_printf(a->arena, "%s lacks its second proof%s%s", case_label(a, k),
			       k->c.unknown_why ? ": " : "",
			       k->c.unknown_why ? k->c.unknown_why : "");
}

static const struct hg_case *rival_find(const struct hg_case *cases, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (!is_refuted(&cases[i]) && is_rival(&cases[0], &cases[i]))
			return &cases[i];
	}
	return NULL;
}

/* Why the first of the ranked cases cannot be the verdict; NULL if it can. */
static const char *objection(const struct hg_attribution *a, const struct hg_case *cases, size_t n)
{
	const struct hg_case *top = cases, *rival = rival_find(cases, n);

	if (!strcmp(top->c.class_name, "unknown"))
		return hg_arena_printf(a->arena,
				       "most of the time, %s, and no detector judges that",
				       top->c.summary);
	if (!is_proven(top))
		return failed_proof(a, top);
	if (top->c.share_low < HG_SHARE_MIN)
		return hg_arena_printf(a->arena,
				       "the largest share, %s, may be as small as %.0f %%",
				       case_label(a, top), 100 * top->c.share_low);
	if (rival && separation(a, top, rival) <= 0)
		return hg_arena_printf(a->arena, "%s does not stand out from %s",
				       case_label(a, top), case_label(a, rival));
	for (size_t i = 1; i < n; i++) {
		if (is_refuted(&cases[i]) && cases[i].c.share > REFUTED_MAX * top->c.share)
			return hg_arena_printf(a->arena,
					       "%s, the largest share, failed its check (%s), and "
					       "%s, the next, is much smaller",
					       case_label(a, &cases[i]), cases[i].c.refuted_by[0],
					       case_label(a, top));
	}
	return NULL;
}

void hg_verdict_make(const struct hg_attribution *a, const struct hg_case *cases, size_t n,
		     const struct hg_gates *g, struct hg_candidate *v)
{
	const struct hg_case *top = cases;
	const char *forbids, *why;
	bool none;

	/* Without any client, an idle target can still be called idle. */
	none = n && !strcmp(top->c.class_name, "none") && !a->client->format && !a->client_top;
	forbids = g->forbids ? g->forbids : none ? NULL : g->forbids_all_but_none;
	if (forbids) {
		no_verdict(a, v, "inconclusive", cases, n,
			   hg_arena_printf(a->arena, "gate '%s' failed", forbids),
			   hg_gate_advice(forbids));
		return;
	}
	if (!n || is_refuted(top) ||
	    (!strcmp(top->c.class_name, "unknown") && top->c.share < HG_SHARE_MIN)) {
		no_verdict(a, v, "unknown", cases, n,
			   n ? "every cause that this version knows is refuted"
			     : "the target did nothing in the window",
			   "Look at the refuted causes below and at where the time went.");
		return;
	}
	why = objection(a, cases, n);
	if (why) {
		no_verdict(a, v, "inconclusive", cases, n, why,
			   "Look at the candidates below; record for longer or on a quieter "
			   "machine if their shares are close.");
		return;
	}
	*v = top->c;
	v->confidence = confidence(a, top, g,
				   !strcmp(top->c.class_name, "none") &&
					   (!a->client->valid || a->client->proxy));
}
