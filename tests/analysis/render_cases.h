/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings made by hand, a case for each kind of report. Used by test_render.c only. */
#ifndef HG_RENDER_CASES_H
#define HG_RENDER_CASES_H

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings_rows.h"
#include "base/hg_base.h"

#define SEC HG_NSEC_PER_SEC
#define MS  (SEC / 1000)

struct row_spec {
	const char *kind, *id, *name, *role;
	uint64_t wall_ms, count, run_ms, user_ms;
	enum hg_leaf rest; /* the state of what is left */
	uint64_t wait_ms, throttled_ms, lock_ms;
};

static struct hg_findings *case_new(const char *target)
{
	struct hg_findings *f = calloc(1, sizeof(*f));

	assert(f);
	f->arena = hg_arena_new();
	assert(f->arena);
	f->from_s = 0.25;
	f->to_s = 10.25;
	f->wall_s = 10;
	f->subwindows = 20;
	f->host_cpus = 1.625;
	f->other_cpus = 0.125;
	f->cpus_online = 2;
	f->target_cpus = 0.98;
	f->client_cpus = 0.41;
	f->target_name = target;
	f->session.whole = true;
	f->session.events = 2345678;
	f->session.own_cpu_ns = 120 * MS;
	f->session.bpf_cpus = 0.065;
	f->session.client = true;
	f->session.client_ended = true;
	return f;
}

static void case_sleep(struct hg_findings *f, const char *role, enum hg_leaf leaf,
		       const char *frames, uint64_t ms)
{
	if (!f->sleeps)
		f->sleeps = hg_arena_array(f->arena, 8, sizeof(*f->sleeps));
	assert(f->sleeps && f->sleeps_count < 8);
	f->sleeps[f->sleeps_count++] = (struct hg_sleep_row){
		.role = role, .leaf = leaf, .frames = frames, .waits = 10, .ns = ms * MS};
}

static void case_rows(struct hg_findings *f, const struct row_spec *specs, size_t n)
{
	f->rows = hg_arena_array(f->arena, n, sizeof(*f->rows));
	assert(f->rows);
	f->rows_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct row_spec *s = &specs[i];
		struct hg_lane_row *row = &f->rows[i];

		row->machine = "host";
		row->kind = s->kind;
		snprintf(row->id, sizeof(row->id), "%s", s->id);
		row->name = s->name;
		row->role = s->role;
		row->wall_ns = s->wall_ms * MS;
		row->count = s->count;
		row->split = s->user_ms > 0;
		row->user_ns = s->user_ms * MS;
		row->kernel_ns = s->user_ms ? (s->run_ms - s->user_ms) * MS : 0;
		row->leaf_ns[HG_LEAF_RUNNING] = s->run_ms * MS;
		row->leaf_ns[HG_LEAF_RUNNABLE_BUSY] = s->wait_ms * MS;
		row->leaf_ns[HG_LEAF_THROTTLED] = s->throttled_ms * MS;
		row->leaf_ns[HG_LEAF_BLOCKED_LOCK] = s->lock_ms * MS;
		row->leaf_ns[s->rest] +=
			(s->wall_ms - s->run_ms - s->wait_ms - s->throttled_ms - s->lock_ms) * MS;
	}
}

static void case_wrk(struct hg_findings *f)
{
	f->client = (struct hg_client_result){
		.format = "wrk",
		.valid = true,
		.value = 53892.23,
		.unit = "requests/s",
		.source = "wrk's output: Requests/sec (wrk prints no series)",
		.completed = 538922,
		.duration_s = 10,
		.concurrency = 64,
		.threads = 2,
		.latency_mean_s = 0.00186,
		.closed_loop = true,
	};
}

static void case_gates(struct hg_findings *f, bool losses_passed)
{
	f->gates_count = 3;
	f->gates = hg_arena_array(f->arena, f->gates_count, sizeof(*f->gates));
	assert(f->gates);
	f->gates[0] = (struct hg_gate){
		"losses", losses_passed,
		losses_passed ? "no event was lost"
			      : "4.20 s of 10.00 s have holes, at most 1 % may have"};
	f->gates[1] = (struct hg_gate){"sub-windows", true, "20 of at least 10"};
	f->gates[2] = (struct hg_gate){"throughput", f->client.valid,
				       f->client.valid ? "from wrk's output" : "no source"};
}

