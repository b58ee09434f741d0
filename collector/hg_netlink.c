/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/gen_stats.h>
#include <linux/net_namespace.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "base/hg_base.h"

#define REQUEST_BYTES_MAX 256
/* A dump of more is not read to its end: the next request of this socket is refused, and that is all. */
#define MESSAGES_MAX	  (1 << 20)
/* Of struct tc_tbf_qopt: PSCHED_SHIFT in include/net/pkt_sched.h. */
#define PSCHED_TICK_NS	  64

/* --- requests --- */

/* One datagram of messages. 1: the dump goes on; 0: it is over; or -errno. */
static int datagram_take(const struct hg_netlink *n, int length, hg_netlink_fn fn, void *arg,
			 int *fn_result, unsigned int *messages)
{
	const struct nlmsghdr *m = (const struct nlmsghdr *)n->buf;

	for (; mnl_nlmsg_ok(m, length); m = mnl_nlmsg_next(m, &length)) {
		if (m->nlmsg_seq != n->sequence)
			continue; /* the rest of a dump that was given up */
		if (m->nlmsg_type == NLMSG_DONE)
			return 0;
		if (m->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(m);

			return mnl_nlmsg_get_payload_len(m) < sizeof(*e) ? -EBADMSG : e->error;
		}
		if (!*fn_result)
			*fn_result = fn(arg, m);
		if (++*messages >= MESSAGES_MAX)
			return -E2BIG;
		if (!(m->nlmsg_flags & NLM_F_MULTI))
			return 0;
	}
	return 1;
}

static int request_run(struct hg_netlink *n, int fd, struct nlmsghdr *request, uint16_t flags,
		       hg_netlink_fn fn, void *arg)
{
	int fn_result = 0, r;
	unsigned int messages = 0;

	request->nlmsg_flags = NLM_F_REQUEST | flags;
	request->nlmsg_seq = ++n->sequence;
	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	do {
		ssize_t length = recv(fd, n->buf, sizeof(n->buf), MSG_TRUNC);

		if (length < 0)
			return -errno;
		if ((size_t)length > sizeof(n->buf))
			return -EMSGSIZE;
		r = datagram_take(n, (int)length, fn, arg, &fn_result, &messages);
	} while (r > 0);
	return r ? r : fn_result;
}

int hg_netlink_dump(struct hg_netlink *n, int fd, struct nlmsghdr *request, hg_netlink_fn fn,
		    void *arg)
{
	return request_run(n, fd, request, NLM_F_DUMP, fn, arg);
}

int hg_netlink_get(struct hg_netlink *n, int fd, struct nlmsghdr *request, hg_netlink_fn fn,
		   void *arg)
{
	return request_run(n, fd, request, 0, fn, arg);
}

/* --- attributes --- */

struct table {
	const struct nlattr **slots;
	unsigned int max;
};

static int attribute_take(const struct nlattr *a, void *arg)
{
	struct table *t = arg;
	unsigned int type = mnl_attr_get_type(a);

	if (type <= t->max)
		t->slots[type] = a;
	return MNL_CB_OK;
}

void hg_netlink_attributes(const struct nlmsghdr *message, size_t offset,
			   const struct nlattr **table, unsigned int max)
{
	struct table t = {table, max};

	memset(table, 0, (max + 1) * sizeof(*table));
	if (mnl_nlmsg_get_payload_len(message) >= offset)
		mnl_attr_parse(message, (unsigned int)offset, attribute_take, &t);
}

void hg_netlink_nested(const struct nlattr *outer, const struct nlattr **table, unsigned int max)
{
	struct table t = {table, max};

	memset(table, 0, (max + 1) * sizeof(*table));
	if (outer)
		mnl_attr_parse_nested(outer, attribute_take, &t);
}

size_t hg_netlink_copy(const struct nlattr *attribute, void *out, size_t size)
{
	memset(out, 0, size);
	if (!attribute)
		return 0;
	size = HG_MIN(size, (size_t)mnl_attr_get_payload_len(attribute));
	memcpy(out, mnl_attr_get_payload(attribute), size);
	return size;
}

