/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SOCKET: TCP sockets of the target and the client, once a second. All are walked, which locks none; only those that are
 * followed are asked for more, which takes each one's lock for a moment. Whose a socket is, its inode tells: by the listening
 * port that it was accepted from, else by the descriptors of the processes, which are read only when there are new sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_socket.h"
#include "collector/sampler_private.h"

#define CANDIDATES_MAX	 4096 /* of all namespaces */
#define CANDIDATES_NETNS 2048 /* of one */
#define FOLLOWED_MAX	 64   /* in a namespace, as many of either side as there is room */
#define LISTENING_MAX	 16
#define OWNERS_MAX	 16384
#define FDS_MAX		 2048 /* that are looked at, a second */
#define FDS_PROCESS	 1024 /* of them, in one process */
/* After so long a socket that was nobody's is looked for again. */
#define NOBODY_NS	 (5 * HG_NSEC_PER_SEC)
/*
 * The kernel looks through the hash table of all namespaces for each walk, some ms where memory is plenty. A namespace is
 * walked this many times what it took later, after the first ones: connections of the benchmark are made then.
 */
#define WALK_REST	 2000
#define WALKS_EARLY	 3

struct owner {
	uint64_t inode;
	uint32_t role; /* 0: nobody's whom we record */
	uint64_t seen_ns;
	UT_hash_handle hh;
};

struct candidate {
	struct hg_socket_info info;
	struct sampler_netns *ns;
	uint32_t role;
	bool owned; /* role is known */
};

/* Those that are followed in a namespace, by cookie. */
struct sampler_sockets {
	struct {
		struct hg_socket_info info;
		uint32_t role;
	} followed[FOLLOWED_MAX];
	size_t followed_count;
	uint64_t walk_ns; /* when the next walk is due */
	unsigned int walks;
};

struct sockets {
	struct owner *owners;
	struct sampler_turn turn;
	uint64_t sampled_ns;
	size_t count;
	struct candidate candidates[CANDIDATES_MAX];
};

/* Of one namespace. */
struct walk {
	struct sockets *k;
	struct sampler_netns *ns;
	uint64_t now_ns;
	bool everybody;
	size_t taken;
};

void sampler_sockets_free(struct sampler_netns *ns)
{
	free(ns->sockets);
	ns->sockets = NULL;
}

/* --- whose a socket is --- */

static void owners_forget(struct sockets *k)
{
	struct owner *o, *next;

	HASH_ITER (hh, k->owners, o, next) {
		HASH_DEL(k->owners, o);
		free(o);
	}
}

static struct owner *owner_find(const struct sockets *k, uint64_t inode)
{
	struct owner *o;

	HASH_FIND(hh, k->owners, &inode, sizeof(inode), o);
	return o;
}

static void owner_set(struct sockets *k, uint64_t inode, uint32_t role, uint64_t now_ns)
{
	struct owner *o = owner_find(k, inode);

	if (!o) {
		if (HASH_COUNT(k->owners) >= OWNERS_MAX)
			owners_forget(k);
		o = calloc(1, sizeof(*o));
		if (!o)
			return;
		o->inode = inode;
		HASH_ADD(hh, k->owners, inode, sizeof(o->inode), o);
	}
	o->role |= role;
	o->seen_ns = now_ns;
}

static void fds_read(struct sockets *k, const struct sampler_task *task, size_t *budget,
		     uint64_t now_ns)
{
	size_t left = HG_MIN(*budget, (size_t)FDS_PROCESS);
	hg_autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", task->tgid);
	dir = opendir(path);
	while (dir && left && (entry = readdir(dir))) {
		unsigned long long inode;
		ssize_t n;

		if (entry->d_name[0] == '.')
			continue;
		left--;
		--*budget;
		n = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text) - 1);
		if (n <= 0)
			continue;
		text[n] = '\0';
		if (sscanf(text, "socket:[%llu]", &inode) == 1)
			owner_set(k, inode, task->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT),
				  now_ns);
	}
}

