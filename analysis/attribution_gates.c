/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gates: what must be in order before a verdict is trusted. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

static void gate(const struct hg_attribution *a, struct hg_gates *g, const char *name, bool passed,
		 const char *fmt, ...) HG_PRINTF(5, 6);
static void gate(const struct hg_attribution *a, struct hg_gates *g, const char *name, bool passed,
		 const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (g->n < HG_GATES_MAX)
		g->v[g->n++] = (struct hg_gate){.name = name,
						.passed = passed,
						.text = hg_arena_printf(a->arena, "%s", text)};
}

/* Over lower it lowers the confidence, over forbid no verdict stands. */
static void gate_level(struct hg_gates *g, double value, double lower, double forbid)
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
		wall += (double)hg_lane_wall_ns(l);
	}
	return wall > 0 ? unknown / wall : 1;
}

static void gates_throughput(const struct hg_attribution *a, const struct hg_model_session *session,
			     struct hg_gates *g)
{
	const struct hg_client_result *r = a->client;
	bool failed = session->client_ended && session->client_status != 0 &&
		      !(WIFSIGNALED(session->client_status));

	gate(a, g, "throughput", r->valid && !failed, "%s",
	     !r->valid	? (r->source[0] ? r->source : "no client output: shares only")
	     : failed	? "the client failed: its figure is not trusted"
	     : r->proxy ? hg_arena_printf(a->arena, "%s (caps the confidence at medium)", r->source)
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

void hg_gates_check(const struct hg_attribution *a, const struct hg_model_session *session,
		    const struct hg_reader_health *health, struct hg_gates *g)
{
	struct hg_losses losses;
	double lost, unknown = unknown_share(a), own;
	uint64_t gone;

	hg_model_losses(a->model, &losses);
	gone = losses.total + losses.damage;
	lost = (double)gone / (double)HG_MAX(session->events + gone, 1);
	gate(a, g, "losses", lost <= 0.0001, "%llu events lost (%.4f %%)", (unsigned long long)gone,
	     100 * lost);
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
	if (a->pool_out.known) {
		double others = a->other_cpus / (double)a->cpus_online;

		gate(a, g, "other-load", others <= 0.25,
		     "other programs kept %.2f of %zu CPUs busy", a->other_cpus, a->cpus_online);
		gate_level(g, others, 0.25, INFINITY);
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

const char *hg_gate_advice(const char *name)
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
