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

struct hg_lane {
	uint32_t lane, role, target;
	pid_t tid, tgid;
	uint64_t start_ns;
	uint64_t role_ns; /* since when it is what it is: an older record does not change it */
	bool defined;	  /* a TASK record was written */
	bool seeded;
	bool told_waker, told_competitor;
	UT_hash_handle by_lane, by_tid;
};

struct hg_lanes {
	struct hg_lane *by_lane, *by_tid;
	size_t members[HG_ROLE_BITS]; /* by role bit */
};

void hg_lanes_free(struct hg_lanes *lanes);

/* NULL if unknown. */
struct hg_lane *hg_lanes_find(const struct hg_lanes *lanes, uint32_t lane);
struct hg_lane *hg_lanes_find_tid(const struct hg_lanes *lanes, pid_t tid);

/* The lane, made without tid if it is unknown. NULL: no memory. */
struct hg_lane *hg_lanes_get(struct hg_lanes *lanes, uint32_t lane);

/* tid now belongs to this lane. A lane that had it keeps its entry but is no longer found by it. */
void hg_lanes_tid_set(struct hg_lanes *lanes, struct hg_lane *lane, pid_t tid);
void hg_lanes_role_set(struct hg_lanes *lanes, struct hg_lane *lane, uint32_t role);
void hg_lanes_remove(struct hg_lanes *lanes, struct hg_lane *lane);

#endif
