/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flood of UDP datagrams that costs its receiver more than its sender: many datagrams leave in one call (UDP_SEGMENT),
 * and only the receiving side takes them apart. With --queue it keeps so many of these calls' packets waiting in one
 * CPU's backlog, by /proc/net/softnet_stat: the CPU has no time left, and nothing is dropped. With --rate it sends
 * without regard. --sink only holds the port and reads nothing. Prints "ready". Runs until it is killed.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

enum { PACKET_MAX_BYTES = 60000, PORT = 9999, NSEC_PER_MSEC = 1000000 };

static struct {
	const char *name, *address;
	cpu_set_t cpus;
	double rate;
	unsigned int segments, size, queue, queue_cpu;
	bool sink;
} opts = {.address = "127.0.0.1", .segments = 40, .size = 200};

enum { OPT_ADDRESS = 256, OPT_SEGMENTS, OPT_SIZE, OPT_QUEUE, OPT_QUEUE_CPU, OPT_RATE, OPT_SINK };

static const struct argp_option options[] = {
	{"name", 'n', "COMM", 0, "Name of the process", 0},
	{"cpus", 'c', "LIST", 0, "CPUs to stay on", 0},
	{"address", OPT_ADDRESS, "IPV4", 0, "Receiver (127.0.0.1)", 0},
	{"segments", OPT_SEGMENTS, "N", 0, "Datagrams in one call (40)", 0},
	{"size", OPT_SIZE, "BYTES", 0, "Bytes of a datagram (200)", 0},
	{"queue", OPT_QUEUE, "N", 0, "Calls' packets to keep waiting in --queue-cpu's backlog", 0},
	{"queue-cpu", OPT_QUEUE_CPU, "CPU", 0, "That CPU (0)", 0},
	{"rate", OPT_RATE, "N", 0, "Calls per second, whatever becomes of them", 0},
	{"sink", OPT_SINK, NULL, 0, "Only hold the port at --address", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'n':
		opts.name = arg;
		break;
	case 'c':
		cpus_parse(arg, &opts.cpus);
		break;
	case OPT_ADDRESS:
		opts.address = arg;
		break;
	case OPT_SEGMENTS:
		opts.segments = (unsigned int)number(arg, "--segments");
		break;
	case OPT_SIZE:
		opts.size = (unsigned int)number(arg, "--size");
		break;
	case OPT_QUEUE:
		opts.queue = (unsigned int)number(arg, "--queue");
		break;
	case OPT_QUEUE_CPU:
		opts.queue_cpu = (unsigned int)number(arg, "--queue-cpu");
		break;
	case OPT_RATE:
		opts.rate = number(arg, "--rate");
		break;
	case OPT_SINK:
		opts.sink = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Packets in a CPU's backlog: columns 12 (length) and 13 (CPU) of a row, softnet_seq_show(). */
static unsigned int backlog(int fd, unsigned int cpu)
{
	char text[16384], *line = text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		die("/proc/net/softnet_stat");
	text[n] = 0;
	while (line && *line) {
		unsigned int length, its_cpu;

		if (sscanf(line, "%*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x %x", &length,
			   &its_cpu) == 2 &&
		    its_cpu == cpu)
			return length;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	errno = 0;
	die("/proc/net/softnet_stat has no backlog of CPU %u", cpu);
}

static void send_one(int fd)
{
	static char data[PACKET_MAX_BYTES];

	/* No room is no error here: the next one tries again. */
	if (send(fd, data, (size_t)opts.size * opts.segments, MSG_DONTWAIT) < 0 &&
	    errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED)
		die("send");
}

/* The backlog drains within a look's interval only if it is shorter than what a CPU takes in it. */
static void keep_queue(int fd, int stat_fd)
{
	for (;;) {
		for (unsigned int n = backlog(stat_fd, opts.queue_cpu); n < opts.queue; n++)
			send_one(fd);
		sleep_us(500);
	}
}

static void keep_rate(int fd)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), sent = 0;

	for (;;) {
		double due = (double)(clock_ns(CLOCK_MONOTONIC) - begin) * 1e-9 * opts.rate;

		for (; (double)sent < due; sent++)
			send_one(fd);
		sleep_us(500);
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "Floods a receiver with datagrams.",
				  NULL,	   NULL,  NULL};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), stat_fd = -1, size;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	errno = 0;
	if (inet_pton(AF_INET, opts.address, &to.sin_addr) != 1)
		die("--address: '%s' is no IPv4 address", opts.address);
	if (!opts.size || !opts.segments || opts.size > PACKET_MAX_BYTES / opts.segments)
		die("--size times --segments must be 1 to %d bytes", PACKET_MAX_BYTES);
	thread_name(opts.name, -1);
	cpus_pin(&opts.cpus);
	if (fd < 0)
		die("socket");
	if (opts.sink ? bind(fd, (struct sockaddr *)&to, sizeof(to))
		      : connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("%s:%d", opts.address, PORT);
	size = opts.sink ? 4096 : 1 << 22;
	setsockopt(fd, SOL_SOCKET, opts.sink ? SO_RCVBUF : SO_SNDBUF, &size, sizeof(size));
	size = (int)opts.size;
	if (!opts.sink && opts.segments > 1 &&
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		die("UDP_SEGMENT");
	if (opts.queue && (stat_fd = open("/proc/net/softnet_stat", O_RDONLY | O_CLOEXEC)) < 0)
		die("/proc/net/softnet_stat");
	puts("ready");
	fflush(stdout);
	if (opts.queue)
		keep_queue(fd, stat_fd);
	if (!opts.sink)
		keep_rate(fd);
	for (;;)
		pause();
}
