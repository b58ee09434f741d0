/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a model and gives it out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

static const char *const leaf_names[HG_LEAVES] = {
	[HG_LEAF_UNKNOWN] = "unknown",
	[HG_LEAF_RUNNING] = "running",
	[HG_LEAF_RUNNING_SOFTIRQ] = "running.softirq",
	[HG_LEAF_RUNNING_IRQ] = "running.irq",
	[HG_LEAF_RUNNABLE_BUSY] = "runnable.busy",
	[HG_LEAF_RUNNABLE_IDLE] = "runnable.idle",
	[HG_LEAF_THROTTLED] = "throttled",
	[HG_LEAF_BLOCKED_LOCK] = "blocked.lock",
	[HG_LEAF_BLOCKED_NET] = "blocked.net",
	[HG_LEAF_BLOCKED_DISK] = "blocked.disk",
	[HG_LEAF_BLOCKED_TIMER] = "blocked.timer",
	[HG_LEAF_BLOCKED_PEER] = "blocked.peer",
	[HG_LEAF_BLOCKED_OTHER] = "blocked.other",
};

const char *hg_leaf_name(enum hg_leaf leaf)
{
	return (unsigned int)leaf < HG_LEAVES ? leaf_names[leaf] : "unknown";
}

/* Names for lanes whose definition or text was lost. */
static int name_undefined(struct hg_model *m)
{
	const size_t size = sizeof("lane 1048576");
	size_t n = 0;

	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++)
		n += !m->lanes[i].name;
	m->lane_names = calloc(n ? n : 1, size);
	if (!m->lane_names)
		return -ENOMEM;
	n = 0;
	for (size_t i = HG_LANE_FIRST; i < m->lanes_count; i++) {
		char *name = m->lane_names + n * size;

		if (m->lanes[i].name)
			continue;
		snprintf(name, size, "lane %u", (unsigned int)i);
		m->lanes[i].name = name;
		n++;
	}
	return 0;
}

static void session_finish(struct hg_model *m)
{
	uint64_t own_ns;

	if (hg_series_delta(&m->own, m->from_ns, m->to_ns, &own_ns, NULL, NULL))
		m->session.own_cpu_ns = own_ns;
	m->session.bpf_cpus = hg_model_bpf_cpus(m);
}

static int load(struct hg_model *m, const struct hg_model_opts *opts)
{
	int err = 0, rc;

	hg_model_lane_want(m, HG_LANE_FIRST, &err); /* lanes 0 and 1 exist in every trace */
	if (err)
		return err;
	m->lanes[HG_LANE_NONE].name = "";
	m->lanes[HG_LANE_IDLE].name = "idle";
	rc = hg_model_read_definitions(m);
	if (!rc)
		rc = hg_model_set_window(m, opts);
	if (!rc)
		rc = hg_model_read_names(m);
	if (!rc)
		rc = hg_model_read_samples(m);
	if (!rc)
		rc = hg_model_replay_totals(m);
	if (!rc)
		rc = hg_locks_finish(m);
	if (!rc)
		rc = hg_kernel_finish(m);
	if (!rc)
		rc = name_undefined(m);
	if (rc)
		return rc;
	session_finish(m);
	hg_model_client_find(m);
	return rc;
}

static void model_freep(struct hg_model **m)
{
	hg_model_free(*m);
}

int hg_model_load(struct hg_reader *r, const struct hg_model_opts *opts, struct hg_model **out)
{
	struct hg_model *m __attribute__((cleanup(model_freep))) = calloc(1, sizeof(*m));
	int rc = -ENOMEM;

	if (m) {
		m->r = r;
		rc = load(m, opts);
	}
	if (rc) {
		if (rc == -ENOMEM)
			hg_error("There is not enough memory to analyse the trace.");
		return rc;
	}
	*out = HG_TAKE_PTR(m);
	return 0;
}

