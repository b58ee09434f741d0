/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One sweep over the model: credits every nanosecond of the window to what held the target back.
 *
 * n lanes of the target are active at a time and a step must not cost O(n), so running lanes earn through
 * virtual clocks (integrals of dt/n) that are read when a lane's own state changes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <uthash.h>

#include "analysis/attribution.h"
#include "base/hg_base.h"

#define CPUS_MAX 1024
#define CLASSES_MAX                                                                                \
	8 /* distinct sets of allowed CPUs that are told apart; the rest counts as "all" */

enum where { WHERE_ALLOWED, WHERE_OUTSIDE, WHERE_NONE, WHERES }; /* where a CPU is idle */

struct lane_state {
	uint8_t leaf;
	uint8_t class_index;
	bool target, client, ksoftirqd, present;
	uint8_t ctx;
	int16_t sysnr;
	uint16_t cpu;
	uint32_t by;
	uint32_t lock;	/* index + 1 of the lock that it waits for */
	uint32_t holds; /* index + 1 of a lock with waiters that it holds */
	uint64_t since_ns;
	double seen_single, seen[WHERES]; /* virtual clocks at the last settling */
	struct hg_blame_row *serial, *competitor;
	/* clients: what it did since the target became idle */
	uint64_t idle_epoch;
	uint64_t idle_ns[HG_LEAVES];
};

struct lock_key {
	uint64_t address;
	uint32_t tgid, pad;
};

struct lock_slot {
	struct lock_key key;
	uint32_t index;
	UT_hash_handle hh;
};

struct row_key {
	uint64_t id, blame;
};

struct row_slot {
	struct row_key key;
	struct hg_blame_row row;
	UT_hash_handle hh;
};

/* Chance that some CPU of a set is idle, kept as a product over its unoccupied CPUs. */
struct cpu_class {
	uint64_t mask0;
	bool all;
	unsigned int surely_idle; /* unoccupied CPUs whose background is 0 */
	double log_busy;	  /* sum of logs of the others' background */
	double clock[WHERES];
};

struct sweep {
	struct hg_model *model;
	const struct hg_lane *lanes;
	size_t lanes_count;
	struct lane_state *ls;
	struct hg_shares *out;
	struct row_slot *rows;
	struct lock_slot *locks;
	struct hg_blame_row **lock_rows;
	size_t locks_capacity;
	struct hg_blame_row *plain[HG_BLAMES];
	struct cpu_class classes[CLASSES_MAX];
	unsigned int classes_count;
	size_t cpus_count;
	uint32_t current[CPUS_MAX];
	uint32_t queued[CPUS_MAX][CLASSES_MAX];
	uint32_t queued_sum[CPUS_MAX];
	uint16_t queue_list[CPUS_MAX]; /* CPUs with queued_sum > 0 */
	unsigned int queue_count;
	double background
		[CPUS_MAX]; /* busy share, in this sub-window, of the time without a known lane */
	unsigned int sub;
	uint64_t now_ns, sub_end_ns;
	unsigned int running, runnable, throttled;
	unsigned int lock_waiters, net_waiters;
	double single_clock;
	/* idle period of the target */
	uint64_t idle_start_ns, idle_epoch;
	double idle_pending[HG_SUBWINDOWS_MAX];
	double idle_pending_sum;
	uint32_t last_sender;
	int err;
};

static unsigned int active(const struct sweep *s)
{
	return s->running + s->runnable + s->throttled;
}

