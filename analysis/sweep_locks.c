/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of the sweep: the holder that has waiters earns for the lock. */
#include <errno.h>

#include "analysis/sweep.h"
#include "base/hg_base.h"

static uint32_t lock_get(struct hg_sweep *s, uint32_t tgid, uint64_t address)
{
	struct hg_sweep_lock_key key = {.address = address, .tgid = tgid};
	struct hg_shares *out = s->out;
	struct hg_sweep_lock_slot *slot = NULL;

	HASH_FIND(hh, s->locks, &key, sizeof(key), slot);
	if (slot)
		return slot->index;
	if (out->locks_count == s->locks_capacity) {
		size_t capacity = s->locks_capacity ? 2 * s->locks_capacity : 16;
		struct hg_blame_lock *locks = reallocarray(out->locks, capacity, sizeof(*locks));
		struct hg_blame_row **rows;
		uint32_t *contended;

		if (locks)
			out->locks = locks;
		contended = reallocarray(s->contended, capacity, sizeof(*contended));
		if (contended)
			s->contended = contended;
		rows = reallocarray(s->lock_rows, capacity, sizeof(struct hg_blame_row *));
		if (rows)
			s->lock_rows = rows;
		if (!locks || !rows || !contended)
			goto nomem;
		s->locks_capacity = capacity;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		goto nomem;
	slot->key = key;
	slot->index = (uint32_t)out->locks_count;
	HASH_ADD(hh, s->locks, key, sizeof(slot->key), slot);
	out->locks[out->locks_count] =
		(struct hg_blame_lock){.tgid = tgid, .address = address, .holder_sysnr = -1};
	s->lock_rows[out->locks_count] = hg_sweep_row(s, HG_BLAME_LOCK, out->locks_count);
	return (uint32_t)out->locks_count++;
nomem:
	s->err = -ENOMEM;
	return UINT32_MAX;
}

static void contended_update(struct hg_sweep *s, uint32_t index, uint32_t waiting)
{
	uint32_t before = s->out->locks[index].waiting;

	if (!before && waiting) {
		s->contended[s->contended_count++] = index;
		return;
	}
	if (!before || waiting)
		return;
	for (size_t i = 0; i < s->contended_count; i++) {
		if (s->contended[i] == index) {
			s->contended[i] = s->contended[--s->contended_count];
			return;
		}
	}
}

/* Marks who holds a lock that has waiters; credit up to now went by the old marks. */
static void lock_mark(struct hg_sweep *s, uint32_t index, uint32_t holder, uint32_t waiting)
{
	struct hg_blame_lock *k = &s->out->locks[index];

	if (k->holder && s->ls[k->holder].holds == index + 1) {
		hg_sweep_settle(s, &s->ls[k->holder], k->holder);
		s->ls[k->holder].holds = 0;
	}
	contended_update(s, index, waiting);
	k->holder = holder;
	k->waiting = waiting;
	if (holder && waiting && !s->ls[holder].holds) {
		hg_sweep_settle(s, &s->ls[holder], holder);
		s->ls[holder].holds = index + 1;
	}
}

void hg_sweep_lock_enter(struct hg_sweep *s, uint32_t lane, const struct hg_step *step)
{
	uint32_t index = lock_get(s, s->lanes[lane].tgid, step->object);
	uint32_t holder = step->holder < s->lanes_count ? step->holder : 0;

	if (index == UINT32_MAX)
		return;
	s->ls[lane].lock = index + 1;
	s->lock_waiters++;
	lock_mark(s, index, holder ? holder : s->out->locks[index].holder,
		  s->out->locks[index].waiting + 1);
}

/* A waiter that was let go is the next holder, as far as anybody can see from outside. */
void hg_sweep_lock_leave(struct hg_sweep *s, uint32_t lane)
{
	uint32_t index = s->ls[lane].lock - 1;

	s->ls[lane].lock = 0;
	s->lock_waiters--;
	lock_mark(s, index, lane, s->out->locks[index].waiting - 1);
}

void hg_sweep_lock_time(struct hg_sweep *s, double dt)
{
	for (size_t i = 0; i < s->contended_count; i++) {
		struct hg_blame_lock *k = &s->out->locks[s->contended[i]];
		const struct hg_sweep_lane *h = &s->ls[k->holder];

		k->contended_ns += dt;
		if (!k->holder || !h->present)
			continue;
		k->holder_leaf_ns[h->leaf] += dt;
		if (hg_leaf_is_blocked(h->leaf) &&
		    (h->sysnr == k->holder_sysnr || dt > k->holder_sysnr_ns)) {
			k->holder_sysnr_ns =
				h->sysnr == k->holder_sysnr ? k->holder_sysnr_ns + dt : dt;
			k->holder_sysnr = h->sysnr;
		}
	}
}

uint32_t hg_sweep_lock_most_waited(const struct hg_sweep *s)
{
	uint32_t best = s->contended[0];

	for (size_t i = 1; i < s->contended_count; i++) {
		const struct hg_blame_lock *k = &s->out->locks[s->contended[i]];
		uint32_t most = s->out->locks[best].waiting;

		/* The lower index on a tie: the order of the list is accidental. */
		if (k->waiting > most || (k->waiting == most && s->contended[i] < best))
			best = s->contended[i];
	}
	return best;
}
