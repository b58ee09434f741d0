/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mixed load whose scheduling is known in kind, for the accounting test: threads that compute without end, that compute
 * and sleep in turn, that pass a byte to and fro, that contend for a lock, and short-lived ones.
 *
 * usage: load SECONDS spin=N,nap=N,pipe=N,lock=N,brief=N
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hg_base.h"

static atomic_bool over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void compute(uint64_t ns)
{
	uint64_t end_ns = hg_now_ns() + ns;

	while (hg_now_ns() < end_ns && !over)
		;
}

static void nap(long ns)
{
	struct timespec ts = {.tv_nsec = ns};

	nanosleep(&ts, NULL);
}

static void *spin(void *arg)
{
	while (!over)
		compute(HG_NSEC_PER_SEC);
	return NULL;
}

/* Mostly idle: a switch that is missed moves much time. Long enough at a time: see compare.c. */
static void *napper(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!over) {
		compute(2000000 + (uint64_t)rand_r(&seed) % 4000000);
		nap(20000000 + rand_r(&seed) % 40000000);
	}
	return NULL;
}

static void *locker(void *arg)
{
	while (!over) {
		pthread_mutex_lock(&lock);
		compute(200000);
		nap(300000);
		pthread_mutex_unlock(&lock);
		compute(50000);
	}
	return NULL;
}

struct pair {
	int to[2], back[2];
};

static void *ping(void *arg)
{
	struct pair *p = arg;
	char c = 0;

	while (!over && write(p->to[1], &c, 1) == 1 && read(p->back[0], &c, 1) == 1)
		compute(20000);
	close(p->to[1]);
	return NULL;
}

static void *pong(void *arg)
{
	struct pair *p = arg;
	char c;

	while (read(p->to[0], &c, 1) == 1 && write(p->back[1], &c, 1) == 1)
		compute(30000);
	return NULL;
}

static void *short_lived(void *arg)
{
	compute(2000000);
	return NULL;
}

static void *brief(void *arg)
{
	while (!over) {
		pthread_t t;

		if (!pthread_create(&t, NULL, short_lived, NULL))
			pthread_join(t, NULL);
		nap(20000000);
	}
	return NULL;
}

static void start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg)) {
		perror("pthread_create");
		exit(1);
	}
}

static void start_kind(const char *kind)
{
	if (!strcmp(kind, "spin")) {
		start(spin, NULL);
	} else if (!strcmp(kind, "nap")) {
		static uintptr_t seed = 1;

		start(napper, (void *)seed++);
	} else if (!strcmp(kind, "lock")) {
		start(locker, NULL);
	} else if (!strcmp(kind, "brief")) {
		start(brief, NULL);
	} else if (!strcmp(kind, "pipe")) {
		struct pair *p = calloc(1, sizeof(*p));

		if (!p || pipe(p->to) || pipe(p->back)) {
			perror("pipe");
			exit(1);
		}
		start(ping, p);
		start(pong, p);
	} else {
		fprintf(stderr, "load: what is %s?\n", kind);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[1]) : 0;

	if (seconds <= 0) {
		fprintf(stderr, "usage: load SECONDS KIND=N,...\n");
		return 2;
	}
	for (char *word = strtok(argv[2], ","); word; word = strtok(NULL, ",")) {
		char *n = strchr(word, '=');
		int count = n ? atoi(n + 1) : 1;

		if (n)
			*n = '\0';
		for (int i = 0; i < count; i++)
			start_kind(word);
	}
	nanosleep(&(struct timespec){(time_t)seconds,
				     (long)((seconds - (double)(time_t)seconds) * 1e9)},
		  NULL);
	over = true;
	nap(200000000);
	return 0;
}
