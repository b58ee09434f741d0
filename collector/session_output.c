/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
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

/*
 * Each recording holds a lock on its file to the end. That of the file to be replaced is held until it is: of two that
 * replace the same file only one begins, and none replaces one that is being written. -EBUSY: another recording's.
 */
static int output_old_lock(struct hg_output *o)
{
	struct stat held, there;

	o->old_fd = openat(o->dir_fd, o->name,
			   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (o->old_fd < 0) /* a link is replaced as it is */
		return errno == ELOOP || errno == ENOENT ? 0 : -errno;
	if (flock(o->old_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : 0; /* or there are no locks here */
	/* Another one may have replaced it before we had the lock. */
	if (fstat(o->old_fd, &held) || fstatat(o->dir_fd, o->name, &there, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return held.st_dev == there.st_dev && held.st_ino == there.st_ino ? 0 : -EBUSY;
}

/* O_EXCL does not follow a link and opens nothing that someone else has put there. */
static int output_create(struct hg_output *o, const char *name)
{
	uid_t uid;
	gid_t gid;

	o->fd = openat(o->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (o->fd < 0)
		return -errno;
	if (flock(o->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY; /* another one is about to replace it: it is not ours to remove */
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
	err = replace ? output_old_lock(o) : 0;
	if (err)
		return err;
	if (replace && asprintf(&o->temp_name, ".%.200s.%d", o->name, getpid()) < 0) {
		o->temp_name = NULL;
		return -ENOMEM;
	}
	err = output_create(o, o->temp_name ? o->temp_name : o->name);
	return err == -EEXIST && force ? -EBUSY : err; /* it was not there a moment ago */
}

static void output_error(const char *path, int err)
{
	if (err == -EEXIST)
		hg_error("%s exists: choose another name with -o, or replace it with -f", path);
	else if (err == -EBUSY)
		hg_error(
			"%s is being written by another recording: choose another name with -o, or "
			"end that one",
			path);
	else if (err == -EISDIR)
		hg_error("cannot write %s: it is a directory", path);
	else if (err == -ENOTSUP)
		hg_error("cannot write %s: it is not a regular file, and a trace cannot go to a "
			 "device or pipe",
			 path);
	else
		hg_error("cannot write %s: %s", path, strerror(-err));
}

int session_output_open(struct hg_output *o, const char *path, bool force)
{
	int err;

	*o = (struct hg_output){.fd = -1, .dir_fd = -1, .old_fd = -1};
	err = output_open(o, path, force);
	if (err)
		output_error(path, err);
	return err;
}

int session_output_commit(struct hg_output *o, const char *path)
{
	int err = 0;

	/* Where a link was, there may be another's recording by now. */
	if (o->temp_name && o->old_fd < 0)
		err = output_old_lock(o);
	if (!err && o->temp_name && renameat(o->dir_fd, o->temp_name, o->dir_fd, o->name))
		err = -errno;
	if (err) {
		output_error(path, err);
		return err;
	}
	hg_cleanup_close(&o->old_fd);
	o->old_fd = -1;
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
	hg_cleanup_close(&o->old_fd);
	free(o->name);
	free(o->temp_name);
	*o = (struct hg_output){.fd = -1, .dir_fd = -1, .old_fd = -1};
}
