/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probes_ring.h"

#include <errno.h>

#include "base/hg_base.h"

static const uint16_t event_bytes[HG_EV_COUNT] = {
	[HG_EV_SWITCH] = sizeof(struct hg_ev_switch),
	[HG_EV_BLOCK] = sizeof(struct hg_ev_block),
	[HG_EV_WAKEUP] = sizeof(struct hg_ev_wakeup),
	[HG_EV_SOFTIRQ] = sizeof(struct hg_ev_softirq),
	[HG_EV_IRQ] = sizeof(struct hg_ev_softirq),
	[HG_EV_MIGRATE] = sizeof(struct hg_ev_migrate),
	[HG_EV_FORK] = sizeof(struct hg_ev_fork),
	[HG_EV_EXEC] = sizeof(struct hg_ev_exec),
	[HG_EV_EXIT] = sizeof(struct hg_ev_exit),
	[HG_EV_AFFINITY] = sizeof(struct hg_ev_affinity),
	[HG_EV_TASK] = sizeof(struct hg_ev_task),
	[HG_EV_RENAME] = sizeof(struct hg_ev_rename),
	[HG_EV_ROLE] = sizeof(struct hg_ev_role),
	[HG_EV_CONTENTION] = sizeof(struct hg_ev_contention),
	[HG_EV_SAMPLE] = sizeof(struct hg_ev_sample),
	[HG_EV_SAMPLE_STACK] = sizeof(struct hg_ev_sample_stack),
	[HG_EV_SAMPLE_CODE] = sizeof(struct hg_ev_sample_code),
	[HG_EV_BLOCK_IO] = sizeof(struct hg_ev_block_io),
	[HG_EV_WAIT_STACK] = sizeof(struct hg_ev_wait_stack),
};

size_t hg_event_bytes(unsigned int type)
{
	return type < HG_EV_COUNT ? event_bytes[type] : 0;
}

uint64_t hg_ring_produced(const struct hg_ring *ring)
{
	return __atomic_load_n(&ring->area->head, __ATOMIC_ACQUIRE);
}

uint64_t hg_ring_consumed(const struct hg_ring *ring)
{
	return ring->area->tail;
}

size_t hg_ring_fill(struct hg_ring *ring)
{
	size_t fill = (size_t)(hg_ring_produced(ring) - hg_ring_consumed(ring));

	ring->fill_max_bytes = HG_MAX(ring->fill_max_bytes, fill);
	return fill;
}

static const struct hg_event_head *record_at(const uint8_t *data, size_t size, uint64_t tail,
					     uint64_t head, int *rc)
{
	const struct hg_event_head *rec = (const void *)(data + (tail & (size - 1)));
	size_t bytes;

	if (tail == head)
		return NULL;
	bytes = hg_event_bytes(rec->type);
	if (!bytes || bytes > head - tail) {
		*rc = -EPROTO;
		return NULL;
	}
	return rec;
}

const struct hg_event_head *hg_ring_peek(struct hg_ring *ring, int *side_out, int *rc_out)
{
	struct hg_ring_area *area = ring->area;
	uint64_t side_head = __atomic_load_n(&area->side_head, __ATOMIC_ACQUIRE);
	const struct hg_event_head *main_rec, *side_rec;

	*rc_out = 0;
	main_rec =
		record_at(area->data, ring->size_bytes, area->tail, hg_ring_produced(ring), rc_out);
	side_rec = record_at(area->side, HG_RING_SIDE_BYTES, area->side_tail, side_head, rc_out);
	if (*rc_out)
		return NULL;
	*side_out = side_rec && (!main_rec || side_rec->time_ns < main_rec->time_ns);
	return *side_out ? side_rec : main_rec;
}

void hg_ring_advance(struct hg_ring *ring, const struct hg_event_head *head, int side)
{
	uint64_t *tail = side ? &ring->area->side_tail : &ring->area->tail;

	__atomic_store_n(tail, *tail + hg_event_bytes(head->type), __ATOMIC_RELEASE);
}
