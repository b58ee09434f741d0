/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a model to findings: figures from outside, gates, cases of all detectors, ranking, verdict, what-if.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

#define CASES_MAX 24
#define GATES_MAX 10
#define ROWS_MAX  20

/* A refuted cause need not stand out from, but one that holds far more of the time is not understood yet. */
#define REFUTED_MAX 1.5

const struct hg_detector *const hg_detectors[] = {
	&hg_detector_serial_thread, &hg_detector_saturated,    &hg_detector_quota,
	&hg_detector_competitor,    &hg_detector_locking_user, &hg_detector_client_saturated,
	&hg_detector_too_few,	    &hg_detector_none,	       NULL,
};

/* Time that no detector of this version judges: it can keep a verdict from standing out, never be one. */
static const struct {
	enum hg_blame blame;
	const char *text;
} unjudged[] = {
	{HG_BLAME_POOL_MASK,
	 "its threads wait for the CPUs that they may use while others are idle"},
	{HG_BLAME_PLACEMENT,
	 "its threads wait to be put on a CPU although one that they may use is idle"},
	{HG_BLAME_KSOFTIRQD, "its threads wait for a CPU on which ksoftirqd runs"},
	{HG_BLAME_CLIENT_TIMER,
	 "it is idle while the client sleeps on a timer (thinks, or keeps a rate)"},
	{HG_BLAME_NET, "it waits for the network and the sender is not on this machine"},
	{HG_BLAME_SERIAL_WAIT, "a thread sleeps on a timer and no other one is ready to serve"},
	{HG_BLAME_DISK, "it waits for a disk"},
	{HG_BLAME_PEER, "it waits for a task that is neither target nor client"},
};

struct gates {
	struct hg_gate v[GATES_MAX];
	size_t n;
	const char *forbids; /* the first that forbids every verdict */
	const char *forbids_all_but_none;
	unsigned int lowers;
};

/* --- figures --- */

static double lane_run_ns(const struct hg_lane *l)
{
	return (double)(l->leaf_ns[HG_LEAF_RUNNING] + l->leaf_ns[HG_LEAF_RUNNING_SOFTIRQ] +
			l->leaf_ns[HG_LEAF_RUNNING_IRQ]);
}

/* Adds a lane's outside ratio in CPUs: of the window, for the part of it in which the lane lived. */
static void outside_add(const struct hg_attribution *a, struct hg_outside *sum,
			const struct hg_lane *l, bool delay)
{
	struct hg_outside o = hg_outside_lane(a, l, delay);
	double lived = (double)(l->to_ns - l->from_ns) / a->wall_ns;

	if (!o.known)
		return;
	sum->known = true;
	sum->ratio += o.ratio * fmin(1, lived);
	sum->span_s = fmax(sum->span_s, o.span_s);
}

static void figures_lanes(struct hg_attribution *a)
{
	double service_ns = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];
		double run = lane_run_ns(l);

		if (hg_lane_is_target(l, a->level_all)) {
			a->target_run_ns += run;
			a->target_delay_ns += (double)(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] +
						       l->leaf_ns[HG_LEAF_RUNNABLE_IDLE]);
			a->target_throttled_ns += (double)l->leaf_ns[HG_LEAF_THROTTLED];
			service_ns += run + (double)(l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] +
						     l->leaf_ns[HG_LEAF_RUNNABLE_IDLE] +
						     l->leaf_ns[HG_LEAF_THROTTLED] +
						     l->leaf_ns[HG_LEAF_BLOCKED_TIMER] +
						     l->leaf_ns[HG_LEAF_BLOCKED_DISK]);
			outside_add(a, &a->target_run_out, l, false);
			outside_add(a, &a->target_delay_out, l, true);
			if (!a->target_top || run > lane_run_ns(a->target_top))
				a->target_top = l;
		} else if (hg_lane_is_client(l)) {
			a->client_run_ns += run;
			outside_add(a, &a->client_run_out, l, false);
			if (!a->client_top || run > lane_run_ns(a->client_top))
				a->client_top = l;
		}
	}
	a->in_service = service_ns / a->wall_ns;
	if (a->target_top) {
		a->target_top_util = lane_run_ns(a->target_top) / a->wall_ns;
		a->target_top_out = hg_outside_lane(a, a->target_top, false);
	}
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		enum hg_blame b = a->shares.rows[i].blame;

		if (b == HG_BLAME_POOL || b == HG_BLAME_POOL_MASK || b == HG_BLAME_PLACEMENT ||
		    b == HG_BLAME_COMPETITOR || b == HG_BLAME_KSOFTIRQD)
			a->cpu_wait_share += a->shares.rows[i].total_ns / a->wall_ns;
	}
	if (a->client_top) {
		struct hg_outside delay = hg_outside_lane(a, a->client_top, true);

		a->client_wait = delay.known ? delay.ratio : 0;
		a->client_top_util = lane_run_ns(a->client_top) / a->wall_ns;
		a->client_top_out = hg_outside_lane(a, a->client_top, false);
	}
}

