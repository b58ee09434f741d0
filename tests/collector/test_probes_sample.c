/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of what runs: against getrusage; spinning that no tracepoint shows; spinning in user space. */
#include "probes_fixture.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#define HZ	    997
#define BURN_NS	    500000000
#define SPIN_NS	    500000000
#define SPIN_ROUNDS 5
#define SLEEPERS    300

static struct rusage *usage; /* shared with the child */
static int *word;
static pthread_spinlock_t *spinlock; /* likewise */
static int cpus;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * HG_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* In user space, then twice as long in the kernel. */
static void burn(void *arg)
{
	static char buf[1 << 20];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	volatile uint64_t n = 0;

	(void)arg;
	while (cpu_ns() < BURN_NS) {
		for (int i = 0; i < 1000000; i++)
			n++;
	}
	while (cpu_ns() < 3 * (uint64_t)BURN_NS) {
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			_exit(1);
	}
	getrusage(RUSAGE_SELF, usage);
}

static void record_child(struct recording *r, struct child *child)
{
	struct hg_probes_opts opts = {.sample_hz = HZ};

	recording_of_child(r, &opts, child);
	assert_int_equal(hg_probes_lost(r->p), 0);
}

static uint64_t sampled_ns(const struct recording *r, uint64_t where)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i];

		if (rec->kind == HG_KIND_CPU_SAMPLE && rec->f[HG_CPU_SAMPLE_WHERE] == where)
			ns += rec->f[HG_CPU_SAMPLE_PERIOD];
	}
	return ns;
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * HG_NSEC_PER_SEC + (uint64_t)tv->tv_usec * 1000;
}

/* Within a tenth of the whole: some 1500 samples, and a tick of the kernel's own account. */
static void assert_close(uint64_t ours, uint64_t theirs, uint64_t whole)
{
	assert_true(ours > theirs ? ours - theirs < whole / 10 : theirs - ours < whole / 10);
}

static void test_user_and_kernel(void **state)
{
	struct child child = child_start(burn, NULL);
	uint64_t user, kernel, user_theirs, kernel_theirs;
	struct recording r;

	(void)state;
	record_child(&r, &child);
	user = sampled_ns(&r, HG_SAMPLE_USER);
	kernel = sampled_ns(&r, HG_SAMPLE_KERNEL) + sampled_ns(&r, HG_SAMPLE_SPINS);
	user_theirs = timeval_ns(&usage->ru_utime);
	kernel_theirs = timeval_ns(&usage->ru_stime);
	print_message("user %.0f ms, by getrusage %.0f; kernel %.0f ms, by getrusage %.0f\n",
		      (double)user / 1e6, (double)user_theirs / 1e6, (double)kernel / 1e6,
		      (double)kernel_theirs / 1e6);
	assert_close(user, user_theirs, 3 * (uint64_t)BURN_NS);
	assert_close(kernel, kernel_theirs, 3 * (uint64_t)BURN_NS);
	assert_int_equal(sampled_ns(&r, HG_SAMPLE_USER_SPINS), 0);
	recording_free(&r);
}

static void *sleeper(void *arg)
{
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1);
	return arg;
}

/* Looks at each of those that sleep on the word, with the spinlock of its hash bucket held, and wakes none. */
static void *bucket_user(void *arg)
{
	uint64_t end_ns = hg_now_ns() + SPIN_NS;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET((long)arg % cpus, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	while (hg_now_ns() < end_ns) {
		for (int i = 0; i < 100; i++)
			syscall(SYS_futex, word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 2);
	}
	return NULL;
}

static void bucket_shared(void *arg)
{
	pthread_t threads[2], other;
	pthread_attr_t attr;

	(void)arg;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&other, &attr, sleeper, NULL);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, bucket_user, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* Of samples that spin: how many in a spinlock's slow path that a futex call wanted. */
static size_t futex_spins(const struct recording *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i], *stack = NULL;
		char frames[1024] = "";
		size_t length;
		const char *text;

		if (rec->kind != HG_KIND_CPU_SAMPLE ||
		    rec->f[HG_CPU_SAMPLE_WHERE] != HG_SAMPLE_SPINS)
			continue;
		for (size_t j = 0; j < r->n && !stack; j++) {
			if (r->recs[j].kind == HG_KIND_STACK &&
			    r->recs[j].f[HG_STACK_ID] == rec->f[HG_CPU_SAMPLE_STACK])
				stack = &r->recs[j];
		}
		assert_non_null(stack);
		text = hg_reader_string(r->reader, (uint32_t)stack->f[HG_STACK_FRAMES], &length);
		snprintf(frames, sizeof(frames), "%.*s", (int)length, text);
		if (!n && strstr(frames, "futex"))
			print_message("%s\n", frames);
		n += strstr(frames, "queued_spin_lock_slowpath;") && strstr(frames, "futex");
	}
	return n;
}

