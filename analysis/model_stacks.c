/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in the kernel members slept: waits whose stack was taken, summed by lane, what it waited for, and stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"

#define STACKS_MAX 65536

struct hg_wait_stack_key {
	uint32_t lane, frames, leaf; /* frames: string */
};

struct hg_wait_stack_entry {
	struct hg_wait_stack_key key;
	uint32_t index;
	UT_hash_handle hh;
};

int hg_wait_stacks_define(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_wait_stacks *s = &m->stacks;
	uint64_t id = rec->f[HG_STACK_ID];

	if (!id || id > STACKS_MAX)
		return 0;
	if (id >= s->frames_size) {
		size_t size = HG_MAX(2 * s->frames_size, HG_MAX((size_t)id + 1, 64));
		uint32_t *more = realloc(s->frames, size * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + s->frames_size, 0, (size - s->frames_size) * sizeof(*more));
		s->frames = more;
		s->frames_size = size;
	}
	s->frames[id] = (uint32_t)rec->f[HG_STACK_FRAMES];
	return 0;
}

static void by_key_clear(struct hg_wait_stacks *s)
{
	struct hg_wait_stack_entry *e, *next;

	HASH_ITER (hh, s->by_key, e, next) {
		HASH_DEL(s->by_key, e);
		free(e);
	}
}

void hg_wait_stacks_reset(struct hg_model *m)
{
	by_key_clear(&m->stacks);
	m->stacks.waits_count = 0;
}

void hg_wait_stacks_free(struct hg_model *m)
{
	by_key_clear(&m->stacks);
	free(m->stacks.waits);
	free(m->stacks.frames);
}

static struct hg_wait_stack *wait_stack_get(struct hg_model *m, const struct hg_wait_stack_key *key)
{
	struct hg_wait_stacks *s = &m->stacks;
	struct hg_wait_stack_entry *e;

	HASH_FIND(hh, s->by_key, key, sizeof(*key), e);
	if (e)
		return &s->waits[e->index];
	if (s->waits_count == s->waits_size) {
		size_t size = s->waits_size ? 2 * s->waits_size : 32;
		void *more = reallocarray(s->waits, size, sizeof(*s->waits));

		if (!more)
			return NULL;
		s->waits = more;
		s->waits_size = size;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->key = *key;
	e->index = (uint32_t)s->waits_count;
	HASH_ADD(hh, s->by_key, key, sizeof(e->key), e);
	s->waits[s->waits_count] =
		(struct hg_wait_stack){.lane = key->lane,
				       .leaf = (enum hg_leaf)key->leaf,
				       .frames = hg_model_string(m, key->frames)};
	return &s->waits[s->waits_count++];
}

int hg_wait_stacks_add(struct hg_model *m, uint32_t lane, enum hg_leaf leaf, uint64_t stack,
		       uint64_t from_ns, uint64_t to_ns)
{
	const struct hg_wait_stacks *s = &m->stacks;
	struct hg_wait_stack_key key = {.lane = lane, .leaf = (uint32_t)leaf};
	struct hg_wait_stack *w;

	from_ns = HG_MAX(from_ns, m->from_ns);
	to_ns = HG_MIN(to_ns, m->to_ns);
	if (from_ns >= to_ns || stack >= s->frames_size || !s->frames[stack] ||
	    !hg_leaf_is_blocked(leaf))
		return 0;
	key.frames = s->frames[stack];
	w = wait_stack_get(m, &key);
	if (!w)
		return -ENOMEM;
	w->waits++;
	w->ns += to_ns - from_ns;
	return 0;
}

size_t hg_model_wait_stacks(const struct hg_model *m, const struct hg_wait_stack **out)
{
	*out = m->stacks.waits;
	return m->stacks.waits_count;
}
