/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From rings to records: one table says where each field of each record comes from. Also losses, and
 * what the observer is told.
 */
#include <errno.h>
#include <string.h>

#include "collector/probes_internal.h"

#define HG_LEVEL0 (HG_ROLEF_TARGET | HG_ROLEF_CLIENT)

struct event_field {
	uint16_t offset, size;
};

struct event_row {
	uint16_t kind; /* 0: not written as it is */
	uint16_t n_fields;
	struct event_field fields[HG_FIELDS_MAX];
};

#define FIELD(s, m)                                                                                \
	{                                                                                          \
		offsetof(struct s, m), sizeof(((struct s *)0)->m)                                  \
	}

static const struct event_row event_rows[HG_EV_COUNT] = {
	[HG_EV_SWITCH] = {HG_KIND_SWITCH,
			  4,
			  {FIELD(hg_ev_switch, prev), FIELD(hg_ev_switch, next),
			   FIELD(hg_ev_switch, state), FIELD(hg_ev_switch, flags)}},
	[HG_EV_BLOCK] = {HG_KIND_SWITCH_BLOCK,
			 9,
			 {FIELD(hg_ev_block, sw.prev), FIELD(hg_ev_block, sw.next),
			  FIELD(hg_ev_block, sw.state), FIELD(hg_ev_block, sw.flags),
			  FIELD(hg_ev_block, sysnr), FIELD(hg_ev_block, arg[0]),
			  FIELD(hg_ev_block, arg[1]), FIELD(hg_ev_block, arg[2]),
			  FIELD(hg_ev_block, sw.holder)}},
	[HG_EV_WAKEUP] = {HG_KIND_WAKEUP,
			  6,
			  {FIELD(hg_ev_wakeup, lane), FIELD(hg_ev_wakeup, cpu),
			   FIELD(hg_ev_wakeup, waker), FIELD(hg_ev_wakeup, ctx),
			   FIELD(hg_ev_wakeup, vec), FIELD(hg_ev_wakeup, flags)}},
	[HG_EV_SOFTIRQ] = {HG_KIND_SOFTIRQ,
			   6,
			   {FIELD(hg_ev_softirq, dur_ns), FIELD(hg_ev_softirq, span_ns),
			    FIELD(hg_ev_softirq, vec), FIELD(hg_ev_softirq, ctx),
			    FIELD(hg_ev_softirq, lane), FIELD(hg_ev_softirq, count)}},
	[HG_EV_IRQ] = {HG_KIND_IRQ,
		       5,
		       {FIELD(hg_ev_softirq, dur_ns), FIELD(hg_ev_softirq, span_ns),
			FIELD(hg_ev_softirq, nr), FIELD(hg_ev_softirq, lane),
			FIELD(hg_ev_softirq, count)}},
	[HG_EV_MIGRATE] = {HG_KIND_MIGRATE,
			   3,
			   {FIELD(hg_ev_migrate, lane), FIELD(hg_ev_migrate, from),
			    FIELD(hg_ev_migrate, to)}},
	[HG_EV_FORK] = {HG_KIND_FORK, 2, {FIELD(hg_ev_fork, parent), FIELD(hg_ev_fork, child)}},
	[HG_EV_EXEC] = {HG_KIND_EXEC, 2, {FIELD(hg_ev_exec, lane), FIELD(hg_ev_exec, old_tid)}},
	[HG_EV_EXIT] = {HG_KIND_EXIT, 2, {FIELD(hg_ev_exit, lane), FIELD(hg_ev_exit, code)}},
	[HG_EV_AFFINITY] = {HG_KIND_AFFINITY,
			    3,
			    {FIELD(hg_ev_affinity, lane), FIELD(hg_ev_affinity, count),
			     FIELD(hg_ev_affinity, mask0)}},
	[HG_EV_TASK] = {0, 0, {{0, 0}}},
	[HG_EV_RENAME] = {0, 0, {{0, 0}}},
	[HG_EV_ROLE] = {0, 0, {{0, 0}}},
	[HG_EV_CONTENTION] = {HG_KIND_CONTENTION,
			      9,
			      {FIELD(hg_ev_contention, dur_ns), FIELD(hg_ev_contention, span_ns),
			       FIELD(hg_ev_contention, lane), FIELD(hg_ev_contention, lock),
			       FIELD(hg_ev_contention, flags), FIELD(hg_ev_contention, ctx),
			       FIELD(hg_ev_contention, begins), FIELD(hg_ev_contention, count),
			       FIELD(hg_ev_contention, stack)}},
	[HG_EV_SAMPLE] = {HG_KIND_CPU_SAMPLE,
			  5,
			  {FIELD(hg_ev_sample, lane), FIELD(hg_ev_sample, where),
			   FIELD(hg_ev_sample, ctx), FIELD(hg_ev_sample, period_ns),
			   FIELD(hg_ev_sample, stack)}},
	[HG_EV_SAMPLE_STACK] = {0, 0, {{0, 0}}}, /* as a sample, see sample_take() */
	[HG_EV_SAMPLE_CODE] = {0, 0, {{0, 0}}},	 /* likewise, see code_take() */
	[HG_EV_BLOCK_IO] = {HG_KIND_BLOCK_IO,
			    9,
			    {FIELD(hg_ev_block_io, dev), FIELD(hg_ev_block_io, op),
			     FIELD(hg_ev_block_io, flags), FIELD(hg_ev_block_io, sector),
			     FIELD(hg_ev_block_io, bytes), FIELD(hg_ev_block_io, queue_ns),
			     FIELD(hg_ev_block_io, device_ns), FIELD(hg_ev_block_io, lane),
			     FIELD(hg_ev_block_io, error)}},
	[HG_EV_WAIT_STACK] = {0, 0, {{0, 0}}}, /* see wait_stack_take() */
};

