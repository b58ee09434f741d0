/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's account moves between tasks. A wakeup that preempts lets the switch that follows do without a new look at
 * the clock (rq_clock_skip_update() in kernel/sched/core.c, wakeup_preempt()): the time between wakeup and switch, some
 * microseconds, is in schedstat's run time of the task that was woken, and in the events' of the one (or the idle task) that
 * still ran. Between threads of one target that cancels; between an nginx and the client that wakes it 10,000 times a second
 * it is 1 %.
 * Used by compare.c.
 */
#ifndef HG_TEST_WAKE_CLOCK_H
#define HG_TEST_WAKE_CLOCK_H

#include <stdint.h>

#include "trace/hg_reader.h"

/*
 * Adds to moved_ns[lane], for each lane below n, what the kernel counts as its running and the events do not, from the wakeups and
 * switches within [from_ns, to_ns]. 0 or -errno.
 */
int wake_clock_moved(struct hg_reader *r, uint64_t from_ns, uint64_t to_ns, int64_t *moved_ns,
		     uint32_t n);

#endif
