/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/sock_diag.h>

#include "base/hg_base.h"

#define REQUEST_BYTES_MAX 256
#define STATES		  (1U << HG_SOCKET_ESTABLISHED | 1U << HG_SOCKET_CLOSE_WAIT | 1U << HG_SOCKET_LISTEN)

struct call {
	void (*each)(void *arg, const struct hg_socket_info *socket);
	void *arg;
	struct hg_socket_info *one;
	struct tcp_info *tcp;
};

static bool info_take(const struct nlmsghdr *m, struct hg_socket_info *out)
{
	const struct inet_diag_msg *d = mnl_nlmsg_get_payload(m);

	if ((m->nlmsg_type != SOCK_DIAG_BY_FAMILY && m->nlmsg_type != TCPDIAG_GETSOCK) ||
	    mnl_nlmsg_get_payload_len(m) < sizeof(*d))
		return false;
	*out = (struct hg_socket_info){
		.family = d->idiag_family,
		.state = d->idiag_state,
		.port = ntohs(d->id.idiag_sport),
		.peer_port = ntohs(d->id.idiag_dport),
		.inode = d->idiag_inode,
		.recvq = d->idiag_rqueue,
		.sendq = d->idiag_wqueue,
		.cookie = (uint64_t)d->id.idiag_cookie[1] << 32 | d->id.idiag_cookie[0],
		.id = d->id,
	};
	return true;
}

static struct inet_diag_req_v2 *request_make(char *buf, struct nlmsghdr **out)
{
	struct inet_diag_req_v2 *r;

	*out = mnl_nlmsg_put_header(buf);
	(*out)->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	r = mnl_nlmsg_put_extra_header(*out, sizeof(*r));
	r->sdiag_protocol = IPPROTO_TCP;
	r->idiag_states = STATES;
	return r;
}

static int on_each(void *arg, const struct nlmsghdr *m)
{
	const struct call *call = arg;
	struct hg_socket_info info;

	if (info_take(m, &info))
		call->each(call->arg, &info);
	return 0;
}

int hg_sockets_walk(struct hg_netlink *n, int diag_fd,
		    void (*fn)(void *arg, const struct hg_socket_info *socket), void *arg)
{
	struct call call = {.each = fn, .arg = arg};
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	struct inet_diag_req *r;

	/* The old request is for both families at once (inet_diag_dump_compat()), so for one walk. */
	request->nlmsg_type = TCPDIAG_GETSOCK;
	r = mnl_nlmsg_put_extra_header(request, sizeof(*r));
	r->idiag_family = AF_INET;
	r->idiag_states = STATES;
	return hg_netlink_dump(n, diag_fd, request, on_each, &call);
}

static int on_one(void *arg, const struct nlmsghdr *m)
{
	const struct nlattr *a[INET_DIAG_INFO + 1];
	struct call *call = arg;

	if (!info_take(m, call->one))
		return -EBADMSG;
	hg_netlink_attributes(m, sizeof(struct inet_diag_msg), a, INET_DIAG_INFO);
	/* One that waits for its last segments (TIME_WAIT) is a smaller thing without these. */
	return hg_netlink_copy(a[INET_DIAG_INFO], call->tcp, sizeof(*call->tcp)) ? 0 : -ENOENT;
}

int hg_socket_read(struct hg_netlink *n, int diag_fd, const struct hg_socket_info *which,
		   struct hg_socket_info *out, struct tcp_info *tcp_out)
{
	struct call call = {.one = out, .tcp = tcp_out};
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *request;
	struct inet_diag_req_v2 *r = request_make(buf, &request);

	r->sdiag_family = which->family;
	r->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	r->id = which->id;
	return hg_netlink_get(n, diag_fd, request, on_one, &call);
}
