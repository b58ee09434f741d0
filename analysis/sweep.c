/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sweep over the model: credits every nanosecond of the window to what held the target back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sweep.h"
#include "base/hg_base.h"

/* A relay ends at least one wait of the client for so many of the target: a loaded client seldom waits. */
#define RELAY_PART 20

unsigned int hg_sweep_active(const struct hg_sweep *s)
{
	return s->running + s->runnable + s->throttled;
}

struct hg_blame_row *hg_sweep_row(struct hg_sweep *s, enum hg_blame blame, uint64_t id)
{
	struct hg_sweep_row_key key = {.id = id, .blame = blame};
	struct hg_sweep_row_slot *slot = NULL;

	HASH_FIND(hh, s->rows, &key, sizeof(key), slot);
	if (slot)
		return &slot->row;
	slot = calloc(1, sizeof(*slot));
	if (!slot) {
		s->err = -ENOMEM;
		return NULL;
	}
	slot->key = key;
	slot->row.blame = blame;
	slot->row.id = id;
	HASH_ADD(hh, s->rows, key, sizeof(slot->key), slot);
	return &slot->row;
}

void hg_sweep_credit_row(struct hg_sweep *s, struct hg_blame_row *row, double ns)
{
	if (row)
		row->sub_ns[s->sub] += ns;
}

void hg_sweep_credit(struct hg_sweep *s, enum hg_blame blame, double ns)
{
	if (!s->plain[blame])
		s->plain[blame] = hg_sweep_row(s, blame, 0);
	hg_sweep_credit_row(s, s->plain[blame], ns);
}

/* Which moments they took is not replayed: they have their share in all of the lane's running time in the sub-window. */
double hg_sweep_taken_part(const struct hg_sweep *s, const struct hg_sweep_lane *l)
{
	const struct hg_lane *lane = &s->lanes[l - s->ls];
	const uint64_t *ns;
	double taken;

	if (!hg_sweep_cpu_full(s, l->cpu) || !lane->sub_ns)
		return 0;
	ns = lane->sub_ns[s->sub];
	taken = (double)(ns[HG_LEAF_RUNNING_SOFTIRQ] + ns[HG_LEAF_RUNNING_IRQ]);
	return taken > 0 ? taken / (taken + (double)ns[HG_LEAF_RUNNING]) : 0;
}

/* Of what a running lane earned, the part that the softirqs of a full CPU took from it goes to these. */
static void settle_taken(struct hg_sweep *s, const struct hg_sweep_lane *l, double *single,
			 double d[WHERES])
{
	double part = hg_sweep_taken_part(s, l);

	if (part <= 0)
		return;
	hg_sweep_credit_row(s, hg_sweep_row(s, HG_BLAME_SOFTIRQ, l->cpu),
			    part * (*single + d[WHERE_ALLOWED] + d[WHERE_OUTSIDE] + d[WHERE_NONE]));
	*single *= 1 - part;
	for (int w = 0; w < WHERES; w++)
		d[w] *= 1 - part;
}

void hg_sweep_settle(struct hg_sweep *s, struct hg_sweep_lane *l, uint32_t lane)
{
	const struct hg_sweep_class *c = &s->classes[l->class_index];
	double single = s->single_clock - l->seen_single, d[WHERES];

	for (int w = 0; w < WHERES; w++)
		d[w] = c->clock[w] - l->seen[w];
	l->seen_single = s->single_clock;
	memcpy(l->seen, c->clock, sizeof(l->seen));
	if (!l->target || !l->present || !hg_leaf_is_running(l->leaf))
		return;
	settle_taken(s, l, &single, d);
	if (l->holds) {
		hg_sweep_credit_row(s, s->lock_rows[l->holds - 1],
				    single + d[WHERE_ALLOWED] + d[WHERE_OUTSIDE] + d[WHERE_NONE]);
		return;
	}
	if (l->hands) {
		hg_sweep_credit_row(s, s->lock_rows[l->hands - 1], single + d[WHERE_ALLOWED]);
	} else if (single + d[WHERE_ALLOWED] > 0) {
		if (!l->serial)
			l->serial = hg_sweep_row(s, HG_BLAME_SERIAL, lane);
		hg_sweep_credit_row(s, l->serial, single + d[WHERE_ALLOWED]);
	}
	if (d[WHERE_OUTSIDE] > 0)
		hg_sweep_credit(s, HG_BLAME_POOL_MASK, d[WHERE_OUTSIDE]);
	if (d[WHERE_NONE] > 0)
		hg_sweep_credit(s, HG_BLAME_POOL, d[WHERE_NONE]);
}

