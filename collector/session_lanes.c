/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the session knows of live tasks: whom to sample, and whom to promote to level 2. Wakers come as lanes,
 * holders of locks as tids in the waiter's pid namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

#define PROMOTED_MAX 64 /* alive at once */
#define HOLDERS_MAX                                                                                \
	1024 /* known at once; forgotten every HOLDERS_LIFE_S seconds, as tids are reused */
#define HOLDERS_LIFE_S	    10
#define HOLDERS_RESOLVE_MAX 64 /* a second */

struct lane {
	uint32_t lane, role;
	pid_t tid, tgid;
	bool to_sample, sampled, promoted, over;
	uint32_t seen; /* 0: no candidate; wakers are told once, holds are counted */
	UT_hash_handle hh;
};

struct holder_key {
	pid_t tgid, nstid;
};
struct holder {
	struct holder_key key;
	pid_t tid; /* in the initial namespace, 0: not to be found */
	bool resolved;
	uint32_t seen;
	UT_hash_handle hh;
};

struct hg_session_lanes {
	struct lane *lanes;
	struct holder *holders;
	size_t holders_count;
	unsigned int holders_age_s;
	struct hg_sampling *sampling;
	uint32_t promoted_alive, promoted, over;
	ino_t pid_namespace;
	bool all_is_target;
};

/* -- who is sampled -- */

static struct lane *lane_find(struct hg_session_lanes *l, uint32_t id)
{
	struct lane *lane;

	HASH_FIND(hh, l->lanes, &id, sizeof(id), lane);
	return lane;
}

/* With -a alone the machine is the target: its locks, cgroups and networks are looked at as one's. */
static uint32_t role_to_sample(const struct hg_session_lanes *l, uint32_t role)
{
	if (l->all_is_target && role & HG_ROLEF_ALL && !(role & HG_ROLEF_CLIENT))
		role |= HG_ROLEF_TARGET;
	return role;
}

static void lane_sample(struct hg_session_lanes *l, struct lane *lane)
{
	lane->to_sample = true;
	if (!l->sampling || lane->tid <= 0)
		return;
	lane->sampled = true;
	session_sampling_task_add(l->sampling, lane->lane, lane->tid, lane->tgid,
				  role_to_sample(l, lane->role));
}

/* A CPU's ring may name a lane before the ring of another has told which task that is. */
static struct lane *lane_get(struct hg_session_lanes *l, uint32_t id)
{
	struct lane *lane = lane_find(l, id);

	if (lane)
		return lane;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->lane = id;
	HASH_ADD(hh, l->lanes, lane, sizeof(lane->lane), lane);
	return lane;
}

static struct lane *lane_know(struct hg_session_lanes *l, const struct hg_task_info *task)
{
	struct lane *lane = lane_get(l, task->lane);

	if (!lane)
		return NULL;
	lane->tid = task->tid;
	lane->tgid = task->tgid;
	if (lane->to_sample && !lane->sampled)
		lane_sample(l, lane);
	return lane;
}

static void on_task_new(void *arg, const struct hg_task_info *task)
{
	lane_know(arg, task);
}

static void on_role_new(void *arg, const struct hg_task_info *task)
{
	struct lane *lane = lane_know(arg, task);

	if (!lane)
		return;
	lane->role = task->role;
	lane_sample(arg, lane);
}

static void on_task_exit(void *arg, uint32_t id, pid_t tid)
{
	struct hg_session_lanes *l = arg;
	struct lane *lane = lane_find(l, id);

	if (!lane)
		return;
	if (lane->sampled && l->sampling)
		session_sampling_task_remove(l->sampling, id);
	if (lane->promoted)
		l->promoted_alive--;
	HASH_DEL(l->lanes, lane);
	free(lane);
}

static void on_competitor_seen(void *arg, uint32_t id)
{
	struct lane *lane = lane_get(arg, id);

	if (lane && !lane->sampled)
		lane_sample(arg, lane);
}

static void on_spin_seen(void *arg, const struct hg_spin_seen *spin)
{
	struct hg_session_lanes *l = arg;

	if (l->sampling)
		session_sampling_spin_add(l->sampling, spin);
}

static void lane_seen(struct hg_session_lanes *l, uint32_t id, uint32_t times)
{
	struct lane *lane = id ? lane_get(l, id) : NULL;

	if (!lane)
		return;
	lane->seen += times;
	if (!lane->sampled)
		lane_sample(l, lane);
}

static void on_waker_seen(void *arg, uint32_t id)
{
	lane_seen(arg, id, 1);
}

/* -- holders -- */

