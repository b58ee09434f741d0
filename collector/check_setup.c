/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What in the setup would spoil a benchmark, on the machine and at the targets. */
#include <errno.h>
#include <string.h>

#include "base/hg_file.h"
#include "collector/check_private.h"
#include "collector/environment_private.h"

#define ADD(state, id, remedy, ...) check_add(c, HG_CHECK_SETUP, state, id, remedy, __VA_ARGS__)

#define LOAD_MS	     500
#define BUSY_WARN    0.05 /* of all CPUs, before the benchmark begins */
#define STEAL_WARN   0.005
#define STEAL_SPOILS 0.05

/* --- load and steal, measured --- */

struct cpu_ticks {
	unsigned long long all, idle, steal;
};

static bool ticks_read(struct cpu_ticks *out)
{
	unsigned long long v[8];
	char text[512];

	/* user nice system idle iowait irq softirq steal; user holds guest already */
	if (hg_file_read("/proc/stat", text, sizeof(text)) < 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) != 8)
		return false;
	*out = (struct cpu_ticks){.idle = v[3] + v[4], .steal = v[7]};
	for (size_t i = 0; i < HG_ARRAY_SIZE(v); i++)
		out->all += v[i];
	return true;
}

static void load_check(struct hg_check *c, json_t *env, bool targets)
{
	struct timespec pause = {.tv_nsec = LOAD_MS * 1000000L};
	bool virtual = json_is_true(check_get(env, "host", "virtualisation", "virtual", NULL));
	const char *by = check_string(env, "host", "virtualisation", "hypervisor", NULL);
	struct cpu_ticks a, b;
	double all, steal, busy;

	if (!ticks_read(&a))
		return;
	nanosleep(&pause, NULL);
	if (!ticks_read(&b) || b.all <= a.all)
		return;
	all = (double)(b.all - a.all);
	steal = b.steal > a.steal ? (double)(b.steal - a.steal) / all : 0;
	busy = 1 - steal - (b.idle > a.idle ? (double)(b.idle - a.idle) / all : 0);
	if (busy > BUSY_WARN)
		ADD(targets ? HG_CHECK_INFO : HG_CHECK_WARN, "load",
		    targets ? NULL : "stop what else runs, or move it to other CPUs",
		    "%.0f %% of all CPU time is in use now%s", 100 * busy,
		    targets ? ", the target's included" : "");
	else
		ADD(HG_CHECK_YES, "load", NULL, "the machine is idle (%.0f %% in use)",
		    100 * HG_MAX(busy, 0));
	if (!virtual)
		ADD(HG_CHECK_YES, "virtualisation", NULL, "none: this is bare metal");
	else
		ADD(steal > STEAL_SPOILS ? HG_CHECK_SPOILS
		    : steal > STEAL_WARN ? HG_CHECK_WARN
					 : HG_CHECK_INFO,
		    "virtualisation", "use bare metal, or vCPUs with a physical CPU each",
		    "this machine is a VM itself (%s); %.1f %% of its CPU time is stolen now",
		    by[0] ? by : "unknown hypervisor", 100 * steal);
}

/* --- CPUs, clock, memory --- */

static void frequency_check(struct hg_check *c, json_t *env)
{
	const char *governor = check_string(env, "host", "frequency", "governor", NULL);
	const char *preference = check_string(env, "host", "frequency", "preference", NULL);
	json_t *turbo = check_get(env, "host", "frequency", "turbo", NULL);

	if (!governor[0])
		ADD(HG_CHECK_INFO, "governor", NULL, "no frequency scaling is visible here");
	else if (!strcmp(governor, "performance"))
		ADD(HG_CHECK_YES, "governor", NULL, "performance");
	else
		ADD(HG_CHECK_WARN, "governor", "cpupower frequency-set -g performance",
		    "%s%s%s: the clock follows the load, so the figures do", governor,
		    preference[0] ? ", " : "", preference);
	if (json_is_true(turbo))
		ADD(HG_CHECK_INFO, "turbo", "switch it off to compare runs",
		    "on: the clock depends on heat and on how many CPUs are busy");
}

static void smt_check(struct hg_check *c, json_t *env)
{
	if (json_is_true(check_get(env, "host", "cpu", "smt", NULL)))
		ADD(HG_CHECK_WARN, "smt",
		    "pin client and server to different cores, or switch SMT off",
		    "on: two busy threads of one core slow each other down");
	else
		ADD(HG_CHECK_YES, "smt", NULL, "off");
}

