/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "analysis/attribution.h"

#define RESAMPLES 1000

/* xorshift64*: the same file must give the same report, so the seed is fixed. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void hg_bootstrap(const double *v, const double *weight, unsigned int n, double *low_out,
		  double *high_out)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	double means[RESAMPLES];

	if (!n) {
		*low_out = *high_out = 0;
		return;
	}
	for (unsigned int i = 0; i < RESAMPLES; i++) {
		double sum = 0, weights = 0;

		for (unsigned int k = 0; k < n; k++) {
			unsigned int pick = (unsigned int)(next_random(&state) >> 33) % n;

			sum += v[pick];
			weights += weight[pick];
		}
		means[i] = weights > 0 ? sum / weights : 0;
	}
	qsort(means, RESAMPLES, sizeof(means[0]), by_value);
	*low_out = means[RESAMPLES * 25 / 1000];
	*high_out = means[RESAMPLES * 975 / 1000 - 1];
}
