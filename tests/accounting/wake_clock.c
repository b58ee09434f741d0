/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/accounting/wake_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hg_base.h"
#include "trace/hg_kinds.h"

#define CPUS_MAX    1024
#define SKIP_NS_MAX 100000 /* later the tick or another event has moved the clock */

struct wake {
	uint64_t time_ns;
	uint32_t cpu;
};

static void on_switch(const struct hg_record *rec, struct wake *wakes, uint64_t *since_ns,
		      int64_t *moved_ns, uint32_t n)
{
	uint32_t cpu = rec->stream - HG_STREAM_CPU0;
	uint64_t prev = rec->f[HG_SWITCH_PREV], next = rec->f[HG_SWITCH_NEXT], since;
	struct wake *w;

	if (rec->stream < HG_STREAM_CPU0 || cpu >= CPUS_MAX)
		return;
	since = since_ns[cpu];
	since_ns[cpu] = rec->time_ns;
	if (next < HG_LANE_FIRST || next >= n)
		return;
	w = &wakes[next];
	if (prev >= HG_LANE_IDLE && prev < n && !rec->f[HG_SWITCH_STATE] && w->time_ns >= since &&
	    w->time_ns && w->cpu == cpu && rec->time_ns - w->time_ns <= SKIP_NS_MAX) {
		moved_ns[next] += (int64_t)(rec->time_ns - w->time_ns);
		moved_ns[prev] -= (int64_t)(rec->time_ns - w->time_ns);
	}
	w->time_ns = 0;
}

int wake_clock_moved(struct hg_reader *r, uint64_t from_ns, uint64_t to_ns, int64_t *moved_ns,
		     uint32_t n)
{
	struct hg_cursor *cursor __attribute__((cleanup(hg_cursor_closep))) = NULL;
	const struct hg_cursor_opts opts = {.from_ns = from_ns, .to_ns = to_ns};
	hg_autofree struct wake *wakes = calloc(n, sizeof(*wakes));
	hg_autofree uint64_t *since_ns = calloc(CPUS_MAX, sizeof(*since_ns));
	const struct hg_record *rec;
	int rc;

	if (!wakes || !since_ns)
		return -ENOMEM;
	rc = hg_cursor_open(r, &opts, &cursor);
	if (rc)
		return rc;
	while ((rc = hg_cursor_next(cursor, &rec)) > 0) {
		if (rec->time_ns < from_ns || rec->time_ns > to_ns)
			continue;
		if (rec->kind == HG_KIND_SWITCH || rec->kind == HG_KIND_SWITCH_BLOCK)
			on_switch(rec, wakes, since_ns, moved_ns, n);
		else if (rec->kind == HG_KIND_WAKEUP && rec->f[HG_WAKEUP_LANE] < n)
			wakes[rec->f[HG_WAKEUP_LANE]] =
				(struct wake){rec->time_ns, (uint32_t)rec->f[HG_WAKEUP_CPU]};
	}
	return rc;
}
