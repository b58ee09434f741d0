/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the control stream before anything else: who the lanes are, and which window is asked for. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

static bool want_control(void *arg, uint16_t machine, uint32_t stream)
{
	return machine == 0 && stream == HG_STREAM_CONTROL;
}

static int on_task(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t id = rec->f[HG_TASK_LANE];
	int err = 0;
	struct hg_lane *l;

	m->defined++;
	if (!hg_model_lane_want(m, id, &err))
		return err;
	l = &m->lanes[id];
	if (l->defined)
		return 0; /* the row never changes: a second one is not from us */
	l->defined = true;
	l->tid = (uint32_t)rec->f[HG_TASK_TID];
	l->tgid = (uint32_t)rec->f[HG_TASK_TGID];
	l->nstid = (uint32_t)rec->f[HG_TASK_NSTID];
	l->ppid = (uint32_t)rec->f[HG_TASK_PPID];
	l->start_ns = rec->f[HG_TASK_START_NS];
	l->flags = (uint32_t)rec->f[HG_TASK_FLAGS];
	l->cpus_count = (uint32_t)rec->f[HG_TASK_CPUS];
	l->name = hg_reader_string(m->r, rec->f[HG_TASK_COMM], NULL);
	return hg_model_nstid_add(m, (uint32_t)id);
}

static int on_role(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t id = rec->f[HG_ROLE_LANE];
	uint32_t role = (uint32_t)rec->f[HG_ROLE_ROLE];
	int err = 0;
	struct hg_lane *l;

	if (!hg_model_lane_want(m, id, &err))
		return err;
	l = &m->lanes[id];
	if (!l->role && role && m->members++ >= HG_MEMBERS_MAX) {
		hg_model_warn_once(
			m->warned_members,
			"The trace has more than %u tasks with a role: the rest are left "
			"out.",
			HG_MEMBERS_MAX);
		return 0;
	}
	l->role |= role;
	/* Before the replay, which counts for the target alone. */
	m->session.level_all |= !!(role & HG_ROLEF_ALL);
	if (role)
		l->target = (uint32_t)rec->f[HG_ROLE_TARGET];
	return 0;
}

static void on_target(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_model_target *t = &m->targets[m->targets_count];

	if (rec->machine || m->targets_count == HG_TARGETS_MAX)
		return;
	*t = (struct hg_model_target){.index = (uint32_t)rec->f[HG_TARGET_INDEX],
				      .type = (int)rec->f[HG_TARGET_TYPE],
				      .id = rec->f[HG_TARGET_ID],
				      .name = hg_model_string(m, rec->f[HG_TARGET_NAME]),
				      .hierarchy = ""};
	if (rec->f[HG_TARGET_HIERARCHY])
		t->hierarchy = hg_model_string(m, rec->f[HG_TARGET_HIERARCHY]);
	m->targets_count++;
}

static void on_mark(struct hg_model *m, const struct hg_record *rec)
{
	switch (rec->f[HG_MARK_WHAT]) {
	case HG_MARK_BEGIN:
		if (!m->has_begin)
			m->mark_begin_ns = rec->time_ns;
		m->has_begin = true;
		break;
	case HG_MARK_CLIENT_START:
		if (!m->has_client_start)
			m->mark_client_start_ns = rec->time_ns;
		m->has_client_start = true;
		break;
	case HG_MARK_CLIENT_END:
		if (!m->has_client_end)
			m->mark_client_end_ns = rec->time_ns;
		m->has_client_end = true;
		m->session.client_ended = true;
		m->session.client_status = (int)rec->f[HG_MARK_ARG];
		break;
	case HG_MARK_END:
		m->mark_end_ns = rec->time_ns;
		m->has_end = true;
		m->session.end_reason = (int)rec->f[HG_MARK_ARG];
		break;
	}
}

static void on_probe(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t id = rec->f[HG_PROBE_ID];
	struct hg_probe_info *p;

	if (id >= HG_PROBES_MAX)
		return;
	p = &m->probes[id];
	p->known = true;
	p->name = hg_model_string(m, rec->f[HG_PROBE_NAME]);
	p->attached = rec->f[HG_PROBE_ATTACHED];
	p->why = hg_model_string(m, rec->f[HG_PROBE_WHY]);
	p->no_state = p->name[0] && !strstr(p->name, "switch") && !strstr(p->name, "wakeup") &&
		      !strstr(p->name, "fork") && !strstr(p->name, "exit");
	if (strstr(p->name, "irq")) /* softirq_exit, irq_handler_exit */
		p->no_state = true;
}

