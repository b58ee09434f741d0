/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forwards TCP connections to a server, as a user-space network back end or a proxy does: each thread has an event loop
 * and pays CPU of choice for each piece that it passes on. Prints "port: N" once it listens. Runs until it is killed.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

enum { THREADS_MAX = 64, PIECE_BYTES = 65536 };

/* One direction's source; its peer is the other direction's. */
struct end {
	int fd;
	bool closed;
	struct end *peer;
};

static struct {
	const char *address, *server, *name, *thread;
	uint16_t port, server_port;
	unsigned int threads;
	double burn_us;
	cpu_set_t cpus;
} opts = {.address = "127.0.0.1", .server = "127.0.0.1", .threads = 1};

static int epolls[THREADS_MAX];
static int listener = -1;

enum { OPT_SERVER = 256, OPT_SERVER_PORT };

static const struct argp_option options[] = {
	{"address", 'a', "IP", 0, "IPv4 address to listen on (127.0.0.1)", 0},
	{"port", 'p', "N", 0, "Port (0: any that is free)", 0},
	{"server", OPT_SERVER, "IP", 0, "IPv4 address of the server (127.0.0.1)", 0},
	{"server-port", OPT_SERVER_PORT, "N", 0, "Port of the server", 0},
	{"threads", 't', "N", 0, "Threads, connections belong to them in turn (1)", 0},
	{"burn-us", 'b', "US", 0, "CPU for each piece that is passed on", 0},
	{"name", 'n', "COMM", 0, "Name of the process", 0},
	{"thread-name", 'N', "COMM", 0, "Name of further threads, a number is appended", 0},
	{"cpus", 'c', "LIST", 0, "CPUs to stay on", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'a':
		opts.address = arg;
		break;
	case 'p':
		opts.port = (uint16_t)number(arg, "--port");
		break;
	case OPT_SERVER:
		opts.server = arg;
		break;
	case OPT_SERVER_PORT:
		opts.server_port = (uint16_t)number(arg, "--server-port");
		break;
	case 't':
		opts.threads = (unsigned int)number(arg, "--threads");
		break;
	case 'b':
		opts.burn_us = number(arg, "--burn-us");
		break;
	case 'n':
		opts.name = arg;
		break;
	case 'N':
		opts.thread = arg;
		break;
	case 'c':
		cpus_parse(arg, &opts.cpus);
		break;
	case ARGP_KEY_END:
		if (!opts.threads || opts.threads > THREADS_MAX)
			argp_error(state, "--threads: 1 to %d", THREADS_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static struct sockaddr_in address_make(const char *ip, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, ip, &address.sin_addr) != 1)
		die("'%s' is no IPv4 address", ip);
	return address;
}

static void watch(int epoll, struct end *e)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = e};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, e->fd, &event))
		die("epoll_ctl");
}

/* Gives a new connection, and its own to the server, to the loops in turn. */
static void connection_accept(void)
{
	static unsigned int turn;
	struct sockaddr_in address = address_make(opts.server, opts.server_port);
	int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct end *pair;

	if (fd < 0)
		return;
	pair = calloc(2, sizeof(*pair));
	if (!pair)
		die("calloc");
	pair[0] = (struct end){.fd = fd, .peer = &pair[1]};
	pair[1] = (struct end){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
			       .peer = &pair[0]};
	if (pair[1].fd < 0 || connect(pair[1].fd, (struct sockaddr *)&address, sizeof(address)))
		die("cannot connect to %s:%u", opts.server, opts.server_port);
	for (int i = 0; i < 2; i++) {
		setsockopt(pair[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		watch(epolls[turn % opts.threads], &pair[i]);
	}
	turn++;
}

static void pass_on(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd writable = {fd, POLLOUT, 0};

		if (n >= 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&writable, 1, -1);
		} else if (errno != EINTR) {
			return;
		}
	}
}

static void end_ready(int epoll, struct end *e)
{
	static _Thread_local char piece[PIECE_BYTES];
	ssize_t got = recv(e->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		e->closed = true;
		epoll_ctl(epoll, EPOLL_CTL_DEL, e->fd, NULL);
		shutdown(e->peer->fd, SHUT_WR);
		if (!e->peer->closed)
			return;
		/* Nothing frees the pair: its events of this round may still be to come. */
		close(e->fd);
		close(e->peer->fd);
		return;
	}
	burn_us(opts.burn_us);
	pass_on(e->peer->fd, piece, (size_t)got);
}

static void *loop(void *arg)
{
	unsigned int index = (unsigned int)(intptr_t)arg;
	struct epoll_event events[64];

	if (index)
		thread_name(opts.thread, (int)index);
	for (;;) {
		int count = epoll_wait(epolls[index], events, 64, -1);

		for (int i = 0; i < count; i++) {
			struct end *e = events[i].data.ptr;

			if (!e)
				connection_accept();
			else if (!e->closed)
				end_ready(epolls[index], e);
		}
	}
	return NULL;
}

static void listen_start(void)
{
	struct sockaddr_in address = address_make(opts.address, opts.port);
	struct epoll_event event = {.events = EPOLLIN};
	socklen_t length = sizeof(address);
	int one = 1;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		die("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1024) || getsockname(listener, (struct sockaddr *)&address, &length) ||
	    epoll_ctl(epolls[0], EPOLL_CTL_ADD, listener, &event))
		die("cannot listen on %s:%u", opts.address, opts.port);
	printf("port: %u\n", ntohs(address.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "Forwards TCP connections to a server.",
				  NULL,	   NULL,  NULL};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	thread_name(opts.name, -1);
	cpus_pin(&opts.cpus);
	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < opts.threads; i++) {
		epolls[i] = epoll_create1(EPOLL_CLOEXEC);
		if (epolls[i] < 0)
			die("epoll_create1");
	}
	for (unsigned int i = 1; i < opts.threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, loop, (void *)(intptr_t)i);
		if (errno)
			die("pthread_create");
	}
	listen_start();
	loop(NULL);
	return 0;
}
