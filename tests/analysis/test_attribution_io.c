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

/* The same through a class of an htb below one that lets twice as much through; the packets wait in the lower one. */
static void htb(struct trace_builder *tb, uint64_t t, unsigned int tick, uint64_t upper,
		uint64_t lower)
{
	static const struct {
		uint32_t handle, parent;
		unsigned int at; /* which rate */
	} parts[] = {{1 << 16, UINT32_MAX, 0},
		     {1 << 16 | 1, 1 << 16, 1},
		     {1 << 16 | 0x10, 1 << 16 | 1, 2}};
	const uint64_t rates[] = {0, upper, lower};

	for (size_t i = 0; i < HG_ARRAY_SIZE(parts); i++) {
		uint64_t waiting = i == 1 ? 0 : 12;

		TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_QDISC, 1, parts[i].handle,
			  parts[i].parent, tb_string(tb, "htb"), tick * 100000, tick * 100, 0,
			  tick * 90, 0, waiting * 1000, waiting, rates[parts[i].at], 32768);
	}
}

static void sample_full_leaf(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	htb(tb, t, tick, 2000000, 1020000);
}

static void sample_full_parent(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	htb(tb, t, tick, 1020000, 2000000);
}

static void sample_wide_htb(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	htb(tb, t, tick, 5000000, 5000000);
}

/* An adapter of 10 Mbit/s; what it sent and what waits for it. */
static void define_adapter(struct trace_builder *tb)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_NETNS, 1, 4026532001,
		  HG_NETNSF_TARGET | HG_NETNSF_OPEN, 0);
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_LINK, 1, 1, 2, tb_string(tb, "eno8"), 0,
		  tb_string(tb, "igb"), 1, 10, 1500, 1, 1, 0, 0, 0, 0);
}

static void define_veth_speed(struct trace_builder *tb)
{
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_NETNS, 1, 4026532001,
		  HG_NETNSF_TARGET | HG_NETNSF_OPEN, 0);
	TB_RECORD(tb, HG_STREAM_CONTROL, 0, HG_KIND_LINK, 1, 1, 2, tb_string(tb, "eno8"),
		  tb_string(tb, "veth"), 0, 1, 10, 1500, 1, 1, 0, 0, 0, 0);
}

static void adapter(struct trace_builder *tb, uint64_t t, uint64_t sent, uint64_t received,
		    uint64_t waiting)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_QDISC, 1, 0, HG_QDISC_ROOT,
		  tb_string(tb, "fq_codel"), sent, sent / 1500, 0, 0, 0, waiting * 1500, waiting, 0,
		  0);
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_NETDEV_STATS, 1, received, received / 1500, 0,
		  0, 0, 0, sent, sent / 1500, 0, 0, 0);
}

static void sample_full_line(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	adapter(tb, t, tick * 121000, tick * 1000, 20);
}

static void sample_full_way_in(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	adapter(tb, t, tick * 1000, tick * 121000, 0);
}

static void sample_line_without_queue(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	adapter(tb, t, tick * 121000, tick * 1000, 0);
}

static void sample_wide_line(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	adapter(tb, t, tick * 60000, tick * 1000, 20);
}

/* HOG is recorded in full. */
static void define_relay(struct trace_builder *tb)
{
	define_link(tb);
	tb_task(tb, 0, HOG, 105, 300, "hog");
	tb_role(tb, 0, HOG, HG_ROLEF_PROMOTED, 0);
}

static void link_shaper(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_full_tbf),
	       "net", "link-shaper", "eth7");
	/* it lets five times as much through */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_wide_tbf),
	       "inconclusive", NULL, "lacks its second proof");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL), "inconclusive", NULL,
	       "lacks its second proof");
}

static void htb_class(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_full_leaf),
	       "net", "link-shaper", "htb class 1:10 on eth7");
	/* nothing waits in it, but below */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_full_parent),
	       "net", "link-shaper", "htb class 1:1 on eth7");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_wide_htb),
	       "inconclusive", NULL, "lacks its second proof");
}

