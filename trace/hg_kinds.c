/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_kinds.h"

#include "base/hg_base.h"

/* One row a kind, which clang-format would spread over many lines. */
/* clang-format off */
#define PLAIN(n)  {(n), HG_ENC_PLAIN, HG_SHOW_DEC}
#define DELTA(n)  {(n), HG_ENC_DELTA, HG_SHOW_DEC}
#define NS(n)     {(n), HG_ENC_PLAIN, HG_SHOW_NS}
#define NS_SUM(n) {(n), HG_ENC_DELTA, HG_SHOW_NS}
#define HEX(n)    {(n), HG_ENC_PLAIN, HG_SHOW_HEX}
#define STR(n)    {(n), HG_ENC_PLAIN, HG_SHOW_STR}
#define LANE(n)   {(n), HG_ENC_PLAIN, HG_SHOW_LANE}
#define KEYED(n) {(n), HG_ENC_KEYED, HG_SHOW_DEC}
#define NS_KEYED(n) {(n), HG_ENC_KEYED, HG_SHOW_NS}
#define HEX_KEYED(n) {(n), HG_ENC_KEYED, HG_SHOW_HEX}

const struct hg_kind_desc hg_kinds[] = {
	{HG_KIND_TASK, 10, "task", "first sight of a task: (tid, start time) gets a lane",
	 {LANE("lane"), DELTA("tid"), DELTA("tgid"), DELTA("nstid"), DELTA("ppid"), NS_SUM("start_ns"),
	  STR("comm"), PLAIN("cgroup"), HEX("flags"), PLAIN("cpus")}},
	{HG_KIND_TASK_NAME, 3, "task_name", "a task was renamed or ran another program",
	 {LANE("lane"), STR("comm"), STR("exe")}},
	{HG_KIND_ROLE, 3, "role", "what a lane is from here on: target 1, client 2, promoted 4, all 8",
	 {LANE("lane"), HEX("role"), PLAIN("target")}},
	{HG_KIND_SEED, 5, "seed", "state of a task when recording began",
	 {LANE("lane"), PLAIN("state"), PLAIN("cpu"), PLAIN("sysnr"), HEX("arg0")}},
	{HG_KIND_AFFINITY, 3, "affinity", "CPUs that a task may use, when they changed",
	 {LANE("lane"), PLAIN("count"), HEX("mask0")}},
	{HG_KIND_MARK, 2, "mark", "begin 1, client start 2, client end 3, end 4",
	 {PLAIN("what"), PLAIN("arg")}},
	{HG_KIND_PROBE, 4, "probe", "a probe, and why it is not attached",
	 {PLAIN("id"), STR("name"), PLAIN("attached"), STR("why")}},
	{HG_KIND_CLIENT, 5, "client", "the client command or log",
	 {PLAIN("tid"), STR("argv"), STR("log"), STR("format"), STR("regex")}},
	{HG_KIND_TARGET, 5, "target", "what was named to be recorded: process 1, cgroup 2",
	 {PLAIN("index"), PLAIN("type"), PLAIN("id"), STR("name"), STR("hierarchy")}},
	{HG_KIND_BLOCKDEV, 2, "blockdev", "a block device", {PLAIN("dev"), STR("name")}},
	{HG_KIND_SPIN, 6, "spin", "a loop in user space that only waits for a word in memory",
	 {PLAIN("id"), PLAIN("tgid"), HEX("code"), HEX("word"), PLAIN("bytes"), HEX("flags")}},
	{HG_KIND_STACK, 2, "stack", "functions of the kernel, innermost first", {PLAIN("id"), STR("frames")}},
	{HG_KIND_NETDEV, 4, "netdev", "a network device that the probes have seen",
	 {PLAIN("id"), PLAIN("netns"), PLAIN("ifindex"), STR("name")}},
	{HG_KIND_NETNS, 4, "netns", "a network namespace: host 1, target 2, client 4, other 8, read 16",
	 {PLAIN("id"), PLAIN("inode"), HEX("flags"), STR("why")}},
	{HG_KIND_LINK, 15, "link", "a network device: (namespace, ifindex) gets an id",
	 {PLAIN("id"), PLAIN("netns"), PLAIN("ifindex"), STR("name"), STR("kind"), STR("driver"), HEX("flags"),
	  PLAIN("mbit"), PLAIN("mtu"), PLAIN("tx_queues"), PLAIN("rx_queues"), HEX("offloads"),
	  PLAIN("peer_ifindex"), PLAIN("peer_netns"), PLAIN("master")}},

	{HG_KIND_SWITCH, 4, "switch", "prev leaves a CPU, next gets it",
	 {{"prev", HG_ENC_PREV, HG_SHOW_LANE}, LANE("next"), HEX("state"), HEX("flags")}},
	{HG_KIND_SWITCH_BLOCK, 9, "switch_block", "a switch whose prev blocks in a system call",
	 {{"prev", HG_ENC_PREV, HG_SHOW_LANE}, LANE("next"), HEX("state"), HEX("flags"), PLAIN("sysnr"),
	  HEX("arg0"), HEX("arg1"), HEX("arg2"), PLAIN("holder")}},
	{HG_KIND_WAKEUP, 6, "wakeup", "a task becomes runnable, by whom, in which context",
	 {LANE("lane"), PLAIN("cpu"), LANE("waker"), PLAIN("ctx"), PLAIN("vec"), HEX("flags")}},
	{HG_KIND_SOFTIRQ, 6, "softirq", "a softirq, or a run of short ones, that just ended",
	 {NS("dur"), NS("span"), PLAIN("vec"), PLAIN("ctx"), LANE("lane"), PLAIN("count")}},
	{HG_KIND_IRQ, 5, "irq", "a hard interrupt, or a run of short ones, that just ended",
	 {NS("dur"), NS("span"), PLAIN("irq"), LANE("lane"), PLAIN("count")}},
	{HG_KIND_MIGRATE, 3, "migrate", "a task moves to another CPU's run queue",
	 {LANE("lane"), PLAIN("from"), PLAIN("to")}},
	{HG_KIND_FORK, 2, "fork", "a task is created", {LANE("parent"), LANE("child")}},
	{HG_KIND_EXEC, 2, "exec", "a task runs another program", {LANE("lane"), PLAIN("old_tid")}},
	{HG_KIND_EXIT, 2, "exit", "a task is dead", {LANE("lane"), PLAIN("code")}},
	{HG_KIND_LOSS, 3, "loss", "events that were dropped for want of room",
	 {PLAIN("probe"), PLAIN("count"), NS("since")}},

	{HG_KIND_CONTENTION, 9, "contention", "a wait for a lock of the kernel, or a run of short ones, that just ended",
	 {NS("dur"), NS("span"), LANE("lane"), HEX("lock"), HEX("flags"), PLAIN("ctx"), PLAIN("begins"), PLAIN("count"),
	  PLAIN("stack")}},
	{HG_KIND_BLOCK_IO, 9, "block_io", "a request to a block device that is complete",
	 {PLAIN("dev"), PLAIN("op"), HEX("flags"), DELTA("sector"), PLAIN("bytes"), NS("queue"), NS("device"), LANE("lane"),
	  PLAIN("error")}},
	{HG_KIND_CPU_SAMPLE, 5, "cpu_sample", "a member that runs when its CPU's clock ticks: in user space, in the kernel, spinning",
	 {LANE("lane"), PLAIN("where"), PLAIN("ctx"), NS("period"), PLAIN("stack")}},
	{HG_KIND_WAIT_STACK, 2, "wait_stack", "where in the kernel a member sleeps that blocks just now; one wait in a while",
	 {LANE("lane"), PLAIN("stack")}},

	{HG_KIND_CPU_TIMES, 9, "cpu_times", "/proc/stat of one CPU",
	 {PLAIN("cpu"), NS_KEYED("user"), NS_KEYED("nice"), NS_KEYED("system"), NS_KEYED("idle"), NS_KEYED("iowait"),
	  NS_KEYED("irq"), NS_KEYED("softirq"), NS_KEYED("steal")}},
	{HG_KIND_CPU_BUSY, 6, "cpu_busy", "totals of one CPU kept by the switch probe",
	 {PLAIN("cpu"), NS_KEYED("busy"), NS_KEYED("idle"), NS_KEYED("softirq"), NS_KEYED("irq"),
	  KEYED("switches")}},
	{HG_KIND_SCHEDSTAT, 4, "schedstat", "run time and run-queue delay of a task, by the kernel",
	 {LANE("lane"), NS_KEYED("run"), NS_KEYED("delay"), KEYED("slices")}},
	{HG_KIND_CGROUP_CPU, 8, "cgroup_cpu", "cpu.stat and limits of a cgroup of the target",
	 {STR("path"), KEYED("periods"), KEYED("throttled"), NS_KEYED("throttled_ns"), NS_KEYED("usage_ns"),
	  KEYED("quota_us"), KEYED("period_us"), PLAIN("targets")}},
	{HG_KIND_CLOCK, 4, "clock", "clocks read at one moment",
	 {DELTA("tsc"), DELTA("monotonic"), DELTA("realtime"), DELTA("boottime")}},
	{HG_KIND_RSS, 2, "rss", "resident memory of a target process", {PLAIN("tgid"), KEYED("bytes")}},
	{HG_KIND_WAIT_SAMPLE, 7, "wait_sample", "system call in which a target thread was found asleep",
	 {LANE("lane"), PLAIN("sysnr"), HEX_KEYED("arg0"), HEX_KEYED("arg1"), HEX_KEYED("arg2"), HEX("word"),
	  STR("wchan")}},
	{HG_KIND_OWN, 5, "own", "hourglass's own use of the machine",
	 {NS_SUM("cpu"), PLAIN("rss_bytes"), DELTA("events"), DELTA("bytes"), PLAIN("ring_bytes")}},
	{HG_KIND_PROBE_COST, 4, "probe_cost", "run time of a probe, measured a part of the time",
	 {PLAIN("id"), PLAIN("measured"), KEYED("runs"), NS_KEYED("ns")}},
	{HG_KIND_TASK_TIMES, 3, "task_times", "user and system time of a task, by the kernel's tick",
	 {LANE("lane"), NS_KEYED("user"), NS_KEYED("system")}},
	{HG_KIND_NETDEV_TOTALS, 5, "netdev_totals", "bytes and packets of a network device, counted by the probes",
	 {PLAIN("dev"), KEYED("rx_bytes"), KEYED("rx_packets"), KEYED("tx_bytes"), KEYED("tx_packets")}},
	{HG_KIND_NAPI, 5, "napi", "polls of a network device on one CPU, counted by the probes",
	 {PLAIN("cpu"), PLAIN("dev"), KEYED("polls"), KEYED("work"), KEYED("full")}},
	{HG_KIND_SPIN_LOOK, 4, "spin_look", "a word that threads of the target spin for, read from outside",
	 {PLAIN("id"), HEX("value"), PLAIN("waits"), STR("code")}},
	{HG_KIND_QDISC, 13, "qdisc", "totals and queue of a queueing discipline",
	 {PLAIN("link"), HEX_KEYED("handle"), HEX_KEYED("parent"), STR("kind"), KEYED("bytes"), KEYED("packets"),
	  KEYED("drops"), KEYED("overlimits"), KEYED("requeues"), KEYED("backlog_bytes"), KEYED("backlog_packets"),
	  KEYED("rate"), KEYED("burst")}},
	{HG_KIND_NETDEV_STATS, 12, "netdev_stats", "totals of a network device",
	 {PLAIN("link"), KEYED("rx_bytes"), KEYED("rx_packets"), KEYED("rx_errors"), KEYED("rx_dropped"),
	  KEYED("rx_missed"), KEYED("rx_nohandler"), KEYED("tx_bytes"), KEYED("tx_packets"), KEYED("tx_errors"),
	  KEYED("tx_dropped"), KEYED("collisions")}},
	{HG_KIND_SOFTNET, 7, "softnet", "/proc/net/softnet_stat of one CPU",
	 {PLAIN("cpu"), KEYED("processed"), KEYED("dropped"), KEYED("squeezed"), KEYED("rps"), KEYED("flow_limit"),
	  KEYED("backlog")}},
	{HG_KIND_DISK, 19, "disk", "/proc/diskstats of one device",
	 {PLAIN("dev"), STR("name"), KEYED("reads"), KEYED("reads_merged"), KEYED("read_bytes"), NS_KEYED("read"),
	  KEYED("writes"), KEYED("writes_merged"), KEYED("write_bytes"), NS_KEYED("write"), KEYED("in_flight"),
	  NS_KEYED("io"), NS_KEYED("queue"), KEYED("discards"), KEYED("discards_merged"), KEYED("discard_bytes"),
	  NS_KEYED("discard"), KEYED("flushes"), NS_KEYED("flush")}},
	{HG_KIND_PSI, 5, "psi", "pressure of the machine or of a cgroup of the target",
	 {STR("scope"), PLAIN("resource"), NS("some"), NS("full"), STR("why")}},
	{HG_KIND_SOCKET, 20, "socket", "a TCP socket of the target or the client",
	 {PLAIN("cookie"), PLAIN("netns"), HEX("role"), PLAIN("state"), HEX_KEYED("ports"), KEYED("rtt_us"),
	  KEYED("min_rtt_us"), KEYED("cwnd"), KEYED("mss"), KEYED("unacked"), KEYED("sendq"), KEYED("notsent"),
	  KEYED("recvq"), NS_KEYED("busy"), NS_KEYED("rwnd"), NS_KEYED("sndbuf"), KEYED("retrans"), KEYED("rate"),
	  KEYED("acked"), KEYED("received")}},
	{HG_KIND_NETNS_STATS, 17, "netns_stats", "totals of TCP and UDP in a network namespace",
	 {PLAIN("netns"), KEYED("tcp_in"), KEYED("tcp_out"), KEYED("tcp_retrans"), KEYED("tcp_timeouts"),
	  KEYED("tcp_opens"), KEYED("listen_overflows"), KEYED("listen_drops"), KEYED("backlog_drops"),
	  KEYED("rcvq_drops"), KEYED("zero_windows"), KEYED("udp_in"), KEYED("udp_out"), KEYED("udp_no_ports"),
	  KEYED("udp_in_errors"), KEYED("udp_rcvbuf_errors"), KEYED("udp_sndbuf_errors")}},
	{HG_KIND_MESSAGES, 5, "messages", "totals of data received and sent by a target that serves",
	 {PLAIN("target"), KEYED("received"), KEYED("received_bytes"), KEYED("sent"), KEYED("sent_bytes")}},

	{HG_KIND_LINE, 3, "line", "a line of the client's output, or a piece of a long one", {PLAIN("fd"), STR("text"), PLAIN("piece")}},
};
/* clang-format on */

const size_t hg_kinds_count = HG_ARRAY_SIZE(hg_kinds);

const struct hg_kind_desc *hg_kind_find(uint16_t kind)
{
	/* Kinds are few and small: an index built at first use would need a lock. */
	for (size_t i = 0; i < hg_kinds_count; i++) {
		if (hg_kinds[i].kind == kind)
			return &hg_kinds[i];
	}
	return NULL;
}
