/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector's side of the rings (struct hg_ring_area in probes/hg_event.h): peek and advance, the
 * side ring's records merged in by time. Used by the drain only.
 */
#ifndef HG_PROBES_RING_H
#define HG_PROBES_RING_H

#include <stddef.h>
#include <stdint.h>

#include "probes/hg_event.h"

struct hg_ring {
	struct hg_ring_area *area; /* the kernel's, mapped */
	size_t size_bytes;
	size_t fill_max_bytes;
};

/* A record's first fields. */
struct hg_event_head {
	uint64_t time_ns;
	uint8_t type, flags;
};

/* The size of a record by its type; 0 if there is no such type. */
size_t hg_event_bytes(unsigned int type);

/* Bytes that wait in the ring, without the side ring. */
size_t hg_ring_fill(struct hg_ring *ring);

/*
 * The next record by time; NULL when there is none. *side_out: for hg_ring_advance(). The record is valid until
 * then. -EPROTO in *rc_out if the ring holds what no probe writes.
 */
const struct hg_event_head *hg_ring_peek(struct hg_ring *ring, int *side_out, int *rc_out);
void hg_ring_advance(struct hg_ring *ring, const struct hg_event_head *head, int side);

uint64_t hg_ring_produced(const struct hg_ring *ring);
uint64_t hg_ring_consumed(const struct hg_ring *ring);

#endif
