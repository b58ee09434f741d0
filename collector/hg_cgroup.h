/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU side of cgroups, v1 and v2: where the hierarchy is mounted, which cgroup a task is in,
 * its limits and totals. Used by the sampler, the environment and check.
 */
#ifndef HG_CGROUP_H
#define HG_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hg_cgroup_mount {
	char root[PATH_MAX];  /* the cgroup that is mounted, "/" mostly; "" when there is no such
				 mount */
	char point[PATH_MAX]; /* where */
};

struct hg_cgroup_mounts {
	struct hg_cgroup_mount cpu, cpuacct; /* v1 */
	struct hg_cgroup_mount unified;	     /* v2 */
};

/* A cgroup's totals and limits; what is not known is 0. */
struct hg_cgroup_cpu {
	uint64_t periods, throttled; /* enforcement periods; those in which it was throttled */
	uint64_t throttled_ns;	     /* summed over CPUs, as the kernel counts it */
	uint64_t usage_ns;
	uint64_t quota_us, period_us; /* quota 0: no limit */
};

/* What tells a task's cgroup: the path below the mount, "/" for its root. */
struct hg_cgroup_place {
	char path[PATH_MAX];
	bool v2;
	bool usage; /* v1: cpuacct.usage of the same path is of the same tasks */
};

/* From /proc/self/mountinfo. 0 or -errno; a hierarchy that is not mounted is no error. */
int hg_cgroup_mounts_read(struct hg_cgroup_mounts *out);
/* The same from text (which is changed). */
void hg_cgroup_mounts_parse(char *text, struct hg_cgroup_mounts *out);

/*
 * Finds the cpu cgroup in the text of a /proc/PID/cgroup (which is changed): v1's hierarchy with
 * the cpu controller if one is mounted, else v2. -ENOENT: none, or it is outside of what is
 * mounted.
 */
int hg_cgroup_place_parse(const struct hg_cgroup_mounts *m, char *text,
			  struct hg_cgroup_place *out);
/* tid 0: the caller. 0 or -errno. */
int hg_cgroup_place_find(const struct hg_cgroup_mounts *m, pid_t tgid, pid_t tid,
			 struct hg_cgroup_place *out);

/* Turns a path below the mount into that of its parent; false at the root, which has none. */
bool hg_cgroup_path_parent(char *path);

/* The names of the files of a cgroup that tell hg_cgroup_cpu; a file may be missing (a root has
 * few). */
enum hg_cgroup_file {
	HG_CGROUP_STAT,
	HG_CGROUP_QUOTA,
	HG_CGROUP_PERIOD,
	HG_CGROUP_USAGE,
	HG_CGROUP_FILES
};
/* false: that version has no such file (v2's cpu.max is HG_CGROUP_QUOTA, its usage is in cpu.stat).
 */
bool hg_cgroup_file_path(const struct hg_cgroup_mounts *m, const struct hg_cgroup_place *place,
			 enum hg_cgroup_file file, char *buf, size_t size);
/* Takes the figures out of a file's text; unknown keys and values that are no numbers are skipped.
 */
void hg_cgroup_file_parse(bool v2, enum hg_cgroup_file file, const char *text,
			  struct hg_cgroup_cpu *into);

/* All of it at once, for those that read it rarely. Files that cannot be read leave zeros. */
void hg_cgroup_cpu_read(const struct hg_cgroup_mounts *m, const struct hg_cgroup_place *place,
			struct hg_cgroup_cpu *out);

#endif
