/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Burns CPU until it is killed: the competitor of the scenarios. */
#include <argp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

static struct {
	const char *name, *thread;
	unsigned int threads;
	cpu_set_t cpus;
	int nice;
} opts = {.threads = 1};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'n':
		opts.name = arg;
		break;
	case 'N':
		opts.thread = arg;
		break;
	case 't':
		opts.threads = (unsigned int)number(arg, "--threads");
		break;
	case 'c':
		cpus_parse(arg, &opts.cpus);
		break;
	case 'i':
		opts.nice = atoi(arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_option options[] = {
	{"name", 'n', "COMM", 0, "Name of the process", 0},
	{"thread-name", 'N', "COMM", 0, "Name of the further threads, a number is appended", 0},
	{"threads", 't', "N", 0, "Threads that burn (1)", 0},
	{"cpus", 'c', "LIST", 0, "CPUs to stay on", 0},
	{"nice", 'i', "N", 0, "Nice value (as inherited)", 0},
	{0},
};

static void *burn(void *arg)
{
	thread_name(opts.thread, (int)(intptr_t)arg);
	for (;;)
		burn_us(10000);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "Burns CPU until it is killed.",
				  NULL,	   NULL,  NULL};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	thread_name(opts.name, -1);
	cpus_pin(&opts.cpus);
	if (opts.nice && setpriority(PRIO_PROCESS, 0, opts.nice))
		die("setpriority");
	for (unsigned int i = 1; i < opts.threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, burn, (void *)(intptr_t)i);
		if (errno)
			die("pthread_create");
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		burn_us(10000);
}
