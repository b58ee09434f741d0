/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks that lanes waited for: how long at least one did, for each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

static struct hg_lock_entry *entry_new(struct hg_model *m, const struct hg_lock_key *key)
{
	struct hg_locks *ls = &m->locks;
	struct hg_lock_entry *e;

	if (ls->count >= HG_LOCKS_MAX) {
		hg_model_warn_once(m->warned_locks,
				   "The trace has waits for more than %u locks: the rest are not "
				   "told apart.",
				   HG_LOCKS_MAX);
		return NULL;
	}
	if (!(ls->count & (ls->count - 1))) {
		size_t size = ls->count ? ls->count * 2 : 1;
		void *p = realloc(ls->by_index, size * sizeof(*ls->by_index));

		if (!p)
			return NULL;
		ls->by_index = p;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->l.sub_contended_ns = calloc(m->subwindows, sizeof(uint64_t));
	if (!e->l.sub_contended_ns) {
		free(e);
		return NULL;
	}
	e->key = *key;
	e->index = (uint32_t)ls->count;
	e->l.tgid = (uint32_t)key->tgid;
	e->l.address = key->address;
	ls->by_index[ls->count++] = e;
	HASH_ADD(hh, ls->table, key, sizeof(e->key), e);
	return e;
}

uint32_t hg_locks_get(struct hg_model *m, uint32_t tgid, uint64_t address)
{
	struct hg_lock_key key = {.tgid = tgid, .address = address};
	struct hg_lock_entry *e = NULL;

	HASH_FIND(hh, m->locks.table, &key, sizeof(key), e);
	if (!e)
		e = entry_new(m, &key);
	return e ? e->index + 1 : 0;
}

void hg_locks_reset(struct hg_model *m)
{
	struct hg_locks *ls = &m->locks;

	for (size_t i = 0; i < ls->count; i++) {
		struct hg_lock_entry *e = ls->by_index[i];

		e->waiting = 0;
		e->l.waits = e->l.wait_ns = e->l.contended_ns = 0;
		e->l.waiters = 0;
		memset(e->l.sub_contended_ns, 0, m->subwindows * sizeof(uint64_t));
	}
	if (ls->waiters_count)
		memset(ls->waiters, 0, ls->waiters_size * sizeof(*ls->waiters));
	ls->waiters_count = 0;
}

void hg_locks_begin(struct hg_model *m, uint32_t lock, uint64_t time_ns)
{
	struct hg_lock_entry *e;

	if (!lock)
		return;
	e = m->locks.by_index[lock - 1];
	if (e->waiting++ == 0)
		e->since_ns = time_ns;
}

static uint64_t mix(uint64_t x) /* splitmix64 */
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Whether value was not yet in the set; false too when the set is full. */
static bool set_add(uint64_t *set, size_t size, uint64_t value)
{
	for (size_t i = mix(value) & (size - 1);; i = (i + 1) & (size - 1)) {
		if (set[i] == value)
			return false;
		if (!set[i]) {
			set[i] = value;
			return true;
		}
	}
}

static bool waiters_grow(struct hg_locks *ls)
{
	size_t size = ls->waiters_size ? ls->waiters_size * 2 : 256;
	uint64_t *set = calloc(size, sizeof(*set));

	if (!set)
		return false;
	for (size_t i = 0; i < ls->waiters_size; i++) {
		if (ls->waiters[i])
			set_add(set, size, ls->waiters[i]);
	}
	free(ls->waiters);
	ls->waiters = set;
	ls->waiters_size = size;
	return true;
}

static void waiter_seen(struct hg_locks *ls, struct hg_lock_entry *e, uint32_t lane)
{
	if (ls->waiters_count * 2 >= ls->waiters_size &&
	    (ls->waiters_count >= HG_WAITERS_MAX || !waiters_grow(ls)))
		return;
	if (set_add(ls->waiters, ls->waiters_size, ((uint64_t)e->index << 32 | lane) + 1)) {
		ls->waiters_count++;
		e->l.waiters++;
	}
}

void hg_locks_end(struct hg_model *m, uint32_t lock, uint32_t lane, uint64_t since_ns,
		  uint64_t time_ns)
{
	struct hg_lock_entry *e;
	uint64_t a = HG_MAX(since_ns, m->from_ns), b = HG_MIN(time_ns, m->to_ns);

	if (!lock)
		return;
	e = m->locks.by_index[lock - 1];
	if (--e->waiting == 0)
		hg_account_span(m, e->l.sub_contended_ns, 1, e->since_ns, time_ns);
	if (a >= b)
		return;
	e->l.waits++;
	e->l.wait_ns += b - a;
	waiter_seen(&m->locks, e, lane);
}

void hg_locks_sample(struct hg_model *m, uint32_t lock, uint32_t tick)
{
	struct hg_lock_entry *e;

	if (!lock)
		return;
	e = m->locks.by_index[lock - 1];
	if (e->tick == tick)
		return;
	e->tick = tick;
	e->l.samples_waiting++;
}

static int most_waited(const void *a, const void *b)
{
	const struct hg_lock *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	if (x->samples_waiting != y->samples_waiting)
		return x->samples_waiting < y->samples_waiting ? 1 : -1;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

int hg_locks_finish(struct hg_model *m)
{
	struct hg_locks *ls = &m->locks;

	ls->sorted = calloc(ls->count ? ls->count : 1, sizeof(*ls->sorted));
	if (!ls->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < ls->count; i++) {
		struct hg_lock *l = &ls->by_index[i]->l;

		l->samples = m->ticks;
		l->contended_ns = 0;
		for (unsigned int s = 0; s < m->subwindows; s++)
			l->contended_ns += l->sub_contended_ns[s];
		ls->sorted[i] = *l;
	}
	qsort(ls->sorted, ls->count, sizeof(*ls->sorted), most_waited);
	return 0;
}

void hg_locks_free(struct hg_model *m)
{
	struct hg_locks *ls = &m->locks;

	HASH_CLEAR(hh, ls->table);
	for (size_t i = 0; i < ls->count; i++) {
		free(ls->by_index[i]->l.sub_contended_ns);
		free(ls->by_index[i]);
	}
	free(ls->by_index);
	free(ls->waiters);
	free(ls->sorted);
}
