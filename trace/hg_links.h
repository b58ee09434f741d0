/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For each row of a table the row before it with the same key: what HG_ENC_KEYED takes the
 * difference to. Used by the encoder and the decoder of columns only.
 */
#ifndef HG_LINKS_H
#define HG_LINKS_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, then free. Kept from table to table. */
struct hg_links {
	uint32_t *before; /* by row: row + 1 of the one before, 0 if there is none */
	size_t before_cap;
	uint32_t *buckets;
	size_t buckets_cap;
	uint64_t multiplier; /* random: a hostile file must not choose the buckets */
};

/* keys[i * stride] is row i's key. 0 or -ENOMEM. */
int hg_links_make(struct hg_links *l, const uint64_t *keys, size_t stride, uint32_t count);
void hg_links_free(struct hg_links *l);

#endif
