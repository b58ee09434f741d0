/* SPDX-License-Identifier: GPL-2.0-or-later */
/* States of lanes: how one ends, what it counts as, how the next begins. */
#include <errno.h>
#include <string.h>

#include "analysis/model_reason.h"
#include "analysis/model_replay.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

/* hg_model.waits: leaf, context and the lane that ended it, or its CPU plus 1 if hg_wake_is_softirq(). */
#define WAIT_PACK(leaf, ctx, by) ((uint32_t)(leaf) | (uint32_t)(ctx) << 4 | (uint32_t)(by) << 8)
#define WAIT_LEAF(w)		 ((enum hg_leaf)((w)&15))
#define WAIT_CTX(w)		 ((uint8_t)((w) >> 4 & 15))
#define WAIT_BY(w)		 ((w) >> 8)
_Static_assert(HG_LEAVES <= 16 && HG_CTX_NAPI_THREAD < 16 && HG_LANES_MAX <= 1 << 24,
	       "a wait fits into 32 bits");

static bool grow(void **array, size_t *size, size_t need, size_t element)
{
	size_t bigger = HG_MAX(*size * 2, HG_MAX(need, 64));
	char *p;

	if (need <= *size)
		return true;
	p = calloc(bigger, element);
	if (!p)
		return false;
	if (*size)
		memcpy(p, *array, *size * element);
	free(*array);
	*array = p;
	*size = bigger;
	return true;
}

bool hg_replay_lane_want(struct hg_replay *r, uint64_t id)
{
	size_t known_size = r->lanes_size;

	if (!hg_model_lane_want(r->m, id, &r->err))
		return false;
	if (grow((void **)&r->known, &known_size, id + 1, sizeof(*r->known)) &&
	    grow((void **)&r->lanes, &r->lanes_size, id + 1, sizeof(*r->lanes)))
		return true;
	r->err = -ENOMEM;
	return false;
}

struct hg_cpu_state *hg_replay_cpu_want(struct hg_replay *r, uint64_t cpu)
{
	if (!hg_model_cpu_want(r->m, cpu, &r->err))
		return NULL;
	if (!grow((void **)&r->cpus, &r->cpus_size, cpu + 1, sizeof(*r->cpus))) {
		r->err = -ENOMEM;
		return NULL;
	}
	return &r->cpus[cpu];
}

/* Waits: each gets an index when it begins; see model_internal.h. */

uint32_t hg_replay_wait(struct hg_replay *r)
{
	struct hg_model *m = r->m;
	uint64_t i = r->waits++;

	if (r->sweep)
		return i < m->waits_count ? (uint32_t)i : HG_WAIT_NONE;
	if (i >= HG_WAITS_MAX) {
		hg_model_warn_once(
			m->warned_waits,
			"The trace has more than %u waits: who ended the rest is only in "
			"the totals.",
			HG_WAITS_MAX);
		return HG_WAIT_NONE;
	}
	if (i >= m->waits_size) {
		size_t size = HG_MAX(m->waits_size * 2, 4096);
		void *p = realloc(m->waits, size * sizeof(*m->waits));

		if (!p) {
			r->err = -ENOMEM;
			return HG_WAIT_NONE;
		}
		m->waits = p;
		m->waits_size = size;
	}
	m->waits[i] = 0;
	m->waits_count = i + 1;
	return (uint32_t)i;
}

static enum hg_leaf blocked_leaf(const struct hg_replay *r, const struct hg_lane_state *s,
				 const struct hg_ender *e)
{
	struct hg_wait w = {.sysnr = s->sysnr,
			    .uninterruptible = s->uninterruptible,
			    .lock = s->lock_wait,
			    .newborn = s->newborn,
			    .ctx = e->ctx,
			    .vec = e->vec};

	if (e->by && e->by < r->m->lanes_count)
		w.waker_kthread = r->m->lanes[e->by].flags & HG_TASKF_KTHREAD;
	return hg_wait_reason(&w);
}

