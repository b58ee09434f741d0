/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network's part of the environment: the devices of hourglass's own network namespace and of the targets', their
 * speeds, queues, offloads and queueing disciplines.
 */
#include <net/if.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"
#include "collector/hg_netlink.h"
#include "collector/hg_netns.h"
#include "trace/hg_kinds.h"

#define NAMESPACES_MAX 16
#define LINKS_MAX      64 /* in a namespace; the rest is counted */
#define QDISCS_MAX     64 /* of a device */
#define QUEUES_MAX     64

/* A namespace that is being described. */
struct scene {
	struct hg_netns_files files;
	struct hg_netlink *netlink;
	pid_t pid; /* a process in it, 0: hourglass */
	json_t *links;
	struct hg_link_info info[LINKS_MAX];
	size_t count, left_out;
};

static json_t *offloads(uint32_t bits)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{HG_LINKF_TSO, "tso"},
		{HG_LINKF_GSO, "gso"},
		{HG_LINKF_GRO, "gro"},
		{HG_LINKF_LRO, "lro"},
		{HG_LINKF_TX_CSUM, "tx-checksum"},
		{HG_LINKF_RX_CSUM, "rx-checksum"},
		{HG_LINKF_SG, "scatter-gather"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < HG_ARRAY_SIZE(names); i++) {
		if (bits & names[i].bit)
			json_array_append_new(array, json_string(names[i].name));
	}
	return array;
}

/* {"rx-0": CPUs} of the queues that have such a setting. */
static json_t *steering(const char *folder, const char *direction, const char *file)
{
	json_t *object = json_object();
	char path[256], key[32], text[1024];

	for (unsigned int i = 0; i < QUEUES_MAX; i++) {
		snprintf(key, sizeof(key), "%s-%u", direction, i);
		snprintf(path, sizeof(path), "%s/queues/%s/%s", folder, key, file);
		if (hg_file_line(path, text, sizeof(text)))
			break;
		if (text[strspn(text, "0,")])
			env_set_string(object, key, text);
	}
	return object;
}

/*
 * /sys is of the namespace that mounted it, which need not be this one: a device there is this one only if its number and its
 * address are the same.
 */
static void steering_set(json_t *object, const struct scene *s, const struct hg_link_info *l)
{
	char root[32] = "", folder[160], path[192], text[64];

	if (!l->address[0] || strchr(l->name, '/') || l->name[0] == '.')
		return;
	if (s->pid)
		snprintf(root, sizeof(root), "/proc/%d/root", s->pid);
	snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", root, l->name);
	snprintf(path, sizeof(path), "%s/address", folder);
	if (hg_file_line(path, text, sizeof(text)) || strcmp(text, l->address))
		return;
	snprintf(path, sizeof(path), "%s/ifindex", folder);
	if (hg_file_line(path, text, sizeof(text)) || strtoul(text, NULL, 10) != l->ifindex)
		return;
	env_set_new(object, "rps", steering(folder, "rx", "rps_cpus"));
	env_set_new(object, "xps", steering(folder, "tx", "xps_cpus"));
}

static int on_link(void *arg, const struct hg_link_info *l)
{
	struct scene *s = arg;
	struct hg_ethtool_info driver;
	json_t *object;

	if (s->count == LINKS_MAX) {
		s->left_out++;
		return 0;
	}
	s->info[s->count++] = *l;
	object = json_object();
	hg_ethtool_read(s->files.fd[HG_NETNS_FD_INET], l->name, &driver);
	env_set_string(object, "name", l->name);
	json_object_set_new(object, "ifindex", json_integer(l->ifindex));
	env_set_string(object, "kind", l->kind);
	env_set_string(object, "driver", driver.driver);
	if (driver.mbit)
		json_object_set_new(object, "mbit", json_integer((json_int_t)driver.mbit));
	json_object_set_new(object, "mtu", json_integer(l->mtu));
	json_object_set_new(object, "up", json_boolean(l->flags & IFF_UP));
	json_object_set_new(object, "tx_queues", json_integer(l->tx_queues));
	json_object_set_new(object, "rx_queues", json_integer(l->rx_queues));
	env_set_new(object, "offloads", offloads(driver.offloads));
	steering_set(object, s, l);
	json_array_append_new(s->links, object);
	return 0;
}

