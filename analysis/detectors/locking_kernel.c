/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locking/kernel-sleep: threads of the target wait for a mutex or rwsem of the kernel; locking/kernel-spin: their CPUs spin
 * for one of its spinlocks. What is said of both, and what the two share, is here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"

#define LOOKS_MIN                                                                                  \
	0.5 /* at least every second look from outside found a thread asleep for the lock */
#define SPINS_MIN    0.10 /* of the CPU time: less is no reason to name a lock */
#define SPINS_MUCH   0.20 /* of the CPU time: CPUs that are full of this are not full of work */
#define QUEUE_MUCH   0.5  /* of the time: a lock with a queue so often sets the pace itself */
#define WAITS_MIN    0.20 /* threads that wait for the lock, on average */
#define SYSTEM_LEAST 0.5  /* of what the samples say; the tick counts coarsely */

struct spins {
	double samples, user, sleeping, spinning; /* the last three: parts of the samples */
};

static struct spins spins_sum(const struct hg_attribution *a)
{
	const struct hg_kernel_times *t = hg_model_kernel_times(a->model);
	struct spins s = {0};

	for (unsigned int i = 0; t && i < hg_model_subwindows(a->model); i++) {
		s.samples += t[i].samples;
		s.user += t[i].user;
		s.sleeping += t[i].spins_sleeping;
		s.spinning += t[i].spins;
	}
	if (s.samples > 0) {
		s.user /= s.samples;
		s.sleeping /= s.samples;
		s.spinning /= s.samples;
	}
	return s;
}

/* Share of time in which somebody slept for a lock of the kernel. */
static double asleep(const struct hg_attribution *a)
{
	for (size_t i = 0; i < a->shares.locks_count; i++) {
		if (a->shares.locks[i].kernel)
			return a->shares.locks[i].contended_ns / a->wall_ns;
	}
	return 0;
}

void hg_case_refute_kernel_locks(const struct hg_attribution *a, struct hg_case *k)
{
	struct spins s = spins_sum(a);

	if (s.sleeping + s.spinning >= SPINS_MUCH)
		hg_case_refute(a, k,
			       "%.0f %% of the target's CPU time spins in the kernel for its locks",
			       100 * (s.sleeping + s.spinning));
	else if (asleep(a) >= QUEUE_MUCH && s.samples > 0 && s.user < 0.5)
		hg_case_refute(
			a, k,
			"somebody sleeps for a lock of the kernel %.0f %% of the time, and the "
			"CPUs are busy in the kernel: more of them would meet there",
			100 * asleep(a));
}

static bool is_spinlock(const struct hg_kernel_lock *l)
{
	return (l->flags & HG_CONTENTIONF_SPIN) &&
	       !(l->flags & (HG_CONTENTIONF_MUTEX | HG_CONTENTIONF_RT | HG_CONTENTIONF_PERCPU));
}

static const char *kind_name(const struct hg_kernel_lock *l)
{
	bool read = l->flags & HG_CONTENTIONF_READ, write = l->flags & HG_CONTENTIONF_WRITE;

	if (l->flags & HG_CONTENTIONF_MUTEX)
		return "mutex";
	if (l->flags & HG_CONTENTIONF_PERCPU)
		return "percpu rwsem";
	if (l->flags & HG_CONTENTIONF_RT)
		return "rt mutex";
	if (is_spinlock(l))
		return read || write ? "rwlock" : "spinlock";
	if (read || write)
		return read && write ? "rwsem" : read ? "rwsem (read)" : "rwsem (write)";
	return "semaphore";
}

/* The lock of this kind for which threads waited longest; *sum_out: ns for all of the kind. */
static const struct hg_kernel_lock *lock_find(const struct hg_attribution *a, bool spins,
					      double *sum_out)
{
	const struct hg_kernel_lock *locks, *found = NULL;
	size_t n = hg_model_kernel_locks(a->model, &locks);

	*sum_out = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_spinlock(&locks[i]) != spins)
			continue;
		if (!found)
			found = &locks[i];
		*sum_out += (double)locks[i].wait_ns;
	}
	return found;
}

