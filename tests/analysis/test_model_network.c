/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The series of the network and the disks: what a file says of namespaces, devices, qdiscs and sockets. */
#include "tests/analysis/trace_builder.h"

#define RECORD(tb, t, kind, ...) TB_RECORD(tb, HG_STREAM_SAMPLER, t, kind, __VA_ARGS__)
#define DEFINE(tb, kind, ...)	 TB_RECORD(tb, HG_STREAM_CONTROL, 0, kind, __VA_ARGS__)

#define END (2000 * TB_MS)

static void begin(struct trace_builder *tb)
{
	tb_open(tb);
	tb_task(tb, 0, 2, 100, 100, "server");
	tb_role(tb, 0, 2, HG_ROLEF_TARGET, 0);
	tb_mark(tb, 0, HG_MARK_BEGIN, 0);
}

static struct hg_model *end(struct trace_builder *tb)
{
	tb_switch(tb, 0, TB_MS, HG_LANE_IDLE, 2, 0, 0);
	tb_mark(tb, END, HG_MARK_END, HG_END_SECS);
	return tb_load(tb, NULL);
}

static void netns(struct trace_builder *tb, uint64_t id, uint64_t inode, uint64_t flags)
{
	DEFINE(tb, HG_KIND_NETNS, id, inode, flags, 0);
}

static void link_define(struct trace_builder *tb, uint64_t id, uint64_t ns, uint64_t ifindex,
			const char *name, uint64_t peer, uint64_t peer_ns)
{
	DEFINE(tb, HG_KIND_LINK, id, ns, ifindex, tb_string(tb, name), tb_string(tb, "veth"),
	       tb_string(tb, "veth"), 1, 10000, 1500, 2, 2, HG_LINKF_KNOWN | HG_LINKF_GRO, peer,
	       peer_ns, 0);
}

static uint64_t delta(const struct hg_series *s, bool second)
{
	uint64_t a = 0, b = 0, span = 0;

	assert_true(hg_series_delta(s, 0, END, &a, &b, &span));
	return second ? b : a;
}

/* Both ends of a veth have ifindex 2, each in its namespace: a device is the pair. */
static void two_ends_with_one_ifindex(void **state)
{
	const struct hg_link *links, *server, *client;
	const struct hg_qdisc *q;
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	netns(&tb, 1, 4026531840, HG_NETNSF_HOST | HG_NETNSF_CLIENT | HG_NETNSF_OPEN);
	netns(&tb, 2, 4026532001, HG_NETNSF_TARGET | HG_NETNSF_OPEN);
	link_define(&tb, 1, 2, 2, "eth0", 2, 1);
	link_define(&tb, 2, 1, 2, "veth0", 2, 2);
	for (uint64_t i = 0; i < 3; i++) {
		RECORD(&tb, i * 100 * TB_MS, HG_KIND_QDISC, 1, 0x10000, HG_QDISC_ROOT,
		       tb_string(&tb, "tbf"), 1000 * i, 10 * i, i, 7 * i, 0, 500 * i, i, 125000,
		       3000);
		RECORD(&tb, i * 100 * TB_MS, HG_KIND_QDISC, 2, 0, HG_QDISC_ROOT,
		       tb_string(&tb, "noqueue"), 0, 0, 0, 0, 0, 0, 0, 0, 0);
		RECORD(&tb, i * 100 * TB_MS, HG_KIND_NETDEV_STATS, 1, 50 * i, i, 0, 2 * i, 3 * i, 0,
		       1000 * i, 10 * i, 0, 4 * i, 0);
	}
	m = end(&tb);
	assert_int_equal(hg_model_links(m, &links), 2);
	server = hg_model_link_find(m, 1);
	client = hg_model_link_find(m, 2);
	assert_ptr_equal(server, &links[0]);
	assert_string_equal(server->name, "eth0");
	assert_int_equal(server->peer, 2);
	assert_int_equal(client->peer, 1);
	assert_int_equal(hg_model_netns_find(m, server->netns)->inode, 4026532001);
	assert_true(hg_model_netns_find(m, client->netns)->flags & HG_NETNSF_HOST);
	assert_null(hg_model_netns_find(m, 3));
	assert_null(hg_model_link_find(m, 0));
	assert_int_equal(hg_model_qdiscs(m, &q), 2);
	assert_string_equal(q[0].kind, "tbf");
	assert_int_equal(q[0].link, 1);
	assert_int_equal(q[0].rate, 125000);
	assert_int_equal(delta(&q[0].sent, false), 2000);
	assert_int_equal(delta(&q[0].drops, true), 14);
	assert_int_equal(q[0].backlog.v[2].a, 1000);
	assert_string_equal(q[1].kind, "noqueue");
	assert_int_equal(delta(&server->tx, false), 2000);
	assert_int_equal(delta(&server->drops, false), 10); /* dropped and missed */
	assert_int_equal(delta(&server->drops, true), 8);
	assert_int_equal(client->tx.n, 0);
	tb_free(&tb);
}