static json_t *case_environment(void)
{
	return json_pack("{s:{s:s,s:[s,s,s,s]}, s:s, s:{s:s,s:{s:s},s:{s:s,s:s,s:b},s:{s:s},"
			 "s:{s:b,s:s},s:{s:s,s:s,s:s}}}",
			 "hourglass", "version", "0.1.0", "arguments", "hourglass", "record", "-p",
			 "4711", "time", "2026-03-01T12:00:00Z", "host", "distribution",
			 "Debian GNU/Linux 12", "kernel", "release", "6.1.0-18-amd64", "cpu",
			 "model", "AMD EPYC 7763 64-Core Processor", "online", "0-1", "smt", 0,
			 "frequency", "governor", "performance", "virtualisation", "virtual", 1,
			 "hypervisor", "KVM", "mitigations", "meltdown", "Not affected",
			 "spectre_v1", "Mitigation: usercopy/swapgs barriers", "tsx", "Vulnerable");
}

static struct hg_candidate case_candidate(const char *class_name, const char *cause)
{
	return (struct hg_candidate){.class_name = class_name,
				     .cause = cause,
				     .share = NAN,
				     .share_low = NAN,
				     .share_high = NAN,
				     .saturation = NAN};
}

static struct hg_evidence *case_evidence(struct hg_findings *f, struct hg_candidate *c, size_t n)
{
	c->evidence = hg_arena_array(f->arena, n, sizeof(*c->evidence));
	assert(c->evidence);
	c->evidence_count = n;
	return c->evidence;
}

static void case_serial_candidate(struct hg_findings *f, struct hg_candidate *c)
{
	struct hg_evidence *e;

	*c = case_candidate("cpu", "serial-thread");
	c->subject = (struct hg_subject){"host", "thread", "tid 4712", "nginx"};
	c->confidence = HG_CONFIDENCE_HIGH;
	c->share = 0.9312;
	c->share_low = 0.9104;
	c->share_high = 0.9498;
	c->saturation = 0.9871;
	c->summary = "Thread nginx (tid 4712) limits the throughput: it ran 98.7 % of the window "
		     "and nothing "
		     "else of the target could take over its work.";
	c->advice = "Give nginx a second worker (worker_processes 2) and record again: throughput "
		    "should rise, "
		    "at most by 63.0 %.";
	e = case_evidence(f, c, 3);
	e[0] = (struct hg_evidence){
		"nginx (tid 4712) ran 98.7 % of 10.00 s, at least 90 % in 20 of 20 sub-windows",
		"sched_switch events",
		true,
		true,
		0.9871,
		0.9};
	e[1] = (struct hg_evidence){"its run time grew by 9.869 s in 10.00 s",
				    "/proc/4711/task/4712/schedstat",
				    true,
				    true,
				    0.9869,
				    0.9};
	e[2] = (struct hg_evidence){"one of two CPUs was idle 37.5 % of the time",
				    "/proc/stat",
				    false,
				    true,
				    0.375,
				    0.1};
}

static void case_serial_candidates(struct hg_findings *f)
{
	static const char *const client_refuted[] = {
		"wrk's threads ran 20.5 % of their time: far from 90 %"};

	f->candidates_count = 4;
	f->candidates = hg_arena_array(f->arena, f->candidates_count, sizeof(*f->candidates));
	assert(f->candidates);
	case_serial_candidate(f, &f->candidates[0]);
	f->candidates[1] = case_candidate("client", "saturated");
	f->candidates[1].subject = (struct hg_subject){"host", "client", "tid 5001", "wrk"};
	f->candidates[1].share = 0.0405;
	f->candidates[1].saturation = 0.205;
	f->candidates[1].refuted_by = (const char **)client_refuted;
	f->candidates[1].refuted_count = 1;
	f->candidates[2] = case_candidate("cpu", "quota");
	f->candidates[2].unknown_why = "the target is in no cgroup with a CPU limit";
	f->candidates[3] = case_candidate("locking", "user");
	f->candidates[3].share = 0.01;
	f->candidates[3].summary = "No lock was waited for at least 5 % of the window.";
}

