/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched_waking runs on the waker's CPU; sched_wakeup, when the task is in a run queue, may run on the
 * wakee's own CPU in an interrupt (ttwu_queue_wakelist()). So waking notes the waker, wakeup records.
 */
#ifndef HG_SCHED_WAKEUP_BPF_H
#define HG_SCHED_WAKEUP_BPF_H

#include "probes/hg_context.bpf.h"

HG_INLINE u64 hg_waker_now(struct hg_cpu *c, u32 cpu, u64 now)
{
	u32 lane = hg_current_lane(c, cpu, now);

	if (!lane)
		return 0;
	return HG_WAKING(lane, hg_wake_context(c), c->sirq_vec, !!c->cur_role);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(hg_sched_waking, struct task_struct *p)
{
	struct hg_task *e = hg_task_find(p);
	struct hg_cpu *c;
	u32 cpu;

	if (!e || !e->role)
		return 0;
	c = hg_cpu_this(&cpu);
	if (c)
		e->waking = hg_waker_now(c, cpu, c->cur_lane ? 0 : bpf_ktime_get_ns());
	return 0;
}

HG_INLINE void hg_affinity_check(struct hg_cpu *c, u32 cpu, struct hg_task *e,
				 struct task_struct *p, u64 now)
{
	struct hg_ev_affinity ev = {.time_ns = now, .type = HG_EV_AFFINITY, .lane = e->lane};

	ev.mask0 = p->cpus_mask.bits[0];
	ev.count = p->nr_cpus_allowed;
	if (ev.mask0 == e->mask0 && ev.count == e->cpus)
		return;
	if (!hg_emit(c, cpu, &ev, sizeof(ev), HG_P_WAKEUP, now)) {
		e->mask0 = ev.mask0;
		e->cpus = ev.count;
	}
}

HG_INLINE int hg_wakeup(struct hg_task *e, struct task_struct *p, u32 flags)
{
	struct hg_ev_wakeup ev = {.type = HG_EV_WAKEUP};
	u64 now, waking = e->waking;
	struct hg_cpu *c;
	u32 cpu;

	e->waking = 0;
	/* It had not left its CPU yet and runs on: it never was runnable, nor waits. */
	if (p->on_cpu)
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	ev.cpu = hg_task_cpu(p);
	if (hg_task_throttled(p))
		flags |= HG_WAKEUPF_THROTTLED;
	else
		hg_queue_enter(e, ev.cpu);
	ev.time_ns = now;
	ev.lane = hg_task_lane(c, cpu, e, p, now);
	if (!(waking & HG_WAKING_VALID))
		waking = hg_waker_now(c, cpu, now);
	if (!ev.lane || !(waking & HG_WAKING_VALID)) {
		hg_loss_count(c, HG_P_WAKEUP, now);
		return 0;
	}
	ev.waker = waking;
	ev.ctx = waking >> 32;
	ev.vec = waking >> 40;
	if (waking >> 48 & 1)
		flags |= HG_EVF_MEMBER;
	if (e->role & HG_ROLE_LEVEL0)
		flags |= HG_EVF_LEVEL0;
	if (hg_task_cpu_idle(p))
		flags |= HG_WAKEUPF_IDLE_CPU;
	ev.flags = flags;
	hg_affinity_check(c, cpu, e, p, now);
	hg_emit(c, cpu, &ev, sizeof(ev), HG_P_WAKEUP, now);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(hg_sched_wakeup, struct task_struct *p)
{
	struct hg_task *e = hg_task_find(p);

	if (!e && hg_all && p->pid)
		e = hg_task_create((u64)p, p->start_boottime, HG_ROLEF_ALL, 0);
	if (!e || !e->role)
		return 0;
	return hg_wakeup(e, p, 0);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(hg_sched_wakeup_new, struct task_struct *p)
{
	struct hg_task *e = hg_task_find(p), *leader;
	u64 key;

	/* vhost and io_uring workers join a process without sched_process_fork (create_io_thread()). */
	if (!e) {
		key = (u64)p->group_leader;
		leader = bpf_map_lookup_elem(&hg_tasks, &key);
		if (leader && leader->role & (HG_ROLE_LEVEL0 | HG_ROLEF_ALL)) {
			e = hg_task_create((u64)p, p->start_boottime,
					   leader->role & ~HG_ROLEF_PROMOTED, leader->target);
			if (e)
				e->by_cgroup = leader->by_cgroup;
		} else if (hg_all)
			e = hg_task_create((u64)p, p->start_boottime, HG_ROLEF_ALL, 0);
	}
	if (!e || !e->role)
		return 0;
	return hg_wakeup(e, p, HG_WAKEUPF_NEW);
}

#endif
