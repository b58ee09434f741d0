/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samplers against the kernel: each figure must lie between two readings of the same file by hand, one
 * before and one after the tick.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/hg_cgroup.h"
#include "collector/sampler_private.h"
#include "tests/collector/sampler_tape.h"

#define FUTEX_WAIT 0
#define WORD	   0x1234abcdU

/* --- children --- */

enum child_kind { CHILD_BUSY, CHILD_FUTEX };

static uint32_t *shared_word;

static pid_t child_start(enum child_kind kind)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a) R 1 (b\n c)");
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		while (kind == CHILD_BUSY)
			;
		for (;;)
			syscall(SYS_futex, shared_word, FUTEX_WAIT, WORD, NULL, NULL, 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void child_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* By hand, with none of the sampler's code. */
static uint64_t schedstat_by_hand(pid_t pid, uint64_t v[3])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &v[0], &v[1], &v[2]), 3);
	fclose(f);
	return v[0];
}

/* --- the text of the kernel's files --- */

static void stat_whatever_the_name(void **state)
{
	uint64_t u = 0, s = 0, start = 0;
	const char *tail = " R 1 2 3 4 5 6 7 8 9 10 111 222 13 14 20 0 1 0 333 16 17";
	static const char *const names[] = {"sh", "a b",  "a) R 1 2 3",
					    ")",  "((((", "x) R 9 9 9 9 9 9 9 9 9 9 9 9 9"};
	char text[256];

	for (size_t i = 0; i < HG_ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text), "12 (%s)%s", names[i], tail);
		assert_true(sampler_stat_parse(text, &u, &s, &start));
		assert_int_equal(u, 111);
		assert_int_equal(s, 222);
		assert_int_equal(start, 333);
	}
	assert_false(sampler_stat_parse("12 (sh) R 1 2", &u, &s, &start));
	assert_false(sampler_stat_parse("", &u, &s, &start));
}

static void cpu_lines(void **state)
{
	uint64_t f[HG_FIELDS_MAX];

	assert_true(sampler_cpu_parse("cpu12 1 2 3 4 5 6 7 8 9 10\n", f));
	assert_int_equal(f[HG_CPU_TIMES_CPU], 12);
	assert_int_equal(f[HG_CPU_TIMES_USER], 1);
	assert_int_equal(f[HG_CPU_TIMES_IDLE], 4);
	assert_int_equal(f[HG_CPU_TIMES_STEAL], 8);
	assert_false(sampler_cpu_parse("cpu  1 2 3 4 5 6 7 8 9 10\n", f));
	assert_false(sampler_cpu_parse("cpu1 1 2 3\n4 5 6 7 8 9\n", f));
	assert_false(sampler_cpu_parse("intr 1 2 3 4 5 6 7 8 9", f));
}

static void syscall_texts(void **state)
{
	uint64_t f[HG_FIELDS_MAX];

	assert_true(sampler_syscall_parse("202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f11\n", f));
	assert_int_equal(f[HG_WAIT_SAMPLE_SYSNR], 203);
	assert_int_equal(f[HG_WAIT_SAMPLE_ARG0], 0x7f00);
	assert_int_equal(f[HG_WAIT_SAMPLE_ARG1], 0x80);
	assert_int_equal(f[HG_WAIT_SAMPLE_ARG2], 2);
	assert_true(sampler_syscall_parse("running\n", f));
	assert_int_equal(f[HG_WAIT_SAMPLE_SYSNR], 0);
	assert_int_equal(f[HG_WAIT_SAMPLE_ARG0], 0);
	assert_true(sampler_syscall_parse("-1 0x7ffe 0x7f11\n", f));
	assert_int_equal(f[HG_WAIT_SAMPLE_SYSNR], 0);
	assert_true(sampler_syscall_parse("0 0x3 0x0 0x0 0x0 0x0 0x0 0x0 0x0", f));
	assert_int_equal(f[HG_WAIT_SAMPLE_SYSNR], 1);
	assert_false(sampler_syscall_parse("", f));
	assert_false(sampler_syscall_parse("202 ", f));
}

/* --- a busy task --- */

