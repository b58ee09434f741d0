/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that make ids mean another task:
 *   identity exec PROGRAM   a thread, not the leader, runs PROGRAM "busy"
 *   identity busy           works for 0.3 s of CPU time
 *   identity reuse N        N children in a row with the same pid, as far as it can be had; prints how many
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* By its own clock, so that it is as much on a busy machine. */
static void work(double seconds)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
		 seconds);
}

static void *exec_main(void *program)
{
	prctl(PR_SET_NAME, "caterpillar");
	work(0.1);
	execl(program, "butterfly", "busy", NULL);
	return NULL;
}

static int exec_by_thread(char *program)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec_main, program))
		return 1;
	for (;;)
		pause();
}

/* The next fork gets this pid if it is free. */
static pid_t fork_with(pid_t pid)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!f)
		return -1;
	fprintf(f, "%d", pid - 1);
	fclose(f);
	pid = fork();
	if (!pid) {
		work(0.002);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return pid;
}

static int reuse(int n)
{
	pid_t first = fork_with(getpid() + 2000);
	int same = 1;

	for (int i = 0; i < 50 * n && same < n && first > 0; i++)
		same += fork_with(first) == first;
	printf("%d %d\n", first, first > 0 ? same : 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "busy"))
		work(0.3);
	else if (argc == 3 && !strcmp(argv[1], "exec"))
		return exec_by_thread(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "reuse"))
		return reuse(atoi(argv[2]));
	return 0;
}
