/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Softirqs: one record at the exit, short ones in a row together. Nine of ten events of a network
 * benchmark on loopback are these: the way of a short one is as short as it can be.
 */
#ifndef HG_SOFTIRQ_BPF_H
#define HG_SOFTIRQ_BPF_H

#include "probes/hg_context.bpf.h"

/*
 * Is an interval on this CPU to be recorded? Its time is taken from a member that runs, or one that waits.
 */
HG_INLINE bool hg_interval_wanted(struct hg_cpu *c)
{
	return hg_all || c->cur_role || c->queued > 0;
}

/* An interval that cannot wait, because an interrupt found the ring busy. */
HG_CALLED int hg_interval_aside(struct hg_cpu *c, struct hg_ring_area *r,
				const struct hg_pending *one)
{
	struct hg_ev_contention wait;
	struct hg_ev_softirq ev = {.time_ns = one->last_ns,
				   .type = one->type,
				   .ctx = one->ctx,
				   .vec = one->vec,
				   .lane = one->lane,
				   .nr = one->nr,
				   .dur_ns = one->dur_ns,
				   .span_ns = one->dur_ns,
				   .count = 1};
	int rc;

	if (one->type == HG_EV_CONTENTION) {
		hg_contention_fill(&wait, one);
		rc = hg_side_write(c, r, &wait, sizeof(wait));
	} else {
		rc = hg_side_write(c, r, &ev, sizeof(ev));
	}
	if (rc)
		hg_loss_count(c, hg_event_probe(ev.type), ev.time_ns);
	return 0;
}

/* One interval more: into the run that is held back if it is like it, else the run goes out first. */
HG_INLINE void hg_interval_add(struct hg_cpu *c, u32 cpu, const struct hg_pending *one)
{
	struct hg_ring_area *r = bpf_map_lookup_elem(&hg_rings, &cpu);
	struct hg_pending *run = &c->pending;

	if (!r)
		return;
	if (c->busy) {
		hg_interval_aside(c, r, one);
		return;
	}
	c->busy = 1;
	barrier();
	if (run->count && one->dur_ns < HG_SHORT_NS && run->lane == one->lane &&
	    run->kind == one->kind && run->nr == one->nr && run->lock == one->lock &&
	    one->last_ns - run->first_ns < HG_RUN_NS_MAX) {
		run->count++;
		run->dur_ns += one->dur_ns;
		run->last_ns = one->last_ns;
	} else {
		if (run->count)
			hg_pending_flush(c, r);
		*run = *one;
		if (one->dur_ns >= HG_SHORT_NS)
			hg_pending_flush(c, r);
	}
	barrier();
	c->busy = 0;
}

/* A long one joins no run: straight into the ring. */
HG_INLINE void hg_softirq_emit(struct hg_cpu *c, u32 cpu, u32 lane, u32 vec, u64 now)
{
	struct hg_ev_softirq ev;

	ev.time_ns = now;
	ev.type = HG_EV_SOFTIRQ;
	ev.ctx = c->sirq_ctx;
	ev.vec = vec;
	ev.lane = lane;
	ev.dur_ns = ev.span_ns = now - c->sirq_start_ns;
	ev.count = 1;
	ev.nr = 0;
	hg_emit(c, cpu, &ev, sizeof(ev), HG_P_SOFTIRQ, now);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(hg_softirq_entry, u32 vec)
{
	u64 now = bpf_ktime_get_ns();
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	c->sirq_start_ns = now;
	c->sirq_irq_ns = 0;
	c->sirq_ctx = hg_softirq_context(c, now);
	c->sirq_vec = vec + 1;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(hg_softirq_exit, u32 vec)
{
	u64 now = bpf_ktime_get_ns();
	struct hg_pending one;
	struct hg_cpu *c;
	u64 dur_ns, own_ns;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c || c->sirq_vec != vec + 1)
		return 0;
	c->sirq_vec = 0;
	/* The next vector of the same irq_exit() follows at once. */
	if (c->sirq_ctx == HG_CTX_SOFTIRQ_IRQ)
		c->irq_exit_ns = now;
	dur_ns = now - c->sirq_start_ns;
	own_ns = dur_ns - c->sirq_irq_ns;
	c->softirq_ns += own_ns;
	if (c->cur_idle)
		c->idle_irq_ns += own_ns;
	if (!hg_interval_wanted(c))
		return 0;
	one.lane = c->cur_lane ? c->cur_lane : hg_current_lane(c, cpu, now);
	if (!one.lane) {
		hg_loss_count(c, HG_P_SOFTIRQ, now);
		return 0;
	}
	if (dur_ns >= HG_SHORT_NS) {
		hg_softirq_emit(c, cpu, one.lane, vec, now);
		return 0;
	}
	one.first_ns = c->sirq_start_ns;
	one.last_ns = now;
	one.dur_ns = dur_ns;
	one.count = 1;
	one.nr = 0;
	one.lock = 0;
	one.vec = vec;
	one.type = HG_EV_SOFTIRQ;
	one.ctx = c->sirq_ctx;
	hg_interval_add(c, cpu, &one);
	return 0;
}

#endif
