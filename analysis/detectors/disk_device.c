/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk/device: the target waits for a block device that always has requests to do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"

#define BUSY_MIN                                                                                   \
	0.85 /* of the time with a request in flight: a target that works a little in between */

bool hg_device_find(const struct hg_attribution *a, const char *name, struct hg_device *out)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model);
	const struct hg_disk *disks;
	size_t n = hg_model_disks(a->model, &disks);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		struct hg_device d = {.disk = &disks[i]};
		uint64_t busy, queue, reads, writes, span, flushes;

		if ((name && strcmp(name, d.disk->name)) ||
		    !hg_series_delta(&d.disk->busy, from, to, &busy, &queue, &span) || !span ||
		    !hg_series_delta(&d.disk->requests, from, to, &reads, &writes, NULL))
			continue;
		if (hg_series_delta(&d.disk->flushes, from, to, &flushes, NULL, NULL))
			d.flushes = (double)flushes;
		d.span_s = (double)span / 1e9;
		d.busy = fmin(1, (double)busy / (double)span);
		d.queue = (double)queue / (double)span;
		d.requests = (double)(reads + writes) + d.flushes;
		d.request_ms = d.requests > 0 ? (double)queue / 1e6 / d.requests : 0;
		if (!found || d.queue > out->queue)
			*out = d;
		found = true;
	}
	return found;
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_DISK, 0), *journal;
	struct hg_device d;
	double share;

	if (!row)
		return;
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	k->c.summary = "The target waits for a disk.";
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "sched_switch and sched_wakeup events",
			 "threads of the target waited for a disk while no other one could run for "
			 "%.1f %% of the time",
			 100 * share);
	if (!hg_device_find(a, NULL, &d)) {
		k->c.unknown_why = "no samples of /proc/diskstats";
		return;
	}
	k->c.subject.machine = "host";
	k->c.subject.kind = "disk";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "%llu:%llu",
		 (unsigned long long)(d.disk->dev >> 20),
		 (unsigned long long)(d.disk->dev & 0xfffff));
	k->c.subject.name = d.disk->name;
	k->c.saturation = d.busy;
	k->c.summary = hg_arena_printf(a->arena,
				       "The disk %s is the limit: it had requests to do %.0f %% of "
				       "the time, %.2g ms each, "
				       "and the target waited for it.",
				       d.disk->name, 100 * d.busy, d.request_ms);
	k->c.advice =
		"Write and sync less often or more at a time, use a faster device, or look for "
		"a throttle on it (io.max, blkio.throttle).";
	hg_case_evidence(
		a, k, true, d.busy >= BUSY_MIN, d.busy, BUSY_MIN, "/proc/diskstats",
		"%s had a request in flight %.1f %% of %.1f s, %.2g at a time, %.0f in all",
		d.disk->name, 100 * d.busy, d.span_s, d.queue, d.requests);
	journal = hg_shares_largest(&a->shares, HG_BLAME_JOURNAL);
	if (journal && journal->total_ns >= HG_JOURNAL_PART * row->total_ns)
		hg_case_refute(
			a, k,
			"a journal ends %.0f %% of the waits: its commits come one after the "
			"other, and the device may have room for more",
			100 * journal->total_ns / (journal->total_ns + row->total_ns));
	if (d.busy < BUSY_MIN)
		hg_case_refute(a, k, "the busiest disk, %s, was idle %.0f %% of the time",
			       d.disk->name, 100 * (1 - d.busy));
}

const struct hg_detector hg_detector_disk_device = {
	.class_name = "disk",
	.cause = "device",
	.needs = "switches and wakeups of the target, /proc/diskstats",
	.proof_events = "share of time in which its threads waited for a disk and none could run",
	.proof_outside = "time with requests in flight by /proc/diskstats",
	.evaluate = evaluate,
};