static struct hg_findings *case_serial_thread(void)
{
	static const struct row_spec rows[] = {
		{"task", "4712", "nginx", "target", 10000, 1, 9871, 4103, HG_LEAF_BLOCKED_NET, 54,
		 0, 0},
		{"task", "4711", "nginx", "target", 10000, 1, 2, 0, HG_LEAF_BLOCKED_OTHER, 0, 0, 0},
		{"task", "5001", "wrk", "client", 10000, 1, 2050, 640, HG_LEAF_BLOCKED_NET, 11, 0,
		 0},
		{"task", "5002", "wrk", "client", 10000, 1, 2049, 650, HG_LEAF_BLOCKED_NET, 12, 0,
		 0},
		{"task", "811", "kworker/0:2", "competitor", 10000, 1, 30, 0, HG_LEAF_UNKNOWN, 0, 0,
		 0},
		{"others", "", "41 others", "competitor", 410000, 41, 95, 0, HG_LEAF_UNKNOWN, 0, 0,
		 0},
	};
	struct hg_findings *f = case_new("nginx (pid 4711, 2 threads)");
	struct hg_candidate *next = hg_arena_alloc(f->arena, sizeof(*next));

	case_wrk(f);
	case_gates(f, true);
	case_rows(f, rows, HG_ARRAY_SIZE(rows));
	case_serial_candidate(f, &f->verdict);
	case_serial_candidates(f);
	assert(next);
	*next = case_candidate("cpu", "saturated");
	next->subject = (struct hg_subject){"host", "cpu-pool", "CPUs 0-1", "2 CPUs"};
	f->what_if_count = 2;
	f->what_if = hg_arena_array(f->arena, f->what_if_count, sizeof(*f->what_if));
	assert(f->what_if);
	f->what_if[0] = (struct hg_what_if){
		"serial thread nginx (tid 4712)", 0.63,
		"the next resource's ceiling m/D = 2 CPUs / 18.5 us = 108108 requests/s", next};
	f->what_if[1] = (struct hg_what_if){"client wrk", 25, "critical path CS/(1-CS)", NULL};
	f->setup_count = 2;
	f->setup = hg_arena_array(f->arena, f->setup_count, sizeof(*f->setup));
	assert(f->setup);
	f->setup[0] = (struct hg_setup_note){
		"loopback", "warn",
		"client and server share this machine's CPUs: the client's work takes "
		"CPU time from the server's"};
	f->setup[1] = (struct hg_setup_note){"virtual", "info",
					     "this machine is itself a virtual machine"};
	f->rss_bytes_max = 13 * 1048576 + 524288;
	f->environment = case_environment();
	return f;
}

static struct hg_findings *case_quota(void)
{
	static const struct row_spec rows[] = {
		{"task", "77", "hg-server", "target", 10000, 1, 3010, 2900, HG_LEAF_BLOCKED_NET, 20,
		 6900, 0},
		{"task", "91", "hg-client", "client", 10000, 1, 310, 80, HG_LEAF_BLOCKED_NET, 4, 0,
		 0},
	};
	static const struct hg_cpu_row cpus[] = {
		{0, 0.987, 0.312, 0.021, 0.32, 71234.5, 17, 3},
		{1, 0.5, 0.004, 0.001, 0, NAN, 0, 0},
	};
	struct hg_findings *f = case_new("hg-server (pid 77, 1 thread)");
	struct hg_candidate *v = &f->verdict;
	struct hg_evidence *e;

	f->client =
		(struct hg_client_result){.format = "key-value",
					  .valid = true,
					  .value = 1000.25,
					  .unit = "requests/s",
					  .source = "the client's key-value lines: throughput line",
					  .completed = 10003,
					  .duration_s = 10.0005,
					  .concurrency = 8,
					  .closed_loop = true,
					  .errors = 3};
	case_gates(f, true);
	case_rows(f, rows, HG_ARRAY_SIZE(rows));
	f->cpus_count = HG_ARRAY_SIZE(cpus);
	f->cpus = hg_arena_array(f->arena, f->cpus_count, sizeof(*f->cpus));
	assert(f->cpus);
	memcpy(f->cpus, cpus, sizeof(cpus));
	*v = case_candidate("cpu", "quota");
	v->subject = (struct hg_subject){"host", "cgroup", "/bench/web", NULL};
	v->confidence = HG_CONFIDENCE_MEDIUM;
	v->share = 0.69;
	v->share_low = 0.66;
	v->share_high = 0.72;
	v->saturation = 0.998;
	v->summary = "The CPU limit of cgroup /bench/web (30.0 % of a CPU) limits the throughput.";
	v->advice = "Raise cpu.max of /bench/web and record again.";
	e = case_evidence(f, v, 3);
	e[0] = (struct hg_evidence){"hg-server was throttled 69.0 % of 10.00 s",
				    "throttled flag at sched_switch",
				    true,
				    true,
				    0.69,
				    0.05};
	e[1] = (struct hg_evidence){"99 of 100 periods were throttled",
				    "cpu.stat of /bench/web",
				    true,
				    true,
				    0.99,
				    0.5};
	e[2] = (struct hg_evidence){"hg-server's own run time reached 30.1 %, not 90 %",
				    "sched_switch events",
				    false,
				    false,
				    0.301,
				    0.9};
	f->environment = case_environment();
	return f;
}

