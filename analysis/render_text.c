/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people: what limits, why we think so, what to do; then all the figures behind it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render.h"

#define OTHERS_SHOWN	  10
#define RIVAL_SHARE_LEAST 0.05 /* smaller ones are no second answer */
#define ELSE_SHOWN	  0.05 /* of the busy CPUs: what else ran makes the efficiency another one */
#define NOISE_SHARE	  0.001 /* of time that no detector judges */

static bool is_verdict(const struct hg_findings *f, const char *class_name)
{
	return f->verdict.class_name && !strcmp(f->verdict.class_name, class_name);
}

static void share_format(char *dst, size_t size, const struct hg_candidate *c)
{
	if (!isfinite(c->share))
		snprintf(dst, size, "unknown");
	else if (isfinite(c->share_low) && isfinite(c->share_high))
		snprintf(dst, size, "%.1f %% (%.1f to %.1f %%)", 100 * c->share, 100 * c->share_low,
			 100 * c->share_high);
	else
		snprintf(dst, size, "%.1f %%", 100 * c->share);
}

static const char *percent(char *dst, size_t size, double part)
{
	if (isfinite(part))
		snprintf(dst, size, "%.1f %%", 100 * part);
	else
		snprintf(dst, size, "unknown");
	return dst;
}

static void title(const struct hg_findings *f, FILE *out)
{
	const char *what = f->target_name && *f->target_name ? f->target_name : "unnamed target";

	hg_render_paragraph(out, 0, "hourglass report: %s", what);
	hg_render_paragraph(out, 0,
			    "Window %.2f to %.2f s of the recording (%.2f s, %u sub-windows)",
			    f->from_s, f->to_s, f->wall_s, f->subwindows);
}

/* Subject, confidence and the two figures of a verdict. */
static void key_figures(const struct hg_candidate *c, FILE *out)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, HG_RENDER_WIDTH, 2);
	char text[256];

	hg_render_subject(text, sizeof(text), &c->subject);
	if (*text) {
		hg_render_cell(t, "where");
		hg_render_cell(t, "%s on %s", text,
			       c->subject.machine ? c->subject.machine : "host");
	}
	hg_render_cell(t, "confidence");
	hg_render_cell(t, "%s", hg_confidence_name(c->confidence));
	if (hg_class_is_limit(c->class_name)) {
		share_format(text, sizeof(text), c);
		hg_render_cell(t, "share");
		hg_render_cell(
			t, isfinite(c->share) ? "%s of the time, progress depended on this" : "%s",
			text);
		hg_render_cell(t, "saturation");
		hg_render_cell(t, isfinite(c->saturation) ? "%s of its capacity was in use" : "%s",
			       percent(text, sizeof(text), c->saturation));
	}
	hg_table_print(t, out);
}

static void failed_gates(const struct hg_findings *f, FILE *out)
{
	for (size_t i = 0; i < f->gates_count; i++) {
		if (!f->gates[i].passed)
			hg_render_paragraph(out, 2, "Failed check, %s: %s", f->gates[i].name,
					    f->gates[i].text ? f->gates[i].text : "");
	}
}

static void verdict(const struct hg_findings *f, FILE *out, bool bold)
{
	const struct hg_candidate *v = &f->verdict;
	const char *gloss = hg_cause_gloss(v->class_name ? v->class_name : "unknown", v->cause);
	char cause[128];

	hg_render_cause(cause, sizeof(cause), v);
	hg_render_heading(out, bold, "%s: %s",
			  hg_class_is_limit(v->class_name) ? "THE LIMIT" : "VERDICT", cause);
	if (*gloss)
		hg_render_paragraph(out, 2, "%s", gloss);
	fputc('\n', out);
	key_figures(v, out);
	if (v->summary) {
		fputc('\n', out);
		hg_render_paragraph(out, 2, "%s", v->summary);
	}
	if (v->unknown_why && !(v->summary && strstr(v->summary, v->unknown_why)))
		hg_render_paragraph(out, 2, "Missing: %s", v->unknown_why);
	failed_gates(f, out);
	if (v->advice) {
		hg_render_heading(out, bold, "WHAT TO DO NEXT");
		hg_render_paragraph(out, 2, "%s", v->advice);
	}
}