/* --- time --- */

static void pass(struct hg_sweep *s, double dt)
{
	unsigned int n = hg_sweep_active(s);

	if (s->lock_waiters)
		hg_sweep_lock_time(s, dt);
	if (!n) {
		if (s->lock_waiters) {
			hg_sweep_credit_row(s, s->lock_rows[hg_sweep_lock_most_waited(s)], dt);
		} else {
			s->idle_pending[s->sub] += dt;
			s->idle_pending_sum += dt;
		}
		return;
	}
	if (s->running) {
		s->kernel_ran[s->sub] += dt / n * s->running;
		if (s->kernel_waiting)
			s->kernel_held[s->sub] += dt / n;
		if (n == 1) {
			s->single_clock += dt;
		} else {
			for (unsigned int i = 0; i < s->classes_count; i++) {
				const double *where = hg_sweep_idle_where(s, &s->classes[i]);

				for (int w = 0; w < WHERES; w++)
					s->classes[i].clock[w] += dt / n * where[w];
			}
		}
	}
	for (unsigned int i = 0; i < s->queue_count; i++)
		hg_sweep_credit_queue(s, s->queue_list[i], dt / n);
	if (s->throttled)
		hg_sweep_credit(s, HG_BLAME_QUOTA, dt / n * s->throttled);
}

static void settle_all(struct hg_sweep *s)
{
	for (size_t i = 0; i < s->lanes_count; i++) {
		if (s->ls[i].target)
			hg_sweep_settle(s, &s->ls[i], (uint32_t)i);
	}
}

static void advance(struct hg_sweep *s, uint64_t t)
{
	while (t > s->now_ns) {
		uint64_t to = HG_MIN(t, s->sub_end_ns);

		pass(s, (double)(to - s->now_ns));
		s->now_ns = to;
		if (to < s->sub_end_ns)
			break;
		settle_all(s);
		if (s->sub + 1 >= s->out->subs)
			break;
		s->sub++;
		s->sub_end_ns = hg_model_sub_ns(s->model, s->sub + 1);
		hg_sweep_background_load(s);
	}
}

/* --- steps --- */

static void counts_change(struct hg_sweep *s, const struct hg_sweep_lane *l, int sign)
{
	if (!l->present || !l->target)
		return;
	if (hg_leaf_is_running(l->leaf)) {
		s->running += (unsigned int)sign;
	} else if (hg_leaf_is_runnable(l->leaf)) {
		s->runnable += (unsigned int)sign;
		hg_sweep_queue_change(s, l, sign);
	} else if (l->leaf == HG_LEAF_THROTTLED) {
		s->throttled += (unsigned int)sign;
	} else if (l->leaf == HG_LEAF_BLOCKED_NET) {
		s->net_waiters += (unsigned int)sign;
	}
}

static bool leaf_is_active(const struct hg_sweep_lane *l)
{
	return l->present && (hg_leaf_is_running(l->leaf) || hg_leaf_is_runnable(l->leaf) ||
			      l->leaf == HG_LEAF_THROTTLED);
}

/* A peer sends what a lane of target or client waits for. */
static void ender_count(struct hg_sweep *s, const struct hg_sweep_lane *l)
{
	struct hg_sweep_lane *by;

	if (!l->by || l->by >= s->lanes_count ||
	    (l->leaf != HG_LEAF_BLOCKED_NET && l->leaf != HG_LEAF_BLOCKED_PEER) ||
	    (l->ctx != HG_CTX_SOFTIRQ_OWN && l->ctx != HG_CTX_TASK))
		return;
	by = &s->ls[l->by];
	if (l->target)
		by->ended_target++;
	else if (l->client)
		by->ended_client++;
}