static struct hg_blame_row *row_get(struct sweep *s, enum hg_blame blame, uint64_t id)
{
	struct row_key key = {.id = id, .blame = blame};
	struct row_slot *slot = NULL;

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

static void credit_row(struct sweep *s, struct hg_blame_row *row, double ns)
{
	if (row)
		row->sub_ns[s->sub] += ns;
}

static void credit(struct sweep *s, enum hg_blame blame, double ns)
{
	if (!s->plain[blame])
		s->plain[blame] = row_get(s, blame, 0);
	credit_row(s, s->plain[blame], ns);
}

/* --- which CPUs are idle --- */

static bool class_has(const struct cpu_class *c, unsigned int cpu)
{
	return c->all || (cpu < 64 && (c->mask0 >> cpu & 1));
}

static void occupancy_add(struct sweep *s, unsigned int cpu, int sign)
{
	double busy = s->background[cpu];

	for (unsigned int i = 0; i < s->classes_count; i++) {
		struct cpu_class *c = &s->classes[i];

		if (!class_has(c, cpu))
			continue;
		if (busy <= 0)
			c->surely_idle += (unsigned int)sign;
		else
			c->log_busy += sign * log(busy);
	}
}

static double idle_chance(const struct cpu_class *c)
{
	if (c->surely_idle)
		return 1;
	return c->log_busy < 0 ? 1 - exp(c->log_busy) : 0;
}

/* Chances that a CPU is idle: among the allowed ones; only outside of them; nowhere. */
static void idle_where(const struct sweep *s, const struct cpu_class *c, double out[WHERES])
{
	double allowed = idle_chance(c), online = idle_chance(&s->classes[0]);

	out[WHERE_ALLOWED] = allowed;
	out[WHERE_OUTSIDE] = online > allowed ? online - allowed : 0;
	out[WHERE_NONE] = 1 - allowed - out[WHERE_OUTSIDE];
}

/* Busy share of a CPU outside the time of known lanes: from the totals that count every task. */
static double background_busy(const struct sweep *s, const struct hg_cpu *cpu, unsigned int sub)
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

static void background_load(struct sweep *s)
{
	const struct hg_cpu *cpus;
	size_t n = hg_model_cpus(s->model, &cpus);

	for (unsigned int i = 0; i < s->classes_count; i++) {
		s->classes[i].surely_idle = 0;
		s->classes[i].log_busy = 0;
	}
	for (size_t c = 0; c < s->cpus_count; c++) {
		s->background[c] = c < n ? background_busy(s, &cpus[c], s->sub) : 0;
		if (!s->current[c])
			occupancy_add(s, (unsigned int)c, 1);
	}
}

static void cpu_set_current(struct sweep *s, unsigned int cpu, uint32_t lane)
{
	if (cpu >= s->cpus_count)
		return;
	if (!s->current[cpu] && lane)
		occupancy_add(s, cpu, -1);
	else if (s->current[cpu] && !lane)
		occupancy_add(s, cpu, 1);
	s->current[cpu] = lane;
}

/* --- running lanes --- */

/* Pays a running lane of the target for the time since it was last paid. */
static void settle(struct sweep *s, struct lane_state *l, uint32_t lane)
{
	const struct cpu_class *c = &s->classes[l->class_index];
	double single = s->single_clock - l->seen_single, d[WHERES];

	for (int w = 0; w < WHERES; w++)
		d[w] = c->clock[w] - l->seen[w];
	l->seen_single = s->single_clock;
	memcpy(l->seen, c->clock, sizeof(l->seen));
	if (!l->target || !l->present || !hg_leaf_is_running(l->leaf))
		return;
	if (l->holds) {
		credit_row(s, s->lock_rows[l->holds - 1],
			   single + d[WHERE_ALLOWED] + d[WHERE_OUTSIDE] + d[WHERE_NONE]);
		return;
	}
	if (single + d[WHERE_ALLOWED] > 0) {
		if (!l->serial)
			l->serial = row_get(s, HG_BLAME_SERIAL, lane);
		credit_row(s, l->serial, single + d[WHERE_ALLOWED]);
	}
	if (d[WHERE_OUTSIDE] > 0)
		credit(s, HG_BLAME_POOL_MASK, d[WHERE_OUTSIDE]);
	if (d[WHERE_NONE] > 0)
		credit(s, HG_BLAME_POOL, d[WHERE_NONE]);
}

/* --- runnable lanes --- */

static void credit_queue(struct sweep *s, unsigned int cpu, double each_ns)
{
	uint32_t lane = s->current[cpu];
	struct lane_state *l = lane ? &s->ls[lane] : NULL;

	if (l && !l->target && !l->client) {
		if (l->ksoftirqd) {
			credit(s, HG_BLAME_KSOFTIRQD, each_ns * s->queued_sum[cpu]);
			return;
		}
		if (!l->competitor)
			l->competitor = row_get(s, HG_BLAME_COMPETITOR, lane);
		credit_row(s, l->competitor, each_ns * s->queued_sum[cpu]);
		return;
	}
	if (!l) {
		credit(s, HG_BLAME_PLACEMENT, each_ns * s->queued_sum[cpu]);
		return;
	}
	for (unsigned int i = 0; i < s->classes_count; i++) {
		double where[WHERES], ns = each_ns * s->queued[cpu][i];

		if (!s->queued[cpu][i])
			continue;
		idle_where(s, &s->classes[i], where);
		credit(s, HG_BLAME_PLACEMENT, ns * where[WHERE_ALLOWED]);
		credit(s, HG_BLAME_POOL_MASK, ns * where[WHERE_OUTSIDE]);
		credit(s, HG_BLAME_POOL, ns * where[WHERE_NONE]);
	}
}

static void queue_change(struct sweep *s, const struct lane_state *l, int sign)
{
	unsigned int cpu = l->cpu < s->cpus_count ? l->cpu : 0;

	s->queued[cpu][l->class_index] += (uint32_t)sign;
	s->queued_sum[cpu] += (uint32_t)sign;
	if (sign > 0 && s->queued_sum[cpu] == 1) {
		s->queue_list[s->queue_count++] = (uint16_t)cpu;
	} else if (sign < 0 && !s->queued_sum[cpu]) {
		for (unsigned int i = 0; i < s->queue_count; i++) {
			if (s->queue_list[i] == cpu)
				s->queue_list[i] = s->queue_list[--s->queue_count];
		}
	}
}

/* --- locks --- */

static uint32_t lock_get(struct sweep *s, uint32_t tgid, uint64_t address)
{
	struct lock_key key = {.address = address, .tgid = tgid};
	struct hg_shares *out = s->out;
	struct lock_slot *slot = NULL;

	HASH_FIND(hh, s->locks, &key, sizeof(key), slot);
	if (slot)
		return slot->index;
	if (out->locks_count == s->locks_capacity) {
		size_t capacity = s->locks_capacity ? 2 * s->locks_capacity : 16;
		struct hg_blame_lock *locks = reallocarray(out->locks, capacity, sizeof(*locks));
		struct hg_blame_row **rows;

		if (locks)
			out->locks = locks;
		rows = reallocarray(s->lock_rows, capacity, sizeof(struct hg_blame_row *));
		if (rows)
			s->lock_rows = rows;
		if (!locks || !rows)
			goto nomem;
		s->locks_capacity = capacity;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		goto nomem;
	slot->key = key;
	slot->index = (uint32_t)out->locks_count;
	HASH_ADD(hh, s->locks, key, sizeof(slot->key), slot);
	out->locks[out->locks_count] =
		(struct hg_blame_lock){.tgid = tgid, .address = address, .holder_sysnr = -1};
	s->lock_rows[out->locks_count] = row_get(s, HG_BLAME_LOCK, out->locks_count);
	return (uint32_t)out->locks_count++;
nomem:
	s->err = -ENOMEM;
	return UINT32_MAX;
}

/* Marks who holds a lock that has waiters; credit up to now went by the old marks. */
static void lock_mark(struct sweep *s, uint32_t index, uint32_t holder, uint32_t waiting)
{
	struct hg_blame_lock *k = &s->out->locks[index];

	if (k->holder && s->ls[k->holder].holds == index + 1) {
		settle(s, &s->ls[k->holder], k->holder);
		s->ls[k->holder].holds = 0;
	}
	k->holder = holder;
	k->waiting = waiting;
	if (holder && waiting && !s->ls[holder].holds) {
		settle(s, &s->ls[holder], holder);
		s->ls[holder].holds = index + 1;
	}
}

static void lock_enter(struct sweep *s, uint32_t lane, const struct hg_step *step)
{
	uint32_t index = lock_get(s, s->lanes[lane].tgid, step->object);
	uint32_t holder = step->holder < s->lanes_count ? step->holder : 0;

	if (index == UINT32_MAX)
		return;
	s->ls[lane].lock = index + 1;
	s->lock_waiters++;
	lock_mark(s, index, holder ? holder : s->out->locks[index].holder,
		  s->out->locks[index].waiting + 1);
}

/* A waiter that was let go is the next holder, as far as anybody can see from outside. */
static void lock_leave(struct sweep *s, uint32_t lane)
{
	uint32_t index = s->ls[lane].lock - 1;

	s->ls[lane].lock = 0;
	s->lock_waiters--;
	lock_mark(s, index, lane, s->out->locks[index].waiting - 1);
}

static void lock_time(struct sweep *s, double dt)
{
	for (size_t i = 0; i < s->out->locks_count; i++) {
		struct hg_blame_lock *k = &s->out->locks[i];
		const struct lane_state *h = &s->ls[k->holder];

		if (!k->waiting)
			continue;
		k->contended_ns += dt;
		if (!k->holder || !h->present)
			continue;
		k->holder_leaf_ns[h->leaf] += dt;
		if (hg_leaf_is_blocked(h->leaf) &&
		    (h->sysnr == k->holder_sysnr || dt > k->holder_sysnr_ns)) {
			k->holder_sysnr_ns =
				h->sysnr == k->holder_sysnr ? k->holder_sysnr_ns + dt : dt;
			k->holder_sysnr = h->sysnr;
		}
	}
}

static uint32_t lock_most_waited(const struct sweep *s)
{
	uint32_t best = 0;

	for (size_t i = 1; i < s->out->locks_count; i++) {
		if (s->out->locks[i].waiting > s->out->locks[best].waiting)
			best = (uint32_t)i;
	}
	return best;
}

/* --- time without an active lane --- */

static void client_account(struct sweep *s, struct lane_state *l, uint64_t t)
{
	uint64_t from = HG_MAX(l->since_ns, s->idle_start_ns);

	if (l->idle_epoch != s->idle_epoch) {
		memset(l->idle_ns, 0, sizeof(l->idle_ns));
		l->idle_epoch = s->idle_epoch;
	}
	if (t > from)
		l->idle_ns[l->leaf] += t - from;
}

static void idle_give(struct sweep *s, struct hg_blame_row *row, double part)
{
	if (!row || part <= 0)
		return;
	for (unsigned int i = 0; i <= s->sub; i++)
		row->sub_ns[i] += s->idle_pending[i] * part;
}

static void idle_give_client(struct sweep *s, uint32_t sender)
{
	struct lane_state *l = &s->ls[sender];
	double sum = 0, busy = 0, timer = 0;

	client_account(s, l, s->now_ns);
	for (int i = 0; i < HG_LEAVES; i++) {
		double ns = (double)l->idle_ns[i];

		sum += ns;
		if (hg_leaf_is_running((enum hg_leaf)i) || hg_leaf_is_runnable((enum hg_leaf)i) ||
		    i == HG_LEAF_THROTTLED)
			busy += ns;
		else if (i == HG_LEAF_BLOCKED_TIMER)
			timer += ns;
	}
	if (sum <= 0) {
		idle_give(s, row_get(s, HG_BLAME_OTHER, 0), 1);
		return;
	}
	idle_give(s, row_get(s, HG_BLAME_CLIENT_BUSY, 0), busy / sum);
	idle_give(s, row_get(s, HG_BLAME_CLIENT_TIMER, 0), timer / sum);
	idle_give(s, row_get(s, HG_BLAME_CLIENT_WAIT, 0), (sum - busy - timer) / sum);
}

/* x86-64: waits of an event loop, in which a thread is ready for the next request. */
static bool is_event_wait(int sysnr)
{
	switch (sysnr) {
	case 7:	  /* poll */
	case 23:  /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return true;
	default:
		return false;
	}
}

/* The idle period ends because of this lane of the target, by its wait. */
static void idle_end(struct sweep *s, const struct lane_state *l)
{
	uint32_t by = l->by < s->lanes_count ? l->by : 0;
	bool own = l->ctx == HG_CTX_SOFTIRQ_OWN || l->ctx == HG_CTX_TASK;
	uint32_t sender = own && by && s->ls[by].client ? by : 0;

	if (s->idle_pending_sum <= 0)
		return;
	switch (l->leaf) {
	case HG_LEAF_BLOCKED_NET:
	case HG_LEAF_BLOCKED_PEER:
		/* In softirqs of other contexts the sender is not known; the last known one is the best guess. */
		if (!sender && !own)
			sender = s->last_sender;
		if (sender) {
			s->last_sender = sender;
			idle_give_client(s, sender);
		} else if (l->leaf == HG_LEAF_BLOCKED_NET && !own) {
			idle_give(s, row_get(s, HG_BLAME_NET, 0), 1);
		} else {
			idle_give(s, row_get(s, HG_BLAME_PEER, by), 1);
		}
		break;
	case HG_LEAF_BLOCKED_TIMER:
		idle_give(s,
			  row_get(s,
				  is_event_wait(l->sysnr) || s->net_waiters ? HG_BLAME_SERVICE
									    : HG_BLAME_SERIAL_WAIT,
				  0),
			  1);
		break;
	case HG_LEAF_BLOCKED_DISK:
		idle_give(s, row_get(s, HG_BLAME_DISK, 0), 1);
		break;
	default:
		idle_give(s, row_get(s, HG_BLAME_OTHER, 0), 1);
	}
	memset(s->idle_pending, 0, sizeof(s->idle_pending));
	s->idle_pending_sum = 0;
}

/* --- time --- */

static void pass(struct sweep *s, double dt)
{
	unsigned int n = active(s);

	if (s->lock_waiters)
		lock_time(s, dt);
	if (!n) {
		if (s->lock_waiters) {
			credit_row(s, s->lock_rows[lock_most_waited(s)], dt);
		} else {
			s->idle_pending[s->sub] += dt;
			s->idle_pending_sum += dt;
		}
		return;
	}
	if (s->running) {
		if (n == 1) {
			s->single_clock += dt;
		} else {
			for (unsigned int i = 0; i < s->classes_count; i++) {
				double where[WHERES];

				idle_where(s, &s->classes[i], where);
				for (int w = 0; w < WHERES; w++)
					s->classes[i].clock[w] += dt / n * where[w];
			}
		}
	}
	for (unsigned int i = 0; i < s->queue_count; i++)
		credit_queue(s, s->queue_list[i], dt / n);
	if (s->throttled)
		credit(s, HG_BLAME_QUOTA, dt / n * s->throttled);
}

static void settle_all(struct sweep *s)
{
	for (size_t i = 0; i < s->lanes_count; i++) {
		if (s->ls[i].target)
			settle(s, &s->ls[i], (uint32_t)i);
	}
}

static void advance(struct sweep *s, uint64_t t)
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
		background_load(s);
	}
}