static uint64_t field_get(const uint8_t *at, uint16_t size)
{
	switch (size) {
	case 1:
		return *at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static int record_write(struct hg_writer *w, uint32_t stream, const struct event_row *row,
			const void *data)
{
	const struct hg_event_head *head = data;
	struct hg_record rec = {.time_ns = head->time_ns, .kind = row->kind};

	for (uint16_t i = 0; i < row->n_fields; i++)
		rec.f[i] = field_get((const uint8_t *)data + row->fields[i].offset,
				     row->fields[i].size);
	/* Flags beyond HG_EVF_DISK are for the observer. */
	if (row->kind == HG_KIND_SWITCH || row->kind == HG_KIND_SWITCH_BLOCK)
		rec.f[HG_SWITCH_FLAGS] &= HG_EVF_DISK;
	if (row->kind == HG_KIND_WAKEUP)
		rec.f[HG_WAKEUP_FLAGS] &= HG_EVF_DISK;
	return hg_writer_record(w, 0, stream, &rec);
}

int hg_probes_definition_add(struct hg_probes *p, const struct hg_record *rec)
{
	if (p->n_definitions == p->definitions_size) {
		size_t size = p->definitions_size ? 2 * p->definitions_size : 64;
		struct hg_definition *more = realloc(p->definitions, size * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->definitions = more;
		p->definitions_size = size;
	}
	p->definitions[p->n_definitions].rec = *rec;
	p->definitions[p->n_definitions].order = p->n_definitions;
	p->n_definitions++;
	return 0;
}

static int definition_compare(const void *a, const void *b)
{
	const struct hg_definition *x = a, *y = b;

	if (x->rec.time_ns != y->rec.time_ns)
		return x->rec.time_ns < y->rec.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int hg_probes_definitions_flush(struct hg_probes *p, struct hg_writer *w)
{
	int rc = 0;

	if (p->n_definitions)
		qsort(p->definitions, p->n_definitions, sizeof(*p->definitions),
		      definition_compare);
	for (size_t i = 0; i < p->n_definitions && !rc; i++)
		rc = hg_writer_record(w, 0, HG_STREAM_CONTROL, &p->definitions[i].rec);
	p->n_definitions = 0;
	return rc;
}

static int text_intern(struct hg_writer *w, const char *text, size_t size, uint64_t *id_out)
{
	uint32_t id;
	int rc = hg_writer_string(w, text, strnlen(text, size), &id);

	if (!rc)
		*id_out = id;
	return rc;
}

int hg_probes_role_define(struct hg_probes *p, struct hg_probe_lane *lane, uint32_t role,
			  uint32_t target, const char *comm, uint64_t time_ns)
{
	const struct hg_probes_observer *observer = &p->opts.observer;
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_ROLE};
	struct hg_task_info info = {.lane = lane->lane,
				    .role = role,
				    .tid = lane->tid,
				    .tgid = lane->tgid,
				    .start_ns = lane->start_ns,
				    .comm = comm};

	/* Rings are drained one by one: the record of another may be younger. */
	if (time_ns < lane->role_ns)
		return 0;
	lane->role_ns = time_ns;
	info.role = role |= lane->role & HG_ROLEF_PROMOTED;
	if (lane->role == role && (lane->target == target || !role))
		return 0;
	lane->target = target;
	hg_probe_lanes_role_set(&p->lanes, lane, role);
	rec.f[HG_ROLE_LANE] = lane->lane;
	rec.f[HG_ROLE_ROLE] = role;
	rec.f[HG_ROLE_TARGET] = target;
	if (observer->role_new && !lane->exited)
		observer->role_new(observer->arg, &info);
	return hg_probes_definition_add(p, &rec);
}

int hg_probes_task_define(struct hg_probes *p, struct hg_writer *w, const struct hg_ev_task *ev)
{
	const struct hg_probes_observer *observer = &p->opts.observer;
	struct hg_record rec = {.time_ns = ev->time_ns, .kind = HG_KIND_TASK};
	struct hg_probe_lane *lane = hg_probe_lanes_get(&p->lanes, ev->lane);
	char comm[HG_COMM_BYTES + 1] = {0};
	int rc;

	if (!lane)
		return -ENOMEM;
	memcpy(comm, ev->comm, HG_COMM_BYTES);
	if (!lane->defined) {
		lane->defined = true;
		lane->tgid = (pid_t)ev->tgid;
		lane->start_ns = ev->start_ns;
		hg_probe_lanes_tid_set(&p->lanes, lane, (pid_t)ev->tid);
		rec.f[HG_TASK_LANE] = ev->lane;
		rec.f[HG_TASK_TID] = ev->tid;
		rec.f[HG_TASK_TGID] = ev->tgid;
		rec.f[HG_TASK_NSTID] = ev->nstid;
		rec.f[HG_TASK_PPID] = ev->ppid;
		rec.f[HG_TASK_START_NS] = ev->start_ns;
		rec.f[HG_TASK_CGROUP] = ev->cgroup;
		rec.f[HG_TASK_FLAGS] = ev->flags;
		rec.f[HG_TASK_CPUS] = ev->cpus;
		rc = text_intern(w, comm, HG_COMM_BYTES, &rec.f[HG_TASK_COMM]);
		if (!rc)
			rc = hg_probes_definition_add(p, &rec);
		if (rc)
			return rc;
		if (observer->task_new && !lane->exited) {
			struct hg_task_info info = {.lane = ev->lane,
						    .role = ev->role,
						    .tid = (pid_t)ev->tid,
						    .tgid = (pid_t)ev->tgid,
						    .start_ns = ev->start_ns,
						    .comm = comm};

			observer->task_new(observer->arg, &info);
		}
	}
	return hg_probes_role_define(p, lane, ev->role, ev->role ? ev->target : lane->target, comm,
				     ev->time_ns);
}

static int name_define(struct hg_probes *p, struct hg_writer *w, uint64_t time_ns, uint32_t lane,
		       const char *comm, const char *exe)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_TASK_NAME, .f = {lane}};
	int rc = text_intern(w, comm, HG_COMM_BYTES, &rec.f[HG_TASK_NAME_COMM]);

	if (!rc && exe)
		rc = text_intern(w, exe, HG_EXE_BYTES, &rec.f[HG_TASK_NAME_EXE]);
	return rc ? rc : hg_probes_definition_add(p, &rec);
}

static void lane_told(struct hg_probes *p, uint32_t id, bool competitor)
{
	const struct hg_probes_observer *observer = &p->opts.observer;
	void (*fn)(void *, uint32_t) =
		competitor ? observer->competitor_seen : observer->waker_seen;
	struct hg_probe_lane *lane;

	if (!fn || id == HG_LANE_IDLE)
		return;
	lane = hg_probe_lanes_get(&p->lanes, id);
	if (!lane || lane->exited || lane->role ||
	    (competitor ? lane->told_competitor : lane->told_waker))
		return;
	if (competitor)
		lane->told_competitor = true;
	else
		lane->told_waker = true;
	fn(observer->arg, id);
}

static void switch_tell(struct hg_probes *p, const struct hg_ev_switch *ev)
{
	const struct hg_probes_observer *observer = &p->opts.observer;

	if ((ev->flags & HG_EVF_LEVEL0) && !(ev->flags & HG_EVF_MEMBER))
		lane_told(p, ev->next, true);
	if (ev->holder && observer->holder_seen)
		observer->holder_seen(observer->arg, ev->prev, (pid_t)ev->holder);
}

/* Only a waker that did it itself is one; an interrupt's is innocent. */
static void wakeup_tell(struct hg_probes *p, const struct hg_ev_wakeup *ev)
{
	if (!(ev->flags & HG_EVF_LEVEL0) || (ev->flags & HG_EVF_MEMBER))
		return;
	if (ev->ctx == HG_CTX_TASK || ev->ctx == HG_CTX_SOFTIRQ_OWN ||
	    ev->ctx == HG_CTX_NAPI_THREAD)
		lane_told(p, ev->waker, false);
}

static int exec_define(struct hg_probes *p, struct hg_writer *w, const struct hg_ev_exec *ev)
{
	struct hg_probe_lane *lane = hg_probe_lanes_get(&p->lanes, ev->lane);

	if (!lane)
		return -ENOMEM;
	hg_probe_lanes_tid_set(&p->lanes, lane, (pid_t)ev->tid);
	return name_define(p, w, ev->time_ns, ev->lane, ev->comm, ev->exe);
}

/* Moved to another cgroup: what it does is asked for at the next tick. */
static int moved_define(struct hg_probes *p, const struct hg_ev_role *ev)
{
	struct hg_probe_lane *lane = hg_probe_lanes_find(&p->lanes, ev->lane);

	p->moved = true;
	/* Of another ring: its beginning is still to come. */
	if (!lane)
		return 0;
	lane->seeded = false;
	return hg_probes_role_define(p, lane, ev->role, ev->target, "", ev->time_ns);
}

static int exit_tell(struct hg_probes *p, const struct hg_ev_exit *ev)
{
	const struct hg_probes_observer *observer = &p->opts.observer;
	struct hg_probe_lane *lane = hg_probe_lanes_get(&p->lanes, ev->lane);

	if (!lane)
		return -ENOMEM;
	if (observer->task_exit)
		observer->task_exit(observer->arg, ev->lane, (pid_t)ev->tid);
	hg_probe_lanes_exit(&p->lanes, lane);
	return 0;
}

/* Definitions and the observer; before the record itself is written. */
static int event_tell(struct hg_probes *p, struct hg_writer *w, const void *data)
{
	const struct hg_ev_rename *rename = data;
	const struct hg_ev_block_io *io = data;

	switch (((const struct hg_event_head *)data)->type) {
	case HG_EV_SWITCH:
	case HG_EV_BLOCK:
		switch_tell(p, data);
		return 0;
	case HG_EV_WAKEUP:
		wakeup_tell(p, data);
		return 0;
	case HG_EV_TASK:
		return hg_probes_task_define(p, w, data);
	case HG_EV_RENAME:
		return name_define(p, w, rename->time_ns, rename->lane, rename->comm, NULL);
	case HG_EV_EXEC:
		return exec_define(p, w, data);
	case HG_EV_ROLE:
		return moved_define(p, data);
	case HG_EV_EXIT:
		return exit_tell(p, data);
	case HG_EV_BLOCK_IO:
		return hg_probes_blockdev_define(p, w, io->dev, io->time_ns);
	default:
		return 0;
	}
}

/* A copy whose stack is the id that the addresses have in the file. */
static int sample_take(struct hg_probes *p, struct hg_writer *w, uint32_t cpu,
		       const struct hg_ev_sample_stack *ev)
{
	struct hg_ev_sample sample = ev->sample;
	int rc = hg_probes_sample_stack(p, w, ev, &sample.stack);

	return rc ? rc : record_write(w, HG_STREAM_CPU0 + cpu, &event_rows[HG_EV_SAMPLE], &sample);
}

/* The same with the loop that the code is, if it is one. */
static int code_take(struct hg_probes *p, struct hg_writer *w, uint32_t cpu,
		     const struct hg_ev_sample_code *ev)
{
	struct hg_ev_sample sample = ev->sample;
	int rc = hg_probes_spin_take(p, ev, &sample);

	return rc ? rc : record_write(w, HG_STREAM_CPU0 + cpu, &event_rows[HG_EV_SAMPLE], &sample);
}

static int wait_stack_take(struct hg_probes *p, struct hg_writer *w, uint32_t cpu,
			   const struct hg_ev_wait_stack *ev)
{
	struct hg_record rec = {.time_ns = ev->time_ns, .kind = HG_KIND_WAIT_STACK};
	uint32_t id;
	int rc = hg_probes_wait_stack(p, w, ev, &id);

	rec.f[HG_WAIT_STACK_LANE] = ev->lane;
	rec.f[HG_WAIT_STACK_STACK] = id;
	return rc || !id ? rc : hg_writer_record(w, 0, HG_STREAM_CPU0 + cpu, &rec);
}

static int event_take(struct hg_probes *p, struct hg_writer *w, uint32_t cpu,
		      const struct hg_event_head *head)
{
	const struct event_row *row = &event_rows[head->type];
	int rc;

	if (head->type == HG_EV_SAMPLE_STACK)
		return sample_take(p, w, cpu, (const void *)head);
	if (head->type == HG_EV_SAMPLE_CODE)
		return code_take(p, w, cpu, (const void *)head);
	if (head->type == HG_EV_WAIT_STACK)
		return wait_stack_take(p, w, cpu, (const void *)head);
	rc = event_tell(p, w, head);
	return rc || !row->kind ? rc : record_write(w, HG_STREAM_CPU0 + cpu, row, head);
}

/* The kernel's counts grow; what is new since the last round waits until all older records are out. */
static void losses_look(struct hg_probes *p, uint32_t cpu)
{
	struct hg_cpu_ring *r = &p->rings[cpu];
	struct hg_cpu *c = &p->cpus[cpu];

	for (unsigned int id = 1; id < HG_P_COUNT; id++) {
		uint64_t lost = __atomic_load_n(&c->lost[id], __ATOMIC_RELAXED);
		struct hg_loss *loss = &r->loss[id];

		if (lost == loss->seen)
			continue;
		if (!loss->count)
			loss->since_ns = c->lost_since_ns[id];
		c->lost_since_ns[id] = 0;
		loss->count += lost - loss->seen;
		p->lost += lost - loss->seen;
		p->moved |= id == HG_P_CGROUP;
		loss->seen = lost;
		r->loss_waits = true;
		r->loss_pos = hg_ring_produced(&r->ring);
	}
}

static int losses_write(struct hg_probes *p, struct hg_writer *w, uint32_t cpu)
{
	struct hg_cpu_ring *r = &p->rings[cpu];
	uint64_t total = 0;

	r->loss_waits = false;
	for (unsigned int id = 1; id < HG_P_COUNT; id++) {
		struct hg_loss *loss = &r->loss[id];
		struct hg_record rec = {.kind = HG_KIND_LOSS};
		int rc;

		if (!loss->count)
			continue;
		r->last_ns = HG_MAX(r->last_ns, loss->since_ns);
		rec.time_ns = r->last_ns;
		rec.f[HG_LOSS_PROBE] = id;
		rec.f[HG_LOSS_COUNT] = loss->count;
		rec.f[HG_LOSS_SINCE] = loss->since_ns ? r->last_ns - loss->since_ns : 0;
		rc = hg_writer_record(w, 0, HG_STREAM_CPU0 + cpu, &rec);
		if (rc)
			return rc;
		total += loss->count;
		loss->count = 0;
	}
	hg_writer_lost(w, 0, HG_STREAM_CPU0 + cpu, total);
	return 0;
}

static int losses_write_if_due(struct hg_probes *p, struct hg_writer *w, uint32_t cpu)
{
	struct hg_cpu_ring *r = &p->rings[cpu];

	if (!r->loss_waits || hg_ring_consumed(&r->ring) < r->loss_pos)
		return 0;
	return losses_write(p, w, cpu);
}

static long ring_drain(struct hg_probes *p, struct hg_writer *w, uint32_t cpu, unsigned int budget)
{
	struct hg_cpu_ring *r = &p->rings[cpu];
	const struct hg_event_head *head;
	long moved = 0;
	int rc, side;

	losses_look(p, cpu);
	hg_ring_fill(&r->ring);
	rc = losses_write_if_due(p, w, cpu);
	while (!rc && moved < (long)budget && (head = hg_ring_peek(&r->ring, &side, &rc))) {
		rc = event_take(p, w, cpu, head);
		if (rc)
			break;
		r->last_ns = HG_MAX(r->last_ns, head->time_ns);
		hg_ring_advance(&r->ring, head, side);
		moved++;
		rc = losses_write_if_due(p, w, cpu);
	}
	return rc ? rc : moved;
}

long hg_probes_drain(struct hg_probes *p, struct hg_writer *w, unsigned int budget)
{
	bool complete = true;
	long moved = 0;
	int rc;

	hg_probes_bell_clear(p);
	for (uint32_t i = 0; i < p->n_cpus; i++) {
		long n = ring_drain(p, w, i, budget);

		if (n < 0)
			return n;
		complete &= n < (long)budget;
		moved += n;
	}
	if (complete)
		hg_probe_lanes_round_complete(&p->lanes);
	rc = hg_probes_definitions_flush(p, w);
	return rc ? rc : moved;
}
