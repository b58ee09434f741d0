/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/model_reason.h"

#include "analysis/model_syscalls.h"

enum { /* include/linux/interrupt.h */
       SOFTIRQ_TIMER = 1,
       SOFTIRQ_NET_TX = 2,
       SOFTIRQ_NET_RX = 3,
       SOFTIRQ_BLOCK = 4,
       SOFTIRQ_IRQ_POLL = 5,
       SOFTIRQ_TASKLET = 6,
       SOFTIRQ_HRTIMER = 8,
};

enum { /* include/uapi/linux/futex.h */
       OP_WAIT = 0,
       OP_LOCK_PI = 6,
       OP_WAIT_BITSET = 9,
       OP_LOCK_PI2 = 13,
       OP_PRIVATE = 0x80,
};

/* A glibc (and Rust, Go) mutex word is 2 while somebody waits, and that is the value it sleeps on; musl's and robust ones
 * have FUTEX_WAITERS and the owner's tid. Condition variables pass CLOCK_REALTIME or another value. */
#define LOCK_WORD_CONTENDED 2
#define LOCK_WORD_WAITERS   UINT32_C(0x80000000)
#define LOCK_WORD_TID	    UINT32_C(0x3fffffff)

bool hg_wait_is_lock(int sysnr, uint64_t op, uint64_t value)
{
	uint64_t command = op & ~(uint64_t)OP_PRIVATE;

	if (sysnr != HG_SYSCALL_NR_FUTEX)
		return false;
	if (command == OP_WAIT || command == OP_WAIT_BITSET)
		return (uint32_t)value == LOCK_WORD_CONTENDED ||
		       ((value & LOCK_WORD_WAITERS) && (value & LOCK_WORD_TID));
	return command == OP_LOCK_PI || command == OP_LOCK_PI2;
}

static bool is_storage(enum hg_syscall_family f)
{
	return f == HG_SYSCALL_FILE || f == HG_SYSCALL_DISK;
}

static bool is_net(enum hg_syscall_family f)
{
	return f == HG_SYSCALL_POLL || f == HG_SYSCALL_SOCKET;
}

/* The call alone: what such a call waits for as a rule. */
static enum hg_leaf by_call(const struct hg_wait *w, enum hg_syscall_family f)
{
	switch (f) {
	case HG_SYSCALL_FUTEX:
	case HG_SYSCALL_CHILD:
		return HG_LEAF_BLOCKED_PEER;
	case HG_SYSCALL_SLEEP:
		return HG_LEAF_BLOCKED_TIMER;
	case HG_SYSCALL_POLL:
	case HG_SYSCALL_SOCKET:
		return HG_LEAF_BLOCKED_NET;
	case HG_SYSCALL_FILE:
	case HG_SYSCALL_DISK:
	case HG_SYSCALL_OTHER:
		break;
	}
	return w->uninterruptible ? HG_LEAF_BLOCKED_DISK : HG_LEAF_BLOCKED_OTHER;
}

static enum hg_leaf by_softirq(const struct hg_wait *w, enum hg_syscall_family f)
{
	switch (w->vec) {
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return HG_LEAF_BLOCKED_NET;
	case SOFTIRQ_BLOCK:
	case SOFTIRQ_IRQ_POLL:
		return HG_LEAF_BLOCKED_DISK;
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return HG_LEAF_BLOCKED_TIMER;
	case SOFTIRQ_TASKLET: /* TCP small queues: tcp_tasklet_func */
		return is_net(f) ? HG_LEAF_BLOCKED_NET : HG_LEAF_BLOCKED_OTHER;
	default:
		return by_call(w, f);
	}
}

/* A task ended it. A kernel thread that ends an uninterruptible wait completes its I/O (kworker, jbd2); any other task
 * lets go of something inside the kernel. */
static enum hg_leaf by_task(const struct hg_wait *w, enum hg_syscall_family f)
{
	if (w->uninterruptible && w->waker_kthread && f != HG_SYSCALL_FUTEX && !is_net(f))
		return HG_LEAF_BLOCKED_DISK;
	return HG_LEAF_BLOCKED_PEER;
}

enum hg_leaf hg_wait_reason(const struct hg_wait *w)
{
	const struct hg_syscall *call = hg_syscall_find(w->sysnr);
	enum hg_syscall_family f = call ? call->family : HG_SYSCALL_OTHER;

	if (w->newborn)
		return HG_LEAF_BLOCKED_OTHER;
	if (w->lock)
		return HG_LEAF_BLOCKED_LOCK;
	switch ((enum hg_wake_ctx)w->ctx) {
	case HG_CTX_TASK:
		return by_task(w, f);
	case HG_CTX_SOFTIRQ_OWN:
	case HG_CTX_SOFTIRQ_IRQ:
	case HG_CTX_KSOFTIRQD:
		return by_softirq(w, f);
	case HG_CTX_NAPI_THREAD:
		return HG_LEAF_BLOCKED_NET;
	case HG_CTX_TIMER:
		/* balance_dirty_pages() sleeps uninterruptibly on a timer until the device has caught up. */
		return w->uninterruptible && is_storage(f) ? HG_LEAF_BLOCKED_DISK
							   : HG_LEAF_BLOCKED_TIMER;
	case HG_CTX_IRQ:
	case HG_CTX_IDLE:
	case HG_CTX_UNKNOWN:
		break;
	}
	return by_call(w, f);
}
