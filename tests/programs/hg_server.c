/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TCP server with fixed-size requests and responses, whose limit is chosen by its options: what a
 * request costs in CPU, sleep and lock, and which threads pay. Prints the address of each of its
 * locks
 * ("lock: 0x...") and, once it listens, "port: N".
 * Runs until it is killed.
 *
 * loop        event loops, each connection belongs to one of them
 * connection  a thread for each connection
 * pool        event loops that only read and hand requests to workers, which wait on a condition
 * variable
 */
#include <argp.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

enum { SIZE_MAX_BYTES = 65536, LOCKS_MAX = 1024 };
enum model { MODEL_LOOP, MODEL_CONNECTION, MODEL_POOL };

struct connection {
	int fd;
	unsigned int number;
	size_t filled;
	pthread_mutex_t writing; /* two workers may answer one connection */
	atomic_uint users;	 /* the reader and the queued requests */
	atomic_bool gone;
	char buffer[];
};

struct request {
	struct request *next;
	struct connection *connection;
};

/* Work whose time goes under one lock of the kernel, if all threads have the same object. */
enum kernel_work { KERNEL_NONE, KERNEL_MMAP, KERNEL_PIPE, KERNEL_FILE, KERNEL_RANGES };
static const char *const kernel_works[] = {"none", "mmap", "pipe", "file", "ranges"};

static struct {
	const char *address, *name, *thread, *worker;
	enum model model;
	uint16_t port;
	unsigned int loops, workers, locks;
	size_t size;
	double loop_burn_us, burn_us, sleep_us, lock_burn_us, lock_sleep_us;
	unsigned int lock_times;
	bool lock_spin;
	const char *backend;
	uint16_t backend_port;
	bool backend_locked;
	const char *sync_file;
	bool sync_append;
	enum kernel_work kernel;
	unsigned int kernel_times;
	bool kernel_own;
	cpu_set_t cpus;
} opts = {.address = "127.0.0.1",
	  .loops = 1,
	  .workers = 1,
	  .locks = 1,
	  .size = 64,
	  .lock_times = 1,
	  .kernel_times = 1,
	  .backend = "127.0.0.1"};

static pthread_mutex_t locks[LOCKS_MAX];
static pthread_spinlock_t spinlocks[LOCKS_MAX];
static int *epolls;
static int listener = -1;

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct request *first, **last;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first};

enum {
	OPT_LOOP_BURN = 256,
	OPT_LOCK_BURN,
	OPT_LOCK_SLEEP,
	OPT_LOCK_TIMES,
	OPT_LOCK_SPIN,
	OPT_LOCKS,
	OPT_PORT,
	OPT_WORKER_NAME,
	OPT_BACKEND,
	OPT_BACKEND_PORT,
	OPT_BACKEND_LOCKED,
	OPT_SYNC_FILE,
	OPT_SYNC_APPEND,
	OPT_KERNEL,
	OPT_KERNEL_TIMES,
	OPT_KERNEL_OWN,
};

static const struct argp_option options[] = {
	{"model", 'm', "MODEL", 0, "loop, connection or pool (loop)", 0},
	{"address", 'a', "IP", 0, "IPv4 address to listen on (127.0.0.1)", 0},
	{"port", OPT_PORT, "N", 0, "Port (0: any that is free)", 0},
	{"loops", 'l', "N", 0, "Event loops, with loop and pool (1)", 0},
	{"workers", 'w', "N", 0, "Workers, with pool (1)", 0},
	{"loop-burn-us", OPT_LOOP_BURN, "US", 0, "CPU per request of the event loop, with pool", 0},
	{"burn-us", 'b', "US", 0, "CPU per request", 0},
	{"sleep-us", 's', "US", 0, "Sleep per request", 0},
	{"lock-burn-us", OPT_LOCK_BURN, "US", 0, "CPU per request with the lock held", 0},
	{"lock-sleep-us", OPT_LOCK_SLEEP, "US", 0, "Sleep per request with the lock held", 0},
	{"lock-times", OPT_LOCK_TIMES, "N", 0, "How often a request takes the lock (1)", 0},
	{"lock-spin", OPT_LOCK_SPIN, "0|1", 0, "The locks are spinlocks (0)", 0},
	{"backend", OPT_BACKEND, "IP", 0, "IPv4 address of another server (127.0.0.1)", 0},
	{"backend-port", OPT_BACKEND_PORT, "N", 0,
	 "Asks that server for each request, one call after the other per thread", 0},
	{"backend-locked", OPT_BACKEND_LOCKED, "0|1", 0, "Asks it with the lock held (0)", 0},
	{"sync-file", OPT_SYNC_FILE, "PATH", 0,
	 "Writes 4 KiB to a file of the thread, its number is appended, and waits for the disk", 0},
	{"sync-append", OPT_SYNC_APPEND, "0|1", 0,
	 "Behind the end of the file, not over what is there: that changes metadata (0)", 0},
	{"kernel", OPT_KERNEL, "WORK", 0,
	 "Per request: none, mmap (maps and unmaps a page), pipe (64 KiB through a pipe), file "
	 "(writes 64 KiB to "
	 "a file in memory), ranges (locks and unlocks a part of a file, with many parts locked) "
	 "(none)",
	 0},
	{"kernel-times", OPT_KERNEL_TIMES, "N", 0, "How often a request does that (1)", 0},
	{"kernel-own", OPT_KERNEL_OWN, "0|1", 0,
	 "Each connection has a pipe or file of its own; with mmap it is a process (0)", 0},
	{"locks", OPT_LOCKS, "N", 0, "Locks, one of them for each connection in turn (1)", 0},
	{"size", 'z', "BYTES", 0, "Of request and response (64)", 0},
	{"name", 'n', "COMM", 0, "Name of the process", 0},
	{"thread-name", 'N', "COMM", 0, "Name of loops and connections, a number is appended", 0},
	{"worker-name", OPT_WORKER_NAME, "COMM", 0, "Name of workers, a number is appended", 0},
	{"cpus", 'c', "LIST", 0, "CPUs to stay on", 0},
	{0},
};

