/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/findings_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hg_base.h"

#define ROWS_DEFAULT   20
/* User and system times count ticks: below this many of 4 ms their ratio says nothing. */
#define SPLIT_LEAST_NS UINT64_C(50000000)

enum role { TARGET, CLIENT, WAKER, COMPETITOR, ROLES };

static const struct {
	const char *name;
	unsigned int divisor; /* of max_rows */
} roles[ROLES] = {{"target", 1}, {"client", 2}, {"waker", 4}, {"competitor", 4}};

/* A lane as it is sorted. */
struct entry {
	const struct hg_lane *lane;
	enum role role;
	uint64_t active_ns;
};

static enum role role_of(const struct hg_lane *lane, bool all_is_target)
{
	if (lane->role & HG_ROLEF_TARGET)
		return TARGET;
	if (lane->role & HG_ROLEF_CLIENT)
		return CLIENT;
	if ((lane->role & HG_ROLEF_ALL) && all_is_target)
		return TARGET;
	return lane->role & HG_ROLEF_PROMOTED ? WAKER : COMPETITOR;
}

const char *hg_findings_role(const struct hg_lane *lane, bool all_is_target)
{
	return roles[role_of(lane, all_is_target)].name;
}

bool hg_findings_all_is_target(const struct hg_lane *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (lanes[i].role & HG_ROLEF_TARGET)
			return false;
	}
	return true;
}

/* Time in which it did something or wanted to: not asleep for others to come, which idle pools do all day. */
static uint64_t active_ns(const struct hg_lane *lane)
{
	uint64_t sum = 0;

	for (int l = HG_LEAF_RUNNING; l < HG_LEAVES; l++) {
		if (!hg_leaf_is_blocked((enum hg_leaf)l) || l == HG_LEAF_BLOCKED_LOCK ||
		    l == HG_LEAF_BLOCKED_DISK)
			sum += lane->leaf_ns[l];
	}
	return sum;
}

static int entry_compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->role != b->role)
		return a->role < b->role ? -1 : 1;
	if (a->active_ns != b->active_ns)
		return a->active_ns > b->active_ns ? -1 : 1;
	if (a->lane->tid != b->lane->tid)
		return a->lane->tid < b->lane->tid ? -1 : 1;
	return a->lane->id < b->lane->id ? -1 : 1;
}

/* Adds a lane; user_ns and kernel_ns gather the tick times until row_split. */
static void row_add(struct hg_lane_row *row, const struct hg_lane *lane, uint64_t from_ns,
		    uint64_t to_ns)
{
	uint64_t wall_ns = lane->role ? hg_lane_wall_ns(lane) : to_ns - from_ns;
	uint64_t sum = 0, user_ns, system_ns, span_ns;

	for (int l = 0; l < HG_LEAVES; l++) {
		row->leaf_ns[l] += lane->leaf_ns[l];
		sum += lane->leaf_ns[l];
	}
	row->leaf_ns[HG_LEAF_UNKNOWN] += wall_ns > sum ? wall_ns - sum : 0;
	row->wall_ns += HG_MAX(wall_ns, sum);
	row->count++;
	if (hg_series_delta(&lane->times, from_ns, to_ns, &user_ns, &system_ns, &span_ns)) {
		row->user_ns += user_ns;
		row->kernel_ns += system_ns;
	}
}

/* The exact running time, in the proportion of the tick times. */
static void row_split(struct hg_lane_row *row)
{
	uint64_t ticks_ns = row->user_ns + row->kernel_ns,
		 running_ns = row->leaf_ns[HG_LEAF_RUNNING];

	row->split = ticks_ns >= SPLIT_LEAST_NS && running_ns && ticks_ns >= running_ns / 2;
	if (row->split)
		row->user_ns =
			(uint64_t)((double)running_ns * (double)row->user_ns / (double)ticks_ns);
	else
		row->user_ns = 0;
	row->kernel_ns = row->split ? running_ns - row->user_ns : 0;
}

