/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LINK, NETDEV_STATS, QDISC: the devices of each namespace. A device is (namespace, ifindex): both ends of a veth can have
 * the same ifindex, and only the one in the target's namespace has the target's qdisc.
 */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/sampler_private.h"

/* What a driver says is asked for again after this long. */
#define DRIVER_NS (10 * HG_NSEC_PER_SEC)

struct sampler_link {
	uint32_t id;
	struct hg_link_info info;
	struct hg_ethtool_info driver;
	uint64_t driver_ns;  /* when it was asked, 0: not yet */
	uint32_t peer_netns; /* id, 0 not known */
	bool seen, told;
	bool classes; /* of htb: its rates are those of its classes */
};

/* What the callbacks of a dump need. */
struct walk {
	struct hg_sampler *s;
	struct sampler_netns *ns;
	const struct sampler_pass *pass;
	uint64_t time_ns;
	size_t written;
	int err; /* the first of the writer */
};

void sampler_links_free(struct sampler_netns *ns)
{
	free(ns->links);
	ns->links = NULL;
	ns->links_count = 0;
}

static struct sampler_link *link_find(const struct sampler_netns *ns, uint32_t ifindex)
{
	for (size_t i = 0; i < ns->links_count; i++) {
		if (ns->links[i].info.ifindex == ifindex)
			return &ns->links[i];
	}
	return NULL;
}

static struct sampler_link *link_new(struct hg_sampler *s, struct sampler_netns *ns)
{
	struct sampler_link *links;

	if (ns->links_count >= SAMPLER_LINKS_MAX)
		return NULL;
	links = reallocarray(ns->links, ns->links_count + 1, sizeof(*links));
	if (!links)
		return NULL;
	ns->links = links;
	links[ns->links_count] = (struct sampler_link){.id = ++s->links_made};
	return &links[ns->links_count++];
}

static int on_link(void *arg, const struct hg_link_info *info)
{
	struct walk *w = arg;
	struct sampler_link *l = link_find(w->ns, info->ifindex);

	if (l && strcmp(l->info.kind, info->kind)) {
		*l = w->ns->links[--w->ns->links_count]; /* another device has the number now */
		l = NULL;
	}
	if (!l)
		l = link_new(w->s, w->ns);
	if (!l)
		return 0;
	l->seen = true;
	if (memcmp(&l->info, info, sizeof(*info))) {
		l->info = *info;
		l->told = false;
	}
	return 0;
}

static void driver_ask(const struct sampler_netns *ns, struct sampler_link *l, uint64_t now_ns)
{
	struct hg_ethtool_info driver;

	if (l->driver_ns && now_ns < l->driver_ns + DRIVER_NS && l->told)
		return;
	l->driver_ns = now_ns;
	hg_ethtool_read(ns->files.fd[HG_NETNS_FD_INET], l->info.name, &driver);
	if (driver.mbit != l->driver.mbit || driver.offloads != l->driver.offloads ||
	    strcmp(driver.driver, l->driver.driver)) {
		l->driver = driver;
		l->told = false;
	}
}

/* The namespace that ns numbers so, among those that are known. */
static uint32_t netns_by_nsid(struct hg_sampler *s, const struct sampler_netns *ns, int32_t nsid)
{
	for (size_t i = 0; i < SAMPLER_NETNS_MAX; i++) {
		const struct sampler_netns *other = &s->netns[i];
		int32_t found;

		if (other->id && other != ns && other->files.fd[HG_NETNS_FD_SELF] >= 0 &&
		    !hg_netlink_nsid(s->netlink, ns->files.fd[HG_NETNS_FD_ROUTE],
				     other->files.fd[HG_NETNS_FD_SELF], &found) &&
		    found == nsid)
			return other->id;
	}
	return 0;
}

static void peer_find(struct hg_sampler *s, const struct sampler_netns *ns, struct sampler_link *l)
{
	uint32_t id = 0;

	if (l->info.peer_ifindex)
		id = l->info.peer_nsid < 0 ? ns->id : netns_by_nsid(s, ns, l->info.peer_nsid);
	if (!id || id == l->peer_netns)
		return; /* what was known once stays, also when that namespace is no longer read */
	l->peer_netns = id;
	l->told = false;
}

