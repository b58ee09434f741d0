/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lanes that are alive, as the collector knows them: by lane and by tid, with counts per role.
 * Filled by drain and seed; owned by struct hg_probes.
 */
#ifndef HG_PROBES_LANES_H
#define HG_PROBES_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#define HG_ROLE_BITS 8

struct hg_probe_lane {
	uint32_t lane, role, target;
	pid_t tid, tgid;
	uint64_t start_ns;
	uint64_t role_ns; /* since when it is what it is: an older record does not change it */
	bool defined;	  /* a TASK record was written */
	bool seeded;
	bool told_waker, told_competitor;
	bool exited; /* kept until what other rings hold of it was read */
	struct hg_probe_lane *next_exited;
	UT_hash_handle by_lane, by_tid;
};

struct hg_probe_lanes {
	struct hg_probe_lane *by_lane, *by_tid;
	size_t members[HG_ROLE_BITS]; /* alive, by role bit */
	struct hg_probe_lane *exited_now,
		*exited_before; /* since the last complete round; earlier */
};

void hg_probe_lanes_free(struct hg_probe_lanes *lanes);

/* NULL if unknown. */
struct hg_probe_lane *hg_probe_lanes_find(const struct hg_probe_lanes *lanes, uint32_t lane);
struct hg_probe_lane *hg_probe_lanes_find_tid(const struct hg_probe_lanes *lanes, pid_t tid);

/* The lane, made without tid if it is unknown. NULL: no memory. */
struct hg_probe_lane *hg_probe_lanes_get(struct hg_probe_lanes *lanes, uint32_t lane);

/* tid now belongs to this lane. A lane that had it keeps its entry but is no longer found by it. */
void hg_probe_lanes_tid_set(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane, pid_t tid);
void hg_probe_lanes_role_set(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane,
			     uint32_t role);

/*
 * The task is dead: no member, and not found by its tid. Rings are read one by one: another may still hold
 * older records of it, even its TASK, which must not make it alive again.
 */
void hg_probe_lanes_exit(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane);

/* All rings were read to their ends: nothing is left of who exited before the former time. */
void hg_probe_lanes_round_complete(struct hg_probe_lanes *lanes);

#endif
