/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of members that run, by perf's clock: in user space, in the kernel, or spinning for one of the
 * kernel's locks. A CPU that spins in a spinlock's pending bit, in a virtual machine's test-and-set
 * spinlock or on the owner of an rwsem begins no contention: only here it shows. Whether code in user space spins, the
 * collector tells from the code and the registers (collector/spin_loop.h).
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

HG_CALLED int hg_sample_code(struct hg_perf_ctx *ctx, struct hg_ev_sample_code *ev)
{
	const u64 half = HG_SAMPLE_CODE_BEFORE;

	if (!ev)
		return 0;
	ev->ip = ctx->ip;
	ev->regs[0] = ctx->ax;
	ev->regs[1] = ctx->cx;
	ev->regs[2] = ctx->dx;
	ev->regs[3] = ctx->bx;
	ev->regs[4] = ctx->sp;
	ev->regs[5] = ctx->bp;
	ev->regs[6] = ctx->si;
	ev->regs[7] = ctx->di;
	ev->regs[8] = ctx->r8;
	ev->regs[9] = ctx->r9;
	ev->regs[10] = ctx->r10;
	ev->regs[11] = ctx->r11;
	ev->regs[12] = ctx->r12;
	ev->regs[13] = ctx->r13;
	ev->regs[14] = ctx->r14;
	ev->regs[15] = ctx->r15;
	/* Two reads: the page before may not be there. What fails is filled with 0. */
	bpf_probe_read_user(ev->code, half, (const void *)(ctx->ip - half));
	bpf_probe_read_user(ev->code + half, HG_SAMPLE_CODE_BYTES - half, (const void *)ctx->ip);
	return 0;
}

SEC("perf_event")
int hg_cpu_sample(struct hg_perf_ctx *ctx)
{
	union {
		struct hg_ev_sample sample;
		struct hg_ev_sample_stack stack;
		struct hg_ev_sample_code code;
	} ev = {.code.sample.type = HG_EV_SAMPLE};
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
	    bpf_get_stack(ctx, ev.stack.ips, sizeof(ev.stack.ips), 0) > 0) {
		ev.sample.type = HG_EV_SAMPLE_STACK;
		ev.sample.where = HG_SAMPLE_SPINS;
		hg_emit(c, cpu, &ev, sizeof(ev.stack), HG_P_SAMPLE, ev.sample.time_ns);
	} else if (ctx->cs == X86_USER_CS) {
		ev.sample.type = HG_EV_SAMPLE_CODE;
		hg_sample_code(ctx, &ev.code);
		hg_emit(c, cpu, &ev, sizeof(ev.code), HG_P_SAMPLE, ev.sample.time_ns);
	} else {
		hg_emit(c, cpu, &ev, sizeof(ev.sample), HG_P_SAMPLE, ev.sample.time_ns);
	}
	return 0;
}

#endif
