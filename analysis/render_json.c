/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for programs: docs/report.schema.json describes every field with its unit. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/render.h"
#include "base/hg_escape.h"

#define REAL_DIGITS 12

/* What is not a number is null: JSON has no other word for "unknown". */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* 0 means unknown in these. */
static json_t *real_or_null(double value)
{
	return value > 0 ? real(value) : json_null();
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)HG_MIN(value, (uint64_t)INT64_MAX));
}

/* Names are any bytes; what is not UTF-8 is escaped as on a terminal. NULL is null. */
static json_t *text(const char *s)
{
	json_t *value = s ? json_string(s) : json_null();
	hg_autofree char *safe = NULL;
	size_t size;

	if (value || !s)
		return value;
	size = 4 * strlen(s) + 1;
	safe = malloc(size);
	return safe ? json_string(hg_escape_terminal(safe, size, s)) : NULL;
}

static json_t *texts(const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, text(list[i]));
	return array;
}

/* Takes value; a missing one (out of memory) is found by the writer, which then prints nothing. */
static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* A key that is any bytes. */
static void put_text(json_t *object, const char *key, json_t *value)
{
	json_t *safe = text(key);

	if (safe)
		json_object_set_new(object, json_string_value(safe), value);
	else
		json_decref(value);
	json_decref(safe);
}

static json_t *series(const struct hg_client_result *c, const struct hg_findings *f)
{
	json_t *array = json_array();
	uint64_t begin_ns = f->model ? hg_model_begin_ns(f->model) : 0;

	for (size_t i = 0; i < c->series_count; i++) {
		double s = c->series[i].time_ns > begin_ns
				   ? (double)(c->series[i].time_ns - begin_ns) / 1e9
				   : 0;

		json_array_append_new(array, json_pack("{s:o, s:o}", "time_s", real(s), "value",
						       real(c->series[i].value)));
	}
	return array;
}

/* Only where several ran: how far side by side. */
static json_t *clients(const struct hg_client_result *c)
{
	json_t *o;

	if (c->runs < 2)
		return json_null();
	o = json_object();
	put(o, "count", json_integer(c->runs));
	put(o, "common_s", real(c->common_s));
	put(o, "start_skew_s", real(c->start_skew_s));
	put(o, "stop_skew_s", real(c->stop_skew_s));
	put(o, "skewed", json_boolean(c->skewed));
	return o;
}

static json_t *throughput(const struct hg_findings *f)
{
	const struct hg_client_result *c = &f->client;
	json_t *o;

	if (!c->valid)
		return json_null();
	o = json_object();
	put(o, "value", real(c->value));
	put(o, "unit", text(c->unit));
	put(o, "source", text(c->source));
	put(o, "series", series(c, f));
	put(o, "format", text(c->format));
	put(o, "completed", real_or_null(c->completed));
	put(o, "duration_s", real_or_null(c->duration_s));
	put(o, "concurrency", real_or_null(c->concurrency));
	put(o, "threads", real_or_null(c->threads));
	put(o, "latency_mean_s", real_or_null(c->latency_mean_s));
	put(o, "offered", real_or_null(c->offered));
	put(o, "closed_loop", json_boolean(c->closed_loop));
	put(o, "errors", real(c->errors));
	put(o, "clients", clients(c));
	put(o, "sent", real_or_null(c->sent));
	put(o, "retransmits", c->retransmits_known ? real(c->retransmits) : json_null());
	return o;
}

static json_t *efficiency(const struct hg_findings *f)
{
	json_t *o = json_object();

	put(o, "host_cpus", real(f->host_cpus));
	put(o, "per_cpu", real(hg_efficiency(f)));
	put(o, "target_cpus", real(f->target_cpus));
	put(o, "client_cpus", real(f->client_cpus));
	put(o, "other_cpus", real(f->other_cpus));
	put(o, "cpus_online", integer(f->cpus_online));
	return o;
}

static json_t *footprint(const struct hg_findings *f)
{
	json_t *o = json_object(), *rss = json_object();

	for (size_t i = 0; i < f->footprints_count; i++)
		put_text(rss, f->footprints[i].name, integer(f->footprints[i].rss_bytes_max));
	put(o, "rss_bytes", rss);
	put(o, "guest_used_bytes", json_null());
	return o;
}

static json_t *subject(const struct hg_subject *s)
{
	json_t *o;

	if (!s->kind)
		return json_null();
	o = json_object();
	put(o, "machine", text(s->machine ? s->machine : "host"));
	put(o, "kind", text(s->kind));
	put(o, "id", text(s->id));
	put(o, "name", text(s->name ? s->name : ""));
	return o;
}

