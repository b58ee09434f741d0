/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which context this CPU is now: from flags that the softirq, irq and timer probes keep.
 */
#ifndef HG_CONTEXT_BPF_H
#define HG_CONTEXT_BPF_H

#include "probes/hg_task.bpf.h"

/* A softirq that begins this soon after a hard interrupt ended was run by irq_exit(). */
#define HG_IRQ_EXIT_NS 1000

/* Only for kernel threads; once a switch. */
HG_CALLED int hg_current_kind(struct hg_cpu *c)
{
	char comm[HG_COMM_BYTES] = {};

	if (c->cur_kind)
		return c->cur_kind;
	bpf_get_current_comm(comm, sizeof(comm));
	if (*(u64 *)comm == *(u64 *)"ksoftirq")
		c->cur_kind = HG_CUR_KSOFTIRQD;
	else if (*(u32 *)comm == *(u32 *)"napi" && comm[4] == '/')
		c->cur_kind = HG_CUR_NAPI;
	else
		c->cur_kind = HG_CUR_OTHER;
	return c->cur_kind;
}

/* enum hg_wake_ctx of a softirq that begins now. */
HG_INLINE u32 hg_softirq_context(struct hg_cpu *c, u64 now)
{
	/* The idle task sends nothing. */
	if (c->cur_idle)
		return HG_CTX_SOFTIRQ_IRQ;
	if (c->cur_kthread && hg_current_kind(c) == HG_CUR_KSOFTIRQD)
		return HG_CTX_KSOFTIRQD;
	return now - c->irq_exit_ns < HG_IRQ_EXIT_NS ? HG_CTX_SOFTIRQ_IRQ : HG_CTX_SOFTIRQ_OWN;
}

/* enum hg_wake_ctx of what a timer's interrupt, in which we are, has interrupted. */
HG_INLINE u32 hg_interrupted_context(struct hg_cpu *c)
{
	if (c->sirq_vec == 1 + 1 || c->sirq_vec == 8 + 1) /* TIMER_SOFTIRQ, HRTIMER_SOFTIRQ */
		return HG_CTX_TIMER;
	if (c->sirq_vec)
		return c->sirq_ctx;
	if (c->cur_kthread && hg_current_kind(c) == HG_CUR_NAPI)
		return HG_CTX_NAPI_THREAD;
	return HG_CTX_TASK;
}

/* enum hg_wake_ctx of a wakeup now. */
HG_INLINE u32 hg_wake_context(struct hg_cpu *c)
{
	if (c->hrtimer || c->irq_kind == HG_IRQ_TICK)
		return HG_CTX_TIMER;
	if (c->irq_kind)
		return HG_CTX_IRQ;
	if (c->sirq_vec == 1 + 1 || c->sirq_vec == 8 + 1) /* TIMER_SOFTIRQ, HRTIMER_SOFTIRQ */
		return HG_CTX_TIMER;
	if (c->sirq_vec)
		return c->sirq_ctx;
	if (c->cur_idle)
		return HG_CTX_IDLE;
	if (c->cur_kthread && hg_current_kind(c) == HG_CUR_NAPI)
		return HG_CTX_NAPI_THREAD;
	return HG_CTX_TASK;
}

#endif
