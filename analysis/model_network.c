/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the samplers saw of the network: namespaces, devices, qdiscs, backlogs, TCP sockets. */
#include <errno.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

/* Makes *array one longer, at most max. 1: it is; 0: there is no room; -ENOMEM. */
static int grow(struct hg_model *m, void *array, size_t *count, size_t max, size_t size)
{
	void **at = array, *v;

	if (*count >= max) {
		hg_model_warn_once(m->network.warned,
				   "The trace has more network objects than can be told apart: the "
				   "rest are left out.");
		return 0;
	}
	if (!(*count & (*count - 1))) { /* 1, 2, 4, ... */
		v = realloc(*at, (*count ? *count * 2 : 1) * size);
		if (!v)
			return -ENOMEM;
		*at = v;
	}
	memset((char *)*at + *count * size, 0, size);
	++*count;
	return 1;
}

/* Element id - 1 of an array by id; NULL: out of bounds (*err 0) or -ENOMEM. */
static void *by_id(struct hg_model *m, void *array, size_t *count, size_t max, size_t size,
		   uint64_t id, int *err)
{
	*err = 0;
	if (!id || id > max)
		return NULL;
	while (*count < id) {
		int r = grow(m, array, count, max, size);

		if (r <= 0) {
			*err = r;
			return NULL;
		}
	}
	return *(char **)array + (id - 1) * size;
}

static struct hg_netns *netns_want(struct hg_model *m, uint64_t id, int *err)
{
	struct hg_network *n = &m->network;

	return by_id(m, &n->netns, &n->netns_count, HG_NETNS_MAX, sizeof(*n->netns), id, err);
}

static struct hg_link *link_want(struct hg_model *m, uint64_t id, int *err)
{
	struct hg_network *n = &m->network;

	return by_id(m, &n->links, &n->links_count, HG_LINKS_MAX, sizeof(*n->links), id, err);
}

static int on_netns(struct hg_model *m, const struct hg_record *rec)
{
	int err;
	struct hg_netns *ns = netns_want(m, rec->f[HG_NETNS_ID], &err);

	if (!ns)
		return err;
	ns->id = (uint32_t)rec->f[HG_NETNS_ID];
	ns->inode = rec->f[HG_NETNS_INODE];
	ns->flags |= (uint32_t)rec->f[HG_NETNS_FLAGS];
	ns->why = hg_model_string(m, rec->f[HG_NETNS_WHY]);
	return 0;
}

static int on_link(struct hg_model *m, const struct hg_record *rec)
{
	int err;
	struct hg_link *l = link_want(m, rec->f[HG_LINK_ID], &err);

	if (!l)
		return err;
	l->id = (uint32_t)rec->f[HG_LINK_ID];
	l->netns = (uint32_t)rec->f[HG_LINK_NETNS];
	l->ifindex = (uint32_t)rec->f[HG_LINK_IFINDEX];
	l->name = hg_model_string(m, rec->f[HG_LINK_NAME]);
	l->kind = hg_model_string(m, rec->f[HG_LINK_KIND]);
	l->driver = hg_model_string(m, rec->f[HG_LINK_DRIVER]);
	l->flags = (uint32_t)rec->f[HG_LINK_FLAGS];
	l->mbit = rec->f[HG_LINK_MBIT];
	l->mtu = rec->f[HG_LINK_MTU];
	l->tx_queues = rec->f[HG_LINK_TX_QUEUES];
	l->rx_queues = rec->f[HG_LINK_RX_QUEUES];
	l->offloads = (uint32_t)rec->f[HG_LINK_OFFLOADS];
	/* Until all are known: hg_network_resolve(). */
	l->peer = (uint32_t)rec->f[HG_LINK_PEER_IFINDEX];
	l->peer_netns = (uint32_t)rec->f[HG_LINK_PEER_NETNS];
	l->master = (uint32_t)rec->f[HG_LINK_MASTER];
	return 0;
}

int hg_network_define(struct hg_model *m, const struct hg_record *rec)
{
	return rec->kind == HG_KIND_NETNS ? on_netns(m, rec) : on_link(m, rec);
}

/* Id of a device, 0 if it is not there. */
static uint32_t link_by_index(const struct hg_network *n, uint32_t netns, uint32_t ifindex)
{
	for (size_t i = 0; i < n->links_count && netns && ifindex; i++) {
		if (n->links[i].netns == netns && n->links[i].ifindex == ifindex)
			return n->links[i].id;
	}
	return 0;
}

void hg_network_resolve(struct hg_model *m)
{
	struct hg_network *n = &m->network;

	for (size_t i = 0; i < n->netns_count; i++) {
		if (!n->netns[i].why)
			n->netns[i].why = "";
	}
	for (size_t i = 0; i < n->links_count; i++) {
		struct hg_link *l = &n->links[i];

		if (!l->name)
			l->name = l->kind = l->driver = "";
		l->peer = link_by_index(n, l->peer_netns, l->peer);
		l->master = link_by_index(n, l->netns, l->master);
	}
}

