/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP sockets of a namespace as inet_diag tells them, by a socket of hg_netns.h. Used by the sampler.
 */
#ifndef HG_SOCKET_H
#define HG_SOCKET_H

#include <stdint.h>

#include <linux/inet_diag.h>
#include <linux/tcp.h>

#include "collector/hg_netlink.h"

/* As in include/net/tcp_states.h, which both tcp.h of user space leave out or have in common. */
enum { HG_SOCKET_ESTABLISHED = 1, HG_SOCKET_CLOSE_WAIT = 8, HG_SOCKET_LISTEN = 10 };

struct hg_socket_info {
	uint8_t family, state;
	uint16_t port, peer_port;
	uint32_t inode; /* of its descriptor, 0: not accepted yet */
	uint32_t recvq, sendq;
	uint64_t cookie;
	struct inet_diag_sockid id;
};

/* Every socket that is established, half closed by the peer, or listening: cheap, for no socket is locked. 0 or -errno. */
int hg_sockets_walk(struct hg_netlink *n, int diag_fd,
		    void (*fn)(void *arg, const struct hg_socket_info *socket), void *arg);

/* One of them now, with what TCP knows of it; what the kernel does not tell is 0. 0, -ENOENT (it is closed) or -errno. */
int hg_socket_read(struct hg_netlink *n, int diag_fd, const struct hg_socket_info *which,
		   struct hg_socket_info *out, struct tcp_info *tcp_out);

#endif
