/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of processes that pass a byte to and fro through pipes, for a given time: the most
 * scheduling events that a machine makes. A pair on one CPU makes two switches and two wakeups per
 * turn and no idle time.
 */
#include <argp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

static struct {
	const char *name;
	unsigned int pairs;
	double duration_s;
} opts = {.duration_s = 5};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'n':
		opts.name = arg;
		break;
	case 'P':
		opts.pairs = (unsigned int)number(arg, "--pairs");
		break;
	case 'd':
		opts.duration_s = number(arg, "--duration");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_option options[] = {
	{"name", 'n', "COMM", 0, "Name of the processes", 0},
	{"pairs", 'P', "N", 0, "Pairs, each on one of the allowed CPUs in turn (as many as CPUs)",
	 0},
	{"duration", 'd', "SECONDS", 0, "How long (5)", 0},
	{0},
};

static void pin_nth(unsigned int n)
{
	cpu_set_t allowed, one;
	unsigned int seen = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity");
	n %= (unsigned int)CPU_COUNT(&allowed);
	CPU_ZERO(&one);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && seen++ == n)
			CPU_SET(cpu, &one);
	}
	cpus_pin(&one);
}

static void __attribute__((noreturn)) echo(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

static void __attribute__((noreturn)) ping(int in, int out, uint64_t *turns, uint64_t end_ns)
{
	char byte = 0;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		for (int i = 0; i < 64; i++) {
			if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
				_exit(1);
		}
		*turns += 64;
	}
	_exit(0);
}

static void pair_start(unsigned int n, uint64_t *turns, uint64_t end_ns)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		die("pipe");
	for (int side = 0; side < 2; side++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		thread_name(opts.name, -1);
		pin_nth(n);
		/* the peer's end of a pipe must not stay open here, or its end would not be seen */
		close(side ? there[1] : there[0]);
		close(side ? back[0] : back[1]);
		signal(SIGPIPE, SIG_DFL);
		if (side)
			echo(there[0], back[1]);
		ping(back[0], there[1], turns, end_ns);
	}
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "Passes bytes to and fro.",
				  NULL,	   NULL,  NULL};
	uint64_t *turns, sum = 0, begin_ns, end_ns;
	double duration_s;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (!opts.pairs)
		opts.pairs = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	/* a cache line each */
	turns = mmap(NULL, opts.pairs * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (turns == MAP_FAILED)
		die("mmap");
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = begin_ns + (uint64_t)(opts.duration_s * 1e9);
	for (unsigned int i = 0; i < opts.pairs; i++)
		pair_start(i, &turns[i * 8], end_ns);
	while (wait(NULL) > 0)
		;
	duration_s = (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
	for (unsigned int i = 0; i < opts.pairs; i++)
		sum += turns[i * 8];
	printf("throughput: %.1f turns/s\n", (double)sum / duration_s);
	printf("completed: %llu\n", (unsigned long long)sum);
	printf("duration: %.9f\n", duration_s);
	return 0;
}