static void leave(struct hg_sweep *s, struct hg_sweep_lane *l, uint32_t lane, bool will_be_active)
{
	if (will_be_active && !leaf_is_active(l))
		ender_count(s, l);
	if (!l->target && !hg_sweep_active(s))
		hg_sweep_client_account(s, l, s->now_ns);
	if (l->target)
		hg_sweep_settle(s, l, lane);
	counts_change(s, l, -1);
	if (l->hands && !will_be_active)
		hg_sweep_lock_abandon(s, lane);
	if (l->lock)
		hg_sweep_lock_leave(s, lane);
	if (l->target && !hg_sweep_active(s) && will_be_active && !leaf_is_active(l))
		hg_sweep_idle_end(s, l);
	if (l->present && hg_leaf_is_running(l->leaf) && l->cpu < s->cpus_count &&
	    s->current[l->cpu] == lane)
		hg_sweep_cpu_set(s, l->cpu, 0);
}

static void enter(struct hg_sweep *s, struct hg_sweep_lane *l, uint32_t lane,
		  const struct hg_step *step)
{
	l->present = !step->gone;
	l->leaf = step->leaf;
	l->ctx = step->ctx;
	l->sysnr = step->sysnr;
	l->cpu = step->cpu;
	l->by = step->by;
	l->ended_on = step->ended_on;
	l->since_ns = s->now_ns;
	if (l->woken_from && (!l->present || !hg_leaf_is_runnable(l->leaf)))
		hg_sweep_lock_arrive(s, lane);
	if (!l->present)
		return;
	counts_change(s, l, 1);
	if (hg_leaf_is_running(l->leaf)) {
		/* The clocks ran while it did not: start from here. */
		l->seen_single = s->single_clock;
		memcpy(l->seen, s->classes[l->class_index].clock, sizeof(l->seen));
		hg_sweep_cpu_set(s, l->cpu, lane);
	}
	if (l->target && l->leaf == HG_LEAF_BLOCKED_LOCK)
		hg_sweep_lock_enter(s, lane, step);
}

static void on_step(void *arg, const struct hg_step *step)
{
	struct hg_sweep *s = arg;
	uint32_t lane = step->lane;
	struct hg_sweep_lane *l;
	unsigned int before;
	bool will_be_active;

	if (lane >= s->lanes_count || lane < HG_LANE_FIRST || s->err)
		return;
	l = &s->ls[lane];
	advance(s, step->time_ns);
	before = hg_sweep_active(s);
	will_be_active =
		!step->gone && (hg_leaf_is_running(step->leaf) || hg_leaf_is_runnable(step->leaf) ||
				step->leaf == HG_LEAF_THROTTLED);
	leave(s, l, lane, will_be_active);
	enter(s, l, lane, step);
	if (before && !hg_sweep_active(s)) {
		s->idle_start_ns = s->now_ns;
		s->idle_epoch++;
	}
}

/* --- set up and result --- */

static uint8_t class_get(struct hg_sweep *s, const struct hg_lane *l)
{
	if (!l->cpus_count || !l->cpus_mask0 || l->cpus_count >= s->cpus_count)
		return 0;
	for (unsigned int i = 1; i < s->classes_count; i++) {
		if (s->classes[i].mask0 == l->cpus_mask0)
			return (uint8_t)i;
	}
	if (s->classes_count == HG_SWEEP_CLASSES_MAX)
		return 0;
	s->classes[s->classes_count] = (struct hg_sweep_class){.mask0 = l->cpus_mask0};
	return (uint8_t)s->classes_count++;
}

static int by_total(const void *a, const void *b)
{
	const struct hg_blame_row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->blame != y->blame)
		return (int)x->blame - (int)y->blame;
	return (x->id > y->id) - (x->id < y->id);
}

void hg_shares_sort(struct hg_shares *s)
{
	qsort(s->rows, s->rows_count, sizeof(*s->rows), by_total);
}

/* One that answers the target alone is a service behind it; one that the client waits for as well stands between them. */
static void peer_finish(const struct hg_sweep *s, struct hg_blame_row *row)
{
	const struct hg_sweep_lane *l = &s->ls[row->id];

	row->ended_target = l->ended_target;
	row->ended_client = l->ended_client;
	if (row->id && RELAY_PART * l->ended_client >= l->ended_target && l->ended_client)
		row->blame = row->blame == HG_BLAME_PEER ? HG_BLAME_RELAY : HG_BLAME_NET_LATE;
}

