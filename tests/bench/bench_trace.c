/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the trace file costs: ns per record to write and to read, bytes per record. The records
 * are made to look like nginx and wrk on two CPUs: mostly softirqs and switches, times at 1 ns.
 * Usage: bench_trace [MILLION_RECORDS]
 */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/hg_base.h"
#include "trace/hg_reader.h"
#include "trace/hg_writer.h"

#define CPUS 2

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

static double cpu_s(int who)
{
	struct rusage ru;

	getrusage(who, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* Of the calling thread: what the collector's loop pays. */
static double thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double user_s(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6;
}

static void make(uint64_t *seed, uint64_t *time, uint64_t *current, struct hg_record *rec)
{
	uint64_t r = next_random(seed), lane = 2 + (r >> 40) % 6;

	*time += 500 + (r >> 16) % 8000;
	*rec = (struct hg_record){.time_ns = *time};
	if (r % 100 < 70) {
		uint64_t dur = 2000 + (r >> 24) % 12000;

		rec->kind = HG_KIND_SOFTIRQ;
		rec->f[HG_SOFTIRQ_DUR] = rec->f[HG_SOFTIRQ_SPAN] = dur;
		rec->f[HG_SOFTIRQ_VEC] = 3;
		rec->f[HG_SOFTIRQ_CTX] = HG_CTX_SOFTIRQ_OWN;
		rec->f[HG_SOFTIRQ_LANE] = *current;
		rec->f[HG_SOFTIRQ_COUNT] = 1;
	} else if (r % 100 < 85) {
		rec->kind = r % 2 ? HG_KIND_SWITCH : HG_KIND_SWITCH_BLOCK;
		rec->f[HG_SWITCH_PREV] = *current;
		rec->f[HG_SWITCH_NEXT] = lane;
		rec->f[HG_SWITCH_STATE] = r % 2;
		if (rec->kind == HG_KIND_SWITCH_BLOCK) {
			rec->f[HG_SWITCH_SYSNR] = 232;
			rec->f[HG_SWITCH_ARG0] = 5 + lane;
		}
		*current = lane;
	} else {
		rec->kind = HG_KIND_WAKEUP;
		rec->f[HG_WAKEUP_LANE] = lane;
		rec->f[HG_WAKEUP_CPU] = r >> 8 & 1;
		rec->f[HG_WAKEUP_WAKER] = *current;
		rec->f[HG_WAKEUP_CTX] = HG_CTX_SOFTIRQ_OWN;
		rec->f[HG_WAKEUP_VEC] = 4;
	}
}

static void bench_write(const char *path, size_t n)
{
	struct hg_writer *w;
	struct hg_writer_stats stats;
	uint64_t seed = 1, time[CPUS] = {0}, current[CPUS] = {2, 2}, begin, end;
	/* Made beforehand, few enough to stay in the cache: only the writer is measured. */
	static struct hg_record round[2000];
	double record_ns = 0, cpu;

	if (hg_writer_open(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), path, &w))
		exit(1);
	for (size_t i = 0; i < n;) {
		for (size_t k = 0; k < HG_ARRAY_SIZE(round); k++) {
			size_t c = k * CPUS / HG_ARRAY_SIZE(round);

			make(&seed, &time[c], &current[c], &round[k]);
		}
		cpu = thread_ns();
		for (size_t k = 0; k < HG_ARRAY_SIZE(round) && i < n; k++, i++) {
			uint32_t c = (uint32_t)(k * CPUS / HG_ARRAY_SIZE(round));

			if (hg_writer_record(w, 0, HG_STREAM_CPU0 + c, &round[k]))
				exit(1);
		}
		record_ns += thread_ns() - cpu;
		hg_writer_round(w, time[0]);
		usleep(300); /* as between drains: the thread keeps up, and its blocks come back */
	}
	begin = hg_now_ns();
	hg_writer_stats_get(w, &stats);
	if (hg_writer_close(w))
		exit(1);
	end = hg_now_ns();
	printf("write: CPU time of %.1f ns/record in the caller, %.1f in the thread; close %.0f "
	       "ms, queue "
	       "%.1f MiB at most\n",
	       record_ns / (double)n, (double)stats.cpu_ns / (double)n, (double)(end - begin) / 1e6,
	       (double)stats.queued_bytes_max / 1048576);
}

static void bench_read(const char *path, size_t n)
{
	double open_begin = cpu_s(RUSAGE_SELF), begin, end, user;
	struct hg_reader *r;
	struct hg_cursor *c;
	const struct hg_record *const *recs;
	int got;
	uint64_t sum = 0, records = 0, bytes = 0;
	const struct hg_chunk_info *chunks;

	if (hg_reader_open(path, &r))
		exit(1);
	for (size_t i = hg_reader_chunks(r, &chunks); i-- > 0;)
		bytes += chunks[i].size_bytes;
	begin = cpu_s(RUSAGE_SELF);
	user = user_s();
	if (hg_cursor_open(r, NULL, &c))
		exit(1);
	while ((got = hg_cursor_run(c, &recs)) > 0) {
		for (int i = 0; i < got; i++)
			sum += recs[i]->f[0];
		records += (uint64_t)got;
	}
	end = cpu_s(RUSAGE_SELF);
	user = user_s() - user;
	assert(records == n);
	printf("read: open %.1f ms, then %.1f ns/record = %.1f M records/s (%.3f s user per "
	       "million); "
	       "%.2f bytes/record; check %" PRIx64 "\n",
	       (begin - open_begin) * 1e3, (end - begin) * 1e9 / (double)n,
	       (double)n / (end - begin) / 1e6, user * 1e6 / (double)n, (double)bytes / (double)n,
	       sum);
	hg_cursor_close(c);
	hg_reader_close(r);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atoi(argv[1]) * 1000000 : 4000000;
	char path[] = "/tmp/hg-bench-trace-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || !n)
		return 1;
	close(fd);
	bench_write(path, n);
	bench_read(path, n);
	unlink(path);
	return 0;
}