static void evidence_list(const struct hg_candidate *c, unsigned int indent, FILE *out)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, HG_RENDER_WIDTH, indent);
	unsigned int proofs = 0;

	for (size_t i = 0; i < c->evidence_count; i++) {
		const struct hg_evidence *e = &c->evidence[i];

		if (e->proof)
			hg_render_cell(t, e->holds ? "proof %u" : "proof %u FAILS", ++proofs);
		else
			hg_render_cell(t, e->holds ? "supports" : "against");
		hg_render_cell(t, "%s", e->text ? e->text : "");
		hg_render_cell(t, " ");
		hg_render_cell(t, "[from %s]", e->source ? e->source : "unknown");
	}
	for (size_t i = 0; i < c->refuted_count; i++) {
		hg_render_cell(t, "refuted");
		hg_render_cell(t, "%s", c->refuted_by[i]);
	}
	hg_table_print(t, out);
}

/* A link is indented below the one that it explains. */
static void chain(const struct hg_candidate *c, unsigned int indent, FILE *out)
{
	if (!c->chain_count)
		return;
	hg_render_paragraph(out, indent, "Chain, from the limit to its origin:");
	for (size_t i = 0; i < c->chain_count; i++)
		hg_render_paragraph(out, indent + 2 + 2 * (unsigned int)HG_MIN(i, (size_t)8),
				    i ? "<- %s" : "%s", c->chain[i]);
}

static void evidence(const struct hg_findings *f, FILE *out, bool bold)
{
	const struct hg_candidate *v = &f->verdict;

	if (!v->evidence_count && !v->refuted_count && !v->chain_count)
		return;
	hg_render_heading(out, bold, "WHY: THE EVIDENCE");
	if (hg_class_is_limit(v->class_name))
		hg_render_paragraph(
			out, 2, "A limit is named only with two proofs from different sources.");
	evidence_list(v, 2, out);
	chain(v, 2, out);
}

/* Time that no detector judges. */
static bool is_unjudged(const struct hg_candidate *c)
{
	return c->class_name && !strcmp(c->class_name, "unknown");
}

static void candidate_cause(char *dst, size_t size, const struct hg_candidate *c)
{
	if (is_unjudged(c))
		snprintf(dst, size, "no known cause");
	else
		hg_render_cause(dst, size, c);
}

/* Inconclusive: the two that could not be told apart, in full. Returns how many candidates are thus done. */
static size_t rivals(const struct hg_findings *f, FILE *out, bool bold)
{
	size_t shown = is_verdict(f, "inconclusive") ? HG_MIN(f->candidates_count, (size_t)2) : 0;
	char cause[128], subject[256], share[96];

	if (shown == 2 && f->candidates[1].share < RIVAL_SHARE_LEAST)
		shown = 1;

	if (!shown)
		return 0;
	hg_render_heading(out, bold, "THE MOST LIKELY CAUSES");
	for (size_t i = 0; i < shown; i++) {
		const struct hg_candidate *c = &f->candidates[i];

		candidate_cause(cause, sizeof(cause), c);
		hg_render_subject(subject, sizeof(subject), &c->subject);
		share_format(share, sizeof(share), c);
		hg_render_paragraph(out, 2, "%zu. %s%s%s, share %s", i + 1, cause,
				    *subject ? ": " : "", subject, share);
		if (c->summary)
			hg_render_paragraph(out, 5, "%s", c->summary);
		if (c->advice)
			hg_render_paragraph(out, 5, "To tell: %s", c->advice);
		evidence_list(c, 5, out);
		chain(c, 5, out);
	}
	return shown;
}

static void candidate_row(const struct hg_candidate *c, struct hg_table *t)
{
	char cause[128], subject[256], text[96];

	candidate_cause(cause, sizeof(cause), c);
	hg_render_subject(subject, sizeof(subject), &c->subject);
	hg_render_cell(t, "%s", cause);
	hg_render_cell(t, "%s", isfinite(c->share) ? percent(text, sizeof(text), c->share) : "?");
	hg_render_cell(t, "%s",
		       isfinite(c->saturation) ? percent(text, sizeof(text), c->saturation) : "?");
	if (c->refuted_count)
		hg_render_cell(t, "refuted: %s", c->refuted_by[0]);
	else
		hg_render_cell(t, "%s: %s%s%s%s%s", c->unknown_why ? "unknown" : "weaker", subject,
			       *subject ? ": " : "", c->summary ? c->summary : "",
			       c->summary && c->unknown_why ? "; " : "",
			       c->unknown_why ? c->unknown_why : "");
}