/* --- steps --- */

static void counts_change(struct sweep *s, const struct lane_state *l, int sign)
{
	if (!l->present || !l->target)
		return;
	if (hg_leaf_is_running(l->leaf)) {
		s->running += (unsigned int)sign;
	} else if (hg_leaf_is_runnable(l->leaf)) {
		s->runnable += (unsigned int)sign;
		queue_change(s, l, sign);
	} else if (l->leaf == HG_LEAF_THROTTLED) {
		s->throttled += (unsigned int)sign;
	} else if (l->leaf == HG_LEAF_BLOCKED_NET) {
		s->net_waiters += (unsigned int)sign;
	}
}

static bool leaf_is_active(const struct lane_state *l)
{
	return l->present && (hg_leaf_is_running(l->leaf) || hg_leaf_is_runnable(l->leaf) ||
			      l->leaf == HG_LEAF_THROTTLED);
}

static void leave(struct sweep *s, struct lane_state *l, uint32_t lane, bool will_be_active)
{
	if (l->client && !active(s))
		client_account(s, l, s->now_ns);
	if (l->target)
		settle(s, l, lane);
	counts_change(s, l, -1);
	if (l->lock)
		lock_leave(s, lane);
	if (l->target && !active(s) && will_be_active && !leaf_is_active(l))
		idle_end(s, l);
	if (l->present && hg_leaf_is_running(l->leaf) && l->cpu < s->cpus_count &&
	    s->current[l->cpu] == lane)
		cpu_set_current(s, l->cpu, 0);
}

