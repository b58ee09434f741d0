/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine's part of the environment: kernel, CPUs, memory, clock, virtualisation. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"

#define CPU "/sys/devices/system/cpu/"

/* The value of "KEY<separator>value" in a text of lines, without quotes and spaces around it. */
static bool value_find(const char *text, const char *key, char separator, char *buf, size_t size)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at;
		size_t length;

		line += *line == '\n';
		if (strncmp(line, key, n))
			continue;
		at = line + n + strspn(line + n, " \t");
		if (*at++ != separator)
			continue;
		at += strspn(at, " \t\"");
		length = strcspn(at, "\"\n");
		while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
			length--;
		snprintf(buf, size, "%.*s", (int)length, at);
		return true;
	}
	return false;
}

struct pair {
	const char *key, *name;
};

static void pairs_set(json_t *object, const char *text, char separator, const struct pair *pairs,
		      size_t count)
{
	char value[512];

	for (size_t i = 0; i < count; i++) {
		if (value_find(text, pairs[i].name, separator, value, sizeof(value)))
			env_set_string(object, pairs[i].key, value);
	}
}

/* --- kernel --- */

/* "PREEMPT_DYNAMIC" says only that it can be chosen at boot: debugfs tells what was. */
static const char *preemption_built(const char *version)
{
	static const char *const models[] = {"PREEMPT_RT", "PREEMPT_LAZY", "PREEMPT_DYNAMIC",
					     "PREEMPT"};

	for (size_t i = 0; i < HG_ARRAY_SIZE(models); i++) {
		if (strstr(version, models[i]))
			return models[i];
	}
	return "none or voluntary";
}

static json_t *kernel(void)
{
	static const struct env_line lines[] = {
		{"command_line", "/proc/cmdline", ENV_TEXT},
		{"preemption", "/sys/kernel/debug/sched/preempt", ENV_CHOSEN},
		{"realtime", "/sys/kernel/realtime", ENV_YES},
		{"lockdown", "/sys/kernel/security/lockdown", ENV_CHOSEN},
		{"tainted", "/proc/sys/kernel/tainted", ENV_NUMBER},
	};
	json_t *object = json_object();
	struct utsname u;

	if (!uname(&u)) {
		env_set_string(object, "release", u.release);
		env_set_string(object, "version", u.version);
		env_set_string(object, "machine", u.machine);
		env_set_string(object, "preemption_built", preemption_built(u.version));
	}
	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	return object;
}

static json_t *scheduler(void)
{
	static const struct env_line lines[] = {
		{"autogroup", "/proc/sys/kernel/sched_autogroup_enabled", ENV_YES},
		{"schedstats", "/proc/sys/kernel/sched_schedstats", ENV_YES},
		{"numa_balancing", "/proc/sys/kernel/numa_balancing", ENV_YES},
		{"rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us", ENV_NUMBER},
		{"cfs_bandwidth_slice_us", "/proc/sys/kernel/sched_cfs_bandwidth_slice_us",
		 ENV_NUMBER},
		{"base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns", ENV_NUMBER},
		{"min_granularity_ns", "/sys/kernel/debug/sched/min_granularity_ns", ENV_NUMBER},
		{"latency_ns", "/sys/kernel/debug/sched/latency_ns", ENV_NUMBER},
		{"migration_cost_ns", "/sys/kernel/debug/sched/migration_cost_ns", ENV_NUMBER},
		{"features", "/sys/kernel/debug/sched/features", ENV_TEXT},
		{"ext", "/sys/kernel/sched_ext/state", ENV_TEXT},
	};
	json_t *object = json_object();

	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	return object;
}

/* --- CPUs --- */

static bool cpu_number(unsigned int cpu, const char *file, long *out)
{
	char path[128], text[32], *end;

	snprintf(path, sizeof(path), CPU "cpu%u/topology/%s", cpu, file);
	if (hg_file_line(path, text, sizeof(text)))
		return false;
	*out = strtol(text, &end, 10);
	return end != text;
}

struct core {
	long package, core;
};

static int core_order(const void *a, const void *b)
{
	const struct core *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return (x->core > y->core) - (x->core < y->core);
}