static void figures_cpus(struct hg_attribution *a)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);

	for (size_t i = 0; i < a->cpus_count; i++) {
		uint64_t busy, steal, span;

		if (!hg_series_delta(&a->cpus[i].proc_stat, from, to, &busy, &steal, &span) ||
		    !span)
			continue;
		a->cpus_online++;
		a->pool_out.known = a->steal_out.known = true;
		a->pool_out.ratio += (double)busy / (double)span;
		a->steal_out.ratio += (double)steal / (double)span;
		a->pool_out.span_s = a->steal_out.span_s = (double)span / 1e9;
	}
	if (a->cpus_online) {
		a->pool_out.ratio = fmin(1, a->pool_out.ratio / (double)a->cpus_online);
		a->steal_out.ratio /= (double)a->cpus_online;
	} else {
		a->cpus_online = a->cpus_count;
	}
}

/* --- gates --- */

static void gate(const struct hg_attribution *a, struct gates *g, const char *name, bool passed,
		 const char *fmt, ...) HG_PRINTF(5, 6);
static void gate(const struct hg_attribution *a, struct gates *g, const char *name, bool passed,
		 const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (g->n < GATES_MAX)
		g->v[g->n++] = (struct hg_gate){.name = name,
						.passed = passed,
						.text = hg_arena_printf(a->arena, "%s", text)};
}

/* Over lower it lowers the confidence, over forbid no verdict stands. */
static void gate_level(struct gates *g, double value, double lower, double forbid)
{
	if (value > forbid && !g->forbids)
		g->forbids = g->v[g->n - 1].name;
	else if (value > lower)
		g->lowers++;
}

static double unknown_share(const struct hg_attribution *a)
{
	double unknown = 0, wall = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (!hg_lane_is_target(l, a->level_all))
			continue;
		unknown += (double)l->leaf_ns[HG_LEAF_UNKNOWN];
		wall += (double)(l->to_ns - l->from_ns);
	}
	return wall > 0 ? unknown / wall : 1;
}

static void gates_throughput(const struct hg_attribution *a, const struct hg_model_session *session,
			     struct gates *g)
{
	const struct hg_client_result *r = a->client;
	bool failed = session->client_ended && session->client_status != 0 &&
		      !(WIFSIGNALED(session->client_status));

	gate(a, g, "throughput", r->valid && !failed, "%s",
	     !r->valid ? (r->source[0] ? r->source : "no client output: shares only")
	     : failed  ? "the client failed: its figure is not trusted"
		       : r->source);
	if (!r->valid || failed)
		g->forbids_all_but_none = "throughput";
	if (r->valid && r->errors > 0) {
		double errors = r->completed > 0 ? r->errors / r->completed : 1;

		gate(a, g, "client-errors", errors < 0.01, "%.0f requests failed (%.2f %%)",
		     r->errors, 100 * errors);
		gate_level(g, errors, 0.01, 0.5);
	}
}

