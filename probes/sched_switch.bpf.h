/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched_switch: who runs, why the former stops; totals of every CPU; death of a task.
 */
#ifndef HG_SCHED_SWITCH_BPF_H
#define HG_SCHED_SWITCH_BPF_H

#include "probes/hg_context.bpf.h"
#include "probes/wait_stack.bpf.h"

HG_INLINE u32 hg_prev_state(unsigned long long *ctx, struct task_struct *prev)
{
	if (hg_switch_has_state)
		return ctx[3];
	return hg_task_state(prev);
}

/* Time since the last switch belongs to prev, whatever is recorded. */
HG_INLINE void hg_switch_account(struct hg_cpu *c, u32 cpu, u64 now, bool prev_idle, bool next_idle)
{
	u64 bit = 1ULL << (cpu & 63);
	u64 *word = &hg_idle_bits[cpu / 64 & (HG_IDLE_WORDS - 1)];

	if (c->since_ns) {
		if (prev_idle)
			c->idle_ns += now - c->since_ns;
		else
			c->busy_ns += now - c->since_ns;
	}
	c->since_ns = now;
	c->switches++;
	if (prev_idle == next_idle && c->cur_key)
		return;
	if (next_idle && !c->cur_idle && cpu < HG_IDLE_WORDS * 64)
		__sync_fetch_and_add(word, bit);
	if (!next_idle && c->cur_idle && cpu < HG_IDLE_WORDS * 64)
		__sync_fetch_and_add(word, -bit);
}

/*
 * The thread that the waiter's lock word names, in the waiter's pid namespace; 0 unknown.
 * glibc: a contended mutex waits for the value 2 and keeps its owner 8 bytes on. PI and robust
 * mutexes, and musl's, have the owner in the word.
 */
HG_INLINE u32 hg_futex_holder(const u64 *arg)
{
	u32 op = arg[1] & FUTEX_OP_MASK;
	u32 word = 0;

	if (op == FUTEX_WAIT && (u32)arg[2] == 2)
		bpf_probe_read_user(&word, sizeof(word), (void *)(arg[0] + 8));
	else if (op == FUTEX_WAIT && ((u32)arg[2] & FUTEX_WAITERS))
		word = arg[2];
	else if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		bpf_probe_read_user(&word, sizeof(word), (void *)arg[0]);
	return word & FUTEX_TID_MASK;
}

/* Number and arguments of the system call that t is in; false if in none (a page fault has no -ENOSYS in ax). */
HG_INLINE bool hg_task_syscall(struct task_struct *t, u32 *sysnr, u64 *arg)
{
	struct pt_regs *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	if (t->flags & PF_KTHREAD || t->thread_info.status & TS_COMPAT)
		return false;
	regs = (void *)bpf_task_pt_regs(t);
	if ((long)regs->ax != -X86_ENOSYS || (long)regs->orig_ax < 0)
		return false;
	*sysnr = regs->orig_ax;
	arg[0] = regs->di;
	arg[1] = regs->si;
	arg[2] = regs->dx;
	return true;
}

HG_INLINE bool hg_switch_dropped(struct hg_cpu *c)
{
	return hg_drop_one_in && ++c->dropped % hg_drop_one_in == 0;
}

/* A lane that this CPU gives up or gets: introduced if need be. */
HG_INLINE u32 hg_switch_lane(struct hg_cpu *c, u32 cpu, struct hg_task **e, struct task_struct *t,
			     bool idle, u64 now)
{
	if (idle)
		return HG_LANE_IDLE;
	if (!*e)
		*e = hg_task_create((u64)t, t->start_boottime, hg_role_default(), 0);
	if (!*e || (!(*e)->announced && hg_task_announce(c, cpu, *e, t, now)))
		return HG_LANE_NONE;
	return (*e)->lane;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(hg_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct hg_ev_block ev = {.sw.type = HG_EV_SWITCH};
	u64 now = bpf_ktime_get_ns();
	bool prev_idle = !prev->pid, next_idle = !next->pid;
	u32 state = hg_prev_state(ctx, prev);
	bool runnable = preempt || !state;
	struct hg_task *pe = NULL, *ne = NULL;
	struct hg_cpu *c;
	u32 cpu, flags = preempt ? HG_SWITCHF_PREEMPT : 0;

	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	hg_switch_account(c, cpu, now, prev_idle, next_idle);
	/* Preemptible softirqs (PREEMPT_RT) are not followed across a switch. */
	c->sirq_vec = 0;

	if (!prev_idle)
		pe = hg_task_find(prev);
	if (!next_idle) {
		ne = hg_task_find(next);
		if (ne)
			hg_queue_leave(ne);
	}
	if (pe) {
		if (!runnable)
			hg_queue_leave(pe);
		else if (pe->role && hg_task_throttled(prev))
			flags |= HG_SWITCHF_THROTTLED;
		else
			hg_queue_enter(pe, cpu);
	}
	c->cur_key = (u64)next;
	c->cur_idle = next_idle;
	c->cur_kthread = !!(next->flags & PF_KTHREAD);
	c->cur_kind = HG_CUR_UNKNOWN;

	if (hg_all || (pe && pe->role) || (ne && ne->role) || c->queued > 0) {
		if (hg_switch_dropped(c))
			goto out;
		ev.sw.time_ns = now;
		ev.sw.state = state;
		ev.sw.prev = hg_switch_lane(c, cpu, &pe, prev, prev_idle, now);
		ev.sw.next = hg_switch_lane(c, cpu, &ne, next, next_idle, now);
		if (!ev.sw.prev || !ev.sw.next) {
			hg_loss_count(c, HG_P_SWITCH, now);
			goto out;
		}
		if (ne && ne->role) {
			flags |= HG_EVF_MEMBER;
			if (prev_idle || hg_task_cpu_idle(next))
				flags |= HG_SWITCHF_IDLE_CPU;
		}
		if (c->queued > 0)
			flags |= HG_EVF_LEVEL0;
		ev.sw.flags = flags;
		if (!runnable && pe && pe->role && hg_task_syscall(prev, &ev.sysnr, ev.arg)) {
			ev.sw.type = HG_EV_BLOCK;
			if (ev.sysnr == NR_FUTEX)
				ev.sw.holder = hg_futex_holder(ev.arg);
			hg_emit(c, cpu, &ev, sizeof(ev), HG_P_SWITCH, now);
		} else {
			hg_emit(c, cpu, &ev.sw, sizeof(ev.sw), HG_P_SWITCH, now);
		}
		if (!runnable && !(state & TASK_DEAD) && pe && hg_wait_stack_due(pe, now))
			hg_wait_stack_take(ctx, c, cpu, pe, now);
	}
out:
	c->cur_lane = next_idle ? HG_LANE_IDLE : ne && ne->announced ? ne->lane : HG_LANE_NONE;
	c->cur_role = ne ? ne->role : 0;
	c->cur_target = ne ? ne->target : 0;
	if (state & TASK_DEAD && pe) {
		if (pe->announced) {
			struct hg_ev_exit ex = {.time_ns = now,
						.type = HG_EV_EXIT,
						.lane = pe->lane,
						.code = prev->exit_code,
						.tid = prev->pid};

			hg_emit(c, cpu, &ex, sizeof(ex), HG_P_EXIT, now);
		}
		hg_task_forget((u64)prev, pe);
	}
	return 0;
}

#endif
