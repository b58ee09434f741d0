/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

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

static int target_open(struct hg_targets *t, pid_t pid)
{
	hg_autoclose int fd = -1;
	pid_t tgid = tgid_of(pid);

	for (size_t i = 0; i < t->count; i++) {
		if (t->tgids[i] == tgid)
			return 0;
	}
	if (tgid)
		fd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (fd < 0 || pid_fd_dead(fd)) {
		hg_error("cannot record process %d: there is no such process%s", pid,
			 fd < 0 ? "" : " any more");
		return -ESRCH;
	}
	t->tgids[t->count] = tgid;
	t->pid_fds[t->count] = HG_TAKE_FD(fd);
	t->count++;
	t->alive++;
	return 0;
}

/* The probes see pids of the initial namespace; PROC_PID_INIT_INO is its inode, in every kernel. */
bool hg_in_pid_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != 0xeffffffcU;
}

int session_targets_open(struct hg_targets *t, const pid_t *pids, size_t count)
{
	int err = 0;

	*t = (struct hg_targets){0};
	if (!count)
		return 0;
	t->tgids = calloc(count, sizeof(*t->tgids));
	t->pid_fds = calloc(count, sizeof(*t->pid_fds));
	if (!t->tgids || !t->pid_fds)
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		err = target_open(t, pids[i]);
	if (err)
		session_targets_clear(t);
	return err;
}

void session_targets_gone(struct hg_targets *t, size_t i)
{
	if (t->pid_fds[i] < 0)
		return;
	close(t->pid_fds[i]);
	t->pid_fds[i] = -1;
	t->alive--;
}

void session_targets_clear(struct hg_targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		hg_cleanup_close(&t->pid_fds[i]);
	free(t->tgids);
	free(t->pid_fds);
	*t = (struct hg_targets){0};
}
