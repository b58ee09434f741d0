/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the target and the client slept: the lanes' waits of one role, reason and stack in one row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings_rows.h"
#include "base/hg_base.h"

#define ROWS_OF_ROLE_MAX 20

static int by_key(const void *a, const void *b)
{
	const struct hg_sleep_row *x = a, *y = b;
	int roles = strcmp(x->role, y->role);

	if (roles)
		return -roles; /* target first */
	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	return strcmp(x->frames, y->frames);
}

static int by_time(const void *a, const void *b)
{
	const struct hg_sleep_row *x = a, *y = b;
	int roles = strcmp(x->role, y->role);

	if (!roles && x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return by_key(a, b);
}

static size_t rows_merge(struct hg_sleep_row *rows, size_t n)
{
	size_t made = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), by_key);
	for (size_t i = 0; i < n; i++) {
		if (made && !by_key(&rows[made - 1], &rows[i])) {
			rows[made - 1].waits += rows[i].waits;
			rows[made - 1].ns += rows[i].ns;
		} else {
			rows[made++] = rows[i];
		}
	}
	return made;
}

/* The first of each role, with strings of their own. */
static int rows_keep(struct hg_findings *f)
{
	size_t kept = 0, of_role = 0;

	for (size_t i = 0; i < f->sleeps_count; i++) {
		struct hg_sleep_row row = f->sleeps[i];

		of_role = kept && !strcmp(f->sleeps[kept - 1].role, row.role) ? of_role + 1 : 0;
		if (of_role >= ROWS_OF_ROLE_MAX)
			continue;
		row.frames = hg_arena_strdup(f->arena, row.frames);
		if (!row.frames)
			return -ENOMEM;
		f->sleeps[kept++] = row;
	}
	f->sleeps_count = kept;
	return 0;
}

int hg_findings_sleeps(struct hg_findings *f, const struct hg_model *m)
{
	const struct hg_wait_stack *waits;
	const struct hg_lane *lanes;
	size_t count = hg_model_wait_stacks(m, &waits), n = 0;
	size_t lanes_count = hg_model_lanes(m, &lanes);
	bool all_is_target = hg_findings_all_is_target(lanes, lanes_count);

	if (!count)
		return 0;
	f->sleeps = hg_arena_array(f->arena, count, sizeof(*f->sleeps));
	if (!f->sleeps)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *role = hg_findings_role(&lanes[waits[i].lane], all_is_target);

		if (!strcmp(role, "target") || !strcmp(role, "client"))
			f->sleeps[n++] = (struct hg_sleep_row){.role = role,
							       .leaf = waits[i].leaf,
							       .frames = waits[i].frames,
							       .waits = waits[i].waits,
							       .ns = waits[i].ns};
	}
	f->sleeps_count = rows_merge(f->sleeps, n);
	if (n)
		qsort(f->sleeps, f->sleeps_count, sizeof(*f->sleeps), by_time);
	return rows_keep(f);
}