static int link_write(const struct sampler_netns *ns, struct sampler_link *l,
		      const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_LINK, .time_ns = pass->now_ns};
	const char *const texts[] = {l->info.name, l->info.kind, l->driver.driver};
	uint32_t ids[HG_ARRAY_SIZE(texts)];

	for (size_t i = 0; i < HG_ARRAY_SIZE(texts); i++) {
		int r = hg_writer_string(pass->w, texts[i], strlen(texts[i]), &ids[i]);

		if (r)
			return r;
	}
	rec.f[HG_LINK_ID] = l->id;
	rec.f[HG_LINK_NETNS] = ns->id;
	rec.f[HG_LINK_IFINDEX] = l->info.ifindex;
	rec.f[HG_LINK_NAME] = ids[0];
	rec.f[HG_LINK_KIND] = ids[1];
	rec.f[HG_LINK_DRIVER] = ids[2];
	rec.f[HG_LINK_FLAGS] = l->info.flags;
	rec.f[HG_LINK_MBIT] = l->driver.mbit;
	rec.f[HG_LINK_MTU] = l->info.mtu;
	rec.f[HG_LINK_TX_QUEUES] = l->info.tx_queues;
	rec.f[HG_LINK_RX_QUEUES] = l->info.rx_queues;
	rec.f[HG_LINK_OFFLOADS] = l->driver.offloads;
	rec.f[HG_LINK_PEER_IFINDEX] = l->info.peer_ifindex;
	rec.f[HG_LINK_PEER_NETNS] = l->peer_netns;
	rec.f[HG_LINK_MASTER] = l->info.master;
	l->told = true;
	return hg_writer_record(pass->w, 0, HG_STREAM_CONTROL, &rec);
}

/* Which devices there are, and what they are: once a second, or when one appeared. */
static int links_look_up(struct walk *w)
{
	struct sampler_netns *ns = w->ns;
	size_t kept = 0;
	int r = 0;

	if (ns->links_ns && w->pass->now_ns < ns->links_ns + SAMPLER_SECOND_NS)
		return 0;
	ns->links_ns = w->pass->now_ns;
	for (size_t i = 0; i < ns->links_count; i++)
		ns->links[i].seen = false;
	if (hg_netlink_links(w->s->netlink, ns->files.fd[HG_NETNS_FD_ROUTE], on_link, w))
		return 0; /* this time not: what was known may still be there */
	for (size_t i = 0; i < ns->links_count; i++) {
		if (ns->links[i].seen)
			ns->links[kept++] = ns->links[i];
	}
	ns->links_count = kept;
	for (size_t i = 0; i < kept && !r; i++) {
		driver_ask(ns, &ns->links[i], w->pass->now_ns);
		peer_find(w->s, ns, &ns->links[i]);
		if (!ns->links[i].told)
			r = link_write(ns, &ns->links[i], w->pass);
	}
	return r;
}

static int on_stats(void *arg, uint32_t ifindex, const struct rtnl_link_stats64 *stats)
{
	struct walk *w = arg;
	const struct sampler_link *l = link_find(w->ns, ifindex);
	struct hg_record rec = {
		.kind = HG_KIND_NETDEV_STATS,
		.time_ns = w->time_ns,
		.f = {[HG_NETDEV_LINK] = l ? l->id : 0,
		      [HG_NETDEV_RX_BYTES] = stats->rx_bytes,
		      [HG_NETDEV_RX_PACKETS] = stats->rx_packets,
		      [HG_NETDEV_RX_ERRORS] = stats->rx_errors,
		      [HG_NETDEV_RX_DROPPED] = stats->rx_dropped,
		      [HG_NETDEV_RX_MISSED] = stats->rx_missed_errors,
		      [HG_NETDEV_RX_NOHANDLER] = stats->rx_nohandler,
		      [HG_NETDEV_TX_BYTES] = stats->tx_bytes,
		      [HG_NETDEV_TX_PACKETS] = stats->tx_packets,
		      [HG_NETDEV_TX_ERRORS] = stats->tx_errors,
		      [HG_NETDEV_TX_DROPPED] = stats->tx_dropped,
		      [HG_NETDEV_COLLISIONS] = stats->collisions},
	};

	if (!l) {
		if (w->ns->links_count < SAMPLER_LINKS_MAX)
			w->ns->links_ns = 0; /* it is new: it is read from the next tick on */
		return 0;
	}
	w->err = sampler_write(w->pass, &rec);
	return w->err;
}

