/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>

#include "base/hg_base.h"

/* A uid or gid as sudo writes it; -1 is no id but "leave as is" to the kernel. */
static bool id_parse(const char *text, unsigned int *out)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT_MAX)
		return false;
	*out = (unsigned int)value;
	return true;
}

void hg_owner_get(uid_t *uid_out, gid_t *gid_out)
{
	unsigned int uid, gid;

	*uid_out = getuid();
	*gid_out = getgid();
	if (geteuid() != 0)
		return;
	if (!id_parse(getenv("SUDO_UID"), &uid) || !id_parse(getenv("SUDO_GID"), &gid))
		return;
	*uid_out = uid;
	*gid_out = gid;
}

static void user_from_passwd(struct hg_user *u, const struct passwd *pw)
{
	snprintf(u->name, sizeof(u->name), "%s", pw->pw_name);
	snprintf(u->home, sizeof(u->home), "%s", pw->pw_dir);
}

int hg_user_find(const char *name, struct hg_user *out)
{
	struct hg_user u = {0};
	const struct passwd *pw;
	unsigned int uid;

	if (!name) {
		hg_owner_get(&u.uid, &u.gid);
		pw = getpwuid(u.uid);
		if (pw)
			user_from_passwd(&u, pw);
		*out = u;
		return 0;
	}
	pw = getpwnam(name);
	if (!pw && id_parse(name, &uid))
		pw = getpwuid(uid);
	if (!pw)
		return -ENOENT;
	u.uid = pw->pw_uid;
	u.gid = pw->pw_gid;
	user_from_passwd(&u, pw);
	*out = u;
	return 0;
}

int hg_user_become(const struct hg_user *u)
{
	if (u->uid == getuid() && u->uid == geteuid())
		return 0;
	if (u->name[0] ? initgroups(u->name, u->gid) : setgroups(1, &u->gid))
		return -errno;
	if (setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid))
		return -errno;
	if (u->home[0] && setenv("HOME", u->home, 1))
		return -errno;
	if (u->name[0] && (setenv("USER", u->name, 1) || setenv("LOGNAME", u->name, 1)))
		return -errno;
	return 0;
}
