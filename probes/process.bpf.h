/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork, exec, rename: membership is inherited, names have versions.
 */
#ifndef HG_PROCESS_BPF_H
#define HG_PROCESS_BPF_H

#include "probes/cgroup.bpf.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(hg_fork, struct task_struct *parent, struct task_struct *child)
{
	struct hg_ev_fork ev = {.type = HG_EV_FORK};
	struct hg_task *pe = hg_task_find(parent), *ce;
	u32 cpu, role = 0, target = 0, by_cgroup = 0;
	struct hg_cpu *c;

	if (pe) {
		role = pe->role & ~HG_ROLEF_PROMOTED;
		target = pe->target;
		by_cgroup = pe->by_cgroup;
	}
	/* CLONE_INTO_CGROUP: the child is not where its parent is. */
	if (hg_cgroups && child->cgroups != parent->cgroups &&
	    (by_cgroup || !(role & HG_ROLE_LEVEL0))) {
		u32 own = hg_cgroup_task_target(hg_address(child));

		by_cgroup = !!own;
		target = own ? own - 1 : 0;
		role = own ? role | HG_ROLEF_TARGET : role & ~HG_ROLEF_TARGET;
	}
	if (!role && !hg_all)
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ce = hg_task_create((u64)child, child->start_boottime, role ? role : HG_ROLEF_ALL, target);
	if (ce)
		ce->by_cgroup = by_cgroup;
	ev.parent = parent->pid ? hg_task_lane(c, cpu, pe, parent, ev.time_ns) : HG_LANE_IDLE;
	ev.child = hg_task_lane(c, cpu, ce, child, ev.time_ns);
	if (ev.parent && ev.child)
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_FORK, ev.time_ns);
	else
		hg_loss_count(c, HG_P_FORK, ev.time_ns);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(hg_exec, struct task_struct *p, pid_t old_tid, struct linux_binprm *bprm)
{
	struct hg_ev_exec ev = {.type = HG_EV_EXEC, .tid = p->pid, .old_tid = old_tid};
	struct hg_task *e = hg_task_find(p);
	struct hg_cpu *c;
	u32 cpu;

	if (!e)
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	BPF_CORE_READ_STR_INTO(&ev.comm, p, comm);
	bpf_probe_read_kernel_str(ev.exe, sizeof(ev.exe), BPF_CORE_READ(bprm, filename));
	ev.lane = hg_task_lane(c, cpu, e, p, ev.time_ns);
	if (ev.lane)
		hg_emit(c, cpu, &ev, sizeof(ev), HG_P_EXEC, ev.time_ns);
	else
		hg_loss_count(c, HG_P_EXEC, ev.time_ns);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(hg_rename, struct task_struct *p, const char *comm)
{
	struct hg_ev_rename ev = {.type = HG_EV_RENAME};
	struct hg_task *e = hg_task_find(p);
	struct hg_cpu *c;
	u32 cpu;

	/* Before its announcement a task needs no new name: the announcement has it. */
	if (!e || !e->announced)
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ev.lane = e->lane;
	bpf_probe_read_kernel_str(ev.comm, sizeof(ev.comm), comm);
	hg_emit(c, cpu, &ev, sizeof(ev), HG_P_RENAME, ev.time_ns);
	return 0;
}

#endif