static void on_holder_seen(void *arg, uint32_t waiter_lane, pid_t holder_tid)
{
	struct hg_session_lanes *l = arg;
	struct lane *waiter = lane_find(l, waiter_lane);
	struct holder_key key = {0};
	struct holder *h;

	if (!waiter || holder_tid <= 0)
		return;
	key.tgid = waiter->tgid;
	key.nstid = holder_tid;
	HASH_FIND(hh, l->holders, &key, sizeof(key), h);
	if (h) {
		h->seen++;
		return;
	}
	if (l->holders_count == HOLDERS_MAX)
		return;
	h = calloc(1, sizeof(*h));
	if (!h)
		return;
	h->key = key;
	h->seen = 1;
	HASH_ADD(hh, l->holders, key, sizeof(h->key), h);
	l->holders_count++;
}

static ino_t pid_namespace_of(const char *who)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", who);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* The last number of the NSpid line: the tid in the innermost namespace. 0 if unknown. */
static pid_t nstid_read(pid_t tgid, const char *tid)
{
	hg_autofclose FILE *f = NULL;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", tgid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *last;

		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
		return last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
	}
	return 0;
}

static pid_t nstid_scan(const struct holder_key *key)
{
	hg_autoclosedir DIR *dir = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", key->tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && nstid_read(key->tgid, entry->d_name) == key->nstid)
			return (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return 0;
}

static void holder_resolve(struct hg_session_lanes *l, struct holder *h)
{
	char who[16];

	h->resolved = true;
	snprintf(who, sizeof(who), "%d", h->key.tgid);
	if (pid_namespace_of(who) == l->pid_namespace)
		h->tid = h->key.nstid;
	else
		h->tid = nstid_scan(&h->key);
}

/* Holds count for the holder's lane as wakes do. */
static void holders_count_in(struct hg_session_lanes *l, const struct hg_probes *p)
{
	unsigned int resolved = 0;
	struct holder *h, *tmp;

	HASH_ITER (hh, l->holders, h, tmp) {
		if (!h->seen)
			continue;
		if (!h->resolved && resolved++ < HOLDERS_RESOLVE_MAX)
			holder_resolve(l, h);
		if (h->tid)
			lane_seen(l, hg_probes_lane_by_tid(p, h->tid), h->seen);
		h->seen = 0;
	}
}

static void holders_forget(struct hg_session_lanes *l)
{
	struct holder *h, *tmp;

	HASH_ITER (hh, l->holders, h, tmp) {
		HASH_DEL(l->holders, h);
		free(h);
	}
	l->holders_count = 0;
	l->holders_age_s = 0;
}

/* -- promotion -- */

static struct lane *most_seen(struct hg_session_lanes *l)
{
	struct lane *lane, *tmp, *best = NULL;

	HASH_ITER (hh, l->lanes, lane, tmp) {
		if (!lane->role && !lane->promoted && lane->seen && lane->tid > 0 &&
		    (!best || lane->seen > best->seen))
			best = lane;
	}
	return best;
}

/* They stay candidates, for when another one ends. */
static void over_count(struct hg_session_lanes *l)
{
	struct lane *lane, *tmp;

	HASH_ITER (hh, l->lanes, lane, tmp) {
		if (lane->seen && !lane->role && !lane->promoted && !lane->over && lane->tid > 0) {
			lane->over = true;
			l->over++;
		}
	}
}

int session_lanes_promote(struct hg_session_lanes *l, struct hg_probes *p, struct hg_writer *w)
{
	struct lane *best;

	holders_count_in(l, p);
	while (l->promoted_alive < PROMOTED_MAX && (best = most_seen(l))) {
		int err = hg_probes_promote(p, w, best->lane);

		if (err && err != -ESRCH)
			return err;
		best->promoted = true;
		l->promoted_alive++;
		l->promoted += !err;
		l->over -= best->over;
	}
	over_count(l);
	if (++l->holders_age_s >= HOLDERS_LIFE_S)
		holders_forget(l);
	return 0;
}

void session_lanes_counts(const struct hg_session_lanes *l, uint32_t *promoted_out,
			  uint32_t *over_out)
{
	*promoted_out = l->promoted;
	*over_out = l->over;
}

/* -- life -- */

int session_lanes_new(bool all_is_target, struct hg_session_lanes **out)
{
	struct hg_session_lanes *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->all_is_target = all_is_target;
	l->pid_namespace = pid_namespace_of("self");
	*out = l;
	return 0;
}

void session_lanes_sampling_set(struct hg_session_lanes *l, struct hg_sampling *sampling)
{
	l->sampling = sampling;
}

struct hg_probes_observer session_lanes_observer(struct hg_session_lanes *l)
{
	return (struct hg_probes_observer){
		.task_new = on_task_new,
		.role_new = on_role_new,
		.task_exit = on_task_exit,
		.waker_seen = on_waker_seen,
		.holder_seen = on_holder_seen,
		.competitor_seen = on_competitor_seen,
		.spin_seen = on_spin_seen,
		.arg = l,
	};
}

void session_lanes_free(struct hg_session_lanes *l)
{
	struct lane *lane, *tmp;

	if (!l)
		return;
	HASH_ITER (hh, l->lanes, lane, tmp) {
		HASH_DEL(l->lanes, lane);
		free(lane);
	}
	holders_forget(l);
	free(l);
}