static void gates_check(const struct hg_attribution *a, const struct hg_model_session *session,
			const struct hg_reader_health *health, struct gates *g)
{
	struct hg_losses losses;
	double lost, unknown = unknown_share(a), own;

	hg_model_losses(a->model, &losses);
	lost = (double)(losses.total + losses.damage) /
	       (double)HG_MAX(session->events + losses.total, 1);
	gate(a, g, "losses", lost <= 0.0001, "%llu events lost (%.4f %%)",
	     (unsigned long long)(losses.total + losses.damage), 100 * lost);
	gate_level(g, lost, 0.0001, 0.01);
	gate(a, g, "sub-windows", a->shares.subs >= 10, "%u sub-windows of %.2f s (10 are needed)",
	     a->shares.subs, a->shares.subs ? a->wall_ns / a->shares.subs / 1e9 : 0);
	if (a->shares.subs < 10 && !g->forbids)
		g->forbids = "sub-windows";
	gates_throughput(a, session, g);
	gate(a, g, "states", unknown <= 0.02, "%.1f %% of the target's time is in unknown states",
	     100 * unknown);
	gate_level(g, unknown, 0.02, 0.10);
	if (a->steal_out.known) {
		gate(a, g, "steal", a->steal_out.ratio <= 0.05,
		     "this machine's CPUs were taken away %.1f %% of the time",
		     100 * a->steal_out.ratio);
		gate_level(g, a->steal_out.ratio, 0.05, 0.20);
	}
	own = (double)session->own_cpu_ns / a->wall_ns +
	      (session->bpf_cpus > 0 ? session->bpf_cpus : 0);
	gate(a, g, "probe-effect", own <= 0.10 * (double)a->cpus_online,
	     "hourglass used %.3f CPUs itself%s", own,
	     session->bpf_cpus < 0 ? " (probes not measured)" : "");
	gate_level(g, own / (double)HG_MAX(a->cpus_online, 1), 0.10, 0.50);
	if (health->sentence[0]) {
		gate(a, g, "file", false, "%s", health->sentence);
		g->lowers++;
	}
}

/* --- cases --- */

static void case_finish(const struct hg_attribution *a, struct hg_case *k)
{
	double sum = 0;

	for (unsigned int i = 0; i < a->shares.subs; i++)
		sum += k->sub_ns[i];
	k->c.share = a->shares.wall_ns > 0 ? sum / a->shares.wall_ns : 0;
	hg_bootstrap(k->sub_ns, a->shares.sub_ns, a->shares.subs, &k->c.share_low,
		     &k->c.share_high);
}

static size_t cases_make(const struct hg_attribution *a, struct hg_case *cases)
{
	size_t n = 0;

	for (size_t i = 0; hg_detectors[i] && n < CASES_MAX; i++) {
		struct hg_case *k = &cases[n];

		memset(k, 0, sizeof(*k));
		k->c.class_name = hg_detectors[i]->class_name;
		k->c.cause = hg_detectors[i]->cause;
		k->c.saturation = NAN;
		hg_detectors[i]->evaluate(a, k);
		if (!k->credited)
			continue;
		case_finish(a, k);
		n++;
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(unjudged) && n < CASES_MAX; i++) {
		const struct hg_blame_row *row = hg_shares_largest(&a->shares, unjudged[i].blame);
		struct hg_case *k = &cases[n];

		if (!row)
			continue;
		memset(k, 0, sizeof(*k));
		k->c.class_name = "unknown";
		k->c.saturation = NAN;
		k->c.summary = unjudged[i].text;
		k->c.unknown_why = "no detector judges this time";
		for (size_t r = 0; r < a->shares.rows_count; r++) {
			if (a->shares.rows[r].blame == unjudged[i].blame)
				hg_case_credit(a, k, &a->shares.rows[r]);
		}
		case_finish(a, k);
		n++;
	}
	return n;
}

static bool is_refuted(const struct hg_case *k)
{
	return k->c.refuted_count > 0;
}

