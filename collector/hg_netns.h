/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens what is read in a network namespace: netlink sockets and files go on working when the privileges that opened
 * them are gone. Used by the samplers and the environment; the session starts the opener.
 *
 * Entering a namespace needs CAP_SYS_ADMIN, and clients often enter theirs only after recording has begun (ip netns
 * exec). A child keeps that capability; it is told a number and hands back descriptors, nothing else.
 */
#ifndef HG_NETNS_H
#define HG_NETNS_H

#include <stdint.h>
#include <sys/types.h>

enum hg_netns_fd {
	HG_NETNS_FD_SELF,    /* the namespace */
	HG_NETNS_FD_ROUTE,   /* NETLINK_ROUTE */
	HG_NETNS_FD_DIAG,    /* NETLINK_SOCK_DIAG */
	HG_NETNS_FD_INET,    /* for ioctls on devices */
	HG_NETNS_FD_SNMP,    /* /proc/net/snmp */
	HG_NETNS_FD_NETSTAT, /* /proc/net/netstat */
	HG_NETNS_FD_SNMP6,   /* /proc/net/snmp6: none without IPv6 */
	HG_NETNS_FDS
};

struct hg_netns_files {
	uint64_t inode;
	int fd[HG_NETNS_FDS]; /* -1: could not be had; SELF and ROUTE always can */
};
#define HG_NETNS_FILES_NONE                                                                        \
	{                                                                                          \
		.fd = { -1, -1, -1, -1, -1, -1, -1 }                                               \
	}

struct hg_netns_opener;

/*
 * Starts the child. confine (or NULL) is called in it, to give up all but CAP_SYS_ADMIN and CAP_SYS_PTRACE; when it
 * fails there is no child. 0 or -errno.
 */
int hg_netns_opener_start(int (*confine)(void), struct hg_netns_opener **out);
void hg_netns_opener_stop(struct hg_netns_opener *o);

/*
 * Inode of a thread's namespace, or -errno. tid 0: the caller's.
 */
int hg_netns_inode(pid_t tid, uint64_t *out);

/*
 * Opens the namespace of a thread (0: the caller's). Without an opener only the caller's own can be had: else -EPERM. 0 or
 * -errno; what is open belongs to the caller.
 */
int hg_netns_open(struct hg_netns_opener *o, pid_t tid, struct hg_netns_files *out);
void hg_netns_close(struct hg_netns_files *files);

#endif