static void busy_task(void **state)
{
	pid_t pid = child_start(CHILD_BUSY);
	uint64_t before[3], after[3], now = 0, rss_lo, rss_hi;
	struct hg_sampler *s;
	struct tape t;
	const struct hg_record *rec, *first;
	char path[64], text[128];

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	assert_int_equal(hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_TARGET), 0);
	assert_int_equal(hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_TARGET), 0);
	assert_int_equal(hg_sampler_tick(s, t.w, hg_now_ns()), 0);
	/* until the kernel has given it some time, however busy the machine */
	while (schedstat_by_hand(pid, before) < 100 * 1000 * 1000)
		;
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	assert_true(hg_file_read(path, text, sizeof(text)) > 0);
	sscanf(text, "%*u %" SCNu64, &rss_lo);
	schedstat_by_hand(pid, before);
	now = hg_now_ns();
	assert_int_equal(hg_sampler_final(s, t.w, now), 0);
	schedstat_by_hand(pid, after);
	assert_true(hg_file_read(path, text, sizeof(text)) > 0);
	sscanf(text, "%*u %" SCNu64, &rss_hi);
	hg_sampler_free(s);
	child_stop(pid);
	tape_read(&t);

	first = find(&t, HG_KIND_SCHEDSTAT, 5, 0);
	rec = find(&t, HG_KIND_SCHEDSTAT, 5, 1);
	assert_non_null(rec);
	assert_null(find(&t, HG_KIND_SCHEDSTAT, 5, 2));
	assert_true(rec->f[HG_SCHEDSTAT_RUN_NS] > first->f[HG_SCHEDSTAT_RUN_NS]);
	for (int i = 0; i < 3; i++) {
		assert_true(rec->f[HG_SCHEDSTAT_RUN_NS + i] >= before[i]);
		assert_true(rec->f[HG_SCHEDSTAT_RUN_NS + i] <= after[i]);
	}
	assert_true(rec->time_ns >= now && rec->time_ns <= hg_now_ns());

	rec = find(&t, HG_KIND_TASK_TIMES, 5, 1);
	assert_non_null(rec);
	/* it spins in user space: the kernel's ticks say so, to two ticks */
	assert_true(rec->f[HG_TASK_TIMES_USER_NS] + 2 * sampler_ticks_to_ns(1) >= 80 * 1000 * 1000);
	assert_true(rec->f[HG_TASK_TIMES_USER_NS] <= after[0] + 2 * sampler_ticks_to_ns(1));
	assert_true(rec->f[HG_TASK_TIMES_SYSTEM_NS] <= rec->f[HG_TASK_TIMES_USER_NS]);

	rec = find(&t, HG_KIND_RSS, (uint64_t)pid, 1);
	assert_non_null(rec);
	assert_true(rec->f[HG_RSS_BYTES] >= rss_lo * (uint64_t)getpagesize());
	assert_true(rec->f[HG_RSS_BYTES] <= rss_hi * (uint64_t)getpagesize());
	assert_int_equal(count(&t, HG_KIND_WAIT_SAMPLE, 5), 2);
	tape_close(&t);
}

/* What a task used between the last tick and its removal is written by the next tick. */
static void removed_task(void **state)
{
	pid_t pid = child_start(CHILD_BUSY);
	uint64_t before[3], later[3];
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_PROMOTED);
	hg_sampler_tick(s, t.w, hg_now_ns());
	schedstat_by_hand(pid, before);
	hg_sampler_task_remove(s, 5);
	while (schedstat_by_hand(pid, later) < before[0] + 20 * 1000 * 1000)
		;
	hg_sampler_task_remove(s, 5);
	child_stop(pid);
	hg_sampler_task_add(s, 6, pid, pid, HG_ROLEF_TARGET); /* gone already: no error */
	assert_int_equal(hg_sampler_tick(s, t.w, hg_now_ns()), 0);
	hg_sampler_free(s);
	tape_read(&t);
	assert_int_equal(count(&t, HG_KIND_SCHEDSTAT, 5), 2);
	assert_int_equal(count(&t, HG_KIND_SCHEDSTAT, 6), 0);
	assert_int_equal(count(&t, HG_KIND_RSS, UINT64_MAX), 0); /* it was no target */
	assert_true(find(&t, HG_KIND_SCHEDSTAT, 5, 1)->f[HG_SCHEDSTAT_RUN_NS] >= before[0]);
	assert_true(find(&t, HG_KIND_SCHEDSTAT, 5, 1)->f[HG_SCHEDSTAT_RUN_NS] < later[0]);
	tape_close(&t);
}

/* --- the machine --- */

static void stat_by_hand(uint64_t *v, size_t cpus)
{
	char line[512];
	FILE *f = fopen("/proc/stat", "r");
	unsigned int cpu;
	uint64_t n[8];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &cpu, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]) == 9 &&
		    line[3] != ' ' && cpu < cpus)
			memcpy(&v[8 * cpu], n, sizeof(n));
	}
	fclose(f);
}

static void clocks_and_cpus(void **state)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF), seen = 0;
	hg_autofree uint64_t *before = calloc(cpus, 64), *after = calloc(cpus, 64);
	uint64_t tick = HG_NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	const struct hg_record *a, *b;
	struct hg_sampler *s;
	struct timespec real;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	stat_by_hand(before, cpus);
	hg_sampler_tick(s, t.w, hg_now_ns());
	stat_by_hand(after, cpus);
	hg_sampler_tick(s, t.w, hg_now_ns());
	clock_gettime(CLOCK_REALTIME, &real);
	hg_sampler_free(s);
	tape_read(&t);

	assert_int_equal(count(&t, HG_KIND_CLOCK, UINT64_MAX), 2);
	a = find(&t, HG_KIND_CLOCK, UINT64_MAX, 0);
	b = find(&t, HG_KIND_CLOCK, UINT64_MAX, 1);
	assert_int_equal(a->time_ns, a->f[HG_CLOCK_MONOTONIC]);
	assert_true(b->f[HG_CLOCK_MONOTONIC] > a->f[HG_CLOCK_MONOTONIC]);
	assert_true(b->f[HG_CLOCK_BOOTTIME] >= b->f[HG_CLOCK_MONOTONIC]);
	assert_in_range(b->f[HG_CLOCK_REALTIME] / HG_NSEC_PER_SEC, (uint64_t)real.tv_sec - 60,
			(uint64_t)real.tv_sec);
