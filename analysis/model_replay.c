/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records to changes of state; the two runs over the CPUs' streams. */
#include "analysis/model_replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model_reason.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

/* TASK_UNINTERRUPTIBLE; EXIT_DEAD | EXIT_ZOMBIE | TASK_DEAD: include/linux/sched.h */
#define STATE_D	   UINT64_C(0x02)
#define STATE_DEAD UINT64_C(0xb0)

/* A LOSS record comes this long after the hole that it reports, at most: it is written when the ring is drained. */
#define LOSS_LATE_MAX_NS (5 * HG_NSEC_PER_SEC)

#define NO_LANE	   UINT32_MAX
#define VEC_NET_RX 3

static uint32_t lane_of(struct hg_replay *r, uint64_t id)
{
	return hg_replay_lane(r, id) ? (uint32_t)id : NO_LANE;
}

static bool counts(const struct hg_replay *r, const struct hg_record *rec)
{
	return !r->sweep && rec->time_ns >= r->m->from_ns && rec->time_ns < r->m->to_ns;
}

static bool is_state_loss(const struct hg_model *m, const struct hg_record *rec)
{
	uint64_t probe = rec->f[HG_LOSS_PROBE];

	return probe >= HG_PROBES_MAX || !m->probes[probe].no_state;
}

/* Switches. */

/* cur was thought to run here, but another lane leaves the CPU. */
static void cur_lost(struct hg_replay *r, struct hg_cpu_state *c, uint16_t cpu,
		     const struct hg_record *rec)
{
	uint64_t t = rec->time_ns;
	uint32_t lane = (uint32_t)c->cur;
	const struct hg_lane_state *s;

	if (c->cur < HG_LANE_FIRST)
		return;
	s = &r->lanes[lane];
	if (s->state != HG_STATE_RUNNING || s->cpu != cpu)
		return;
	if (!s->member) {
		hg_replay_visitor_out(r, lane, t, false);
		return;
	}
	r->m->losses.contradictions += counts(r, rec);
	hg_replay_set(r, lane, t, NULL,
		      &(struct hg_enter){.state = HG_STATE_UNKNOWN, .cpu = cpu, .sysnr = -1});
}

/* The lane is on this CPU, so on no other. */
static void leave_other_cpu(struct hg_replay *r, uint32_t lane, uint16_t cpu)
{
	const struct hg_lane_state *s = &r->lanes[lane];

	if (s->state == HG_STATE_RUNNING && s->cpu != cpu && s->cpu < r->cpus_size &&
	    r->cpus[s->cpu].cur == lane)
		r->cpus[s->cpu].cur = HG_LANE_NONE;
}

/* The tid that a lock word holds, as a live lane of the same process. */
static uint32_t holder_find(const struct hg_replay *r, uint32_t waiter, uint64_t tid)
{
	const struct hg_model *m = r->m;
	uint64_t key = (uint64_t)m->lanes[waiter].tgid << 32 | (uint32_t)tid;
	struct hg_nstid *e = NULL;
	uint32_t lane;

	if (!tid || tid > UINT32_MAX || !m->lanes[waiter].defined)
		return 0;
	HASH_FIND(hh, m->nstids, &key, sizeof(key), e);
	lane = e ? e->lane : 0;
	for (int i = 0; lane && i < 16; i++, lane = m->nstid_next[lane]) {
		if (lane != waiter && lane < r->lanes_size && r->lanes[lane].member)
			return lane;
	}
	return 0;
}

static void blocks(struct hg_replay *r, uint32_t lane, const struct hg_record *rec, uint16_t cpu)
{
	struct hg_enter enter = {.state = HG_STATE_BLOCKED,
				 .cpu = cpu,
				 .sysnr = -1,
				 .uninterruptible = rec->f[HG_SWITCH_STATE] & STATE_D};
	const uint64_t *f = rec->f;

	if (rec->kind == HG_KIND_SWITCH_BLOCK && f[HG_SWITCH_SYSNR] <= INT16_MAX) {
		enter.sysnr = (int16_t)f[HG_SWITCH_SYSNR];
		enter.object = f[HG_SWITCH_ARG0];
		enter.lock_wait =
			hg_wait_is_lock(enter.sysnr, f[HG_SWITCH_ARG1], f[HG_SWITCH_ARG2]);
		if (enter.lock_wait)
			enter.holder = holder_find(r, lane, f[HG_SWITCH_HOLDER]);
	}
	hg_replay_set(r, lane, rec->time_ns, NULL, &enter);
}

