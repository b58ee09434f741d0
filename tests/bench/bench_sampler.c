/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the samplers cost: CPU time of a tick, mean and worst, without and with network namespaces that have many
 * connections. A namespace is a process of its own with its loopback. Root.
 * Usage: bench_sampler [NAMESPACES [SOCKETS [TICKS]]]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "collector/hg_sampler.h"
#include "trace/hg_writer.h"

#define NAMESPACES_MAX 15

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo");
	close(fd);
}

/* Both ends of half as many connections as sockets. */
static void sockets_make(int sockets)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(80),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, sockets))
		die("listen");
	for (int i = 0; i < sockets / 2; i++) {
		int end = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(end, (struct sockaddr *)&at, sizeof(at)) || accept(fd, NULL, NULL) < 0)
			die("connect");
	}
}

static pid_t namespace_start(int sockets)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET))
			die("unshare");
		loopback_up();
		sockets_make(sockets);
		if (write(ready[1], "", 1) != 1)
			exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
	close(ready[0]);
	return pid;
}

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void ticks_run(const char *what, struct hg_netns_opener *o, const pid_t *pids, int n,
		      int ticks)
{
	const struct timespec pause_10hz = {.tv_nsec = HG_NSEC_PER_SEC / 10};
	char path[] = "/tmp/hg-bench-sampler-XXXXXX";
	double sum = 0, worst = 0;
	struct hg_writer_stats stats;
	struct hg_sampler *s;
	struct hg_writer *w;

	if (hg_writer_open(mkstemp(path), path, &w) || hg_sampler_new(&s))
		die("open");
	unlink(path);
	hg_sampler_netns_set(s, o);
	for (int i = 0; i < n; i++)
		hg_sampler_task_add(s, (uint32_t)i + 2, pids[i], pids[i], HG_ROLEF_TARGET);
	for (int i = 0; i < ticks; i++) {
		double before = cpu_us(), took;

		if (hg_sampler_tick(s, w, hg_now_ns()))
			die("tick");
		took = cpu_us() - before;
		sum += took;
		worst = took > worst ? took : worst;
		hg_writer_round(w, hg_now_ns());
		nanosleep(&pause_10hz, NULL);
	}
	hg_writer_stats_get(w, &stats);
	printf("%-28s %8.0f us a tick, %8.0f the worst: %.2f %% of a CPU; %.0f records, %.0f bytes "
	       "a second\n",
	       what, sum / ticks, worst, sum / ticks / 1e5 * 100,
	       (double)stats.records * 10 / ticks, (double)stats.bytes_out * 10 / ticks);
	hg_sampler_free(s);
	hg_writer_close(w);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4, sockets = argc > 2 ? atoi(argv[2]) : 1000;
	int ticks = argc > 3 ? atoi(argv[3]) : 100;
	struct hg_netns_opener *o;
	pid_t pids[NAMESPACES_MAX] = {0};
	char what[64];

	n = n > NAMESPACES_MAX ? NAMESPACES_MAX : n;
	if (hg_netns_opener_start(NULL, &o))
		die("opener");
	for (int i = 0; i < n; i++)
		pids[i] = namespace_start(sockets / n);
	ticks_run("no task", o, NULL, 0, ticks);
	snprintf(what, sizeof(what), "%d namespaces, %d sockets", n, sockets);
	ticks_run(what, o, pids, n, ticks);
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	hg_netns_opener_stop(o);
	return 0;
}