#if defined(__x86_64__)
	assert_true(b->f[HG_CLOCK_TSC] > a->f[HG_CLOCK_TSC]);
#endif
	for (size_t cpu = 0; cpu < cpus; cpu++) {
		a = find(&t, HG_KIND_CPU_TIMES, cpu, 0);
		if (!a)
			continue;
		seen++;
		for (int i = 0; i < 8; i++) {
			/* idle and iowait may step back by a tick: get_idle_time() in fs/proc/stat.c */
			uint64_t slack = i == 3 || i == 4 ? tick : 0,
				 v = a->f[HG_CPU_TIMES_USER + i];

			assert_true(v + slack >= before[8 * cpu + i] * tick);
			assert_true(v <= after[8 * cpu + i] * tick + slack);
		}
	}
	assert_int_equal(seen, sysconf(_SC_NPROCESSORS_ONLN));
	tape_close(&t);
}

static void waits(void **state)
{
	const struct hg_record *rec = NULL;
	struct hg_sampler *s;
	char path[64], text[256];
	struct tape t;
	pid_t pid;

	shared_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*shared_word = WORD;
	pid = child_start(CHILD_FUTEX);
	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	if (hg_file_read(path, text, sizeof(text)) < 0) {
		child_stop(pid);
		print_message(
			"skip: %s cannot be read: not root, or no CONFIG_HAVE_ARCH_TRACEHOOK\n",
			path);
		skip();
	}
	/* until it sleeps */
	while (strtol(text, NULL, 10) != SYS_futex && hg_file_read(path, text, sizeof(text)) >= 0)
		;
	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_task_add(s, 7, pid, pid, HG_ROLEF_TARGET);
	hg_sampler_task_add(s, 8, getpid(), getpid(), HG_ROLEF_CLIENT);
	hg_sampler_tick(s, t.w, hg_now_ns());
	hg_sampler_free(s);
	child_stop(pid);
	tape_read(&t);
	rec = find(&t, HG_KIND_WAIT_SAMPLE, 7, 0);
	assert_non_null(rec);
	assert_int_equal(rec->f[HG_WAIT_SAMPLE_SYSNR], SYS_futex + 1);
	assert_int_equal(rec->f[HG_WAIT_SAMPLE_ARG0], (uintptr_t)shared_word);
	assert_int_equal(rec->f[HG_WAIT_SAMPLE_ARG1], FUTEX_WAIT);
	assert_int_equal(rec->f[HG_WAIT_SAMPLE_ARG2], WORD);
	assert_int_equal(rec->f[HG_WAIT_SAMPLE_WORD], WORD);
	assert_int_equal(count(&t, HG_KIND_WAIT_SAMPLE, 8), 0); /* the client is no target */
	tape_close(&t);
	munmap(shared_word, 4096);
}

/* --- the network's and the disks' files --- */

static void softnet_lines(void **state)
{
	uint64_t f[HG_FIELDS_MAX];

	/* 6.x: 15 columns; the CPU is named, as lines are of those online only */
	assert_true(sampler_softnet_parse("01a02353 00000002 00000008 00000000 00000000 00000000 "
					  "00000000 00000000 00000000 00000005 00000006 00000007 "
					  "0000000b 00000001 00000006\n",
					  3, f));
	assert_int_equal(f[HG_SOFTNET_CPU], 11);
	assert_int_equal(f[HG_SOFTNET_PROCESSED], 0x1a02353);
	assert_int_equal(f[HG_SOFTNET_DROPPED], 2);
	assert_int_equal(f[HG_SOFTNET_SQUEEZED], 8);
	assert_int_equal(f[HG_SOFTNET_RPS], 5);
	assert_int_equal(f[HG_SOFTNET_FLOW_LIMIT], 6);
	assert_int_equal(f[HG_SOFTNET_BACKLOG], 7);
	/* 5.4: 11 columns */
	assert_true(sampler_softnet_parse("00000010 0 1 0 0 0 0 0 0 00000005 00000006\n00000011", 3,
					  f));
	assert_int_equal(f[HG_SOFTNET_CPU], 3);
	assert_int_equal(f[HG_SOFTNET_FLOW_LIMIT], 6);
	assert_int_equal(f[HG_SOFTNET_BACKLOG], 0);
	assert_false(sampler_softnet_parse("00000010 1\n", 0, f));
	assert_false(sampler_softnet_parse("00000010 zz 0 0\n", 0, f));
	assert_false(sampler_softnet_parse("", 0, f));
}