static enum hg_leaf runnable_leaf(const struct hg_lane_state *s, const struct hg_ender *e,
				  uint64_t t)
{
	bool idle = s->idle_cpu || e->idle_cpu;

	return idle && t - s->since_ns > HG_RUNNABLE_IDLE_MIN_NS ? HG_LEAF_RUNNABLE_IDLE
								 : HG_LEAF_RUNNABLE_BUSY;
}

/* What the state that ends at t was. */
static enum hg_leaf leaf_at_end(const struct hg_replay *r, const struct hg_lane_state *s,
				const struct hg_ender *e, uint64_t t)
{
	switch ((enum hg_state)s->state) {
	case HG_STATE_RUNNING:
		return HG_LEAF_RUNNING;
	case HG_STATE_RUNNABLE:
		return runnable_leaf(s, e, t);
	case HG_STATE_THROTTLED:
		return HG_LEAF_THROTTLED;
	case HG_STATE_BLOCKED:
		return blocked_leaf(r, s, e);
	case HG_STATE_GONE:
	case HG_STATE_UNKNOWN:
		break;
	}
	return HG_LEAF_UNKNOWN;
}

static void slept_add(struct hg_lane_state *s, enum hg_leaf leaf, uint64_t t)
{
	s->slept[s->slept_next] = (struct hg_slept){s->since_ns, t, s->wait, (uint8_t)leaf};
	s->slept_next = (s->slept_next + 1) % HG_SLEPT_MAX;
	s->slept_count = HG_MIN(s->slept_count + 1, HG_SLEPT_MAX);
}

void hg_replay_contention(struct hg_replay *r, const struct hg_record *rec)
{
	uint64_t lane = rec->f[HG_CONTENTION_LANE];
	uint64_t from_ns = rec->time_ns - HG_MIN(rec->f[HG_CONTENTION_SPAN], rec->time_ns);
	struct hg_lane_state *s = hg_replay_lane(r, lane) ? &r->lanes[lane] : NULL;
	uint32_t waker = 0;

	if (!s || !s->member)
		return;
	for (unsigned int i = 0; i < s->slept_count; i++) {
		struct hg_slept *p = &s->slept[i];

		if (p->from_ns < from_ns || p->to_ns > rec->time_ns ||
		    rec->f[HG_CONTENTION_CTX] != HG_CTX_TASK)
			continue;
		hg_account_rename(r->m, (uint32_t)lane, p->leaf, HG_LEAF_BLOCKED_LOCK, p->from_ns,
				  p->to_ns);
		p->leaf = HG_LEAF_BLOCKED_LOCK;
		if (p->wait == HG_WAIT_NONE)
			continue;
		waker = WAIT_BY(r->m->waits[p->wait]);
		r->m->waits[p->wait] =
			WAIT_PACK(HG_LEAF_BLOCKED_LOCK, WAIT_CTX(r->m->waits[p->wait]), waker);
	}
	hg_kernel_contention(r->m, rec, waker);
}

static void state_end(struct hg_replay *r, uint32_t lane, uint64_t t, const struct hg_ender *e)
{
	struct hg_lane_state *s = &r->lanes[lane];
	enum hg_leaf leaf;

	if (r->sweep)
		return;
	leaf = leaf_at_end(r, s, e, t);
	if (s->wait != HG_WAIT_NONE)
		r->m->waits[s->wait] = WAIT_PACK(leaf, e->ctx, e->by | e->softirq_cpu);
	if (s->state == HG_STATE_RUNNING)
		hg_account_ran(r->m, lane, s->cpu, s->since_ns, t);
	hg_account_add(r->m, lane, leaf, s->since_ns, t);
	if (s->state == HG_STATE_BLOCKED && !s->lock_wait)
		slept_add(s, leaf, t);
	if (s->lock_wait)
		hg_locks_end(r->m, s->lock, lane, s->since_ns, t);
	if (s->stack && !r->err)
		r->err = hg_wait_stacks_add(r->m, lane, leaf, s->stack, s->since_ns, t);
}

/* Steps of the sweep. */

static uint32_t runs_on(const struct hg_replay *r, uint16_t cpu)
{
	uint64_t cur = cpu < r->cpus_size ? r->cpus[cpu].cur : 0;

	return cur >= HG_LANE_FIRST ? (uint32_t)cur : 0;
}

