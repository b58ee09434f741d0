/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what a user calls a cgroup to its identity: (hierarchy, id). Hierarchies are those that are mounted
 * here, in any place: a mount belongs to a hierarchy by its options, a directory to a mount by its device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/hg_cgroup.h"

#define MOUNTINFO_BYTES_MAX (1U << 20)
#define OWN_BYTES_MAX	    (16U << 10)
#define MOUNTS_MAX	    256
#define DEPTH_MAX	    8

struct mount {
	const char *root, *point, *options; /* options: "" in v2 */
	dev_t device;
};

struct mounts {
	struct mount v[MOUNTS_MAX];
	size_t count;
	char *text;
};

static void mounts_cleanup(struct mounts *m)
{
	free(m->text);
}

/* "30 22 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu": proc_pid_mountinfo(5) */
static bool mount_parse(char *line, struct mount *out)
{
	char *rest = strstr(line, " - "), *save = NULL, *type, *options, *device, *root, *point;
	unsigned int major_nr, minor_nr;

	if (!rest)
		return false;
	*rest = '\0';
	type = strtok_r(rest + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!type || !options || (strcmp(type, "cgroup") && strcmp(type, "cgroup2")))
		return false;
	strtok_r(line, " ", &save);
	strtok_r(NULL, " ", &save);
	device = strtok_r(NULL, " ", &save);
	root = strtok_r(NULL, " ", &save);
	point = strtok_r(NULL, " ", &save);
	if (!device || !root || !point || sscanf(device, "%u:%u", &major_nr, &minor_nr) != 2)
		return false;
	hg_cgroup_unescape(root);
	hg_cgroup_unescape(point);
	*out = (struct mount){.root = root,
			      .point = point,
			      .options = strcmp(type, "cgroup2") ? options : "",
			      .device = makedev(major_nr, minor_nr)};
	return true;
}

static int mounts_read(const char *mountinfo, struct mounts *m)
{
	char *save = NULL;
	ssize_t n;

	m->text = malloc(MOUNTINFO_BYTES_MAX);
	if (!m->text)
		return -ENOMEM;
	n = hg_file_read(mountinfo, m->text, MOUNTINFO_BYTES_MAX);
	if (n < 0)
		return (int)n;
	for (char *line = strtok_r(m->text, "\n", &save); line && m->count < MOUNTS_MAX;
	     line = strtok_r(NULL, "\n", &save))
		m->count += mount_parse(line, &m->v[m->count]);
	return 0;
}

/* -- hierarchies -- */

/* A hierarchy has each of its controllers to itself: the first tells which mount is of it. */
static bool mount_is_of(const struct mount *m, const char *hierarchy)
{
	char first[sizeof(((struct hg_cgroup_found *)0)->hierarchy)];

	if (!*m->options || !*hierarchy)
		return !*m->options && !*hierarchy;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(hierarchy, ","), hierarchy);
	return hg_cgroup_list_has(m->options, first);
}

/* Which line of /proc/self/cgroup, "5:cpu,cpuacct:/path", the mount is of; false: none. */
static bool hierarchy_find(const char *own, const struct mount *m, struct hg_cgroup_found *out)
{
	char text[OWN_BYTES_MAX], *save = NULL;

	if (hg_file_read(own, text, sizeof(text)) < 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;

		if (!end)
			continue;
		*list++ = *end = '\0';
		if (!mount_is_of(m, list))
			continue;
		out->hierarchy_id = (uint32_t)strtoul(line, NULL, 10);
		return (size_t)snprintf(out->hierarchy, sizeof(out->hierarchy), "%s", list) <
		       sizeof(out->hierarchy);
	}
	return false;
}

/* The path in the hierarchy: the mount may show only what is below its root. */
static bool path_set(const struct mount *m, struct hg_cgroup_found *out)
{
	const char *root = m->root[1] ? m->root : "";
	const char *below = out->directory + strlen(m->point);

	if (!*root && !*below)
		below = "/";
	return (size_t)snprintf(out->path, sizeof(out->path), "%s%s", root, below) <
	       sizeof(out->path);
}

static const struct mount *mount_of(const struct mounts *mounts, const char *directory,
				    dev_t device)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->v[i];
		size_t n = strlen(m->point);

		if (m->device == device && !strncmp(directory, m->point, n) &&
		    (!directory[n] || directory[n] == '/') && (!best || n > strlen(best->point)))
			best = m;
	}
	return best;
}