/* Clocks that are read without a system call, by what hardware they are. */
static void clock_check(struct hg_check *c, json_t *env)
{
	static const char *const fast[] = {"tsc", "arch_sys_counter"};
	static const char *const paravirtual[] = {"kvm-clock", "hyperv_clocksource_tsc_page"};
	const char *now = check_string(env, "host", "clocksource", "current", NULL);

	for (size_t i = 0; i < HG_ARRAY_SIZE(fast); i++) {
		if (!strcmp(now, fast[i])) {
			ADD(HG_CHECK_YES, "clocksource", NULL, "%s", now);
			return;
		}
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(paravirtual); i++) {
		if (!strcmp(now, paravirtual[i])) {
			ADD(HG_CHECK_INFO, "clocksource", NULL,
			    "%s, not tsc: a little slower to read", now);
			return;
		}
	}
	ADD(HG_CHECK_SPOILS, "clocksource",
	    "boot with clocksource=tsc tsc=reliable if the TSC is sound",
	    "%s, not tsc: each look at the clock costs a microsecond or more",
	    now[0] ? now : "unknown");
}

static void memory_check(struct hg_check *c, json_t *env)
{
	json_int_t total =
		json_integer_value(check_get(env, "host", "memory", "swap_total_bytes", NULL));
	json_int_t left =
		json_integer_value(check_get(env, "host", "memory", "swap_free_bytes", NULL));

	if (total > left)
		ADD(HG_CHECK_WARN, "swap", "swapoff -a, after making sure that memory suffices",
		    "%lld MiB of swap are in use: pages of the target may have to be read back",
		    (long long)(total - left) >> 20);
	else
		ADD(HG_CHECK_YES, "swap", NULL, total ? "not in use" : "none");
}

static void numa_check(struct hg_check *c, json_t *env)
{
	size_t nodes = json_array_size(check_get(env, "host", "numa", NULL));

	if (nodes > 1)
		ADD(HG_CHECK_INFO, "numa", "pin the target and its memory to one node (numactl)",
		    "%zu nodes: the figures depend on where threads and memory land", nodes);
}

/* --- processes --- */

static void quota_check(struct hg_check *c, json_t *target, const char *id, const char *whom)
{
	json_t *limits = json_object_get(target, "cpu_limits"), *limit;
	size_t i;

	json_array_foreach (limits, i, limit) {
		json_int_t quota = json_integer_value(json_object_get(limit, "quota_us"));
		json_int_t period = json_integer_value(json_object_get(limit, "period_us"));

		ADD(HG_CHECK_WARN, id,
		    "raise it (cpu.max, or cpu.cfs_quota_us), unless the benchmark is about it",
		    "cgroup %s limits %s to %.2f CPUs", check_string(limit, "path", NULL), whom,
		    period > 0 ? (double)quota / (double)period : 0);
	}
}

static void target_check(struct hg_check *c, json_t *target, pid_t pid, json_int_t cpus)
{
	const char *comm = check_string(target, "comm", NULL), *set;
	json_t *affinity = json_object_get(target, "affinity"), *count;
	json_int_t threads = json_integer_value(json_object_get(target, "threads"));
	char id[48], whom[96];

	snprintf(id, sizeof(id), "target.%d", (int)pid);
	snprintf(whom, sizeof(whom), "%s (%d)", comm, (int)pid);
	if (!comm[0]) {
		ADD(HG_CHECK_NO, id, "name a process that runs", "no process %d", (int)pid);
		return;
	}
	ADD(HG_CHECK_YES, id, NULL, "%s, %lld thread%s", comm, (long long)threads,
	    threads == 1 ? "" : "s");
	snprintf(id, sizeof(id), "target.%d.quota", (int)pid);
	quota_check(c, target, id, whom);
	snprintf(id, sizeof(id), "target.%d.affinity", (int)pid);
	json_object_foreach (affinity, set, count) {
		if (env_cpus_count(set) < cpus)
			ADD(HG_CHECK_INFO, id, NULL, "%lld thread%s of %s may only run on CPUs %s",
			    (long long)json_integer_value(count),
			    json_integer_value(count) == 1 ? "" : "s", comm, set);
	}
}

void check_setup(struct hg_check *c, json_t *env, const struct hg_check_opts *opts)
{
	json_t *targets = json_object_get(env, "targets");
	json_int_t cpus = json_integer_value(check_get(env, "host", "cpu", "count", NULL));

	load_check(c, env, opts->pids_count > 0);
	frequency_check(c, env);
	smt_check(c, env);
	clock_check(c, env);
	memory_check(c, env);
	numa_check(c, env);
	quota_check(c, json_array_get(targets, 0), "quota", "hourglass and what it starts");
	/* The environment lists a bounded number of them; check is about a few. */
	for (size_t i = 0; i < opts->pids_count && i + 1 < json_array_size(targets); i++)
		target_check(c, json_array_get(targets, i + 1), opts->pids[i], cpus);
}
