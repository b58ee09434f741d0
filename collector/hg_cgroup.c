/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"

#define MOUNTINFO_BYTES_MAX (1U << 20) /* a host with thousands of containers */
#define CGROUP_BYTES_MAX    (16U << 10)

/* mountinfo writes space, tab, newline and backslash as \ooo (seq_path, fs/proc_namespace.c). */
void hg_cgroup_unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

bool hg_cgroup_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list; s; s = strchr(s, ',')) {
		if (*s == ',')
			s++;
		if (!strncmp(s, word, n) && (!s[n] || s[n] == ','))
			return true;
	}
	return false;
}

/* Of several mounts of one hierarchy the one with the shortest root shows the most of it. */
static void mount_offer(struct hg_cgroup_mount *m, const char *root, const char *point)
{
	if (strlen(root) >= sizeof(m->root) || strlen(point) >= sizeof(m->point))
		return;
	if (m->root[0] && strlen(m->root) <= strlen(root))
		return;
	strcpy(m->root, root);
	strcpy(m->point, point);
}

/* "30 22 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu":
 * proc_pid_mountinfo(5) */
static void mount_parse(char *line, struct hg_cgroup_mounts *out)
{
	char *rest = strstr(line, " - "), *root, *point, *type, *options, *save = NULL;

	if (!rest)
		return;
	*rest = '\0';
	rest += 3;
	type = strtok_r(rest, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!type || !options || strncmp(type, "cgroup", 6))
		return;
	strtok_r(line, " ", &save);
	strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	root = strtok_r(NULL, " ", &save);
	point = strtok_r(NULL, " ", &save);
	if (!root || !point)
		return;
	hg_cgroup_unescape(root);
	hg_cgroup_unescape(point);
	if (!strcmp(type, "cgroup2"))
		mount_offer(&out->unified, root, point);
	else if (!strcmp(type, "cgroup") && hg_cgroup_list_has(options, "cpu"))
		mount_offer(&out->cpu, root, point);
	if (!strcmp(type, "cgroup") && hg_cgroup_list_has(options, "cpuacct"))
		mount_offer(&out->cpuacct, root, point);
}

void hg_cgroup_mounts_parse(char *text, struct hg_cgroup_mounts *out)
{
	char *save = NULL;

	memset(out, 0, sizeof(*out));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		mount_parse(line, out);
}

int hg_cgroup_mounts_read(struct hg_cgroup_mounts *out)
{
	hg_autofree char *text = malloc(MOUNTINFO_BYTES_MAX);
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = hg_file_read("/proc/self/mountinfo", text, MOUNTINFO_BYTES_MAX);
	if (n < 0)
		return (int)n;
	hg_cgroup_mounts_parse(text, out);
	return 0;
}

/* The part of a cgroup's path that lies below the mount's root; NULL when it is outside. */
static const char *path_below(const struct hg_cgroup_mount *m, const char *path)
{
	size_t n = strlen(m->root);

	if (!m->root[0] || path[0] != '/' || !strncmp(path, "/..", 3))
		return NULL;
	if (n == 1)
		return path;
	if (strncmp(path, m->root, n) || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n : "/";
}

int hg_cgroup_place_parse(const struct hg_cgroup_mounts *m, char *text, struct hg_cgroup_place *out)
{
	const char *cpu = NULL, *cpuacct = NULL, *unified = NULL, *path;
	char *save = NULL;
	bool v1 = false;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = '\0';
		list++;
		if (m->cpu.root[0] && hg_cgroup_list_has(list, "cpu")) {
			v1 = true;
			cpu = path_below(&m->cpu, at);
		}
		if (hg_cgroup_list_has(list, "cpuacct"))
			cpuacct = path_below(&m->cpuacct, at);
		if (!strcmp(line, "0:"))
			unified = path_below(&m->unified, at);
	}
	path = v1 ? cpu : unified;
	if (!path || strlen(path) >= sizeof(out->path))
		return -ENOENT;
	strcpy(out->path, path);
	out->v2 = !v1;
	out->usage = cpu && cpuacct && !strcmp(cpu, cpuacct);
	return 0;
}

