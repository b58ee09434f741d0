/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every folder uses: cleanup attributes, array sizes, clocks.
 * Nothing here knows what a trace is.
 */
#ifndef HG_BASE_H
#define HG_BASE_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HG_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define HG_MIN(a, b)	 ((a) < (b) ? (a) : (b))
#define HG_MAX(a, b)	 ((a) > (b) ? (a) : (b))
#define HG_PRINTF(f, a)	 __attribute__((format(printf, f, a)))

#define HG_NSEC_PER_SEC UINT64_C(1000000000)

/* Takes the value out of a variable that has a cleanup attribute. */
#define HG_TAKE_PTR(p)                                                                             \
	({                                                                                         \
		__typeof__(p) hg_taken_ = (p);                                                     \
		(p) = NULL;                                                                        \
		hg_taken_;                                                                         \
	})
#define HG_TAKE_FD(fd)                                                                             \
	({                                                                                         \
		int hg_taken_ = (fd);                                                              \
		(fd) = -1;                                                                         \
		hg_taken_;                                                                         \
	})

static inline void hg_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void hg_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void hg_cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void hg_cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define hg_autofree	__attribute__((cleanup(hg_cleanup_free)))
#define hg_autoclose	__attribute__((cleanup(hg_cleanup_close)))
#define hg_autofclose	__attribute__((cleanup(hg_cleanup_fclose)))
#define hg_autoclosedir __attribute__((cleanup(hg_cleanup_closedir)))

/* Nanoseconds of CLOCK_MONOTONIC, the clock of every host time in a file. */
static inline uint64_t hg_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * HG_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