static int by_rank(const void *x, const void *y)
{
	const struct hg_case *a = x, *b = y;

	if (is_refuted(a) != is_refuted(b))
		return is_refuted(a) ? 1 : -1;
	if (a->c.share != b->c.share)
		return a->c.share < b->c.share ? 1 : -1;
	return strcmp(a->c.cause ? a->c.cause : "", b->c.cause ? b->c.cause : "");
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
 * Shares of causes that are judged from the same idle time overlap: none, client/saturated and too-few-connections
 * exclude each other by their refutations, and time that one of them claims is not also a rival of it.
 */
static bool is_rival(const struct hg_case *x, const struct hg_case *y)
{
	bool x_idle = !strcmp(x->c.class_name, "none");
	bool y_timer = !strcmp(y->c.class_name, "unknown") && y->c.summary == unjudged[3].text;

	if (x_idle &&
	    (y_timer || (!strcmp(y->c.class_name, "unknown") && y->c.summary == unjudged[4].text)))
		return false;
	return true;
}

static const char *case_label(const struct hg_attribution *a, const struct hg_case *k)
{
	if (k->c.cause)
		return hg_arena_printf(a->arena, "%s/%s", k->c.class_name, k->c.cause);
	return !strcmp(k->c.class_name, "none") ? "none" : k->c.summary;
}

static enum hg_confidence confidence(const struct hg_case *k, const struct gates *g, bool alone)
{
	int level = HG_CONFIDENCE_HIGH;

	if (k->c.share_low < 0.4)
		level--;
	if (alone)
		level--;
	level -= (int)g->lowers;
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

static const char *gate_advice(const char *name)
{
	static const char *const advice[][2] = {
		{"losses", "Record again with larger rings (record -m) or for a smaller target."},
		{"sub-windows", "Record for at least one second of load."},
		{"throughput",
		 "Run the client after --, or name its log by --client-log; --client-regex tells "
		 "which number is the throughput."},
		{"states", "Record for longer, so that every thread of the target is seen to run."},
		{"steal", "Record on a quieter machine: its host took CPUs away."},
		{"client-errors", "Make the client's requests succeed first."},
		{"probe-effect", "Record fewer tasks: name the target instead of -a."},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(advice); i++) {
		if (!strcmp(advice[i][0], name))
			return advice[i][1];
	}
	return NULL;
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
			return hg_arena_printf(
				a->arena,
				"%s has a much larger share than %s, although it is refuted (%s)",
				case_label(a, &cases[i]), case_label(a, top),
				cases[i].c.refuted_by[0]);
	}
	return NULL;
}

static void verdict(const struct hg_attribution *a, const struct hg_case *cases, size_t n,
		    const struct gates *g, struct hg_candidate *v)
{
	const struct hg_case *top = cases;
	const char *forbids, *why;
	bool none;

	if (!n || is_refuted(top) ||
	    (!strcmp(top->c.class_name, "unknown") && top->c.share < HG_SHARE_MIN)) {
		no_verdict(a, v, "unknown", cases, n,
			   n ? "every cause that this version knows is refuted"
			     : "the target did nothing in the window",
			   "Look at the refuted causes below and at where the time went.");
		return;
	}
	/* Without any client, an idle target can still be called idle. */
	none = !strcmp(top->c.class_name, "none") && !a->client->format && !a->client_top;
	forbids = g->forbids ? g->forbids : none ? NULL : g->forbids_all_but_none;
	if (forbids) {
		no_verdict(a, v, "inconclusive", cases, n,
			   hg_arena_printf(a->arena, "gate '%s' failed", forbids),
			   gate_advice(forbids));
		return;
	}
	why = objection(a, cases, n);
	if (why) {
		no_verdict(a, v, "inconclusive", cases, n, why,
			   "Look at the candidates below; record for longer or on a quieter "
			   "machine if their "
			   "shares are close.");
		return;
	}
	*v = top->c;
	v->confidence = confidence(top, g, !strcmp(top->c.class_name, "none") && !a->client->valid);
}

/* --- what if --- */

struct ceiling {
	const char *name;
	double util;
	const char *class_name, *cause;
	struct hg_subject subject;
};

static void next_set(const struct hg_attribution *a, struct hg_what_if *w, const struct ceiling *c)
{
	w->next = hg_arena_alloc(a->arena, sizeof(*w->next));
	if (w->next)
		*w->next = (struct hg_candidate){
			.class_name = c->class_name,
			.cause = c->cause,
			.subject = c->subject,
			.share = NAN,
			.share_low = NAN,
			.share_high = NAN,
			.saturation = c->util,
			.summary = c->name,
		};
}

static size_t ceilings(const struct hg_attribution *a, const struct hg_candidate *v,
		       struct ceiling *out)
{
	size_t n = 0;

	if (a->pool_out.known && strcmp(v->cause ? v->cause : "", "saturated")) {
		double members =
			(a->target_run_ns + a->client_run_ns) / a->wall_ns / (double)a->cpus_online;
		double util = !strcmp(v->cause ? v->cause : "", "competitor")
				      ? members
				      : fmax(members, a->pool_out.ratio);

		out[n] = (struct ceiling){
			"all CPUs",
			util,
			"cpu",
			"saturated",
			{.machine = "host", .kind = "cpu-pool", .name = "all CPUs"}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "%zu CPUs", a->cpus_online);
		n++;
	}
	if (a->target_top && strcmp(v->cause ? v->cause : "", "serial-thread")) {
		out[n] = (struct ceiling){
			hg_lane_label(a, a->target_top),
			a->target_top_util,
			"cpu",
			"serial-thread",
			{.machine = "host", .kind = "thread", .name = a->target_top->name}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "tid %u",
			 a->target_top->tid);
		n++;
	}
	if (a->client_top &&
	    !(!strcmp(v->class_name, "client") && v->cause && !strcmp(v->cause, "saturated"))) {
		out[n] = (struct ceiling){
			hg_lane_label(a, a->client_top),
			a->client_top_util,
			"client",
			"saturated",
			{.machine = "host", .kind = "client", .name = a->client_top->name}};
		snprintf(out[n].subject.id, sizeof(out[n].subject.id), "tid %u",
			 a->client_top->tid);
		n++;
	}
	return n;
}

static void what_if(const struct hg_attribution *a, const struct hg_candidate *v,
		    struct hg_findings *f)
{
	struct ceiling c[4], *least = NULL;
	struct hg_what_if *w;
	double critical, ceiling = INFINITY;
	size_t n;

	if (!v->cause)
		return;
	w = hg_arena_alloc(a->arena, sizeof(*w));
	if (!w)
		return;
	n = ceilings(a, v, c);
	for (size_t i = 0; i < n; i++) {
		double gain = c[i].util > 0 ? 1 / c[i].util - 1 : INFINITY;

		if (gain < ceiling) {
			ceiling = gain;
			least = &c[i];
		}
	}
	critical = v->share_high < 1 ? v->share_high / (1 - v->share_high) : INFINITY;
	w->relieve = hg_arena_printf(a->arena, "%s/%s%s%s", v->class_name, v->cause,
				     v->subject.name ? ": " : "",
				     v->subject.name ? v->subject.name : "");
	w->gain_at_most = fmax(0, fmin(critical, ceiling));
	if (critical <= ceiling)
		w->bound_by = hg_arena_printf(a->arena, "critical path: share %.2f / (1 - %.2f)",
					      v->share_high, v->share_high);
	else
		w->bound_by =
			hg_arena_printf(a->arena, "next limit: %s is busy %.0f %%: 1 / %.2f - 1",
					least->name, 100 * least->util, least->util);
	if (least)
		next_set(a, w, least);
	f->what_if = w;
	f->what_if_count = 1;
}

/* --- findings --- */

static const char *target_name(const struct hg_attribution *a)
{
	const struct hg_lane *leader = a->target_top;
	size_t threads = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		if (hg_lane_is_target(&a->lanes[i], a->level_all) &&
		    a->lanes[i].to_ns > a->lanes[i].from_ns)
			threads++;
	}
	if (!leader)
		return "no task was seen";
	return hg_arena_printf(a->arena, "%s (pid %u%s), %zu thread%s", leader->name, leader->tgid,
			       threads > 1 ? " and others" : "", threads, threads == 1 ? "" : "s");
}

