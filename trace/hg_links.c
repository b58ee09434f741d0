/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_links.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hg_base.h"

static int reserve(uint32_t **v, size_t *cap, size_t need)
{
	uint32_t *grown;

	if (need <= *cap)
		return 0;
	grown = realloc(*v, need * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*v = grown;
	*cap = need;
	return 0;
}

int hg_links_make(struct hg_links *l, const uint64_t *keys, size_t stride, uint32_t count)
{
	unsigned int bits = 4;
	size_t mask;

	while ((UINT64_C(1) << bits) < 2 * (uint64_t)count)
		bits++;
	mask = (UINT64_C(1) << bits) - 1;
	if (reserve(&l->before, &l->before_cap, count) ||
	    reserve(&l->buckets, &l->buckets_cap, mask + 1))
		return -ENOMEM;
	if (!l->multiplier) {
		if (getrandom(&l->multiplier, sizeof(l->multiplier), GRND_NONBLOCK) < 0)
			l->multiplier = hg_now_ns();
		l->multiplier |= 1;
	}
	memset(l->buckets, 0, (mask + 1) * sizeof(*l->buckets));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t key = keys[i * stride];
		/* Multiplicative hashing (Dietzfelbinger et al.): universal with a random odd multiplier. */
		size_t b = (size_t)(key * l->multiplier >> (64 - bits));

		while (l->buckets[b] && keys[(l->buckets[b] - 1) * stride] != key)
			b = (b + 1) & mask;
		l->before[i] = l->buckets[b];
		l->buckets[b] = i + 1;
	}
	return 0;
}

void hg_links_free(struct hg_links *l)
{
	free(l->before);
	free(l->buckets);
	*l = (struct hg_links){0};
}
