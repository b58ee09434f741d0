/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/hg_base.h"

/* A dump never waits long; one that does is given up for this tick. */
#define RECEIVE_US_MAX 200000
/* The child answers at once or is gone. */
#define ANSWER_S_MAX   2

struct hg_netns_opener {
	pid_t pid;
	int fd;
};

/* The child's answer; the descriptors that mask names come with it. */
struct answer {
	int32_t err;
	uint32_t mask;
	uint64_t inode;
};

void hg_netns_close(struct hg_netns_files *files)
{
	for (int i = 0; i < HG_NETNS_FDS; i++) {
		if (files->fd[i] >= 0)
			close(files->fd[i]);
		files->fd[i] = -1;
	}
}

static void path_of(pid_t tid, char *path, size_t size)
{
	if (tid)
		snprintf(path, size, "/proc/%d/ns/net", tid);
	else
		snprintf(path, size, "/proc/thread-self/ns/net");
}

int hg_netns_inode(pid_t tid, uint64_t *out)
{
	struct stat st;
	char path[64];

	path_of(tid, path, sizeof(path));
	if (stat(path, &st))
		return -errno;
	*out = st.st_ino;
	return 0;
}

static int netlink_open(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const struct timeval limit = {.tv_usec = RECEIVE_US_MAX};

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* In the namespace that the calling thread is in. */
static int files_open(struct hg_netns_files *f)
{
	static const char *const names[HG_NETNS_FDS] = {
		[HG_NETNS_FD_SNMP] = "/proc/thread-self/net/snmp",
		[HG_NETNS_FD_NETSTAT] = "/proc/thread-self/net/netstat",
		[HG_NETNS_FD_SNMP6] = "/proc/thread-self/net/snmp6",
	};

	f->fd[HG_NETNS_FD_ROUTE] = netlink_open(NETLINK_ROUTE);
	if (f->fd[HG_NETNS_FD_ROUTE] < 0)
		return -errno;
	f->fd[HG_NETNS_FD_DIAG] = netlink_open(NETLINK_SOCK_DIAG);
	f->fd[HG_NETNS_FD_INET] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < HG_NETNS_FDS; i++) {
		if (names[i])
			f->fd[i] = open(names[i], O_RDONLY | O_CLOEXEC);
	}
	return 0;
}

/* Opens the namespace itself. */
static int self_open(pid_t tid, struct hg_netns_files *f)
{
	struct stat st;
	char path[64];

	path_of(tid, path, sizeof(path));
	f->fd[HG_NETNS_FD_SELF] = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd[HG_NETNS_FD_SELF] < 0 || fstat(f->fd[HG_NETNS_FD_SELF], &st))
		return -errno;
	f->inode = st.st_ino;
	return 0;
}

/* --- the child --- */

static int answer_send(int fd, int err, const struct hg_netns_files *f)
{
	char control[CMSG_SPACE(HG_NETNS_FDS * sizeof(int))] = {0};
	struct answer answer = {.err = err, .inode = f->inode};
	struct iovec data = {&answer, sizeof(answer)};
	struct msghdr msg = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *header;
	int fds[HG_NETNS_FDS], n = 0;

	for (int i = 0; i < HG_NETNS_FDS && !err; i++) {
		if (f->fd[i] < 0)
			continue;
		answer.mask |= 1U << i;
		fds[n++] = f->fd[i];
	}
	if (n) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		header = CMSG_FIRSTHDR(&msg);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(header), fds, (size_t)n * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == sizeof(answer) ? 0 : -1;
}

static void __attribute__((noreturn)) opener_run(int fd, int (*confine)(void))
{
	int32_t tid;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || dup2(fd, 3) != 3 || close_range(4, ~0U, 0) ||
	    (confine && confine()))
		_exit(1);
	while (recv(3, &tid, sizeof(tid), 0) == sizeof(tid)) {
		struct hg_netns_files f = HG_NETNS_FILES_NONE;
		int err = tid > 0 ? self_open(tid, &f) : -EINVAL;

		if (!err && setns(f.fd[HG_NETNS_FD_SELF], CLONE_NEWNET))
			err = -errno;
		if (!err)
			err = files_open(&f);
		if (answer_send(3, err, &f))
			break;
		hg_netns_close(&f);
	}
	_exit(0);
}

/* --- the other side --- */

int hg_netns_opener_start(int (*confine)(void), struct hg_netns_opener **out)
{
	const struct timeval limit = {.tv_sec = ANSWER_S_MAX};
	struct hg_netns_opener *o = calloc(1, sizeof(*o));
	int fds[2];

	if (!o)
		return -ENOMEM;
	/* Whole messages: an answer and its descriptors are one. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		free(o);
		return -errno;
	}
	o->pid = fork();
	if (o->pid == 0)
		opener_run(fds[1], confine);
	close(fds[1]);
	o->fd = fds[0];
	if (o->pid < 0) {
		int err = -errno;

		hg_netns_opener_stop(o);
		return err;
	}
	setsockopt(o->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	*out = o;
	return 0;
}

void hg_netns_opener_stop(struct hg_netns_opener *o)
{
	if (!o)
		return;
	shutdown(o->fd, SHUT_RDWR); /* whoever else was forked with it */
	close(o->fd);
	if (o->pid > 0)
		waitpid(o->pid, NULL, 0);
	free(o);
}

/* All descriptors of the message are ours to close, whatever it says of them. */
static int answer_take(struct msghdr *msg, const struct answer *answer, struct hg_netns_files *f)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(msg);
	int fds[HG_NETNS_FDS];
	size_t n = 0, at = 0;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	n = HG_MIN(n, (size_t)HG_NETNS_FDS);
	if (n)
		memcpy(fds, CMSG_DATA(header), n * sizeof(int));
	for (int i = 0; i < HG_NETNS_FDS; i++) {
		if (answer->mask & 1U << i && at < n)
			f->fd[i] = fds[at++];
	}
	while (at < n)
		close(fds[at++]);
	f->inode = answer->inode;
	if (answer->err)
		return answer->err;
	return f->fd[HG_NETNS_FD_SELF] >= 0 && f->fd[HG_NETNS_FD_ROUTE] >= 0 ? 0 : -EMFILE;
}

static int opener_ask(struct hg_netns_opener *o, int32_t tid, struct hg_netns_files *f)
{
	union {
		char bytes[CMSG_SPACE(HG_NETNS_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct answer answer;
	struct iovec data = {&answer, sizeof(answer)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control)};
	ssize_t n;

	if (send(o->fd, &tid, sizeof(tid), MSG_NOSIGNAL) != sizeof(tid))
		return errno == EPIPE ? -EPERM : -errno;
	n = recvmsg(o->fd, &msg, MSG_CMSG_CLOEXEC);
	if (n != sizeof(answer))
		return n < 0 ? -errno : -EPERM; /* the child is gone: it could not confine itself */
	return answer_take(&msg, &answer, f);
}

int hg_netns_open(struct hg_netns_opener *o, pid_t tid, struct hg_netns_files *out)
{
	struct hg_netns_files f = HG_NETNS_FILES_NONE;
	uint64_t own = 0, inode = 0;
	int err = hg_netns_inode(0, &own);

	if (!err)
		err = hg_netns_inode(tid, &inode);
	if (err)
		return err;
	if (own == inode) {
		err = self_open(0, &f);
		if (!err)
			err = files_open(&f);
	} else {
		err = o ? opener_ask(o, tid, &f) : -EPERM;
	}
	if (err) {
		hg_netns_close(&f);
		return err;
	}
	*out = f;
	return 0;
}