static int on_netdev(struct hg_model *m, const struct hg_record *rec)
{
	const struct hg_link *known = hg_model_link_find(m, (uint32_t)rec->f[HG_NETDEV_LINK]);
	struct hg_link *l;
	const uint64_t *f = rec->f;
	int rc;

	if (!known)
		return 0; /* its definition was lost: figures of nothing */
	l = &m->network.links[known->id - 1];
	rc = hg_series_add(m, &l->rx, rec->time_ns, f[HG_NETDEV_RX_BYTES], f[HG_NETDEV_RX_PACKETS]);
	if (!rc)
		rc = hg_series_add(m, &l->tx, rec->time_ns, f[HG_NETDEV_TX_BYTES],
				   f[HG_NETDEV_TX_PACKETS]);
	if (!rc)
		rc = hg_series_add(m, &l->drops, rec->time_ns,
				   f[HG_NETDEV_RX_DROPPED] + f[HG_NETDEV_RX_MISSED],
				   f[HG_NETDEV_TX_DROPPED]);
	return rc ? rc
		  : hg_series_add(m, &l->errors, rec->time_ns, f[HG_NETDEV_RX_ERRORS],
				  f[HG_NETDEV_TX_ERRORS]);
}

/* What has this key, made with index UINT32_MAX if it is new. NULL: no memory. */
static struct hg_network_entry *entry_get(struct hg_network_entry **table, uint64_t a, uint64_t b)
{
	struct hg_network_entry *e;
	const uint64_t key[2] = {a, b};

	HASH_FIND(hh, *table, key, sizeof(key), e);
	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	memcpy(e->key, key, sizeof(key));
	e->index = UINT32_MAX;
	HASH_ADD(hh, *table, key, sizeof(e->key), e);
	if (!e->hh.tbl) { /* out of memory */
		free(e);
		return NULL;
	}
	return e;
}

static int qdisc_get(struct hg_model *m, const struct hg_record *rec, struct hg_qdisc **out)
{
	struct hg_network *n = &m->network;
	uint64_t link = rec->f[HG_QDISC_LINK];
	uint64_t at = rec->f[HG_QDISC_HANDLE] << 32 | (uint32_t)rec->f[HG_QDISC_PARENT];
	struct hg_network_entry *e;
	int r = 1;

	*out = NULL;
	if (!hg_model_link_find(m, (uint32_t)link) || HASH_COUNT(n->qdiscs_by_key) >= HG_QDISCS_MAX)
		return 0;
	e = entry_get(&n->qdiscs_by_key, link, at);
	if (!e)
		return -ENOMEM;
	if (e->index == UINT32_MAX) {
		r = grow(m, &n->qdiscs, &n->qdiscs_count, HG_QDISCS_MAX, sizeof(*n->qdiscs));
		if (r <= 0)
			return r;
		e->index = (uint32_t)n->qdiscs_count - 1;
	}
	*out = &n->qdiscs[e->index];
	return 0;
}

static int on_qdisc(struct hg_model *m, const struct hg_record *rec)
{
	const uint64_t *f = rec->f;
	struct hg_qdisc *q;
	int rc = qdisc_get(m, rec, &q);

	if (rc || !q)
		return rc;
	q->link = (uint32_t)f[HG_QDISC_LINK];
	q->handle = (uint32_t)f[HG_QDISC_HANDLE];
	q->parent = (uint32_t)f[HG_QDISC_PARENT];
	if (!q->kind || rec->time_ns <= m->to_ns) {
		q->kind = hg_model_string(m, f[HG_QDISC_KIND]);
		q->rate = f[HG_QDISC_RATE];
		q->burst = f[HG_QDISC_BURST];
	}
	rc = hg_series_add(m, &q->sent, rec->time_ns, f[HG_QDISC_BYTES], f[HG_QDISC_PACKETS]);
	if (!rc)
		rc = hg_series_add(m, &q->drops, rec->time_ns, f[HG_QDISC_DROPS],
				   f[HG_QDISC_OVERLIMITS]);
	if (!rc)
		rc = hg_series_add(m, &q->requeues, rec->time_ns, f[HG_QDISC_REQUEUES], 0);
	return rc ? rc
		  : hg_series_add(m, &q->backlog, rec->time_ns, f[HG_QDISC_BACKLOG_BYTES],
				  f[HG_QDISC_BACKLOG_PACKETS]);
}