void hg_model_free(struct hg_model *m)
{
	struct hg_nstid *e, *next;

	if (!m)
		return;
	for (size_t i = 0; i < m->lanes_count; i++) {
		free(m->lanes[i].sub_ns);
		free(m->lanes[i].schedstat.v);
		free(m->lanes[i].times.v);
	}
	for (size_t i = 0; i < m->cpus_count; i++) {
		free(m->cpus[i].proc_stat.v);
		free(m->cpus[i].proc_softirq.v);
		free(m->cpus[i].sub_known_ns);
		free(m->cpus[i].probe_busy.v);
		free(m->cpus[i].probe_softirq.v);
	}
	for (size_t i = 0; i < m->cgroups_count; i++) {
		free(m->cgroups[i].stat.v);
		free(m->cgroups[i].periods.v);
	}
	for (size_t i = 0; i < m->processes_count; i++)
		free(m->processes[i].rss.v);
	free(m->processes);
	for (size_t i = 0; i < m->messages_count; i++) {
		free(m->messages[i].received.v);
		free(m->messages[i].sent.v);
	}
	free(m->messages);
	for (size_t i = 0; i < HG_PROBES_MAX; i++)
		free(m->probes[i].cost);
	HASH_ITER (hh, m->nstids, e, next) {
		HASH_DEL(m->nstids, e);
		free(e);
	}
	hg_network_free(m);
	hg_disks_free(m);
	hg_locks_free(m);
	hg_spins_free(m);
	hg_wait_stacks_free(m);
	hg_kernel_free(m);
	free(m->looks);
	free(m->sub_ns);
	free(m->lanes);
	free(m->nstid_next);
	free(m->lane_names);
	free(m->cpus);
	free(m->cgroups);
	free(m->lines);
	free(m->waits);
	free(m->holes);
	free(m->own.v);
	free(m);
}

uint64_t hg_model_begin_ns(const struct hg_model *m)
{
	return m->begin_ns;
}

uint64_t hg_model_end_ns(const struct hg_model *m)
{
	return m->end_ns;
}

uint64_t hg_model_from_ns(const struct hg_model *m)
{
	return m->from_ns;
}

uint64_t hg_model_to_ns(const struct hg_model *m)
{
	return m->to_ns;
}

unsigned int hg_model_subwindows(const struct hg_model *m)
{
	return m->subwindows;
}

uint64_t hg_model_sub_ns(const struct hg_model *m, unsigned int i)
{
	return m->sub_ns[HG_MIN(i, m->subwindows)];
}

size_t hg_model_lanes(const struct hg_model *m, const struct hg_lane **out)
{
	*out = m->lanes;
	return m->lanes_count;
}

size_t hg_model_cpus(const struct hg_model *m, const struct hg_cpu **out)
{
	*out = m->cpus;
	return m->cpus_count;
}

size_t hg_model_processes(const struct hg_model *m, const struct hg_process **out)
{
	*out = m->processes;
	return m->processes_count;
}

size_t hg_model_messages(const struct hg_model *m, const struct hg_message_series **out)
{
	*out = m->messages;
	return m->messages_count;
}

size_t hg_model_targets(const struct hg_model *m, const struct hg_model_target **out)
{
	*out = m->targets;
	return m->targets_count;
}

size_t hg_model_cgroups(const struct hg_model *m, const struct hg_cgroup **out)
{
	*out = m->cgroups;
	return m->cgroups_count;
}

size_t hg_model_locks(const struct hg_model *m, const struct hg_lock **out)
{
	*out = m->locks.sorted;
	return m->locks.count;
}

size_t hg_model_lines(const struct hg_model *m, const struct hg_line **out)
{
	*out = m->lines;
	return m->lines_count;
}

void hg_model_losses(const struct hg_model *m, struct hg_losses *out)
{
	*out = m->losses;
}

void hg_model_session_get(const struct hg_model *m, struct hg_model_session *out)
{
	*out = m->session;
}

const char *hg_model_probe_name(const struct hg_model *m, unsigned int id)
{
	return id < HG_PROBES_MAX && m->probes[id].known ? m->probes[id].name : NULL;
}

size_t hg_model_probes_missing(const struct hg_model *m, const char *(*out)[2], size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < HG_PROBES_MAX && n < max; i++) {
		if (!m->probes[i].known || m->probes[i].attached)
			continue;
		out[n][0] = m->probes[i].name;
		out[n][1] = m->probes[i].why;
		n++;
	}
	return n;
}