static void switch_out(struct hg_replay *r, uint32_t lane, const struct hg_record *rec,
		       uint16_t cpu)
{
	uint64_t state = rec->f[HG_SWITCH_STATE], flags = rec->f[HG_SWITCH_FLAGS];
	struct hg_lane_state *s = &r->lanes[lane];

	if (!s->member) {
		hg_replay_visitor_out(r, lane, rec->time_ns, s->cpu == cpu);
		return;
	}
	leave_other_cpu(r, lane, cpu);
	if (!state || flags & HG_SWITCHF_PREEMPT) {
		hg_replay_set(r, lane, rec->time_ns, NULL,
			      &(struct hg_enter){.state = flags & HG_SWITCHF_THROTTLED
								  ? HG_STATE_THROTTLED
								  : HG_STATE_RUNNABLE,
						 .cpu = cpu,
						 .sysnr = -1});
	} else if (state & STATE_DEAD) {
		hg_replay_leave(r, lane, rec->time_ns);
		s->ended = true;
	} else {
		blocks(r, lane, rec, cpu);
	}
}

static void switch_in(struct hg_replay *r, uint32_t lane, const struct hg_record *rec, uint16_t cpu)
{
	struct hg_lane_state *s = &r->lanes[lane];
	const struct hg_ender ender = {.vec = -1,
				       .idle_cpu = rec->f[HG_SWITCH_FLAGS] & HG_SWITCHF_IDLE_CPU};

	leave_other_cpu(r, lane, cpu);
	if (!s->member) {
		hg_replay_visitor_in(r, lane, cpu, rec->time_ns);
		return;
	}
	if (counts(r, rec)) {
		r->m->lanes[lane].switches++;
		r->m->lanes[lane].missing_wakeups += s->state == HG_STATE_BLOCKED;
	}
	hg_replay_set(r, lane, rec->time_ns, &ender,
		      &(struct hg_enter){.state = HG_STATE_RUNNING, .cpu = cpu, .sysnr = -1});
}

static void on_switch(struct hg_replay *r, const struct hg_record *rec, uint16_t cpu)
{
	uint64_t prev_id = rec->f[HG_SWITCH_PREV], next_id = rec->f[HG_SWITCH_NEXT];
	/* Both first: making room moves the tables. */
	uint32_t prev = lane_of(r, prev_id), next = lane_of(r, next_id);
	struct hg_cpu_state *c = hg_replay_cpu(r, cpu);

	if (!c || r->err)
		return;
	if (c->visit && !r->sweep)
		r->m->waits[c->visit - 1] = prev != NO_LANE ? prev : prev_id == HG_LANE_IDLE;
	if (c->cur != prev_id)
		cur_lost(r, c, cpu, rec);
	if (c->cur != prev_id && c->visit && c->waited_since_ns && !r->sweep && prev != NO_LANE &&
	    !r->lanes[prev].member)
		hg_replay_visitor_in(r, prev, cpu, c->waited_since_ns);
	/* Who waits because of this switch waits for next. */
	c->cur = next != NO_LANE || next_id == HG_LANE_IDLE ? next_id : HG_LANE_NONE;
	c->cur_since_ns = rec->time_ns;
	c->seen = true;
	c->waited_since_ns = 0;
	c->taken_count = 0;
	c->visit = 0;
	if (c->cur && (next == NO_LANE || !r->lanes[next].member)) {
		uint32_t visit = hg_replay_wait(r);

		c->visit = visit != HG_WAIT_NONE ? visit + 1 : 0;
	}
	if (prev != NO_LANE)
		switch_out(r, prev, rec, cpu);
	if (next != NO_LANE)
		switch_in(r, next, rec, cpu);
}

/* Wakeups, migrations, life and death. */