static void counters_of_a_namespace_and_a_cpu(void **state)
{
	const struct hg_softnet *s;
	const struct hg_netns *ns;
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	netns(&tb, 1, 77, HG_NETNSF_TARGET);
	netns(&tb, 1, 77, HG_NETNSF_CLIENT | HG_NETNSF_OPEN);
	for (uint64_t i = 0; i < 2; i++) {
		RECORD(&tb, i * TB_MS, HG_KIND_NETNS_STATS, 1, 0, 100 * i, 5 * i, 6 * i, 0, 7 * i,
		       8 * i, 0, 0, 0, 0, 0, 0, 0, 9 * i, 0);
		RECORD(&tb, i * TB_MS, HG_KIND_SOFTNET, 1, 40 * i, 3 * i, 2 * i, 0, 0, 11 + 2 * i);
	}
	m = end(&tb);
	assert_int_equal(hg_model_netns(m, &ns), 1);
	assert_int_equal(ns->flags, HG_NETNSF_TARGET | HG_NETNSF_CLIENT | HG_NETNSF_OPEN);
	assert_string_equal(ns->why, "");
	assert_int_equal(delta(&ns->tcp, false), 100);
	assert_int_equal(delta(&ns->tcp, true), 5);
	assert_int_equal(delta(&ns->tcp_trouble, false), 6);
	assert_int_equal(delta(&ns->listen, false), 7);
	assert_int_equal(delta(&ns->listen, true), 8);
	assert_int_equal(delta(&ns->udp_buffer, false), 9);
	assert_int_equal(hg_model_softnet(m, &s), 2);
	assert_int_equal(s[0].packets.n, 0);
	assert_int_equal(delta(&s[1].packets, true), 2);
	assert_int_equal(delta(&s[1].drops, false), 3);
	tb_free(&tb);
}

static void sockets_and_their_means(void **state)
{
	const struct hg_socket *s;
	struct trace_builder tb;
	struct hg_model *m;
	double a, b;
	size_t n;

	begin(&tb);
	netns(&tb, 1, 77, HG_NETNSF_TARGET | HG_NETNSF_OPEN);
	for (uint64_t i = 0; i < 4; i++)
		RECORD(&tb, i * 100 * TB_MS, HG_KIND_SOCKET, 0xabc, 1, HG_ROLEF_TARGET, 1,
		       (uint64_t)80 << 16 | 40000, 1000 + 100 * i, 900, 10, 1448, 5, 7240, 0, 0,
		       50 * TB_MS * i, 40 * TB_MS * i, 0, i, 1000000, 10000 * i, 300 * i);
	/* the same cookie in another namespace is another socket */
	RECORD(&tb, 400 * TB_MS, HG_KIND_SOCKET, 0xabc, 2, HG_ROLEF_CLIENT, 10, 443 << 16, 0, 0, 0,
	       0, 3, 128, 0, 3, 0, 0, 0, 0, 0, 0, 0);
	m = end(&tb);
	assert_int_equal(hg_model_sockets(m, &s), 2);
	assert_int_equal(s[0].port, 80);
	assert_int_equal(s[0].peer_port, 40000);
	assert_int_equal(s[0].role, HG_ROLEF_TARGET);
	assert_int_equal(delta(&s[0].limited, false), 120 * TB_MS);
	assert_int_equal(delta(&s[0].busy, true), 3);
	assert_true(hg_series_mean(&s[0].rtt, 100 * TB_MS, 300 * TB_MS, &a, &b, &n));
	assert_int_equal(n, 3);
	assert_true(a == 1200 && b == 900);
	assert_false(hg_series_mean(&s[0].rtt, 110 * TB_MS, 190 * TB_MS, &a, &b, &n));
	assert_false(hg_series_mean(&s[0].rtt, 301 * TB_MS, END, NULL, NULL, NULL));
	assert_true(hg_series_mean(&s[0].rtt, 0, 0, &a, NULL, NULL));
	assert_true(a == 1000);
	assert_int_equal(s[1].state, 10);
	assert_int_equal(s[1].port, 443);
	tb_free(&tb);
}