static void line_speed(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_adapter,
		      .sample = sample_full_line),
	       "net", "link-shaper", "line on eno8");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_adapter,
		      .sample = sample_full_way_in),
	       "net", "link-shaper", "line's way in on eno8");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_adapter,
		      .sample = sample_line_without_queue),
	       "inconclusive", NULL, NULL);
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_adapter,
		      .sample = sample_wide_line),
	       "inconclusive", NULL, NULL);
	/* a device of software states a speed that nothing keeps to */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_veth_speed,
		      .sample = sample_full_line),
	       "inconclusive", NULL, NULL);
}

/* Sockets of the server whose least round trip is so many us. */
static void sockets(struct trace_builder *tb, uint64_t t, uint64_t least_us)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_SOCKET, 71, 1, HG_ROLEF_TARGET, 1,
		  80 << 16 | 4000, least_us + 100, least_us, 10, 1448, 1, 100, 0, 0, 0, 0, 0, 0, 0,
		  0, 0);
}

static void sample_long_path(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	sockets(tb, t, 9000);
}

static void sample_short_path(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	sockets(tb, t, 60);
}

/* An answer takes 10 ms by the client's output. */
static void rtt_window(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_long_path),
	       "net", "rtt-window", "9 ms");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_short_path),
	       "inconclusive", NULL, NULL);
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL), "inconclusive", NULL,
	       "lacks its second proof");
}

/* 3 of 100 segments are sent again, or as many as says again. */
static void counters(struct trace_builder *tb, uint64_t t, unsigned int tick, uint64_t again)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_NETNS_STATS, 1, tick * 2000, tick * 2000,
		  tick * again, tick, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void sample_losses(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	counters(tb, t, tick, 60);
	sockets(tb, t, 60);
}

static void sample_no_losses(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	counters(tb, t, tick, 0);
	sockets(tb, t, 60);
}

static void sample_losses_in_tbf(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	counters(tb, t, tick, 60);
	sample_full_tbf(tb, t, tick);
}

static void drops(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link, .sample = sample_losses),
	       "net", "drops", "3 %");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_no_losses),
	       "inconclusive", NULL, NULL);
	/* a token bucket drops what is too much for it */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, .define = define_link,
		      .sample = sample_losses_in_tbf),
	       "net", "link-shaper", "eth7");
}

/* HOG, between the two, holds each piece for a while and sleeps: it is the path, and no thread at its limit. */
static void slow_relay_is_a_path(void **state)
{
	static const struct segment s[] = {
		{0, 0, 10, HOG, EPOLL, 0, -5, HG_LANE_IDLE, 0, HG_CTX_TIMER},
		{0, 500, 510, HOG, EPOLL, 0, 495, HG_LANE_IDLE, 0, HG_CTX_TIMER},
		{1, 20, 50, SERVER, EPOLL, 0, 8, HOG, 0, HG_CTX_SOFTIRQ_OWN},
		{1, 520, 540, CLIENT, EPOLL, 0, 508, HOG, 0, HG_CTX_SOFTIRQ_OWN},
	};

	expect(&SCENE(s, 4, 1000, WRK, WRK_FULL, .define = define_relay,
		      .sample = sample_long_path),
	       "net", "rtt-window", "9 ms");
}

/* Both threads of the server sync; an interrupt of the disk ends their waits. */
static const struct segment syncs[] = {
	{0, 0, 30, SERVER, SYNC, 0, -5, HG_LANE_IDLE, 0, HG_CTX_IRQ},
	{1, 0, 30, SERVER2, SYNC, 0, -5, HG_LANE_IDLE, 1, HG_CTX_IRQ},
	{1, 40, 50, CLIENT, EPOLL, 0, 38, SERVER2, 1, HG_CTX_SOFTIRQ_OWN},
};

