/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's locks cost running lanes. Events tell who sleeps for such a lock, not who spins for it or holds it: for
 * that there are the samples of a sub-window. Of the time that running and queued lanes were credited with there
 *
 * - the part of the samples that spins is the lock's,
 * - and so is the holder's time while others wait: a spinner means that one of the other CPUs holds the lock, and
 *   while a lane sleeps for one, one of those that run does. A lane in user space holds none, so that is the bound.
 *
 * Queued lanes wait behind those that run and share in both: while a lock has a queue and its holder runs, another CPU would
 * only bring the next one to that queue.
 *
 * Time is moved between rows, so the sum stays what it was.
 */
#include "analysis/sweep.h"
#include "base/hg_base.h"

static bool runs_or_queues(enum hg_blame blame)
{
	return blame == HG_BLAME_SERIAL || blame == HG_BLAME_POOL || blame == HG_BLAME_POOL_MASK;
}

static double credited(const struct hg_sweep *s, unsigned int sub)
{
	const struct hg_sweep_row_slot *slot, *next;
	double ns = 0;

	HASH_ITER (hh, s->rows, slot, next) {
		if (runs_or_queues(slot->row.blame))
			ns += slot->row.sub_ns[sub];
	}
	return ns;
}

static void move(struct hg_sweep *s, unsigned int sub, double part)
{
	struct hg_sweep_row_slot *slot, *next;

	HASH_ITER (hh, s->rows, slot, next) {
		if (runs_or_queues(slot->row.blame))
			slot->row.sub_ns[sub] *= 1 - part;
	}
}

static void move_sub(struct hg_sweep *s, const struct hg_kernel_times *t, unsigned int sub)
{
	double ns = credited(s, sub), others = (double)(s->cpus_count > 1 ? s->cpus_count - 1 : 1);
	double n = t->samples, sleeping = t->spins_sleeping / n, spinning = t->spins / n;
	double in_kernel = 1 - t->user / n - sleeping - spinning, held, hold_sleeping,
	       hold_spinning;

	if (ns <= 0)
		return;
	held = s->kernel_ran[sub] > 0 ? s->kernel_held[sub] / s->kernel_ran[sub] : 0;
	hold_sleeping = HG_MAX(sleeping / others, held);
	hold_spinning = spinning / others;
	if (hold_sleeping + hold_spinning > in_kernel) {
		double fits = in_kernel / (hold_sleeping + hold_spinning);

		hold_sleeping *= fits;
		hold_spinning *= fits;
	}
	sleeping += hold_sleeping;
	spinning += hold_spinning;
	if (sleeping + spinning <= 0)
		return;
	move(s, sub, sleeping + spinning);
	s->sub = sub;
	if (sleeping > 0)
		hg_sweep_credit(s, HG_BLAME_KERNEL_SLEEP, ns * sleeping);
	if (spinning > 0)
		hg_sweep_credit(s, HG_BLAME_KERNEL_SPIN, ns * spinning);
}

void hg_sweep_kernel(struct hg_sweep *s)
{
	const struct hg_kernel_times *t = hg_model_kernel_times(s->model);

	for (unsigned int i = 0; i < s->out->subs; i++) {
		if (t[i].samples)
			move_sub(s, &t[i], i);
	}
}
