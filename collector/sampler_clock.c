/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK: the host's clocks and its TSC at one moment. */
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "base/hg_base.h"
#include "collector/sampler_private.h"

#define TRIES 5

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * HG_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t tsc_read(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int cpu;

	/* rdtscp waits for what precedes it: plain rdtsc may move out of the bracket. */
	return __rdtscp(&cpu);
#else
	return 0;
#endif
}

/* The other clocks lie in the middle of a bracket of two reads of MONOTONIC; the tightest counts.
 */
static int clock_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_CLOCK};
	uint64_t width_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before, realtime, tsc, boottime, after;

		before = hg_now_ns();
		realtime = clock_ns(CLOCK_REALTIME);
		tsc = tsc_read();
		boottime = clock_ns(CLOCK_BOOTTIME);
		after = hg_now_ns();
		if (after - before >= width_ns)
			continue;
		width_ns = after - before;
		rec.time_ns = before + width_ns / 2;
		rec.f[HG_CLOCK_TSC] = tsc;
		rec.f[HG_CLOCK_MONOTONIC] = rec.time_ns;
		rec.f[HG_CLOCK_REALTIME] = realtime;
		rec.f[HG_CLOCK_BOOTTIME] = boottime;
	}
	return sampler_write(pass, &rec);
}

const struct sampler_ops sampler_clock = {.name = "clock", .sample = clock_sample};
