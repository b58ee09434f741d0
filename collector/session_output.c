/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_owner.h"
#include "collector/session_parts.h"

/* The directory is opened once: what happens to its path later does not move the file. */
static int output_split(struct hg_output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	hg_autofree char *dir = NULL;

	if (!slash)
		dir = strdup(".");
	else
		dir = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	o->name = strdup(slash ? slash + 1 : path);
	if (!dir || !o->name)
		return -ENOMEM;
	if (!*o->name)
		return -EISDIR;
	o->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->dir_fd < 0 ? -errno : 0;
}

/* Only a file or a link is replaced, never a device or a directory: -o /dev/null -f must not remove it. */
static int output_replaceable(const struct hg_output *o, bool force)
{
	struct stat st;

	if (fstatat(o->dir_fd, o->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return -ENOTSUP;
	return force ? 1 : -EEXIST;
}

/* O_EXCL does not follow a link and opens nothing that someone else has put there. */
static int output_create(struct hg_output *o, const char *name)
{
	uid_t uid;
	gid_t gid;

	o->fd = openat(o->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (o->fd < 0)
		return -errno;
	o->created = true;
	hg_owner_get(&uid, &gid);
	if ((uid != geteuid() || gid != getegid()) && fchown(o->fd, uid, gid))
		return -errno;
	return 0;
}

static int output_open(struct hg_output *o, const char *path, bool force)
{
	int replace;
	int err;

	err = output_split(o, path);
	if (err)
		return err;
	replace = output_replaceable(o, force);
	if (replace < 0)
		return replace;
	if (replace && asprintf(&o->temp_name, ".%.200s.%d", o->name, getpid()) < 0) {
		o->temp_name = NULL;
		return -ENOMEM;
	}
	return output_create(o, o->temp_name ? o->temp_name : o->name);
}

int session_output_open(struct hg_output *o, const char *path, bool force)
{
	int err;

	*o = (struct hg_output){.fd = -1, .dir_fd = -1};
	err = output_open(o, path, force);
	if (err == -EEXIST)
		hg_error("%s exists: choose another name with -o, or replace it with -f", path);
	else if (err == -EISDIR)
		hg_error("cannot write %s: it is a directory", path);
	else if (err == -ENOTSUP)
		hg_error("cannot write %s: it is not a regular file, and a trace cannot go to a "
			 "device or pipe",
			 path);
	else if (err)
		hg_error("cannot write %s: %s", path, strerror(-err));
	return err;
}

int session_output_commit(struct hg_output *o, const char *path)
{
	if (o->temp_name && renameat(o->dir_fd, o->temp_name, o->dir_fd, o->name)) {
		int err = -errno;

		hg_error("cannot replace %s: %s", path, strerror(-err));
		return err;
	}
	free(HG_TAKE_PTR(o->temp_name));
	o->committed = true;
	return 0;
}

void session_output_remove(struct hg_output *o)
{
	if (o->created)
		unlinkat(o->dir_fd, o->temp_name ? o->temp_name : o->name, 0);
	o->created = false;
}

uint64_t session_output_bytes(const struct hg_output *o)
{
	struct stat st;

	return fstatat(o->dir_fd, o->name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size;
}

void session_output_clear(struct hg_output *o)
{
	if (!o->committed)
		session_output_remove(o);
	hg_cleanup_close(&o->fd);
	hg_cleanup_close(&o->dir_fd);
	free(o->name);
	free(o->temp_name);
	*o = (struct hg_output){.fd = -1, .dir_fd = -1};
}