/* Who wakes whom, by what the task itself does or a packet that came from elsewhere. */
static void wakes_count(struct hg_model *m, const struct hg_record *rec, uint32_t lane,
			uint32_t waker)
{
	uint64_t ctx = rec->f[HG_WAKEUP_CTX];
	bool target = m->lanes[lane].role & HG_ROLEF_TARGET, by_target;

	if (ctx != HG_CTX_TASK && ctx != HG_CTX_SOFTIRQ_OWN) {
		m->wakes_outside += target && rec->f[HG_WAKEUP_VEC] == VEC_NET_RX + 1;
		return;
	}
	if (waker == NO_LANE)
		return;
	by_target = m->lanes[waker].role & HG_ROLEF_TARGET;
	m->lanes[waker].wakes += by_target && waker != lane;
	if (target && !by_target) {
		m->wakes_outside++;
		m->lanes[waker].wakes_target++;
	} else if (by_target && !target) {
		m->lanes[lane].woken_by_target++;
	}
}

/*
 * The CPU whose softirq woke somebody, plus 1. The record may be in the stream of the CPU to which the task was sent
 * (ttwu_queue_wakelist()), so the task that the softirq interrupted, or ksoftirqd, tells more.
 */
static uint32_t softirq_cpu(const struct hg_replay *r, uint32_t waker, uint16_t stream_cpu)
{
	const struct hg_lane *l = waker != NO_LANE ? &r->m->lanes[waker] : NULL;
	unsigned int cpu;

	if (l && l->flags & HG_TASKF_KSOFTIRQD && l->name &&
	    sscanf(l->name, "ksoftirqd/%4u", &cpu) == 1)
		return cpu + 1;
	if (l && r->lanes[waker].state == HG_STATE_RUNNING)
		return r->lanes[waker].cpu + 1u;
	return stream_cpu + 1u;
}

static void on_wakeup(struct hg_replay *r, const struct hg_record *rec, uint16_t cpu)
{
	uint64_t flags = rec->f[HG_WAKEUP_FLAGS], ctx = rec->f[HG_WAKEUP_CTX];
	uint32_t lane = lane_of(r, rec->f[HG_WAKEUP_LANE]);
	uint32_t waker = lane_of(r, rec->f[HG_WAKEUP_WAKER]);
	struct hg_ender ender = {.vec = (int)(rec->f[HG_WAKEUP_VEC] & 0xff) - 1};
	struct hg_lane_state *s;

	if (lane == NO_LANE || !hg_replay_cpu(r, rec->f[HG_WAKEUP_CPU]) || r->err)
		return;
	s = &r->lanes[lane];
	if (!s->member)
		return;
	if (counts(r, rec)) {
		r->m->lanes[lane].wakeups++;
		wakes_count(r->m, rec, lane, waker);
	}
	/* Awake already, or about to sleep and kept from it. */
	if (s->state > HG_STATE_UNKNOWN && s->state != HG_STATE_BLOCKED)
		return;
	ender.ctx = ctx <= HG_CTX_NAPI_THREAD ? (uint8_t)ctx : HG_CTX_UNKNOWN;
	/* In any other context the current task only happened to be there. */
	if (waker != NO_LANE && (ctx == HG_CTX_TASK || ctx == HG_CTX_SOFTIRQ_OWN))
		ender.by = waker;
	else if (hg_wake_is_softirq(ender.ctx))
		ender.softirq_cpu = softirq_cpu(r, waker, cpu);
	hg_replay_set(r, lane, rec->time_ns, &ender,
		      &(struct hg_enter){.state = flags & HG_WAKEUPF_THROTTLED ? HG_STATE_THROTTLED
									       : HG_STATE_RUNNABLE,
					 .cpu = (uint16_t)rec->f[HG_WAKEUP_CPU],
					 .idle_cpu = flags & HG_WAKEUPF_IDLE_CPU,
					 .sysnr = -1});
}

static void on_migrate(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_MIGRATE_LANE]);

	if (lane == NO_LANE || !hg_replay_cpu(r, rec->f[HG_MIGRATE_TO]) || r->err)
		return;
	if (!r->lanes[lane].member)
		return;
	if (counts(r, rec))
		r->m->lanes[lane].migrations++;
	hg_replay_migrate(r, lane, (uint16_t)rec->f[HG_MIGRATE_TO], rec->time_ns);
}

