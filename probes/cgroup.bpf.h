/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Membership by cgroup: looked up when a task is found at attach, when it is forked into another cgroup
 * than its parent's, and when it is moved; inherited otherwise.
 */
#ifndef HG_CGROUP_BPF_H
#define HG_CGROUP_BPF_H

#include "probes/hg_context.bpf.h"

#define HG_CGROUP_LINKS_MAX   32   /* hierarchies; v1 has at most 14 controllers, and named ones */
#define HG_CGROUP_DEPTH_MAX   32   /* cgroups between a task's own and the target */
#define HG_CGROUP_THREADS_MAX 1024 /* of a process that moves; further ones are found by the walk */

/*
 * Global functions, so that the verifier looks at each once; they take addresses, because pointers
 * to types of the kernel cannot be passed to one. Any address will do: all is read by probe reads.
 */

/* For the verifier a pointer becomes a number only by way of memory. */
HG_INLINE u64 hg_address(const void *pointer)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/* Target + 1 of a cgroup: its own, or that of the next one above it. 0: none. */
__attribute__((noinline)) int hg_cgroup_target(u64 address)
{
	struct cgroup *cgrp = (void *)address;
	struct cgroup_subsys_state *parent;
	struct hg_cgroup_key key = {};
	struct hg_root *root;

	key.hierarchy = BPF_CORE_READ(cgrp, root, hierarchy_id);
	for (int i = 0; i < HG_CGROUP_DEPTH_MAX && cgrp; i++) {
		key.id = BPF_CORE_READ(cgrp, kn, id);
		root = bpf_map_lookup_elem(&hg_cgroup_roots, &key);
		if (root)
			return root->target + 1;
		parent = BPF_CORE_READ(cgrp, self.parent);
		cgrp = parent ? BPF_CORE_READ(parent, cgroup) : NULL;
	}
	return 0;
}

/* The same of the cgroups of a task: it is in one of each hierarchy. */
__attribute__((noinline)) int hg_cgroup_task_target(u64 task)
{
	struct css_set *set = BPF_CORE_READ((struct task_struct *)task, cgroups);
	u64 head = (u64)set + bpf_core_field_offset(struct css_set, cgrp_links);
	u64 node = (u64)BPF_CORE_READ(set, cgrp_links.next);

	for (int i = 0; i < HG_CGROUP_LINKS_MAX && node && node != head; i++) {
		struct cgrp_cset_link *link =
			(void *)(node - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link));
		int target = hg_cgroup_target((u64)BPF_CORE_READ(link, cgrp));

		if (target)
			return target;
		node = (u64)BPF_CORE_READ((struct list_head *)node, next);
	}
	return 0;
}

/*
 * What a task is by its cgroup, given what it is: target + 1, or 0. Who is a member as a process of
 * -p or of CMD stays that, whatever its cgroup; root: as which it was found, or NULL.
 */
HG_INLINE u32 hg_cgroup_membership(struct task_struct *t, const struct hg_task *e,
				   const struct hg_root *root)
{
	if (!hg_cgroups || root || (e && e->role & HG_ROLE_LEVEL0 && !e->by_cgroup))
		return 0;
	return hg_cgroup_task_target(hg_address(t));
}

/* A task whose role has changed, as far as its CPU counts on it; its state may be a moment old. */
HG_INLINE void hg_cgroup_queue(struct hg_task *e, struct task_struct *t)
{
	struct task_struct___state *now = (void *)t;
	struct task_struct___oldstate *old = (void *)t;
	struct task_struct___oldcpu *oldcpu = (void *)t;
	u32 state, cpu;
	struct hg_cpu *c;

	if (bpf_core_field_exists(now->__state))
		state = BPF_CORE_READ(now, __state);
	else
		state = BPF_CORE_READ(old, state);
	if (bpf_core_field_exists(t->thread_info.cpu))
		cpu = BPF_CORE_READ(t, thread_info.cpu);
	else
		cpu = BPF_CORE_READ(oldcpu, cpu);
	c = hg_cpu_of(cpu);
	if (c && c->cur_key == (u64)t) {
		c->cur_role = e->role;
		c->cur_target = e->target;
	}
	if (!(e->role & HG_ROLE_LEVEL0))
		hg_queue_leave(e);
	else if (!state && !BPF_CORE_READ(t, on_cpu))
		hg_queue_enter(e, cpu);
}

/* One task of those that moved: from now on it is what its new cgroups say. */
__attribute__((noinline)) int hg_cgroup_task_moved(u64 task)
{
	struct hg_ev_role ev = {.type = HG_EV_ROLE};
	struct task_struct *t = (void *)task;
	struct hg_task *e = hg_task_find_any(t);
	u32 target, cpu;
	struct hg_cpu *c;

	c = hg_cpu_this(&cpu);
	if (!c || (e && e->role & HG_ROLE_LEVEL0 && !e->by_cgroup))
		return 0;
	target = hg_cgroup_task_target(task);
	if (!target && (!e || !e->by_cgroup))
		return 0;
	if (!e)
		e = hg_task_create(task, BPF_CORE_READ(t, start_boottime), hg_role_default(), 0);
	if (!e) {
		hg_loss_count(c, HG_P_CGROUP, bpf_ktime_get_ns());
		return 0;
	}
	if (e->by_cgroup && target && e->target == target - 1)
		return 0;
	e->role = target ? e->role | HG_ROLEF_TARGET : e->role & ~HG_ROLEF_TARGET;
	e->target = target ? target - 1 : 0;
	e->by_cgroup = !!target;
	/* After it, so that a first record of the task that does not know it is older. */
	ev.time_ns = bpf_ktime_get_ns();
	hg_cgroup_queue(e, t);
	ev.lane = hg_task_lane(c, cpu, e, t, ev.time_ns);
	ev.role = e->role;
	ev.target = e->target;
	if (ev.lane)
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_CGROUP, ev.time_ns);
	else
		hg_loss_count(c, HG_P_CGROUP, ev.time_ns);
	return 0;
}

HG_INLINE int hg_cgroup_moved(struct task_struct *leader, bool threadgroup)
{
	u64 head, node;

	if (!hg_cgroups)
		return 0;
	if (!threadgroup)
		return hg_cgroup_task_moved(hg_address(leader));
	head = hg_address(leader->signal) +
	       bpf_core_field_offset(struct signal_struct, thread_head);
	node = (u64)BPF_CORE_READ(leader, signal, thread_head.next);
	for (int i = 0; i < HG_CGROUP_THREADS_MAX && node && node != head; i++) {
		hg_cgroup_task_moved(node - bpf_core_field_offset(struct task_struct, thread_node));
		node = (u64)BPF_CORE_READ((struct list_head *)node, next);
	}
	return 0;
}

/* After the move; with threadgroup the event names the leader only. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(hg_cgroup_attach, struct cgroup *to, const char *path, struct task_struct *leader,
	     bool threadgroup)
{
	return hg_cgroup_moved(leader, threadgroup);
}

/* v1: a cpuset that loses its last CPU gives its tasks to the cgroup above it. */
SEC("tp_btf/cgroup_transfer_tasks")
int BPF_PROG(hg_cgroup_transfer, struct cgroup *to, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	return hg_cgroup_moved(task, threadgroup);
}

#endif
