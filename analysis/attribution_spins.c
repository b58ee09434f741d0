/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Credit for locks that are spun for. To the sweep a thread that spins runs: its credit, and that of the lock's holder meanwhile,
 * is taken from what the sweep gave for running and given to the lock. How much is told by samples, sub-window by sub-window:
 * S, the time that threads spin for the word, and P, the time in which at least one does. P is not sampled, but at most one
 * thread fewer than there are threads and CPUs can spin at once: P >= S / that. S + P is spent on the lock.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

/* Of the time that threads run: of those that spin for the word (group), and of all the target's. */
static void run_sum(const struct hg_attribution *a, const struct hg_spin_word *w, unsigned int sub,
		    double *group_out, double *all_out)
{
	*group_out = *all_out = 0;
	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		const struct hg_lane *l = &a->lanes[i];
		double ns;

		if (!l->sub_ns || !hg_lane_is_target(l, a->level_all))
			continue;
		ns = (double)(l->sub_ns[sub][HG_LEAF_RUNNING] +
			      l->sub_ns[sub][HG_LEAF_RUNNING_SOFTIRQ] +
			      l->sub_ns[sub][HG_LEAF_RUNNING_IRQ]);
		*all_out += ns;
		if (l->spins && hg_model_spins_for(a->model, w, l->id))
			*group_out += ns;
	}
}

static bool row_is_group(const struct hg_attribution *a, const struct hg_blame_row *row,
			 const struct hg_spin_word *w)
{
	return row->blame == HG_BLAME_SERIAL && row->id < a->lanes_count &&
	       hg_model_spins_for(a->model, w, (uint32_t)row->id);
}

/* What is left of each row's time before any lock was credited is not exceeded. */
static void sub_move(struct hg_attribution *a, struct hg_blame_row *to,
		     const struct hg_spin_word *w, unsigned int sub)
{
	double spun = (double)w->sub_ns[sub], group, all;
	double at_once = (double)HG_MIN((size_t)w->lanes, a->cpus_count);
	double lock = spun + fmin(a->shares.sub_ns[sub], spun / fmax(1, at_once - 1));

	run_sum(a, w, sub, &group, &all);
	lock = fmin(lock, group);
	if (lock <= 0)
		return;
	for (size_t i = 0; i < a->shares.rows_count; i++) {
		struct hg_blame_row *row = &a->shares.rows[i];
		double part = 0, moved;

		if (row->blame == HG_BLAME_POOL || row->blame == HG_BLAME_POOL_MASK)
			part = lock / all;
		else if (row_is_group(a, row, w))
			part = lock / group;
		moved = part * row->sub_ns[sub];
		row->sub_ns[sub] -= moved;
		to->sub_ns[sub] += moved;
	}
}

static void rows_total(struct hg_shares *s)
{
	for (size_t i = 0; i < s->rows_count; i++) {
		s->rows[i].total_ns = 0;
		for (unsigned int k = 0; k < s->subs; k++)
			s->rows[i].total_ns += s->rows[i].sub_ns[k];
	}
	hg_shares_sort(s);
}

int hg_spins_credit(struct hg_attribution *a)
{
	const struct hg_spin_word *words;
	size_t n = hg_model_spins(a->model, &words), rows = a->shares.rows_count;
	struct hg_blame_row *spins = calloc(n ? n : 1, sizeof(*spins)), *grown;
	size_t count = 0;

	if (!spins)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (words[i].lanes < HG_SPIN_LANES_MIN)
			continue;
		spins[count].blame = HG_BLAME_SPIN;
		spins[count].id = i;
		for (unsigned int sub = 0; sub < a->shares.subs; sub++)
			sub_move(a, &spins[count], &words[i], sub);
		count++;
	}
	grown = count ? reallocarray(a->shares.rows, rows + count, sizeof(*grown)) : NULL;
	if (grown) {
		memcpy(grown + rows, spins, count * sizeof(*grown));
		a->shares.rows = grown;
		a->shares.rows_count += count;
		rows_total(&a->shares);
	}
	free(spins);
	return count && !grown ? -ENOMEM : 0;
}
