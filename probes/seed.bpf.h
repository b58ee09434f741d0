/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that the collector runs: the walk over all tasks that finds members and their states at
 * attach, and the promotion of a lane.
 */
#ifndef HG_SEED_BPF_H
#define HG_SEED_BPF_H

#include "probes/cgroup.bpf.h"

/* The root that t belongs to: itself, or an ancestor. */
HG_INLINE struct hg_root *hg_root_of(struct task_struct *t)
{
	struct hg_root *root;

	for (int i = 0; i < HG_ANCESTORS_MAX; i++) {
		u32 tgid = BPF_CORE_READ(t, tgid);

		if (!tgid)
			return NULL;
		root = bpf_map_lookup_elem(&hg_roots, &tgid);
		if (root)
			return root;
		t = BPF_CORE_READ(t, real_parent);
	}
	return NULL;
}

HG_INLINE void hg_seed_state(struct hg_seed_record *rec, struct task_struct *t, struct hg_task *e)
{
	u32 state = hg_task_state(t);
	u64 arg[3] = {};
	struct hg_cpu *c;

	rec->cpu = hg_task_cpu(t);
	if (t->on_cpu) {
		rec->state = HG_SEED_RUNNING;
		c = hg_cpu_of(rec->cpu);
		if (c && c->cur_key == (u64)t) {
			c->cur_role = e->role;
			c->cur_target = e->target;
			c->cur_lane = e->lane;
		}
		return;
	}
	if (!state) {
		rec->state = HG_SEED_RUNNABLE;
		if (!hg_task_throttled(t))
			hg_queue_enter(e, rec->cpu);
		return;
	}
	rec->state = state & TASK_UNINTERRUPTIBLE ? HG_SEED_DISK : HG_SEED_BLOCKED;
	if (hg_task_syscall(t, &rec->sysnr, arg)) {
		rec->sysnr++;
		rec->arg0 = arg[0];
	}
}

/* Must give the same when it is called again for a task: seq_file does so when its buffer is full. */
SEC("iter/task")
int hg_seed(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct hg_seed_record rec = {};
	struct hg_root *root;
	struct hg_task *e;
	u32 role, target = 0, by_cgroup;
	bool out;

	if (!t || t->exit_state)
		return 0;
	root = hg_root_of(t);
	role = hg_role_default();
	e = hg_task_find(t);
	by_cgroup = hg_cgroup_membership(t, e, root);
	if (root) {
		role |= root->role;
		target = root->target;
	} else if (by_cgroup) {
		role |= HG_ROLEF_TARGET;
		target = by_cgroup - 1;
	}
	/* It moved out, and the event was lost. */
	out = e && e->by_cgroup && !by_cgroup;
	if (!role && !out)
		return 0;
	if (!e)
		e = hg_task_create((u64)t, t->start_boottime, role, target);
	if (!e)
		return 0;
	if ((e->role & role) != role) {
		e->role |= role;
		e->target = target;
		e->by_cgroup = !!by_cgroup;
	}
	hg_task_describe(&rec.task, t);
	rec.task.time_ns = bpf_ktime_get_ns();
	rec.task.lane = e->lane;
	rec.task.role = out ? e->role & ~HG_ROLEF_TARGET : e->role;
	rec.task.target = e->target;
	hg_seed_state(&rec, t, e);
	if (bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec)))
		return 0;
	e->announced = 1;
	if (out) {
		e->role &= ~HG_ROLEF_TARGET;
		e->by_cgroup = 0;
		hg_queue_leave(e);
	}
	return 0;
}

SEC("syscall")
int hg_promote(struct hg_promote_args *args)
{
	struct hg_task *e;
	u32 lane = args->lane;
	u64 *key;

	args->result = -3; /* ESRCH */
	key = bpf_map_lookup_elem(&hg_lanes, &lane);
	if (!key)
		return 0;
	e = bpf_map_lookup_elem(&hg_tasks, key);
	if (!e || e->lane != lane)
		return 0;
	e->role |= args->role;
	args->new_role = e->role;
	args->result = 0;
	return 0;
}

#endif
