/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A consumer of one BPF ring buffer, with a budget: libbpf's goes on as long as there are records, and
 * a loop without a bound starves the rest of the collector. Used by the drain only.
 * Layout: Documentation/bpf/ringbuf.rst, kernel/bpf/ringbuf.c.
 */
#ifndef HG_PROBES_RING_H
#define HG_PROBES_RING_H

#include <stddef.h>
#include <stdint.h>

struct hg_ring {
	int fd; /* -1: this CPU has none */
	size_t size_bytes;
	uint64_t *consumer_pos;       /* own page, writable */
	const uint64_t *producer_pos; /* page, followed by the data twice */
	const uint8_t *data;
	size_t fill_max_bytes;
};

#define HG_RING_NONE ((struct hg_ring){.fd = -1})

/* Creates and maps a ring; size is a power of two and of pages. 0 or -errno, with *out untouched. */
int hg_ring_create(size_t size_bytes, struct hg_ring *out);
void hg_ring_free(struct hg_ring *ring);

/* Bytes that wait. */
size_t hg_ring_fill(struct hg_ring *ring);
uint64_t hg_ring_produced(const struct hg_ring *ring);
uint64_t hg_ring_consumed(const struct hg_ring *ring);

/* The next record, or NULL when there is none; size in *size_out. Valid until hg_ring_advance(). */
const void *hg_ring_peek(struct hg_ring *ring, size_t *size_out);
void hg_ring_advance(struct hg_ring *ring, size_t size);

#endif
