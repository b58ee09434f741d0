/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a trace to findings: model, shares, figures, cases, verdict. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "analysis/hg_proxy.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

#define ROWS_MAX   20
#define OTHERS_MIN 0.05 /* of the CPUs */

/* "web (pid 12), 14 threads, busiest worker-3 (tid 17)"; a process goes by the name of its first thread. */
static const char *target_name(const struct hg_attribution *a)
{
	const struct hg_lane *top = a->target_top, *leader = top;
	const char *busiest = "";
	size_t threads = 0, processes = 0;

	if (!top)
		return "no task was seen";
	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];

		if (!hg_lane_is_target(l, a->level_all) || l->to_ns <= l->from_ns)
			continue;
		threads++;
		processes += l->tid == l->tgid;
		if (l->tid == top->tgid)
			leader = l;
	}
	if (leader != top)
		busiest = hg_arena_printf(a->arena, ", busiest %s", hg_lane_label(a, top));
	if (processes > 1)
		return hg_arena_printf(a->arena, "%s (pid %u), %zu processes with %zu threads%s",
				       leader->name, top->tgid, processes, threads, busiest);
	return hg_arena_printf(a->arena, "%s (pid %u), %zu thread%s%s", leader->name, top->tgid,
			       threads, threads == 1 ? "" : "s", busiest);
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

		if (hg_lane_run_ns(l) < 0.05 * a->wall_ns)
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
	if (a->other_cpus > OTHERS_MIN * (double)a->cpus_online)
		setup_note(
			a, f, "other-load", "warn",
			hg_arena_printf(
				a->arena,
				"Programs that are neither target nor client kept %.2f of %zu CPUs "
				"busy.",
				a->other_cpus, a->cpus_online));
	if (f->session.client_found)
		setup_note(a, f, "client-found", "info",
			   hg_arena_printf(
				   a->arena,
				   "No client was named; %s is taken for it: it does %.0f %% of "
				   "the waking of the target.",
				   f->session.client_found, 100 * f->session.client_found_share));
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
	struct hg_case *cases = calloc(HG_CASES_MAX, sizeof(*cases));
	struct hg_gates g = {0};
	size_t n;

	if (!cases)
		return -ENOMEM;
	hg_gates_check(a, &f->session, health, &g);
	n = hg_cases_make(a, cases);
	hg_verdict_make(a, cases, n, &g, &f->verdict);
	f->candidates = hg_arena_alloc(a->arena, (n ? n : 1) * sizeof(*f->candidates));
	f->gates = hg_arena_alloc(a->arena, HG_GATES_MAX * sizeof(*f->gates));
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
	hg_what_if_make(a, &f->verdict, f);
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

		if (!bytes)
			continue;
		f->footprints[f->footprints_count++] = (struct hg_footprint){
			.name = hg_arena_printf(a->arena, "%s (pid %u)",
						hg_process_name(a, processes[i].tgid),
						processes[i].tgid),
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
	f->other_cpus = a->pool_out.known ? a->other_cpus : NAN;
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
	if (!err)
		err = hg_spins_credit(&a);
	if (!err) {
		client_parse(model, &f->session, client_name, client_regex, &f->client);
		if (!f->client.valid)
			err = hg_proxy_make(model, &f->client);
	}
	if (!err) {
		a.client = &f->client;
		hg_figures_make(&a);
		err = findings_fill(r, &a, f);
	}
	if (!err) {
		findings_figures(&a, f);
		environment_load(r, f);
		err = hg_findings_rows(f, model, ROWS_MAX);
		if (!err)
			err = hg_findings_targets(f, model);
		if (!err)
			err = hg_findings_sleeps(f, model);
		if (!err)
			err = hg_findings_cpus(f, model);
	}
	hg_shares_clear(&a.shares);
	if (err) {
		hg_findings_free(f);
		return err;
	}
	*out = f;
	return 0;
}