/* -ENOENT: there is no such directory; -ENOTDIR: it is there, but no cgroup. */
static int directory_take(const struct mounts *mounts, const char *own, const char *name,
			  struct hg_cgroup_found *out)
{
	hg_autofree struct hg_cgroup_found *found = calloc(1, sizeof(*found));
	const struct mount *m;
	struct stat st;

	if (!found)
		return -ENOMEM;
	if (!realpath(name, found->directory) || stat(found->directory, &st))
		return errno == ENOTDIR ? -ENOTDIR : -ENOENT;
	m = S_ISDIR(st.st_mode) ? mount_of(mounts, found->directory, st.st_dev) : NULL;
	if (!m || !hierarchy_find(own, m, found) || !path_set(m, found))
		return -ENOTDIR;
	/* kernfs_ino(): the inode number is the id */
	found->id = st.st_ino;
	*out = *found;
	return 0;
}

/* -- by its path in a hierarchy -- */

/* The first choice is 0: limits of the CPU are found there. */
static int rank(const struct mount *m)
{
	if (!*m->options)
		return 1;
	return hg_cgroup_list_has(m->options, "cpu") ? 0 : 2;
}

static int hierarchies_search(const struct mounts *mounts, const char *own, const char *name,
			      struct hg_cgroup_found *out)
{
	char path[2 * PATH_MAX];

	for (int r = 0; r <= 2; r++) {
		for (size_t i = 0; i < mounts->count; i++) {
			const struct mount *m = &mounts->v[i];

			if (rank(m) == r &&
			    (size_t)snprintf(path, sizeof(path), "%s/%s", m->point, name) <
				    sizeof(path) &&
			    !directory_take(mounts, own, path, out))
				return 0;
		}
	}
	return -ENOENT;
}

int hg_cgroup_find_in(const char *mountinfo, const char *own, const char *name,
		      struct hg_cgroup_found *out, const char **why_out)
{
	__attribute__((cleanup(mounts_cleanup))) struct mounts mounts = {.count = 0};
	int err = mounts_read(mountinfo, &mounts), as_directory;

	if (err) {
		*why_out = "where cgroups are mounted cannot be read";
		return err;
	}
	if (!mounts.count) {
		*why_out = "no cgroup hierarchy is mounted here";
		return -ENOENT;
	}
	as_directory = name[0] == '/' ? directory_take(&mounts, own, name, out) : -ENOENT;
	if (!as_directory) {
		out->in_file_system = true;
		return 0;
	}
	if (!hierarchies_search(&mounts, own, name, out)) {
		out->in_file_system = false;
		return 0;
	}
	if (as_directory == -ENOTDIR)
		*why_out = "that is no directory of a cgroup hierarchy";
	else
		*why_out = "there is no such cgroup, neither as a directory nor in a hierarchy "
			   "that is mounted";
	return as_directory;
}

int hg_cgroup_find(const char *name, struct hg_cgroup_found *out, const char **why_out)
{
	return hg_cgroup_find_in("/proc/self/mountinfo", "/proc/self/cgroup", name, out, why_out);
}

/* -- processes -- */

static size_t processes_of(const char *directory, pid_t *out, size_t max)
{
	hg_autofclose FILE *f = NULL;
	char path[PATH_MAX];
	size_t n = 0;
	int pid;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", directory) >= sizeof(path))
		return 0;
	f = fopen(path, "re");
	while (f && n < max && fscanf(f, "%d", &pid) == 1) {
		if (pid > 0)
			out[n++] = pid;
	}
	return n;
}

static size_t processes_below(const char *directory, pid_t *out, size_t max, int depth)
{
	size_t n = processes_of(directory, out, max);
	hg_autoclosedir DIR *dir = opendir(directory);
	const struct dirent *entry;
	char path[PATH_MAX];

	while (dir && depth && n < max && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) <
			    sizeof(path))
			n += processes_below(path, out + n, max - n, depth - 1);
	}
	return n;
}

size_t hg_cgroup_processes(const char *directory, pid_t *out, size_t max)
{
	return processes_below(directory, out, max, DEPTH_MAX);
}
