/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks that are full: one message, the same error for ever after, and a file that is whole up to
 * its last whole chunk. And the bound on what waits for the disk.
 */
#include "tests/trace/hg_trace_samples.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "trace/hg_sink.h"

/* Writes until the first error, at most n records. */
static int write_until_error(struct hg_writer *w, size_t n)
{
	uint64_t seed = 1;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct hg_record rec;

		/* Random values: they do not compress. */
		sample_record(&seed, HG_KIND_CPU_TIMES, i, &rec);
		for (unsigned int f = 0; f < 9; f++)
			rec.f[f] = sample_random(&seed);
		err = hg_writer_record(w, 0, HG_STREAM_CPU0 + (uint32_t)(i % 2), &rec);
		if (!err && !(i % 100))
			err = hg_writer_round(w, i * 50000000);
	}
	return err;
}

/* All bytes belong to whole chunks, and records are those written first in each stream. */
static void check_whole_prefix(const char *path)
{
	struct sample_log log = {0};
	struct sample_list got = {0};
	const struct hg_chunk_info *chunks;
	struct hg_reader *r;
	struct stat st;
	uint64_t size = HG_FILE_HEADER_SIZE, next[2] = {0, 1};
	size_t n;

	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_reader_open(path, &r), 0);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
	assert_false(hg_reader_health(r)->finalised);
	assert_int_equal(hg_reader_health(r)->chunks_missing, 0);
	n = hg_reader_chunks(r, &chunks);
	for (size_t i = 0; i < n; i++)
		size += chunks[i].size_bytes;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, size);
	sample_list_read(r, NULL, &got);
	assert_true(got.n > 0);
	for (size_t i = 0; i < got.n; i++) {
		uint64_t *want = &next[got.v[i].stream - HG_STREAM_CPU0];

		assert_int_equal(got.v[i].time_ns, *want);
		*want += 2;
	}
	hg_reader_close(r);
	sample_list_free(&got);
}

static void check_full_disk(int fd, const char *path, int want_err)
{
	struct sample_log log = {0};
	struct hg_writer *w;
	struct hg_record rec = {.kind = HG_KIND_EXIT, .time_ns = UINT64_MAX};
	struct hg_writer_stats stats;
	uint32_t id;

	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_writer_open(fd, path, &w), 0);
	assert_int_equal(write_until_error(w, 1000000), want_err);
	/* Sticky, everywhere. */
	assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &rec), want_err);
	assert_int_equal(hg_writer_round(w, UINT64_MAX), want_err);
	assert_int_equal(hg_writer_string(w, "x", 1, &id), want_err);
	assert_int_equal(hg_writer_blob(w, HG_CHUNK_ENVIRONMENT, 0, 0, "{}", 2), want_err);
	hg_writer_stats_get(w, &stats);
	assert_true(stats.bytes_out > HG_FILE_HEADER_SIZE);
	assert_int_equal(hg_writer_close(w), want_err);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
	assert_non_null(strstr(log.last, path));
	assert_non_null(strstr(log.last, strerror(-want_err)));
	check_whole_prefix(path);
}

/* The signal stays with its default action, which kills: the writer's thread must not get it. */
static void file_size_limit(void **state)
{
	struct rlimit limit, old;
	sample_file_auto f;
	int fd = sample_file_new(&f);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (rlim_t at = 100000; at < 100200; at += 40) {
		limit = (struct rlimit){.rlim_cur = at, .rlim_max = old.rlim_max};
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		check_full_disk(dup(fd), f.path, -EFBIG);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	}
	close(fd);
}

static void full_disk(void **state)
{
	char dir[] = "/tmp/hg-trace-full-XXXXXX", path[64];
	int fd;

	assert_non_null(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=256k")) {
		print_message("skip: cannot mount a small tmpfs (%s)\n", strerror(errno));
		rmdir(dir);
		skip();
	}
	snprintf(path, sizeof(path), "%s/full.hgt", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	check_full_disk(fd, path, -ENOSPC);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	rmdir(dir);
}

/* The index or the header finds no room: the data stays, and the header does not say "finalised". */
static void limit_at_the_end(void **state)
{
	sample_file_auto whole, f;
	struct sample_log log = {0};
	struct rlimit limit, old;
	struct hg_writer *w;
	struct stat st;
	int fd = sample_file_new(&f);

	assert_int_equal(hg_writer_open(sample_file_new(&whole), whole.path, &w), 0);
	assert_int_equal(write_until_error(w, 500), 0);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(stat(whole.path, &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){.rlim_cur = (rlim_t)st.st_size - 1, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_writer_open(fd, f.path, &w), 0);
	assert_int_equal(write_until_error(w, 500), 0);
	assert_int_equal(hg_writer_close(w), -EFBIG);
	hg_log_set(NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(log.messages, 1);
	check_whole_prefix(f.path);
}

static void file_that_is_not_writable(void **state)
{
	struct sample_log log = {0};
	struct hg_writer *w;

	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_writer_open(open("/dev/null", O_RDONLY), "null", &w), -EBADF);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
}

static void queue_is_bounded(void **state)
{
	hg_autofree uint64_t *noise = malloc(HG_CHUNK_RAW_MAX);
	struct hg_writer_stats stats;
	struct hg_writer *w;
	sample_file_auto f;
	uint64_t seed = 1;

	assert_non_null(noise);
	for (size_t i = 0; i < HG_CHUNK_RAW_MAX / 8; i++)
		noise[i] = sample_random(&seed);
	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(hg_writer_blob(w, 99, 0, i, noise, HG_CHUNK_RAW_MAX), 0);
	assert_int_equal(hg_writer_blob(w, 99, 0, 0, noise, HG_CHUNK_RAW_MAX + 1), -E2BIG);
	hg_writer_stats_get(w, &stats);
	assert_true(stats.queued_bytes_max >= HG_CHUNK_RAW_MAX);
	assert_true(stats.queued_bytes_max <= HG_SINK_QUEUE_MAX);
	assert_int_equal(hg_writer_close(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_size_limit),  cmocka_unit_test(full_disk),
		cmocka_unit_test(limit_at_the_end), cmocka_unit_test(file_that_is_not_writable),
		cmocka_unit_test(queue_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