/* Not shown among the others: the verdict itself, and what is noise. */
static bool is_left_out(const struct hg_findings *f, const struct hg_candidate *c)
{
	if (is_unjudged(c))
		return c->share < NOISE_SHARE;
	return hg_candidate_same(c, &f->verdict);
}

static void others(const struct hg_findings *f, FILE *out, bool bold, size_t done)
{
	static const struct hg_table_column columns[] = {{"cause", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"share", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"satur.", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"why not", HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 4, HG_RENDER_WIDTH, 2);
	size_t shown = 0, left = 0;

	for (size_t i = done; i < f->candidates_count; i++) {
		if (is_left_out(f, &f->candidates[i]))
			continue;
		if (shown == OTHERS_SHOWN) {
			left++;
			continue;
		}
		candidate_row(&f->candidates[i], t);
		shown++;
	}
	if (!shown)
		return;
	hg_render_heading(out, bold, "OTHER CAUSES THAT WERE CHECKED");
	hg_render_paragraph(out, 2,
			    "share: of the window, by what held the target back; two causes may "
			    "claim the same time. "
			    "satur.: how much of what its resource can do was used.");
	hg_table_print(t, out);
	if (left)
		hg_render_paragraph(out, 2, "and %zu more, in --format json", left);
}

static void gain_format(char *dst, size_t size, double gain)
{
	if (isnan(gain))
		snprintf(dst, size, "gain unknown");
	else if (gain > HG_GAIN_SHOWN_MAX)
		snprintf(dst, size, "> 20x");
	else if (gain >= 1)
		snprintf(dst, size, "at most %+.1f %% (%.1fx)", 100 * gain, 1 + gain);
	else
		snprintf(dst, size, "at most %+.1f %%", 100 * gain);
}

static void what_if(const struct hg_findings *f, FILE *out, bool bold)
{
	char gain[64], cause[128], subject[256];

	if (!f->what_if_count)
		return;
	hg_render_heading(out, bold, "WHAT IF: MORE THROUGHPUT WHEN IT IS RELIEVED");
	for (size_t i = 0; i < f->what_if_count; i++) {
		const struct hg_what_if *w = &f->what_if[i];

		gain_format(gain, sizeof(gain), w->gain_at_most);
		hg_render_paragraph(out, 2, "%s: %s", gain, w->relieve ? w->relieve : "");
		if (w->bound_by)
			hg_render_paragraph(out, 4, "bound: %s", w->bound_by);
		if (!w->next)
			continue;
		hg_render_cause(cause, sizeof(cause), w->next);
		hg_render_subject(subject, sizeof(subject), &w->next->subject);
		hg_render_paragraph(out, 4, "next limit: %s%s%s", cause, *subject ? ", " : "",
				    subject);
	}
}

static bool is_bits(const char *unit)
{
	return !strcmp(unit, "bit/s");
}

/* "1234.5 requests/s"; bits have a prefix, as everywhere: "11.81 Gbit/s". */
static const char *rate(char *dst, size_t size, double value, const char *unit)
{
	static const char prefixes[] = "kMGT";
	const char *prefix = prefixes;

	if (!is_bits(unit) || value < 1000) {
		snprintf(dst, size, "%.1f %s", value, unit);
		return dst;
	}
	for (value /= 1000; value >= 999.995 && prefix[1]; prefix++)
		value /= 1000;
	snprintf(dst, size, "%.2f %c%s", value, *prefix, unit);
	return dst;
}

static void load_rows(const struct hg_client_result *c, struct hg_table *t)
{
	char text[64];

	hg_render_cell(t, "load");
	hg_render_cell(t, "%s",
		       c->closed_loop	? "closed loop: a request is sent when one is answered"
		       : c->offered > 0 ? "open loop: requests are sent at a fixed rate"
					: "not known whether it waits for answers");
	if (c->runs > 1) {
		hg_render_cell(t, "clients");
		hg_render_cell(t,
			       "%u side by side for %.2f s; from the first to the last start %.3f "
			       "s, stop %.3f s%s",
			       c->runs, c->common_s, c->start_skew_s, c->stop_skew_s,
			       c->skewed ? ": SKEWED, more than 5 % of that time, so the sum "
					   "holds for a part of it"
					 : "");
	}
	if (c->offered > 0) {
		hg_render_cell(t, "offered");
		hg_render_cell(t, "%s", rate(text, sizeof(text), c->offered, c->unit));
	}
	if (c->sent > 0) {
		hg_render_cell(t, "sent");
		hg_render_cell(t, "%s", rate(text, sizeof(text), c->sent, c->unit));
	}
	if (c->retransmits_known) {
		hg_render_cell(t, "retransmits");
		hg_render_cell(t, "%.0f", c->retransmits);
	}
	if (c->concurrency > 0) {
		hg_render_cell(t, "connections");
		hg_render_cell(t, "%.0f", c->concurrency);
	}
	if (c->completed > 0 && c->duration_s > 0) {
		hg_render_cell(t, "completed");
		if (is_bits(c->unit))
			hg_render_cell(t, "%.2f GB in %.2f s, by the client's clock",
				       c->completed / 8e9, c->duration_s);
		else
			hg_render_cell(t, "%.0f in %.2f s, by the client's clock", c->completed,
				       c->duration_s);
	}
	if (c->latency_mean_s > 0) {
		hg_render_cell(t, "latency");
		hg_render_cell(t, "%.3f ms mean", 1e3 * c->latency_mean_s);
	}
	if (c->errors > 0) {
		hg_render_cell(t, "errors");
		hg_render_cell(t, "%.0f failed, refused or timed out", c->errors);
	}
}

static void cpu_rows(const struct hg_findings *f, struct hg_table *t)
{
	double efficiency = hg_efficiency(f);
	char text[64];

	hg_render_cell(t, "host CPUs");
	if (isfinite(f->host_cpus) && f->cpus_online)
		hg_render_cell(t,
			       "%.2f of %u busy on average: target %.2f, client %.2f, other "
			       "%.2f",
			       f->host_cpus, f->cpus_online, f->target_cpus, f->client_cpus,
			       f->other_cpus);
	else
		hg_render_cell(t, "unknown; by events: target %.2f, client %.2f", f->target_cpus,
			       f->client_cpus);
	if (isfinite(efficiency)) {
		hg_render_cell(t, "efficiency");
		hg_render_cell(t, "%s per busy CPU of the host%s",
			       rate(text, sizeof(text), efficiency, f->client.unit),
			       f->other_cpus > ELSE_SHOWN * f->host_cpus
				       ? ", whoever kept it busy: compare only with runs that had "
					 "as much else to do"
				       : "");
	}
	if (f->rss_bytes_max) {
		hg_render_cell(t, "memory");
		hg_render_cell(t, "%.1f MiB resident, the target's most",
			       (double)f->rss_bytes_max / 1048576);
	}
}

static void throughput(const struct hg_findings *f, FILE *out, bool bold)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, HG_RENDER_WIDTH, 2);
	const struct hg_client_result *c = &f->client;
	char text[64];

	hg_render_heading(out, bold, "THROUGHPUT AND EFFICIENCY");
	hg_render_cell(t, "throughput");
	if (c->valid)
		hg_render_cell(t, "%s [from %s]", rate(text, sizeof(text), c->value, c->unit),
			       c->source);
	else
		hg_render_cell(t, "unknown: %s", *c->source ? c->source : "no client was recorded");
	if (c->valid)
		load_rows(c, t);
	cpu_rows(f, t);
	hg_table_print(t, out);
}

static bool wants_bold(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	int fd = fileno(out);

	return fd >= 0 && isatty(fd) && !(no_color && *no_color);
}

int hg_findings_text(const struct hg_findings *f, FILE *out)
{
	bool bold = wants_bold(out);
	size_t done;

	title(f, out);
	verdict(f, out, bold);
	evidence(f, out, bold);
	done = rivals(f, out, bold);
	what_if(f, out, bold);
	others(f, out, bold, done);
	throughput(f, out, bold);
	hg_render_time(f, out, bold);
	hg_render_quality(f, out, bold);
	hg_render_environment(f, out, bold);
	return ferror(out) ? -EIO : 0;
}