static void setup_note(const struct hg_attribution *a, struct hg_findings *f, const char *id,
		       const char *severity, const char *text)
{
	if (!f->setup)
		f->setup = hg_arena_alloc(a->arena, 8 * sizeof(*f->setup));
	if (f->setup && f->setup_count < 8)
		f->setup[f->setup_count++] =
			(struct hg_setup_note){.id = id, .severity = severity, .text = text};
}

static void setup_check(const struct hg_attribution *a, struct hg_findings *f)
{
	uint64_t target_cpus = 0, client_cpus = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (lane_run_ns(l) < 0.05 * a->wall_ns)
			continue;
		if (hg_lane_is_target(l, a->level_all))
			target_cpus |= l->cpu_ran_mask0;
		else if (hg_lane_is_client(l))
			client_cpus |= l->cpu_ran_mask0;
	}
	if (target_cpus & client_cpus)
		setup_note(
			a, f, "shared-cpus", "warn",
			"Client and target ran on the same CPUs: each takes time from the other.");
	if (a->client_top)
		setup_note(a, f, "local-client", "info",
			   "The client runs on the target's machine: it shares caches, memory and "
			   "softirq time.");
	if (a->steal_out.known && a->steal_out.ratio > 0.01)
		setup_note(a, f, "steal", a->steal_out.ratio > 0.05 ? "spoils" : "warn",
			   hg_arena_printf(a->arena,
					   "This machine is a VM whose CPUs were taken away %.1f "
					   "%% of the time.",
					   100 * a->steal_out.ratio));
}

