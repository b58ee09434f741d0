/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why tasks wait and who ends it: contexts of wakeups, holders of locks, quota throttling. */
#include "probes_fixture.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ROUNDS 1000

/* Wakeups of one lane by context; in a window of its own work only. */
struct contexts {
	size_t by_ctx[16], total;
};

static struct contexts contexts_count(const struct recording *r, pid_t tgid)
{
	struct contexts c = {{0}, 0};

	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i];

		if (rec->kind != HG_KIND_WAKEUP || (rec->f[HG_WAKEUP_FLAGS] & HG_WAKEUPF_NEW))
			continue;
		for (size_t j = 0; j < r->n; j++) {
			const struct hg_record *task = &r->recs[j];

			if (task->kind != HG_KIND_TASK ||
			    task->f[HG_TASK_LANE] != rec->f[HG_WAKEUP_LANE])
				continue;
			if (task->f[HG_TASK_TGID] == (uint64_t)tgid ||
			    task->f[HG_TASK_PPID] == (uint64_t)tgid) {
				c.by_ctx[rec->f[HG_WAKEUP_CTX] & 15]++;
				c.total++;
			}
			break;
		}
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(c.by_ctx); i++) {
		if (c.by_ctx[i])
			print_message("  context %zu: %zu of %zu\n", i, c.by_ctx[i], c.total);
	}
	return c;
}

static struct contexts contexts_of(void (*fn)(void *))
{
	struct hg_probes_opts opts = {0};
	struct child child = child_start(fn, NULL);
	struct recording r;
	struct contexts c;

	recording_of_child(&r, &opts, &child);
	c = contexts_count(&r, child.pid);
	recording_free(&r);
	return c;
}

static void nap(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS / 4; i++)
		usleep(500);
}

static void test_a_nap_ends_by_timer(void **state)
{
	struct contexts c = contexts_of(nap);

	(void)state;
	assert_true(c.total >= ROUNDS / 4 - 2);
	assert_true(c.by_ctx[HG_CTX_TIMER] >= c.total - c.total / 50 - 2);
}

static void pipe_pingpong(void *arg)
{
	int a[2], b[2];
	char c = 0;

	(void)arg;
	if (pipe(a) || pipe(b))
		_exit(1);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(a[1]);
		while (read(a[0], &c, 1) == 1 && write(b[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
			_exit(1);
	}
}

static void test_a_pipe_wakes_by_its_writer(void **state)
{
	struct contexts c = contexts_of(pipe_pingpong);

	(void)state;
	assert_true(c.total >= ROUNDS);
	assert_true(c.by_ctx[HG_CTX_TASK] >= c.total - c.total / 50);
}

#define STACK_PERIOD_NS 3000000

/* The record whose id a wait has. */
static const char *stack_frames(const struct recording *r, uint64_t id, size_t *length_out)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->recs[i].kind == HG_KIND_STACK && r->recs[i].f[HG_STACK_ID] == id)
			return hg_reader_string(r->reader, (uint32_t)r->recs[i].f[HG_STACK_FRAMES],
						length_out);
	}
	fail_msg("a stack has no definition");
	return NULL;
}

static bool blocks_at(const struct recording *r, uint64_t time_ns, uint64_t lane)
{
	for (size_t i = 0; i < r->n; i++) {
		if (is_switch(&r->recs[i]) && r->recs[i].time_ns == time_ns &&
		    r->recs[i].f[HG_SWITCH_PREV] == lane)
			return true;
	}
	return false;
}

/* Each stack belongs to a switch, begins where the pipe sleeps, and is no sooner than the period after the last. */
static void test_stacks_of_waits(void **state)
{
	struct hg_probes_opts opts = {.wait_stack_period_ns = STACK_PERIOD_NS};
	struct child child = child_start(pipe_pingpong, NULL);
	uint64_t last_ns = 0, lane;
	size_t n = 0, in_pipe = 0;
	struct recording r;

	(void)state;
	recording_of_child(&r, &opts, &child);
	if (r.p->status[HG_P_WAIT_STACK].why) {
		print_message("skip: %s\n", r.p->status[HG_P_WAIT_STACK].why);
		skip();
	}
	lane = recording_lane(&r, child.pid);
	for (size_t i = 0; i < r.n; i++) {
		const struct hg_record *rec = &r.recs[i];
		char frames[1024];
		const char *text;
		size_t length;

		if (rec->kind != HG_KIND_WAIT_STACK || rec->f[HG_WAIT_STACK_LANE] != lane)
			continue;
		text = stack_frames(&r, rec->f[HG_WAIT_STACK_STACK], &length);
		snprintf(frames, sizeof(frames), "%.*s", (int)length, text);
		if (!n)
			print_message("%s\n", frames);
		assert_true(blocks_at(&r, rec->time_ns, lane));
		assert_true(!n || rec->time_ns - last_ns >= STACK_PERIOD_NS);
		last_ns = rec->time_ns;
		frames[strcspn(frames, ";")] = 0;
		in_pipe += !!strstr(frames, "pipe_read");
		n++;
	}
	print_message("%zu stacks, %zu in the pipe\n", n, in_pipe);
	assert_true(n >= 2);
	assert_true(in_pipe + 2 >= n); /* beside the begin and the end of the process */
	recording_free(&r);
}

static void tcp_pingpong(void *arg)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd, one = 1;
	socklen_t length = sizeof(at);
	char c = 0;

	(void)arg;
	if (bind(listener, (void *)&at, sizeof(at)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &length))
		_exit(1);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = accept(listener, NULL, NULL);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		while (read(fd, &c, 1) == 1 && write(fd, &c, 1) == 1)
			;
		_exit(0);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (void *)&at, sizeof(at)))
		_exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (int i = 0; i < ROUNDS; i++) {
		if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
			_exit(1);
	}
}