static struct hg_findings *case_locking(void)
{
	static const char *const chain[] = {"mutex 0x7f32c8a01040 of server (pid 300)",
					    "held by worker (tid 305)",
					    "asleep in clock_nanosleep"};
	static const struct row_spec rows[] = {
		{"task", "305", "worker", "target", 10000, 1, 210, 180, HG_LEAF_BLOCKED_TIMER, 4, 0,
		 6000},
		{"others", "", "7 others", "target", 70000, 7, 1400, 1300, HG_LEAF_BLOCKED_NET, 30,
		 0, 61000},
	};
	struct hg_findings *f = case_new("server (pid 300, 8 threads)");
	struct hg_candidate *v = &f->verdict;
	struct hg_evidence *e;

	case_wrk(f);
	case_gates(f, true);
	case_rows(f, rows, HG_ARRAY_SIZE(rows));
	case_sleep(f, "target", HG_LEAF_BLOCKED_LOCK,
		   "futex_do_wait;__futex_wait;futex_wait;do_futex;__x64_sys_futex;do_syscall_64",
		   900);
	case_sleep(
		f, "target", HG_LEAF_BLOCKED_NET,
		"do_epoll_wait;__x64_sys_epoll_wait;do_syscall_64;entry_SYSCALL_64_after_hwframe",
		100);
	case_sleep(f, "client", HG_LEAF_BLOCKED_NET, "do_epoll_wait;do_syscall_64", 500);
	*v = case_candidate("locking", "user");
	v->subject = (struct hg_subject){"host", "lock", "0x7f32c8a01040", "mutex of server"};
	v->confidence = HG_CONFIDENCE_HIGH;
	v->share = 0.88;
	v->share_low = 0.86;
	v->share_high = 0.9;
	v->saturation = 0.97;
	v->summary = "The mutex at 0x7f32c8a01040 limits the throughput: its holder sleeps.";
	v->advice = "Do not sleep while holding it, or split the lock.";
	v->chain = (const char **)chain;
	v->chain_count = HG_ARRAY_SIZE(chain);
	e = case_evidence(f, v, 2);
	e[0] = (struct hg_evidence){"threads waited for it 97.0 % of the window",
				    "futex waits at sched_switch",
				    true,
				    true,
				    0.97,
				    0.5};
	e[1] = (struct hg_evidence){
		"96 of 100 samples found a waiter", "/proc/TID/syscall", true, true, 0.96, 0.5};
	return f;
}

static struct hg_findings *case_inconclusive(void)
{
	struct hg_findings *f = case_new("nginx (pid 4711, 2 threads)");
	struct hg_candidate *v = &f->verdict;

	case_wrk(f);
	case_gates(f, false);
	*v = case_candidate("inconclusive", NULL);
	v->summary = "Two causes remain: cpu/serial-thread and client/saturated. Too much was lost "
		     "to tell.";
	v->advice = "Record again with larger buffers (-m).";
	case_serial_candidates(f);
	f->candidates[0].confidence = HG_CONFIDENCE_LOW;
	f->candidates[1].share = 0.41;
	f->candidates[0].evidence[1].holds = false;
	f->losses.total = 123456;
	f->losses.by_probe[3] = 123000;
	f->losses.by_probe[5] = 456;
	f->losses.lost_ns = 4200 * MS;
	f->losses.damage = 77;
	snprintf(f->health, sizeof(f->health),
		 "the file was cut: the last 4096 bytes are not whole");
	f->session.bpf_cpus = -1;
	f->session.client_status = 0x100;
	f->environment = case_environment();
	return f;
}

static struct hg_findings *case_unknown(void)
{
	struct hg_findings *f = case_new("sleepy (pid 9, 1 thread)");