static void environment_load(struct hg_reader *r, struct hg_findings *f)
{
	hg_autofree char *text = NULL;
	size_t size;

	if (!hg_reader_blob(r, HG_CHUNK_ENVIRONMENT, 0, &text, &size))
		f->environment = json_loadb(text, size, 0, NULL);
}

static int findings_fill(struct hg_reader *r, struct hg_attribution *a, struct hg_findings *f)
{
	const struct hg_reader_health *health = hg_reader_health(r);
	struct hg_case *cases = calloc(CASES_MAX, sizeof(*cases));
	struct gates g = {0};
	size_t n;

	if (!cases)
		return -ENOMEM;
	gates_check(a, &f->session, health, &g);
	n = cases_make(a, cases);
	qsort(cases, n, sizeof(*cases), by_rank);
	verdict(a, cases, n, &g, &f->verdict);
	f->candidates = hg_arena_alloc(a->arena, (n ? n : 1) * sizeof(*f->candidates));
	f->gates = hg_arena_alloc(a->arena, GATES_MAX * sizeof(*f->gates));
	if (!f->candidates || !f->gates) {
		free(cases);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		f->candidates[i] = cases[i].c;
	f->candidates_count = n;
	memcpy(f->gates, g.v, g.n * sizeof(*f->gates));
	f->gates_count = g.n;
	free(cases);
	what_if(a, &f->verdict, f);
	setup_check(a, f);
	snprintf(f->health, sizeof(f->health), "%s", health->sentence);
	return 0;
}

static uint64_t rss_max(const struct hg_process *p, uint64_t from, uint64_t to)
{
	uint64_t before = 0, most = 0;

	for (size_t i = 0; i < p->rss.n; i++) {
		if (p->rss.v[i].time_ns <= from)
			before = p->rss.v[i].a;
		else if (p->rss.v[i].time_ns <= to)
			most = HG_MAX(most, p->rss.v[i].a);
	}
	return most ? most : before;
}

static void footprints(const struct hg_attribution *a, struct hg_findings *f)
{
	const struct hg_process *processes;
	size_t n = hg_model_processes(a->model, &processes);

	f->footprints = hg_arena_array(a->arena, n, sizeof(*f->footprints));
	for (size_t i = 0; f->footprints && i < n; i++) {
		uint64_t bytes = rss_max(&processes[i], hg_model_from_ns(a->model),
					 hg_model_to_ns(a->model));
		const char *name = "process";

		for (size_t l = HG_LANE_FIRST; l < a->lanes_count; l++) {
			if (a->lanes[l].tgid == processes[i].tgid &&
			    (a->lanes[l].tid == processes[i].tgid || !strcmp(name, "process")))
				name = a->lanes[l].name;
		}
		if (!bytes)
			continue;
		f->footprints[f->footprints_count++] = (struct hg_footprint){
			.name = hg_arena_printf(a->arena, "%s (pid %u)", name, processes[i].tgid),
			.rss_bytes_max = bytes,
		};
		f->rss_bytes_max += bytes;
	}
}

static void findings_figures(const struct hg_attribution *a, struct hg_findings *f)
{
	const struct hg_model *m = a->model;

	f->wall_s = a->wall_ns / 1e9;
	f->from_s = (double)(hg_model_from_ns(m) - hg_model_begin_ns(m)) / 1e9;
	f->to_s = f->from_s + f->wall_s;
	f->subwindows = a->shares.subs;
	f->host_cpus = a->pool_out.known ? a->pool_out.ratio * (double)a->cpus_online : NAN;
	f->target_cpus = a->target_run_ns / a->wall_ns;
	f->client_cpus = a->client_run_ns / a->wall_ns;
	f->cpus_online = (unsigned int)a->cpus_online;
	f->target_name = target_name(a);
	footprints(a, f);
	hg_model_losses(m, &f->losses);
}

/* The client's output: lines of CMD, or of --client-log if there are any. */
static void client_parse(const struct hg_model *m, const struct hg_model_session *session,
			 const char *name, const char *regex, struct hg_client_result *out)
{
	const struct hg_line *lines;
	size_t n = hg_model_lines(m, &lines);

	if (!name && session->client_format && session->client_format[0])
		name = session->client_format;
	if (!regex && session->client_regex && session->client_regex[0])
		regex = session->client_regex;
	hg_client_output_parse(lines, n, session->client_argv ? session->client_argv : "", name,
			       regex, out);
}

int hg_findings_make(struct hg_reader *r, const struct hg_model_opts *opts, const char *client_name,
		     const char *client_regex, struct hg_findings **out)
{
	struct hg_findings *f = calloc(1, sizeof(*f));
	struct hg_attribution a = {0};
	struct hg_model *model = NULL;
	int err;

	if (!f)
		return -ENOMEM;
	err = hg_model_load(r, opts, &model);
	if (err) {
		free(f);
		return err;
	}
	f->model = a.model = model;
	f->arena = a.arena = hg_arena_new();
	hg_model_session_get(model, &f->session);
	a.level_all = f->session.level_all;
	a.lanes_count = hg_model_lanes(model, &a.lanes);
	a.cpus_count = hg_model_cpus(model, &a.cpus);
	a.wall_ns = (double)(hg_model_to_ns(model) - hg_model_from_ns(model));
	if (!a.arena) {
		err = -ENOMEM;
	} else if (a.wall_ns <= 0) {
		hg_error("the window holds no time: nothing was recorded in it");
		err = -ENODATA;
	} else {
		err = hg_shares_make(model, &a.shares);
	}
	if (!err) {
		client_parse(model, &f->session, client_name, client_regex, &f->client);
		a.client = &f->client;
		figures_lanes(&a);
		figures_cpus(&a);
		err = findings_fill(r, &a, f);
	}
	if (!err) {
		findings_figures(&a, f);
		environment_load(r, f);
		err = hg_findings_rows(f, model, ROWS_MAX);
	}
	hg_shares_clear(&a.shares);
	if (err) {
		hg_findings_free(f);
		return err;
	}
	*out = f;
	return 0;
}
