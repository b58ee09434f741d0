/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DISK: /proc/diskstats, each whole device that ever had a request. */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/sampler_private.h"

#define DISKS_MAX      128 /* that are recorded */
#define KNOWN_MAX      1024
#define TEXT_BYTES_MAX (128 << 10)
#define SECTOR_BYTES   512 /* of diskstats, whatever the device's is */
#define NSEC_PER_MSEC  UINT64_C(1000000)

struct disks {
	struct sampler_file file;
	/* Devices that were looked up: a partition's requests are counted by its device too. */
	struct {
		uint64_t dev;
		bool whole;
	} known[KNOWN_MAX];
	size_t known_count, kept;
	char text[TEXT_BYTES_MAX];
};

bool sampler_disk_parse(const char *line, char name[static 64], uint64_t f[static 19])
{
	/* diskstats_show() in block/genhd.c; discards came with 4.18, flushes with 5.5 */
	static const struct {
		int field;
		uint64_t unit;
	} columns[] = {
		{HG_DISK_READS, 1},
		{HG_DISK_READS_MERGED, 1},
		{HG_DISK_READ_BYTES, SECTOR_BYTES},
		{HG_DISK_READ_NS, NSEC_PER_MSEC},
		{HG_DISK_WRITES, 1},
		{HG_DISK_WRITES_MERGED, 1},
		{HG_DISK_WRITE_BYTES, SECTOR_BYTES},
		{HG_DISK_WRITE_NS, NSEC_PER_MSEC},
		{HG_DISK_IN_FLIGHT, 1},
		{HG_DISK_IO_NS, NSEC_PER_MSEC},
		{HG_DISK_QUEUE_NS, NSEC_PER_MSEC},
		{HG_DISK_DISCARDS, 1},
		{HG_DISK_DISCARDS_MERGED, 1},
		{HG_DISK_DISCARD_BYTES, SECTOR_BYTES},
		{HG_DISK_DISCARD_NS, NSEC_PER_MSEC},
		{HG_DISK_FLUSHES, 1},
		{HG_DISK_FLUSH_NS, NSEC_PER_MSEC},
	};
	unsigned int major, minor;
	int at = 0;
	size_t i;

	memset(f, 0, 19 * sizeof(*f));
	if (sscanf(line, " %u %u %63s%n", &major, &minor, name, &at) != 3 || !at)
		return false;
	f[HG_DISK_DEV] = (uint64_t)major << 20 | minor;
	line += at;
	for (i = 0; i < HG_ARRAY_SIZE(columns) && *line == ' '; i++) {
		char *end;
		uint64_t v = strtoull(line, &end, 10);

		if (end == line)
			return false;
		f[columns[i].field] = v * columns[i].unit;
		line = end;
	}
	return i >= 11; /* all that 2.6 had */
}

static int disks_init(struct hg_sampler *s, void **state)
{
	struct disks *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = sampler_file_init(s, SAMPLER_FILE_OTHER, &d->file, "/proc/diskstats");
	if (r) {
		free(d);
		return r;
	}
	*state = d;
	return 0;
}

/* A device is looked up once, when it has its first request. */
static bool disk_is_kept(struct disks *d, const uint64_t *f)
{
	uint64_t dev = f[HG_DISK_DEV];
	char path[80];
	bool whole;

	for (size_t i = 0; i < d->known_count; i++) {
		if (d->known[i].dev == dev)
			return d->known[i].whole;
	}
	if (d->known_count == KNOWN_MAX ||
	    !(f[HG_DISK_READS] | f[HG_DISK_WRITES] | f[HG_DISK_FLUSHES] | f[HG_DISK_DISCARDS]))
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", (unsigned int)(dev >> 20),
		 (unsigned int)(dev & 0xfffff));
	whole = access(path, F_OK) != 0;
	if (whole && d->kept++ >= DISKS_MAX) {
		if (d->kept == DISKS_MAX + 1)
			hg_warn("only %d block devices are sampled", DISKS_MAX);
		whole = false;
	}
	d->known[d->known_count].dev = dev;
	d->known[d->known_count++].whole = whole;
	return whole;
}

static int disks_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_DISK};
	struct disks *d = state;
	uint64_t time_ns;
	char name[64];
	uint32_t id;
	int r = 0;

	if (sampler_file_read_whole_at(&d->file, d->text, sizeof(d->text), &time_ns) <= 0)
		return 0;
	rec.time_ns = time_ns;
	for (char *at = d->text, *next; at && *at && !r; at = next) {
		next = strchr(at, '\n');
		if (!next)
			break; /* cut off */
		*next++ = '\0';
		if (!sampler_disk_parse(at, name, rec.f) || !disk_is_kept(d, rec.f))
			continue;
		r = hg_writer_string(pass->w, name, strlen(name), &id);
		rec.f[HG_DISK_NAME] = id;
		if (!r)
			r = sampler_write(pass, &rec);
	}
	return r;
}

static void disks_free(struct hg_sampler *s, void *state)
{
	struct disks *d = state;

	sampler_file_close(s, SAMPLER_FILE_OTHER, &d->file);
	free(d);
}

const struct sampler_ops sampler_disk = {
	.name = "disk",
	.init = disks_init,
	.sample = disks_sample,
	.free = disks_free,
};