static enum model model_parse(const char *text)
{
	static const char *const names[] = {"loop", "connection", "pool"};

	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(text, names[i]))
			return (enum model)i;
	}
	errno = 0;
	die("--model: '%s' is not loop, connection or pool", text);
}

static enum kernel_work kernel_parse(const char *text)
{
	for (unsigned int i = 0; i < sizeof(kernel_works) / sizeof(kernel_works[0]); i++) {
		if (!strcmp(text, kernel_works[i]))
			return (enum kernel_work)i;
	}
	errno = 0;
	die("--kernel: '%s' is not none, mmap, pipe, file or ranges", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'm':
		opts.model = model_parse(arg);
		break;
	case 'a':
		opts.address = arg;
		break;
	case OPT_PORT:
		opts.port = (uint16_t)number(arg, "--port");
		break;
	case 'l':
		opts.loops = (unsigned int)number(arg, "--loops");
		break;
	case 'w':
		opts.workers = (unsigned int)number(arg, "--workers");
		break;
	case OPT_LOOP_BURN:
		opts.loop_burn_us = number(arg, "--loop-burn-us");
		break;
	case 'b':
		opts.burn_us = number(arg, "--burn-us");
		break;
	case 's':
		opts.sleep_us = number(arg, "--sleep-us");
		break;
	case OPT_LOCK_BURN:
		opts.lock_burn_us = number(arg, "--lock-burn-us");
		break;
	case OPT_LOCK_SLEEP:
		opts.lock_sleep_us = number(arg, "--lock-sleep-us");
		break;
	case OPT_LOCK_TIMES:
		opts.lock_times = (unsigned int)number(arg, "--lock-times");
		break;
	case OPT_LOCK_SPIN:
		opts.lock_spin = number(arg, "--lock-spin") > 0;
		break;
	case OPT_BACKEND:
		opts.backend = arg;
		break;
	case OPT_BACKEND_PORT:
		opts.backend_port = (uint16_t)number(arg, "--backend-port");
		break;
	case OPT_BACKEND_LOCKED:
		opts.backend_locked = number(arg, "--backend-locked") > 0;
		break;
	case OPT_SYNC_FILE:
		opts.sync_file = arg;
		break;
	case OPT_SYNC_APPEND:
		opts.sync_append = number(arg, "--sync-append") > 0;
		break;
	case OPT_KERNEL:
		opts.kernel = kernel_parse(arg);
		break;
	case OPT_KERNEL_TIMES:
		opts.kernel_times = (unsigned int)number(arg, "--kernel-times");
		break;
	case OPT_KERNEL_OWN:
		opts.kernel_own = number(arg, "--kernel-own") > 0;
		break;
	case OPT_LOCKS:
		opts.locks = (unsigned int)number(arg, "--locks");
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
	case OPT_WORKER_NAME:
		opts.worker = arg;
		break;
	case 'c':
		cpus_parse(arg, &opts.cpus);
		break;
	case ARGP_KEY_END:
		if (!opts.loops || opts.loops > 1000 || !opts.workers || opts.workers > 1000)
			argp_error(state, "threads: 1 to 1000");
		if (!opts.locks || opts.locks > LOCKS_MAX)
			argp_error(state, "--locks: 1 to %d", LOCKS_MAX);
		if (!opts.size || opts.size > SIZE_MAX_BYTES)
			argp_error(state, "--size: 1 to %d", SIZE_MAX_BYTES);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static struct connection *connection_make(int fd)
{
	static unsigned int next;
	struct connection *c = calloc(1, sizeof(*c) + opts.size);
	int one = 1;

	if (!c)
		die("calloc");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->fd = fd;
	c->number = next++;
	c->users = 1;
	pthread_mutex_init(&c->writing, NULL);
	return c;
}

static void connection_put(struct connection *c)
{
	if (atomic_fetch_sub(&c->users, 1) != 1)
		return;
	close(c->fd);
	pthread_mutex_destroy(&c->writing);
	free(c);
}

/* Takes what has come, up to one request. 1: a whole request is here, 0: not yet, -1: the peer has
 * gone. */
static int request_read(struct connection *c, int flags)
{
	ssize_t got = recv(c->fd, c->buffer + c->filled, opts.size - c->filled, flags);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return -1;
	c->filled += (size_t)got;
	if (c->filled < opts.size)
		return 0;
	c->filled = 0;
	return 1;
}

static void response_write(struct connection *c)
{
	static const char zeros[SIZE_MAX_BYTES];
	size_t sent = 0;

	pthread_mutex_lock(&c->writing);
	while (sent < opts.size && !c->gone) {
		ssize_t n =
			send(c->fd, zeros + sent, opts.size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd writable = {c->fd, POLLOUT, 0};

		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN)
			poll(&writable, 1, -1);
		else if (errno != EINTR)
			c->gone = true;
	}
	pthread_mutex_unlock(&c->writing);
}

/* Asks the server behind this one and waits for its answer. Each thread has a connection of its own. */
static void backend_call(void)
{
	static _Thread_local int fd = -1;
	char message[SIZE_MAX_BYTES] = {0};
	size_t got = 0;

	if (!opts.backend_port)
		return;
	if (fd < 0) {
		struct sockaddr_in address = {.sin_family = AF_INET,
					      .sin_port = htons(opts.backend_port)};
		int one = 1;

		if (inet_pton(AF_INET, opts.backend, &address.sin_addr) != 1)
			die("'%s' is no IPv4 address", opts.backend);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
			die("cannot connect to %s:%u", opts.backend, opts.backend_port);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	if (send(fd, message, opts.size, MSG_NOSIGNAL) != (ssize_t)opts.size)
		die("the backend takes no request");
	while (got < opts.size) {
		ssize_t n = recv(fd, message, opts.size - got, 0);

		if (n <= 0 && errno != EINTR)
			die("the backend does not answer");
		got += n > 0 ? (size_t)n : 0;
	}
}

/* Writes a block and waits until it is on the disk. Each thread has a file of its own. */
static void disk_write(void)
{
	enum { OVER_BLOCKS = 16, APPEND_BLOCKS = 256 };
	static const char block[4096];
	static atomic_uint threads;
	static _Thread_local unsigned int count;
	static _Thread_local int fd = -1;
	off_t at;

	if (!opts.sync_file)
		return;
	if (fd < 0) {
		char path[512];

		snprintf(path, sizeof(path), "%s-%u", opts.sync_file,
			 atomic_fetch_add(&threads, 1));
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			die("cannot open %s", path);
		/* written once, so that later writes over it change no metadata */
		for (int i = 0; i < OVER_BLOCKS; i++) {
			if (pwrite(fd, block, sizeof(block), i * (off_t)sizeof(block)) < 0)
				die("write");
		}
		fsync(fd);
	}
	at = count++ % (opts.sync_append ? APPEND_BLOCKS : OVER_BLOCKS) * (off_t)sizeof(block);
	if (opts.sync_append && !at && ftruncate(fd, 0))
		die("ftruncate");
	if (pwrite(fd, block, sizeof(block), at) < 0 || fdatasync(fd))
		die("write");
}

static void serve_locked(struct connection *c)
{
	pthread_mutex_t *lock = &locks[c->number % opts.locks];
	pthread_spinlock_t *spinlock = &spinlocks[c->number % opts.locks];

	for (unsigned int i = 0; i < opts.lock_times; i++) {
		if (opts.lock_spin)
			pthread_spin_lock(spinlock);
		else
			pthread_mutex_lock(lock);
		burn_us(opts.lock_burn_us);
		sleep_us(opts.lock_sleep_us);
		if (opts.backend_locked)
			backend_call();
		if (opts.lock_spin)
			pthread_spin_unlock(spinlock);
		else
			pthread_mutex_unlock(lock);
	}
}

enum { RANGES_STANDING = 512 };

static void range_lock(int fd, short type, unsigned int at)
{
	struct flock range = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at * 2, .l_len = 1};

	if (fcntl(fd, F_SETLK, &range))
		die("fcntl");
}

/* What the work of one thread goes to: all threads', or its own. */
struct kernel_object {
	int fd;	     /* file, or the pipe's end to write to */
	int read_fd; /* of the pipe */
};

static struct kernel_object kernel_shared;

static struct kernel_object kernel_object_make(void)
{
	struct kernel_object o = {-1, -1};
	int ends[2];

	if (opts.kernel == KERNEL_PIPE) {
		if (pipe2(ends, O_CLOEXEC))
			die("pipe");
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
		o = (struct kernel_object){ends[1], ends[0]};
	} else if (opts.kernel == KERNEL_FILE || opts.kernel == KERNEL_RANGES) {
		o.fd = memfd_create("data", MFD_CLOEXEC);
		if (o.fd < 0)
			die("memfd_create");
	}
	for (unsigned int i = 0; opts.kernel == KERNEL_RANGES && i < RANGES_STANDING; i++)
		range_lock(o.fd, F_WRLCK, i);
	return o;
}

/*
 * All threads of a process are one owner, so that nobody waits for a range: only for the list of them, which is as long for
 * one thread as for all.
 */
static void ranges_lock(int fd, unsigned int thread)
{
	range_lock(fd, F_WRLCK, RANGES_STANDING + thread);
	range_lock(fd, F_UNLCK, RANGES_STANDING + thread);
}

/* What is written is read by whoever comes first: at least as much as all readers want is there. */
static void pipe_pass(const struct kernel_object *o, char *block, size_t size)
{
	size_t got = 0;

	if (write(o->fd, block, size) != (ssize_t)size)
		die("write to a pipe");
	while (got < size) {
		ssize_t n = read(o->read_fd, block, size - got);

		if (n <= 0)
			die("read from a pipe");
		got += (size_t)n;
	}
}

static void page_map(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || munmap(page, 4096))
		die("mmap");
}

static void kernel_work(void)
{
	static atomic_uint threads;
	static _Thread_local struct kernel_object own;
	static _Thread_local const struct kernel_object *o;
	static _Thread_local unsigned int thread;
	static _Thread_local char block[65536];

	if (!o) {
		thread = atomic_fetch_add(&threads, 1);
		if (opts.kernel_own)
			own = kernel_object_make();
		o = opts.kernel_own ? &own : &kernel_shared;
	}
	for (unsigned int i = 0; i < opts.kernel_times; i++) {
		switch (opts.kernel) {
		case KERNEL_NONE:
			return;
		case KERNEL_MMAP:
			page_map();
			break;
		case KERNEL_PIPE:
			pipe_pass(o, block, sizeof(block));
			break;
		case KERNEL_FILE:
			if (pwrite(o->fd, block, sizeof(block), 0) != (ssize_t)sizeof(block))
				die("write");
			break;
		case KERNEL_RANGES:
			ranges_lock(o->fd, thread);
			break;
		}
	}
}

/* What a request costs. */
static void serve(struct connection *c)
{
	burn_us(opts.burn_us);
	sleep_us(opts.sleep_us);
	if (opts.lock_burn_us > 0 || opts.lock_sleep_us > 0 || opts.backend_locked)
		serve_locked(c);
	if (!opts.backend_locked)
		backend_call();
	disk_write();
	if (opts.kernel)
		kernel_work();
	response_write(c);
}

static void *worker(void *arg)
{
	for (;;) {
		struct request *r;

		pthread_mutex_lock(&queue.mutex);
		while (!queue.first)
			pthread_cond_wait(&queue.filled, &queue.mutex);
		r = queue.first;
		queue.first = r->next;
		if (!queue.first)
			queue.last = &queue.first;
		pthread_mutex_unlock(&queue.mutex);
		serve(r->connection);
		connection_put(r->connection);
		free(r);
	}
	return NULL;
}

static void hand_over(struct connection *c)
{
	struct request *r = malloc(sizeof(*r));

	if (!r)
		die("malloc");
	burn_us(opts.loop_burn_us);
	atomic_fetch_add(&c->users, 1);
	*r = (struct request){NULL, c};
	pthread_mutex_lock(&queue.mutex);
	*queue.last = r;
	queue.last = &r->next;
	pthread_mutex_unlock(&queue.mutex);
	pthread_cond_signal(&queue.filled);
}

static void connection_ready(int epoll, struct connection *c)
{
	int state = request_read(c, MSG_DONTWAIT);

	if (state < 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
		connection_put(c);
	} else if (state && opts.model == MODEL_POOL) {
		hand_over(c);
	} else if (state) {
		serve(c);
	}
}

/* Gives a new connection to the loops in turn. */
static void loop_accept(void)
{
	static unsigned int turn;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	event.data.ptr = connection_make(fd);
	if (epoll_ctl(epolls[turn++ % opts.loops], EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void *loop(void *arg)
{
	int epoll = *(int *)arg;
	struct epoll_event events[64];

	for (;;) {
		int count = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				connection_ready(epoll, events[i].data.ptr);
			else
				loop_accept();
		}
	}
	return NULL;
}

static void *connection_thread(void *arg)
{
	struct connection *c = arg;
	int state;

	while ((state = request_read(c, 0)) >= 0) {
		if (state)
			serve(c);
	}
	connection_put(c);
	return NULL;
}

/* Named from here, so that every thread has its name before the port is announced. */
static void start(void *(*run)(void *), void *arg, const char *name, unsigned int n)
{
	char comm[16];
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	if (errno)
		die("pthread_create");
	thread_comm(comm, name, (int)n);
	if (name)
		pthread_setname_np(thread, comm);
	pthread_detach(thread);
}

/* A connection with an address space of its own. */
static void connection_fork(struct connection *c)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		connection_thread(c);
		_exit(0);
	}
	connection_put(c);
}

static void connection_start(struct connection *c)
{
	/* c is the thread's once it runs */
	unsigned int n = c->number;

	if (opts.kernel == KERNEL_MMAP && opts.kernel_own) {
		connection_fork(c);
		return;
	}
	start(connection_thread, c, opts.thread, n);
}

static void listen_start(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(opts.port)};
	socklen_t length = sizeof(address);
	int one = 1;