static void on_fork(struct hg_replay *r, const struct hg_record *rec, uint16_t cpu)
{
	uint32_t lane = lane_of(r, rec->f[HG_FORK_CHILD]);
	struct hg_lane_state *s;

	if (lane == NO_LANE || r->err)
		return;
	s = &r->lanes[lane];
	if (s->ended || !(r->m->lanes[lane].role & ~(uint32_t)HG_ROLEF_PROMOTED))
		return;
	hg_replay_join(r, lane, rec->time_ns);
	if (s->state != HG_STATE_UNKNOWN)
		return;
	/* It is being made, until its first wakeup. */
	hg_replay_set(r, lane, rec->time_ns, NULL,
		      &(struct hg_enter){
			      .state = HG_STATE_BLOCKED, .cpu = cpu, .sysnr = -1, .newborn = true});
}

/* The last switch says dead before this record does; it is here for when that switch was lost. */
static void on_death(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_EXIT_LANE]);

	if (lane == NO_LANE || r->err)
		return;
	if (r->lanes[lane].member)
		hg_replay_leave(r, lane, rec->time_ns);
	else
		hg_replay_visitor_out(r, lane, rec->time_ns, true);
	r->lanes[lane].ended = true;
}

/* A thread that execs takes the tid of its leader: de_thread() in fs/exec.c. */
static void on_exec(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_EXEC_LANE]);
	struct hg_lane *l;

	if (lane == NO_LANE || r->err)
		return;
	l = &r->m->lanes[lane];
	if (l->defined && rec->f[HG_EXEC_OLD_TID] && rec->f[HG_EXEC_OLD_TID] != l->tgid)
		l->tid = l->tgid;
}

/* No member any more: if it runs it goes on as one of the others that have the CPU. */
static void moved_out(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];
	bool runs = s->member && s->state == HG_STATE_RUNNING && s->cpu < r->cpus_size &&
		    r->cpus[s->cpu].cur == lane;

	hg_replay_leave(r, lane, t);
	if (runs)
		hg_replay_visitor_in(r, lane, s->cpu, t);
}

static void on_role(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_ROLE_LANE]);

	if (lane == NO_LANE || r->err || r->lanes[lane].ended)
		return;
	if (rec->f[HG_ROLE_ROLE])
		hg_replay_join(r, lane, rec->time_ns);
	else
		moved_out(r, lane, rec->time_ns);
}

static void on_seed(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_SEED_LANE]);
	struct hg_cpu_state *c = hg_replay_cpu(r, rec->f[HG_SEED_CPU]);
	struct hg_enter enter = {.cpu = (uint16_t)rec->f[HG_SEED_CPU], .sysnr = -1};

	/* An event knows better than the walk over all tasks. */
	if (lane == NO_LANE || !c || r->err || !r->lanes[lane].member ||
	    r->lanes[lane].state != HG_STATE_UNKNOWN)
		return;
	switch (rec->f[HG_SEED_STATE]) {
	case HG_SEED_RUNNING:
		if (c->seen)
			return;
		c->seen = true;
		c->cur = lane;
		c->cur_since_ns = rec->time_ns;
		enter.state = HG_STATE_RUNNING;
		break;
	case HG_SEED_RUNNABLE:
		enter.state = HG_STATE_RUNNABLE;
		break;
	case HG_SEED_DISK:
		enter.uninterruptible = true;
		/* fall through */
	case HG_SEED_BLOCKED:
		enter.state = HG_STATE_BLOCKED;
		if (rec->f[HG_SEED_SYSNR] && rec->f[HG_SEED_SYSNR] <= INT16_MAX)
			enter.sysnr = (int16_t)(rec->f[HG_SEED_SYSNR] - 1);
		enter.object = rec->f[HG_SEED_ARG0];
		break;
	default:
		return;
	}
	hg_replay_set(r, lane, rec->time_ns, NULL, &enter);
}

