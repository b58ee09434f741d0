/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of block devices, found when the first request to one is complete. */
#include <errno.h>
#include <string.h>

#include <uthash.h>

#include "collector/probes_internal.h"

struct hg_blockdev {
	uint32_t dev;
	UT_hash_handle hh;
};

/* /sys/dev/block/7:0 is a link to .../block/loop0. "": it is gone, or sysfs is not there. */
static void name_read(uint32_t dev, char *name, size_t size)
{
	char path[64], target[512];
	ssize_t n;

	name[0] = 0;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = 0;
	snprintf(name, size, "%.*s", (int)size - 1,
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

int hg_probes_blockdev_define(struct hg_probes *p, struct hg_writer *w, uint32_t dev,
			      uint64_t time_ns)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_BLOCKDEV};
	struct hg_blockdev *known;
	uint32_t id;
	char name[64];
	int rc;

	HASH_FIND(hh, p->blockdevs, &dev, sizeof(dev), known);
	if (known)
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->dev = dev;
	HASH_ADD(hh, p->blockdevs, dev, sizeof(known->dev), known);
	name_read(dev, name, sizeof(name));
	rc = hg_writer_string(w, name, strlen(name), &id);
	if (rc)
		return rc;
	rec.f[HG_BLOCKDEV_DEV] = dev;
	rec.f[HG_BLOCKDEV_NAME] = id;
	return hg_probes_definition_add(p, &rec);
}

void hg_probes_blockdev_free(struct hg_probes *p)
{
	struct hg_blockdev *dev, *next;

	HASH_ITER (hh, p->blockdevs, dev, next) {
		HASH_DEL(p->blockdevs, dev);
		free(dev);
	}
}