static json_t *evidence(const struct hg_candidate *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->evidence_count; i++) {
		const struct hg_evidence *e = &c->evidence[i];
		json_t *o = json_object();

		put(o, "text", text(e->text ? e->text : ""));
		put(o, "source", text(e->source ? e->source : ""));
		put(o, "proof", json_boolean(e->proof));
		put(o, "holds", json_boolean(e->holds));
		put(o, "value", real(e->value));
		put(o, "threshold", real(e->threshold));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *candidate(const struct hg_candidate *c)
{
	json_t *o = json_object();

	put(o, "class", text(c->class_name ? c->class_name : "unknown"));
	put(o, "cause", text(c->cause));
	put(o, "subject", subject(&c->subject));
	put(o, "confidence", text(hg_confidence_name(c->confidence)));
	put(o, "share", real(c->share));
	put(o, "share_low", real(c->share_low));
	put(o, "share_high", real(c->share_high));
	put(o, "saturation", real(c->saturation));
	put(o, "chain", texts(c->chain, c->chain_count));
	put(o, "summary", text(c->summary ? c->summary : ""));
	put(o, "advice", text(c->advice));
	put(o, "evidence", evidence(c));
	put(o, "refuted_by", texts(c->refuted_by, c->refuted_count));
	put(o, "unknown_why", text(c->unknown_why));
	return o;
}

static json_t *candidates(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->candidates_count; i++)
		json_array_append_new(array, candidate(&f->candidates[i]));
	return array;
}