static void on_affinity(struct hg_replay *r, const struct hg_record *rec)
{
	uint32_t lane = lane_of(r, rec->f[HG_AFFINITY_LANE]);

	if (lane == NO_LANE || r->err)
		return;
	r->m->lanes[lane].cpus_count = (uint32_t)rec->f[HG_AFFINITY_COUNT];
	r->m->lanes[lane].cpus_mask0 = rec->f[HG_AFFINITY_MASK0];
}

/* Softirqs and irqs: time that was taken from the lane that runs. */

/*
 * Notes that dur_ns of [from, to] were taken; returns how much of it had not been already, by the
 * interrupts inside: their records come before that of the softirq that they interrupted.
 */
static uint64_t take(struct hg_cpu_state *c, uint64_t from_ns, uint64_t to_ns, uint64_t dur_ns)
{
	uint64_t inside_ns = 0, free_ns;

	while (c->taken_count) {
		const struct hg_taken *last = &c->taken[c->taken_count - 1];

		if (last->to_ns <= from_ns)
			break;
		inside_ns +=
			hg_account_part(last->dur_ns, last->from_ns, last->to_ns, from_ns, to_ns);
		from_ns = HG_MIN(from_ns, last->from_ns);
		c->taken_count--;
	}
	free_ns = to_ns - from_ns - HG_MIN(inside_ns, to_ns - from_ns);
	dur_ns = dur_ns > inside_ns ? dur_ns - inside_ns : 0;
	dur_ns = HG_MIN(dur_ns, free_ns);
	if (c->taken_count == HG_TAKEN_MAX) {
		c->taken_count /= 2;
		memcpy(c->taken, c->taken + c->taken_count, c->taken_count * sizeof(c->taken[0]));
	}
	c->taken[c->taken_count++] = (struct hg_taken){from_ns, to_ns, inside_ns + dur_ns};
	return dur_ns;
}

static void count_cpu(struct hg_replay *r, const struct hg_record *rec, uint16_t cpu)
{
	uint64_t span_ns = HG_MIN(rec->f[HG_SOFTIRQ_SPAN], rec->time_ns);
	uint64_t dur_ns = HG_MIN(rec->f[HG_SOFTIRQ_DUR], span_ns);
	struct hg_cpu *c = &r->m->cpus[cpu];

	dur_ns = hg_account_part(dur_ns, rec->time_ns - span_ns, rec->time_ns, r->m->from_ns,
				 r->m->to_ns);
	if (rec->kind == HG_KIND_IRQ) {
		c->irq_ns += dur_ns;
		return;
	}
	c->softirq_ns += dur_ns;
	if (rec->f[HG_SOFTIRQ_VEC] < HG_ARRAY_SIZE(c->softirq_vec_ns))
		c->softirq_vec_ns[rec->f[HG_SOFTIRQ_VEC]] += dur_ns;
}

static void on_interval(struct hg_replay *r, const struct hg_record *rec, uint16_t cpu)
{
	bool irq = rec->kind == HG_KIND_IRQ;
	uint64_t id = rec->f[irq ? HG_IRQ_LANE : HG_SOFTIRQ_LANE], from_ns, dur_ns;
	struct hg_cpu_state *c;
	const struct hg_lane_state *s;

	if (!(c = hg_replay_cpu(r, cpu)))
		return;
	count_cpu(r, rec, cpu);
	if (id < HG_LANE_FIRST || c->cur != id || !rec->f[HG_SOFTIRQ_SPAN])
		return;
	s = &r->lanes[id];
	if (!s->member || s->state != HG_STATE_RUNNING || s->cpu != cpu)
		return;
	from_ns = rec->time_ns - HG_MIN(rec->f[HG_SOFTIRQ_SPAN], rec->time_ns);
	dur_ns = HG_MIN(rec->f[HG_SOFTIRQ_DUR], rec->f[HG_SOFTIRQ_SPAN]);
	if (from_ns < c->cur_since_ns) {
		dur_ns = hg_account_part(dur_ns, from_ns, rec->time_ns, c->cur_since_ns,
					 rec->time_ns);
		from_ns = c->cur_since_ns;
	}
	if (from_ns >= rec->time_ns)
		return;
	hg_replay_flush_running(r, (uint32_t)id, rec->time_ns);
	hg_account_move(r->m, (uint32_t)id, irq ? HG_LEAF_RUNNING_IRQ : HG_LEAF_RUNNING_SOFTIRQ,
			from_ns, rec->time_ns, take(c, from_ns, rec->time_ns, dur_ns));
}

