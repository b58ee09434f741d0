/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What rtnetlink and ethtool tell of the devices and qdiscs of a namespace, by sockets of hg_netns.h. Used by the
 * samplers and the environment. The kernel is trusted to be the kernel, but every length is checked all the same.
 */
#ifndef HG_NETLINK_H
#define HG_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>

/* A socket's state between requests; one serves many sockets in turn. */
struct hg_netlink {
	uint32_t sequence;
	uint8_t buf[32 << 10]; /* as much as the kernel gives out at once: netlink_dump() */
};

/*
 * Sends request (its flags and sequence are set here) and calls fn for each message of the dump. The dump is read to its end
 * whatever fn does. 0, -errno, or the first that fn returned other than 0.
 */
typedef int (*hg_netlink_fn)(void *arg, const struct nlmsghdr *message);
int hg_netlink_dump(struct hg_netlink *n, int fd, struct nlmsghdr *request, hg_netlink_fn fn,
		    void *arg);
/* The same for a request that has one answer. */
int hg_netlink_get(struct hg_netlink *n, int fd, struct nlmsghdr *request, hg_netlink_fn fn,
		   void *arg);

/* Attributes of a kind, by type; a table of max + 1. What is longer or shorter than it says is left out. */
void hg_netlink_attributes(const struct nlmsghdr *message, size_t offset,
			   const struct nlattr **table, unsigned int max);
void hg_netlink_nested(const struct nlattr *outer, const struct nlattr **table, unsigned int max);
/* 0 if it is missing or shorter than size; what is longer is cut: structures grow at their end. */
size_t hg_netlink_copy(const struct nlattr *attribute, void *out, size_t size);
uint32_t hg_netlink_u32(const struct nlattr *attribute);
uint64_t hg_netlink_u64(const struct nlattr *attribute);
/* "" if it is missing. */
void hg_netlink_text(const struct nlattr *attribute, char *out, size_t size);

struct hg_link_info {
	uint32_t ifindex, flags, mtu, tx_queues, rx_queues;
	uint32_t peer_ifindex; /* 0 none */
	int32_t peer_nsid; /* of the peer's namespace as this one numbers it; -1: the same namespace */
	uint32_t master;
	char name[IFNAMSIZ], kind[32];
	char address[24]; /* of hardware, as /sys shows it; "" if it has none of six bytes */
};
int hg_netlink_links(struct hg_netlink *n, int route_fd,
		     int (*fn)(void *arg, const struct hg_link_info *link), void *arg);

int hg_netlink_stats(struct hg_netlink *n, int route_fd,
		     int (*fn)(void *arg, uint32_t ifindex, const struct rtnl_link_stats64 *stats),
		     void *arg);

struct hg_qdisc_info {
	uint32_t ifindex, handle, parent;
	char kind[IFNAMSIZ];
	uint64_t bytes, packets, drops, overlimits, requeues, backlog_bytes, backlog_packets;
	uint64_t rate, burst; /* tbf; a class of htb: its ceiling */
};
int hg_netlink_qdiscs(struct hg_netlink *n, int route_fd,
		      int (*fn)(void *arg, const struct hg_qdisc_info *qdisc), void *arg);

/* The classes of a device's classful qdiscs, those of htb: handle has a minor number, kind is the qdisc's. */
int hg_netlink_classes(struct hg_netlink *n, int route_fd, uint32_t ifindex,
		       int (*fn)(void *arg, const struct hg_qdisc_info *class), void *arg);

/* Number that the namespace of route_fd has for another one, -1: none (yet). 0 or -errno. */
int hg_netlink_nsid(struct hg_netlink *n, int route_fd, int ns_fd, int32_t *out);

/* What ethtool tells of a device; inet_fd is any socket of its namespace. What is unknown is 0. */
struct hg_ethtool_info {
	uint64_t mbit;
	uint32_t offloads; /* HG_LINKF_* */
	char driver[32];
};
void hg_ethtool_read(int inet_fd, const char *name, struct hg_ethtool_info *out);

#endif
