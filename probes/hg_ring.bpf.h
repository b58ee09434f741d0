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

/* 0, or negative when the ring is full: the caller counts. */
HG_INLINE long hg_ring_put(struct hg_cpu *c, u32 cpu, void *rec, u64 size)
{
	void *ring = bpf_map_lookup_elem(&hg_rings, &cpu);
	u64 flags = BPF_RB_NO_WAKEUP;

	if (!ring)
		return -1;
	if ((++c->events & 63) == 0 && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > hg_ring_half_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_output(ring, rec, size, flags);
}

/*
 * Writes out the run of softirqs or irqs that was held back, so that the next record is not earlier
 * than the ring's last. An interrupt that hits while the run is being changed leaves it alone.
 */
HG_CALLED int hg_pending_flush(struct hg_cpu *c, u32 cpu)
{
	struct hg_ev_softirq ev = {};

	if (!c->pending.count || c->pending_busy)
		return 0;
	c->pending_busy = 1;
	barrier();
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
	barrier();
	c->pending_busy = 0;
	if (hg_ring_put(c, cpu, &ev, sizeof(ev)))
		hg_loss_count(c, ev.type == HG_EV_IRQ ? HG_P_IRQ : HG_P_SOFTIRQ, ev.time_ns);
	return 0;
}

HG_INLINE int hg_emit(struct hg_cpu *c, u32 cpu, void *rec, u64 size, u32 probe, u64 time_ns)
{
	if (c->pending.count)
		hg_pending_flush(c, cpu);
	if (hg_ring_put(c, cpu, rec, size)) {
		hg_loss_count(c, probe, time_ns);
		return -1;
	}
	return 0;
}

#endif