static void subject(const struct hg_attribution *a, struct hg_case *k,
		    const struct hg_kernel_lock *l, const char *kind, const char *caller)
{
	k->c.subject.machine = "host";
	k->c.subject.kind = "lock";
	if (l)
		snprintf(k->c.subject.id, sizeof(k->c.subject.id), "0x%llx",
			 (unsigned long long)l->address);
	k->c.subject.name = caller ? hg_arena_printf(a->arena, "%s of %s()", kind, caller)
				   : hg_arena_printf(a->arena, "%s of the kernel", kind);
	hg_case_chain(a, k, "%s%s%s", k->c.subject.name, l ? " at " : "", l ? k->c.subject.id : "");
	if (l && l->waker && l->waker < a->lanes_count)
		hg_case_chain(a, k, "released most often by %s",
			      hg_lane_label(a, &a->lanes[l->waker]));
}

static void describe_waits(const struct hg_attribution *a, struct hg_case *k,
			   const struct hg_kernel_lock *l, double sum_ns)
{
	hg_case_evidence(a, k, false, true, (double)l->waits, NAN,
			 "contention_begin and contention_end",
			 "%llu waits for this %s, %.1f us each on average, 99 %% of them under "
			 "%.1f us; %.0f %% of the waiting for locks of its sort",
			 (unsigned long long)l->waits, kind_name(l),
			 (double)l->wait_ns / 1e3 / (double)l->waits, (double)l->p99_ns / 1e3,
			 sum_ns > 0 ? 100 * (double)l->wait_ns / sum_ns : 0);
}

/* Two sources besides the events can confirm: /proc, where waiters sleep, and a timer's samples, where they spin. */
static void sleep_outside(const struct hg_attribution *a, struct hg_case *k, const char *caller,
			  const struct spins *s)
{
	uint64_t rounds = 0;
	double seen = NAN;
	bool looks = caller && hg_model_kernel_seen(a->model, caller, &seen, &rounds);
	bool spins = s->samples > 0 && s->sleeping >= SPINS_MIN;

	if (looks && (seen >= LOOKS_MIN || !spins))
		hg_case_evidence(a, k, true, seen >= LOOKS_MIN, seen, LOOKS_MIN,
				 "sampled /proc/PID/task/*/wchan",
				 "%.0f %% of %llu looks found a thread asleep in %s()", 100 * seen,
				 (unsigned long long)rounds, caller);
	if (spins)
		hg_case_evidence(a, k, !looks || seen < LOOKS_MIN, true, s->sleeping, SPINS_MIN,
				 "samples by a timer",
				 "%.1f %% of the target's CPU time spins for such a lock, most in "
				 "%s()",
				 100 * s->sleeping, hg_model_kernel_spins_in(a->model, true));
	k->c.saturation = looks ? seen : NAN;
	if (!looks && !spins)
		k->c.unknown_why = s->samples > 0
					   ? "neither samples nor /proc/TID/wchan found a waiter"
					   : "no samples and no looks at /proc/TID/wchan";
	else if (looks && seen < LOOKS_MIN / 2 && s->samples > 0 && s->sleeping < SPINS_MIN / 2)
		hg_case_refute(a, k,
			       "looks found a waiter only %.0f %% of the time, samples %.0f %%",
			       100 * seen, 100 * s->sleeping);
}

static void evaluate_sleep(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_KERNEL_SLEEP, 0);
	struct spins s = spins_sum(a);
	const struct hg_kernel_lock *l;
	double sum_ns, waiting;
	const char *caller;

	if (!row)
		return;
	hg_case_credit(a, k, row);
	l = lock_find(a, false, &sum_ns);
	caller = l && l->asleep_in ? l->asleep_in : hg_model_kernel_spins_in(a->model, true);
	subject(a, k, l, l ? kind_name(l) : "mutex or rwsem", caller);
	k->c.summary = hg_arena_printf(
		a->arena,
		"Threads of the target wait for a lock of the kernel, the %s: %.1f of them on "
		"average, and %.0f %% of their CPU time spins for it.",
		k->c.subject.name, sum_ns / a->wall_ns, 100 * s.sleeping);
	k->c.advice = "Give threads objects of their own (pipe, file, directory), do fewer or "
		      "larger calls, or "
		      "use processes where the lock is that of the address space.";
	if (!l) {
		k->c.unknown_why = "no contention events";
		return;
	}
	waiting = sum_ns / a->wall_ns;
	hg_case_evidence(
		a, k, true, waiting >= WAITS_MIN, waiting, WAITS_MIN,
		"contention_begin and contention_end",
		"%.2f threads of the target waited for mutexes and rwsems of the kernel on "
		"average",
		waiting);
	sleep_outside(a, k, caller, &s);
	describe_waits(a, k, l, sum_ns);
}