static int on_softnet(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_network *n = &m->network;
	const uint64_t *f = rec->f;
	struct hg_softnet *s;
	int err;

	if (f[HG_SOFTNET_CPU] >= HG_CPUS_MAX)
		return 0;
	s = by_id(m, &n->softnet, &n->softnet_count, HG_CPUS_MAX, sizeof(*n->softnet),
		  f[HG_SOFTNET_CPU] + 1, &err);
	if (!s)
		return err;
	s->cpu = (uint32_t)f[HG_SOFTNET_CPU];
	err = hg_series_add(m, &s->packets, rec->time_ns, f[HG_SOFTNET_PROCESSED],
			    f[HG_SOFTNET_SQUEEZED]);
	if (!err)
		err = hg_series_add(m, &s->drops, rec->time_ns, f[HG_SOFTNET_DROPPED],
				    f[HG_SOFTNET_FLOW_LIMIT]);
	if (!err)
		err = hg_series_add(m, &s->rps, rec->time_ns, f[HG_SOFTNET_RPS], 0);
	return err ? err : hg_series_add(m, &s->backlog, rec->time_ns, f[HG_SOFTNET_BACKLOG], 0);
}

static int socket_get(struct hg_model *m, const struct hg_record *rec, struct hg_socket **out)
{
	struct hg_network *n = &m->network;
	struct hg_network_entry *e;
	int r;

	*out = NULL;
	if (HASH_COUNT(n->sockets_by_cookie) >= HG_SOCKETS_MAX)
		return 0;
	e = entry_get(&n->sockets_by_cookie, rec->f[HG_SOCKET_COOKIE], rec->f[HG_SOCKET_NETNS]);
	if (!e)
		return -ENOMEM;
	if (e->index == UINT32_MAX) {
		r = grow(m, &n->sockets, &n->sockets_count, HG_SOCKETS_MAX, sizeof(*n->sockets));
		if (r <= 0)
			return r;
		e->index = (uint32_t)n->sockets_count - 1;
	}
	*out = &n->sockets[e->index];
	return 0;
}

static void socket_describe(struct hg_socket *s, const uint64_t *f)
{
	s->cookie = f[HG_SOCKET_COOKIE];
	s->netns = (uint32_t)f[HG_SOCKET_NETNS];
	s->role |= (uint32_t)f[HG_SOCKET_ROLE];
	s->state = (uint32_t)f[HG_SOCKET_STATE];
	s->port = (uint16_t)(f[HG_SOCKET_PORTS] >> 16);
	s->peer_port = (uint16_t)f[HG_SOCKET_PORTS];
	s->mss = f[HG_SOCKET_MSS];
}

static int on_socket(struct hg_model *m, const struct hg_record *rec)
{
	const uint64_t *f = rec->f;
	struct hg_socket *s;
	int rc = socket_get(m, rec, &s);

	if (rc || !s)
		return rc;
	socket_describe(s, f);

	const struct {
		struct hg_series *series;
		uint64_t a, b;
	} add[] = {
		{&s->rtt, f[HG_SOCKET_RTT_US], f[HG_SOCKET_MIN_RTT_US]},
		{&s->window, f[HG_SOCKET_CWND], f[HG_SOCKET_UNACKED]},
		{&s->queue, f[HG_SOCKET_SENDQ], f[HG_SOCKET_RECVQ]},
		{&s->notsent, f[HG_SOCKET_NOTSENT], f[HG_SOCKET_RATE]},
		{&s->limited, f[HG_SOCKET_RWND_NS], f[HG_SOCKET_SNDBUF_NS]},
		{&s->busy, f[HG_SOCKET_BUSY_NS], f[HG_SOCKET_RETRANS]},
		{&s->bytes, f[HG_SOCKET_ACKED], f[HG_SOCKET_RECEIVED]},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(add) && !rc; i++)
		rc = hg_series_add(m, add[i].series, rec->time_ns, add[i].a, add[i].b);
	return rc;
}

static int on_netns_stats(struct hg_model *m, const struct hg_record *rec)
{
	const struct hg_netns *known =
		hg_model_netns_find(m, (uint32_t)rec->f[HG_NETNS_STATS_NETNS]);
	struct hg_netns *ns;
	const uint64_t *f = rec->f;
	int rc = 0;

	if (!known)
		return 0;
	ns = &m->network.netns[known->id - 1];

	const struct {
		struct hg_series *series;
		int a, b; /* fields */
	} add[] = {
		{&ns->tcp, HG_NETNS_STATS_TCP_OUT, HG_NETNS_STATS_TCP_RETRANS},
		{&ns->tcp_in, HG_NETNS_STATS_TCP_IN, HG_NETNS_STATS_TCP_OPENS},
		{&ns->tcp_trouble, HG_NETNS_STATS_TCP_TIMEOUTS, HG_NETNS_STATS_ZERO_WINDOWS},
		{&ns->listen, HG_NETNS_STATS_LISTEN_OVERFLOWS, HG_NETNS_STATS_LISTEN_DROPS},
		{&ns->socket_drops, HG_NETNS_STATS_BACKLOG_DROPS, HG_NETNS_STATS_RCVQ_DROPS},
		{&ns->udp, HG_NETNS_STATS_UDP_IN, HG_NETNS_STATS_UDP_OUT},
		{&ns->udp_errors, HG_NETNS_STATS_UDP_IN_ERRORS, HG_NETNS_STATS_UDP_NO_PORTS},
		{&ns->udp_buffer, HG_NETNS_STATS_UDP_RCVBUF_ERRORS,
		 HG_NETNS_STATS_UDP_SNDBUF_ERRORS},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(add) && !rc; i++)
		rc = hg_series_add(m, add[i].series, rec->time_ns, f[add[i].a], f[add[i].b]);
	return rc;
}