static size_t entries_fill(struct entry *entries, const struct hg_lane *lanes, size_t count)
{
	bool all_is_target = hg_findings_all_is_target(lanes, count);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hg_lane *lane = &lanes[i];
		uint64_t active = active_ns(lane);

		if (lane->id < HG_LANE_FIRST || (!active && lane->to_ns <= lane->from_ns) ||
		    (!lane->role && !active))
			continue;
		entries[n++] = (struct entry){lane, role_of(lane, all_is_target), active};
	}
	qsort(entries, n, sizeof(*entries), entry_compare);
	return n;
}

static int row_name(struct hg_findings *f, struct hg_lane_row *row, const struct entry *e)
{
	bool single = !strcmp(row->kind, "task");

	row->machine = e->lane->machine ? hg_arena_printf(f->arena, "machine %u", e->lane->machine)
					: hg_arena_strdup(f->arena, "host");
	if (single) {
		snprintf(row->id, sizeof(row->id), "%u", e->lane->tid);
		row->name = hg_arena_strdup(f->arena, e->lane->name ? e->lane->name : "");
	} else {
		row->name =
			hg_arena_printf(f->arena, "%llu others", (unsigned long long)row->count);
	}
	return row->machine && row->name ? 0 : -ENOMEM;
}

static void row_target_set(struct hg_lane_row *row, const struct hg_lane *lane)
{
	int target = lane->role & HG_ROLEF_TARGET ? (int)lane->target : -1;

	if (!row->count)
		row->target = target;
	else if (row->target != target)
		row->target = -1;
}

/* The rows of one role, whose entries are e[0] to e[n - 1]. Returns how many, or -errno. */
static int role_rows(struct hg_findings *f, struct hg_lane_row *rows, const struct entry *e,
		     size_t n, unsigned int limit, uint64_t from_ns, uint64_t to_ns)
{
	size_t singles = HG_MIN(n, (size_t)limit), made = 0;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct hg_lane_row *row = &rows[HG_MIN(i, singles)];

		row->kind = i < singles ? "task" : "others";
		row_target_set(row, e[i].lane);
		row->role = roles[e->role].name;
		row_add(row, e[i].lane, from_ns, to_ns);
		if (i < singles || i + 1 == n) {
			row_split(row);
			r = row_name(f, row, &e[i]);
			made++;
		}
	}
	return r ? r : (int)made;
}

int hg_findings_rows_build(struct hg_findings *f, const struct hg_lane *lanes, size_t count,
			   uint64_t from_ns, uint64_t to_ns, unsigned int max_rows)
{
	hg_autofree struct entry *entries = calloc(count + 1, sizeof(*entries));
	size_t n, made = 0;

	max_rows = max_rows ? max_rows : ROWS_DEFAULT;
	if (!entries)
		return -ENOMEM;
	n = entries_fill(entries, lanes, count);
	f->rows = hg_arena_array(f->arena, HG_MIN(n, (size_t)ROLES * max_rows) + ROLES,
				 sizeof(*f->rows));
	if (!f->rows)
		return -ENOMEM;
	for (size_t from = 0, to; from < n; from = to) {
		int r;

		for (to = from; to < n && entries[to].role == entries[from].role; to++)
			;
		r = role_rows(f, f->rows + made, entries + from, to - from,
			      HG_MAX(1u, max_rows / roles[entries[from].role].divisor), from_ns,
			      to_ns);
		if (r < 0)
			return r;
		made += (size_t)r;
	}
	f->rows_count = made;
	return 0;
}

int hg_findings_rows(struct hg_findings *f, const struct hg_model *m, unsigned int max_rows)
{
	const struct hg_lane *lanes;
	size_t count = hg_model_lanes(m, &lanes);

	return hg_findings_rows_build(f, lanes, count, hg_model_from_ns(m), hg_model_to_ns(m),
				      max_rows);
}