static void disk_lines(void **state)
{
	uint64_t f[HG_FIELDS_MAX];
	char name[64];

	assert_true(sampler_disk_parse(" 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
				       name, f));
	assert_string_equal(name, "vda");
	assert_int_equal(f[HG_DISK_DEV], 254ULL << 20);
	assert_int_equal(f[HG_DISK_READS], 1);
	assert_int_equal(f[HG_DISK_READ_BYTES], 3 * 512);
	assert_int_equal(f[HG_DISK_WRITE_NS], 8000000);
	assert_int_equal(f[HG_DISK_IN_FLIGHT], 9);
	assert_int_equal(f[HG_DISK_IO_NS], 10000000);
	assert_int_equal(f[HG_DISK_DISCARD_BYTES], 14 * 512);
	assert_int_equal(f[HG_DISK_FLUSHES], 16);
	assert_int_equal(f[HG_DISK_FLUSH_NS], 17000000);
	assert_true(sampler_disk_parse(" 8 17 sdb1 1 2 3 4 5 6 7 8 9 10 11", name, f));
	assert_int_equal(f[HG_DISK_DEV], 8ULL << 20 | 17);
	assert_int_equal(f[HG_DISK_FLUSHES], 0);
	assert_false(sampler_disk_parse(" 8 17 sdb1 1 2 3 4", name, f));
	assert_false(sampler_disk_parse(" 8 17", name, f));
	assert_false(sampler_disk_parse("", name, f));
}

static void psi_texts(void **state)
{
	uint64_t some = 1, full = 1;

	assert_true(sampler_psi_parse("some avg10=42.63 avg60=53.89 avg300=49.29 total=6962\n"
				      "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n",
				      &some, &full));
	assert_int_equal(some, 6962000);
	assert_int_equal(full, 17000);
	assert_true(sampler_psi_parse("full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", &some,
				      &full));
	assert_int_equal(some, 0);
	assert_int_equal(full, 5000);
	assert_false(sampler_psi_parse("", &some, &full));
	assert_false(sampler_psi_parse("nothing total=5", &some, &full));
}

/* By hand: field n (from 0) of line i (from 0) of softnet_stat. */
static uint64_t softnet_by_hand(unsigned int i, int n)
{
	FILE *f = fopen("/proc/net/softnet_stat", "r");
	unsigned int v[13];
	char line[512];

	assert_non_null(f);
	for (unsigned int k = 0; k <= i; k++)
		assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_int_equal(sscanf(line, "%x %x %x %x %x %x %x %x %x %x %x %x %x", &v[0], &v[1], &v[2],
				&v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11],
				&v[12]),
			 13);
	return v[n];
}

/* Totals of the block device with the most requests, by hand. */
static uint64_t disk_by_hand(char name[64], uint64_t v[17])
{
	uint64_t dev = 0, best = 0, n[17];
	FILE *f = fopen("/proc/diskstats", "r");
	unsigned int major, minor;
	char other[64], line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		int at = 0;
		char *text;

		assert_int_equal(sscanf(line, "%u %u %63s%n", &major, &minor, other, &at), 3);
		text = line + at;
		for (int i = 0; i < 17; i++)
			n[i] = strtoull(text, &text, 10);
		if (*name ? strcmp(other, name) != 0 : n[0] + n[4] <= best)
			continue;
		best = n[0] + n[4];
		dev = (uint64_t)major << 20 | minor;
		memcpy(v, n, sizeof(n));
		if (!*name)
			strcpy(name, other);
	}
	fclose(f);
	return dev;
}

static void network_and_disk_totals(void **state)
{
	static const uint64_t units[17] = {1, 1, 512, 1000000, 1,   1,	     512, 1000000, 0,
					   0, 0, 1,   1,       512, 1000000, 1,	  1000000};
	uint64_t before[17], after[17], net[2][3], dev;
	const struct hg_record *rec;
	char first[64] = "";
	struct hg_sampler *s;
	struct tape t;

	dev = disk_by_hand(first, before);
	assert_int_equal(hg_sampler_new(&s), 0);
	tape_open(&t);
	for (int i = 0; i < 3; i++)
		net[0][i] = softnet_by_hand(0, i);
	disk_by_hand(first, before);
	hg_sampler_tick(s, t.w, hg_now_ns());
	disk_by_hand(first, after);
	for (int i = 0; i < 3; i++)
		net[1][i] = softnet_by_hand(0, i);
	hg_sampler_free(s);
	tape_read(&t);
	assert_int_equal(count(&t, HG_KIND_SOFTNET, UINT64_MAX), sysconf(_SC_NPROCESSORS_ONLN));
	rec = find(&t, HG_KIND_SOFTNET, softnet_by_hand(0, 12), 0);
	assert_non_null(rec);
	for (int i = 0; i < 3; i++)
		assert_in_range(rec->f[HG_SOFTNET_PROCESSED + i], net[0][i], net[1][i]);
	if (dev) {
		rec = find(&t, HG_KIND_DISK, dev, 0);
		assert_non_null(rec);
		assert_string_equal(hg_reader_string(t.r, rec->f[HG_DISK_NAME], NULL), first);
		for (int i = 0; i < 17; i++) {
			if (units[i])
				assert_in_range(rec->f[HG_DISK_READS + i], before[i] * units[i],
						after[i] * units[i]);
		}
	}
	tape_close(&t);
}

