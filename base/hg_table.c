/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hg_table.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/hg_escape.h"

#define CELL_BYTES_MAX 2048
#define GAP	       2 /* spaces between columns */
#define WIDTH_MIN      4 /* a column is never cut below this: one character and "..." */
#define COLUMNS_MAX    32

struct hg_table {
	const struct hg_table_column *columns;
	size_t columns_count;
	unsigned int width_max, indent;
	char **cells; /* row by row */
	size_t cells_count, cells_max;
	int error;
};

/* One character of valid UTF-8 (hg_escape_terminal leaves nothing else) and its width. */
static const char *next_char(const char *s, unsigned int *width_out)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {{0x1100, 0x115f},	{0x2e80, 0xa4cf},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		    {0xfe30, 0xfe6f},	{0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
		    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
	const unsigned char *p = (const unsigned char *)s;
	unsigned int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
	uint32_t cp = more ? *p & (0x3f >> more) : *p;

	p++;
	for (; more && (*p & 0xc0) == 0x80; more--, p++)
		cp = cp << 6 | (*p & 0x3f);
	*width_out = !(cp >= 0x300 && cp <= 0x36f);
	for (size_t i = 0; i < HG_ARRAY_SIZE(wide); i++) {
		if (cp >= wide[i].first && cp <= wide[i].last)
			*width_out = 2;
	}
	return (const char *)p;
}

unsigned int hg_text_width(const char *text)
{
	unsigned int total = 0, width;

	while (*text) {
		text = next_char(text, &width);
		total += width;
	}
	return total;
}

struct hg_table *hg_table_new(const struct hg_table_column *columns, size_t count,
			      unsigned int width_max, unsigned int indent)
{
	struct hg_table *t = calloc(1, sizeof(*t));
	size_t flexible = 0;

	assert(count && count <= COLUMNS_MAX);
	for (size_t i = 0; i < count; i++)
		flexible += columns[i].overflow != HG_TABLE_WHOLE;
	assert(flexible <= 1);
	if (!t)
		return NULL;
	t->columns = columns;
	t->columns_count = count;
	t->width_max = width_max;
	t->indent = indent;
	return t;
}

void hg_table_free(struct hg_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->cells_count; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

void hg_table_cell(struct hg_table *t, const char *fmt, ...)
{
	char raw[CELL_BYTES_MAX + 1], safe[4 * CELL_BYTES_MAX + 1];
	char *copy;
	va_list ap;

	if (!t || t->error)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	copy = strdup(hg_escape_terminal(safe, sizeof(safe), raw));
	if (copy && t->cells_count == t->cells_max) {
		size_t max = t->cells_max ? 2 * t->cells_max : 64;
		char **cells = reallocarray(t->cells, max, sizeof(*cells));

		if (!cells) {
			free(copy);
			copy = NULL;
		} else {
			t->cells = cells;
			t->cells_max = max;
		}
	}
	if (copy)
		t->cells[t->cells_count++] = copy;
	else
		t->error = -ENOMEM;
}

/* Takes what is too much from the flexible column, then from the widest one, again and again. */
static void widths_shrink(const struct hg_table *t, unsigned int *widths)
{
	unsigned int total = t->indent + GAP * (unsigned int)(t->columns_count - 1);

	for (size_t i = 0; i < t->columns_count; i++)
		total += widths[i];
	for (size_t i = 0; i < t->columns_count; i++) {
		unsigned int floor = HG_MIN(widths[i], 2U * WIDTH_MIN);

		if (t->columns[i].overflow == HG_TABLE_WHOLE)
			continue;
		while (total > t->width_max && widths[i] > floor) {
			widths[i]--;
			total--;
		}
	}
	while (total > t->width_max) {
		size_t widest = 0;

		for (size_t i = 1; i < t->columns_count; i++) {
			if (widths[i] > widths[widest])
				widest = i;
		}
		if (widths[widest] <= WIDTH_MIN)
			break;
		widths[widest]--;
		total--;
	}
}

static void widths_find(const struct hg_table *t, unsigned int *widths)
{
	for (size_t i = 0; i < t->columns_count; i++)
		widths[i] = t->columns[i].title ? hg_text_width(t->columns[i].title) : 0;
	for (size_t i = 0; i < t->cells_count; i++) {
		unsigned int width = hg_text_width(t->cells[i]);
		size_t column = i % t->columns_count;

		widths[column] = HG_MAX(widths[column], width);
	}
	widths_shrink(t, widths);
}

/* The bytes of s that take at most width columns. */
static size_t prefix_bytes(const char *s, unsigned int width)
{
	const char *p = s;
	unsigned int used = 0, one;

	while (*p) {
		const char *next = next_char(p, &one);

		if (used + one > width)
			break;
		used += one;
		p = next;
	}
	return (size_t)(p - s);
}

/*
 * The piece of *rest that this line shows: *rest moves on to what further lines show. Returns the
 * piece's bytes; *cut_out tells that "..." follows.
 */
static size_t piece_take(const char **rest, unsigned int width, bool wrap, bool *cut_out)
{
	const char *s = *rest;
	size_t n = prefix_bytes(s, width), brk;

	*cut_out = false;
	if (!s[n]) {
		*rest = s + n;
		return n;
	}
	if (!wrap) {
		*cut_out = true;
		*rest = s + strlen(s);
		return prefix_bytes(s, width > 3 ? width - 3 : 0);
	}
	for (brk = n; brk > 0 && s[brk] != ' '; brk--)
		;
	if (brk)
		n = brk;
	else if (!n)
		n = strlen(s); /* a wide character in a column of one: show it all */
	*rest = s + n;
	while (**rest == ' ')
		(*rest)++;
	return n;
}

/* Spaces are held back until something follows them: no line ends with one. */
struct line {
	FILE *out;
	unsigned int spaces;
};

static void line_put(struct line *line, const char *s, size_t n)
{
	if (!n)
		return;
	fprintf(line->out, "%*s%.*s", (int)line->spaces, "", (int)n, s);
	line->spaces = 0;
}

static void row_print(const struct hg_table *t, const unsigned int *widths, const char **cells,
		      size_t count, FILE *out)
{
	bool more = true;

	while (more) {
		struct line line = {.out = out, .spaces = t->indent};

		more = false;
		for (size_t i = 0; i < count; i++) {
			const char *piece = cells[i];
			bool wrap = t->columns[i].overflow == HG_TABLE_WRAP, cut;
			size_t n = piece_take(&cells[i], widths[i], wrap, &cut);
			unsigned int shown = cut ? 3 : 0, pad;

			for (const char *p = piece; p < piece + n;) {
				unsigned int one;

				p = next_char(p, &one);
				shown += one;
			}
			pad = widths[i] > shown ? widths[i] - shown : 0;
			if (t->columns[i].align == HG_TABLE_RIGHT)
				line.spaces += pad;
			line_put(&line, piece, n);
			line_put(&line, "...", cut ? 3 : 0);
			line.spaces += GAP;
			if (t->columns[i].align == HG_TABLE_LEFT)
				line.spaces += pad;
			more |= *cells[i] != '\0';
		}
		fputc('\n', out);
	}
}

int hg_table_print(const struct hg_table *t, FILE *out)
{
	unsigned int widths[COLUMNS_MAX];
	const char *row[COLUMNS_MAX];
	bool titled = false;

	if (!t)
		return -ENOMEM;
	if (t->error)
		return t->error;
	widths_find(t, widths);
	for (size_t i = 0; i < t->columns_count; i++) {
		row[i] = t->columns[i].title ? t->columns[i].title : "";
		titled |= t->columns[i].title != NULL;
	}
	if (titled)
		row_print(t, widths, row, t->columns_count, out);
	for (size_t at = 0; at < t->cells_count; at += t->columns_count) {
		size_t count = HG_MIN(t->columns_count, t->cells_count - at);

		for (size_t i = 0; i < count; i++)
			row[i] = t->cells[at + i];
		row_print(t, widths, row, count, out);
	}
	return ferror(out) ? -EIO : 0;
}
