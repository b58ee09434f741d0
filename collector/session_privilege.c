/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_owner.h"
#include "collector/session_parts.h"

struct capability {
	unsigned int number;
	const char *name;
	bool required; /* to begin */
};

/* What is kept to the end, and why. Everything else goes once the probes are attached. */
static const struct capability capabilities[] = {
	{CAP_BPF, "CAP_BPF", true},		  /* load; later: maps, promotion */
	{CAP_PERFMON, "CAP_PERFMON", true},	  /* attach to tracepoints, read kernel memory */
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", true}, /* /proc/TID/syscall, lock words, hidepid */
	/* /proc and cgroup files that only root may read */
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false},
	{CAP_SYS_NICE, "CAP_SYS_NICE", false}, /* priority, see session_priority_raise */
	{CAP_KILL, "CAP_KILL", false},	       /* end a CMD that runs as --user */
};

struct caps {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int caps_get(struct caps *c)
{
	*c = (struct caps){.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
	return syscall(SYS_capget, &c->header, c->data) ? -errno : 0;
}

static bool caps_has(const struct caps *c, unsigned int number)
{
	return c->data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number);
}

int session_privilege_check(void)
{
	struct caps c;
	int err;

	err = caps_get(&c);
	if (err)
		return err;
	for (size_t i = 0; i < HG_ARRAY_SIZE(capabilities); i++) {
		const struct capability *cap = &capabilities[i];

		if (!cap->required || caps_has(&c, cap->number))
			continue;
		if (geteuid())
			hg_error("recording needs root (%s is missing): run it with sudo",
				 cap->name);
		else
			hg_error("recording needs %s, which root does not have here: if this is a "
				 "container, start it with --privileged, or record from the host",
				 cap->name);
		return -EPERM;
	}
	return 0;
}

/* Keeps what is in words of bits, as far as it is there. */
static int caps_keep(const uint32_t words[_LINUX_CAPABILITY_U32S_3])
{
	struct caps c, kept;
	int err;

	err = caps_get(&c);
	if (err)
		return err;
	kept = (struct caps){.header = c.header};
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		kept.data[i].permitted = kept.data[i].effective = c.data[i].permitted & words[i];
	return syscall(SYS_capset, &kept.header, kept.data) ? -errno : 0;
}

/* Root without capabilities still owns every file of root: with sudo there is a user to become instead. */
static int identity_drop(void)
{
	struct hg_user owner;
	int err;

	if (prctl(PR_SET_KEEPCAPS, 1))
		return -errno;
	err = hg_user_find(NULL, &owner);
	if (err)
		return err;
	return hg_user_become(&owner);
}

static void round_robin_set(void)
{
	const struct sched_param param = {.sched_priority = 1};

	/* RESET_ON_FORK: threads started later must not run before the benchmark. */
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param))
		hg_debug("no real-time priority for draining: %s", strerror(errno));
}

int session_privilege_switch_only(void)
{
	uint32_t words[_LINUX_CAPABILITY_U32S_3] = {0};

	words[CAP_TO_INDEX(CAP_SYS_ADMIN)] |= CAP_TO_MASK(CAP_SYS_ADMIN);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return caps_keep(words);
}

int session_privilege_netns_only(void)
{
	uint32_t words[_LINUX_CAPABILITY_U32S_3] = {0};
	int err;

	words[CAP_TO_INDEX(CAP_SYS_ADMIN)] |= CAP_TO_MASK(CAP_SYS_ADMIN);   /* setns() */
	words[CAP_TO_INDEX(CAP_SYS_PTRACE)] |= CAP_TO_MASK(CAP_SYS_PTRACE); /* /proc/TID/ns/net */
	err = identity_drop();
	if (!err)
		err = caps_keep(words);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}

int session_privilege_drop(void)
{
	uint32_t words[_LINUX_CAPABILITY_U32S_3] = {0};
	int err;

	for (size_t i = 0; i < HG_ARRAY_SIZE(capabilities); i++)
		words[CAP_TO_INDEX(capabilities[i].number)] |= CAP_TO_MASK(capabilities[i].number);
	err = identity_drop();
	if (!err)
		err = caps_keep(words);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err)
		hg_error("cannot give up privileges that are no longer needed: %s", strerror(-err));
	return err;
}

/* It is kept for the priorities alone. */
static void nice_capability_drop(void)
{
	uint32_t words[_LINUX_CAPABILITY_U32S_3];
	struct caps c;

	if (caps_get(&c))
		return;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		words[i] = c.data[i].permitted;
	words[CAP_TO_INDEX(CAP_SYS_NICE)] &= ~CAP_TO_MASK(CAP_SYS_NICE);
	caps_keep(words);
}

/* The rings are drained whatever runs; if the writer's thread has to share the CPUs with many, its queue runs full. */
#define PREFERRED_NICE 10

struct preferred {
	int (*fn)(void *arg);
	void *arg;
	int err;
};

static void *preferred_run(void *arg)
{
	struct preferred *p = arg;
	int nice = getpriority(PRIO_PROCESS, 0); /* what the caller chose counts */

	if (setpriority(PRIO_PROCESS, 0, nice - PREFERRED_NICE))
		hg_debug("no higher priority for writing: %s", strerror(errno));
	nice_capability_drop();
	p->err = p->fn(p->arg);
	return NULL;
}

int session_priority_prefer(int (*fn)(void *arg), void *arg)
{
	struct preferred p = {.fn = fn, .arg = arg};
	pthread_t thread;
	int err;

	/* A thread takes its starter's priority and capabilities: of a thread for this alone, just what it needs. */
	err = -pthread_create(&thread, NULL, preferred_run, &p);
	if (err)
		return fn(arg);
	pthread_join(thread, NULL);
	return p.err;
}

void session_priority_raise(void)
{
	round_robin_set();
	nice_capability_drop();
}