static void disks_and_pressure(void **state)
{
	const struct hg_disk *d;
	const struct hg_psi *p;
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	for (uint64_t i = 0; i < 2; i++)
		RECORD(&tb, i * 100 * TB_MS, HG_KIND_DISK, 259ULL << 20 | 3,
		       tb_string(&tb, "nvme0n1"), 1 * i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i, 7 * i,
		       8 * i, 9, 10 * i, 11 * i, 12 * i, 13 * i, 14 * i, 15 * i, 16 * i, 17 * i);
	for (uint64_t i = 0; i < 2; i++)
		RECORD(&tb, 200 * TB_MS + i, HG_KIND_PSI, 0, HG_PSI_IO, 100 * i, 60 * i, 0);
	RECORD(&tb, 300 * TB_MS, HG_KIND_PSI, tb_string(&tb, "/web"), HG_PSI_CPU, 0, 0,
	       tb_string(&tb, "no such file"));
	m = end(&tb);
	assert_int_equal(hg_model_disks(m, &d), 1);
	assert_string_equal(d->name, "nvme0n1");
	assert_int_equal(d->dev, 259ULL << 20 | 3);
	assert_int_equal(delta(&d->requests, false), 1);
	assert_int_equal(delta(&d->merged, true), 6);
	assert_int_equal(delta(&d->bytes, true), 7);
	assert_int_equal(delta(&d->time_ns, false), 4);
	assert_int_equal(delta(&d->time_ns, true), 8);
	assert_int_equal(d->in_flight.v[1].a, 9);
	assert_int_equal(delta(&d->busy, false), 10);
	assert_int_equal(delta(&d->busy, true), 11);
	assert_int_equal(delta(&d->discards, true), 14);
	assert_int_equal(delta(&d->flushes, false), 16);
	assert_int_equal(delta(&d->flushes, true), 17);
	assert_int_equal(hg_model_psi(m, &p), 2);
	assert_string_equal(p[0].scope, "");
	assert_int_equal(delta(&p[0].stall, false), 100);
	assert_int_equal(delta(&p[0].stall, true), 60);
	assert_string_equal(p[1].scope, "/web");
	assert_string_equal(p[1].why, "no such file");
	assert_int_equal(p[1].stall.n, 0);
	tb_free(&tb);
}

/* Ids and numbers that no recording has: bounded, and nothing of them is believed. */
static void hostile_ids(void **state)
{
	const struct hg_softnet *s;
	const struct hg_netns *ns;
	const struct hg_qdisc *q;
	const struct hg_link *l;
	const struct hg_psi *p;
	struct trace_builder tb;
	struct hg_model *m;

	begin(&tb);
	netns(&tb, UINT64_MAX, 1, 0);
	netns(&tb, 0, 1, 0);
	netns(&tb, (uint64_t)1 << 32 | 1, 1, 0);
	netns(&tb, 3, 5, 0);
	link_define(&tb, UINT64_MAX, 1, 1, "x", 1, 1);
	link_define(&tb, 2, UINT64_MAX, UINT64_MAX, "\x1b[31m", 7, UINT64_MAX);
	RECORD(&tb, 1, HG_KIND_QDISC, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	RECORD(&tb, 1, HG_KIND_QDISC, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* a hole */
	RECORD(&tb, 1, HG_KIND_NETDEV_STATS, UINT64_MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	RECORD(&tb, 1, HG_KIND_NETNS_STATS, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	RECORD(&tb, 1, HG_KIND_SOFTNET, UINT64_MAX, 0, 0, 0, 0, 0, 0);
	RECORD(&tb, 1, HG_KIND_SOFTNET, 1 << 20, 0, 0, 0, 0, 0, 0);
	RECORD(&tb, 1, HG_KIND_PSI, 0, 99, 0, 0, 0);
	m = end(&tb);
	assert_int_equal(hg_model_netns(m, &ns), 3);
	assert_null(hg_model_netns_find(m, 1));
	assert_int_equal(hg_model_netns_find(m, 3)->inode, 5);
	assert_int_equal(hg_model_links(m, &l), 2);
	assert_null(hg_model_link_find(m, 1));
	assert_string_equal(l[0].name, "");
	assert_int_equal(hg_model_link_find(m, 2)->peer, 0);
	assert_int_equal(hg_model_qdiscs(m, &q), 0);
	assert_int_equal(hg_model_softnet(m, &s), 0);
	assert_int_equal(hg_model_psi(m, &p), 0);
	tb_free(&tb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_ends_with_one_ifindex),
		cmocka_unit_test(counters_of_a_namespace_and_a_cpu),
		cmocka_unit_test(sockets_and_their_means),
		cmocka_unit_test(disks_and_pressure),
		cmocka_unit_test(hostile_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
