/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_names.h"

#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_format.h"

struct hg_names_block {
	uint32_t first, count;
	uint32_t *starts; /* count + 1, in text; each string is terminated there */
	char *text;
};

static void block_free(struct hg_names_block *b)
{
	if (!b)
		return;
	free(b->starts);
	free(b->text);
	free(b);
}

static inline void block_freep(struct hg_names_block **b)
{
	block_free(*b);
}

void hg_names_free(struct hg_names *n)
{
	for (size_t i = 0; i < n->nblocks; i++)
		block_free(n->blocks[i]);
	free(n->blocks);
	*n = (struct hg_names){0};
}

static int block_fill(struct hg_names_block *b, const uint8_t *lengths, const uint8_t *text,
		      size_t text_size)
{
	uint32_t at = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		uint32_t length = hg_get32(lengths + 4 * (size_t)i);

		if (!length || length > HG_STRING_MAX || length > text_size - used)
			return -EBADMSG;
		b->starts[i] = at;
		memcpy(b->text + at, text + used, length);
		used += length;
		at += length;
		b->text[at++] = '\0';
	}
	b->starts[b->count] = at;
	return used == text_size ? 0 : -EBADMSG;
}

int hg_names_add(struct hg_names *n, const uint8_t *raw, size_t size, uint32_t count)
{
	__attribute__((cleanup(block_freep))) struct hg_names_block *b = NULL;
	const struct hg_names_block *last = n->nblocks ? n->blocks[n->nblocks - 1] : NULL;
	uint32_t first;
	size_t text_size;
	int err;

	if (size < 8 || !count || hg_get32(raw + 4) != count || (size - 8) / 4 < count)
		return -EBADMSG;
	first = hg_get32(raw);
	text_size = size - 8 - 4 * (size_t)count;
	/* Ids only grow: none is defined twice. */
	if (!first || count > UINT32_MAX - first || (last && first < last->first + last->count))
		return -EBADMSG;
	if (n->bytes + size > HG_NAMES_BYTES_MAX)
		return -EBADMSG;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->first = first;
	b->count = count;
	b->starts = malloc(((size_t)count + 1) * sizeof(*b->starts));
	b->text = malloc(text_size + count);
	if (!b->starts || !b->text)
		return -ENOMEM;
	err = block_fill(b, raw + 8, raw + 8 + 4 * (size_t)count, text_size);
	if (err)
		return err;
	if (n->nblocks == n->blocks_cap) {
		size_t cap = n->blocks_cap ? 2 * n->blocks_cap : 16;
		struct hg_names_block **blocks = realloc(n->blocks, cap * sizeof(b));

		if (!blocks)
			return -ENOMEM;
		n->blocks = blocks;
		n->blocks_cap = cap;
	}
	n->blocks[n->nblocks++] = HG_TAKE_PTR(b);
	n->bytes += size;
	return 0;
}

const char *hg_names_get(const struct hg_names *n, uint64_t id, size_t *length_out)
{
	size_t low = 0, high = n->nblocks;
	const struct hg_names_block *b;
	uint32_t i;

	if (!id) {
		if (length_out)
			*length_out = 0;
		return "";
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (n->blocks[middle]->first <= id)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	b = n->blocks[low - 1];
	if (id - b->first >= b->count)
		return NULL;
	i = (uint32_t)(id - b->first);
	if (length_out)
		*length_out = b->starts[i + 1] - b->starts[i] - 1;
	return b->text + b->starts[i];
}
