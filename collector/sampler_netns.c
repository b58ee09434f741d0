/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NETNS: the network namespaces that the recorded threads are in, and hourglass's own. Threads move (ip netns exec), so each
 * one's namespace is looked up once a second, and at every tick while it is new. A namespace that none is in any more is
 * closed: what is kept open cannot go, and its devices neither.
 */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/sampler_private.h"

#define LOOKS_MAX  32 /* a tick; leaders of processes have as many of their own */
#define NEW_NS	   (3 * HG_NSEC_PER_SEC)
#define EMPTY_NS   (2 * HG_NSEC_PER_SEC)
#define OTHERS_MAX 8 /* of the slots, for namespaces of neither the target nor the client */

struct namespaces {
	struct sampler_turn turn, leaders_turn;
	bool full_told;
};

void hg_sampler_netns_set(struct hg_sampler *s, struct hg_netns_opener *o)
{
	s->netns_opener = o;
}

static uint32_t flags_of(const struct sampler_task *task)
{
	if (task->role & HG_ROLEF_TARGET)
		return HG_NETNSF_TARGET;
	return task->role & HG_ROLEF_CLIENT ? HG_NETNSF_CLIENT : HG_NETNSF_OTHER;
}

static const char *why_closed(int err)
{
	switch (err) {
	case -EPERM:
		return "hourglass may not enter it: CAP_SYS_ADMIN is missing";
	case -EMFILE:
		return "too many open files";
	}
	return strerror(-err);
}

static void slot_open(struct hg_sampler *s, struct sampler_netns *ns, pid_t tid)
{
	int err = hg_netns_open(s->netns_opener, tid, &ns->files);

	ns->told = false;
	if (err) {
		ns->why = why_closed(err);
		ns->flags &= ~(uint32_t)HG_NETNSF_OPEN;
		return;
	}
	ns->flags |= HG_NETNSF_OPEN;
	ns->why = ns->files.fd[HG_NETNS_FD_DIAG] < 0 ? "without sockets: this kernel has no "
						       "inet_diag"
						     : "";
}

static struct sampler_netns *slot_new(struct hg_sampler *s, uint64_t inode, pid_t tid)
{
	struct sampler_netns *ns = NULL;

	for (size_t i = 0; i < SAMPLER_NETNS_MAX && !ns; i++) {
		if (!s->netns[i].id)
			ns = &s->netns[i];
	}
	if (!ns)
		return NULL;
	*ns = (struct sampler_netns){.id = ++s->netns_made, .inode = inode, .why = ""};
	for (int i = 0; i < HG_NETNS_FDS; i++)
		ns->files.fd[i] = -1;
	slot_open(s, ns, tid);
	for (size_t i = 0; i < SAMPLER_NETNS_MAX; i++)
		s->netns[i].links_ns = 0; /* it may have the other end of a device */
	return ns;
}

static void slot_close(struct sampler_netns *ns)
{
	sampler_links_free(ns);
	sampler_sockets_free(ns);
	hg_netns_close(&ns->files);
	ns->id = 0;
}

static size_t others_count(const struct hg_sampler *s)
{
	size_t n = 0;

	for (size_t i = 0; i < SAMPLER_NETNS_MAX; i++) {
		if (s->netns[i].id &&
		    !(s->netns[i].flags & (HG_NETNSF_HOST | HG_NETNSF_TARGET | HG_NETNSF_CLIENT)))
			n++;
	}
	return n;
}

/* NULL: there is no room, or it cannot be told. */
static struct sampler_netns *netns_get(struct hg_sampler *s, struct namespaces *n,
				       const struct sampler_task *task)
{
	struct sampler_netns *ns = NULL;
	uint64_t inode;

	if (hg_netns_inode(task->tid, &inode))
		return task->netns;
	for (size_t i = 0; i < SAMPLER_NETNS_MAX; i++) {
		if (s->netns[i].id && s->netns[i].inode == inode)
			return &s->netns[i];
	}
	if (flags_of(task) != HG_NETNSF_OTHER || others_count(s) < OTHERS_MAX)
		ns = slot_new(s, inode, task->tid);
	if (!ns && !n->full_told) {
		n->full_told = true;
		hg_warn("the network is read in %d namespaces only: there are more",
			SAMPLER_NETNS_MAX);
	}
	return ns;
}

