/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of intervals, cut to the window and spread over sub-windows. Integers only: what goes in comes out, so that the
 * states of a lane add up to its wall time to the nanosecond.
 */
#include <errno.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"

static void lane_reset(struct hg_lane *l)
{
	memset(l->leaf_ns, 0, sizeof(l->leaf_ns));
	l->from_ns = l->to_ns = l->away_ns = 0;
	l->switches = l->wakeups = l->migrations = l->missing_wakeups = 0;
	l->cpu_ran_mask0 = 0;
	l->samples = l->spins = 0;
}

int hg_account_prepare(struct hg_model *m)
{
	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		struct hg_lane *l = &m->lanes[i];

		lane_reset(l);
		if (!l->role)
			continue;
		if (!l->sub_ns)
			l->sub_ns = calloc(m->subwindows, sizeof(*l->sub_ns));
		else
			memset(l->sub_ns, 0, m->subwindows * sizeof(*l->sub_ns));
		if (!l->sub_ns)
			return -ENOMEM;
	}
	for (size_t i = 0; i < m->cpus_count; i++) {
		struct hg_cpu *c = &m->cpus[i];

		memset(c->sub_known_ns, 0, m->subwindows * sizeof(*c->sub_known_ns));
		c->softirq_ns = c->irq_ns = 0;
		memset(c->softirq_vec_ns, 0, sizeof(c->softirq_vec_ns));
	}
	m->session.events = 0;
	m->losses.contradictions = 0;
	hg_locks_reset(m);
	hg_wait_stacks_reset(m);
	if (hg_spins_reset(m))
		return -ENOMEM;
	return hg_kernel_reset(m);
}

/* The sub-window in which t lies; t in [from, to). */
unsigned int hg_account_sub(struct hg_model *m, uint64_t t)
{
	uint64_t length_ns = m->to_ns - m->from_ns;
	unsigned int i = m->sub_last;

	/* Mostly it is the one of the call before. */
	if (t >= m->sub_ns[i] && t < m->sub_ns[i + 1])
		return i;
	i = (unsigned int)((unsigned __int128)(t - m->from_ns) * m->subwindows / length_ns);
	/* The bounds are rounded down, so i may be one too small. */
	if (i + 1 < m->subwindows && t >= m->sub_ns[i + 1])
		i++;
	m->sub_last = i;
	return i;
}

void hg_account_spread(struct hg_model *m, uint64_t *slots, size_t stride, uint64_t from_ns,
		       uint64_t to_ns)
{
	from_ns = HG_MAX(from_ns, m->from_ns);
	to_ns = HG_MIN(to_ns, m->to_ns);
	if (from_ns >= to_ns)
		return;
	for (unsigned int i = hg_account_sub(m, from_ns); from_ns < to_ns; i++) {
		uint64_t end_ns = HG_MIN(to_ns, m->sub_ns[i + 1]);

		slots[i * stride] += end_ns - from_ns;
		from_ns = end_ns;
	}
}

void hg_account_add(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t from_ns,
		    uint64_t to_ns)
{
	struct hg_lane *l = &m->lanes[lane];

	if (l->sub_ns) {
		hg_account_span(m, &l->sub_ns[0][leaf], HG_LEAVES, from_ns, to_ns);
		return;
	}
	from_ns = HG_MAX(from_ns, m->from_ns);
	to_ns = HG_MIN(to_ns, m->to_ns);
	if (from_ns < to_ns)
		l->leaf_ns[leaf] += to_ns - from_ns;
}

void hg_account_ran(struct hg_model *m, uint32_t lane, unsigned int cpu, uint64_t from_ns,
		    uint64_t to_ns)
{
	if (to_ns <= from_ns || to_ns <= m->from_ns)
		return;
	if (cpu < 64)
		m->lanes[lane].cpu_ran_mask0 |= UINT64_C(1) << cpu;
	if (cpu < m->cpus_count)
		hg_account_span(m, m->cpus[cpu].sub_known_ns, 1, from_ns, to_ns);
}

uint64_t hg_account_part(uint64_t dur_ns, uint64_t from_ns, uint64_t to_ns, uint64_t a, uint64_t b)
{
	a = HG_MAX(a, from_ns);
	b = HG_MIN(b, to_ns);
	if (a >= b)
		return 0;
	if (a == from_ns && b == to_ns)
		return dur_ns;
	return (uint64_t)((unsigned __int128)dur_ns * (b - a) / (to_ns - from_ns));
}

void hg_account_move(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t from_ns,
		     uint64_t to_ns, uint64_t dur_ns)
{
	struct hg_lane *l = &m->lanes[lane];
	uint64_t a = HG_MAX(from_ns, m->from_ns), b = HG_MIN(to_ns, m->to_ns);

	if (!l->sub_ns || a >= b)
		return;
	for (unsigned int i = hg_account_sub(m, a); a < b; i++) {
		uint64_t end_ns = HG_MIN(b, m->sub_ns[i + 1]);
		uint64_t part_ns = hg_account_part(dur_ns, from_ns, to_ns, a, end_ns);

		part_ns = HG_MIN(part_ns, l->sub_ns[i][HG_LEAF_RUNNING]);
		l->sub_ns[i][HG_LEAF_RUNNING] -= part_ns;
		l->sub_ns[i][leaf] += part_ns;
		a = end_ns;
	}
}

void hg_account_rename(struct hg_model *m, uint32_t lane, enum hg_leaf was, enum hg_leaf is,
		       uint64_t from_ns, uint64_t to_ns)
{
	struct hg_lane *l = &m->lanes[lane];

	from_ns = HG_MAX(from_ns, m->from_ns);
	to_ns = HG_MIN(to_ns, m->to_ns);
	if (!l->sub_ns || from_ns >= to_ns)
		return;
	for (unsigned int i = hg_account_sub(m, from_ns); from_ns < to_ns; i++) {
		uint64_t end_ns = HG_MIN(to_ns, m->sub_ns[i + 1]);

		l->sub_ns[i][was] -= end_ns - from_ns;
		l->sub_ns[i][is] += end_ns - from_ns;
		from_ns = end_ns;
	}
}

void hg_account_finish(struct hg_model *m)
{
	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		struct hg_lane *l = &m->lanes[i];

		for (unsigned int s = 0; l->sub_ns && s < m->subwindows; s++) {
			for (int leaf = 0; leaf < HG_LEAVES; leaf++)
				l->leaf_ns[leaf] += l->sub_ns[s][leaf];
		}
	}
}