static void step_wait(const struct hg_replay *r, const struct hg_lane_state *s,
		      struct hg_step *step)
{
	uint32_t w = s->wait != HG_WAIT_NONE ? r->m->waits[s->wait] : 0;
	const struct hg_ender nobody = {.vec = -1};

	if (s->wait == HG_WAIT_NONE)
		step->leaf = s->state == HG_STATE_BLOCKED ? blocked_leaf(r, s, &nobody)
							  : HG_LEAF_RUNNABLE_BUSY;
	else
		step->leaf = WAIT_LEAF(w);
	if (s->state == HG_STATE_RUNNABLE) {
		step->by = runs_on(r, s->cpu);
		return;
	}
	step->ctx = WAIT_CTX(w);
	if (hg_wake_is_softirq(step->ctx))
		step->ended_on = WAIT_BY(w);
	else
		step->by = WAIT_BY(w);
	step->sysnr = s->sysnr;
	step->object = s->object;
	step->holder = s->holder;
	step->kernel = step->leaf == HG_LEAF_BLOCKED_LOCK && !s->lock_wait;
}

static void step_emit(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	const struct hg_lane_state *s = &r->lanes[lane];
	struct hg_step step;

	if (!r->sweep || !r->open)
		return;
	step = (struct hg_step){
		.time_ns = t, .lane = lane, .sysnr = -1, .cpu = s->cpu, .member = s->member};
	switch ((enum hg_state)s->state) {
	case HG_STATE_GONE:
		step.gone = true;
		break;
	case HG_STATE_UNKNOWN:
		step.leaf = HG_LEAF_UNKNOWN;
		break;
	case HG_STATE_RUNNING:
		step.leaf = HG_LEAF_RUNNING;
		break;
	case HG_STATE_THROTTLED:
		step.leaf = HG_LEAF_THROTTLED;
		step.by = runs_on(r, s->cpu);
		break;
	case HG_STATE_RUNNABLE:
	case HG_STATE_BLOCKED:
		step_wait(r, s, &step);
		break;
	}
	r->fn(r->arg, &step);
}

/* States. */

static void known_set(struct hg_replay *r, uint32_t lane, bool known)
{
	struct hg_lane_state *s = &r->lanes[lane];
	bool was = s->known;
	uint32_t last;

	if (was == known)
		return;
	if (known) {
		r->known[r->known_count++] = lane;
		s->known = (uint32_t)r->known_count;
		return;
	}
	last = r->known[--r->known_count];
	r->known[s->known - 1] = last;
	r->lanes[last].known = s->known;
	s->known = 0;
}

/* While events of some CPU are missing, only who runs on a CPU with all its events is certain to go on doing so. */
static bool in_doubt(const struct hg_replay *r, const struct hg_enter *enter, uint64_t t)
{
	if (t >= r->hole_until_ns || enter->state == HG_STATE_GONE)
		return false;
	return enter->state != HG_STATE_RUNNING || enter->cpu >= r->cpus_size ||
	       t < r->cpus[enter->cpu].hole_until_ns;
}

/*
 * A lane waits for this CPU from now on. Switches between others are recorded only while one waits (level 1), so
 * whoever came last need not be there any more: who leaves at the next switch has been there since now at the latest.
 */
static void waited_for(struct hg_replay *r, uint16_t cpu, uint64_t t)
{
	struct hg_cpu_state *c = cpu < r->cpus_size ? &r->cpus[cpu] : NULL;
	uint32_t actual;

	if (!c || c->waited_since_ns)
		return;
	c->waited_since_ns = t;
	if (!r->sweep || !c->visit)
		return;
	actual = r->m->waits[c->visit - 1];
	if (!actual || actual == c->cur || actual >= r->lanes_size || r->lanes[actual].member)
		return;
	if (c->cur >= HG_LANE_FIRST && r->lanes[c->cur].cpu == cpu)
		hg_replay_visitor_out(r, (uint32_t)c->cur, t, false);
	c->cur = actual;
	if (actual >= HG_LANE_FIRST)
		hg_replay_visitor_in(r, actual, cpu, t);
}

