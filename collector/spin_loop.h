/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a thread in a loop that does nothing but wait until a word in memory changes? Told from the code around the address at
 * which it was found. Pure functions over bytes; x86-64. Called by the drain for samples in user space
 * (collector/probes_spin.c) and, with what a word holds, by the sampler that looks at it (collector/sampler_word.c).
 *
 * The loop is what can be reached from the address and leads back to it. It waits if nothing in it changes memory but the
 * stack, other than by an atomic instruction; if it calls nothing; if its addresses are the same each time round; and if it
 *  - pauses (PAUSE, TPAUSE), or
 *  - does nothing but load, compare and jump, or exchange or compare-and-exchange what does not depend on the former value:
 *    so a lock-free update, or a loop that counts something atomically, is none.
 * A loop that is longer than the code at hand, or calls a function each time round, is recognised at its PAUSE only, and its
 * word is not known.
 */
#ifndef HG_SPIN_LOOP_H
#define HG_SPIN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define HG_SPIN_CODE_BYTES  64
#define HG_SPIN_CODE_BEFORE 32 /* of them before the address */
#define HG_SPIN_REGS	    16

struct hg_spin_code {
	uint64_t ip;
	uint64_t regs[HG_SPIN_REGS];	   /* ax cx dx bx sp bp si di r8 to r15 */
	uint8_t bytes[HG_SPIN_CODE_BYTES]; /* what could not be read is 0 */
};

struct hg_spin_loop {
	uint64_t begin; /* its lowest address */
	uint64_t
		word; /* that it waits for; 0: not known (it only pauses, or the address is not in registers) */
	uint8_t size; /* of the word, bytes */
	bool pauses;
	bool takes; /* it changes that word by an atomic instruction, as one does to take a lock */
};

bool hg_spin_loop_find(const struct hg_spin_code *code, struct hg_spin_loop *out);

/* Would it go on waiting if the word held this value? 1, or 0: it would leave the loop; -1 unknown. */
int hg_spin_loop_waits(const struct hg_spin_code *code, const struct hg_spin_loop *loop,
		       uint64_t value);

#endif
