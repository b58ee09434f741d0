/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's string table: what the STRINGS chunks define. Used by hg_reader.c only. */
#ifndef HG_NAMES_H
#define HG_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* All strings of a file: more are left undefined. */
#define HG_NAMES_BYTES_MAX (UINT64_C(256) << 20)

struct hg_names_block;

/* Zero-initialise, then free. */
struct hg_names {
	struct hg_names_block **blocks; /* by first id */
	size_t nblocks, blocks_cap;
	uint64_t bytes;
};

void hg_names_free(struct hg_names *n);
/* Adds a STRINGS payload of count strings. 0, -EBADMSG (nothing is added) or -ENOMEM. */
int hg_names_add(struct hg_names *n, const uint8_t *raw, size_t size, uint32_t count);
/* NULL: not defined. */
const char *hg_names_get(const struct hg_names *n, uint64_t id, size_t *length_out);

#endif
