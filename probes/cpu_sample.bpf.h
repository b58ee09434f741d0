/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of members that run, by perf's clock: in user space, in the kernel, or spinning for one of the
 * kernel's locks. A CPU that spins in a spinlock's pending bit, in a virtual machine's test-and-set
 * spinlock or on the owner of an rwsem begins no contention: only here it shows.
 */
#ifndef HG_CPU_SAMPLE_BPF_H
#define HG_CPU_SAMPLE_BPF_H

#include "probes/hg_context.bpf.h"

/* Code in which the kernel spins; set by the collector from kallsyms. */
const volatile u64 hg_spin_begin_ip[HG_SPIN_RANGES] = {};
const volatile u64 hg_spin_end_ip[HG_SPIN_RANGES] = {};
const volatile u32 hg_sample_period_ns = 0;

HG_INLINE bool hg_ip_spins(u64 ip)
{
	for (int i = 0; i < HG_SPIN_RANGES; i++) {
		if (ip >= hg_spin_begin_ip[i] && ip < hg_spin_end_ip[i])
			return true;
	}
	return false;
}

SEC("perf_event")
int hg_cpu_sample(struct hg_perf_ctx *ctx)
{
	struct hg_ev_sample_stack ev = {.sample.type = HG_EV_SAMPLE};
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c || !hg_current_role(c))
		return 0;
	ev.sample.time_ns = bpf_ktime_get_ns();
	ev.sample.ctx = hg_interrupted_context(c);
	ev.sample.period_ns = hg_sample_period_ns;
	ev.sample.lane = hg_current_lane(c, cpu, ev.sample.time_ns);
	if (!ev.sample.lane) {
		hg_loss_count(c, HG_P_SAMPLE, ev.sample.time_ns);
		return 0;
	}
	ev.sample.where = ctx->cs & 3 ? HG_SAMPLE_USER : HG_SAMPLE_KERNEL;
	if (ev.sample.where == HG_SAMPLE_KERNEL && hg_ip_spins(ctx->ip) &&
	    bpf_get_stack(ctx, ev.ips, sizeof(ev.ips), 0) > 0) {
		ev.sample.type = HG_EV_SAMPLE_STACK;
		ev.sample.where = HG_SAMPLE_SPINS;
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_SAMPLE, ev.sample.time_ns);
	} else {
		hg_emit(c, cpu, &ev.sample, sizeof(ev.sample), HG_P_SAMPLE, ev.sample.time_ns);
	}
	return 0;
}

#endif
