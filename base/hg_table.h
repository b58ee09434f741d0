/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one text-table printer: every text output that aligns columns uses it (check, report, info,
 *...). Cells are escaped here, so that a hostile name can neither break a line nor drive the
 *terminal.
 *
 *	static const struct hg_table_column columns[] = {
 *		{"thread", HG_TABLE_LEFT, HG_TABLE_ELIDE}, {"share", HG_TABLE_RIGHT,
 *HG_TABLE_WHOLE}}; hg_table_auto struct hg_table *t = hg_table_new(columns, HG_ARRAY_SIZE(columns),
 *80, 2);
 *
 *	hg_table_cell(t, "%s", comm);
 *	hg_table_cell(t, "%.1f %%", share);
 *	r = hg_table_print(t, stdout);
 */
#ifndef HG_TABLE_H
#define HG_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "base/hg_base.h"

enum hg_table_align { HG_TABLE_LEFT, HG_TABLE_RIGHT };

/* What gives way when a row is wider than the table: at most one column is not WHOLE. */
enum hg_table_overflow {
	HG_TABLE_WHOLE, /* kept; cut only when the flexible column cannot give enough */
	HG_TABLE_ELIDE, /* cut, with "..." at its end */
	HG_TABLE_WRAP,	/* continued on further lines, broken at spaces */
};

struct hg_table_column {
	const char *title; /* a table whose titles are all NULL has no header line */
	enum hg_table_align align;
	enum hg_table_overflow overflow;
};

struct hg_table;

/*
 * columns must live as long as the table. width_max: columns of a line, indent included; no line is
 * longer as long as that leaves 6 for each column. indent: spaces before each line. NULL on ENOMEM
 * (which all other functions accept).
 */
struct hg_table *hg_table_new(const struct hg_table_column *columns, size_t count,
			      unsigned int width_max, unsigned int indent);

/*
 * Appends the next cell, left to right, then the next row. Escaped for the terminal; more than 2
 * KiB are cut. An error is kept for hg_table_print.
 */
void hg_table_cell(struct hg_table *t, const char *fmt, ...) HG_PRINTF(2, 3);

/* Header (if any) and all rows; the last row may be incomplete. No spaces at line ends. 0 or
 * -errno. */
int hg_table_print(const struct hg_table *t, FILE *out);

void hg_table_free(struct hg_table *t);
static inline void hg_table_freep(struct hg_table **t)
{
	hg_table_free(*t);
}
#define hg_table_auto __attribute__((cleanup(hg_table_freep)))

/* Columns that valid UTF-8 takes on a terminal: wide characters 2, combining marks 0. */
unsigned int hg_text_width(const char *text);

#endif
