/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to a block device, a loop device of our own: against /proc/diskstats and the asker's clock. */
#include "probes_fixture.h"

#include <inttypes.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define FILE_BYTES  (16 << 20)
#define WRITES	    150
#define WRITE_BYTES 65536
#define READS	    100
#define READ_BYTES  16384

static char device[64];
static int device_fd = -1;
static uint64_t *calls_ns; /* shared with the child: what its reads and writes took */

/* NULL, or what is missing. */
static const char *device_make(void)
{
	char path[] = "/tmp/hg-test-loop-XXXXXX";
	hg_autoclose int file = mkstemp(path),
			 control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (file < 0 || ftruncate(file, FILE_BYTES))
		return "a file of 16 MiB in /tmp";
	unlink(path);
	if (control < 0)
		return "/dev/loop-control";
	for (int i = 0; i < 10; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		struct loop_info64 info = {.lo_flags = LO_FLAGS_AUTOCLEAR};

		snprintf(device, sizeof(device), "/dev/loop%d", number);
		device_fd = open(device, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (device_fd >= 0 && !ioctl(device_fd, LOOP_SET_FD, file)) {
			ioctl(device_fd, LOOP_SET_STATUS64,
			      &info); /* gone with the last that has it open */
			return NULL;
		}
		hg_cleanup_close(&device_fd);
	}
	return "a free loop device";
}

static void reads_and_writes(void *arg)
{
	void *buf = aligned_alloc(4096, WRITE_BYTES);
	uint64_t begin_ns = hg_now_ns();

	(void)arg;
	memset(buf, 7, WRITE_BYTES);
	for (off_t i = 0; i < WRITES; i++) {
		if (pwrite(device_fd, buf, WRITE_BYTES, i * WRITE_BYTES) != WRITE_BYTES)
			_exit(1);
	}
	for (off_t i = 0; i < READS; i++) {
		if (pread(device_fd, buf, READ_BYTES, i * READ_BYTES) != READ_BYTES)
			_exit(1);
	}
	*calls_ns = hg_now_ns() - begin_ns;
	fsync(device_fd);
}

struct disk {
	uint64_t reads, read_sectors, writes, write_sectors;
};

static struct disk disk_read(void)
{
	hg_autofclose FILE *f = fopen("/proc/diskstats", "re");
	struct disk d = {0};
	char line[512], name[64];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "%*d %*d %63s %" SCNu64 " %*d %" SCNu64 " %*d %" SCNu64 " %*d %" SCNu64,
			   name, &d.reads, &d.read_sectors, &d.writes, &d.write_sectors) == 5 &&
		    !strcmp(name, device + strlen("/dev/")))
			return d;
	}
	fail_msg("%s is not in /proc/diskstats", device);
	return d;
}

static void test_requests(void **state)
{
	struct child child = child_start(reads_and_writes, NULL);
	struct hg_probes_opts opts = {0};
	uint64_t dev, n[2] = {0}, bytes[2] = {0}, flushes = 0, took_ns = 0, lane, begin_ns;
	bool named = false;
	struct disk before, after;
	struct recording r;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(device_fd, &st), 0);
	dev = (uint64_t)major(st.st_rdev) << 20 | minor(st.st_rdev);
	recording_begin(&r, &opts);
	assert_int_equal(hg_probes_root_add(r.p, child.pid, HG_ROLEF_TARGET, 0), 0);
	recording_attach(&r);
	before = disk_read();
	begin_ns = hg_now_ns();
	child_go(&child);
	while (!waitpid(child.pid, NULL, WNOHANG))
		recording_run(&r, 20);
	after = disk_read();
	recording_end(&r);
	assert_int_equal(hg_probes_lost(r.p), 0);
	lane = recording_lane(&r, child.pid);
	for (size_t i = 0; i < r.n; i++) {
		const struct hg_record *rec = &r.recs[i];
		uint64_t op = rec->f[HG_BLOCK_IO_OP];

		if (rec->kind == HG_KIND_BLOCKDEV && rec->f[HG_BLOCKDEV_DEV] == dev) {
			size_t length;
			const char *name = hg_reader_string(
				r.reader, (uint32_t)rec->f[HG_BLOCKDEV_NAME], &length);

			assert_int_equal(length, strlen(device + strlen("/dev/")));
			assert_memory_equal(name, device + strlen("/dev/"), length);
			named = true;
		}
		if (rec->kind != HG_KIND_BLOCK_IO || rec->f[HG_BLOCK_IO_DEV] != dev ||
		    rec->time_ns < begin_ns)
			continue;
		assert_int_equal(rec->f[HG_BLOCK_IO_ERROR], 0);
		/* A flush is issued by a kernel thread (blk_insert_flush()). */
		assert_int_equal(rec->f[HG_BLOCK_IO_LANE], op == HG_BLOCK_FLUSH ? 0 : lane);
		assert_true(rec->time_ns - rec->f[HG_BLOCK_IO_DEVICE_NS] -
				    rec->f[HG_BLOCK_IO_QUEUE_NS] >=
			    begin_ns);
		flushes += op == HG_BLOCK_FLUSH;
		if (op > HG_BLOCK_WRITE)
			continue;
		n[op]++;
		bytes[op] += rec->f[HG_BLOCK_IO_BYTES];
		took_ns += rec->f[HG_BLOCK_IO_DEVICE_NS] + rec->f[HG_BLOCK_IO_QUEUE_NS];
	}
	print_message("%s: %" PRIu64 " reads of %" PRIu64 " bytes, %" PRIu64 " writes of %" PRIu64
		      " bytes, %" PRIu64 " flushes; took %.1f ms of %.1f ms in the asker's calls\n",
		      device, n[0], bytes[0], n[1], bytes[1], flushes, (double)took_ns / 1e6,
		      (double)*calls_ns / 1e6);
	assert_true(named);
	assert_int_equal(n[0], after.reads - before.reads);
	assert_int_equal(bytes[0], 512 * (after.read_sectors - before.read_sectors));
	/* The request for a flush is a write without data there. */
	assert_int_equal(n[1] + flushes, after.writes - before.writes);
	assert_int_equal(bytes[1], 512 * (after.write_sectors - before.write_sectors));
	assert_int_equal(bytes[0], READS * READ_BYTES);
	assert_int_equal(bytes[1], WRITES * WRITE_BYTES);
	assert_true(flushes >= 1);
	/* One at a time: requests take no longer than the calls, and are most of them. */
	assert_true(took_ns <= *calls_ns && took_ns > *calls_ns / 4);
	recording_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests)};
	int rc = probes_skip();
	const char *missing;

	if (rc)
		return rc;
	missing = device_make();
	if (missing) {
		printf("skip: %s\n", missing);
		return 77;
	}
	calls_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (calls_ns == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