	f->verdict = case_candidate("unknown", NULL);
	f->verdict.summary = "The window is shorter than one second: nothing can be said.";
	f->verdict.unknown_why = "at least ten sub-windows of 100 ms";
	f->host_cpus = NAN;
	f->other_cpus = NAN;
	f->session.bpf_cpus = -1;
	snprintf(f->client.source, sizeof(f->client.source),
		 "no known result in the client's 3 lines");
	case_gates(f, true);
	return f;
}

static struct hg_findings *case_none(void)
{
	static const struct row_spec rows[] = {
		{"task", "77", "hg-server", "target", 10000, 1, 1010, 900, HG_LEAF_BLOCKED_NET, 3,
		 0, 0},
		{"task", "91", "hg-client", "client", 10000, 1, 310, 80, HG_LEAF_BLOCKED_TIMER, 4,
		 0, 0},
	};
	struct hg_findings *f = case_new("hg-server (pid 77, 1 thread)");
	struct hg_evidence *e;

	f->client =
		(struct hg_client_result){.format = "key-value",
					  .valid = true,
					  .value = 199.9,
					  .unit = "requests/s",
					  .source = "the client's key-value lines: throughput line",
					  .completed = 1999,
					  .duration_s = 10,
					  .offered = 200};
	case_gates(f, true);
	case_rows(f, rows, HG_ARRAY_SIZE(rows));
	f->verdict = case_candidate("none", NULL);
	f->verdict.confidence = HG_CONFIDENCE_HIGH;
	f->verdict.summary =
		"The client offers 200.0 requests/s and 199.9 are served; nothing is saturated.";
	f->verdict.advice = "Offer more load.";
	e = case_evidence(f, &f->verdict, 2);
	e[0] = (struct hg_evidence){"99.9 % of the offered load was served",
				    "the client's output",
				    true,
				    true,
				    0.9995,
				    0.98};
	e[1] = (struct hg_evidence){
		"the busiest thread ran 10.1 %", "sched_switch events", true, true, 0.101, 0.7};
	return f;
}

/* No client: shares only. */
/* Four iperf3 side by side, started too far apart. */
static struct hg_findings *case_many_clients(void)
{
	struct hg_findings *f = case_serial_thread();

	f->client = (struct hg_client_result){
		.format = "iperf3",
		.valid = true,
		.value = 9.4123e9,
		.unit = "bit/s",
		.source = "sum of 4 runs of iperf3 side by side (no series)",
		.completed = 9.4123e10,
		.duration_s = 10,
		.concurrency = 8,
		.sent = 9.4201e9,
		.retransmits = 17,
		.retransmits_known = true,
		.runs = 4,
		.common_s = 9.35,
		.start_skew_s = 0.62,
		.stop_skew_s = 0.031,
		.skewed = true,
	};
	return f;
}

static struct hg_findings *case_no_throughput(void)
{
	struct hg_findings *f = case_serial_thread();

	f->client.valid = false;
	snprintf(f->client.source, sizeof(f->client.source), "no client was recorded");
	f->session.client = false;
	f->gates[2].passed = false;
	f->gates[2].text = "no client, no --client-log: shares only";
	f->verdict.confidence = HG_CONFIDENCE_LOW;
	f->what_if_count = 1;
	f->what_if[0].gain_at_most = NAN;
	f->what_if[0].bound_by = NULL;
	return f;
}

static struct hg_findings *case_hostile(void)
{
	static const char evil[] =
		"a\x1b]0;owned\x07<script>\"x\" & 'y'\n\xff\xfe\xe2\x80\xae\xc2\x9b";
	static const char *const chain[] = {evil, evil, evil, evil, evil, evil,
					    evil, evil, evil, evil, evil, evil};
	static char longest[4000];
	struct row_spec rows[] = {
		{"task", "1", evil, "target", 10000, 1, 9871, 4103, HG_LEAF_BLOCKED_NET, 54, 0, 0},
		{"task", "4294967295", longest, "target", 10000, 1, 2, 0, HG_LEAF_BLOCKED_OTHER, 0,
		 0, 0},
		{"task", "3", longest, "client", 10000, 1, 2, 0, HG_LEAF_BLOCKED_OTHER, 0, 0, 0},
		{"task", "4", longest, "competitor", 10000, 1, 2, 0, HG_LEAF_UNKNOWN, 0, 0, 0},
		{"task", "5", evil, "waker", 10000, 1, 2, 0, HG_LEAF_UNKNOWN, 0, 0, 0},
	};
	struct hg_findings *f = case_serial_thread();

