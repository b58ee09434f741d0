/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a thread was blocked: from the system call in which it blocked, its state, and who ended the wait in which
 * context. One pure function, called by the replay when a wait ends.
 */
#ifndef HG_MODEL_REASON_H
#define HG_MODEL_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/hg_model.h"

struct hg_wait {
	int sysnr;	      /* -1: in none, or unknown */
	bool uninterruptible; /* state D */
	bool lock;	      /* hg_wait_is_lock */
	bool newborn;	      /* created, not yet woken for the first time */
	uint8_t ctx; /* enum hg_wake_ctx that ended it; 0: it did not end, or nobody saw how */
	int vec;     /* softirq vector, -1 none */
	bool waker_kthread;
};

enum hg_leaf hg_wait_reason(const struct hg_wait *w);

/* Whether a futex call waits for a contended lock, by its operation and expected value. */
bool hg_wait_is_lock(int sysnr, uint64_t op, uint64_t value);

#endif
