/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU side of cgroups, v1 and v2: where the hierarchy is mounted, which cgroup a task is in,
 * its limits and totals. Used by the sampler, the environment and check. And finding the cgroup that a
 * user means (cgroup_find.c), used by the session.
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

/* -- cgroup_find.c -- */

/* In place: what mountinfo writes as \ooo. */
void hg_cgroup_unescape(char *s);
/* Is word one of those of a list with commas? */
bool hg_cgroup_list_has(const char *list, const char *word);

struct hg_cgroup_found {
	char directory[PATH_MAX]; /* in the file system, without links */
	char path[PATH_MAX];	  /* in its hierarchy: "/docker/1234" */
	char hierarchy
		[128]; /* controllers of a v1 hierarchy, or its name ("name=systemd"); "" in v2 */
	uint32_t hierarchy_id; /* as in /proc/PID/cgroup */
	uint64_t id;	       /* unique in its hierarchy */
	bool in_file_system;   /* as it was given; false: looked for in the hierarchies */
};

/*
 * A cgroup by the path of its directory, or else by its path in a hierarchy: of those that have it, v1's
 * with the cpu controller comes first, then v2, then the others. 0 or -errno; *why_out: what is wrong,
 * to follow the name of the cgroup.
 */
int hg_cgroup_find(const char *name, struct hg_cgroup_found *out, const char **why_out);
/* The same with other files in place of /proc/self/mountinfo and /proc/self/cgroup; for tests. */
int hg_cgroup_find_in(const char *mountinfo, const char *own, const char *name,
		      struct hg_cgroup_found *out, const char **why_out);

/* Processes in it and below, at most max; the number found. */
size_t hg_cgroup_processes(const char *directory, pid_t *out, size_t max);

#endif
