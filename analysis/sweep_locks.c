/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of the sweep: the holder that has waiters earns for the lock. */
#include <errno.h>

#include "analysis/sweep.h"
#include "base/hg_base.h"

static uint32_t lock_get(struct hg_sweep *s, uint32_t tgid, uint64_t address, bool kernel)
{
	struct hg_sweep_lock_key key = {.address = address, .tgid = tgid, .kernel = kernel};
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
	out->locks[out->locks_count] = (struct hg_blame_lock){
		.tgid = tgid, .address = address, .kernel = kernel, .holder_sysnr = -1};
	s->lock_rows[out->locks_count] = kernel ? hg_sweep_row(s, HG_BLAME_KERNEL_SLEEP, 0)
						: hg_sweep_row(s, HG_BLAME_LOCK, out->locks_count);
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
	uint32_t index = step->kernel ? lock_get(s, 0, 0, true)
				      : lock_get(s, s->lanes[lane].tgid, step->object, false);
	uint32_t holder = step->holder < s->lanes_count ? step->holder : 0;

	if (index == UINT32_MAX)
		return;
	s->ls[lane].lock = index + 1;
	s->lock_waiters++;
	s->kernel_waiting += step->kernel;
	lock_mark(s, index, holder ? holder : s->out->locks[index].holder,
		  s->out->locks[index].waiting + 1);
}

/*
 * A waiter that was let go is the next holder, as far as anybody can see from outside; but not before it runs. Until then
 * the lane that let it go may have taken the lock again, or leaves it to nobody: the time is the lock's either way.
 */
void hg_sweep_lock_leave(struct hg_sweep *s, uint32_t lane)
{
	struct hg_sweep_lane *l = &s->ls[lane], *by;
	uint32_t index = l->lock - 1, waker = l->by < s->lanes_count ? l->by : 0;

	l->lock = 0;
	l->woken_from = index + 1;
	s->lock_waiters--;
	if (s->out->locks[index].kernel) {
		/* Spinners may take it first: who was let go need not have it, and nobody is known to. */
		s->kernel_waiting--;
		lock_mark(s, index, 0, s->out->locks[index].waiting - 1);
		return;
	}
	by = &s->ls[waker];
	if (!waker || !by->target || !by->present || !hg_leaf_is_running(by->leaf)) {
		lock_mark(s, index, lane, s->out->locks[index].waiting - 1);
		return;
	}
	lock_mark(s, index, waker, s->out->locks[index].waiting - 1);
	hg_sweep_settle(s, by, waker);
	if (by->holds == index + 1)
		by->holds = 0;
	by->hands = index + 1;
	by->hands_to = lane;
}

static void hands_clear(struct hg_sweep *s, uint32_t lane)
{
	hg_sweep_settle(s, &s->ls[lane], lane);
	s->ls[lane].hands = s->ls[lane].hands_to = 0;
}

void hg_sweep_lock_arrive(struct hg_sweep *s, uint32_t lane)
{
	uint32_t index = s->ls[lane].woken_from - 1, holder = s->out->locks[index].holder;

	s->ls[lane].woken_from = 0;
	if (holder && s->ls[holder].hands == index + 1 && s->ls[holder].hands_to == lane) {
		hands_clear(s, holder);
		lock_mark(s, index, lane, s->out->locks[index].waiting);
	}
}

void hg_sweep_lock_abandon(struct hg_sweep *s, uint32_t lane)
{
	uint32_t index = s->ls[lane].hands - 1, next = s->ls[lane].hands_to;

	hands_clear(s, lane);
	if (s->out->locks[index].holder == lane)
		lock_mark(s, index, next, s->out->locks[index].waiting);
}

/* Majority vote, weighted by time (Boyer and Moore): who ends the waits of a lock's holders. */
static void ender_vote(const struct hg_sweep *s, struct hg_blame_lock *k,
		       const struct hg_sweep_lane *holder, double dt)
{
	uint32_t by = holder->by;

	if (!by || by >= s->lanes_count ||
	    (holder->ctx != HG_CTX_SOFTIRQ_OWN && holder->ctx != HG_CTX_TASK))
		return;
	if (k->holder_ender && s->lanes[k->holder_ender].tgid == s->lanes[by].tgid) {
		k->holder_ender_vote_ns += dt;
	} else if (dt > k->holder_ender_vote_ns) {
		k->holder_ender = by;
		k->holder_ender_vote_ns = dt - k->holder_ender_vote_ns;
	} else {
		k->holder_ender_vote_ns -= dt;
	}
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
		if (h->leaf == HG_LEAF_BLOCKED_NET || h->leaf == HG_LEAF_BLOCKED_PEER)
			ender_vote(s, k, h, dt);
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