/* Loopback receives in the sender's own system call; only a tick that comes between is another's. */
static void test_loopback_wakes_by_the_sender(void **state)
{
	struct contexts c = contexts_of(tcp_pingpong);

	(void)state;
	assert_true(c.total >= ROUNDS);
	assert_true(c.by_ctx[HG_CTX_SOFTIRQ_OWN] >= c.total - c.total / 50);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t *holder; /* shared with the child */

static void *thread_hold(void *arg)
{
	*holder = gettid_here();
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		usleep(4000);
		pthread_mutex_unlock(&mutex);
		usleep(1000);
	}
	return arg;
}

static void hold_and_wait(void *arg)
{
	pthread_t thread;

	(void)arg;
	pthread_create(&thread, NULL, thread_hold, NULL);
	for (int i = 0; i < 50; i++) {
		usleep(1000);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	pthread_join(thread, NULL);
}

static void holder_note(void *arg, uint32_t waiter, pid_t tid)
{
	(void)waiter;
	*(pid_t *)arg = tid;
}

static void test_holder_of_a_mutex(void **state)
{
	pid_t told = 0;
	struct hg_probes_opts opts = {.observer = {.holder_seen = holder_note, .arg = &told}};
	size_t waits = 0, right = 0;
	struct recording r;
	struct child child;
	uint64_t lane;

	(void)state;
	holder = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = child_start(hold_and_wait, NULL);
	recording_of_child(&r, &opts, &child);
	lane = recording_lane(&r, child.pid);
	for (size_t i = 0; i < r.n; i++) {
		const struct hg_record *rec = &r.recs[i];

		if (rec->kind != HG_KIND_SWITCH_BLOCK || rec->f[HG_SWITCH_PREV] != lane ||
		    rec->f[HG_SWITCH_SYSNR] != SYS_futex || (uint32_t)rec->f[HG_SWITCH_ARG2] != 2)
			continue;
		waits++;
		right += rec->f[HG_SWITCH_HOLDER] == (uint64_t)*holder;
	}
	print_message("  %zu waits, %zu name the holder\n", waits, right);
	assert_true(waits >= 10);
	/* The holder may give the lock up between the wait's begin and the switch. */
	assert_true(right >= waits - waits / 10);
	assert_int_equal(told, *holder);
	recording_free(&r);
}

static void spin(void *arg)
{
	(void)arg;
	for (;;)
		;
}

static int text_write(const char *dir, const char *name, long value)
{
	char path[256];
	hg_autofclose FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%ld", value) < 0)
		return -errno;
	return fflush(f) ? -errno : 0;
}

static uint64_t throttled_ns(const char *dir)
{
	char path[256], key[64];
	unsigned long long value;
	hg_autofclose FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/cpu.stat", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%63s %llu", key, &value) == 2) {
		if (!strcmp(key, "throttled_time"))
			return value;
	}
	return 0;
}

/* One spinning thread with a fifth of a CPU: all throttled time is between a switch that says so and the next run. */
static void test_throttling_by_quota(void **state)
{
	struct hg_probes_opts opts = {0};
	uint64_t lane, ours = 0, since = 0, kernel;
	size_t switches = 0;
	struct child child;
	struct recording r;
	char dir[64];

	(void)state;
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/cpu/hg-test-%d", getpid());
	if (mkdir(dir, 0755) || text_write(dir, "cpu.cfs_quota_us", 20000)) {
		rmdir(dir);
		print_message("skip: no cgroup v1 cpu controller with quota\n");
		skip();
	}
	/* It gets a CPU as soon as it may, whatever else runs here: then throttled and kept waiting are the same. */
	assert_int_equal(text_write(dir, "cpu.shares", 262144), 0);
	child = child_start(spin, NULL);
	assert_int_equal(text_write(dir, "cgroup.procs", child.pid), 0);
	recording_begin(&r, &opts);
	assert_int_equal(hg_probes_root_add(r.p, child.pid, HG_ROLEF_TARGET, 0), 0);
	recording_attach(&r);
	child_go(&child);
	recording_run(&r, 3000);
	hg_probes_detach(r.p);
	kernel = throttled_ns(dir);
	recording_end(&r);
	child_kill(&child);
	for (int i = 0; i < 100 && rmdir(dir); i++)
		usleep(10000);
	lane = recording_lane(&r, child.pid);
	for (size_t i = 0; i < r.n; i++) {
		const struct hg_record *rec = &r.recs[i];

		if (!is_switch(rec))
			continue;
		if (rec->f[HG_SWITCH_PREV] == lane &&
		    (rec->f[HG_SWITCH_FLAGS] & HG_SWITCHF_THROTTLED)) {
			since = rec->time_ns;
			switches++;
		} else if (rec->f[HG_SWITCH_NEXT] == lane && since) {
			ours += rec->time_ns - since;
			since = 0;
		}
	}
	print_message("  throttled %zu times: ours %.3f s, cpu.stat %.3f s\n", switches,
		      (double)ours / 1e9, (double)kernel / 1e9);
	assert_true(switches >= 20);
	/* Ours goes on until the task runs again; one period of 100 ms may be open at the end. */
	assert_in_range(ours, kernel - kernel / 10 - 100000000, kernel + kernel / 10 + 100000000);
	recording_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_nap_ends_by_timer),
		cmocka_unit_test(test_a_pipe_wakes_by_its_writer),
		cmocka_unit_test(test_stacks_of_waits),
		cmocka_unit_test(test_loopback_wakes_by_the_sender),
		cmocka_unit_test(test_holder_of_a_mutex),
		cmocka_unit_test(test_throttling_by_quota),
	};
	int rc = probes_skip();

	return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