/* Losses. */

static void on_loss(struct hg_replay *r, const struct hg_record *rec, uint32_t cpu)
{
	struct hg_model *m = r->m;
	uint64_t from_ns = rec->time_ns - HG_MIN(rec->f[HG_LOSS_SINCE], rec->time_ns);
	struct hg_hole *last = m->holes_count ? &m->holes[m->holes_count - 1] : NULL;

	if (r->sweep || m->holes_known || rec->time_ns < m->from_ns || from_ns >= m->to_ns)
		return;
	if (rec->f[HG_LOSS_PROBE] == HG_LOSS_DAMAGE) {
		m->losses.damage += rec->f[HG_LOSS_COUNT];
	} else {
		m->losses.total += rec->f[HG_LOSS_COUNT];
		if (rec->f[HG_LOSS_PROBE] < HG_PROBES_MAX)
			m->losses.by_probe[rec->f[HG_LOSS_PROBE]] += rec->f[HG_LOSS_COUNT];
	}
	if (!is_state_loss(m, rec))
		return;
	if (last && last->cpu == cpu &&
	    (from_ns <= last->to_ns || m->holes_count >= HG_HOLES_MAX)) {
		last->from_ns = HG_MIN(last->from_ns, from_ns);
		last->to_ns = HG_MAX(last->to_ns, rec->time_ns);
		return;
	}
	if (m->holes_count >= m->holes_size) {
		size_t size = HG_MAX(m->holes_size * 2, 64);
		void *p = realloc(m->holes, size * sizeof(*m->holes));

		if (!p) {
			r->err = -ENOMEM;
			return;
		}
		m->holes = p;
		m->holes_size = size;
	}
	m->holes[m->holes_count++] = (struct hg_hole){from_ns, rec->time_ns, cpu};
}