static void topology_set(json_t *object)
{
	struct core *cores = calloc(ENV_CPUS_MAX, sizeof(*cores));
	size_t count = 0, packages = 0, distinct = 0;
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	for (unsigned int cpu = 0; cores && cpu < ENV_CPUS_MAX && cpu < configured; cpu++) {
		/* An offline CPU has no topology. */
		if (cpu_number(cpu, "physical_package_id", &cores[count].package) &&
		    cpu_number(cpu, "core_id", &cores[count].core))
			count++;
	}
	if (count)
		qsort(cores, count, sizeof(*cores), core_order);
	for (size_t i = 0; i < count; i++) {
		packages += !i || cores[i].package != cores[i - 1].package;
		distinct += !i || core_order(&cores[i], &cores[i - 1]);
	}
	if (count) {
		json_object_set_new(object, "sockets", json_integer((json_int_t)packages));
		json_object_set_new(object, "cores", json_integer((json_int_t)distinct));
	}
	free(cores);
}

static json_t *cpus(void)
{
	static const struct pair pairs[] = {
		{"model", "model name"},   {"vendor", "vendor_id"},  {"family", "cpu family"},
		{"model_number", "model"}, {"stepping", "stepping"}, {"microcode", "microcode"},
	};
	static const struct env_line lines[] = {
		{"online", CPU "online", ENV_TEXT},
		{"possible", CPU "possible", ENV_TEXT},
		{"isolated", CPU "isolated", ENV_TEXT},
		{"nohz_full", CPU "nohz_full", ENV_TEXT},
		{"smt", CPU "smt/active", ENV_YES},
		{"smt_control", CPU "smt/control", ENV_TEXT},
	};
	json_t *object = json_object();
	const char *online;
	char text[8192];

	/* The first CPU's paragraph is enough. */
	if (hg_file_read("/proc/cpuinfo", text, sizeof(text)) > 0)
		pairs_set(object, text, ':', pairs, HG_ARRAY_SIZE(pairs));
	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	online = json_string_value(json_object_get(object, "online"));
	if (online)
		json_object_set_new(object, "count", json_integer(env_cpus_count(online)));
	topology_set(object);
	return object;
}

/* One word when all CPUs agree, else each once. */
static void governor_add(char *words, size_t size, const char *word)
{
	size_t used = strlen(words);

	if (!strstr(words, word))
		snprintf(words + used, size - used, used ? " %s" : "%s", word);
}

static json_t *frequency(void)
{
	static const struct env_line lines[] = {
		{"driver", CPU "cpu0/cpufreq/scaling_driver", ENV_TEXT},
		{"min_khz", CPU "cpu0/cpufreq/cpuinfo_min_freq", ENV_NUMBER},
		{"max_khz", CPU "cpu0/cpufreq/cpuinfo_max_freq", ENV_NUMBER},
		{"limit_khz", CPU "cpu0/cpufreq/scaling_max_freq", ENV_NUMBER},
		{"preference", CPU "cpu0/cpufreq/energy_performance_preference", ENV_TEXT},
		{"turbo", CPU "cpufreq/boost", ENV_YES},
		{"turbo", CPU "intel_pstate/no_turbo", ENV_NO},
		{"pstate", CPU "intel_pstate/status", ENV_TEXT},
		{"pstate", CPU "amd_pstate/status", ENV_TEXT},
		{"idle_driver", CPU "cpuidle/current_driver", ENV_TEXT},
		{"idle_governor", CPU "cpuidle/current_governor", ENV_TEXT},
	};
	json_t *object = json_object();
	char path[128], text[64], governors[256] = "";
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	for (long i = 0; i < HG_MIN(configured, ENV_CPUS_MAX); i++) {
		snprintf(path, sizeof(path), CPU "cpu%ld/cpufreq/scaling_governor", i);
		if (!hg_file_line(path, text, sizeof(text)))
			governor_add(governors, sizeof(governors), text);
	}
	env_set_string(object, "governor", governors);
	return object;
}

static json_t *mitigations(void)
{
	static const char folder[] = CPU "vulnerabilities";
	json_t *object = json_object();
	hg_autoclosedir DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[512], text[512];

	while (dir && (entry = readdir(dir)) && json_object_size(object) < 64) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && !hg_file_line(path, text, sizeof(text)))
			env_set_string(object, entry->d_name, text);
	}
	return object;
}

