/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disks' part of the environment: block devices with their queues, file systems that a process uses, and pressure. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"

#define DISKS_MAX	128
#define FILES_MAX	64 /* open files of a process that are looked at */
#define FILESYSTEMS_MAX 16
#define SECTOR_BYTES	512

static json_t *disk(const char *name)
{
	static const struct {
		const char *key, *file;
		enum env_line_type type;
	} files[] = {
		{"device", "dev", ENV_TEXT},
		{"model", "device/model", ENV_TEXT},
		{"rotational", "queue/rotational", ENV_YES},
		{"scheduler", "queue/scheduler", ENV_CHOSEN},
		{"queue_depth", "queue/nr_requests", ENV_NUMBER},
		{"read_ahead_kib", "queue/read_ahead_kb", ENV_NUMBER},
		{"write_cache", "queue/write_cache", ENV_TEXT},
		{"throttle_latency_us", "queue/wbt_lat_usec", ENV_NUMBER},
		{"request_kib_max", "queue/max_sectors_kb", ENV_NUMBER},
		{"block_bytes", "queue/logical_block_size", ENV_NUMBER},
	};
	json_t *object = json_object();
	hg_autoclosedir DIR *queues = NULL;
	char path[384], text[64];
	struct dirent *entry;
	json_int_t count = 0;

	env_set_string(object, "name", name);
	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	if (!hg_file_line(path, text, sizeof(text)))
		json_object_set_new(
			object, "size_bytes",
			json_integer((json_int_t)strtoull(text, NULL, 10) * SECTOR_BYTES));
	for (size_t i = 0; i < HG_ARRAY_SIZE(files); i++) {
		struct env_line line = {files[i].key, path, files[i].type};

		snprintf(path, sizeof(path), "/sys/block/%s/%s", name, files[i].file);
		env_set_lines(object, &line, 1);
	}
	snprintf(path, sizeof(path), "/sys/block/%s/mq", name);
	queues = opendir(path);
	while (queues && (entry = readdir(queues)))
		count += entry->d_name[0] != '.';
	if (count)
		json_object_set_new(object, "queues", json_integer(count));
	return object;
}

/* Loop devices and the like are there by the dozen without a medium. */
static bool disk_has_medium(const char *name)
{
	char path[320], text[64];

	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	return !hg_file_line(path, text, sizeof(text)) && strtoull(text, NULL, 10);
}

json_t *env_disks(void)
{
	hg_autoclosedir DIR *dir = opendir("/sys/block");
	json_t *array = json_array();
	struct dirent *entry;

	while (dir && json_array_size(array) < DISKS_MAX && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && disk_has_medium(entry->d_name))
			json_array_append_new(array, disk(entry->d_name));
	}
	return array;
}

json_t *env_pressure(void)
{
	static const char *const resources[] = {"cpu", "io", "memory", "irq"};
	json_t *object = json_object();
	char path[64], text[256];

	for (size_t i = 0; i < HG_ARRAY_SIZE(resources); i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
		n = hg_file_read(path, text, sizeof(text));
		if (n == -ENOENT)
			env_set_string(object, resources[i], "not in this kernel");
		else if (n == -EOPNOTSUPP)
			env_set_string(object, resources[i], "switched off: boot with psi=1");
		else
			env_set_string(object, resources[i], n < 0 ? strerror((int)-n) : "counted");
	}
	return object;
}

/* --- file systems --- */

struct devices {
	dev_t dev[FILESYSTEMS_MAX];
	size_t count;
};

static void device_add(struct devices *d, const char *path)
{
	struct statx st;
	dev_t dev;

	/* What is known here will do: a server of files that is gone must not stop us. */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) ||
	    !(S_ISREG(st.stx_mode) || S_ISDIR(st.stx_mode)))
		return;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (size_t i = 0; i < d->count; i++) {
		if (d->dev[i] == dev)
			return;
	}
	if (d->count < FILESYSTEMS_MAX)
		d->dev[d->count++] = dev;
}

static void devices_find(pid_t tgid, struct devices *d)
{
	static const char *const links[] = {"exe", "cwd", "root/."};
	hg_autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	char path[320];

	for (size_t i = 0; i < HG_ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", tgid, links[i]);
		device_add(d, path);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", tgid);
	dir = opendir(path);
	for (int i = 0; dir && i < FILES_MAX && (entry = readdir(dir)); i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", tgid, entry->d_name);
		if (entry->d_name[0] != '.')
			device_add(d, path);
	}
}

/* A line of mountinfo(5): ID parent major:minor root point options [optional ...] - type source options. */
static json_t *mount_parse(char *line, dev_t *dev_out)
{
	char *save = NULL, *word[6], *rest = strstr(line, " - "), *type, *source;
	unsigned int major, minor;
	json_t *object;

	if (!rest)
		return NULL;
	*rest = '\0';
	for (size_t i = 0; i < HG_ARRAY_SIZE(word); i++) {
		word[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!word[i])
			return NULL;
	}
	type = strtok_r(rest + 3, " ", &save);
	source = type ? strtok_r(NULL, " ", &save) : NULL;
	if (sscanf(word[2], "%u:%u", &major, &minor) != 2 || !source)
		return NULL;
	*dev_out = makedev(major, minor);
	object = json_object();
	env_set_string(object, "path", word[4]);
	env_set_string(object, "type", type);
	env_set_string(object, "device", word[2]);
	env_set_string(object, "source", source);
	env_set_string(object, "options", word[5]);
	return object;
}

json_t *env_filesystems(pid_t tgid)
{
	const size_t size = 1 << 20;
	hg_autofree char *text = malloc(size);
	json_t *array = json_array();
	struct devices d = {0};
	char path[64], *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", tgid);
	if (!text || hg_file_read(path, text, size) < 0)
		return array;
	devices_find(tgid, &d);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		dev_t dev = 0;
		json_t *object = mount_parse(l, &dev);
		size_t i = 0;

		while (i < d.count && d.dev[i] != dev)
			i++;
		if (!object || i == d.count) {
			json_decref(object);
			continue;
		}
		d.dev[i] = d.dev[--d.count]; /* once, at its first mount */
		json_array_append_new(array, object);
	}
	return array;
}