/* 950 us of each ms with two requests in flight, or as much less as says busy_part. */
static void disk(struct trace_builder *tb, uint64_t t, unsigned int tick, uint64_t busy_us)
{
	uint64_t ms = tick * 100;

	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_DISK, 8 << 20, tb_string(tb, "sdz"), 0, 0, 0, 0,
		  2 * ms, 0, ms * 8192, ms * 2 * TB_MS, 2, ms * busy_us * TB_US,
		  2 * ms * busy_us * TB_US, 0, 0, 0, 0, ms, ms * 100 * TB_US);
}

static void sample_busy_disk(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	disk(tb, t, tick, 950);
}

static void sample_lazy_disk(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	disk(tb, t, tick, 300);
}

static void disk_device(void **state)
{
	expect(&SCENE(syncs, 3, 1000, WRK, WRK_FULL, .sample = sample_busy_disk), "disk", "device",
	       "sdz");
	/* the disk has nothing to do most of the time: a throttle above it, for example */
	expect(&SCENE(syncs, 3, 1000, WRK, WRK_FULL, .sample = sample_lazy_disk), "inconclusive",
	       NULL, "it waits for a disk");
	expect(&SCENE(syncs, 3, 1000, WRK, WRK_FULL), "inconclusive", NULL, "/proc/diskstats");
}

/* The same, but the journal's thread ends the waits. */
static const struct segment commits[] = {
	{0, 0, 30, SERVER, SYNC, 0, -5, HOG, 1, HG_CTX_TASK},
	{1, 0, 30, SERVER2, SYNC, 0, -5, HOG, 1, HG_CTX_TASK},
	{1, 40, 50, CLIENT, EPOLL, 0, 38, SERVER2, 1, HG_CTX_SOFTIRQ_OWN},
	{1, 970, 1000, HOG, EPOLL, 0, 965, HG_LANE_IDLE, 1, HG_CTX_IRQ},
};

static void sample_syncing(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	disk(tb, t, tick, 950);
	tb_wait_sample(tb, t, SERVER, 75, 7, 0, 0, 0);
}

static void sample_polling(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	disk(tb, t, tick, 950);
	tb_wait_sample(tb, t, SERVER, 232, 5, 0, 0, 0);
}

static void disk_journal(void **state)
{
	expect(&SCENE(commits, 4, 1000, WRK, WRK_FULL, .kthread = "jbd2/sdz-8",
		      .sample = sample_syncing),
	       "disk", "journal", "jbd2/sdz-8");
	/* by the samples it never syncs */
	expect(&SCENE(commits, 4, 1000, WRK, WRK_FULL, .kthread = "jbd2/sdz-8",
		      .sample = sample_polling),
	       "inconclusive", NULL, NULL);
	/* another thread of the kernel completes the requests: the device */
	expect(&SCENE(commits, 4, 1000, WRK, WRK_FULL, .kthread = "kworker/1:1",
		      .sample = sample_syncing),
	       "disk", "device", "sdz");
	expect(&SCENE(commits, 4, 1000, WRK, WRK_FULL, .kthread = "jbd2/sdz-8"), "inconclusive",
	       NULL, "/proc/TID/syscall");
}

/* 100 packets/ms on one CPU, 500 of them in its queue. */
static void sample_softnet(struct trace_builder *tb, uint64_t t, unsigned int tick)
{
	TB_RECORD(tb, HG_STREAM_SAMPLER, t, HG_KIND_SOFTNET, 1, tick * 10000, tick, tick * 5,
		  tick * 50, 0, 500);
}

#define ONE_CPU(events, ticks)                                                                     \
	.softirq_events = {0, (events)}, .softirq_ticks = {0, (ticks)}, .extra_busy = 95,          \
	.sample = sample_softnet