static void state_begin(struct hg_replay *r, uint32_t lane, uint64_t t,
			const struct hg_enter *enter)
{
	struct hg_lane_state *s = &r->lanes[lane];
	bool waits;

	s->state = in_doubt(r, enter, t) ? HG_STATE_UNKNOWN : enter->state;
	s->since_ns = t;
	s->cpu = enter->cpu;
	s->idle_cpu = enter->idle_cpu;
	s->sysnr = enter->sysnr;
	s->object = enter->object;
	s->holder = enter->holder;
	s->uninterruptible = enter->uninterruptible;
	s->newborn = enter->newborn;
	s->stack = 0;
	s->lock_wait = enter->lock_wait && s->state == HG_STATE_BLOCKED;
	s->wait = HG_WAIT_NONE;
	waits = s->state == HG_STATE_RUNNABLE || s->state == HG_STATE_BLOCKED;
	if (waits)
		s->wait = hg_replay_wait(r);
	if (s->lock_wait && !r->sweep) {
		s->lock = hg_locks_get(r->m, r->m->lanes[lane].tgid, s->object);
		hg_locks_begin(r->m, s->lock, t);
	}
	known_set(r, lane, s->state > HG_STATE_UNKNOWN);
	if (s->state == HG_STATE_RUNNABLE && r->m->lanes[lane].role & ~(uint32_t)HG_ROLEF_PROMOTED)
		waited_for(r, s->cpu, t);
	step_emit(r, lane, t);
}

void hg_replay_set(struct hg_replay *r, uint32_t lane, uint64_t t, const struct hg_ender *ender,
		   const struct hg_enter *enter)
{
	static const struct hg_ender nobody = {.vec = -1};

	state_end(r, lane, t, ender ? ender : &nobody);
	state_begin(r, lane, t, enter);
}

static void to_unknown(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	hg_replay_set(r, lane, t, NULL, &(struct hg_enter){.state = HG_STATE_UNKNOWN, .sysnr = -1});
}

static uint64_t in_window(const struct hg_model *m, uint64_t t)
{
	return HG_MIN(HG_MAX(t, m->from_ns), m->to_ns);
}

void hg_replay_join(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];
	struct hg_lane *l = &r->m->lanes[lane];
	struct hg_cpu_state *c = s->cpu < r->cpus_size ? &r->cpus[s->cpu] : NULL;
	/* See waited_for(): while a member waits, who runs is known to the sweep only. */
	bool runs = s->state == HG_STATE_RUNNING && c && c->cur == lane && !c->waited_since_ns;
	struct hg_enter enter = {
		.state = runs ? HG_STATE_RUNNING : HG_STATE_UNKNOWN, .cpu = s->cpu, .sysnr = -1};

	if (s->member || !l->role)
		return;
	if (runs)
		c->visit = 0;
	if (!r->sweep) {
		/* It may come back after it had left (a cgroup). */
		if (s->was_member)
			l->away_ns += in_window(r->m, t) - l->to_ns;
		else
			l->from_ns = in_window(r->m, t);
		l->to_ns = r->m->to_ns;
	}
	s->member = true;
	state_begin(r, lane, t, &enter);
}

void hg_replay_leave(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];

	if (!s->member)
		return;
	hg_replay_set(r, lane, t, NULL, &(struct hg_enter){.state = HG_STATE_GONE, .sysnr = -1});
	s->member = false;
	s->was_member = true;
	if (!r->sweep)
		r->m->lanes[lane].to_ns = in_window(r->m, t);
}

void hg_replay_visitor_in(struct hg_replay *r, uint32_t lane, uint16_t cpu, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];

	if (s->ended)
		return;
	s->state = HG_STATE_RUNNING;
	s->since_ns = t;
	s->cpu = cpu;
	s->wait = HG_WAIT_NONE;
	step_emit(r, lane, t);
}