static void enter(struct sweep *s, struct lane_state *l, uint32_t lane, const struct hg_step *step)
{
	l->present = !step->gone;
	l->leaf = step->leaf;
	l->ctx = step->ctx;
	l->sysnr = step->sysnr;
	l->cpu = step->cpu;
	l->by = step->by;
	l->since_ns = s->now_ns;
	if (!l->present)
		return;
	counts_change(s, l, 1);
	if (hg_leaf_is_running(l->leaf)) {
		/* The clocks ran while it did not: start from here. */
		l->seen_single = s->single_clock;
		memcpy(l->seen, s->classes[l->class_index].clock, sizeof(l->seen));
		cpu_set_current(s, l->cpu, lane);
	}
	if (l->target && l->leaf == HG_LEAF_BLOCKED_LOCK)
		lock_enter(s, lane, step);
}

static void on_step(void *arg, const struct hg_step *step)
{
	struct sweep *s = arg;
	uint32_t lane = step->lane;
	struct lane_state *l;
	unsigned int before;
	bool will_be_active;

	if (lane >= s->lanes_count || lane < HG_LANE_FIRST || s->err)
		return;
	l = &s->ls[lane];
	advance(s, step->time_ns);
	before = active(s);
	will_be_active =
		!step->gone && (hg_leaf_is_running(step->leaf) || hg_leaf_is_runnable(step->leaf) ||
				step->leaf == HG_LEAF_THROTTLED);
	leave(s, l, lane, will_be_active);
	enter(s, l, lane, step);
	if (before && !active(s)) {
		s->idle_start_ns = s->now_ns;
		s->idle_epoch++;
	}
}