/* ksoftirqd/1 delivers, and the client is woken on the CPU to which it is sent. */
static const struct segment sent_on[] = {
	{0, 0, 50, SERVER, EPOLL, 0, -5, CLIENT, 0, HG_CTX_SOFTIRQ_OWN},
	{0, 760, 780, CLIENT, EPOLL, 0, 750, HOG, 0, HG_CTX_KSOFTIRQD},
};

static void softirq_one_cpu(void **state)
{
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 94)), "net", "softirq-one-cpu",
	       "CPU 1 is full");
	expect(&SCENE(sent_on, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 94), .kthread = "ksoftirqd/1"),
	       "net", "softirq-one-cpu", "CPU 1 is full");
	expect(&SCENE(sent_on, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 94), .kthread = "ksoftirqd/0"),
	       "inconclusive", NULL, "lacks its second proof");
	/* it has room by either account */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, ONE_CPU(60, 94)), "inconclusive", NULL,
	       "lacks its second proof");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 60)), "inconclusive", NULL,
	       "waits for the softirqs");
	/* so have the other CPUs not */
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 94), .extra_busy0 = 94),
	       "inconclusive", NULL, "waits for the softirqs");
	expect(&SCENE(held, 2, 1000, WRK, WRK_FULL, ONE_CPU(95, 94), .no_samples = true),
	       "inconclusive", NULL, NULL);
}

/* The server waits for a CPU on which ksoftirqd runs, and loses most of the rest to softirqs at interrupts' ends. */
static const struct segment starved[] = {
	{0, 0, 400, SERVER, EPOLL, 0, -500, CLIENT, 1, HG_CTX_SOFTIRQ_OWN},
	{0, 400, 1000, HOG, PREEMPT, 0, 300, HG_LANE_IDLE, 0, HG_CTX_IRQ},
	{1, 450, 470, CLIENT, EPOLL, 0, 395, SERVER, 0, HG_CTX_SOFTIRQ_OWN},
};

static void softirqs_are_no_competitor(void **state)
{
	struct scene sc = SCENE(starved, 3, 1000, WRK, WRK_FULL, .kthread = "ksoftirqd/0",
				.taken_us = 300, .softirq_events = {90}, .softirq_ticks = {90});
	struct trace_builder tb;
	struct hg_findings *f;
	struct hg_shares shares;
	const struct hg_blame_row *row;

	expect(&sc, "net", "softirq-one-cpu", "CPU 0 is full");
	f = analyse(&tb, &sc);
	assert_int_equal(hg_shares_make(tb_load(&tb, NULL), &shares), 0);
	row = hg_shares_row(&shares, HG_BLAME_SOFTIRQ, 0);
	assert_non_null(row);
	/* the wait behind ksoftirqd, and three quarters of its own time on the CPU */
	assert_true(fabs(row->total_ns / shares.wall_ns - 0.8) < 0.03);
	row = hg_shares_row(&shares, HG_BLAME_SERIAL, SERVER);
	assert_non_null(row);
	assert_true(fabs(row->total_ns / shares.wall_ns - 0.1) < 0.02);
	assert_null(hg_shares_largest(&shares, HG_BLAME_COMPETITOR));
	hg_shares_clear(&shares);
	hg_findings_free(f);
	tb_free(&tb);
	/* the same with a program in ksoftirqd's place, and few softirqs */
	sc = SCENE(starved, 3, 1000, WRK, WRK_FULL, .delays = true, .softirq_events = {30},
		   .softirq_ticks = {30});
	expect(&sc, "cpu", "competitor", "hog");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_shaper),	   cmocka_unit_test(rtt_window),
		cmocka_unit_test(drops),	   cmocka_unit_test(slow_relay_is_a_path),
		cmocka_unit_test(disk_device),	   cmocka_unit_test(disk_journal),
		cmocka_unit_test(softirq_one_cpu), cmocka_unit_test(softirqs_are_no_competitor),
		cmocka_unit_test(htb_class),	   cmocka_unit_test(line_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
