/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Putting records into this CPU's ring: order, losses, waking the collector.
 */
#ifndef HG_RING_BPF_H
#define HG_RING_BPF_H

#include "probes/hg_maps.bpf.h"

#define HG_INLINE static __attribute__((always_inline)) inline
#define HG_CALLED static __attribute__((noinline)) /* rare, or large and used often */
#define barrier() asm volatile("" ::: "memory")

HG_INLINE struct hg_cpu *hg_cpu_this(u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&hg_cpu_states, cpu);
}

HG_INLINE void hg_loss_count(struct hg_cpu *c, u32 probe, u64 time_ns)
{
	if (probe >= HG_P_COUNT)
		return;
	c->lost[probe]++;
	if (!c->lost_since_ns[probe])
		c->lost_since_ns[probe] = time_ns;
}

HG_INLINE u32 hg_event_probe(u32 type)
{
	if (type == HG_EV_CONTENTION)
		return HG_P_CONTENTION;
	return type == HG_EV_IRQ ? HG_P_IRQ : HG_P_SOFTIRQ;
}

/* Looked at every 64th record, which a ring of 4096 bytes can still take: wakes the collector once. */
HG_CALLED int hg_bell_check(struct hg_cpu *c, struct hg_ring_area *r)
{
	u64 now = 0;

	c->tail_seen = *(volatile u64 *)&r->tail;
	if (r->head - c->tail_seen <= hg_ring_bytes / 2) {
		c->bell_rung = 0;
	} else if (!c->bell_rung) {
		c->bell_rung = 1;
		bpf_ringbuf_output(&hg_bell, &now, sizeof(now), BPF_RB_FORCE_WAKEUP);
	}
	return 0;
}

/* size is a constant, a multiple of 8. */
HG_INLINE void hg_record_copy(u8 *to, const void *from, u64 size)
{
	const u64 *src = from;
	u64 *dst = (u64 *)to;

#pragma clang loop unroll(full)
	for (u64 i = 0; i < size / 8; i++)
		dst[i] = src[i];
}

/* size is a constant. 0, or -1 when the ring is full. The caller holds c->busy. */
HG_INLINE int hg_ring_write(struct hg_cpu *c, struct hg_ring_area *r, const void *rec, u64 size)
{
	u64 pos = r->head;

	if (pos + size - c->tail_seen > hg_ring_bytes) {
		c->tail_seen = *(volatile u64 *)&r->tail;
		if (pos + size - c->tail_seen > hg_ring_bytes) {
			hg_bell_check(c, r);
			return -1;
		}
	}
	hg_record_copy(r->data + (pos & (hg_ring_bytes - 8)), rec, size);
	barrier();
	*(volatile u64 *)&r->head = pos + size;
	if ((++c->events & 63) == 0)
		hg_bell_check(c, r);
	return 0;
}

HG_INLINE int hg_side_write(struct hg_cpu *c, struct hg_ring_area *r, const void *rec, u64 size)
{
	u64 pos = r->side_head;

	if (c->side_busy || pos + size - *(volatile u64 *)&r->side_tail > HG_RING_SIDE_BYTES)
		return -1;
	c->side_busy = 1;
	barrier();
	hg_record_copy(r->side + (pos & (HG_RING_SIDE_BYTES - 8)), rec, size);
	barrier();
	*(volatile u64 *)&r->side_head = pos + size;
	c->side_busy = 0;
	return 0;
}

HG_INLINE void hg_contention_fill(struct hg_ev_contention *ev, const struct hg_pending *run)
{
	ev->time_ns = run->last_ns;
	ev->type = HG_EV_CONTENTION;
	ev->ctx = run->ctx;
	ev->flags = run->vec;
	ev->lane = run->lane;
	ev->lock = run->lock;
	ev->dur_ns = run->dur_ns;
	ev->span_ns = run->last_ns - run->first_ns;
	ev->count = run->count;
	ev->begins = run->nr * run->count;
	ev->stack = 0;
	ev->pad = 0;
}

HG_CALLED int hg_contention_flush(struct hg_cpu *c, struct hg_ring_area *r)
{
	struct hg_ev_contention ev;

	hg_contention_fill(&ev, &c->pending);
	c->pending.count = 0;
	if (hg_ring_write(c, r, &ev, sizeof(ev)))
		hg_loss_count(c, HG_P_CONTENTION, ev.time_ns);
	return 0;
}

/* Writes out the run of softirqs, irqs or waits for a lock that was held back. The caller holds c->busy. */
HG_CALLED int hg_pending_flush(struct hg_cpu *c, struct hg_ring_area *r)
{
	struct hg_ev_softirq ev;

	if (c->pending.type == HG_EV_CONTENTION)
		return hg_contention_flush(c, r);

	ev.time_ns = c->pending.last_ns;
	ev.type = c->pending.type;
	ev.ctx = c->pending.ctx;
	ev.vec = c->pending.vec;
	ev.lane = c->pending.lane;
	ev.nr = c->pending.nr;
	ev.dur_ns = c->pending.dur_ns;
	ev.span_ns = c->pending.last_ns - c->pending.first_ns;
	ev.count = c->pending.count;
	c->pending.count = 0;
	if (hg_ring_write(c, r, &ev, sizeof(ev)))
		hg_loss_count(c, hg_event_probe(ev.type), ev.time_ns);
	return 0;
}

/*
 * Puts a record into this CPU's ring; 0, or -1 when there was no room. What was held back goes first, so
 * that times do not decrease.
 */
HG_INLINE int hg_ring_put(struct hg_cpu *c, u32 cpu, const void *rec, u64 size)
{
	struct hg_ring_area *r = bpf_map_lookup_elem(&hg_rings, &cpu);
	int rc;

	if (!r)
		return -1;
	if (c->busy)
		return hg_side_write(c, r, rec, size);
	c->busy = 1;
	barrier();
	if (c->pending.count)
		hg_pending_flush(c, r);
	rc = hg_ring_write(c, r, rec, size);
	barrier();
	c->busy = 0;
	return rc;
}

HG_INLINE int hg_emit(struct hg_cpu *c, u32 cpu, const void *rec, u64 size, u32 probe, u64 time_ns)
{
	int rc = hg_ring_put(c, cpu, rec, size);

	if (rc)
		hg_loss_count(c, probe, time_ns);
	return rc;
}

#endif
