/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of lanes and CPUs: bounded whatever ids a file names. */
#include <errno.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

/* Ids are handed out in order: one far beyond the number of definitions is no lane, however many definitions were lost. */
#define LANES_UNDEFINED_MAX 65536U

/* A zeroed array of new_size elements that begins with the old ones. */
static void *grow(const void *old, size_t old_count, size_t new_size, size_t element)
{
	char *p = calloc(new_size, element);

	if (p && old_count)
		memcpy(p, old, old_count * element);
	return p;
}

static int lanes_grow(struct hg_model *m, size_t need)
{
	size_t size = HG_MAX(m->lanes_size * 2, HG_MAX(need, 256));
	struct hg_lane *lanes = grow(m->lanes, m->lanes_count, size, sizeof(*lanes));
	uint32_t *next = grow(m->nstid_next, m->lanes_count, size, sizeof(*next));

	if (!lanes || !next) {
		free(lanes);
		free(next);
		return -ENOMEM;
	}
	free(m->lanes);
	free(m->nstid_next);
	m->lanes = lanes;
	m->nstid_next = next;
	m->lanes_size = size;
	return 0;
}

bool hg_model_lane_want(struct hg_model *m, uint64_t id, int *err)
{
	if (id < m->lanes_count)
		return id >= HG_LANE_FIRST;
	if (id < HG_LANE_FIRST)
		return false;
	if (id >= HG_LANES_MAX || id >= m->defined + LANES_UNDEFINED_MAX) {
		hg_model_warn_once(
			m->warned_lanes,
			"The trace names a task by the id %llu, which cannot be: what it "
			"says of that task is left out.",
			(unsigned long long)id);
		return false;
	}
	if (id >= m->lanes_size) {
		int rc = lanes_grow(m, id + 1);

		if (rc) {
			*err = rc;
			return false;
		}
	}
	for (size_t i = m->lanes_count; i <= id; i++)
		m->lanes[i].id = (uint32_t)i;
	m->lanes_count = id + 1;
	return true;
}

struct hg_cpu *hg_model_cpu_want(struct hg_model *m, uint64_t cpu, int *err)
{
	if (cpu < m->cpus_count)
		return &m->cpus[cpu];
	if (cpu >= HG_CPUS_MAX) {
		hg_model_warn_once(m->warned_cpus,
				   "The trace names CPU %llu, more than %u are not supported: what "
				   "it says of that CPU is left out.",
				   (unsigned long long)cpu, HG_CPUS_MAX);
		return NULL;
	}
	if (cpu >= m->cpus_size) {
		size_t size = HG_MAX(m->cpus_size * 2, HG_MAX(cpu + 1, 16));
		struct hg_cpu *cpus = grow(m->cpus, m->cpus_count, size, sizeof(*cpus));

		if (!cpus) {
			*err = -ENOMEM;
			return NULL;
		}
		free(m->cpus);
		m->cpus = cpus;
		m->cpus_size = size;
	}
	for (size_t i = m->cpus_count; i <= cpu; i++) {
		m->cpus[i].cpu = (uint32_t)i;
		m->cpus[i].sub_known_ns = calloc(m->subwindows, sizeof(uint64_t));
		m->cpus_count = i + 1;
		if (!m->cpus[i].sub_known_ns) {
			*err = -ENOMEM;
			return NULL;
		}
	}
	return &m->cpus[cpu];
}

int hg_model_nstid_add(struct hg_model *m, uint32_t lane)
{
	const struct hg_lane *l = &m->lanes[lane];
	uint64_t key = (uint64_t)l->tgid << 32 | l->nstid;
	struct hg_nstid *e = NULL;

	HASH_FIND(hh, m->nstids, &key, sizeof(key), e);
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = key;
		HASH_ADD(hh, m->nstids, key, sizeof(e->key), e);
	}
	m->nstid_next[lane] = e->lane;
	e->lane = lane;
	return 0;
}

const char *hg_model_string(const struct hg_model *m, uint64_t id)
{
	const char *s = hg_reader_string(m->r, id, NULL);

	return s ? s : "";
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
