/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the small servers, clients and hogs of the tests share: names, CPUs, exact CPU burning. Used
 * by tests/programs only; nothing of hourglass itself is linked, so that a mistake there cannot
 * hide in the programs that it is tested with.
 */
#ifndef HG_PROGRAM_H
#define HG_PROGRAM_H

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static inline void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(1);
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Uses CPU time of the calling thread, us microseconds of it: time on a run queue, asleep or
 * throttled does not count, so that a request costs the same under every cause. Reading that clock
 * is a system call, so the arithmetic between two readings is as long as the speed seen so far
 * allows: most of the time is user time.
 */
static inline void burn_us(double us)
{
	static _Thread_local volatile uint64_t sink;
	static _Thread_local double loops_per_ns = 0.3;
	uint64_t now, end;

	if (us <= 0)
		return;
	now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	end = now + (uint64_t)(us * 1e3);
	while (now < end) {
		uint64_t x = sink, begin = now, loops;

		loops = (uint64_t)((double)(end - begin) * 0.9 * loops_per_ns) + 50;
		for (uint64_t i = 0; i < loops; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		sink = x;
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		/* long chunks only: in short ones the readings weigh */
		if (now - begin > 4000)
			loops_per_ns = (double)loops / (double)(now - begin);
	}
}

static inline void sleep_us(double us)
{
	struct timespec ts = {.tv_sec = (time_t)(us / 1e6)};

	if (us <= 0)
		return;
	ts.tv_nsec = (long)((us - (double)ts.tv_sec * 1e6) * 1e3);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* A thread's name, at most the 15 bytes that the kernel keeps; number < 0: the bare name. */
static inline void thread_comm(char comm[16], const char *name, int number)
{
	if (number < 0)
		snprintf(comm, 16, "%s", name ? name : "");
	else
		snprintf(comm, 16, "%.11s-%d", name ? name : "", number % 1000);
}

/* Names the calling thread; NULL leaves it as it is. */
static inline void thread_name(const char *name, int number)
{
	char comm[16];

	if (!name)
		return;
	thread_comm(comm, name, number);
	prctl(PR_SET_NAME, comm);
}

/* A number not below zero, or the program ends. */
static inline double number(const char *text, const char *option)
{
	char *end;
	double value = strtod(text, &end);

	errno = 0;
	if (end == text || *end || !(value >= 0))
		die("%s: '%s' is no number", option, text);
	return value;
}

/* "0,2-3" into a set; the program ends if it is none. */
static inline void cpus_parse(const char *text, cpu_set_t *set)
{
	const char *at = text;

	CPU_ZERO(set);
	for (;;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end != at && *end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
		}
		errno = 0;
		if (end == at || last < first || last >= CPU_SETSIZE || (*end && *end != ','))
			die("--cpus: '%s' is no list of CPUs", text);
		for (; first <= last; first++)
			CPU_SET(first, set);
		if (!*end)
			return;
		at = end + 1;
	}
}

/* Pins the calling thread, and what it starts later. */
static inline void cpus_pin(const cpu_set_t *set)
{
	if (CPU_COUNT(set) && sched_setaffinity(0, sizeof(*set), set))
		die("sched_setaffinity");
}

#endif