int hg_cgroup_place_find(const struct hg_cgroup_mounts *m, pid_t tgid, pid_t tid,
			 struct hg_cgroup_place *out)
{
	char path[64], text[CGROUP_BYTES_MAX];
	hg_autoclose int fd = -1;
	ssize_t n;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", tgid, tid);
	else
		snprintf(path, sizeof(path), "/proc/thread-self/cgroup");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : hg_file_read_once(fd, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return hg_cgroup_place_parse(m, text, out);
}

bool hg_cgroup_path_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

bool hg_cgroup_file_path(const struct hg_cgroup_mounts *m, const struct hg_cgroup_place *place,
			 enum hg_cgroup_file file, char *buf, size_t size)
{
	static const char *const names[2][HG_CGROUP_FILES] = {
		{"cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage"},
		{"cpu.stat", "cpu.max", NULL, NULL},
	};
	const char *name = names[place->v2][file];
	const struct hg_cgroup_mount *mount = place->v2			? &m->unified
					      : file == HG_CGROUP_USAGE ? &m->cpuacct
									: &m->cpu;

	if (!name || (file == HG_CGROUP_USAGE && !place->usage))
		return false;
	return (size_t)snprintf(buf, size, "%s%s/%s", mount->point,
				place->path[1] ? place->path : "", name) < size;
}

/* The number after "key " at the start of a line; false if there is none. */
static bool key_find(const char *text, const char *key, uint64_t *out)
{
	size_t n = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		char *end;
		unsigned long long v;

		if (*line == '\n')
			line++;
		if (strncmp(line, key, n) || line[n] != ' ')
			continue;
		v = strtoull(line + n + 1, &end, 10);
		if (end == line + n + 1)
			return false;
		*out = v;
		return true;
	}
	return false;
}

/* A number, or "max" and -1 for none. */
static uint64_t limit_parse(const char *text, char **end)
{
	long long v = strtoll(text, end, 10);

	if (*end == text)
		*end += strcspn(text, " \n");
	return v > 0 ? (uint64_t)v : 0;
}

void hg_cgroup_file_parse(bool v2, enum hg_cgroup_file file, const char *text,
			  struct hg_cgroup_cpu *into)
{
	uint64_t v;
	char *end;

	switch (file) {
	case HG_CGROUP_STAT:
		key_find(text, "nr_periods", &into->periods);
		key_find(text, "nr_throttled", &into->throttled);
		key_find(text, "throttled_time", &into->throttled_ns);
		if (key_find(text, "throttled_usec", &v))
			into->throttled_ns = v * 1000;
		if (key_find(text, "usage_usec", &v))
			into->usage_ns = v * 1000;
		break;
	case HG_CGROUP_QUOTA:
		into->quota_us = limit_parse(text, &end);
		if (v2)
			into->period_us = limit_parse(end, &end);
		break;
	case HG_CGROUP_PERIOD:
		into->period_us = limit_parse(text, &end);
		break;
	case HG_CGROUP_USAGE:
		into->usage_ns = strtoull(text, NULL, 10);
		break;
	case HG_CGROUP_FILES:
		break;
	}
}

void hg_cgroup_cpu_read(const struct hg_cgroup_mounts *m, const struct hg_cgroup_place *place,
			struct hg_cgroup_cpu *out)
{
	char path[2 * PATH_MAX + 64], text[4096];

	memset(out, 0, sizeof(*out));
	for (int file = 0; file < HG_CGROUP_FILES; file++) {
		if (hg_cgroup_file_path(m, place, file, path, sizeof(path)) &&
		    hg_file_read(path, text, sizeof(text)) >= 0)
			hg_cgroup_file_parse(place->v2, file, text, out);
	}
}