void hg_replay_visitor_out(struct hg_replay *r, uint32_t lane, uint64_t t, bool seen)
{
	struct hg_lane_state *s = &r->lanes[lane];

	if (s->state != HG_STATE_RUNNING)
		return;
	if (!r->sweep && seen) {
		hg_account_ran(r->m, lane, s->cpu, s->since_ns, t);
		/* Time before a role is not the lane's: its sums are those of a member. */
		if (!r->m->lanes[lane].role)
			hg_account_add(r->m, lane, HG_LEAF_RUNNING, s->since_ns, t);
	}
	s->state = HG_STATE_GONE;
	step_emit(r, lane, t);
}

void hg_replay_flush_running(struct hg_replay *r, uint32_t lane, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];

	hg_account_ran(r->m, lane, s->cpu, s->since_ns, t);
	hg_account_add(r->m, lane, HG_LEAF_RUNNING, s->since_ns, t);
	s->since_ns = t;
}

void hg_replay_migrate(struct hg_replay *r, uint32_t lane, uint16_t cpu, uint64_t t)
{
	struct hg_lane_state *s = &r->lanes[lane];

	if (s->state == HG_STATE_RUNNING || s->cpu == cpu)
		return;
	s->cpu = cpu;
	if (s->state == HG_STATE_RUNNABLE)
		waited_for(r, cpu, t);
	if (s->state == HG_STATE_RUNNABLE || s->state == HG_STATE_THROTTLED)
		step_emit(r, lane, t);
}

/* Holes and the window. */

static void hole_begin(struct hg_replay *r, const struct hg_hole *h)
{
	struct hg_cpu_state *c = hg_replay_cpu(r, h->cpu);
	uint64_t t = HG_MAX(h->from_ns, r->now_ns);

	if (!c || h->to_ns <= t)
		return;
	c->hole_until_ns = HG_MAX(c->hole_until_ns, h->to_ns);
	r->hole_until_ns = HG_MAX(r->hole_until_ns, h->to_ns);
	if (c->cur >= HG_LANE_FIRST && !r->lanes[c->cur].member)
		hg_replay_visitor_out(r, (uint32_t)c->cur, t, true);
	for (size_t i = r->known_count; i-- > 0;) {
		uint32_t lane = r->known[i];
		const struct hg_lane_state *s = &r->lanes[lane];

		if (s->state == HG_STATE_RUNNING && s->cpu < r->cpus_size &&
		    t >= r->cpus[s->cpu].hole_until_ns)
			continue;
		to_unknown(r, lane, t);
	}
	c->cur = HG_LANE_NONE;
	c->visit = 0;
	c->waited_since_ns = 0;
	c->taken_count = 0;
}

static void window_begin(struct hg_replay *r)
{
	r->open = true;
	for (size_t i = HG_LANE_FIRST; r->sweep && i < r->lanes_size; i++) {
		if (r->lanes[i].state != HG_STATE_GONE)
			step_emit(r, (uint32_t)i, r->m->from_ns);
	}
}

void hg_replay_begin_due(struct hg_replay *r, uint64_t t)
{
	const struct hg_model *m = r->m;

	for (;;) {
		uint64_t hole_ns = r->next_hole < m->holes_count && m->holes_known
					   ? m->holes[r->next_hole].from_ns
					   : UINT64_MAX;

		if (!r->open && m->from_ns <= t && m->from_ns <= hole_ns)
			window_begin(r);
		else if (hole_ns <= t)
			hole_begin(r, &m->holes[r->next_hole++]);
		else {
			r->due_ns = r->open ? hole_ns : HG_MIN(hole_ns, m->from_ns);
			return;
		}
	}
}

void hg_replay_finish(struct hg_replay *r)
{
	const struct hg_ender nobody = {.vec = -1};

	hg_replay_advance(r, r->m->to_ns - 1);
	for (size_t i = HG_LANE_FIRST; i < r->lanes_size && !r->sweep; i++) {
		struct hg_lane_state *s = &r->lanes[i];

		/* A visitor that is still there may have left unseen: only its end tells. */
		if (s->member)
			state_end(r, (uint32_t)i, r->m->to_ns, &nobody);
	}
}
