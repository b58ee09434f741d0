/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is given back all at once: the strings and lists of findings. Called by attribution, its detectors and
 * the lane rows. Nothing in it is freed singly.
 */
#ifndef HG_ARENA_H
#define HG_ARENA_H

#include <stddef.h>

#include "base/hg_base.h"

struct hg_arena;

/* NULL on ENOMEM. */
struct hg_arena *hg_arena_new(void);

/* Zeroed bytes, aligned for any type; NULL on ENOMEM. size 0 gives a valid pointer. */
void *hg_arena_alloc(struct hg_arena *a, size_t size);

/* As hg_arena_alloc of count * size; NULL on overflow too. */
void *hg_arena_array(struct hg_arena *a, size_t count, size_t size);

/* NULL on ENOMEM. */
char *hg_arena_strdup(struct hg_arena *a, const char *text);
char *hg_arena_printf(struct hg_arena *a, const char *fmt, ...) HG_PRINTF(2, 3);

/* NULL does nothing. */
void hg_arena_free(struct hg_arena *a);

static inline void hg_arena_freep(struct hg_arena **a)
{
	hg_arena_free(*a);
}

#endif
