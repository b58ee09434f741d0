/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probes_lanes.h"

void hg_probe_lanes_free(struct hg_probe_lanes *lanes)
{
	struct hg_probe_lane *lane, *next;

	HASH_CLEAR(by_tid, lanes->by_tid);
	HASH_ITER (by_lane, lanes->by_lane, lane, next) {
		HASH_DELETE(by_lane, lanes->by_lane, lane);
		free(lane);
	}
}

struct hg_probe_lane *hg_probe_lanes_find(const struct hg_probe_lanes *lanes, uint32_t id)
{
	struct hg_probe_lane *lane;

	HASH_FIND(by_lane, lanes->by_lane, &id, sizeof(id), lane);
	return lane;
}

struct hg_probe_lane *hg_probe_lanes_find_tid(const struct hg_probe_lanes *lanes, pid_t tid)
{
	struct hg_probe_lane *lane;

	HASH_FIND(by_tid, lanes->by_tid, &tid, sizeof(tid), lane);
	return lane;
}

struct hg_probe_lane *hg_probe_lanes_get(struct hg_probe_lanes *lanes, uint32_t id)
{
	struct hg_probe_lane *lane = hg_probe_lanes_find(lanes, id);

	if (lane)
		return lane;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->lane = id;
	HASH_ADD(by_lane, lanes->by_lane, lane, sizeof(lane->lane), lane);
	return lane;
}

static void tid_forget(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane)
{
	/* tid is 0 exactly when the lane is not in that table. */
	if (lane->tid)
		HASH_DELETE(by_tid, lanes->by_tid, lane);
	lane->tid = 0;
}

void hg_probe_lanes_tid_set(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane, pid_t tid)
{
	struct hg_probe_lane *former = hg_probe_lanes_find_tid(lanes, tid);

	if (former == lane || lane->exited)
		return;
	if (former)
		tid_forget(lanes, former);
	tid_forget(lanes, lane);
	if (!tid)
		return;
	lane->tid = tid;
	HASH_ADD(by_tid, lanes->by_tid, tid, sizeof(lane->tid), lane);
}

void hg_probe_lanes_role_set(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane,
			     uint32_t role)
{
	for (unsigned int bit = 0; bit < HG_ROLE_BITS && !lane->exited; bit++) {
		if (lane->role >> bit & 1)
			lanes->members[bit]--;
		if (role >> bit & 1)
			lanes->members[bit]++;
	}
	lane->role = role;
}

void hg_probe_lanes_exit(struct hg_probe_lanes *lanes, struct hg_probe_lane *lane)
{
	uint32_t role = lane->role;

	if (lane->exited)
		return;
	hg_probe_lanes_role_set(lanes, lane, 0);
	lane->role = role;
	tid_forget(lanes, lane);
	lane->exited = true;
	lane->next_exited = lanes->exited_now;
	lanes->exited_now = lane;
}

void hg_probe_lanes_round_complete(struct hg_probe_lanes *lanes)
{
	struct hg_probe_lane *lane, *next;

	for (lane = lanes->exited_before; lane; lane = next) {
		next = lane->next_exited;
		HASH_DELETE(by_lane, lanes->by_lane, lane);
		free(lane);
	}
	lanes->exited_before = lanes->exited_now;
	lanes->exited_now = NULL;
}
