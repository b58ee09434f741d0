/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's part of the environment: what it is, where it may run, what limits it. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"
#include "collector/hg_cgroup.h"

typedef unsigned long cpu_mask[ENV_CPUS_MAX / (8 * sizeof(long))];

static json_t *arguments(pid_t tgid)
{
	json_t *array = json_array();
	char path[64], text[ENV_TEXT_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", tgid);
	n = hg_file_read(path, text, sizeof(text));
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1)
		json_array_append_new(array, env_string(text + at));
	return array;
}

static const char *policy_name(int policy)
{
	static const char *const names[] = {"other", "fifo", "rr",	 "batch",
					    "iso",   "idle", "deadline", "ext"};
	int plain = policy & ~SCHED_RESET_ON_FORK;

	return plain >= 0 && plain < (int)HG_ARRAY_SIZE(names) ? names[plain] : NULL;
}

static void scheduling_set(json_t *object, pid_t tgid)
{
	struct sched_param param;
	int policy = sched_getscheduler(tgid), nice;

	if (policy >= 0)
		env_set_string(object, "policy", policy_name(policy));
	if (policy >= 0 && !sched_getparam(tgid, &param) && param.sched_priority)
		json_object_set_new(object, "rt_priority", json_integer(param.sched_priority));
	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)tgid);
	if (!errno)
		json_object_set_new(object, "nice", json_integer(nice));
}

static void affinity_count(json_t *sets, pid_t tid)
{
	char text[1024];
	cpu_mask mask;
	json_t *count;
	int n;

	memset(mask, 0, sizeof(mask));
	n = sched_getaffinity(tid, sizeof(mask), (cpu_set_t *)mask);
	if (n < 0)
		return;
	env_cpus_format(mask, sizeof(mask), text, sizeof(text));
	count = json_object_get(sets, text);
	if (!count && json_object_size(sets) >= ENV_SETS_MAX)
		return;
	json_object_set_new(sets, text, json_integer(json_integer_value(count) + 1));
}

/* "threads" and "affinity": {CPUs: threads that may run there}. */
static void threads_set(json_t *object, pid_t tgid)
{
	char path[64];
	hg_autoclosedir DIR *dir = NULL;
	json_t *sets = json_object();
	struct dirent *entry;
	unsigned int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && count++ < ENV_THREADS_MAX)
			affinity_count(sets, tid);
	}
	if (count)
		json_object_set_new(object, "threads", json_integer(count));
	env_set_new(object, "affinity", sets);
}

/* Every cgroup from the task's own to the root that has a CPU limit. */
static json_t *cpu_limits(const struct hg_cgroup_mounts *mounts, struct hg_cgroup_place *place)
{
	json_t *array = json_array();
	struct hg_cgroup_cpu cpu;

	do {
		hg_cgroup_cpu_read(mounts, place, &cpu);
		if (cpu.quota_us) {
			json_t *limit = json_object();

			env_set_string(limit, "path", place->path);
			json_object_set_new(limit, "quota_us",
					    json_integer((json_int_t)cpu.quota_us));
			json_object_set_new(limit, "period_us",
					    json_integer((json_int_t)cpu.period_us));
			json_array_append_new(array, limit);
		}
	} while (hg_cgroup_path_parent(place->path));
	return array;
}

static void cgroups_set(json_t *object, pid_t tgid)
{
	struct hg_cgroup_mounts *mounts = malloc(sizeof(*mounts));
	struct hg_cgroup_place *place = malloc(sizeof(*place));
	char path[64], text[ENV_TEXT_MAX], *save = NULL;
	json_t *lines = json_array();

	if (mounts && place && !hg_cgroup_mounts_read(mounts) &&
	    !hg_cgroup_place_find(mounts, tgid, tgid, place)) {
		env_set_string(object, "cpu_cgroup", place->path);
		env_set_new(object, "cpu_limits", cpu_limits(mounts, place));
	}
	free(mounts);
	free(place);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", tgid);
	if (hg_file_read(path, text, sizeof(text)) > 0) {
		for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
			json_array_append_new(lines, env_string(l));
	}
	env_set_new(object, "cgroups", lines);
}

json_t *env_target(pid_t tgid, bool no_args)
{
	json_t *object = json_object();
	char path[64], text[64];

	json_object_set_new(object, "pid", json_integer(tgid));
	snprintf(path, sizeof(path), "/proc/%d/comm", tgid);
	if (!hg_file_line(path, text, sizeof(text)))
		env_set_string(object, "comm", text);
	if (!no_args)
		env_set_new(object, "arguments", arguments(tgid));
	scheduling_set(object, tgid);
	threads_set(object, tgid);
	cgroups_set(object, tgid);
	env_set_new(object, "filesystems", env_filesystems(tgid));
	return object;
}