/* --- set up and result --- */

static uint8_t class_get(struct sweep *s, const struct hg_lane *l)
{
	if (!l->cpus_count || !l->cpus_mask0 || l->cpus_count >= s->cpus_count)
		return 0;
	for (unsigned int i = 1; i < s->classes_count; i++) {
		if (s->classes[i].mask0 == l->cpus_mask0)
			return (uint8_t)i;
	}
	if (s->classes_count == CLASSES_MAX)
		return 0;
	s->classes[s->classes_count] = (struct cpu_class){.mask0 = l->cpus_mask0};
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

static int rows_take(struct sweep *s, struct hg_shares *out)
{
	struct row_slot *slot, *next;

	out->rows = calloc(HASH_COUNT(s->rows) + 1, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	HASH_ITER (hh, s->rows, slot, next) {
		for (unsigned int i = 0; i < out->subs; i++)
			slot->row.total_ns += slot->row.sub_ns[i];
		out->rows[out->rows_count++] = slot->row;
	}
	qsort(out->rows, out->rows_count, sizeof(*out->rows), by_total);
	return 0;
}

static void sweep_clear(struct sweep *s)
{
	struct row_slot *row, *next_row;
	struct lock_slot *lock, *next_lock;

	HASH_ITER (hh, s->rows, row, next_row) {
		HASH_DEL(s->rows, row);
		free(row);
	}
	HASH_ITER (hh, s->locks, lock, next_lock) {
		HASH_DEL(s->locks, lock);
		free(lock);
	}
	free(s->lock_rows);
	free(s->ls);
	free(s);
}

static int sweep_setup(struct sweep *s, struct hg_model *m, struct hg_shares *out)
{
	const struct hg_cpu *cpus;
	struct hg_model_session session;

	s->model = m;
	s->out = out;
	s->lanes_count = hg_model_lanes(m, &s->lanes);
	s->cpus_count = hg_model_cpus(m, &cpus);
	s->cpus_count = s->cpus_count ? HG_MIN(s->cpus_count, (size_t)CPUS_MAX) : 1;
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
	background_load(s);
	return 0;
}

int hg_shares_make(struct hg_model *m, struct hg_shares *out)
{
	struct sweep *s = calloc(1, sizeof(*s));
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
		idle_give(s, row_get(s, HG_BLAME_OTHER, 0), 1);
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

bool hg_lane_is_target(const struct hg_lane *l, bool level_all)
{
	if (l->role & HG_ROLEF_TARGET)
		return true;
	return level_all && (l->role & HG_ROLEF_ALL) && !(l->role & HG_ROLEF_CLIENT) &&
	       !(l->flags & HG_TASKF_KTHREAD);
}

bool hg_lane_is_client(const struct hg_lane *l)
{
	return l->role & HG_ROLEF_CLIENT;
}