static void task_look_up(struct hg_sampler *s, struct namespaces *n, struct sampler_task *task,
			 uint64_t now_ns)
{
	struct sampler_netns *ns = netns_get(s, n, task);

	if (ns != task->netns) {
		if (task->netns)
			task->netns->tasks--;
		if (ns)
			ns->tasks++;
		task->netns = ns;
	}
	if (ns && !(ns->flags & flags_of(task))) {
		ns->flags |= flags_of(task);
		ns->told = false;
	}
	task->netns_ns = now_ns;
	if (!task->netns_first_ns)
		task->netns_first_ns = now_ns;
}

static int namespaces_init(struct hg_sampler *s, void **state)
{
	struct namespaces *n = calloc(1, sizeof(*n));
	struct sampler_netns *own;
	uint64_t inode;

	s->netlink = calloc(1, sizeof(*s->netlink));
	if (!n || !s->netlink) {
		free(n);
		return -ENOMEM;
	}
	if (!hg_netns_inode(0, &inode)) {
		own = slot_new(s, inode, 0);
		own->flags |= HG_NETNSF_HOST;
	}
	*state = n;
	return 0;
}

/* Wakers and competitors tell nothing of the benchmark's network. */
static bool is_member(const struct sampler_task *task)
{
	return task->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT | HG_ROLEF_ALL);
}

static void namespaces_add(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	if (is_member(task))
		task_look_up(s, state, task, hg_now_ns());
}

static void namespaces_remove(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	if (task->netns)
		task->netns->tasks--;
	task->netns = NULL;
}

static bool look_due(const struct sampler_task *task, bool leader, uint64_t now_ns)
{
	if (task->gone || !is_member(task) || (task->tid == task->tgid) != leader)
		return false;
	return now_ns < task->netns_first_ns + NEW_NS ||
	       now_ns >= task->netns_ns + SAMPLER_SECOND_NS;
}

static void tasks_refresh(struct hg_sampler *s, struct namespaces *n, bool leaders, uint64_t now_ns)
{
	struct sampler_turn *turn = leaders ? &n->leaders_turn : &n->turn;
	size_t budget = LOOKS_MAX, seen = 0;
	struct sampler_task *task;

	while (budget && (task = sampler_turn_next(s, turn, &seen))) {
		if (!look_due(task, leaders, now_ns))
			continue;
		task_look_up(s, n, task, now_ns);
		budget--;
	}
}

static int netns_write(struct sampler_netns *ns, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_NETNS, .time_ns = pass->now_ns};
	uint32_t why;
	int r = hg_writer_string(pass->w, ns->why, strlen(ns->why), &why);

	if (r)
		return r;
	rec.f[HG_NETNS_ID] = ns->id;
	rec.f[HG_NETNS_INODE] = ns->inode;
	rec.f[HG_NETNS_FLAGS] = ns->flags;
	rec.f[HG_NETNS_WHY] = why;
	ns->told = true;
	return hg_writer_record(pass->w, 0, HG_STREAM_CONTROL, &rec);
}

static void empty_close(struct sampler_netns *ns, uint64_t now_ns)
{
	if (ns->tasks || ns->flags & HG_NETNSF_HOST)
		ns->empty_ns = 0;
	else if (!ns->empty_ns)
		ns->empty_ns = now_ns;
	else if (now_ns >= ns->empty_ns + EMPTY_NS)
		slot_close(ns);
}

static int namespaces_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	int r = 0;

	tasks_refresh(s, state, true, pass->now_ns);
	tasks_refresh(s, state, false, pass->now_ns);
	for (size_t i = 0; i < SAMPLER_NETNS_MAX && !r; i++) {
		struct sampler_netns *ns = &s->netns[i];

		if (ns->id && !ns->told)
			r = netns_write(ns, pass);
		if (ns->id && !pass->final)
			empty_close(ns, pass->now_ns);
	}
	return r;
}

static void namespaces_free(struct hg_sampler *s, void *state)
{
	for (size_t i = 0; i < SAMPLER_NETNS_MAX; i++) {
		if (s->netns[i].id)
			slot_close(&s->netns[i]);
	}
	free(s->netlink);
	free(state);
}

const struct sampler_ops sampler_netns = {
	.name = "netns",
	.init = namespaces_init,
	.task_add = namespaces_add,
	.task_remove = namespaces_remove,
	.sample = namespaces_sample,
	.free = namespaces_free,
};