static uint64_t psi_by_hand(const char *path)
{
	char text[256], *at;

	if (hg_file_read(path, text, sizeof(text)) < 0)
		return UINT64_MAX;
	at = strstr(text, "total=");
	assert_non_null(at);
	return 1000 * strtoull(at + 6, NULL, 10);
}

static void pressure(void **state)
{
	uint64_t before = psi_by_hand("/proc/pressure/cpu"), after;
	const struct hg_record *rec = NULL;
	struct hg_sampler *s;
	size_t n = 0;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_tick(s, t.w, hg_now_ns());
	hg_sampler_tick(s, t.w, hg_now_ns());
	hg_sampler_free(s);
	after = psi_by_hand("/proc/pressure/cpu");
	tape_read(&t);
	for (size_t i = 0; i < t.count; i++) {
		if (t.records[i].kind != HG_KIND_PSI || t.records[i].f[HG_PSI_SCOPE] ||
		    t.records[i].f[HG_PSI_RESOURCE] != HG_PSI_CPU)
			continue;
		rec = &t.records[i];
		n++;
	}
	assert_non_null(rec);
	if (before == UINT64_MAX) { /* it says so, once */
		assert_int_equal(n, 1);
		assert_true(rec->f[HG_PSI_WHY]);
	} else {
		assert_int_equal(n, 2);
		assert_false(rec->f[HG_PSI_WHY]);
		assert_in_range(rec->f[HG_PSI_SOME_NS], before, after);
	}
	tape_close(&t);
}

/* --- bounds --- */

#define THREADS 1200

static pthread_barrier_t barrier;
static pid_t tids[THREADS];
static int stop_pipe[2];

static void *sleeper(void *arg)
{
	char byte;

	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	return read(stop_pipe[0], &byte, 1) < 0 ? NULL : arg;
}

/* One tick at a time of choice; *all_read: threads that have been read since all last had. */
static size_t tick_count(struct hg_sampler *s, struct tape *t, uint64_t now, bool final,
			 uint16_t kind, size_t *all_read)
{
	static uint8_t seen[THREADS];
	size_t n, first = 0;

	tape_open(t);
	assert_int_equal(final ? hg_sampler_final(s, t->w, now) : hg_sampler_tick(s, t->w, now), 0);
	tape_read(t);
	n = count(t, kind, UINT64_MAX);
	if (all_read) {
		for (size_t i = 0; i < t->count; i++) {
			uint64_t lane = t->records[i].f[0];

			if (t->records[i].kind == kind && lane >= 100 && lane < 100 + THREADS)
				seen[lane - 100] = 1;
		}
		for (size_t i = 0; i < THREADS; i++)
			first += seen[i];
		*all_read = first;
		if (first == THREADS)
			memset(seen, 0, sizeof(seen));
	}
	tape_close(t);
	return n;
}