static int on_qdisc(void *arg, const struct hg_qdisc_info *q)
{
	struct walk *w = arg;
	struct sampler_link *l = link_find(w->ns, q->ifindex);
	struct hg_record rec = {.kind = HG_KIND_QDISC, .time_ns = w->time_ns};
	uint32_t kind;

	if (!l || w->written++ >= SAMPLER_QDISCS_MAX)
		return 0;
	w->err = hg_writer_string(w->pass->w, q->kind, strlen(q->kind), &kind);
	if (w->err)
		return w->err;
	if (!strcmp(q->kind, "htb"))
		l->classes = true;
	rec.f[HG_QDISC_LINK] = l->id;
	rec.f[HG_QDISC_HANDLE] = q->handle;
	rec.f[HG_QDISC_PARENT] = q->parent;
	rec.f[HG_QDISC_KIND] = kind;
	rec.f[HG_QDISC_BYTES] = q->bytes;
	rec.f[HG_QDISC_PACKETS] = q->packets;
	rec.f[HG_QDISC_DROPS] = q->drops;
	rec.f[HG_QDISC_OVERLIMITS] = q->overlimits;
	rec.f[HG_QDISC_REQUEUES] = q->requeues;
	rec.f[HG_QDISC_BACKLOG_BYTES] = q->backlog_bytes;
	rec.f[HG_QDISC_BACKLOG_PACKETS] = q->backlog_packets;
	rec.f[HG_QDISC_RATE] = q->rate;
	rec.f[HG_QDISC_BURST] = q->burst;
	w->err = sampler_write(w->pass, &rec);
	return w->err;
}

/*
 * The records of a dump have the time of its start: most namespaces fit into the first datagram, which the kernel fills
 * within the request. What a dump itself fails with is no error of the writer: there are no figures this time.
 */
static int links_read(struct walk *w)
{
	int fd = w->ns->files.fd[HG_NETNS_FD_ROUTE], r;

	w->ns->stats_ns = w->pass->now_ns;
	w->time_ns = hg_now_ns();
	r = hg_netlink_stats(w->s->netlink, fd, on_stats, w);
	if (r)
		hg_debug("devices of namespace %u: %s", w->ns->id, strerror(-r));
	if (w->err)
		return w->err;
	w->time_ns = hg_now_ns();
	r = hg_netlink_qdiscs(w->s->netlink, fd, on_qdisc, w);
	if (r)
		hg_debug("qdiscs of namespace %u: %s", w->ns->id, strerror(-r));
	for (size_t i = 0; i < w->ns->links_count && !w->err; i++) {
		struct sampler_link *l = &w->ns->links[i];

		if (!l->classes)
			continue;
		l->classes = false; /* until the next dump shows it again */
		w->time_ns = hg_now_ns();
		r = hg_netlink_classes(w->s->netlink, fd, l->info.ifindex, on_qdisc, w);
		if (r)
			hg_debug("classes of %s: %s", l->info.name, strerror(-r));
	}
	return w->err;
}

static bool read_due(const struct sampler_netns *ns, const struct sampler_pass *pass)
{
	return ns->links_count <= SAMPLER_LINKS_TICK || pass->final ||
	       pass->now_ns >= ns->stats_ns + SAMPLER_SECOND_NS;
}

static int links_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	int r = 0;

	for (size_t i = 0; i < SAMPLER_NETNS_MAX && !r; i++) {
		struct walk w = {.s = s, .ns = &s->netns[i], .pass = pass};

		if (!w.ns->id || w.ns->files.fd[HG_NETNS_FD_ROUTE] < 0)
			continue;
		r = links_look_up(&w);
		if (!r && read_due(w.ns, pass))
			r = links_read(&w);
	}
	return r;
}

const struct sampler_ops sampler_link = {
	.name = "link",
	.sample = links_sample,
};