int hg_network_sample(struct hg_model *m, const struct hg_record *rec)
{
	switch (rec->kind) {
	case HG_KIND_QDISC:
		return on_qdisc(m, rec);
	case HG_KIND_NETDEV_STATS:
		return on_netdev(m, rec);
	case HG_KIND_SOFTNET:
		return on_softnet(m, rec);
	case HG_KIND_SOCKET:
		return on_socket(m, rec);
	case HG_KIND_NETNS_STATS:
		return on_netns_stats(m, rec);
	}
	return 0;
}

static void entries_free(struct hg_network_entry *table)
{
	struct hg_network_entry *e, *next;

	HASH_ITER (hh, table, e, next) {
		HASH_DEL(table, e);
		free(e);
	}
}

/* The values of the series of one object. */
#define SERIES_FREE(...)                                                                           \
	series_free((struct hg_series *const[]){__VA_ARGS__},                                      \
		    sizeof((struct hg_series *const[]){__VA_ARGS__}) / sizeof(struct hg_series *))
static void series_free(struct hg_series *const *series, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(series[i]->v);
}

void hg_network_free(struct hg_model *m)
{
	struct hg_network *n = &m->network;

	for (size_t i = 0; i < n->netns_count; i++) {
		struct hg_netns *ns = &n->netns[i];

		SERIES_FREE(&ns->tcp, &ns->tcp_in, &ns->tcp_trouble, &ns->listen, &ns->socket_drops,
			    &ns->udp, &ns->udp_errors, &ns->udp_buffer);
	}
	for (size_t i = 0; i < n->links_count; i++) {
		struct hg_link *l = &n->links[i];

		SERIES_FREE(&l->rx, &l->tx, &l->drops, &l->errors);
	}
	for (size_t i = 0; i < n->qdiscs_count; i++) {
		struct hg_qdisc *q = &n->qdiscs[i];

		SERIES_FREE(&q->sent, &q->drops, &q->requeues, &q->backlog);
	}
	for (size_t i = 0; i < n->softnet_count; i++) {
		struct hg_softnet *c = &n->softnet[i];

		SERIES_FREE(&c->packets, &c->drops, &c->rps, &c->backlog);
	}
	for (size_t i = 0; i < n->sockets_count; i++) {
		struct hg_socket *k = &n->sockets[i];

		SERIES_FREE(&k->rtt, &k->window, &k->queue, &k->notsent, &k->limited, &k->busy,
			    &k->bytes);
	}
	entries_free(n->sockets_by_cookie);
	entries_free(n->qdiscs_by_key);
	free(n->netns);
	free(n->links);
	free(n->qdiscs);
	free(n->softnet);
	free(n->sockets);
}

size_t hg_model_netns(const struct hg_model *m, const struct hg_netns **out)
{
	*out = m->network.netns;
	return m->network.netns_count;
}

size_t hg_model_links(const struct hg_model *m, const struct hg_link **out)
{
	*out = m->network.links;
	return m->network.links_count;
}

size_t hg_model_qdiscs(const struct hg_model *m, const struct hg_qdisc **out)
{
	*out = m->network.qdiscs;
	return m->network.qdiscs_count;
}

size_t hg_model_softnet(const struct hg_model *m, const struct hg_softnet **out)
{
	*out = m->network.softnet;
	return m->network.softnet_count;
}

size_t hg_model_sockets(const struct hg_model *m, const struct hg_socket **out)
{
	*out = m->network.sockets;
	return m->network.sockets_count;
}

const struct hg_netns *hg_model_netns_find(const struct hg_model *m, uint32_t id)
{
	const struct hg_network *n = &m->network;

	return id && id <= n->netns_count && n->netns[id - 1].id ? &n->netns[id - 1] : NULL;
}

const struct hg_link *hg_model_link_find(const struct hg_model *m, uint32_t id)
{
	const struct hg_network *n = &m->network;

	return id && id <= n->links_count && n->links[id - 1].id ? &n->links[id - 1] : NULL;
}
