/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locking/user: threads of the target wait for a futex lock, and its holder decides the pace. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"
#include "analysis/model_syscalls.h"

#define SAMPLES_MIN 0.5 /* at least every second look from outside found a waiter on this lock */

static const struct hg_lock *lock_find(const struct hg_attribution *a,
				       const struct hg_blame_lock *b)
{
	const struct hg_lock *locks;
	size_t n = hg_model_locks(a->model, &locks);

	for (size_t i = 0; i < n; i++) {
		if (locks[i].tgid == b->tgid && locks[i].address == b->address)
			return &locks[i];
	}
	return NULL;
}

static const char *leaf_words(int leaf)
{
	switch (leaf) {
	case HG_LEAF_THROTTLED:
		return "is throttled by a quota";
	case HG_LEAF_BLOCKED_LOCK:
		return "waits for another lock";
	case HG_LEAF_BLOCKED_NET:
		return "waits for the network";
	case HG_LEAF_BLOCKED_DISK:
		return "waits for a disk";
	case HG_LEAF_BLOCKED_TIMER:
		return "sleeps";
	case HG_LEAF_BLOCKED_PEER:
		return "waits for another task";
	default:
		return "is asleep for a reason not known";
	}
}

/* What the holder did while others waited: the chain's last link. */
static void describe_holder(const struct hg_attribution *a, struct hg_case *k,
			    const struct hg_blame_lock *b)
{
	double sum = 0, running = 0, runnable = 0;
	int worst = HG_LEAF_UNKNOWN;

	for (int i = 0; i < HG_LEAVES; i++) {
		sum += b->holder_leaf_ns[i];
		if (hg_leaf_is_running((enum hg_leaf)i))
			running += b->holder_leaf_ns[i];
		else if (hg_leaf_is_runnable((enum hg_leaf)i))
			runnable += b->holder_leaf_ns[i];
		if (b->holder_leaf_ns[i] > b->holder_leaf_ns[worst])
			worst = i;
	}
	if (sum <= 0) {
		hg_case_chain(a, k, "holder unknown");
		return;
	}
	if (running >= b->holder_leaf_ns[worst])
		hg_case_chain(a, k, "its holder runs (%.0f %%)", 100 * running / sum);
	else if (hg_leaf_is_runnable((enum hg_leaf)worst))
		hg_case_chain(a, k, "its holder waits for a CPU (%.0f %%)", 100 * runnable / sum);
	else if (b->holder_sysnr >= 0 && hg_syscall_find(b->holder_sysnr))
		hg_case_chain(a, k, "its holder %s in %s (%.0f %%)", leaf_words(worst),
			      hg_syscall_find(b->holder_sysnr)->name,
			      100 * b->holder_leaf_ns[worst] / sum);
	else
		hg_case_chain(a, k, "its holder %s (%.0f %%)", leaf_words(worst),
			      100 * b->holder_leaf_ns[worst] / sum);
	if (running < b->holder_leaf_ns[worst] && b->holder_ender &&
	    (worst == HG_LEAF_BLOCKED_NET || worst == HG_LEAF_BLOCKED_PEER)) {
		uint32_t tgid = a->lanes[b->holder_ender].tgid;

		hg_case_chain(a, k, "which %s (pid %u) ends", hg_process_name(a, tgid), tgid);
	}
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_LOCK);
	const struct hg_blame_lock *b;
	const struct hg_lock *lock;
	const char *process;
	double seen;

	if (!row || row->id >= a->shares.locks_count)
		return;
	b = &a->shares.locks[row->id];
	lock = lock_find(a, b);
	process = hg_process_name(a, b->tgid);
	hg_case_credit(a, k, row);
	k->c.subject.machine = "host";
	k->c.subject.kind = "lock";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "0x%llx",
		 (unsigned long long)b->address);
	k->c.subject.name = hg_arena_printf(a->arena, "futex of %s (pid %u)", process, b->tgid);
	hg_case_chain(a, k, "lock 0x%llx of %s (pid %u)", (unsigned long long)b->address, process,
		      b->tgid);
	describe_holder(a, k, b);
	k->c.summary = hg_arena_printf(a->arena,
				       "Threads of %s (pid %u) wait for one lock, at 0x%llx: "
				       "somebody waited for it %.0f %% of the time; %s.",
				       process, b->tgid, (unsigned long long)b->address,
				       100 * b->contended_ns / a->wall_ns,
				       k->c.chain_count > 1 ? k->c.chain[1] : "holder unknown");
	k->c.advice =
		"Hold the lock for less time (move sleeps, calls and I/O out of it), or split it.";
	hg_case_evidence(a, k, true, row->total_ns / a->wall_ns >= HG_SHARE_MIN,
			 row->total_ns / a->wall_ns, HG_SHARE_MIN,
			 "sched_switch events with futex arguments",
			 "the lock set the pace for %.1f %% of the time: threads waited for it "
			 "while its holder was "
			 "at work or asleep and no other thread could run",
			 100 * row->total_ns / a->wall_ns);
	if (!lock || !lock->samples) {
		k->c.unknown_why = "no samples of /proc/TID/syscall";
		return;
	}
	seen = (double)lock->samples_waiting / (double)lock->samples;
	k->c.saturation = seen;
	hg_case_evidence(a, k, true, seen >= SAMPLES_MIN, seen, SAMPLES_MIN,
			 "sampled /proc/PID/task/*/syscall",
			 "%.0f %% of %llu looks found a thread in a futex wait on it", 100 * seen,
			 (unsigned long long)lock->samples);
	hg_case_evidence(a, k, false, true, (double)lock->waiters, NAN,
			 "sched_switch events with futex arguments",
			 "%u threads waited %llu times, %.1f ms each on average", lock->waiters,
			 (unsigned long long)lock->waits,
			 lock->waits ? (double)lock->wait_ns / 1e6 / (double)lock->waits : 0);
	if (seen < SAMPLES_MIN / 2)
		hg_case_refute(a, k, "samples found a waiter only %.0f %% of the time", 100 * seen);
}

const struct hg_detector hg_detector_locking_user = {
	.class_name = "locking",
	.cause = "user",
	.needs = "switches with the futex's address and holder, sampled system calls",
	.proof_events = "share of time in which the lock's holder set the pace",
	.proof_outside = "samples that found a waiter on the lock",
	.evaluate = evaluate,
};
