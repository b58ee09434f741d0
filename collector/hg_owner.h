/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who asked for the recording: the files belong to that user and CMD runs as that user. Called by the
 * session, by the client and by whatever else a root process leaves on disk.
 */
#ifndef HG_OWNER_H
#define HG_OWNER_H

#include <limits.h>
#include <sys/types.h>

struct hg_user {
	uid_t uid;
	gid_t gid;
	char name[64];	     /* "" if the uid has no entry */
	char home[PATH_MAX]; /* "" if unknown */
};

/*
 * uid and gid of the one who called sudo (SUDO_UID, SUDO_GID), else the caller's. The variables are
 * believed only by a root process: they could give no one else anything.
 */
void hg_owner_get(uid_t *uid_out, gid_t *gid_out);

/* By name or number, or the owner if NULL. -ENOENT: no such user. */
int hg_user_find(const char *name, struct hg_user *out);

/*
 * Becomes that user for good: groups, gid, uid, and HOME, USER and LOGNAME, which sudo had changed. Nothing
 * happens if the process is that user already. 0 or -errno; after an error the process must not go on.
 */
int hg_user_become(const struct hg_user *u);

#endif
