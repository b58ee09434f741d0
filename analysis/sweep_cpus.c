/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs are idle, exactly where known lanes run and by chance elsewhere; and lanes that wait for a CPU. */
#include <math.h>

#include "analysis/sweep.h"
#include "base/hg_base.h"

static bool class_has(const struct hg_sweep_class *c, unsigned int cpu)
{
	return c->all || (cpu < 64 && (c->mask0 >> cpu & 1));
}

void occupancy_add(struct hg_sweep *s, unsigned int cpu, int sign)
{
	double busy = s->background[cpu];

	for (unsigned int i = 0; i < s->classes_count; i++) {
		struct hg_sweep_class *c = &s->classes[i];

		if (!class_has(c, cpu))
			continue;
		if (busy <= 0)
			c->surely_idle += (unsigned int)sign;
		else
			c->log_busy += sign * s->log_background[cpu];
	}
	s->where_known = false;
}

static double idle_chance(const struct hg_sweep_class *c)
{
	if (c->surely_idle)
		return 1;
	return c->log_busy < 0 ? 1 - exp(c->log_busy) : 0;
}

void hg_sweep_where_update(struct hg_sweep *s)
{
	double online = idle_chance(&s->classes[0]);

	for (unsigned int i = 0; i < s->classes_count; i++) {
		struct hg_sweep_class *c = &s->classes[i];
		double allowed = i ? idle_chance(c) : online;

		c->where[WHERE_ALLOWED] = allowed;
		c->where[WHERE_OUTSIDE] = online > allowed ? online - allowed : 0;
		c->where[WHERE_NONE] = 1 - allowed - c->where[WHERE_OUTSIDE];
	}
	s->where_known = true;
}

/* Busy share of a CPU outside the time of known lanes: from the totals that count every task. */
static double background_busy(const struct hg_sweep *s, const struct hg_cpu *cpu, unsigned int sub)
{
	uint64_t from = hg_model_sub_ns(s->model, sub), to = hg_model_sub_ns(s->model, sub + 1);
	uint64_t busy, ignored, span;
	double share, known;

	if (!cpu->sub_known_ns || to <= from ||
	    !hg_series_delta(&cpu->probe_busy, from, to, &busy, &ignored, &span) ||
	    span < (to - from) / 2)
		return 0;
	known = (double)cpu->sub_known_ns[sub] / (double)(to - from);
	if (known > 0.999)
		return 1;
	share = ((double)busy / (double)span - known) / (1 - known);
	/* Interrupt work alone keeps an idle CPU a few per mille busy. */
	return share < 0.02 ? 0 : share > 1 ? 1 : share;
}

/*
 * Are its softirqs and interrupts a server without time left? In front of one that has some no queue stands, so a wait has
 * another reason then. The totals count them in ksoftirqd and in whatever they interrupted.
 */
static bool is_full(const struct hg_sweep *s, const struct hg_cpu *cpu, unsigned int sub)
{
	uint64_t from = hg_model_sub_ns(s->model, sub), to = hg_model_sub_ns(s->model, sub + 1);
	uint64_t softirq, irq, span;

	return hg_series_delta(&cpu->probe_softirq, from, to, &softirq, &irq, &span) &&
	       span >= (to - from) / 2 &&
	       (double)(softirq + irq) >= HG_UTIL_SERIAL_MIN * (double)span;
}

void hg_sweep_background_load(struct hg_sweep *s)
{
	const struct hg_cpu *cpus;
	size_t n = hg_model_cpus(s->model, &cpus);

	for (unsigned int i = 0; i < s->classes_count; i++) {
		s->classes[i].surely_idle = 0;
		s->classes[i].log_busy = 0;
	}
	for (size_t c = 0; c < s->cpus_count; c++) {
		s->full[c] = c < n && is_full(s, &cpus[c], s->sub);
		s->background[c] = c < n ? background_busy(s, &cpus[c], s->sub) : 0;
		s->log_background[c] = s->background[c] > 0 ? log(s->background[c]) : 0;
		if (!s->current[c])
			occupancy_add(s, (unsigned int)c, 1);
	}
}

void hg_sweep_cpu_set(struct hg_sweep *s, unsigned int cpu, uint32_t lane)
{
	if (cpu >= s->cpus_count)
		return;
	if (!s->current[cpu] && lane)
		occupancy_add(s, cpu, -1);
	else if (s->current[cpu] && !lane)
		occupancy_add(s, cpu, 1);
	s->current[cpu] = lane;
}

/* --- runnable lanes --- */

/*
 * Lanes wait although a CPU is idle. Those that were let go from a lock are on their way to take it: with a better place
 * they would only wait for the lock again, or hold it, so the time is the lock's.
 */
static void credit_no_place(struct hg_sweep *s, unsigned int cpu, enum hg_blame blame, double ns)
{
	double woken = ns * s->queued_woken[cpu] / s->queued_sum[cpu];

	if (s->queued_woken[cpu])
		hg_sweep_credit_row(s, s->lock_rows[s->queued_lock[cpu]], woken);
	if (ns > woken)
		hg_sweep_credit(s, blame, ns - woken);
}

void hg_sweep_credit_queue(struct hg_sweep *s, unsigned int cpu, double each_ns)
{
	uint32_t lane = s->current[cpu];
	struct hg_sweep_lane *l = lane ? &s->ls[lane] : NULL;

	/* Whoever is current on a full CPU has as little of it as the lane that waits. */
	if (hg_sweep_cpu_full(s, cpu) || (l && l->ksoftirqd)) {
		hg_sweep_credit_row(s, hg_sweep_row(s, HG_BLAME_SOFTIRQ, cpu),
				    each_ns * s->queued_sum[cpu]);
		return;
	}
	if (l && !l->target && !l->client) {
		if (!l->competitor)
			l->competitor = hg_sweep_row(s, HG_BLAME_COMPETITOR, lane);
		hg_sweep_credit_row(s, l->competitor, each_ns * s->queued_sum[cpu]);
		return;
	}
	if (!l) {
		credit_no_place(s, cpu, HG_BLAME_WAKE_LATENCY, each_ns * s->queued_sum[cpu]);
		return;
	}
	for (unsigned int i = 0; i < s->classes_count; i++) {
		double ns = each_ns * s->queued[cpu][i];
		const double *where;

		if (!s->queued[cpu][i])
			continue;
		where = hg_sweep_idle_where(s, &s->classes[i]);
		credit_no_place(s, cpu, HG_BLAME_PLACEMENT, ns * where[WHERE_ALLOWED]);
		hg_sweep_credit(s, HG_BLAME_POOL_MASK, ns * where[WHERE_OUTSIDE]);
		hg_sweep_credit(s, HG_BLAME_POOL, ns * where[WHERE_NONE]);
	}
}

void hg_sweep_queue_change(struct hg_sweep *s, const struct hg_sweep_lane *l, int sign)
{
	unsigned int cpu = l->cpu < s->cpus_count ? l->cpu : 0;

	s->queued[cpu][l->class_index] += (uint32_t)sign;
	s->queued_sum[cpu] += (uint32_t)sign;
	if (l->woken_from) {
		s->queued_woken[cpu] += (uint32_t)sign;
		s->queued_lock[cpu] = l->woken_from - 1;
	}
	if (sign > 0 && s->queued_sum[cpu] == 1) {
		s->queue_list[s->queue_count++] = (uint16_t)cpu;
	} else if (sign < 0 && !s->queued_sum[cpu]) {
		for (unsigned int i = 0; i < s->queue_count; i++) {
			if (s->queue_list[i] == cpu)
				s->queue_list[i] = s->queue_list[--s->queue_count];
		}
	}
}
