/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own locks: who waited for which of them by the contention events, what the samples of running threads
 * found, and in which function of the kernel the sampler found threads asleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model_replay.h"
#include "base/hg_base.h"

/* Code of the locks themselves: what comes first outside of it asks for the lock. */
static const char *const lock_code[] = {
	"mutex_",	  "__mutex_", "ww_mutex_",    "rwsem_",	 "down_",
	"__down_",	  "osq_",     "percpu_down_", "rt_",	 "_raw_",
	"native_queued_", "__pv_",    "queued_",      "do_raw_", "lock_mm_and_find_vma",
};
/* Of these the ones whose waiters sleep in the end; theirs is the outermost frame of the lock's code, or a spin inside. */
static const char *const sleeping_code[] = {"mutex_", "__mutex_", "ww_mutex_", "rwsem_",
					    "down_",  "__down_",  "osq_",      "percpu_down_"};

static bool begins_with_any(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

int hg_kernel_stack(const char *frames, struct hg_stack_def *s)
{
	for (const char *at = frames;;) {
		size_t length = strcspn(at, ";");

		if (!begins_with_any(at, lock_code, HG_ARRAY_SIZE(lock_code)) || !at[length]) {
			s->caller = strndup(at, length);
			return s->caller ? 0 : -ENOMEM;
		}
		s->sleeps |= begins_with_any(at, sleeping_code, HG_ARRAY_SIZE(sleeping_code));
		at += length + 1;
	}
}

/* --- what the sampler saw --- */

int hg_kernel_look(struct hg_model *m, uint32_t lane, uint32_t tick, uint64_t time_ns,
		   uint64_t name)
{
	struct hg_kernel *k = &m->kernel;

	if (!name || k->looks_count >= HG_LOOKS_MAX)
		return 0;
	if (k->looks_count == k->looks_size) {
		size_t size = k->looks_size ? 2 * k->looks_size : 256;
		struct hg_kernel_look *looks = reallocarray(k->looks, size, sizeof(*looks));

		if (!looks)
			return -ENOMEM;
		k->looks = looks;
		k->looks_size = size;
	}
	k->looks[k->looks_count++] = (struct hg_kernel_look){time_ns, name, lane, tick};
	return 0;
}

static int by_lane_and_time(const void *a, const void *b)
{
	const struct hg_kernel_look *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_tick(const void *a, const void *b)
{
	const struct hg_kernel_look *x = a, *y = b;

	return (x->tick > y->tick) - (x->tick < y->tick);
}

/* The first look at lane at or behind t. */
static size_t look_find(const struct hg_kernel *k, uint32_t lane, uint64_t t)
{
	const struct hg_kernel_look key = {.time_ns = t, .lane = lane};
	size_t low = 0, high = k->looks_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_lane_and_time(&k->looks[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void vote(struct hg_kernel_votes *v, uint64_t id, uint64_t weight)
{
	size_t least = 0;

	for (size_t i = 0; i < HG_ARRAY_SIZE(v->id); i++) {
		if (v->id[i] == id || !v->count[i]) {
			v->id[i] = id;
			v->count[i] += weight;
			return;
		}
		if (v->count[i] < v->count[least])
			least = i;
	}
	/* As in a space-saving sketch: whatever is frequent stays. */
	v->id[least] = id;
	v->count[least] += weight;
}

static uint64_t voted(const struct hg_kernel_votes *v)
{
	size_t most = 0;

	for (size_t i = 1; i < HG_ARRAY_SIZE(v->id); i++) {
		if (v->count[i] > v->count[most])
			most = i;
	}
	return v->count[most] ? v->id[most] : 0;
}

/* --- events --- */

int hg_kernel_reset(struct hg_model *m)
{
	struct hg_kernel *k = &m->kernel;
	struct hg_kernel_entry *e, *next;

	HASH_ITER (hh, k->locks, e, next) {
		HASH_DEL(k->locks, e);
		free(e);
	}
	k->locks_count = 0;
	memset(k->spins_callers, 0, sizeof(k->spins_callers));
	free(k->times);
	k->times = calloc(m->subwindows, sizeof(*k->times));
	if (k->looks_count)
		qsort(k->looks, k->looks_count, sizeof(*k->looks), by_lane_and_time);
	return k->times ? 0 : -ENOMEM;
}

static bool is_target(const struct hg_model *m, uint64_t lane)
{
	return lane >= HG_LANE_FIRST && lane < m->lanes_count &&
	       hg_lane_is_target(&m->lanes[lane], m->session.level_all);
}

void hg_kernel_sample(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t where = rec->f[HG_CPU_SAMPLE_WHERE], stack = rec->f[HG_CPU_SAMPLE_STACK];
	const struct hg_stack_def *s = hg_stack_find(m, stack);
	struct hg_kernel_times *t;

	if (rec->time_ns < m->from_ns || rec->time_ns >= m->to_ns ||
	    !is_target(m, rec->f[HG_CPU_SAMPLE_LANE]))
		return;
	t = &m->kernel.times[hg_account_sub(m, rec->time_ns)];
	t->samples++;
	if (where == HG_SAMPLE_USER || where == HG_SAMPLE_USER_SPINS) {
		t->user++;
	} else if (where == HG_SAMPLE_SPINS && s && rec->f[HG_CPU_SAMPLE_CTX] == HG_CTX_TASK) {
		if (s->sleeps)
			t->spins_sleeping++;
		else
			t->spins++;
		vote(&m->kernel.spins_callers[!s->sleeps], stack, 1);
	}
}

static struct hg_kernel_entry *entry_get(struct hg_kernel *k, uint64_t address)
{
	struct hg_kernel_entry *e = NULL;

	HASH_FIND(hh, k->locks, &address, sizeof(address), e);
	if (e || k->locks_count >= HG_KERNEL_LOCKS_MAX)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->l.address = address;
	HASH_ADD(hh, k->locks, l.address, sizeof(e->l.address), e);
	k->locks_count++;
	return e;
}

/* Waits by their length: four classes for each power of two. */
static unsigned int length_class(uint64_t ns)
{
	unsigned int log = ns > 3 ? 63 - (unsigned int)__builtin_clzll(ns) : 2;

	return HG_MIN((log - 2) * 4 + (unsigned int)(ns >> (log - 2) & 3), HG_KERNEL_LENGTHS - 1);
}

static uint64_t class_end_ns(unsigned int i)
{
	return (uint64_t)(5 + i % 4) << (i / 4);
}

void hg_kernel_contention(struct hg_model *m, const struct hg_record *rec, uint32_t waker)
{
	uint64_t lane = rec->f[HG_CONTENTION_LANE], dur_ns = rec->f[HG_CONTENTION_DUR];
	uint64_t count = rec->f[HG_CONTENTION_COUNT];
	uint64_t from_ns = rec->time_ns - HG_MIN(rec->f[HG_CONTENTION_SPAN], rec->time_ns);
	struct hg_kernel *k = &m->kernel;
	struct hg_kernel_entry *e;

	if (rec->f[HG_CONTENTION_CTX] != HG_CTX_TASK || !is_target(m, lane) || !count)
		return;
	dur_ns = hg_account_part(HG_MIN(dur_ns, rec->time_ns - from_ns), from_ns, rec->time_ns,
				 m->from_ns, m->to_ns);
	e = dur_ns ? entry_get(k, rec->f[HG_CONTENTION_LOCK]) : NULL;
	if (!e)
		return;
	e->l.flags |= (uint32_t)rec->f[HG_CONTENTION_FLAGS];
	e->l.waits += count;
	e->l.wait_ns += dur_ns;
	e->lengths[length_class(dur_ns / count)] += count;
	if (waker)
		vote(&e->wakers, waker, 1);
	for (size_t i = look_find(k, (uint32_t)lane, from_ns);
	     i < k->looks_count && k->looks[i].lane == lane && k->looks[i].time_ns < rec->time_ns;
	     i++)
		vote(&e->names, k->looks[i].name, 1);
}

/* --- results --- */

static int most_waited(const void *a, const void *b)
{
	const struct hg_kernel_lock *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	return (x->address > y->address) - (x->address < y->address);
}

static void lock_finish(const struct hg_model *m, struct hg_kernel_entry *e,
			struct hg_kernel_lock *out)
{
	uint64_t name = voted(&e->names), seen = 0;

	for (unsigned int i = 0; i < HG_KERNEL_LENGTHS; i++) {
		seen += e->lengths[i];
		if (seen * 100 >= e->l.waits * 99) {
			e->l.p99_ns = class_end_ns(i);
			break;
		}
	}
	e->l.waker = (uint32_t)voted(&e->wakers);
	e->l.asleep_in = name ? hg_model_string(m, name) : NULL;
	*out = e->l;
}

int hg_kernel_finish(struct hg_model *m)
{
	struct hg_kernel *k = &m->kernel;
	struct hg_kernel_entry *e, *next;
	size_t n = 0;

	k->sorted = calloc(k->locks_count + 1, sizeof(*k->sorted));
	if (!k->sorted)
		return -ENOMEM;
	HASH_ITER (hh, k->locks, e, next)
		lock_finish(m, e, &k->sorted[n++]);
	qsort(k->sorted, n, sizeof(*k->sorted), most_waited);
	for (int i = 0; i < 2; i++) {
		uint64_t stack = voted(&k->spins_callers[i]);

		if (stack)
			*(i ? &k->spins_in : &k->spins_sleeping_in) =
				hg_stack_find(m, stack)->caller;
	}
	if (k->looks_count)
		qsort(k->looks, k->looks_count, sizeof(*k->looks), by_tick);
	return 0;
}

size_t hg_model_kernel_locks(const struct hg_model *m, const struct hg_kernel_lock **out)
{
	*out = m->kernel.sorted;
	return m->kernel.locks_count;
}

const struct hg_kernel_times *hg_model_kernel_times(const struct hg_model *m)
{
	return m->kernel.times;
}

const char *hg_model_kernel_spins_in(const struct hg_model *m, bool sleeping)
{
	return sleeping ? m->kernel.spins_sleeping_in : m->kernel.spins_in;
}

bool hg_model_kernel_seen(const struct hg_model *m, const char *function, double *part_out,
			  uint64_t *rounds_out)
{
	const struct hg_kernel *k = &m->kernel;
	uint64_t seen = 0;
	uint32_t last = 0;

	if (!k->looks_count || !m->ticks)
		return false;
	for (size_t i = 0; i < k->looks_count; i++) {
		if (k->looks[i].tick == last ||
		    strcmp(hg_model_string(m, k->looks[i].name), function) != 0)
			continue;
		last = k->looks[i].tick;
		seen++;
	}
	*part_out = (double)seen / m->ticks;
	*rounds_out = m->ticks;
	return true;
}

void hg_kernel_free(struct hg_model *m)
{
	struct hg_kernel *k = &m->kernel;
	struct hg_kernel_entry *e, *next;

	HASH_ITER (hh, k->locks, e, next) {
		HASH_DEL(k->locks, e);
		free(e);
	}
	free(k->looks);
	free(k->times);
	free(k->sorted);
}
