/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_client_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "base/hg_base.h"
#include "base/hg_log.h"

#define LOG_FD	       3 /* as in LINE */
#define LOG_LOOK_MS    200
#define LOG_READ_BYTES 65536
#define LOG_READS_MAX  16

/*
 * inotify gives lines their exact time; the timer finds a file that appears or is replaced, and growth on
 * file systems without inotify (NFS, FUSE).
 */
struct hg_client_log {
	char *path;
	int fd, epoll_fd, inotify_fd, watch, timer_fd;
	dev_t dev;
	ino_t ino;
	off_t offset;
	bool skip_first; /* it began before we did */
	struct hg_lines lines;
};

static void log_watch(struct hg_client_log *l)
{
	if (l->watch >= 0)
		inotify_rm_watch(l->inotify_fd, l->watch);
	l->watch = inotify_add_watch(l->inotify_fd, l->path, IN_MODIFY);
}

/* O_NONBLOCK: a FIFO must not stop us. */
static int log_file_open(const char *path, struct stat *st)
{
	hg_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	return HG_TAKE_FD(fd);
}

static int log_attach(struct hg_client_log *l, bool at_end)
{
	struct stat st;
	int fd = log_file_open(l->path, &st);
	char last = '\n';

	if (fd < 0)
		return fd;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = fd;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->offset = at_end ? st.st_size : 0;
	if (l->offset && pread(fd, &last, 1, l->offset - 1) != 1)
		last = '\n';
	l->skip_first = last != '\n' && last != '\r';
	log_watch(l);
	return 0;
}

static int log_events_init(struct hg_client_log *l)
{
	const struct timespec look = {.tv_nsec = LOG_LOOK_MS * 1000000};
	struct epoll_event ev = {.events = EPOLLIN};

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->inotify_fd < 0 || l->timer_fd < 0)
		return -errno;
	if (timerfd_settime(l->timer_fd, 0, &(struct itimerspec){look, look}, NULL) ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->inotify_fd, &ev) ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->timer_fd, &ev))
		return -errno;
	return 0;
}

int hg_client_log_open(const char *path, struct hg_line_store *store, struct hg_client_log **out)
{
	struct hg_client_log *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->fd = l->epoll_fd = l->inotify_fd = l->watch = l->timer_fd = -1;
	hg_lines_init(&l->lines, LOG_FD, hg_line_store_add, store);
	l->path = strdup(path);
	err = l->path ? log_events_init(l) : -ENOMEM;
	if (!err) {
		err = log_attach(l, true);
		if (err == -ENOENT)
			err = 0;
	}
	if (err) {
		hg_error("cannot follow the client's log %s: %s", path,
			 err == -EINVAL ? "it is not a regular file" : strerror(-err));
		hg_client_log_free(l);
		return err;
	}
	*out = l;
	return 0;
}

int hg_client_log_fd(const struct hg_client_log *l)
{
	return l->epoll_fd;
}

static void events_discard(struct hg_client_log *l)
{
	char buffer[4096];

	while (read(l->inotify_fd, buffer, sizeof(buffer)) > 0)
		;
	while (read(l->timer_fd, buffer, sizeof(uint64_t)) > 0)
		;
}

/* Past the line that began before we did. */
static size_t first_skip(struct hg_client_log *l, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n' || data[i] == '\r') {
			l->skip_first = false;
			return i + 1;
		}
	}
	return size;
}

/* 1 if there may be more, 0 at the end, or -errno of the store. */
static int log_read(struct hg_client_log *l)
{
	char buffer[LOG_READ_BYTES];
	struct stat st;
	size_t skip;
	ssize_t n;
	int err;

	if (fstat(l->fd, &st) == 0 &&
	    st.st_size < l->offset) { /* truncated: copytruncate of logrotate */
		l->offset = 0;
		l->skip_first = false;
		hg_lines_drop(&l->lines);
	}
	n = pread(l->fd, buffer, sizeof(buffer), l->offset);
	if (n <= 0)
		return 0;
	l->offset += n;
	skip = l->skip_first ? first_skip(l, buffer, (size_t)n) : 0;
	err = hg_lines_feed(&l->lines, buffer + skip, (size_t)n - skip, hg_now_ns());
	return err ? err : 1;
}

static bool log_replaced(const struct hg_client_log *l)
{
	struct stat st;

	return stat(l->path, &st) == 0 && (st.st_dev != l->dev || st.st_ino != l->ino);
}

int hg_client_log_poll(struct hg_client_log *l)
{
	int more = 1;

	events_discard(l);
	if (l->fd < 0 && log_attach(l, false))
		return 0;
	for (int i = 0; i < LOG_READS_MAX && more > 0; i++)
		more = log_read(l);
	if (more < 0)
		return more;
	/* The old file is read to its end before the new one is opened. */
	if (more == 0 && log_replaced(l)) {
		int err = hg_lines_end(&l->lines, hg_now_ns(), true);

		if (err)
			return err;
		log_attach(l, false);
	}
	return 0;
}

int hg_client_log_end(struct hg_client_log *l)
{
	int err = hg_client_log_poll(l);

	/* its writer may be in the middle of it */
	return err ? err : hg_lines_end(&l->lines, hg_now_ns(), false);
}

void hg_client_log_free(struct hg_client_log *l)
{
	if (!l)
		return;
	hg_cleanup_close(&l->fd);
	hg_cleanup_close(&l->epoll_fd);
	hg_cleanup_close(&l->inotify_fd);
	hg_cleanup_close(&l->timer_fd);
	hg_lines_clear(&l->lines);
	free(l->path);
	free(l);
}