/* --- memory --- */

static void kib_set(json_t *object, const char *text, const char *name, const char *key)
{
	char value[64];

	if (value_find(text, name, ':', value, sizeof(value)))
		json_object_set_new(object, key,
				    json_integer((json_int_t)strtoull(value, NULL, 10) * 1024));
}

static json_t *memory(void)
{
	static const struct env_line lines[] = {
		{"transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled",
		 ENV_CHOSEN},
		{"transparent_hugepages_defrag", "/sys/kernel/mm/transparent_hugepage/defrag",
		 ENV_CHOSEN},
		{"swappiness", "/proc/sys/vm/swappiness", ENV_NUMBER},
	};
	json_t *object = json_object();
	char text[8192];

	if (hg_file_read("/proc/meminfo", text, sizeof(text)) > 0) {
		kib_set(object, text, "MemTotal", "total_bytes");
		kib_set(object, text, "MemAvailable", "available_bytes");
		kib_set(object, text, "SwapTotal", "swap_total_bytes");
		kib_set(object, text, "SwapFree", "swap_free_bytes");
	}
	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	return object;
}

static json_t *hugepages(void)
{
	static const char folder[] = "/sys/kernel/mm/hugepages";
	json_t *array = json_array();
	hg_autoclosedir DIR *dir = opendir(folder);
	struct dirent *entry;
	char total[512], unused[512];
	unsigned long kib;

	while (dir && (entry = readdir(dir)) && json_array_size(array) < 16) {
		struct env_line lines[] = {{"count", total, ENV_NUMBER},
					   {"free", unused, ENV_NUMBER}};
		json_t *pool;

		if (sscanf(entry->d_name, "hugepages-%lukB", &kib) != 1)
			continue;
		snprintf(total, sizeof(total), "%s/%s/nr_hugepages", folder, entry->d_name);
		snprintf(unused, sizeof(unused), "%s/%s/free_hugepages", folder, entry->d_name);
		pool = json_object();
		json_object_set_new(pool, "size_bytes", json_integer((json_int_t)kib * 1024));
		env_set_lines(pool, lines, HG_ARRAY_SIZE(lines));
		json_array_append_new(array, pool);
	}
	return array;
}

static json_t *numa(void)
{
	static const char folder[] = "/sys/devices/system/node";
	json_t *array = json_array();
	char online[256], cpus[128], path[128], text[4096], key[32];

	if (hg_file_line("/sys/devices/system/node/online", online, sizeof(online)))
		return array;
	for (unsigned int node = 0, left = env_cpus_count(online); left && node < 1024; node++) {
		struct env_line lines[] = {{"cpus", cpus, ENV_TEXT}};
		json_t *object;

		snprintf(path, sizeof(path), "%s/node%u/meminfo", folder, node);
		if (hg_file_read(path, text, sizeof(text)) < 0)
			continue;
		left--;
		object = json_object();
		json_object_set_new(object, "node", json_integer(node));
		snprintf(cpus, sizeof(cpus), "%s/node%u/cpulist", folder, node);
		env_set_lines(object, lines, 1);
		snprintf(key, sizeof(key), "Node %u MemTotal", node);
		kib_set(object, text, key, "total_bytes");
		json_array_append_new(array, object);
	}
	return array;
}

/* --- virtualisation --- */

#define CPUID_HYPERVISOR      0x40000000U
#define CPUID_HYPERVISOR_STEP 0x100U
#define CPUID_HYPERVISOR_MAX  0x40001000U

/* True, when leaf 1 says that there is a hypervisor; then its signature of a leaf from 0x40000000 on. */
static bool cpuid_hypervisor(unsigned int leaf, char name[static 13])
{
	name[0] = '\0';
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1U << 31))
		return false;
	__cpuid(leaf, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	name[12] = '\0';
	for (int i = 0; i < 12; i++) {
		if (name[i] && !isprint((unsigned char)name[i]))
			name[i] = '?';
	}
	return true;
#else
	return false;
#endif
}

