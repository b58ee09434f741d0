/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A load generator for hg-server.
 *
 * Closed loop: each connection sends its next request when the last one is answered, and after CPU
 * work and a pause of choice. Open loop (--rate): requests leave on schedule whatever comes back;
 * latency counts from the time a request was due, not from when the socket took it, so that a
 * stalled server cannot hide its stall.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

enum { SIZE_MAX_BYTES = 65536, OUTSTANDING_MAX = 1 << 16, BUCKETS = 64 * 16 };

struct connection {
	int fd;
	bool writable;
	size_t received, sent;	     /* bytes of the response, of the request that is under way */
	uint64_t next_ns;	     /* closed loop: when the pause ends; 0: none */
	uint64_t *due_ns;	     /* ring: when each unanswered request was due */
	uint64_t head, tail, unsent; /* answered up to, due up to, sent up to */
};

struct result {
	uint64_t completed, latency_ns, latency_ns_max;
	uint64_t buckets[BUCKETS]; /* log-linear: 16 for each power of two */
};

struct thread {
	pthread_t id;
	unsigned int number, count;
	struct connection *connections;
	int epoll, timer;
	struct result result;
};

static struct {
	const char *address, *name, *thread;
	uint16_t port;
	unsigned int connections, threads;
	size_t size;
	double duration_s, rate, burn_us, think_us;
	cpu_set_t cpus;
} opts = {.address = "127.0.0.1", .connections = 1, .threads = 1, .size = 64, .duration_s = 5};

static uint64_t start_ns, end_ns;

enum { OPT_THINK = 256 };

static const struct argp_option options[] = {
	{"address", 'a', "IP", 0, "IPv4 address of the server (127.0.0.1)", 0},
	{"port", 'p', "N", 0, "Port of the server", 0},
	{"connections", 'C', "N", 0, "Connections in all (1)", 0},
	{"threads", 't', "N", 0, "Threads (1)", 0},
	{"duration", 'd', "SECONDS", 0, "How long (5)", 0},
	{"rate", 'r', "PER_SECOND", 0, "Open loop with this rate in all", 0},
	{"burn-us", 'b', "US", 0, "CPU per response", 0},
	{"think-us", OPT_THINK, "US", 0, "Pause per response, closed loop", 0},
	{"size", 'z', "BYTES", 0, "Of request and response, as the server's (64)", 0},
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
	case 'C':
		opts.connections = (unsigned int)number(arg, "--connections");
		break;
	case 't':
		opts.threads = (unsigned int)number(arg, "--threads");
		break;
	case 'd':
		opts.duration_s = number(arg, "--duration");
		break;
	case 'r':
		opts.rate = number(arg, "--rate");
		break;
	case 'b':
		opts.burn_us = number(arg, "--burn-us");
		break;
	case OPT_THINK:
		opts.think_us = number(arg, "--think-us");
		break;
	case 'z':
		opts.size = (size_t)number(arg, "--size");
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
		if (!opts.threads || opts.threads > 1000 || opts.connections < opts.threads ||
		    opts.connections > 10000)
			argp_error(state, "1 to 1000 threads, no more threads than connections, at "
					  "most 10000 connections");
		if (!opts.size || opts.size > SIZE_MAX_BYTES)
			argp_error(state, "--size: 1 to %d", SIZE_MAX_BYTES);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int power;

	if (ns < 16)
		return (unsigned int)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	return (power - 3) * 16 + (unsigned int)((ns >> (power - 4)) & 15);
}

/* Lower bound of a bucket, ns. */
static uint64_t bucket_ns(unsigned int bucket)
{
	if (bucket < 16)
		return bucket;
	return (uint64_t)(16 + bucket % 16) << (bucket / 16 - 1);
}

static void connection_open(struct connection *c)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(opts.port)};
	int one = 1;

	if (inet_pton(AF_INET, opts.address, &address.sin_addr) != 1)
		die("'%s' is no IPv4 address", opts.address);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket");
	if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)))
		die("cannot connect to %s:%u", opts.address, opts.port);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->writable = true;
	c->due_ns = calloc(OUTSTANDING_MAX, sizeof(*c->due_ns));
	if (!c->due_ns)
		die("calloc");
}