static json_t *what_if(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->what_if_count; i++) {
		const struct hg_what_if *w = &f->what_if[i];
		json_t *o = json_object(), *next = json_null();

		if (w->next) {
			next = json_object();
			put(next, "class",
			    text(w->next->class_name ? w->next->class_name : "unknown"));
			put(next, "cause", text(w->next->cause));
			put(next, "subject", subject(&w->next->subject));
		}
		put(o, "relieve", text(w->relieve ? w->relieve : ""));
		put(o, "gain_at_most",
		    w->gain_at_most > HG_GAIN_SHOWN_MAX ? json_null() : real(w->gain_at_most));
		put(o, "bound_by", text(w->bound_by));
		put(o, "next", next);
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *states(const struct hg_lane_row *row)
{
	json_t *o = json_object();

	for (int l = 0; l < HG_LEAVES; l++) {
		if (l == HG_LEAF_RUNNING && row->split) {
			put(o, "running.user", integer(row->user_ns));
			put(o, "running.kernel", integer(row->kernel_ns));
		} else {
			put(o, hg_leaf_name((enum hg_leaf)l), integer(row->leaf_ns[l]));
		}
	}
	return o;
}

static json_t *lanes(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->rows_count; i++) {
		const struct hg_lane_row *row = &f->rows[i];
		json_t *o = json_object();

		put(o, "machine", text(row->machine ? row->machine : "host"));
		put(o, "kind", text(row->kind));
		put(o, "id", text(row->id));
		put(o, "name", text(row->name ? row->name : ""));
		put(o, "role", text(row->role));
		put(o, "target", row->target < 0 ? json_null() : integer((uint64_t)row->target));
		put(o, "count", integer(row->count));
		put(o, "wall_ns", integer(row->wall_ns));
		put(o, "states", states(row));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *sleeps(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->sleeps_count; i++) {
		const struct hg_sleep_row *row = &f->sleeps[i];
		json_t *o = json_object();

		put(o, "role", text(row->role));
		put(o, "state", text(hg_leaf_name(row->leaf)));
		put(o, "frames", text(row->frames));
		put(o, "waits", integer(row->waits));
		put(o, "ns", integer(row->ns));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *cpus(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->cpus_count; i++) {
		const struct hg_cpu_row *row = &f->cpus[i];
		bool softnet = !isnan(row->packets_per_s);
		json_t *o = json_object();

		put(o, "cpu", integer(row->cpu));
		put(o, "busy", real(row->busy));
		put(o, "softirq", real(row->softirq));
		put(o, "irq", real(row->irq));
		put(o, "softirq_proc_stat", real(row->softirq_ticks));
		put(o, "packets_per_s", real(row->packets_per_s));
		put(o, "dropped", softnet ? integer(row->dropped) : json_null());
		put(o, "squeezed", softnet ? integer(row->squeezed) : json_null());
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *targets(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->targets_count; i++) {
		const struct hg_target_row *row = &f->targets[i];
		json_t *o = json_object(), *sums = json_object();

		for (int l = 0; l < HG_LEAVES; l++)
			put(sums, hg_leaf_name((enum hg_leaf)l), integer(row->leaf_ns[l]));
		put(o, "index", integer(row->index));
		put(o, "type", text(row->type));
		put(o, "id", integer(row->id));
		put(o, "name", text(row->name));
		put(o, "hierarchy", text(row->hierarchy));
		put(o, "count", integer(row->lanes));
		put(o, "wall_ns", integer(row->wall_ns));
		put(o, "states", sums);
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *lost(const struct hg_findings *f)
{
	json_t *o = json_object();
	char number[32];

	for (unsigned int i = 0; i < HG_ARRAY_SIZE(f->losses.by_probe); i++) {
		const char *name = f->model ? hg_model_probe_name(f->model, i) : NULL;
		hg_autofree char *safe = NULL;
		size_t size;

		if (!f->losses.by_probe[i])
			continue;
		snprintf(number, sizeof(number), "probe %u", i);
		name = name && *name ? name : number;
		size = 8 * strlen(name) + 1;
		safe = malloc(size);
		if (!safe)
			continue;
		hg_escape_terminal(safe, size, name);
		/* two probes of one name cannot be: but the file may say so */
		put(o, json_object_get(o, safe) ? number : safe, integer(f->losses.by_probe[i]));
	}
	return o;
}

static json_t *gates(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->gates_count; i++)
		json_array_append_new(array,
				      json_pack("{s:o, s:b, s:o}", "name", text(f->gates[i].name),
						"passed", f->gates[i].passed, "text",
						text(f->gates[i].text ? f->gates[i].text : "")));
	return array;
}

static json_t *probes_missing(const struct hg_findings *f)
{
	const char *missing[64][2];
	size_t n =
		f->model ? hg_model_probes_missing(f->model, missing, HG_ARRAY_SIZE(missing)) : 0;
	json_t *array = json_array();

	for (size_t i = 0; i < HG_MIN(n, HG_ARRAY_SIZE(missing)); i++)
		json_array_append_new(array,
				      json_pack("{s:o, s:o}", "name",
						text(missing[i][0] ? missing[i][0] : ""), "why",
						text(missing[i][1] ? missing[i][1] : "")));
	return array;
}

static json_t *quality(const struct hg_findings *f)
{
	json_t *o = json_object();

	put(o, "lost", lost(f));
	put(o, "lost_total", integer(f->losses.total));
	put(o, "damage_records", integer(f->losses.damage));
	put(o, "holes_ns", integer(f->losses.lost_ns));
	put(o, "events", integer(f->session.events));
	put(o, "clock",
	    json_pack("{s:{s:s, s:o, s:i}}", "host", "method", "CLOCK_MONOTONIC", "error_ns",
		      real(f->clock_error_ns), "violations", 0));
	put(o, "probe_effect", real(hg_probe_effect(f)));
	put(o, "probe_cpus", f->session.bpf_cpus >= 0 ? real(f->session.bpf_cpus) : json_null());
	put(o, "own_cpu", real(hg_own_cpus(f)));
	put(o, "probes_missing", probes_missing(f));
	put(o, "gates", gates(f));
	put(o, "file", text(f->health));
	return o;
}

static json_t *setup(const struct hg_findings *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->setup_count; i++)
		json_array_append_new(
			array, json_pack("{s:o, s:o, s:o}", "id", text(f->setup[i].id), "severity",
					 text(f->setup[i].severity ? f->setup[i].severity : "info"),
					 "text", text(f->setup[i].text)));
	return array;
}

/* As recorded, and the two keys that every report has. */
static json_t *environment(const struct hg_findings *f)
{
	json_t *o = json_is_object(f->environment) ? json_copy(f->environment) : json_object();

	if (!json_is_object(json_object_get(o, "host")))
		put(o, "host", json_null());
	if (!json_is_object(json_object_get(o, "guests")))
		put(o, "guests", json_object());
	return o;
}

static json_t *report(const struct hg_findings *f)
{
	json_t *o = json_object();

	put(o, "schema", json_string("hourglass-report/1"));
	put(o, "target", text(f->target_name));
	put(o, "window",
	    json_pack("{s:o, s:o, s:o, s:o}", "from_s", real(f->from_s), "to_s", real(f->to_s),
		      "wall_s", real(f->wall_s), "subwindows", integer(f->subwindows)));
	put(o, "throughput", throughput(f));
	put(o, "throughput_unknown_why",
	    f->client.valid
		    ? json_null()
		    : text(*f->client.source ? f->client.source : "no client was recorded"));
	put(o, "efficiency", efficiency(f));
	put(o, "footprint", footprint(f));
	put(o, "verdict", candidate(&f->verdict));
	put(o, "candidates", candidates(f));
	put(o, "what_if", what_if(f));
	put(o, "targets", targets(f));
	put(o, "lanes", lanes(f));
	put(o, "sleeps", sleeps(f));
	put(o, "cpus", cpus(f));
	put(o, "quality", quality(f));
	put(o, "setup", setup(f));
	put(o, "environment", environment(f));
	return o;
}

int hg_findings_json(const struct hg_findings *f, FILE *out)
{
	json_t *o = report(f);
	/* ASCII only: controls above 0x7f and characters that reorder text never reach a terminal */
	int r = json_dumpf(o, out,
			   JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(REAL_DIGITS));

	json_decref(o);
	if (!r && fputc('\n', out) == EOF)
		r = -1;
	return r || ferror(out) ? -EIO : 0;
}