static void on_client(struct hg_model *m, const struct hg_record *rec)
{
	m->session.client = rec->f[HG_CLIENT_TID] || rec->f[HG_CLIENT_ARGV];
	m->session.client_argv = hg_model_string(m, rec->f[HG_CLIENT_ARGV]);
	m->session.client_log = hg_model_string(m, rec->f[HG_CLIENT_LOG]);
	m->session.client_format = hg_model_string(m, rec->f[HG_CLIENT_FORMAT]);
	m->session.client_regex = hg_model_string(m, rec->f[HG_CLIENT_REGEX]);
}

int hg_model_read_definitions(struct hg_model *m)
{
	struct hg_cursor_opts opts = {.want = want_control};
	struct hg_cursor *c __attribute__((cleanup(hg_cursor_closep))) = NULL;
	const struct hg_record *rec;
	int rc = hg_cursor_open(m->r, &opts, &c);

	m->session.client_argv = m->session.client_log = "";
	m->session.client_format = m->session.client_regex = "";
	if (rc)
		return rc;
	while ((rc = hg_cursor_next(c, &rec)) > 0) {
		int err = 0;

		switch (rec->kind) {
		case HG_KIND_TASK:
			err = on_task(m, rec);
			break;
		case HG_KIND_ROLE:
			err = on_role(m, rec);
			break;
		case HG_KIND_MARK:
			on_mark(m, rec);
			break;
		case HG_KIND_PROBE:
			on_probe(m, rec);
			break;
		case HG_KIND_CLIENT:
			on_client(m, rec);
			break;
		case HG_KIND_TARGET:
			on_target(m, rec);
			break;
		case HG_KIND_STACK:
			err = hg_stack_define(m, rec);
			break;
		case HG_KIND_SPIN:
			err = hg_spins_define(m, rec);
			break;
		case HG_KIND_NETNS:
		case HG_KIND_LINK:
			err = hg_network_define(m, rec);
			break;
		case HG_KIND_LOSS: /* damage to the definitions themselves */
			m->losses.damage += rec->f[HG_LOSS_COUNT];
			break;
		}
		if (err)
			return err;
	}
	hg_network_resolve(m);
	return rc;
}

int hg_model_read_names(struct hg_model *m)
{
	struct hg_cursor_opts opts = {.want = want_control};
	struct hg_cursor *c __attribute__((cleanup(hg_cursor_closep))) = NULL;
	const struct hg_record *rec;
	int rc = hg_cursor_open(m->r, &opts, &c), err = 0;

	if (rc)
		return rc;
	while ((rc = hg_cursor_next(c, &rec)) > 0) {
		const char *name;

		if (rec->kind != HG_KIND_TASK_NAME || rec->time_ns > m->to_ns ||
		    !hg_model_lane_want(m, rec->f[HG_TASK_NAME_LANE], &err))
			continue;
		name = hg_reader_string(m->r, rec->f[HG_TASK_NAME_COMM], NULL);
		/* A new name whose text was lost is no reason to show the old one. */
		m->lanes[rec->f[HG_TASK_NAME_LANE]].name = name;
	}
	return rc ? rc : err;
}

/* A stream that was silent for longer than this at the end of a cut file had no event; one that was not may have had
 * some that did not reach the file: chunks are closed after a second at the latest, and held back for one round. */
#define CHUNK_AGE_MAX_NS (2 * HG_NSEC_PER_SEC)

/*
 * Where an unfinished file ends: at the last time up to which every CPU's events are
 * there, so that no state is carried on for want of the event that ended it.
 */
