/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched_migrate_task of a task that is in a run queue. A sleeper's new CPU is in its wakeup.
 */
#ifndef HG_SCHED_MIGRATE_BPF_H
#define HG_SCHED_MIGRATE_BPF_H

#include "probes/hg_context.bpf.h"

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(hg_sched_migrate, struct task_struct *p, int dest_cpu)
{
	struct hg_ev_migrate ev = {.type = HG_EV_MIGRATE, .to = dest_cpu};
	struct hg_task *e = hg_task_find(p);
	struct hg_cpu *c;
	u32 cpu;

	if (!e || !e->role || hg_task_state(p))
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	if (e->queued_cpu >= 0)
		hg_queue_enter(e, dest_cpu);
	ev.time_ns = bpf_ktime_get_ns();
	ev.from = hg_task_cpu(p);
	ev.lane = hg_task_lane(c, cpu, e, p, ev.time_ns);
	if (ev.lane)
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_MIGRATE, ev.time_ns);
	else
		hg_loss_count(c, HG_P_MIGRATE, ev.time_ns);
	return 0;
}

#endif
