/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for the kernel's locks: contention_begin and contention_end, since 5.19. One interval at the end. A
 * wait that spins belongs to its CPU, where interrupts nest more of them; one that sleeps to its task,
 * which may end it on another CPU.
 */
#ifndef HG_CONTENTION_BPF_H
#define HG_CONTENTION_BPF_H

#include "probes/softirq.bpf.h"

/* A mutex's first phase spins too (mutex_optimistic_spin()), but the task may sleep before its end. */
HG_INLINE bool hg_lock_spins(u32 flags)
{
	return (flags & HG_CONTENTIONF_SPIN) &&
	       !(flags & (HG_CONTENTIONF_MUTEX | HG_CONTENTIONF_RT | HG_CONTENTIONF_PERCPU));
}

/*
 * The slot is taken before it is filled: an interrupt in between then uses the next one. No wait on a
 * spinlock outlasts a switch: what was there before the last one lost its end.
 */
HG_INLINE void hg_spin_begin(struct hg_cpu *c, u64 lock, u32 flags)
{
	u32 n = c->spins_open;
	struct hg_lock_wait *w;

	if (n && c->spins[(n - 1) & (HG_SPINS_MAX - 1)].switches != c->switches)
		n = 0;
	if (n >= HG_SPINS_MAX) {
		hg_loss_count(c, HG_P_CONTENTION, bpf_ktime_get_ns());
		return;
	}
	c->spins_open = n + 1;
	barrier();
	w = &c->spins[n];
	w->lock = lock;
	w->switches = c->switches;
	w->begins = 1;
	w->flags = flags;
	w->since_ns = bpf_ktime_get_ns();
}

/* The innermost wait for this lock: what is above it has lost its end. */
HG_INLINE bool hg_spin_end(struct hg_cpu *c, u64 lock, struct hg_lock_wait *out)
{
	u32 n = c->spins_open;

	for (int i = HG_SPINS_MAX - 1; i >= 0; i--) {
		struct hg_lock_wait *w = &c->spins[i];

		if ((u32)i >= n || w->lock != lock || w->switches != c->switches)
			continue;
		*out = *w;
		barrier();
		c->spins_open = i;
		return true;
	}
	return false;
}

/* A mutex's phases (spinning, sleeping, spinning again) are one wait with several begins. */
HG_INLINE void hg_sleep_begin(u64 lock, u32 flags)
{
	struct hg_task *e = hg_current_task();

	if (!e)
		return;
	if (e->wait.lock == lock) {
		e->wait.begins++;
		e->wait.flags |= flags;
		return;
	}
	e->wait.lock = lock;
	e->wait.begins = 1;
	e->wait.flags = flags;
	e->wait.since_ns = bpf_ktime_get_ns();
}

HG_INLINE bool hg_sleep_end(u64 lock, struct hg_lock_wait *out)
{
	struct hg_task *e = hg_current_task();

	if (!e || e->wait.lock != lock)
		return false;
	*out = e->wait;
	e->wait.lock = 0;
	return true;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(hg_contention_begin, void *lock, u32 flags)
{
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c || !hg_current_role(c))
		return 0;
	if (hg_lock_spins(flags))
		hg_spin_begin(c, (u64)lock, flags);
	else
		hg_sleep_begin((u64)lock, flags);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(hg_contention_end, void *lock, int ret)
{
	struct hg_pending one = {.type = HG_EV_CONTENTION, .count = 1};
	struct hg_lock_wait w;
	struct hg_cpu *c;
	u64 now;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c || !(c->spins_open || hg_current_role(c)))
		return 0;
	if (!hg_spin_end(c, (u64)lock, &w) && !hg_sleep_end((u64)lock, &w))
		return 0;
	now = bpf_ktime_get_ns();
	one.lane = hg_current_lane(c, cpu, now);
	if (!one.lane) {
		hg_loss_count(c, HG_P_CONTENTION, now);
		return 0;
	}
	one.first_ns = w.since_ns;
	one.last_ns = now;
	one.dur_ns = now - w.since_ns;
	one.lock = (u64)lock;
	one.nr = w.begins;
	one.vec = w.flags | (ret ? HG_CONTENTIONF_FAILED : 0);
	one.ctx = hg_wake_context(c);
	hg_interval_add(c, cpu, &one);
	return 0;
}

#endif