/* Processes take turns; a leader stands for its process. */
static void owners_read(struct hg_sampler *s, struct sockets *k, uint64_t now_ns)
{
	size_t seen = 0, budget = FDS_MAX;
	struct sampler_task *task;

	while (budget && (task = sampler_turn_next(s, &k->turn, &seen))) {
		if (!task->gone && task->tid == task->tgid &&
		    task->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT))
			fds_read(k, task, &budget, now_ns);
	}
}

static bool is_nobodys(const struct sockets *k, uint64_t inode, uint64_t now_ns)
{
	const struct owner *o = owner_find(k, inode);

	return o && !o->role && now_ns < o->seen_ns + NOBODY_NS;
}

static void owner_look_up(struct sockets *k, struct candidate *c, uint64_t now_ns)
{
	const struct owner *o = owner_find(k, c->info.inode);

	if (!o || (!o->role && now_ns >= o->seen_ns + NOBODY_NS))
		return;
	c->owned = true;
	c->role = o->role;
}

/* A socket that was accepted from a listening one has its port, and is whose that one is. */
static void ports_look_up(struct sockets *k)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct candidate *l = &k->candidates[i];

		if (l->info.state != HG_SOCKET_LISTEN || !l->role)
			continue;
		for (size_t j = 0; j < k->count; j++) {
			struct candidate *c = &k->candidates[j];

			if (!c->owned && c->ns == l->ns && c->info.port == l->info.port) {
				c->owned = true;
				c->role = l->role;
			}
		}
	}
}

static bool owners_look_up(struct sockets *k, uint64_t now_ns)
{
	bool all = true;

	for (size_t i = 0; i < k->count; i++) {
		if (!k->candidates[i].owned)
			owner_look_up(k, &k->candidates[i], now_ns);
	}
	ports_look_up(k);
	for (size_t i = 0; i < k->count; i++)
		all = all && k->candidates[i].owned;
	return all;
}

static void owners_find(struct hg_sampler *s, struct sockets *k, uint64_t now_ns)
{
	if (owners_look_up(k, now_ns))
		return;
	owners_read(s, k, now_ns);
	owners_look_up(k, now_ns);
	for (size_t i = 0; i < k->count; i++) {
		if (!k->candidates[i].owned)
			owner_set(k, k->candidates[i].info.inode, 0, now_ns);
	}
}

/* --- which are followed --- */

