/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks and their lanes: looked up by task_struct, created at first sight in a record, announced once.
 */
#ifndef HG_TASK_BPF_H
#define HG_TASK_BPF_H

#include "probes/hg_ring.bpf.h"

/* t may be any pointer to a task, also one from bpf_get_current_task(). */
HG_INLINE void hg_task_describe(struct hg_ev_task *ev, struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);

	ev->type = HG_EV_TASK;
	ev->tid = BPF_CORE_READ(t, pid);
	ev->tgid = BPF_CORE_READ(t, tgid);
	ev->ppid = BPF_CORE_READ(t, real_parent, tgid);
	ev->cpus = BPF_CORE_READ(t, nr_cpus_allowed);
	ev->start_ns = BPF_CORE_READ(t, start_boottime);
	ev->cgroup = BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
	ev->flags = BPF_CORE_READ(t, flags) & PF_KTHREAD ? HG_TASKF_KTHREAD : 0;
	bpf_probe_read_kernel(&ev->nstid, sizeof(ev->nstid),
			      (char *)__builtin_preserve_access_index(&pid->numbers[0].nr) +
				      (u64)level * bpf_core_type_size(struct upid));
	BPF_CORE_READ_STR_INTO(&ev->comm, t, comm);
	if (ev->flags && *(u64 *)ev->comm == *(u64 *)"ksoftirq")
		ev->flags |= HG_TASKF_KSOFTIRQD;
}

/*
 * A lane that nobody else gets, now or later. 0 when there is none. An atomic add that returns the value needs
 * 5.12. But if the number grew by one only between two looks, it was we who moved it on, and what was there
 * before is ours alone: who moves it later, or did before, has seen another number. That a lane is not in
 * the map would not tell: its task may have died while we were between our look and our insertion.
 */
HG_CALLED u32 hg_lane_new(u64 key)
{
	volatile u32 *next = &hg_lane_next;

	for (int i = 0; i < 64; i++) {
		u32 lane = *next;

		__sync_fetch_and_add(&hg_lane_next, 1);
		if (*next != lane + 1)
			continue;
		return bpf_map_update_elem(&hg_lanes, &lane, &key, BPF_NOEXIST) ? 0 : lane;
	}
	return 0;
}

HG_CALLED int hg_task_forget(u64 key, struct hg_task *e)
{
	u32 lane = e->lane;
	u32 cpu = e->queued_cpu;
	struct hg_cpu *c;

	if (e->queued_cpu >= 0) {
		c = bpf_map_lookup_elem(&hg_cpu_states, &cpu);
		if (c)
			__sync_fetch_and_add(&c->queued, -1);
	}
	bpf_map_delete_elem(&hg_tasks, &key);
	if (lane)
		bpf_map_delete_elem(&hg_lanes, &lane);
	return 0;
}

/*
 * The start time differs: either the task_struct was freed and reused, which a later start tells, or
 * de_thread() gave an exec'ing thread the start of its leader, which is earlier.
 */
HG_CALLED int hg_task_restarted(u64 key, struct hg_task *e, u64 start_ns)
{
	if (start_ns < e->start_ns) {
		e->start_ns = start_ns;
		return 0;
	}
	hg_task_forget(key, e);
	return 1;
}

HG_INLINE struct hg_task *hg_task_find(struct task_struct *t)
{
	u64 key = (u64)t;
	struct hg_task *e = bpf_map_lookup_elem(&hg_tasks, &key);
	u64 start_ns = t->start_boottime;

	if (e && e->start_ns != start_ns && hg_task_restarted(key, e, start_ns))
		return NULL;
	return e;
}

/* The same of any pointer to a task. */
HG_INLINE struct hg_task *hg_task_find_any(struct task_struct *t)
{
	u64 key = (u64)t;
	struct hg_task *e = bpf_map_lookup_elem(&hg_tasks, &key);
	u64 start_ns = BPF_CORE_READ(t, start_boottime);

	if (e && e->start_ns != start_ns && hg_task_restarted(key, e, start_ns))
		return NULL;
	return e;
}

/* Makes an entry with a lane; NULL when the maps are full. */
HG_CALLED struct hg_task *hg_task_create(u64 key, u64 start_ns, u32 role, u32 target)
{
	struct hg_task e = {.start_ns = start_ns, .queued_cpu = -1, .role = role, .target = target};

	e.lane = hg_lane_new(key);
	if (!e.lane)
		return NULL;
	if (bpf_map_update_elem(&hg_tasks, &key, &e, BPF_NOEXIST)) {
		/* Full; or another CPU was faster, whose entry is as good. */
		bpf_map_delete_elem(&hg_lanes, &e.lane);
	}
	return bpf_map_lookup_elem(&hg_tasks, &key);
}

HG_INLINE u32 hg_role_default(void)
{
	return hg_all ? HG_ROLEF_ALL : 0;
}