	if (inet_pton(AF_INET, opts.address, &address.sin_addr) != 1)
		die("'%s' is no IPv4 address", opts.address);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		die("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1024) || getsockname(listener, (struct sockaddr *)&address, &length))
		die("cannot listen on %s:%u", opts.address, opts.port);
	opts.port = ntohs(address.sin_port);
}

static void announce(void)
{
	for (unsigned int i = 0; i < opts.locks; i++)
		printf("lock: %p\n", opts.lock_spin ? (void *)&spinlocks[i] : (void *)&locks[i]);
	printf("port: %u\n", opts.port);
	fflush(stdout);
}

static void __attribute__((noreturn)) serve_threads(void)
{
	announce();
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			connection_start(connection_make(fd));
		else if (errno != EINTR && errno != ECONNABORTED)
			die("accept");
	}
}

static void serve_loops(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	epolls = calloc(opts.loops, sizeof(*epolls));
	if (!epolls)
		die("calloc");
	for (unsigned int i = 0; i < opts.loops; i++) {
		epolls[i] = epoll_create1(EPOLL_CLOEXEC);
		if (epolls[i] < 0)
			die("epoll_create1");
	}
	if (epoll_ctl(epolls[0], EPOLL_CTL_ADD, listener, &event))
		die("epoll_ctl");
	for (unsigned int i = 0; opts.model == MODEL_POOL && i < opts.workers; i++)
		start(worker, NULL, opts.worker ? opts.worker : opts.thread, i);
	for (unsigned int i = 1; i < opts.loops; i++)
		start(loop, &epolls[i], opts.thread, i);
	announce();
	loop(&epolls[0]);
}

int main(int argc, char **argv)
{
	const struct argp argp = {options, parse, NULL, "A TCP server with a limit of choice.",
				  NULL,	   NULL,  NULL};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	thread_name(opts.name, -1);
	cpus_pin(&opts.cpus);
	for (unsigned int i = 0; i < LOCKS_MAX; i++) {
		pthread_mutex_init(&locks[i], NULL);
		pthread_spin_init(&spinlocks[i], PTHREAD_PROCESS_PRIVATE);
	}
	kernel_shared = kernel_object_make();
	signal(SIGCHLD, SIG_IGN);
	listen_start();
	if (opts.model == MODEL_CONNECTION)
		serve_threads();
	serve_loops();
	return 0;
}
