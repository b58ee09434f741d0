/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/hg_arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 << 10)
#define ALIGN	    _Alignof(max_align_t)

struct block {
	struct block *next;
	size_t size, used; /* of data */
	_Alignas(max_align_t) unsigned char data[];
};

struct hg_arena {
	struct block *blocks; /* the first is the one being filled */
};

struct hg_arena *hg_arena_new(void)
{
	return calloc(1, sizeof(struct hg_arena));
}

static struct block *block_add(struct hg_arena *a, size_t size)
{
	size_t room = HG_MAX(size, BLOCK_BYTES);
	struct block *b = calloc(1, sizeof(*b) + room);

	if (!b)
		return NULL;
	b->size = room;
	/* a large one goes behind, so that the room left in the present block is not lost */
	if (a->blocks && size > BLOCK_BYTES / 4) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *hg_arena_alloc(struct hg_arena *a, size_t size)
{
	struct block *b = a->blocks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || b->size - b->used < size)
		b = block_add(a, size);
	if (!b)
		return NULL;
	p = b->data + b->used;
	b->used += size;
	return p;
}

void *hg_arena_array(struct hg_arena *a, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return hg_arena_alloc(a, bytes);
}

char *hg_arena_strdup(struct hg_arena *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *p = hg_arena_alloc(a, size);

	return p ? memcpy(p, text, size) : NULL;
}

char *hg_arena_printf(struct hg_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p = NULL;
	int length;

	va_start(ap, fmt);
	va_copy(again, ap);
	length = vsnprintf(NULL, 0, fmt, ap);
	if (length >= 0)
		p = hg_arena_alloc(a, (size_t)length + 1);
	if (p)
		vsnprintf(p, (size_t)length + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return p;
}

void hg_arena_free(struct hg_arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}
