/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attribution: causes of network and disks. */
#include "tests/analysis/attribution_scene.h"

/* The server is at work for 50 us; its answer reaches the client by a softirq at an interrupt's end, 700 us later. */
static const struct segment held[] = {
	{0, 0, 50, SERVER, EPOLL, 0, -5, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 760, 780, CLIENT, EPOLL, 0, 750, HG_LANE_IDLE, 1, HG_CTX_SOFTIRQ_IRQ},
};

static void define_link(struct trace_builder *tb)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_NETNS, 1, 4026532001,
		  HG_NETNSF_TARGET | HG_NETNSF_OPEN, 0);
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_LINK, 1, 1, 2, tb_string(tb, "eth7"),
		  tb_string(tb, "veth"), 0, 1, 0, 1500, 1, 1, 0, 0, 0, 0);
}

/* 1 MB/s through a tbf of that rate, or of more. */
static void qdisc(struct trace_builder *tb, uint64_t t, unsigned int tick, uint64_t rate,
		  uint64_t overlimits, uint64_t backlog)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_QDISC, 1, 1 << 16, HG_QDISC_ROOT,
		  tb_string(tb, "tbf"), tick * 100000, tick * 100, 0, overlimits, 0, backlog * 1000,
		  backlog, rate, 32768);
}

static void sample_full_tbf(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	qdisc(tb, t, tick, 1020000, tick * 90, 12);
}

static void sample_wide_tbf(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	qdisc(tb, t, tick, 5000000, tick * 90, 12);
}

static void link_shaper(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_full_tbf),
	       "net", "link-shaper", "eth7");
	/* it lets five times as much through */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_wide_tbf),
	       "inconclusive", NULL, "held on its way");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL), "inconclusive", NULL, "held on its way");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_shaper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