static uint64_t safe_end(struct hg_model *m, uint64_t last_ns)
{
	const struct hg_chunk_info *chunks;
	size_t n = hg_reader_chunks(m->r, &chunks);
	hg_autofree uint64_t *stream_last = calloc(HG_CPUS_MAX, sizeof(*stream_last));
	uint64_t end_ns = last_ns;

	if (!stream_last)
		return last_ns;
	for (size_t i = 0; i < n; i++) {
		uint32_t cpu = chunks[i].stream - HG_STREAM_CPU0;

		if (chunks[i].type == HG_CHUNK_RECORDS && chunks[i].machine == 0 &&
		    chunks[i].stream >= HG_STREAM_CPU0 && cpu < HG_CPUS_MAX)
			stream_last[cpu] = HG_MAX(stream_last[cpu], chunks[i].last_ns);
	}
	for (size_t i = 0; i < HG_CPUS_MAX; i++) {
		if (stream_last[i] && stream_last[i] + CHUNK_AGE_MAX_NS >= last_ns)
			end_ns = HG_MIN(end_ns, stream_last[i]);
	}
	return end_ns;
}

static void set_bounds(struct hg_model *m)
{
	const struct hg_reader_health *h = hg_reader_health(m->r);
	const struct hg_chunk_info *chunks;
	size_t n = hg_reader_chunks(m->r, &chunks);
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	m->session.whole = h->finalised && m->has_end && !h->sentence[0];
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].type != HG_CHUNK_RECORDS || chunks[i].machine != 0 ||
		    !chunks[i].records || chunks[i].stream < HG_STREAM_CPU0)
			continue;
		first_ns = HG_MIN(first_ns, chunks[i].first_ns);
		last_ns = HG_MAX(last_ns, chunks[i].last_ns);
	}
	if (m->has_begin)
		first_ns = m->mark_begin_ns;
	m->begin_ns = first_ns == UINT64_MAX ? 0 : first_ns;
	/* In a finalised file what damage took is a hole, and LOSS records tell of it up to the end. */
	if (m->has_end && h->finalised)
		m->end_ns = m->mark_end_ns;
	else
		m->end_ns = safe_end(m, m->has_end ? HG_MIN(last_ns, m->mark_end_ns) : last_ns);
	if (m->end_ns < m->begin_ns)
		m->end_ns = m->begin_ns;
}

static uint64_t after_begin(const struct hg_model *m, double s)
{
	double ns = s * 1e9, length_ns = (double)(m->end_ns - m->begin_ns);

	if (!(ns > 0))
		return m->begin_ns;
	return ns >= length_ns ? m->end_ns : m->begin_ns + (uint64_t)llround(ns);
}

static int set_subwindows(struct hg_model *m, unsigned int asked)
{
	uint64_t length_ns = m->to_ns - m->from_ns, n = asked;

	if (!n) {
		n = length_ns / (HG_NSEC_PER_SEC / 10);
		n = HG_MIN(n, 20);
	}
	n = HG_MIN(n, HG_MIN(length_ns, HG_SUBWINDOWS_MAX));
	m->subwindows = n ? (unsigned int)n : 1;
	m->sub_ns = calloc(m->subwindows + 1, sizeof(*m->sub_ns));
	if (!m->sub_ns)
		return -ENOMEM;
	for (unsigned int i = 0; i <= m->subwindows; i++)
		m->sub_ns[i] =
			m->from_ns + (uint64_t)((unsigned __int128)length_ns * i / m->subwindows);
	return 0;
}

int hg_model_set_window(struct hg_model *m, const struct hg_model_opts *opts)
{
	set_bounds(m);
	m->from_ns = m->begin_ns;
	m->to_ns = m->end_ns;
	if (opts->window_to_s > opts->window_from_s) {
		m->from_ns = after_begin(m, opts->window_from_s);
		m->to_ns = after_begin(m, opts->window_to_s);
		if (m->from_ns >= m->to_ns) {
			hg_error("The window from %g s on lies outside the recording, which lasted "
				 "%.3f s.",
				 opts->window_from_s, (double)(m->end_ns - m->begin_ns) / 1e9);
			return -EINVAL;
		}
	} else if (m->has_client_start) {
		if (m->mark_client_start_ns < m->to_ns)
			m->from_ns = HG_MAX(m->from_ns, m->mark_client_start_ns);
		if (m->has_client_end && m->mark_client_end_ns > m->from_ns)
			m->to_ns = HG_MIN(m->to_ns, m->mark_client_end_ns);
	}
	if (m->from_ns >= m->to_ns) {
		hg_error("The trace holds no time to analyse: %s.",
			 m->has_begin ? "it ends where it begins" : "it has no events");
		return -ENODATA;
	}
	return set_subwindows(m, opts->subwindows);
}
