/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_intern.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

#include "base/hg_base.h"
#include "trace/hg_format.h"

struct entry {
	struct entry *next; /* of its bucket */
	uint64_t hash;
	uint32_t id, length;
	char text[];
};

struct hg_intern {
	struct entry **buckets;
	size_t nbuckets, nentries, bytes;
	uint32_t next_id;
	uint64_t seed; /* names are hostile: they must not choose their bucket */

	/* Pending strings: their lengths as on disk, and their bytes. */
	uint32_t first_pending;
	uint8_t *lengths, *text;
	size_t lengths_size, lengths_cap, text_size, text_cap;
};

int hg_intern_new(struct hg_intern **out)
{
	struct hg_intern *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->nbuckets = 1024;
	in->buckets = calloc(in->nbuckets, sizeof(struct entry *));
	if (!in->buckets) {
		free(in);
		return -ENOMEM;
	}
	in->next_id = in->first_pending = 1;
	in->seed = hg_now_ns() ^ (uintptr_t)in;
	*out = in;
	return 0;
}

static void forget(struct hg_intern *in)
{
	for (size_t i = 0; i < in->nbuckets; i++) {
		while (in->buckets[i]) {
			struct entry *e = in->buckets[i];

			in->buckets[i] = e->next;
			free(e);
		}
	}
	in->nentries = in->bytes = 0;
}

void hg_intern_free(struct hg_intern *in)
{
	if (!in)
		return;
	forget(in);
	free(in->buckets);
	free(in->lengths);
	free(in->text);
	free(in);
}

/* Failure leaves longer chains: no error. */
static void grow_buckets(struct hg_intern *in)
{
	size_t n = in->nbuckets * 2;
	struct entry **buckets = calloc(n, sizeof(struct entry *));

	if (!buckets)
		return;
	for (size_t i = 0; i < in->nbuckets; i++) {
		struct entry *e = in->buckets[i], *next;

		for (; e; e = next) {
			next = e->next;
			e->next = buckets[e->hash & (n - 1)];
			buckets[e->hash & (n - 1)] = e;
		}
	}
	free(in->buckets);
	in->buckets = buckets;
	in->nbuckets = n;
}

static int reserve(uint8_t **p, size_t *cap, size_t need)
{
	size_t bigger = HG_MAX(need, *cap * 2);
	uint8_t *grown;

	if (need <= *cap)
		return 0;
	grown = realloc(*p, bigger);
	if (!grown)
		return -ENOMEM;
	*p = grown;
	*cap = bigger;
	return 0;
}

int hg_intern_add(struct hg_intern *in, const char *text, size_t length, uint32_t *id_out)
{
	uint64_t hash = XXH64(text, length, in->seed);
	struct entry *e;

	assert(length <= HG_STRING_MAX);
	if (!length) {
		*id_out = 0;
		return 0;
	}
	for (e = in->buckets[hash & (in->nbuckets - 1)]; e; e = e->next) {
		if (e->hash == hash && e->length == length && !memcmp(e->text, text, length)) {
			*id_out = e->id;
			return 0;
		}
	}
	if (in->next_id == UINT32_MAX)
		return -EOVERFLOW;
	if (in->bytes > HG_INTERN_BYTES_MAX)
		forget(in);
	if (reserve(&in->lengths, &in->lengths_cap, in->lengths_size + 4) ||
	    reserve(&in->text, &in->text_cap, in->text_size + length))
		return -ENOMEM;
	e = malloc(sizeof(*e) + length);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.hash = hash, .id = in->next_id++, .length = (uint32_t)length};
	memcpy(e->text, text, length);
	if (in->nentries >= in->nbuckets)
		grow_buckets(in);
	e->next = in->buckets[hash & (in->nbuckets - 1)];
	in->buckets[hash & (in->nbuckets - 1)] = e;
	in->nentries++;
	in->bytes += sizeof(*e) + length;
	hg_put32(in->lengths + in->lengths_size, e->length);
	in->lengths_size += 4;
	memcpy(in->text + in->text_size, text, length);
	in->text_size += length;
	*id_out = e->id;
	return 0;
}

uint32_t hg_intern_pending_count(const struct hg_intern *in)
{
	return in->next_id - in->first_pending;
}

size_t hg_intern_pending(const struct hg_intern *in)
{
	return in->lengths_size ? 8 + in->lengths_size + in->text_size : 0;
}

int hg_intern_take(struct hg_intern *in, uint8_t **out, size_t *size_out, uint32_t *count_out)
{
	size_t size = hg_intern_pending(in);
	uint8_t *raw;

	if (!size)
		return -ENOENT;
	raw = malloc(size);
	if (!raw)
		return -ENOMEM;
	hg_put32(raw, in->first_pending);
	hg_put32(raw + 4, hg_intern_pending_count(in));
	memcpy(raw + 8, in->lengths, in->lengths_size);
	memcpy(raw + 8 + in->lengths_size, in->text, in->text_size);
	*out = raw;
	*size_out = size;
	*count_out = hg_intern_pending_count(in);
	in->first_pending = in->next_id;
	in->lengths_size = in->text_size = 0;
	return 0;
}
