/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small text files of /proc, /sys and cgroups, read whole and bounded. Used by the samplers, the
 * environment and check.
 */
#ifndef HG_FILE_H
#define HG_FILE_H

#include <sys/types.h>

/*
 * Reads a file from its start into buf, terminated; what is beyond size - 1 bytes is left out.
 * Length or -errno.
 */
ssize_t hg_file_read(const char *path, char *buf, size_t size);
/* The same with an open file, at offset 0; its offset is not moved. */
ssize_t hg_file_read_fd(int fd, char *buf, size_t size);

/* The same by one read: all of a file that the kernel prints as one piece (most of /proc/PID, cgroups). */
ssize_t hg_file_read_once(int fd, char *buf, size_t size);

/* The first line without its newline and the spaces at its end. 0 or -errno; -ENODATA when it is
 * empty. */
int hg_file_line(const char *path, char *buf, size_t size);

#endif