static int rows_take(struct hg_sweep *s, struct hg_shares *out)
{
	struct hg_sweep_row_slot *slot, *next;

	out->rows = calloc(HASH_COUNT(s->rows) + 1, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	HASH_ITER (hh, s->rows, slot, next) {
		for (unsigned int i = 0; i < out->subs; i++)
			slot->row.total_ns += slot->row.sub_ns[i];
		if (slot->row.blame == HG_BLAME_PEER || slot->row.blame == HG_BLAME_PEER_WAIT)
			peer_finish(s, &slot->row);
		out->rows[out->rows_count++] = slot->row;
	}
	hg_shares_sort(out);
	return 0;
}

static void sweep_clear(struct hg_sweep *s)
{
	struct hg_sweep_row_slot *row, *next_row;
	struct hg_sweep_lock_slot *lock, *next_lock;

	HASH_ITER (hh, s->rows, row, next_row) {
		HASH_DEL(s->rows, row);
		free(row);
	}
	HASH_ITER (hh, s->locks, lock, next_lock) {
		HASH_DEL(s->locks, lock);
		free(lock);
	}
	free(s->lock_rows);
	free(s->contended);
	free(s->ls);
	free(s);
}

static int sweep_setup(struct hg_sweep *s, struct hg_model *m, struct hg_shares *out)
{
	const struct hg_cpu *cpus;
	struct hg_model_session session;

	s->model = m;
	s->out = out;
	s->lanes_count = hg_model_lanes(m, &s->lanes);
	s->cpus_count = hg_model_cpus(m, &cpus);
	s->cpus_count = s->cpus_count ? HG_MIN(s->cpus_count, (size_t)HG_SWEEP_CPUS_MAX) : 1;
	s->ls = calloc(s->lanes_count + 1, sizeof(*s->ls));
	if (!s->ls)
		return -ENOMEM;
	hg_model_session_get(m, &session);
	s->classes[0].all = true;
	s->classes_count = 1;
	for (size_t i = 0; i < s->lanes_count; i++) {
		s->ls[i].target = hg_lane_is_target(&s->lanes[i], session.level_all);
		s->ls[i].client = hg_lane_is_client(&s->lanes[i]) && !s->ls[i].target;
		s->ls[i].ksoftirqd = s->lanes[i].flags & HG_TASKF_KSOFTIRQD;
		s->ls[i].sysnr = -1;
		if (s->ls[i].target)
			s->ls[i].class_index = class_get(s, &s->lanes[i]);
	}
	s->now_ns = s->idle_start_ns = hg_model_from_ns(m);
	s->sub_end_ns = hg_model_sub_ns(m, 1);
	hg_sweep_background_load(s);
	return 0;
}

int hg_shares_make(struct hg_model *m, struct hg_shares *out)
{
	struct hg_sweep *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	memset(out, 0, sizeof(*out));
	out->subs = HG_MIN(hg_model_subwindows(m), (unsigned int)HG_SUBWINDOWS_MAX);
	for (unsigned int i = 0; i < out->subs; i++) {
		out->sub_ns[i] = (double)(hg_model_sub_ns(m, i + 1) - hg_model_sub_ns(m, i));
		out->wall_ns += out->sub_ns[i];
	}
	err = sweep_setup(s, m, out);
	if (!err && out->subs)
		err = hg_model_sweep(m, on_step, s);
	if (!err && out->subs) {
		advance(s, hg_model_to_ns(m));
		settle_all(s);
		hg_sweep_idle_rest(s);
		hg_sweep_kernel(s);
		err = s->err;
	}
	if (!err)
		err = rows_take(s, out);
	sweep_clear(s);
	if (err)
		hg_shares_clear(out);
	return err;
}

void hg_shares_clear(struct hg_shares *s)
{
	free(s->rows);
	free(s->locks);
	memset(s, 0, sizeof(*s));
}

const struct hg_blame_row *hg_shares_row(const struct hg_shares *s, enum hg_blame blame,
					 uint64_t id)
{
	for (size_t i = 0; i < s->rows_count; i++) {
		if (s->rows[i].blame == blame && s->rows[i].id == id)
			return &s->rows[i];
	}
	return NULL;
}

const struct hg_blame_row *hg_shares_largest(const struct hg_shares *s, enum hg_blame blame)
{
	for (size_t i = 0; i < s->rows_count; i++) {
		if (s->rows[i].blame == blame)
			return &s->rows[i];
	}
	return NULL;
}