uint32_t hg_netlink_u32(const struct nlattr *attribute)
{
	uint32_t v;

	return hg_netlink_copy(attribute, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

uint64_t hg_netlink_u64(const struct nlattr *attribute)
{
	uint64_t v;

	return hg_netlink_copy(attribute, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

void hg_netlink_text(const struct nlattr *attribute, char *out, size_t size)
{
	size_t n = hg_netlink_copy(attribute, out, size);

	out[HG_MIN(n, size - 1)] = '\0';
}

/* --- links --- */

/* What fn of a dump gets: the caller's own. */
struct call {
	int (*link)(void *arg, const struct hg_link_info *link);
	int (*stats)(void *arg, uint32_t ifindex, const struct rtnl_link_stats64 *stats);
	int (*qdisc)(void *arg, const struct hg_qdisc_info *qdisc);
	void *arg;
};

static void address_take(const struct nlattr *attribute, struct hg_link_info *l)
{
	uint8_t b[6];

	if (attribute && mnl_attr_get_payload_len(attribute) == sizeof(b) &&
	    hg_netlink_copy(attribute, b, sizeof(b)))
		snprintf(l->address, sizeof(l->address), "%02x:%02x:%02x:%02x:%02x:%02x", b[0],
			 b[1], b[2], b[3], b[4], b[5]);
}

static int on_link(void *arg, const struct nlmsghdr *m)
{
	const struct nlattr *a[IFLA_LINK_NETNSID + 1];
	const struct nlattr *info[IFLA_INFO_KIND + 1];
	const struct ifinfomsg *head = mnl_nlmsg_get_payload(m);
	const struct call *call = arg;
	struct hg_link_info l = {.peer_nsid = -1};

	if (m->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(m) < sizeof(*head))
		return 0;
	hg_netlink_attributes(m, sizeof(*head), a, IFLA_LINK_NETNSID);
	hg_netlink_nested(a[IFLA_LINKINFO], info, IFLA_INFO_KIND);
	l.ifindex = (uint32_t)head->ifi_index;
	l.flags = head->ifi_flags;
	l.mtu = hg_netlink_u32(a[IFLA_MTU]);
	l.tx_queues = hg_netlink_u32(a[IFLA_NUM_TX_QUEUES]);
	l.rx_queues = hg_netlink_u32(a[IFLA_NUM_RX_QUEUES]);
	l.peer_ifindex = hg_netlink_u32(a[IFLA_LINK]);
	if (a[IFLA_LINK_NETNSID])
		l.peer_nsid = (int32_t)hg_netlink_u32(a[IFLA_LINK_NETNSID]);
	else if (l.peer_ifindex == l.ifindex)
		l.peer_ifindex = 0; /* a plain device is its own */
	l.master = hg_netlink_u32(a[IFLA_MASTER]);
	address_take(a[IFLA_ADDRESS], &l);
	hg_netlink_text(a[IFLA_IFNAME], l.name, sizeof(l.name));
	hg_netlink_text(info[IFLA_INFO_KIND], l.kind, sizeof(l.kind));
	return call->link(call->arg, &l);
}

int hg_netlink_links(struct hg_netlink *n, int route_fd,
		     int (*fn)(void *arg, const struct hg_link_info *link), void *arg)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct call call = {.link = fn, .arg = arg};
	struct ifinfomsg *head;

	request->nlmsg_type = RTM_GETLINK;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->ifi_family = AF_UNSPEC;
	mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return hg_netlink_dump(n, route_fd, request, on_link, &call);
}

static int on_stats(void *arg, const struct nlmsghdr *m)
{
	const struct nlattr *a[IFLA_STATS_LINK_64 + 1];
	const struct if_stats_msg *head = mnl_nlmsg_get_payload(m);
	struct rtnl_link_stats64 stats;
	const struct call *call = arg;

	if (m->nlmsg_type != RTM_NEWSTATS || mnl_nlmsg_get_payload_len(m) < sizeof(*head))
		return 0;
	hg_netlink_attributes(m, sizeof(*head), a, IFLA_STATS_LINK_64);
	if (!hg_netlink_copy(a[IFLA_STATS_LINK_64], &stats, sizeof(stats)))
		return 0;
	return call->stats(call->arg, head->ifindex, &stats);
}

int hg_netlink_stats(struct hg_netlink *n, int route_fd,
		     int (*fn)(void *arg, uint32_t ifindex, const struct rtnl_link_stats64 *stats),
		     void *arg)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct call call = {.stats = fn, .arg = arg};
	struct if_stats_msg *head;

	request->nlmsg_type = RTM_GETSTATS;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
	return hg_netlink_dump(n, route_fd, request, on_stats, &call);
}

static int on_nsid(void *arg, const struct nlmsghdr *m)
{
	const struct nlattr *a[NETNSA_NSID + 1];

	hg_netlink_attributes(m, sizeof(struct rtgenmsg), a, NETNSA_NSID);
	if (a[NETNSA_NSID])
		*(int32_t *)arg = (int32_t)hg_netlink_u32(a[NETNSA_NSID]);
	return 0;
}

int hg_netlink_nsid(struct hg_netlink *n, int route_fd, int ns_fd, int32_t *out)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *head;
	int32_t id = NETNSA_NSID_NOT_ASSIGNED;
	int err;

	request->nlmsg_type = RTM_GETNSID;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->rtgen_family = AF_UNSPEC;
	mnl_attr_put_u32(request, NETNSA_FD, (uint32_t)ns_fd);
	err = hg_netlink_get(n, route_fd, request, on_nsid, &id);
	if (!err)
		*out = id;
	return err;
}

/* --- qdiscs --- */

static void stats_take(const struct nlattr *outer, struct hg_qdisc_info *q)
{
	const struct nlattr *a[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	uint64_t packets;

	hg_netlink_nested(outer, a, TCA_STATS_MAX);
	hg_netlink_copy(a[TCA_STATS_BASIC], &basic, sizeof(basic));
	hg_netlink_copy(a[TCA_STATS_QUEUE], &queue, sizeof(queue));
	packets = hg_netlink_u64(a[TCA_STATS_PKT64]); /* only when they need more than 32 bits */
	q->bytes = basic.bytes;
	q->packets = packets ? packets : basic.packets;
	q->drops = queue.drops;
	q->overlimits = queue.overlimits;
	q->requeues = queue.requeues;
	q->backlog_bytes = queue.backlog;
	q->backlog_packets = queue.qlen;
}

static void tbf_take(const struct nlattr *options, struct hg_qdisc_info *q)
{
	const struct nlattr *a[TCA_TBF_MAX + 1];
	struct tc_tbf_qopt parms;
	uint64_t rate;

	hg_netlink_nested(options, a, TCA_TBF_MAX);
	if (!hg_netlink_copy(a[TCA_TBF_PARMS], &parms, sizeof(parms)))
		return;
	rate = hg_netlink_u64(a[TCA_TBF_RATE64]);
	q->rate = rate ? rate : parms.rate.rate;
	/* The burst is kept as the time that it takes at that rate: tbf_dump(). */
	q->burst = (uint64_t)((unsigned __int128)q->rate * parms.buffer * PSCHED_TICK_NS /
			      HG_NSEC_PER_SEC);
}

/* A class borrows up to its ceiling from those above; one without any above has nobody to borrow from. */
static void htb_take(const struct nlattr *options, struct hg_qdisc_info *q)
{
	const struct nlattr *a[TCA_HTB_MAX + 1];
	struct tc_htb_opt parms;
	uint64_t rate, ceil;

	hg_netlink_nested(options, a, TCA_HTB_MAX);
	if (!hg_netlink_copy(a[TCA_HTB_PARMS], &parms, sizeof(parms)))
		return;
	rate = hg_netlink_u64(a[TCA_HTB_RATE64]);
	ceil = hg_netlink_u64(a[TCA_HTB_CEIL64]);
	rate = rate ? rate : parms.rate.rate;
	ceil = ceil ? ceil : parms.ceil.rate;
	q->rate = q->parent == TC_H_ROOT ? HG_MIN(rate, ceil) : ceil;
	q->burst = (uint64_t)((unsigned __int128)ceil * parms.cbuffer * PSCHED_TICK_NS /
			      HG_NSEC_PER_SEC);
}

/* Of qdiscs and of classes. */
static int on_qdisc(void *arg, const struct nlmsghdr *m)
{
	const struct nlattr *a[TCA_STATS2 + 1];
	const struct tcmsg *head = mnl_nlmsg_get_payload(m);
	const struct call *call = arg;
	struct hg_qdisc_info q = {0};

	if ((m->nlmsg_type != RTM_NEWQDISC && m->nlmsg_type != RTM_NEWTCLASS) ||
	    mnl_nlmsg_get_payload_len(m) < sizeof(*head))
		return 0;
	hg_netlink_attributes(m, sizeof(*head), a, TCA_STATS2);
	q.ifindex = (uint32_t)head->tcm_ifindex;
	q.handle = head->tcm_handle;
	q.parent = head->tcm_parent;
	hg_netlink_text(a[TCA_KIND], q.kind, sizeof(q.kind));
	stats_take(a[TCA_STATS2], &q);
	if (m->nlmsg_type == RTM_NEWTCLASS && !strcmp(q.kind, "htb"))
		htb_take(a[TCA_OPTIONS], &q);
	else if (m->nlmsg_type == RTM_NEWQDISC && !strcmp(q.kind, "tbf"))
		tbf_take(a[TCA_OPTIONS], &q);
	return call->qdisc(call->arg, &q);
}

int hg_netlink_qdiscs(struct hg_netlink *n, int route_fd,
		      int (*fn)(void *arg, const struct hg_qdisc_info *qdisc), void *arg)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct call call = {.qdisc = fn, .arg = arg};

	request->nlmsg_type = RTM_GETQDISC;
	mnl_nlmsg_put_extra_header(request, sizeof(struct tcmsg));
	return hg_netlink_dump(n, route_fd, request, on_qdisc, &call);
}

int hg_netlink_classes(struct hg_netlink *n, int route_fd, uint32_t ifindex,
		       int (*fn)(void *arg, const struct hg_qdisc_info *class), void *arg)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct call call = {.qdisc = fn, .arg = arg};
	struct tcmsg *head;

	request->nlmsg_type = RTM_GETTCLASS;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->tcm_ifindex = (int)ifindex;
	return hg_netlink_dump(n, route_fd, request, on_qdisc, &call);
}
