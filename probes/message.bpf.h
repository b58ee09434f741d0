/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages that threads of the target receive and send on sockets at which they serve: totals per
 * target, read by the collector ten times a second. No events. Where no client tells the throughput,
 * completed work is estimated from them.
 */
#ifndef HG_MESSAGE_BPF_H
#define HG_MESSAGE_BPF_H

#include "probes/hg_context.bpf.h"

/*
 * Is it the server's end? Of TCP: whose port was bound, not found by connect(), which leaves its mark in the
 * port's bucket (__inet_hash_connect()); accepted sockets are in their listener's. Of UDP: whose port was bound.
 * Of Unix: which has an address, as accepted ones have their listener's.
 */
HG_INLINE bool hg_socket_serves(struct sock *sk)
{
	u32 family = sk->__sk_common.skc_family, type = sk->sk_type;
	struct inet_bind_bucket *bucket;
	struct tcp_sock *tcp;

	if (family == AF_UNIX)
		return BPF_CORE_READ((struct unix_sock *)sk, addr);
	if (family != AF_INET && family != AF_INET6)
		return false;
	if (type == SOCK_DGRAM)
		return BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK;
	/* As a type that the verifier knows it is read without helpers. */
	tcp = (void *)bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return false;
	bucket = tcp->inet_conn.icsk_bind_hash;
	return bucket && bucket->fastreuse >= 0;
}

/* The CPU knows who runs on it, but where a switch was hidden from tracepoints. */
HG_INLINE struct hg_messages *hg_messages_of_current(struct hg_cpu *c)
{
	u64 key = bpf_get_current_task();
	u32 slot = HG_MESSAGES_OF_OTHERS;
	struct hg_task *e;

	if (c->cur_key == key) {
		if (c->cur_role & HG_ROLEF_TARGET)
			slot = c->cur_target;
	} else {
		e = bpf_map_lookup_elem(&hg_tasks, &key);
		if (e && e->role & HG_ROLEF_TARGET)
			slot = e->target;
	}
	return bpf_map_lookup_elem(&hg_message_totals, &slot);
}

/* The CPU, if a member runs on it: all others are done with here. */
HG_INLINE struct hg_cpu *hg_message_wanted(void)
{
	u32 cpu;
	struct hg_cpu *c = hg_cpu_this(&cpu);

	if (!c || !(c->cur_role & (HG_ROLEF_TARGET | HG_ROLEF_ALL)) ||
	    c->cur_role & HG_ROLEF_CLIENT)
		return NULL;
	return c;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(hg_sock_send, struct sock *sk, int bytes, int flags)
{
	struct hg_messages *m;
	struct hg_cpu *c;

	if (bytes <= 0)
		return 0;
	c = hg_message_wanted();
	if (!c || !hg_socket_serves(sk))
		return 0;
	m = hg_messages_of_current(c);
	if (m) {
		m->sent++;
		m->sent_bytes += bytes;
	}
	return 0;
}

/* flags of the receive */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(hg_sock_recv, struct sock *sk, int bytes, int flags)
{
	struct hg_messages *m;
	struct hg_cpu *c;

	if (bytes <= 0 || flags & MSG_PEEK)
		return 0;
	c = hg_message_wanted();
	if (!c || !hg_socket_serves(sk))
		return 0;
	m = hg_messages_of_current(c);
	if (m) {
		m->received++;
		m->received_bytes += bytes;
	}
	return 0;
}

#endif