/* System time of the target's part of its CPU time, by the kernel's tick; < 0 unknown. */
static double system_part(const struct hg_attribution *a)
{
	uint64_t from = hg_model_from_ns(a->model), to = hg_model_to_ns(a->model), user, system;
	double user_ns = 0, system_ns = 0;

	for (size_t i = HG_LANE_FIRST; i < a->lanes_count; i++) {
		if (hg_lane_is_target(&a->lanes[i], a->level_all) &&
		    hg_series_delta(&a->lanes[i].times, from, to, &user, &system, NULL)) {
			user_ns += (double)user;
			system_ns += (double)system;
		}
	}
	return user_ns + system_ns > 0 ? system_ns / (user_ns + system_ns) : -1;
}

/*
 * Where the kernel has no queue of waiters to trace (two CPUs, or a test-and-set lock in a virtual machine) no contention
 * begins: the kernel's own account of system time must then hold at least what the samples say.
 */
static void spin_outside(const struct hg_attribution *a, struct hg_case *k, double sum_ns,
			 const struct spins *s)
{
	double waiting = sum_ns / a->wall_ns, system = system_part(a);
	double least = HG_MIN(1.0, s->spinning + s->sleeping);
	bool events = waiting >= WAITS_MIN;

	if (events)
		hg_case_evidence(a, k, true, true, waiting, WAITS_MIN,
				 "contention_begin and contention_end",
				 "%.2f threads waited for spinlocks on average", waiting);
	else
		hg_case_evidence(a, k, false, false, waiting, WAITS_MIN,
				 "contention_begin and contention_end",
				 "%.2f threads waited by these events; the first waiter for a "
				 "spinlock causes none",
				 waiting);
	if (system >= 0)
		hg_case_evidence(a, k, !events, system >= least, system, least,
				 "/proc/PID/task/*/stat",
				 "%.0f %% of the target's CPU time is the kernel's", 100 * system);
	else if (!events)
		k->c.unknown_why = "no contention events and no /proc/TID/stat samples";
	if (system >= 0 && system < SYSTEM_LEAST * least)
		hg_case_refute(a, k, "only %.0f %% of its CPU time is the kernel's", 100 * system);
}

static void evaluate_spin(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_row(&a->shares, HG_BLAME_KERNEL_SPIN, 0);
	const char *caller = hg_model_kernel_spins_in(a->model, false);
	struct spins s = spins_sum(a);
	const struct hg_kernel_lock *l;
	double sum_ns;

	if (!row || !caller)
		return;
	hg_case_credit(a, k, row);
	l = lock_find(a, true, &sum_ns);
	/* The one address that events tell may be another lock's: only if they saw a good part of the waiting. */
	if (sum_ns < WAITS_MIN * a->wall_ns)
		l = NULL;
	subject(a, k, l, l ? kind_name(l) : "spinlock", caller);
	k->c.saturation = s.spinning;
	k->c.summary =
		hg_arena_printf(a->arena,
				"CPUs spin for a lock of the kernel, the %s: %.0f %% of the "
				"target's CPU time goes there, and who holds it sets the pace.",
				k->c.subject.name, 100 * s.spinning);
	k->c.advice = "Give threads objects of their own (file, socket, timer), make fewer calls, "
		      "or keep what the "
		      "lock protects short.";
	hg_case_evidence(
		a, k, true, s.spinning >= SPINS_MIN, s.spinning, SPINS_MIN, "samples by a timer",
		"%.1f %% of %.0f samples of the target's CPU time spin for a spinlock, most "
		"in %s()",
		100 * s.spinning, s.samples, caller);
	spin_outside(a, k, sum_ns, &s);
	if (l)
		describe_waits(a, k, l, sum_ns);
}

const struct hg_detector hg_detector_kernel_sleep = {
	.class_name = "locking",
	.cause = "kernel-sleep",
	.needs = "contention events and switches, samples by a timer, sampled /proc/TID/wchan",
	.proof_events = "threads that wait for mutexes and rwsems of the kernel",
	.proof_outside = "looks that found a waiter asleep, or samples that found it spinning",
	.evaluate = evaluate_sleep,
};

const struct hg_detector hg_detector_kernel_spin = {
	.class_name = "locking",
	.cause = "kernel-spin",
	.needs = "samples by a timer, contention events or /proc/TID/stat",
	.proof_events = "samples that found its CPUs spinning for a lock",
	.proof_outside = "contention events, or system time by /proc/TID/stat",
	.evaluate = evaluate_spin,
};
