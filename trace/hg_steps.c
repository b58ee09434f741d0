/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hg_base.h"

#define TIMES	      65536
#define SAMPLES	      256 /* of the differences of one length */
#define LAG	      200
#define STEP_MIN_NS   8.0 /* below, the rounding takes what the steps give */
#define STEP_MAX_NS   64.0
#define PRECISION_MAX 2e-5
#define PRECISION     2e-6 /* enough: over longer times the clock's rate is not so constant */

/*
 * A difference of n steps lies within 2 ns of n * step: the counter's time is rounded down, and on a virtual machine
 * it was rounded before. The longer it is, the closer it bounds the step, as long as only one n fits.
 */
static bool narrow(double *low, double *high, double ns)
{
	uint64_t least, most;

	if (ns < 2)
		return true;
	least = (uint64_t)ceil((ns - 2) / *high);
	most = (uint64_t)((ns + 2) / *low);
	if (least < most)
		return true;
	if (least > most)
		return false;
	*low = HG_MAX(*low, (ns - 2) / (double)most);
	*high = HG_MIN(*high, (ns + 2) / (double)most);
	return *low <= *high;
}

/* Differences of neighbours, then of times that lie further and further apart: an interrupted reader spoils few. */
static bool narrow_all(double *low, double *high, const uint64_t *times, uint32_t count)
{
	for (uint32_t lag = 1; lag < count; lag += lag / 4 + 1) {
		for (uint32_t i = 0; i + lag < count; i += 1 + (count - lag) / SAMPLES) {
			if (!narrow(low, high, (double)(times[i + lag] - times[i])))
				return false;
		}
		if (*high - *low <= PRECISION * *low)
			return true;
	}
	return *high - *low <= PRECISION_MAX * *low;
}

/* A step that is none may have got through by chance. */
static bool holds(double step, const uint64_t *times, uint32_t count)
{
	uint32_t lag = HG_MIN(count - 1, LAG), right = 0;

	for (uint32_t i = 0; i + lag < count; i++) {
		double ns = (double)(times[i + lag] - times[i]);

		right += fabs(ns - round(ns / step) * step) <= 1.5;
	}
	return right >= (count - lag) * 0.95;
}

uint64_t hg_steps_find(const uint64_t *times, uint32_t count)
{
	/* The largest that fits: half of a step fits as well. */
	for (double guess = STEP_MAX_NS; guess > STEP_MIN_NS; guess *= 0.99) {
		double low = guess * 0.99, high = guess * 1.01, step;

		if (!narrow_all(&low, &high, times, count))
			continue;
		step = (low + high) / 2;
		if (holds(step, times, count))
			return (uint64_t)(step * (1 << HG_STEPS_SHIFT));
	}
	return 0;
}

uint64_t hg_steps_measure(void)
{
	hg_autofree uint64_t *times = malloc(TIMES * sizeof(*times));

	if (!times)
		return 0;
	for (uint32_t i = 0; i < TIMES; i++)
		times[i] = hg_now_ns();
	return hg_steps_find(times, TIMES);
}
