/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "base/hg_log.h"
#include "collector/hg_cgroup.h"
#include "collector/session_parts.h"

/* -- processes -- */

/* The process of a thread: /proc/TID is there for threads too. 0: gone. */
static pid_t tgid_of(pid_t pid)
{
	hg_autofclose FILE *f = NULL;
	char path[64], line[256];
	int tgid;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			return tgid;
	}
	return 0;
}

/* A pidfd is readable once the whole thread group is dead, zombies included. */
static bool pid_fd_dead(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void target_add(struct hg_targets *t, struct hg_target *target)
{
	t->v[t->count++] = *target;
	t->alive++;
}

static int process_open(struct hg_targets *t, pid_t pid)
{
	struct hg_target target = {.type = HG_TARGET_PROCESS};
	hg_autoclose int fd = -1;

	target.tgid = tgid_of(pid);
	for (size_t i = 0; i < t->count; i++) {
		if (t->v[i].tgid == target.tgid)
			return 0;
	}
	if (target.tgid)
		fd = (int)syscall(SYS_pidfd_open, target.tgid, 0);
	if (fd < 0 || pid_fd_dead(fd)) {
		hg_error("cannot record process %d: there is no such process%s", pid,
			 fd < 0 ? "" : " any more");
		return -ESRCH;
	}
	target.fd = HG_TAKE_FD(fd);
	target_add(t, &target);
	return 0;
}

/* -- cgroups -- */

static bool cgroup_same(const struct hg_cgroup_found *a, const struct hg_cgroup_found *b)
{
	return a->id == b->id && a->hierarchy_id == b->hierarchy_id;
}

static int cgroup_open(struct hg_targets *t, const char *name)
{
	hg_autofree struct hg_cgroup_found *found = calloc(1, sizeof(*found));
	struct hg_target target = {.type = HG_TARGET_CGROUP};
	const char *why;
	int err = found ? hg_cgroup_find(name, found, &why) : -ENOMEM;

	if (err == -ENOMEM)
		return err;
	if (err) {
		hg_error("cannot record cgroup %s: %s", name, why);
		return err;
	}
	for (size_t i = 0; i < t->count; i++) {
		if (t->v[i].cgroup && cgroup_same(t->v[i].cgroup, found))
			return 0;
	}
	target.fd = open(found->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target.fd < 0) {
		err = -errno;
		hg_error("cannot record cgroup %s: %s", name, strerror(-err));
		return err;
	}
	if (!found->in_file_system)
		hg_info("cgroup %s is %s, in the %s%s%s", name, found->directory,
			*found->hierarchy ? "v1 hierarchy " : "v2 hierarchy",
			*found->hierarchy ? "of " : "", found->hierarchy);
	target.cgroup = HG_TAKE_PTR(found);
	target_add(t, &target);
	return 0;
}

/* The directory of a removed cgroup has no files any more: kernfs_iop_lookup(). */
static bool cgroup_gone(int fd)
{
	return faccessat(fd, "cgroup.procs", F_OK, 0) && errno == ENOENT;
}

void session_targets_look(struct hg_targets *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->v[i].cgroup && t->v[i].fd >= 0 && cgroup_gone(t->v[i].fd)) {
			hg_debug("cgroup %s has been removed", t->v[i].cgroup->directory);
			session_targets_gone(t, i);
		}
	}
}

/* -- all of them -- */

/* The probes see pids of the initial namespace; PROC_PID_INIT_INO is its inode, in every kernel. */
bool hg_in_pid_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != 0xeffffffcU;
}

int session_targets_open(struct hg_targets *t, const struct hg_session_opts *o)
{
	size_t max = o->pids_count + o->cgroups_count;
	int err = 0;

	*t = (struct hg_targets){0};
	if (!max)
		return 0;
	t->v = calloc(max, sizeof(*t->v));
	if (!t->v)
		return -ENOMEM;
	for (size_t i = 0; i < o->pids_count && !err; i++)
		err = process_open(t, o->pids[i]);
	for (size_t i = 0; i < o->cgroups_count && !err; i++)
		err = cgroup_open(t, o->cgroups[i]);
	if (err)
		session_targets_clear(t);
	return err;
}

int session_targets_root_add(const struct hg_targets *t, struct hg_probes *p, uint32_t role)
{
	int err = 0;

	for (size_t i = 0; i < t->count && !err; i++) {
		const struct hg_target *target = &t->v[i];

		if (target->cgroup)
			err = hg_probes_cgroup_add(p, target->cgroup->hierarchy_id,
						   target->cgroup->id, role, (uint32_t)i);
		else
			err = hg_probes_root_add(p, target->tgid, role, (uint32_t)i);
	}
	return err;
}

size_t session_targets_processes(const struct hg_targets *t, pid_t *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count && n < max; i++) {
		if (t->v[i].cgroup)
			n += hg_cgroup_processes(t->v[i].cgroup->directory, out + n, max - n);
		else
			out[n++] = t->v[i].tgid;
	}
	return n;
}

static int target_write(struct hg_writer *w, size_t index, enum hg_target_type type, uint64_t id,
			const char *name, const char *hierarchy)
{
	struct hg_record rec = {.time_ns = hg_now_ns(), .kind = HG_KIND_TARGET};
	uint32_t string;
	int err;

	rec.f[HG_TARGET_INDEX] = index;
	rec.f[HG_TARGET_TYPE] = type;
	rec.f[HG_TARGET_ID] = id;
	err = hg_writer_string(w, name, strlen(name), &string);
	rec.f[HG_TARGET_NAME] = string;
	if (!err && *hierarchy) {
		err = hg_writer_string(w, hierarchy, strlen(hierarchy), &string);
		rec.f[HG_TARGET_HIERARCHY] = string;
	}
	return err ? err : hg_writer_record(w, 0, HG_STREAM_CONTROL, &rec);
}

static int target_describe(const struct hg_target *target, size_t index, struct hg_writer *w)
{
	const struct hg_cgroup_found *g = target->cgroup;
	char path[64], comm[64];

	if (g)
		return target_write(w, index, target->type, g->id, g->path, g->hierarchy);
	snprintf(path, sizeof(path), "/proc/%d/comm", target->tgid);
	if (hg_file_line(path, comm, sizeof(comm)))
		*comm = '\0';
	return target_write(w, index, target->type, (uint64_t)target->tgid, comm, "");
}

int session_targets_describe_command(pid_t pid, const char *program, struct hg_writer *w)
{
	const char *slash = strrchr(program, '/');

	return target_write(w, 0, HG_TARGET_PROCESS, (uint64_t)pid, slash ? slash + 1 : program,
			    "");
}

int session_targets_describe(const struct hg_targets *t, struct hg_writer *w)
{
	int err = 0;

	for (size_t i = 0; i < t->count && !err; i++)
		err = target_describe(&t->v[i], i, w);
	return err;
}

void session_targets_gone(struct hg_targets *t, size_t i)
{
	if (t->v[i].fd < 0)
		return;
	close(t->v[i].fd);
	t->v[i].fd = -1;
	t->alive--;
}

void session_targets_clear(struct hg_targets *t)
{
	for (size_t i = 0; i < t->count; i++) {
		hg_cleanup_close(&t->v[i].fd);
		free(t->v[i].cgroup);
	}
	free(t->v);
	*t = (struct hg_targets){0};
}