static void test_spinlocks_show(void **state)
{
	size_t n = 0;

	(void)state;
	if (cpus < 2) {
		print_message("skip: two CPUs are missing\n");
		skip();
	}
	/* Both threads must run at once: on a busy machine they may not. */
	for (int i = 0; i < SPIN_ROUNDS && n < 10; i++) {
		struct child child = child_start(bucket_shared, NULL);
		uint64_t contended = 0;
		struct recording r;

		record_child(&r, &child);
		n = futex_spins(&r);
		for (size_t j = 0; j < r.n; j++)
			contended += r.recs[j].kind == HG_KIND_CONTENTION &&
				     r.recs[j].f[HG_CONTENTION_FLAGS] == HG_CONTENTIONF_SPIN;
		print_message("%zu samples spin for a spinlock; waits by tracepoint: %" PRIu64 "\n",
			      n, contended);
		recording_free(&r);
	}
	assert_true(n >= 10);
}

static void *lock_user(void *arg)
{
	uint64_t end_ns = hg_now_ns() + SPIN_NS;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET((long)arg % cpus, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	while (hg_now_ns() < end_ns) {
		uint64_t until_ns;

		pthread_spin_lock(spinlock);
		until_ns = hg_now_ns() + 100000;
		while (hg_now_ns() < until_ns)
			;
		pthread_spin_unlock(spinlock);
	}
	return NULL;
}

static void lock_shared(void *arg)
{
	pthread_t threads[2];

	(void)arg;
	pthread_spin_init(spinlock, PTHREAD_PROCESS_PRIVATE);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, lock_user, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* Samples that spin for the lock. */
static size_t lock_spins(const struct recording *r, pid_t tgid)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i], *spin = NULL;

		if (rec->kind != HG_KIND_CPU_SAMPLE ||
		    rec->f[HG_CPU_SAMPLE_WHERE] != HG_SAMPLE_USER_SPINS)
			continue;
		for (size_t j = 0; j < r->n && !spin; j++) {
			if (r->recs[j].kind == HG_KIND_SPIN &&
			    r->recs[j].f[HG_SPIN_ID] == rec->f[HG_CPU_SAMPLE_STACK])
				spin = &r->recs[j];
		}
		assert_non_null(spin);
		assert_int_equal(spin->f[HG_SPIN_TGID], tgid);
		n += spin->f[HG_SPIN_WORD] == (uint64_t)(uintptr_t)spinlock &&
		     spin->f[HG_SPIN_FLAGS] & HG_SPINF_TAKES;
	}
	return n;
}

static void test_user_spinlocks_show(void **state)
{
	size_t n = 0;

	(void)state;
	if (cpus < 2) {
		print_message("skip: two CPUs are missing\n");
		skip();
	}
	for (int i = 0; i < SPIN_ROUNDS && n < 50; i++) {
		struct child child = child_start(lock_shared, NULL);
		struct recording r;
		uint64_t work;

		record_child(&r, &child);
		n = lock_spins(&r, child.pid);
		work = sampled_ns(&r, HG_SAMPLE_USER);
		print_message("%zu samples spin for the lock; at work: %.0f ms\n", n,
			      (double)work / 1e6);
		recording_free(&r);
		/* One of both holds it. */
		assert_true(work >= 10 * 1000000);
	}
	assert_true(n >= 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_and_kernel),
		cmocka_unit_test(test_spinlocks_show),
		cmocka_unit_test(test_user_spinlocks_show),
	};
	int missing = probes_skip();

	if (missing)
		return missing;
	cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	usage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (usage == MAP_FAILED)
		return 1;
	word = (int *)(usage + 1);
	spinlock = (pthread_spinlock_t *)(word + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
