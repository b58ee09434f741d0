/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of each target's threads. */
#include <errno.h>

#include "analysis/hg_findings.h"
#include "base/hg_base.h"

static struct hg_target_row *row_of(struct hg_findings *f, uint32_t index)
{
	for (size_t i = 0; i < f->targets_count; i++) {
		if (f->targets[i].index == index)
			return &f->targets[i];
	}
	return NULL;
}

static int row_fill(struct hg_findings *f, const struct hg_model_target *t)
{
	struct hg_target_row *row = &f->targets[f->targets_count];
	bool cgroup = t->type == HG_TARGET_CGROUP;

	row->index = t->index;
	row->type = cgroup ? "cgroup" : "process";
	row->id = t->id;
	row->name = hg_arena_strdup(f->arena, t->name);
	row->hierarchy = cgroup ? hg_arena_strdup(f->arena, t->hierarchy) : NULL;
	f->targets_count++;
	return row->name && (!cgroup || row->hierarchy) ? 0 : -ENOMEM;
}

int hg_findings_targets(struct hg_findings *f, const struct hg_model *m)
{
	const struct hg_model_target *targets;
	const struct hg_lane *lanes;
	size_t count = hg_model_targets(m, &targets), lanes_count = hg_model_lanes(m, &lanes);
	int err = 0;

	f->targets = hg_arena_array(f->arena, count + 1, sizeof(*f->targets));
	if (!f->targets)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		err = row_fill(f, &targets[i]);
	for (size_t i = HG_LANE_FIRST; i < lanes_count; i++) {
		const struct hg_lane *l = &lanes[i];
		struct hg_target_row *row;

		if (!(l->role & HG_ROLEF_TARGET) || l->to_ns <= l->from_ns ||
		    !(row = row_of(f, l->target)))
			continue;
		row->lanes++;
		row->wall_ns += hg_lane_wall_ns(l);
		for (int leaf = 0; leaf < HG_LEAVES; leaf++)
			row->leaf_ns[leaf] += l->leaf_ns[leaf];
	}
	return err;
}
