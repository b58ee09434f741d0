/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * many_threads N SECS: a process of N threads that sleep and wake, one of them with a name made to
 * deceive a terminal, HTML and JSON. Prints "ready" when all run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void *thread_main(void *arg)
{
	long i = (long)arg;
	const struct timespec pause = {.tv_nsec = 50000000 + i % 50 * 1000000};

	prctl(PR_SET_NAME, i == 0 ? "<b>\"'\\\n\033[31m\r" : "sleeper");
	for (;;)
		nanosleep(&pause, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	unsigned int seconds = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 1;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread, &attr, thread_main, (void *)i)) {
			fprintf(stderr, "many_threads: only %ld threads could be started\n", i);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	sleep(seconds);
	return 0;
}