static int on_qdisc(void *arg, const struct hg_qdisc_info *q)
{
	struct scene *s = arg;
	json_t *link = NULL, *array, *object;
	char text[32];

	for (size_t i = 0; i < s->count && !link; i++) {
		if (s->info[i].ifindex == q->ifindex)
			link = json_array_get(s->links, i);
	}
	array = link ? json_object_get(link, "qdiscs") : NULL;
	if (!link || json_array_size(array) >= QDISCS_MAX)
		return 0;
	if (!array) {
		array = json_array();
		json_object_set_new(link, "qdiscs", array);
	}
	object = json_object();
	env_set_string(object, "kind", q->kind);
	snprintf(text, sizeof(text), "%x:", q->handle >> 16);
	env_set_string(object, "handle", text);
	snprintf(text, sizeof(text), "%x:%x", q->parent >> 16, q->parent & 0xffff);
	env_set_string(object, "parent", q->parent == HG_QDISC_ROOT ? "root" : text);
	if (q->rate) {
		json_object_set_new(object, "rate_bytes_s", json_integer((json_int_t)q->rate));
		json_object_set_new(object, "burst_bytes", json_integer((json_int_t)q->burst));
	}
	json_array_append_new(array, object);
	return 0;
}

static void links_set(json_t *object, struct scene *s)
{
	int fd = s->files.fd[HG_NETNS_FD_ROUTE];

	s->links = json_array();
	if (fd >= 0 && s->netlink) {
		hg_netlink_links(s->netlink, fd, on_link, s);
		hg_netlink_qdiscs(s->netlink, fd, on_qdisc, s);
	}
	env_set_new(object, "links", s->links);
	if (s->left_out)
		json_object_set_new(object, "links_not_listed",
				    json_integer((json_int_t)s->left_out));
}

/* pid 0: our own. NULL: it cannot be told. */
static json_t *namespace_describe(const struct hg_environment_opts *o, pid_t pid, uint64_t inode)
{
	struct scene *s = calloc(1, sizeof(*s));
	json_t *object = json_object();

	json_object_set_new(object, "inode", json_integer((json_int_t)inode));
	json_object_set_new(object, "own", json_boolean(!pid));
	if (!s)
		return object;
	s->files = (struct hg_netns_files)HG_NETNS_FILES_NONE;
	s->netlink = calloc(1, sizeof(*s->netlink));
	s->pid = pid;
	if (!hg_netns_open(o->netns, pid, &s->files))
		links_set(object, s);
	hg_netns_close(&s->files);
	free(s->netlink);
	free(s);
	return object;
}

static void pid_add(json_t *object, pid_t pid)
{
	json_t *pids = json_object_get(object, "pids");

	if (!pids) {
		pids = json_array();
		json_object_set_new(object, "pids", pids);
	}
	if (json_array_size(pids) < ENV_TARGETS_MAX)
		json_array_append_new(pids, json_integer(pid));
}

json_t *env_network(const struct hg_environment_opts *o)
{
	uint64_t inodes[NAMESPACES_MAX], inode;
	json_t *array = json_array();
	size_t count = 0;

	if (!hg_netns_inode(0, &inode)) {
		inodes[count++] = inode;
		json_array_append_new(array, namespace_describe(o, 0, inode));
	}
	for (size_t i = 0; i < o->targets_count; i++) {
		size_t at = 0;

		if (hg_netns_inode(o->targets[i], &inode))
			continue;
		while (at < count && inodes[at] != inode)
			at++;
		if (at == NAMESPACES_MAX)
			continue;
		if (at == count) {
			inodes[count++] = inode;
			json_array_append_new(array, namespace_describe(o, o->targets[i], inode));
		}
		pid_add(json_array_get(array, at), o->targets[i]);
	}
	return array;
}