/* Puts the TASK record into the ring. 0 when it is there: only then may a record name the lane. */
HG_CALLED int hg_task_announce(struct hg_cpu *c, u32 cpu, struct hg_task *e, struct task_struct *t,
			       u64 now)
{
	struct hg_ev_task ev = {
		.time_ns = now, .role = e->role, .target = e->target, .lane = e->lane};

	hg_task_describe(&ev, t);
	if (hg_ring_put(c, cpu, &ev, sizeof(ev)))
		return -1;
	e->announced = 1;
	return 0;
}

/* The lane of a task in a record that is about to be emitted; HG_LANE_NONE: no room, count a loss. */
HG_INLINE u32 hg_task_lane(struct hg_cpu *c, u32 cpu, struct hg_task *e, struct task_struct *t,
			   u64 now)
{
	if (!e)
		e = hg_task_create((u64)t, BPF_CORE_READ(t, start_boottime), hg_role_default(), 0);
	if (!e || (!e->announced && hg_task_announce(c, cpu, e, t, now)))
		return HG_LANE_NONE;
	return e->lane;
}

/* Who has the CPU: known since the last switch, or looked at now. */
HG_CALLED u32 hg_current_lane(struct hg_cpu *c, u32 cpu, u64 now)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	u64 key = (u64)t;

	if (c->cur_key == key && c->cur_lane)
		return c->cur_lane;
	if (!BPF_CORE_READ(t, pid))
		return HG_LANE_IDLE;
	struct hg_task *e = bpf_map_lookup_elem(&hg_tasks, &key);
	u32 lane = hg_task_lane(c, cpu, e, t, now);

	if (lane && c->cur_key == key)
		c->cur_lane = lane;
	return lane;
}

HG_INLINE struct hg_task *hg_current_task(void)
{
	u64 key = bpf_get_current_task();

	return bpf_map_lookup_elem(&hg_tasks, &key);
}

/* What has the CPU, for rare events: right also where the kernel hid a switch from tracepoints. */
HG_INLINE u32 hg_current_role(struct hg_cpu *c)
{
	struct hg_task *e;

	if (hg_all)
		return HG_ROLEF_ALL;
	if (c->cur_key == (u64)bpf_get_current_task())
		return c->cur_role;
	e = hg_current_task();
	return e ? e->role : 0;
}

HG_INLINE struct hg_cpu *hg_cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&hg_cpu_states, &cpu);
}

/* Level 1: how many level 0 lanes wait on a CPU. The entry remembers where it was counted. */
HG_INLINE void hg_queue_leave(struct hg_task *e)
{
	struct hg_cpu *c;

	if (e->queued_cpu < 0)
		return;
	c = hg_cpu_of(e->queued_cpu);
	e->queued_cpu = -1;
	if (c)
		__sync_fetch_and_add(&c->queued, -1);
}

HG_INLINE void hg_queue_enter(struct hg_task *e, u32 cpu)
{
	struct hg_cpu *c;

	if (!(e->role & HG_ROLE_LEVEL0) || e->queued_cpu == (s32)cpu)
		return;
	hg_queue_leave(e);
	c = hg_cpu_of(cpu);
	if (!c)
		return;
	e->queued_cpu = cpu;
	__sync_fetch_and_add(&c->queued, 1);
}

HG_INLINE u32 hg_task_cpu(struct task_struct *t)
{
	if (bpf_core_field_exists(t->thread_info.cpu))
		return t->thread_info.cpu;
	return ((struct task_struct___oldcpu *)(void *)t)->cpu;
}

HG_INLINE u32 hg_task_state(struct task_struct *t)
{
	struct task_struct___state *now = (void *)t;
	struct task_struct___oldstate *old = (void *)t;

	if (bpf_core_field_exists(now->__state))
		return now->__state;
	return old->state;
}

/* Waits for its group's next period, not for a CPU. */
HG_INLINE bool hg_task_throttled(struct task_struct *t)
{
	struct task_struct___throttled *now = (void *)t;

	if (bpf_core_field_exists(now->throttled) && now->throttled)
		return true;
	if (bpf_core_field_exists(t->se.cfs_rq) &&
	    bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return t->se.cfs_rq->throttle_count > 0;
	return false;
}

/* Is a CPU idle that the task may use? */
HG_INLINE bool hg_task_cpu_idle(struct task_struct *t)
{
	u64 mask[HG_IDLE_WORDS] = {};
	u64 both = hg_idle_bits[0] & t->cpus_mask.bits[0];

	if (hg_idle_words_used > 1) {
		if (bpf_probe_read_kernel(mask, hg_idle_words_used * sizeof(u64) & 127,
					  &t->cpus_mask))
			return both;
		for (u32 i = 1; i < HG_IDLE_WORDS; i++)
			both |= hg_idle_bits[i] & mask[i];
	}
	return both;
}

#endif
