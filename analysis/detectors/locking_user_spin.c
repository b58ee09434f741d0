/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locking/user-spin: threads of the target spin in user space for a lock that another one holds. */
#include <math.h>
#include <stdio.h>

#include "analysis/attribution.h"

#define HELD_MIN 0.5 /* at least every second look found it held, as for a lock that sleeps */

static void describe(const struct hg_attribution *a, struct hg_case *k,
		     const struct hg_spin_word *w, const char *process)
{
	const char *where = w->code[0] ? w->code
				       : hg_arena_printf(a->arena, "0x%llx",
							 (unsigned long long)w->code_address);

	k->c.subject.machine = "host";
	k->c.subject.kind = "lock";
	snprintf(k->c.subject.id, sizeof(k->c.subject.id), "0x%llx", (unsigned long long)w->word);
	k->c.subject.name = hg_arena_printf(a->arena, "spinlock of %s (pid %u)", process, w->tgid);
	hg_case_chain(a, k, "word 0x%llx of %s (pid %u)", (unsigned long long)w->word, process,
		      w->tgid);
	hg_case_chain(a, k, "%u of its threads spin for it in %s", w->lanes, where);
	k->c.summary = hg_arena_printf(
		a->arena,
		"%u threads of %s (pid %u) spin in user space for one word, at 0x%llx: on average "
		"%.2f CPUs do nothing but wait for it, in %s.",
		w->lanes, process, w->tgid, (unsigned long long)w->word, (double)w->ns / a->wall_ns,
		where);
	k->c.advice = "Hold the lock for less time or split it, or use one that sleeps: more CPUs "
		      "would only spin more.";
}

/* What the word itself holds, read by nobody who spins. */
static void looks_check(const struct hg_attribution *a, struct hg_case *k,
			const struct hg_spin_word *w)
{
	uint64_t known = w->looks - w->looks_unknown;
	double held;

	if (!w->word) {
		k->c.unknown_why = "the address of the word is not in the registers";
		return;
	}
	if (!known) {
		k->c.unknown_why = w->looks ? "what its values mean is not known"
					    : "the word could not be read from outside";
		return;
	}
	held = (double)w->looks_waits / (double)known;
	k->c.saturation = held;
	hg_case_evidence(a, k, true, held >= HELD_MIN, held, HELD_MIN,
			 "the word, by process_vm_readv",
			 "%.0f %% of %llu looks found a value with which its loop goes on waiting",
			 100 * held, (unsigned long long)known);
	if (held < HELD_MIN / 2)
		hg_case_refute(a, k, "the word was found held only %.0f %% of the time",
			       100 * held);
}

static void evaluate(const struct hg_attribution *a, struct hg_case *k)
{
	const struct hg_blame_row *row = hg_shares_largest(&a->shares, HG_BLAME_SPIN);
	const struct hg_spin_word *words, *w;
	size_t n = hg_model_spins(a->model, &words);
	double share;

	if (!row || row->id >= n)
		return;
	w = &words[row->id];
	share = row->total_ns / a->wall_ns;
	hg_case_credit(a, k, row);
	describe(a, k, w, hg_process_name(a, w->tgid));
	hg_case_evidence(a, k, true, share >= HG_SHARE_MIN, share, HG_SHARE_MIN,
			 "samples of the code that runs",
			 "threads spun for it, or held it meanwhile, for %.1f %% of the time that "
			 "counts: %llu samples, %u threads",
			 100 * share, (unsigned long long)w->samples, w->lanes);
	/* No second source: what the samples found, too. */
	hg_case_evidence(a, k, true, w->takes, w->takes, 1, "samples of the code that runs",
			 w->takes ? "its loop takes the word by an atomic instruction, as a lock "
				    "is taken"
				  : "its loop only reads the word: a flag, a barrier or an empty "
				    "queue is waited for in the same way");
	looks_check(a, k, w);
}

const struct hg_detector hg_detector_locking_user_spin = {
	.class_name = "locking",
	.cause = "user-spin",
	.needs = "samples of the code that runs, the word read from outside",
	.proof_events = "share of time in which threads spin for one word, or hold it meanwhile",
	.proof_outside = "looks that found the word held",
	.evaluate = evaluate,
};