static void on_socket(void *arg, const struct hg_socket_info *info)
{
	struct walk *w = arg;
	struct sockets *k = w->k;

	if (!info->inode) /* it waits to be accepted */
		return;
	/* What is known to be nobody's gives way: on a crowded machine ours are found some seconds later. */
	if (!w->everybody && is_nobodys(k, info->inode, w->now_ns))
		return;
	if (k->count == CANDIDATES_MAX || w->taken == CANDIDATES_NETNS)
		return;
	w->taken++;
	k->candidates[k->count++] = (struct candidate){.info = *info, .ns = w->ns};
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * HG_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void netns_walk(struct hg_sampler *s, struct sockets *k, struct sampler_netns *ns,
		       bool everybody, const struct sampler_pass *pass)
{
	struct walk w = {.k = k, .ns = ns, .now_ns = pass->now_ns, .everybody = everybody};
	uint64_t cost_ns, rest_ns;
	int err;

	if (!ns->sockets)
		ns->sockets = calloc(1, sizeof(*ns->sockets));
	if (!ns->sockets || pass->now_ns < ns->sockets->walk_ns)
		return;
	cost_ns = cpu_ns();
	err = hg_sockets_walk(s->netlink, ns->files.fd[HG_NETNS_FD_DIAG], on_socket, &w);
	cost_ns = cpu_ns() - cost_ns;
	if (err)
		hg_debug("sockets of namespace %u: %s", ns->id, strerror(-err));
	rest_ns = ++ns->sockets->walks < WALKS_EARLY ? 0 : WALK_REST * cost_ns;
	ns->sockets->walk_ns = pass->now_ns + HG_MAX(rest_ns, SAMPLER_SECOND_NS);
}

static bool is_followed(const struct sampler_sockets *f, uint64_t cookie)
{
	for (size_t i = 0; i < f->followed_count; i++) {
		if (f->followed[i].info.cookie == cookie)
			return true;
	}
	return false;
}

/*
 * Adds candidates of these roles (0: nobody's) until there are max. Those that are followed stay until they are closed, so that
 * their totals make a series.
 */
static void follow(struct sockets *k, struct sampler_netns *ns, uint32_t role, size_t max)
{
	struct sampler_sockets *f = ns->sockets;

	for (size_t i = 0; i < k->count && f->followed_count < max; i++) {
		const struct candidate *c = &k->candidates[i];

		if (c->ns != ns || c->info.state == HG_SOCKET_LISTEN ||
		    (role ? !(c->role & role) : c->role) || is_followed(f, c->info.cookie))
			continue;
		f->followed[f->followed_count].info = c->info;
		f->followed[f->followed_count++].role = c->role;
	}
}

static size_t followed_with(const struct sampler_sockets *f, uint32_t role)
{
	size_t n = 0;

	for (size_t i = 0; i < f->followed_count; i++)
		n += (f->followed[i].role & role) != 0;
	return n;
}

/* Half of the room is for either side, and what one does not need for the other. */
static void netns_follow(struct hg_sampler *s, struct sockets *k, struct sampler_netns *ns,
			 bool everybody)
{
	static const uint32_t sides[] = {HG_ROLEF_TARGET, HG_ROLEF_CLIENT};
	struct sampler_sockets *f = ns->sockets;

	for (size_t i = 0; i < HG_ARRAY_SIZE(sides); i++) {
		size_t have = followed_with(f, sides[i]), room = FOLLOWED_MAX / 2;

		if (have < room)
			follow(k, ns, sides[i],
			       HG_MIN((size_t)FOLLOWED_MAX, f->followed_count + room - have));
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(sides); i++)
		follow(k, ns, sides[i], FOLLOWED_MAX);
	if (everybody)
		follow(k, ns, 0, FOLLOWED_MAX);
}

/* --- records --- */

static int socket_write(const struct sampler_netns *ns, const struct hg_socket_info *info,
			uint32_t role, const struct tcp_info *t, const struct sampler_pass *pass)
{
	struct hg_record rec = {
		.kind = HG_KIND_SOCKET,
		.time_ns = hg_now_ns(),
		.f = {[HG_SOCKET_COOKIE] = info->cookie,
		      [HG_SOCKET_NETNS] = ns->id,
		      [HG_SOCKET_ROLE] = role,
		      [HG_SOCKET_STATE] = info->state,
		      [HG_SOCKET_PORTS] = (uint64_t)info->port << 16 | info->peer_port,
		      [HG_SOCKET_RTT_US] = t->tcpi_rtt,
		      [HG_SOCKET_MIN_RTT_US] = t->tcpi_min_rtt == UINT32_MAX ? 0 : t->tcpi_min_rtt,
		      [HG_SOCKET_CWND] = t->tcpi_snd_cwnd,
		      [HG_SOCKET_MSS] = t->tcpi_snd_mss,
		      [HG_SOCKET_UNACKED] = t->tcpi_unacked,
		      [HG_SOCKET_SENDQ] = info->sendq,
		      [HG_SOCKET_NOTSENT] = t->tcpi_notsent_bytes,
		      [HG_SOCKET_RECVQ] = info->recvq,
		      [HG_SOCKET_BUSY_NS] = 1000 * t->tcpi_busy_time,
		      [HG_SOCKET_RWND_NS] = 1000 * t->tcpi_rwnd_limited,
		      [HG_SOCKET_SNDBUF_NS] = 1000 * t->tcpi_sndbuf_limited,
		      [HG_SOCKET_RETRANS] = t->tcpi_total_retrans,
		      [HG_SOCKET_RATE] = t->tcpi_delivery_rate,
		      [HG_SOCKET_ACKED] = t->tcpi_bytes_acked,
		      [HG_SOCKET_RECEIVED] = t->tcpi_bytes_received},
	};

	return sampler_write(pass, &rec);
}

/* What the walk says of a listening socket is all that there is. */
static int listening_write(const struct sockets *k, const struct sampler_netns *ns,
			   const struct sampler_pass *pass)
{
	size_t written = 0;
	int r = 0;

	for (size_t i = 0; i < k->count && written < LISTENING_MAX && !r; i++) {
		const struct candidate *c = &k->candidates[i];
		const struct tcp_info none = {.tcpi_unacked = c->info.recvq};

		if (c->ns != ns || c->info.state != HG_SOCKET_LISTEN || !c->role)
			continue;
		written++;
		r = socket_write(ns, &c->info, c->role, &none, pass);
	}
	return r;
}

static int followed_write(struct hg_sampler *s, struct sampler_netns *ns,
			  const struct sampler_pass *pass)
{
	struct sampler_sockets *f = ns->sockets;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < f->followed_count && !r; i++) {
		struct hg_socket_info now;
		struct tcp_info tcp;
		int err = hg_socket_read(s->netlink, ns->files.fd[HG_NETNS_FD_DIAG],
					 &f->followed[i].info, &now, &tcp);

		if (err)
			continue; /* closed */
		f->followed[kept++] = f->followed[i];
		r = socket_write(ns, &now, f->followed[i].role, &tcp, pass);
	}
	f->followed_count = kept;
	return r;
}