	memset(longest, 'M', sizeof(longest) - 1);
	f->target_name = longest;
	f->verdict.subject.name = evil;
	f->verdict.summary = longest;
	f->verdict.advice = evil;
	f->verdict.chain = (const char **)chain;
	f->verdict.chain_count = HG_ARRAY_SIZE(chain);
	f->verdict.evidence[0].text = evil;
	f->verdict.evidence[0].source = longest;
	f->what_if[0].relieve = evil;
	f->what_if[0].bound_by = longest;
	f->candidates[1].subject.name = longest;
	f->candidates[1].refuted_by = (const char **)chain;
	f->candidates[2].class_name = evil;
	f->candidates[2].cause = longest;
	f->gates[0].text = evil;
	f->setup[0].text = longest;
	snprintf(f->client.unit, sizeof(f->client.unit), "\x1b[31mreq/s");
	snprintf(f->client.source, sizeof(f->client.source), "\xff<b>");
	snprintf(f->health, sizeof(f->health), "%.200s", longest);
	case_rows(f, rows, HG_ARRAY_SIZE(rows));
	case_sleep(f, "target", HG_LEAF_BLOCKED_OTHER, "a\033[31m<script>;\n\"quote\";;x", 900);
	case_sleep(f, "client", HG_LEAF_BLOCKED_NET, "", 10);
	json_decref(f->environment);
	/* the environment comes from the file too: any shape */
	f->environment = json_pack("{s:{s:s, s:i, s:[i], s:n}, s:{s:[i,s]}, s:i}", "host",
				   "distribution", "\x1b[2J", "kernel", 5, "cpu", 1, "mitigations",
				   "hourglass", "arguments", 1, "x", "guests", 7);
	return f;
}

static struct hg_findings *case_many_lanes(void)
{
	static struct hg_lane lanes[2100];
	struct hg_findings *f = case_new("server (pid 1000, 2000 threads)");

	for (size_t i = 0; i < HG_ARRAY_SIZE(lanes); i++) {
		struct hg_lane *l = &lanes[i];

		*l = (struct hg_lane){.id = (uint32_t)i,
				      .tid = (uint32_t)(1000 + i),
				      .defined = true,
				      .name = i % 2 ? "worker" : "helper",
				      .role = i < 2002	 ? HG_ROLEF_TARGET
					      : i < 2030 ? HG_ROLEF_CLIENT
					      : i < 2040 ? HG_ROLEF_PROMOTED
							 : 0,
				      .from_ns = SEC / 4,
				      .to_ns = SEC / 4 + 10 * SEC};
		l->leaf_ns[HG_LEAF_RUNNING] = (i * 7919 % 2000) * MS / 2;
		if (!l->role)
			continue;
		l->leaf_ns[HG_LEAF_RUNNABLE_BUSY] = (i * 104729 % 1000) * MS;
		l->leaf_ns[HG_LEAF_BLOCKED_NET] =
			10 * SEC - l->leaf_ns[HG_LEAF_RUNNING] - l->leaf_ns[HG_LEAF_RUNNABLE_BUSY];
	}
	case_wrk(f);
	case_gates(f, true);
	f->verdict = case_candidate("cpu", "saturated");
	f->verdict.subject = (struct hg_subject){"host", "cpu-pool", "CPUs 0-1", "2 CPUs"};
	f->verdict.confidence = HG_CONFIDENCE_MEDIUM;
	f->verdict.share = 0.8;
	f->verdict.saturation = 0.99;
	f->verdict.summary = "Both CPUs are busy.";
	assert(!hg_findings_rows_build(f, lanes, HG_ARRAY_SIZE(lanes), SEC / 4, SEC / 4 + 10 * SEC,
				       0));
	return f;
}

/* As attribution would never make it: everything missing. */
static struct hg_findings *case_empty(void)
{
	struct hg_findings *f = calloc(1, sizeof(*f));

	assert(f);
	return f;
}

static const struct render_case {
	const char *name;
	struct hg_findings *(*make)(void);
} render_cases[] = {
	{"serial-thread", case_serial_thread},
	{"quota", case_quota},
	{"locking", case_locking},
	{"inconclusive", case_inconclusive},
	{"unknown", case_unknown},
	{"none", case_none},
	{"no-throughput", case_no_throughput},
	{"many-clients", case_many_clients},
	{"hostile", case_hostile},
	{"many-lanes", case_many_lanes},
	{"empty", case_empty},
};

#endif