static int by_start(const void *a, const void *b)
{
	const struct hg_hole *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static void holes_sort(struct hg_model *m)
{
	uint64_t end_ns = m->from_ns;

	qsort(m->holes, m->holes_count, sizeof(*m->holes), by_start);
	for (size_t i = 0; i < m->holes_count; i++) {
		uint64_t a = HG_MAX(m->holes[i].from_ns, end_ns);
		uint64_t b = HG_MIN(m->holes[i].to_ns, m->to_ns);

		if (a >= b)
			continue;
		m->losses.lost_ns += b - a;
		end_ns = b;
	}
	m->holes_known = true;
}

/* Of the wait that the record before has begun. */
static void on_wait_stack(struct hg_replay *r, const struct hg_record *rec)
{
	uint64_t lane = rec->f[HG_WAIT_STACK_LANE];
	struct hg_lane_state *s;

	if (!hg_replay_lane(r, lane))
		return;
	s = &r->lanes[lane];
	if (s->state == HG_STATE_BLOCKED && s->since_ns == rec->time_ns)
		s->stack = (uint32_t)HG_MIN(rec->f[HG_WAIT_STACK_STACK], UINT32_MAX);
}

/* The runs. */

static void on_cpu_record(struct hg_replay *r, const struct hg_record *rec, uint32_t cpu)
{
	if (cpu >= HG_CPUS_MAX) {
		hg_replay_cpu(r, cpu); /* says so */
		return;
	}
	switch (rec->kind) {
	case HG_KIND_SWITCH:
	case HG_KIND_SWITCH_BLOCK:
		on_switch(r, rec, (uint16_t)cpu);
		break;
	case HG_KIND_WAKEUP:
		on_wakeup(r, rec, (uint16_t)cpu);
		break;
	case HG_KIND_SOFTIRQ:
	case HG_KIND_IRQ:
		on_interval(r, rec, (uint16_t)cpu);
		break;
	case HG_KIND_CONTENTION:
		hg_replay_contention(r, rec);
		break;
	case HG_KIND_CPU_SAMPLE:
		hg_spins_sample(r->m, rec);
		hg_kernel_sample(r->m, rec);
		break;
	case HG_KIND_MIGRATE:
		on_migrate(r, rec);
		break;
	case HG_KIND_FORK:
		on_fork(r, rec, (uint16_t)cpu);
		break;
	case HG_KIND_EXEC:
		on_exec(r, rec);
		break;
	case HG_KIND_EXIT:
		on_death(r, rec);
		break;
	case HG_KIND_AFFINITY:
		on_affinity(r, rec);
		break;
	case HG_KIND_WAIT_STACK:
		on_wait_stack(r, rec);
		break;
	}
}

static void on_record(struct hg_replay *r, const struct hg_record *rec)
{
	hg_replay_advance(r, rec->time_ns);
	if (rec->stream == HG_STREAM_CONTROL) {
		if (rec->kind == HG_KIND_ROLE)
			on_role(r, rec);
		else if (rec->kind == HG_KIND_SEED)
			on_seed(r, rec);
		return;
	}
	r->m->session.events += counts(r, rec) && rec->kind != HG_KIND_LOSS;
	on_cpu_record(r, rec, rec->stream - HG_STREAM_CPU0);
}

static bool want_events(void *arg, uint16_t machine, uint32_t stream)
{
	return machine == 0 && (stream == HG_STREAM_CONTROL || stream >= HG_STREAM_CPU0);
}

/* The sweep leaves the time of interrupts with running; what samples and contentions tell is known to it. */
static bool want_in_sweep(uint16_t kind)
{
	return kind != HG_KIND_SOFTIRQ && kind != HG_KIND_IRQ && kind != HG_KIND_CONTENTION &&
	       kind != HG_KIND_CPU_SAMPLE && kind != HG_KIND_WAIT_STACK;
}

/* 1, or 0 when no later record matters. */
static int run_some(struct hg_replay *r, const struct hg_record *const *recs, int n,
		    uint64_t last_ns)
{
	const struct hg_model *m = r->m;

	for (int i = 0; i < n && !r->err; i++) {
		const struct hg_record *rec = recs[i];

		if (rec->time_ns > last_ns)
			return 0;
		if (rec->kind == HG_KIND_LOSS && rec->stream >= HG_STREAM_CPU0)
			on_loss(r, rec, rec->stream - HG_STREAM_CPU0);
		if (rec->time_ns < m->to_ns)
			on_record(r, rec);
		else if (r->sweep || m->holes_known)
			return 0;
	}
	return 1;
}

static int run(struct hg_replay *r)
{
	struct hg_cursor_opts opts = {.want = want_events,
				      .want_kind = r->sweep ? want_in_sweep : NULL,
				      .to_ns = r->m->to_ns + LOSS_LATE_MAX_NS};
	struct hg_cursor *c __attribute__((cleanup(hg_cursor_closep))) = NULL;
	const struct hg_record *const *recs;
	int rc = hg_cursor_open(r->m->r, &opts, &c), n = 0;

	while (!rc && !r->err && (n = hg_cursor_run(c, &recs)) > 0 &&
	       run_some(r, recs, n, opts.to_ns))
		;
	if (!rc && n < 0)
		rc = n;
	if (!rc && !r->err)
		hg_replay_finish(r);
	return rc ? rc : r->err;
}

static void replay_free(struct hg_replay *r)
{
	free(r->lanes);
	free(r->cpus);
	free(r->known);
}

static int totals_once(struct hg_model *m)
{
	struct hg_replay r __attribute__((cleanup(replay_free))) = {.m = m};
	int rc = hg_account_prepare(m);

	m->waits_count = 0;
	return rc ? rc : run(&r);
}

int hg_model_replay_totals(struct hg_model *m)
{
	int rc = totals_once(m);

	if (!rc && m->holes_count) {
		/* A loss is reported behind the hole that it made: once more, with the holes known. */
		holes_sort(m);
		rc = totals_once(m);
	}
	m->holes_known = true;
	if (rc)
		return rc;
	hg_account_finish(m);
	return 0;
}

int hg_model_sweep(struct hg_model *m, hg_step_fn fn, void *arg)
{
	struct hg_replay r __attribute__((cleanup(replay_free))) = {
		.m = m, .sweep = true, .fn = fn, .arg = arg};

	return run(&r);
}