/* --- all --- */

static int sockets_init(struct hg_sampler *s, void **state)
{
	*state = calloc(1, sizeof(struct sockets));
	return *state ? 0 : -ENOMEM;
}

static bool is_read(const struct sampler_netns *ns)
{
	return ns->id && ns->files.fd[HG_NETNS_FD_DIAG] >= 0;
}

/* With -a nobody is the target: any socket may tell something. */
static bool no_target(const struct hg_sampler *s)
{
	for (size_t i = 0; i < s->tasks_count; i++) {
		if (s->tasks[i]->role & HG_ROLEF_TARGET)
			return false;
	}
	return true;
}

static int sockets_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	bool everybody = no_target(s);
	struct sockets *k = state;
	int r = 0;

	if (k->sampled_ns && !pass->final && pass->now_ns < k->sampled_ns + SAMPLER_SECOND_NS)
		return 0;
	k->sampled_ns = pass->now_ns;
	k->count = 0;
	/* Where the benchmark is first: there is room for so many. */
	for (size_t i = 0; i < 2 * SAMPLER_NETNS_MAX; i++) {
		struct sampler_netns *ns = &s->netns[i % SAMPLER_NETNS_MAX];
		bool ours = ns->flags & (HG_NETNSF_TARGET | HG_NETNSF_CLIENT);

		if (is_read(ns) && ours == (i < SAMPLER_NETNS_MAX) && (ours || everybody))
			netns_walk(s, k, ns, everybody, pass);
	}
	owners_find(s, k, pass->now_ns);
	for (size_t i = 0; i < SAMPLER_NETNS_MAX && !r; i++) {
		struct sampler_netns *ns = &s->netns[i];

		if (!is_read(ns) || !ns->sockets)
			continue;
		netns_follow(s, k, ns, everybody);
		r = listening_write(k, ns, pass);
		if (!r)
			r = followed_write(s, ns, pass);
	}
	return r;
}

static void sockets_free(struct hg_sampler *s, void *state)
{
	struct sockets *k = state;

	owners_forget(k);
	free(k);
}

const struct sampler_ops sampler_socket = {
	.name = "socket",
	.init = sockets_init,
	.sample = sockets_sample,
	.free = sockets_free,
};