static void connection_watch(struct thread *t, struct connection *c, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | (c->writable ? 0 : EPOLLOUT),
				    .data.ptr = c};

	if (epoll_ctl(t->epoll, operation, c->fd, &event))
		die("epoll_ctl");
}

/* Sends what is due until the socket is full. */
static void connection_send(struct thread *t, struct connection *c)
{
	static const char zeros[SIZE_MAX_BYTES];

	while (c->writable && c->unsent < c->tail) {
		ssize_t n = send(c->fd, zeros, opts.size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			die("send");
		if (n < 0) {
			c->writable = false;
			connection_watch(t, c, EPOLL_CTL_MOD);
			return;
		}
		c->sent += (size_t)n;
		if (c->sent == opts.size) {
			c->sent = 0;
			c->unsent++;
		}
	}
}

static void request_due(struct thread *t, struct connection *c, uint64_t due_ns)
{
	if (c->tail - c->head == OUTSTANDING_MAX) {
		errno = 0;
		die("the server is behind by %d requests on one connection", OUTSTANDING_MAX);
	}
	c->due_ns[c->tail++ % OUTSTANDING_MAX] = due_ns;
	connection_send(t, c);
}

static void timer_set(struct thread *t, uint64_t at_ns)
{
	struct itimerspec at = {
		.it_value = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)}};

	if (timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &at, NULL))
		die("timerfd_settime");
}

static void response_done(struct thread *t, struct connection *c)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t latency_ns = now_ns - c->due_ns[c->head++ % OUTSTANDING_MAX];

	if (now_ns > end_ns)
		return;
	t->result.completed++;
	t->result.latency_ns += latency_ns;
	t->result.buckets[bucket_of(latency_ns)]++;
	if (latency_ns > t->result.latency_ns_max)
		t->result.latency_ns_max = latency_ns;
	burn_us(opts.burn_us);
	if (opts.rate > 0)
		return;
	if (opts.think_us > 0)
		c->next_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(opts.think_us * 1e3);
	else
		request_due(t, c, clock_ns(CLOCK_MONOTONIC));
}

static void connection_receive(struct thread *t, struct connection *c)
{
	static _Thread_local char scratch[SIZE_MAX_BYTES];
	/* of a closed loop no more than one response can be here */
	ssize_t n = recv(c->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		die("the server closed a connection");
	c->received += (size_t)n;
	while (c->received >= opts.size) {
		c->received -= opts.size;
		response_done(t, c);
	}
}

/* Closed loop: sends for pauses that have ended, and arms the timer for the next one. */
static void think_next(struct thread *t)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), next_ns = end_ns;

	for (unsigned int i = 0; i < t->count; i++) {
		struct connection *c = &t->connections[i];

		if (c->next_ns && c->next_ns <= now_ns) {
			c->next_ns = 0;
			request_due(t, c, now_ns);
		}
		if (c->next_ns && c->next_ns < next_ns)
			next_ns = c->next_ns;
	}
	timer_set(t, next_ns);
}

/* Open loop: sends all that is due; number is that of the thread's next request. Returns the new
 * one. */
static uint64_t schedule_next(struct thread *t, uint64_t number)
{
	double step_ns = 1e9 * opts.threads / opts.rate;
	double offset_ns = step_ns * t->number / opts.threads;
	uint64_t due_ns, now_ns = clock_ns(CLOCK_MONOTONIC);

	for (;; number++) {
		due_ns = start_ns + (uint64_t)(offset_ns + step_ns * (double)number);
		if (due_ns > now_ns || due_ns >= end_ns)
			break;
		request_due(t, &t->connections[number % t->count], due_ns);
	}
	timer_set(t, due_ns < end_ns ? due_ns : end_ns);
	return number;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct epoll_event events[64];
	uint64_t number = 0;

	if (t->number)
		thread_name(opts.thread, (int)t->number);
	for (unsigned int i = 0; opts.rate <= 0 && i < t->count; i++)
		request_due(t, &t->connections[i], clock_ns(CLOCK_MONOTONIC));
	timer_set(t, end_ns);
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		int count;

		if (opts.rate > 0)
			number = schedule_next(t, number);
		else if (opts.think_us > 0)
			think_next(t);
		count = epoll_wait(t->epoll, events, 64, -1);
		for (int i = 0; i < count; i++) {
			struct connection *c = events[i].data.ptr;
			uint64_t expired;

			if (!c) {
				if (read(t->timer, &expired, sizeof(expired)) < 0 &&
				    errno != EAGAIN)
					die("timerfd");
				continue;
			}
			if (events[i].events & EPOLLOUT) {
				c->writable = true;
				connection_watch(t, c, EPOLL_CTL_MOD);
				connection_send(t, c);
			}
			if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				connection_receive(t, c);
		}
	}
	return NULL;
}

