/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several runs of one tool that print into the same pipe line by line. The k-th line of a sort is given to run k: whose it
 * was cannot be known, but the sum over the runs does not depend on it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

#define WORD_LEAST 5 /* a shorter one at the end may be a unit, which changes with the figure */

struct sorted {
	uint64_t sort;
	size_t index, run;
};

static uint64_t hash_add(uint64_t hash, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) /* columns are padded */
		if (text[i] != ' ')
			hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* The text up to the first figure, or between the first two; and a lower-case word at the end: "sender". */
static uint64_t sort_of(const char *line)
{
	size_t length = strlen(line), word = 0;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (*line && !isalpha((unsigned char)*line)) {
		line++;
		length--;
	}
	hash = hash_add(hash, line, strcspn(line, "0123456789"));
	while (length && line[length - 1] == ' ')
		length--;
	while (word < length && islower((unsigned char)line[length - 1 - word]))
		word++;
	return word >= WORD_LEAST ? hash_add(hash, line + length - word, word) : hash;
}

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_runs(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

struct hg_line *hg_client_deinterleave(const struct hg_line *lines, size_t count, size_t runs,
				       size_t *ends)
{
	hg_autofree struct sorted *sorted = calloc(count + 1, sizeof(*sorted));
	struct hg_line *out = calloc(count + 1, sizeof(*out));
	size_t n = 0;

	if (!sorted || !out) {
		free(out);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct sorted){sort_of(lines[i].text), i, 0};
	qsort(sorted, count, sizeof(*sorted), compare);
	/* The place in its sort says whose it is. */
	for (size_t i = 0, nth = 0; i < count; i++) {
		nth = i && sorted[i].sort == sorted[i - 1].sort ? nth + 1 : 0;
		sorted[i].run = nth % runs;
	}
	qsort(sorted, count, sizeof(*sorted), compare_runs);
	for (size_t run = 0; run < runs; run++) {
		for (; n < count && sorted[n].run == run; n++)
			out[n] = lines[sorted[n].index];
		ends[run] = n;
	}
	return out;
}
