/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resource limits that are too low to record: found out before anything else, because what fails later names
 * whatever happened to come next.
 */
#include <errno.h>
#include <sys/resource.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

#define FILES_LEAST  128 /* programs, maps, links, pipes; 70 are used on two CPUs */
#define MEMORY_LEAST ((uint64_t)64 << 20)
#define CODE_LEAST                                                                                 \
	((uint64_t)32 << 20) /* libraries and stacks of threads, which are address space too */

/* A limit of kibibytes is told in those, as ulimit takes it. */
static int limit_check(int resource, uint64_t least, const char *what, const char *letter)
{
	uint64_t unit = resource == RLIMIT_NOFILE ? 1 : 1024;
	struct rlimit limit;
	uint64_t have;

	if (getrlimit((__rlimit_resource_t)resource, &limit))
		return 0;
	/* that of open files is raised as far as it may be */
	have = resource == RLIMIT_NOFILE ? limit.rlim_max : limit.rlim_cur;
	if (have == RLIM_INFINITY || have >= least)
		return 0;
	hg_error(
		"cannot record: %s limited to %llu%s (ulimit -%s), and %llu%s are needed: raise it "
		"with ulimit -%s, or in what starts hourglass",
		what, (unsigned long long)(have / unit), unit == 1 ? "" : " KiB", letter,
		(unsigned long long)(least / unit), unit == 1 ? "" : " KiB", letter);
	return resource == RLIMIT_NOFILE ? -EMFILE : -ENOMEM;
}

int session_limits_check(size_t rings_bytes, size_t targets)
{
	int err;

	err = limit_check(RLIMIT_NOFILE, FILES_LEAST + targets, "open files are", "n");
	if (!err)
		err = limit_check(RLIMIT_DATA, MEMORY_LEAST, "the data segment is", "d");
	if (!err)
		err = limit_check(RLIMIT_AS, MEMORY_LEAST + CODE_LEAST + rings_bytes,
				  "the address space is", "v");
	return err;
}

void session_files_raise(struct rlimit *before_out)
{
	struct rlimit limit;

	*before_out = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	*before_out = limit;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		hg_debug("cannot raise the limit of open files: %m");
}
