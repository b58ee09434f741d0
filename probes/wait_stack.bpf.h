/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where in the kernel a member sleeps: the stack of one wait in a while, of each task. Most waits are like
 * those before them, and a stack costs more than the rest of a switch.
 */
#ifndef HG_WAIT_STACK_BPF_H
#define HG_WAIT_STACK_BPF_H

#include "probes/hg_task.bpf.h"

const volatile u64 hg_wait_stack_period_ns = 0; /* 0: none */

/* In sched_switch, whose current task is the one that blocks; after its switch is in the ring. */
HG_CALLED int hg_wait_stack_take(void *ctx, struct hg_cpu *c, u32 cpu, struct hg_task *e, u64 now)
{
	struct hg_ev_wait_stack ev = {.time_ns = now, .type = HG_EV_WAIT_STACK};

	e->stack_ns = now;
	ev.lane = e->lane;
	if (bpf_get_stack(ctx, ev.ips, sizeof(ev.ips), 0) > 0)
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_WAIT_STACK, now);
	return 0;
}

HG_INLINE bool hg_wait_stack_due(const struct hg_task *e, u64 now)
{
	return hg_wait_stack_period_ns && e->role && now - e->stack_ns >= hg_wait_stack_period_ns;
}

#endif
