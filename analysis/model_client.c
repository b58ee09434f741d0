/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who the client is where no CMD was named: hourglass was attached to a server that is under load already. Taken for a
 * stranger, a client on the same machine would be the target's competitor, and "stop it" the advice. From outside a
 * client and a service that the target itself calls look alike; but all of a target's work comes from its client, so only
 * a program that does nearly all the waking is one.
 */
#include <string.h>

#include "analysis/model_internal.h"

#define WAKES_MIN 100
#define SHARE_MIN 0.9
#define MUTUAL_MIN                                                                                 \
	0.02 /* of its wakes of the target: the target wakes it too, if seldom, when it is busy itself */

static bool is_stranger(const struct hg_lane *l)
{
	return l->defined && !(l->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT)) &&
	       !(l->flags & HG_TASKF_KTHREAD);
}

/* Wakes by all tasks of that name: a client is often several processes. */
static uint64_t wakes_of(const struct hg_model *m, const char *name, uint64_t *woken_out)
{
	uint64_t wakes = 0;

	*woken_out = 0;
	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		const struct hg_lane *l = &m->lanes[i];

		if (!is_stranger(l) || strcmp(l->name, name))
			continue;
		wakes += l->wakes_target;
		*woken_out += l->woken_by_target;
	}
	return wakes;
}

static const struct hg_lane *waker_most(const struct hg_model *m)
{
	const struct hg_lane *most = NULL;

	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		const struct hg_lane *l = &m->lanes[i];

		if (is_stranger(l) && l->wakes_target &&
		    (!most || l->wakes_target > most->wakes_target))
			most = l;
	}
	return most;
}

void hg_model_client_find(struct hg_model *m)
{
	const struct hg_lane *most = waker_most(m);
	uint64_t wakes, woken;

	if (m->session.client || m->session.level_all || !most)
		return;
	wakes = wakes_of(m, most->name, &woken);
	if (wakes < WAKES_MIN || (double)wakes < SHARE_MIN * (double)m->wakes_outside ||
	    (double)woken < MUTUAL_MIN * (double)wakes)
		return;
	m->session.client_found = most->name;
	m->session.client_found_share = (double)wakes / (double)m->wakes_outside;
	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		struct hg_lane *l = &m->lanes[i];

		if (is_stranger(l) && !strcmp(l->name, m->session.client_found) && l->sub_ns &&
		    (l->wakes_target || l->woken_by_target))
			l->role |= HG_ROLEF_CLIENT;
	}
}