/* NULL: nobody that is known. */
static const char *hypervisor_known(const char *signature)
{
	static const struct pair known[] = {
		{"KVM", "KVMKVMKVM"},		{"KVM (Hyper-V style)", "Linux KVM Hv"},
		{"VMware", "VMwareVMware"},	{"Hyper-V", "Microsoft Hv"},
		{"Xen", "XenVMMXenVMM"},	{"QEMU without KVM", "TCGTCGTCGTCG"},
		{"bhyve", "bhyve bhyve "},	{"ACRN", "ACRNACRNACRN"},
		{"VirtualBox", "VBoxVBoxVBox"}, {"Jailhouse", "Jailhouse"},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].name, signature))
			return known[i].key;
	}
	return NULL;
}

/*
 * Any hypervisor may show any signature, and some pass for another's: who it is stays what it says of itself. KVM and
 * Xen that pass for Hyper-V show their own one behind it (kvm_cpuid_base, xen_cpuid_base in the kernel).
 */
static void hypervisor_describe(json_t *object, const char *signature)
{
	const char *name = hypervisor_known(signature);
	char other[13], text[64];

	for (unsigned int leaf = CPUID_HYPERVISOR + CPUID_HYPERVISOR_STEP;
	     name && !strcmp(signature, "Microsoft Hv") && leaf < CPUID_HYPERVISOR_MAX;
	     leaf += CPUID_HYPERVISOR_STEP) {
		if (cpuid_hypervisor(leaf, other) && hypervisor_known(other)) {
			name = hypervisor_known(other);
			break;
		}
	}
	if (name)
		snprintf(text, sizeof(text), "%s, as its CPUID signature says", name);
	else
		snprintf(text, sizeof(text), "not known, CPUID signature \"%s\"", signature);
	env_set_string(object, "hypervisor", text);
	env_set_string(object, "hypervisor_signature", signature);
}

static json_t *virtualisation(void)
{
	static const struct env_line lines[] = {
		{"type", "/sys/hypervisor/type", ENV_TEXT},
		{"vendor", "/sys/class/dmi/id/sys_vendor", ENV_TEXT},
		{"product", "/sys/class/dmi/id/product_name", ENV_TEXT},
		{"container", "/run/systemd/container", ENV_TEXT},
		{"kvm_nested", "/sys/module/kvm_intel/parameters/nested", ENV_TEXT},
		{"kvm_nested", "/sys/module/kvm_amd/parameters/nested", ENV_TEXT},
	};
	json_t *object = json_object();
	char signature[13];
	bool virtual = cpuid_hypervisor(CPUID_HYPERVISOR, signature);

	if (virtual)
		hypervisor_describe(object, signature);
	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	json_object_set_new(object, "virtual",
			    json_boolean(virtual || json_object_get(object, "type")));
	return object;
}

/* --- all --- */

static json_t *clocksource(void)
{
	static const struct env_line lines[] = {
		{"current", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		 ENV_TEXT},
		{"available", "/sys/devices/system/clocksource/clocksource0/available_clocksource",
		 ENV_TEXT},
	};
	json_t *object = json_object();

	env_set_lines(object, lines, HG_ARRAY_SIZE(lines));
	return object;
}

json_t *env_host(void)
{
	static const struct {
		const char *key;
		json_t *(*collect)(void);
	} parts[] = {
		{"kernel", kernel},	  {"cpu", cpus},
		{"frequency", frequency}, {"mitigations", mitigations},
		{"memory", memory},	  {"hugepages", hugepages},
		{"numa", numa},		  {"clocksource", clocksource},
		{"scheduler", scheduler}, {"virtualisation", virtualisation},
		{"disks", env_disks},	  {"pressure", env_pressure},
	};
	static const struct pair release[] = {{"distribution", "PRETTY_NAME"}};
	json_t *object = json_object();
	char text[4096], name[256];
	double load[3];

	if (!gethostname(name, sizeof(name) - 1)) {
		name[sizeof(name) - 1] = '\0';
		env_set_string(object, "name", name);
	}
	if (hg_file_read("/etc/os-release", text, sizeof(text)) > 0)
		pairs_set(object, text, '=', release, 1);
	for (size_t i = 0; i < HG_ARRAY_SIZE(parts); i++)
		env_set_new(object, parts[i].key, parts[i].collect());
	if (getloadavg(load, 3) == 3)
		json_object_set_new(object, "load",
				    json_pack("[f,f,f]", load[0], load[1], load[2]));
	return object;
}