static void many_threads(void **state)
{
	static pthread_t threads[THREADS];
	pthread_attr_t attr;
	struct hg_sampler *s;
	size_t made = 0, all = 0, ticks = 0;
	uint64_t now = hg_now_ns();
	struct tape t;

	assert_int_equal(pipe(stop_pipe), 0);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (; made < THREADS; made++) {
		if (pthread_create(&threads[made], &attr, sleeper, &tids[made]))
			break;
	}
	assert_int_equal(made, THREADS);
	pthread_barrier_wait(&barrier);
	assert_int_equal(hg_sampler_new(&s), 0);
	/* a few clients among them, so that both turns are taken */
	for (size_t i = 0; i < THREADS; i++)
		hg_sampler_task_add(s, 100 + (uint32_t)i, tids[i], getpid(),
				    i % 4 ? HG_ROLEF_TARGET : HG_ROLEF_CLIENT);
	/* first tick: every one; then in turns; at last every one again */
	assert_int_equal(tick_count(s, &t, now, false, HG_KIND_SCHEDSTAT, &all), THREADS);
	assert_int_equal(all, THREADS);
	do {
		size_t n = tick_count(s, &t, now, false, HG_KIND_SCHEDSTAT, &all);

		assert_in_range(n, SAMPLER_SCHEDSTAT_MAX / 2, SAMPLER_SCHEDSTAT_MAX);
		ticks++;
	} while (all < THREADS);
	/* 300 clients get 256 reads a tick, 900 others the other 256 */
	assert_int_equal(ticks, 4);
	assert_int_equal(tick_count(s, &t, now, false, HG_KIND_WAIT_SAMPLE, NULL),
			 SAMPLER_WAIT_MAX);
	/* ticks a second apart: all are due each time, none may be passed over for ever */
	for (ticks = 0, all = 0; all < THREADS; ticks++) {
		now += HG_NSEC_PER_SEC;
		assert_int_equal(tick_count(s, &t, now, false, HG_KIND_TASK_TIMES, &all),
				 SAMPLER_TIMES_MAX);
	}
	assert_int_equal(ticks, (THREADS + SAMPLER_TIMES_MAX - 1) / SAMPLER_TIMES_MAX);
	assert_int_equal(tick_count(s, &t, now, true, HG_KIND_SCHEDSTAT, NULL), THREADS);
	hg_sampler_free(s);
	for (size_t i = 0; i < made; i++)
		assert_int_equal(write(stop_pipe[1], "", 1), 1);
	for (size_t i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	close(stop_pipe[0]);
	close(stop_pipe[1]);
}

static void more_tasks_than_room(void **state)
{
	struct hg_sampler *s;
	struct sampler_task *task;
	uint32_t lane;

	assert_int_equal(hg_sampler_new(&s), 0);
	/* tid 0 exists nowhere; a member, then wakers without end */
	assert_int_equal(hg_sampler_task_add(s, 2, 0, 0, HG_ROLEF_TARGET), 0);
	for (lane = 10; lane < 10 + SAMPLER_TASKS_MAX + 50; lane++)
		assert_int_equal(hg_sampler_task_add(s, lane, 0, 0, HG_ROLEF_PROMOTED), 0);
	assert_int_equal(s->tasks_count, SAMPLER_TASKS_MAX);
	lane = 2;
	HASH_FIND(hh, s->by_lane, &lane, sizeof(lane), task);
	assert_non_null(task);
	lane = 60; /* the 51st of them: the first 51 went, for 2 took a place */
	HASH_FIND(hh, s->by_lane, &lane, sizeof(lane), task);
	assert_null(task);
	lane = 61;
	HASH_FIND(hh, s->by_lane, &lane, sizeof(lane), task);
	assert_non_null(task);
	for (size_t i = 0; i < s->tasks_count; i++)
		assert_int_equal(s->tasks[i]->index, i);
	hg_sampler_free(s);
}

/* --- cgroups --- */

static const char mountinfo_v1[] =
	"26 1 254:0 / / rw - ext4 /dev/vda rw,discard\n"
	"30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	"31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:1 - cgroup cgroup "
	"rw,cpu,cpuacct\n"
	"33 30 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	"40 30 0:37 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n"
	"41 30 0:28 /docker/x /mnt rw - cgroup cgroup rw,cpu,cpuacct\n";

static void cgroup_places(void **state)
{
	struct hg_cgroup_mounts *m = calloc(1, sizeof(*m));
	struct hg_cgroup_place *p = calloc(1, sizeof(*p));
	hg_autofree char *mounts = strdup(mountinfo_v1);
	char text[256], path[PATH_MAX];

	hg_cgroup_mounts_parse(mounts, m);
	assert_string_equal(m->cpu.point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(m->cpuacct.point, m->cpu.point);
	assert_string_equal(m->unified.point, "/sys/fs/cgroup/uni fied");

	strcpy(text, "9:name=systemd:/s\n3:cpuset:/no\n2:cpu,cpuacct:/a/b:c\n0::/u\n");
	assert_int_equal(hg_cgroup_place_parse(m, text, p), 0);
	assert_string_equal(p->path, "/a/b:c");
	assert_false(p->v2);
	assert_true(p->usage);
	assert_true(hg_cgroup_file_path(m, p, HG_CGROUP_STAT, path, sizeof(path)));
	assert_string_equal(path, "/sys/fs/cgroup/cpu,cpuacct/a/b:c/cpu.stat");
	assert_true(hg_cgroup_path_parent(p->path));
	assert_true(hg_cgroup_path_parent(p->path));
	assert_string_equal(p->path, "/");
	assert_false(hg_cgroup_path_parent(p->path));
	assert_true(hg_cgroup_file_path(m, p, HG_CGROUP_USAGE, path, sizeof(path)));
	assert_string_equal(path, "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage");

	/* Outside of this cgroup namespace: nothing to be read, and v2 is no substitute. */
	strcpy(text, "2:cpu,cpuacct:/../x\n0::/u\n");
	assert_int_equal(hg_cgroup_place_parse(m, text, p), -ENOENT);

	/* v2 only, seen from a container whose own cgroup is what is mounted. */
	strcpy(text, "24 23 0:20 /pod/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	hg_cgroup_mounts_parse(text, m);
	strcpy(text, "0::/pod/1/app\n");
	assert_int_equal(hg_cgroup_place_parse(m, text, p), 0);
	assert_true(p->v2);
	assert_string_equal(p->path, "/app");
	strcpy(text, "0::/pod/10\n");
	assert_int_equal(hg_cgroup_place_parse(m, text, p), -ENOENT);
	free(m);
	free(p);
}

static void cgroup_texts(void **state)
{
	struct hg_cgroup_cpu c = {0};

	hg_cgroup_file_parse(
		true, HG_CGROUP_STAT,
		"usage_usec 5000001\nuser_usec 1\nsystem_usec 2\ncore_sched.force_idle_usec 0\n"
		"nr_periods 40\nnr_throttled 30\nthrottled_usec 77\nnr_bursts 0\nburst_usec 0\n",
		&c);
	hg_cgroup_file_parse(true, HG_CGROUP_QUOTA, "30000 100000\n", &c);
	assert_int_equal(c.usage_ns, 5000001000);
	assert_int_equal(c.periods, 40);
	assert_int_equal(c.throttled, 30);
	assert_int_equal(c.throttled_ns, 77000);
	assert_int_equal(c.quota_us, 30000);
	assert_int_equal(c.period_us, 100000);
	hg_cgroup_file_parse(true, HG_CGROUP_QUOTA, "max 50000\n", &c);
	assert_int_equal(c.quota_us, 0);
	assert_int_equal(c.period_us, 50000);

	c = (struct hg_cgroup_cpu){0};
	hg_cgroup_file_parse(false, HG_CGROUP_STAT,
			     "nr_periods 4\nnr_throttled 3\nthrottled_time 123456\n", &c);
	hg_cgroup_file_parse(false, HG_CGROUP_QUOTA, "-1\n", &c);
	hg_cgroup_file_parse(false, HG_CGROUP_PERIOD, "100000\n", &c);
	hg_cgroup_file_parse(false, HG_CGROUP_USAGE, "987654321\n", &c);
	assert_int_equal(c.periods, 4);
	assert_int_equal(c.throttled_ns, 123456);
	assert_int_equal(c.quota_us, 0);
	assert_int_equal(c.period_us, 100000);
	assert_int_equal(c.usage_ns, 987654321);
	hg_cgroup_file_parse(false, HG_CGROUP_STAT,
			     "nr_periods\nnr_throttled x\n\n\nthrottled_timer 9\n", &c);
	assert_int_equal(c.periods, 4);
	assert_int_equal(c.throttled_ns, 123456);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static uint64_t throttled_by_hand(const char *dir)
{
	char path[PATH_MAX], text[4096], *at;

	snprintf(path, sizeof(path), "%s/cpu.stat", dir);
	assert_true(hg_file_read(path, text, sizeof(text)) > 0);
	at = strstr(text, "throttled_time ");
	if (at)
		return strtoull(at + 15, NULL, 10);
	at = strstr(text, "throttled_usec ");
	return at ? 1000 * strtoull(at + 15, NULL, 10) : 0;
}

static const struct hg_record *cgroup_find(struct tape *t, const char *path, size_t nth)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind == HG_KIND_CGROUP_CPU &&
		    !strcmp(hg_reader_string(t->r, rec->f[HG_CGROUP_CPU_PATH], NULL), path) &&
		    !nth--)
			return rec;
	}
	return NULL;
}

/* A quota in a parent of the target's cgroup throttles it; then the target moves out. */
static void cgroup_quota(void **state)
{
	char name[64], inner_name[80], parent[128], inner[160], pid_text[16];
	uint64_t before, after, now;
	const struct hg_record *rec, *first;
	struct hg_sampler *s;
	struct tape t;
	pid_t pid;

	snprintf(name, sizeof(name), "/hg-test-sampler-%d", getpid());
	snprintf(inner_name, sizeof(inner_name), "%s/inner", name);
	snprintf(parent, sizeof(parent), "/sys/fs/cgroup/cpu%s", name);
	snprintf(inner, sizeof(inner), "%s/inner", parent);
	if (access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", W_OK) || mkdir(parent, 0755)) {
		print_message("skip: no cgroup v1 cpu hierarchy that can be written at "
			      "/sys/fs/cgroup/cpu: %s\n",
			      strerror(errno));
		skip();
	}
	assert_int_equal(mkdir(inner, 0755), 0);
	put(parent, "cpu.cfs_period_us", "20000");
	put(parent, "cpu.cfs_quota_us", "5000");
	pid = child_start(CHILD_BUSY);
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	put(inner, "tasks", pid_text);

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_task_add(s, 9, pid, pid, HG_ROLEF_TARGET);
	hg_sampler_tick(s, t.w, hg_now_ns());
	while (throttled_by_hand(parent) < 40 * 1000 * 1000)
		;
	before = throttled_by_hand(parent);
	hg_sampler_tick(s, t.w, hg_now_ns());
	after = throttled_by_hand(parent);
	put("/sys/fs/cgroup/cpu", "tasks", pid_text);
	/* the look-up is due after a second; time is an argument */
	now = hg_now_ns() + 2 * HG_NSEC_PER_SEC;
	hg_sampler_tick(s, t.w, now);
	hg_sampler_tick(s, t.w, now);
	hg_sampler_free(s);
	child_stop(pid);
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(rmdir(parent), 0);
	tape_read(&t);

	first = cgroup_find(&t, name, 0);
	rec = cgroup_find(&t, name, 1);
	assert_non_null(rec);
	assert_in_range(rec->f[HG_CGROUP_CPU_THROTTLED_NS], before, after);
	assert_true(rec->f[HG_CGROUP_CPU_THROTTLED] > first->f[HG_CGROUP_CPU_THROTTLED]);
	assert_true(rec->f[HG_CGROUP_CPU_PERIODS] >= rec->f[HG_CGROUP_CPU_THROTTLED]);
	assert_int_equal(rec->f[HG_CGROUP_CPU_QUOTA_US], 5000);
	assert_int_equal(rec->f[HG_CGROUP_CPU_PERIOD_US], 20000);
	assert_int_equal(rec->f[HG_CGROUP_CPU_TARGETS], 1);
	rec = cgroup_find(&t, inner_name, 1);
	assert_non_null(rec);
	assert_int_equal(rec->f[HG_CGROUP_CPU_QUOTA_US], 0);
	assert_int_equal(rec->f[HG_CGROUP_CPU_TARGETS], 1);
	assert_int_equal(cgroup_find(&t, "/", 1)->f[HG_CGROUP_CPU_TARGETS], 1);
	/* moved out: once more with no target, then no more; the root still has it */
	assert_int_equal(cgroup_find(&t, inner_name, 2)->f[HG_CGROUP_CPU_TARGETS], 0);
	assert_int_equal(cgroup_find(&t, name, 2)->f[HG_CGROUP_CPU_TARGETS], 0);
	assert_null(cgroup_find(&t, name, 3));
	assert_int_equal(cgroup_find(&t, "/", 3)->f[HG_CGROUP_CPU_TARGETS], 1);
	tape_close(&t);
}

/* v2's files in a folder that stands for the mount. */
static void cgroup_v2_files(void **state)
{
	struct hg_cgroup_mounts *m = calloc(1, sizeof(*m));
	struct hg_cgroup_place *p = calloc(1, sizeof(*p));
	struct hg_cgroup_cpu c;
	char dir[] = "/tmp/hg-test-cgroup2-XXXXXX", inner[64], text[128];

	assert_non_null(mkdtemp(dir));
	snprintf(inner, sizeof(inner), "%s/app", dir);
	assert_int_equal(mkdir(inner, 0700), 0);
	put(dir, "cpu.stat", "usage_usec 10\nuser_usec 4\nsystem_usec 6\n");
	put(inner, "cpu.stat", "usage_usec 7\nnr_periods 5\nnr_throttled 2\nthrottled_usec 900\n");
	put(inner, "cpu.max", "150000 100000\n");
	snprintf(text, sizeof(text), "24 23 0:20 / %s rw - cgroup2 cgroup2 rw\n", dir);
	hg_cgroup_mounts_parse(text, m);
	strcpy(text, "0::/app\n");
	assert_int_equal(hg_cgroup_place_parse(m, text, p), 0);
	hg_cgroup_cpu_read(m, p, &c);
	assert_int_equal(c.usage_ns, 7000);
	assert_int_equal(c.periods, 5);
	assert_int_equal(c.throttled, 2);
	assert_int_equal(c.throttled_ns, 900000);
	assert_int_equal(c.quota_us, 150000);
	assert_int_equal(c.period_us, 100000);
	assert_true(hg_cgroup_path_parent(p->path));
	hg_cgroup_cpu_read(m, p, &c);
	assert_int_equal(c.usage_ns, 10000);
	assert_int_equal(c.quota_us, 0);
	snprintf(text, sizeof(text), "%s/cpu.stat", inner);
	unlink(text);
	snprintf(text, sizeof(text), "%s/cpu.max", inner);
	unlink(text);
	rmdir(inner);
	snprintf(text, sizeof(text), "%s/cpu.stat", dir);
	unlink(text);
	rmdir(dir);
	free(m);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_whatever_the_name),
		cmocka_unit_test(cpu_lines),
		cmocka_unit_test(syscall_texts),
		cmocka_unit_test(busy_task),
		cmocka_unit_test(removed_task),
		cmocka_unit_test(clocks_and_cpus),
		cmocka_unit_test(waits),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(softnet_lines),
		cmocka_unit_test(disk_lines),
		cmocka_unit_test(psi_texts),
		cmocka_unit_test(network_and_disk_totals),
		cmocka_unit_test(pressure),
		cmocka_unit_test(more_tasks_than_room),
		cmocka_unit_test(cgroup_places),
		cmocka_unit_test(cgroup_texts),
		cmocka_unit_test(cgroup_quota),
		cmocka_unit_test(cgroup_v2_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
