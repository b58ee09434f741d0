/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks that go in steps of several nanoseconds, as the time stamp counters of many processors do (10 ns on AMD's
 * since Zen): differences of their times are whole steps, give or take the rounding to nanoseconds, and
 * take less room as numbers of steps. Used by the encoder and the decoder of columns, by the collector and by tests.
 */
#ifndef HG_STEPS_H
#define HG_STEPS_H

#include <stdint.h>

/* A step is in ns, times 2^24. */
#define HG_STEPS_SHIFT 24

/* The step of CLOCK_MONOTONIC, measured in some milliseconds; 0: it is too small to matter, or there is none. */
uint64_t hg_steps_measure(void);
/* The step of times, at least two, that do not decrease; 0 as above. */
uint64_t hg_steps_find(const uint64_t *times, uint32_t count);

/*
 * A difference of times as a code: 0 is none; else q steps and r from -1 to 1 are 3q + r + 2.
 */
static inline uint64_t hg_steps_value(uint64_t step, uint64_t code)
{
	uint64_t q = (code - 1) / 3, r = (code - 1) % 3 - 1;

	return (((q * step) + (UINT64_C(1) << (HG_STEPS_SHIFT - 1))) >> HG_STEPS_SHIFT) + r;
}

/* per_step: 2^24 / step. 0: the value has no code; else *q_out is the number of its steps. */
static inline uint64_t hg_steps_code(uint64_t step, double per_step, uint64_t value,
				     uint64_t *q_out)
{
	uint64_t q, r;

	if (value >> 32)
		return 0;
	*q_out = q = (uint64_t)((double)value * per_step + 0.5);
	r = value + 1 - ((q * step + (UINT64_C(1) << (HG_STEPS_SHIFT - 1))) >> HG_STEPS_SHIFT);
	return r <= 2 ? 3 * q + r + 1 : 0;
}

#endif
