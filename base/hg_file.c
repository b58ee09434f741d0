/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hg_base.h"

ssize_t hg_file_read_fd(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		ssize_t n = pread(fd, buf + used, size - 1 - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
	}
	buf[used] = '\0';
	return (ssize_t)used;
}

ssize_t hg_file_read_once(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

ssize_t hg_file_read(const char *path, char *buf, size_t size)
{
	/* O_NONBLOCK: a name that turns out to be a FIFO must not stop us. */
	hg_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return hg_file_read_fd(fd, buf, size);
}

int hg_file_line(const char *path, char *buf, size_t size)
{
	ssize_t n = hg_file_read(path, buf, size);
	size_t length;

	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	length = strlen(buf);
	while (length && (buf[length - 1] == ' ' || buf[length - 1] == '\t'))
		buf[--length] = '\0';
	return length ? 0 : -ENODATA;
}
