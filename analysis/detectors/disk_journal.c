/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk/journal: threads of the target wait until a file system's journal has committed what they changed. Commits come one
 * after the other, whoever waits for them. The journal of ext4 and ocfs2 has a kernel thread "jbd2/DEVICE-N".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "analysis/model_syscalls.h"
#include "base/hg_base.h"

#define LOOKS_MIN 0.5 /* at least every second look found a thread in such a call */

/* What waits for a commit; writes and renames do only where the file is opened to be synchronous. */
static const int sync_calls[] = {
	26 /* msync */,
	74 /* fsync */,
	75 /* fdatasync */,
	162 /* sync */,
	277 /* sync_file_range */,
	306 /* syncfs */,
};

/* "loop0" of "jbd2/loop0-8"; a device's own "-" stays, a "/" is "!" in both. False: no such name. */
static bool device_name(const char *thread, char *out, size_t size)
{
	const char *from = strchr(thread, '/'), *to = strrchr(thread, '-');

	if (!from || !to || to <= from + 1 || (size_t)(to - from) > size)
		return false;
	memcpy(out, from + 1, (size_t)(to - from - 1));
	out[to - from - 1] = '\0';
	return true;
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_JOURNAL), *disk;
	const struct hg_lane *lane;
	struct hg_device d;
	uint64_t looks;
	double share, seen;
	char device[16];

	if (!row || row->id >= a->lanes_count)
		return;
	lane = &a->lanes[row->id];
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	/* A call that syncs writes the data, then waits for the commit: one chain, which the commits pace. */
	disk = hg_shares_row(&a->shares, HG_BLAME_DISK, 0);
	if (disk && row->total_ns >= HG_JOURNAL_PART * disk->total_ns)
		hg_case_credit(a, k, disk);
	k->c.subject.machine = "host";
	k->c.subject.kind = "journal";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "tid %u", lane->tid);
	k->c.subject.name = lane->name;
	k->c.summary = hg_arena_printf(a->arena,
				       "Threads of the target wait for commits of one journal, %s, "
				       "%.0f %% of the time; commits come one after the other.",
				       hg_lane_label(a, lane), 100 * share);
	k->c.advice =
		"Change less metadata per sync (write over preallocated blocks, fdatasync), sync "
		"less often, or put the journal on a faster device.";
	hg_case_chain(a, k, "journal %s", hg_lane_label(a, lane));
	if (device_name(lane->name, device, sizeof(device)) && hg_device_find(a, device, &d)) {
		hg_case_chain(a, k,
			      "disk %s: a request in flight %.0f %% of the time, %.2g ms each",
			      d.disk->name, 100 * d.busy, d.request_ms);
		hg_case_evidence(a, k, false, d.flushes > 0, d.flushes / d.span_s, NAN,
				 "/proc/diskstats", "%s flushed its cache %.0f times a second",
				 d.disk->name, d.flushes / d.span_s);
		k->c.saturation = d.busy;
	}
	hg_case_evidence(
		a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
		"sched_switch and sched_wakeup events",
		"no thread of the target could run until the journal's thread ended a wait "
		"for %.1f %% of the time",
		100 * share);
	if (!hg_model_syscalls_seen(a->model, sync_calls, HG_ARRAY_SIZE(sync_calls), &seen,
				    &looks)) {
		k->c.unknown_why = "no samples of /proc/TID/syscall";
		return;
	}
	hg_case_evidence(a, k, true, seen >= LOOKS_MIN, seen, LOOKS_MIN,
			 "sampled /proc/PID/task/*/syscall",
			 "%.0f %% of %llu looks found a thread in a call that syncs", 100 * seen,
			 (unsigned long long)looks);
	if (seen < LOOKS_MIN / 2)
		hg_case_refute(
			a, k,
			"samples found a thread in a call that syncs only %.0f %% of the time",
			100 * seen);
}

const struct hg_detector hg_detector_disk_journal = {
	.class_name = "disk",
	.cause = "journal",
	.needs = "switches and wakeups of the target with their wakers, sampled system calls",
	.proof_events = "share of time in which only the journal's thread ended its waits",
	.proof_outside = "samples that found a thread in a call that syncs",
	.evaluate = evaluate,
};
