/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's string table: bytes to ids, and the strings that still have to be
 * written. Used by the writer only; memory is bounded.
 */
#ifndef HG_INTERN_H
#define HG_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* When the strings that are remembered are this many bytes, they are forgotten: later ones get new ids. */
#define HG_INTERN_BYTES_MAX (16u << 20)

struct hg_intern;

int hg_intern_new(struct hg_intern **out);
void hg_intern_free(struct hg_intern *in);

/* length at most HG_STRING_MAX. 0 or -ENOMEM. */
int hg_intern_add(struct hg_intern *in, const char *text, size_t length, uint32_t *id_out);

/* Bytes that hg_intern_take() would give; 0: none are pending. */
size_t hg_intern_pending(const struct hg_intern *in);
uint32_t hg_intern_pending_count(const struct hg_intern *in);
/*
 * The payload of a STRINGS chunk with all pending strings; the caller frees. 0, -ENOENT: none
 * are pending, or -ENOMEM (they stay pending).
 */
int hg_intern_take(struct hg_intern *in, uint8_t **out, size_t *size_out, uint32_t *count_out);

#endif
