/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the renderers of findings share: words for enums, a name's form, paragraphs and headings of at most 80 columns. */
#ifndef HG_RENDER_H
#define HG_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/hg_findings.h"
#include "base/hg_base.h"
#include "base/hg_table.h"

#define HG_RENDER_WIDTH 80
#define HG_RENDER_TEXT_MAX                                                                         \
	600 /* bytes of one text: a name must not push the verdict off the screen */
#define HG_GAIN_SHOWN_MAX 20.0 /* beyond it only "more than 20 times" */

const char *hg_confidence_name(enum hg_confidence c);

/* What a class and cause mean, for those who do not know the words; "" if there is nothing to say. */
const char *hg_cause_gloss(const char *class_name, const char *cause);

/* The class is a limit, not none, inconclusive or unknown. */
bool hg_class_is_limit(const char *class_name);

/* Probes's share of the busy CPU time of the host, and mean CPUs of hourglass's own threads; NAN unknown. */
double hg_probe_effect(const struct hg_findings *f);
double hg_own_cpus(const struct hg_findings *f);

/* Throughput per busy CPU of the host; NAN unknown. */
double hg_efficiency(const struct hg_findings *f);

/* Both are the same limit of the same subject. */
bool hg_candidate_same(const struct hg_candidate *a, const struct hg_candidate *b);

/* Text: escaped, wrapped. bold: the heading is for a terminal. */
void hg_render_heading(FILE *out, bool bold, const char *fmt, ...) HG_PRINTF(3, 4);
void hg_render_paragraph(FILE *out, unsigned int indent, const char *fmt, ...) HG_PRINTF(3, 4);
void hg_render_cell(struct hg_table *t, const char *fmt, ...) HG_PRINTF(2, 3);
/* "cpu/serial-thread", or the class alone. */
void hg_render_cause(char *dst, size_t size, const struct hg_candidate *c);
/* "nginx (tid 4711)", "web in /bench"; "" without a subject. Not escaped. */
void hg_render_subject(char *dst, size_t size, const struct hg_subject *s);

/* Sections of the text report that have a file of their own. */
void hg_render_time(const struct hg_findings *f, FILE *out, bool bold);
void hg_render_quality(const struct hg_findings *f, FILE *out, bool bold);
void hg_render_environment(const struct hg_findings *f, FILE *out, bool bold);

#endif
