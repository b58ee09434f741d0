/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hard interrupts: devices, the local timer, calls from other CPUs; and timers that expire. They
 * also tell the other probes in which context the CPU is.
 */
#ifndef HG_IRQ_BPF_H
#define HG_IRQ_BPF_H

#include "probes/softirq.bpf.h"

HG_INLINE int hg_irq_enter(u32 kind)
{
	u64 now = bpf_ktime_get_ns();
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	c->irq_start_ns = now;
	c->irq_kind = kind;
	return 0;
}

/* nr: HG_IRQ_* or the Linux number; no record for calls from other CPUs. */
HG_INLINE int hg_irq_leave(u32 kind, u32 nr, u32 probe)
{
	u64 now = bpf_ktime_get_ns();
	struct hg_pending one = {.last_ns = now, .count = 1, .nr = nr, .type = HG_EV_IRQ};
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c || c->irq_kind != kind)
		return 0;
	c->irq_kind = HG_IRQ_NONE;
	c->irq_exit_ns = now;
	one.first_ns = c->irq_start_ns;
	one.dur_ns = now - c->irq_start_ns;
	c->irq_ns += one.dur_ns;
	if (c->sirq_vec)
		c->sirq_irq_ns += one.dur_ns;
	if (c->cur_idle)
		c->idle_irq_ns += one.dur_ns;
	if (kind == HG_IRQ_IPI || !hg_interval_wanted(c))
		return 0;
	one.lane = c->cur_lane ? c->cur_lane : hg_current_lane(c, cpu, now);
	if (one.lane)
		hg_interval_add(c, cpu, &one);
	else
		hg_loss_count(c, probe, now);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(hg_irq_entry, int irq)
{
	return hg_irq_enter(HG_IRQ_DEVICE);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(hg_irq_exit, int irq)
{
	return hg_irq_leave(HG_IRQ_DEVICE, irq, HG_P_IRQ);
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(hg_local_timer_entry, int vector)
{
	return hg_irq_enter(HG_IRQ_TICK);
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(hg_local_timer_exit, int vector)
{
	return hg_irq_leave(HG_IRQ_TICK, HG_IRQ_LOCAL_TIMER, HG_P_LOCAL_TIMER);
}

SEC("tp_btf/call_function_entry")
int BPF_PROG(hg_call_entry, int vector)
{
	return hg_irq_enter(HG_IRQ_IPI);
}

SEC("tp_btf/call_function_exit")
int BPF_PROG(hg_call_exit, int vector)
{
	return hg_irq_leave(HG_IRQ_IPI, 0, HG_P_IPI);
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(hg_call_single_entry, int vector)
{
	return hg_irq_enter(HG_IRQ_IPI);
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(hg_call_single_exit, int vector)
{
	return hg_irq_leave(HG_IRQ_IPI, 0, HG_P_IPI);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hg_hrtimer_entry)
{
	u32 cpu;
	struct hg_cpu *c = hg_cpu_this(&cpu);

	if (c)
		c->hrtimer = 1;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hg_hrtimer_exit)
{
	u32 cpu;
	struct hg_cpu *c = hg_cpu_this(&cpu);

	if (c)
		c->hrtimer = 0;
	return 0;
}

#endif