static void thread_prepare(struct thread *t, unsigned int number)
{
	struct epoll_event event = {.events = EPOLLIN};

	t->number = number;
	t->count = opts.connections / opts.threads + (number < opts.connections % opts.threads);
	t->connections = calloc(t->count, sizeof(*t->connections));
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!t->connections || t->epoll < 0 || t->timer < 0 ||
	    epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->timer, &event))
		die("cannot set up a thread");
	for (unsigned int i = 0; i < t->count; i++) {
		connection_open(&t->connections[i]);
		connection_watch(t, &t->connections[i], EPOLL_CTL_ADD);
	}
}

static double percentile_s(const struct result *r, double part)
{
	uint64_t seen = 0, wanted = (uint64_t)((double)r->completed * part);

	for (unsigned int i = 0; i < BUCKETS; i++) {
		seen += r->buckets[i];
		if (seen > wanted)
			return (double)bucket_ns(i) / 1e9;
	}
	return (double)r->latency_ns_max / 1e9;
}

static void result_print(const struct thread *threads, double duration_s)
{
	struct result sum = {0};

	for (unsigned int i = 0; i < opts.threads; i++) {
		const struct result *r = &threads[i].result;

		sum.completed += r->completed;
		sum.latency_ns += r->latency_ns;
		if (r->latency_ns_max > sum.latency_ns_max)
			sum.latency_ns_max = r->latency_ns_max;
		for (unsigned int k = 0; k < BUCKETS; k++)
			sum.buckets[k] += r->buckets[k];
	}
	printf("throughput: %.1f requests/s\n", (double)sum.completed / duration_s);
	if (opts.rate > 0)
		printf("offered: %g\n", opts.rate);
	printf("connections: %u\n", opts.connections);
	printf("threads: %u\n", opts.threads);
	printf("completed: %llu\n", (unsigned long long)sum.completed);
	printf("duration: %.9f\n", duration_s);
	if (sum.completed) {
		printf("latency-mean: %.9f\n",
		       (double)sum.latency_ns / (double)sum.completed / 1e9);
		printf("latency-p50: %.9f\n", percentile_s(&sum, 0.5));
		printf("latency-p99: %.9f\n", percentile_s(&sum, 0.99));
		printf("latency-max: %.9f\n", (double)sum.latency_ns_max / 1e9);
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "A load generator for hg-server.",
				  NULL,	   NULL,  NULL};
	struct thread *threads;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	thread_name(opts.name, -1);
	cpus_pin(&opts.cpus);
	threads = calloc(opts.threads, sizeof(*threads));
	if (!threads)
		die("calloc");
	for (unsigned int i = 0; i < opts.threads; i++)
		thread_prepare(&threads[i], i);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = start_ns + (uint64_t)(opts.duration_s * 1e9);
	for (unsigned int i = 1; i < opts.threads; i++) {
		errno = pthread_create(&threads[i].id, NULL, run, &threads[i]);
		if (errno)
			die("pthread_create");
	}
	run(&threads[0]);
	for (unsigned int i = 1; i < opts.threads; i++)
		pthread_join(threads[i].id, NULL);
	/* completions after end_ns are not counted, so the window is exact */
	result_print(threads, (double)(end_ns - start_ns) / 1e9);
	return 0;
}
