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

int hg_stack_define(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_wait_stacks *s = &m->stacks;
	uint64_t id = rec->f[HG_STACK_ID], frames = rec->f[HG_STACK_FRAMES];

	if (!id || id > STACKS_MAX || !frames)
		return 0;
	if (id >= s->defs_count) {
		size_t n = HG_MAX(2 * s->defs_count, HG_MAX((size_t)id + 1, 64));
		struct hg_stack_def *more = realloc(s->defs, n * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + s->defs_count, 0, (n - s->defs_count) * sizeof(*more));
		s->defs = more;
		s->defs_count = n;
	}
	if (s->defs[id].frames)
		return 0;
	s->defs[id].frames = (uint32_t)frames;
	return hg_kernel_stack(hg_model_string(m, frames), &s->defs[id]);
}

const struct hg_stack_def *hg_stack_find(const struct hg_model *m, uint64_t id)
{
	return id < m->stacks.defs_count && m->stacks.defs[id].frames ? &m->stacks.defs[id] : NULL;
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
	for (size_t i = 0; i < m->stacks.defs_count; i++)
		free(m->stacks.defs[i].caller);
	free(m->stacks.defs);
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
	const struct hg_stack_def *def = hg_stack_find(m, stack);
	struct hg_wait_stack_key key = {.lane = lane, .leaf = (uint32_t)leaf};
	struct hg_wait_stack *w;

	from_ns = HG_MAX(from_ns, m->from_ns);
	to_ns = HG_MIN(to_ns, m->to_ns);
	if (from_ns >= to_ns || !def || !hg_leaf_is_blocked(leaf))
		return 0;
	key.frames = def->frames;
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
