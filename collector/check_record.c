/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording needs, each with the remedy where it is missing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>

#include "base/hg_file.h"
#include "collector/check_private.h"
#include "collector/hg_cgroup.h"
#include "collector/hg_probes.h"
#include "collector/probes_table.h"
#include "collector/session_parts.h"

#define ADD(state, id, remedy, ...) check_add(c, HG_CHECK_RECORD, state, id, remedy, __VA_ARGS__)

/* --- kernel and privileges --- */

static unsigned int kernel_version(void)
{
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

static void kernel_check(struct hg_check *c)
{
	unsigned int version = kernel_version();
	struct utsname u = {0};

	uname(&u);
	if (version >= 5010)
		ADD(HG_CHECK_YES, "kernel", NULL, "%s (5.10 or later is needed)", u.release);
	else
		ADD(HG_CHECK_NO, "kernel", "boot a kernel from 5.10 on", "%s is older than 5.10",
		    u.release);
}

static uint64_t capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool capable(uint64_t have, int cap)
{
	return have >> cap & 1;
}

/* capabilities(7): since 5.8 CAP_BPF and CAP_PERFMON do what took CAP_SYS_ADMIN before. */
static void privileges_check(struct hg_check *c)
{
	static const struct {
		int cap;
		const char *name, *for_what;
	} wanted[] = {
		{CAP_SYS_PTRACE, "cap_sys_ptrace", "what sleeping threads of other users wait in"},
		{CAP_DAC_READ_SEARCH, "cap_dac_read_search", "files of /proc of other users"},
	};
	uint64_t have = capabilities();
	bool admin = capable(have, CAP_SYS_ADMIN);
	char missing[256] = "";

	if (!admin && !(capable(have, CAP_BPF) && capable(have, CAP_PERFMON))) {
		ADD(HG_CHECK_NO, "privileges", "run it as root: sudo hourglass ...",
		    "not root (uid %d), and without cap_bpf and cap_perfmon", (int)geteuid());
		return;
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(wanted); i++) {
		size_t used = strlen(missing);

		if (!capable(have, wanted[i].cap) &&
		    !(wanted[i].cap == CAP_DAC_READ_SEARCH && capable(have, CAP_DAC_OVERRIDE)))
			snprintf(missing + used, sizeof(missing) - used, "%s%s (%s)",
				 used ? ", " : "", wanted[i].name, wanted[i].for_what);
	}
	if (missing[0])
		ADD(HG_CHECK_PARTLY, "privileges", "run it as root", "without %s", missing);
	else
		ADD(HG_CHECK_YES, "privileges", NULL, geteuid() ? "capabilities suffice" : "root");
}

static void btf_check(struct hg_check *c)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	char head[2];

	if (hg_file_read(path, head, sizeof(head)) > 0)
		ADD(HG_CHECK_YES, "btf", NULL, "%s", path);
	else
		ADD(HG_CHECK_NO, "btf",
		    "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (all distribution kernels "
		    "from "
		    "5.10 on), and mount sysfs at /sys",
		    "no BTF: %s cannot be read: %s", path, strerror(errno));
}

/* LOCKDOWN_BPF_READ_KERNEL and LOCKDOWN_TRACEFS lie above integrity: include/linux/security.h. */
static void lockdown_check(struct hg_check *c, json_t *env)
{
	const char *mode = check_string(env, "host", "kernel", "lockdown", NULL);

	if (!strcmp(mode, "confidentiality"))
		ADD(HG_CHECK_NO, "lockdown",
		    "boot with lockdown=integrity or none (often set by Secure Boot)",
		    "kernel lockdown is in mode confidentiality: probes may not read the kernel");
	else
		ADD(HG_CHECK_YES, "lockdown", NULL, "%s",
		    mode[0] ? mode : "none (or not visible: securityfs is not mounted)");
}

static void bpf_check(struct hg_check *c)
{
	char text[64] = "";
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "hg_check", 0, 0, 4096U * 16, NULL);

	if (fd >= 0) {
		close(fd);
		hg_file_line("/proc/sys/net/core/bpf_jit_enable", text, sizeof(text));
		if (!strcmp(text, "0"))
			ADD(HG_CHECK_WARN, "bpf", "sysctl net.core.bpf_jit_enable=1",
			    "bpf() works, but programs are interpreted: probes cost several times "
			    "more");
		else
			ADD(HG_CHECK_YES, "bpf", NULL, "bpf() makes ring buffers");
	} else if (errno == EPERM) {
		ADD(HG_CHECK_NO, "bpf",
		    "run it as root on the host: containers' seccomp filters mostly forbid bpf()",
		    "bpf() is not permitted");
	} else {
		ADD(HG_CHECK_NO, "bpf", "boot a kernel with CONFIG_BPF_SYSCALL=y from 5.10 on",
		    "bpf() makes no ring buffer: %s", strerror(errno));
	}
}

/* --- what adds to it --- */

static void tracefs_check(struct hg_check *c)
{
	static const char *const paths[] = {"/sys/kernel/tracing/events/sched",
					    "/sys/kernel/debug/tracing/events/sched"};

	for (size_t i = 0; i < HG_ARRAY_SIZE(paths); i++) {
		if (!access(paths[i], R_OK | X_OK)) {
			ADD(HG_CHECK_YES, "tracefs", NULL, "%.*s",
			    (int)(strstr(paths[i], "/events") - paths[i]), paths[i]);
			return;
		}
	}
	ADD(HG_CHECK_PARTLY, "tracefs",
	    geteuid() ? "run it as root" : "mount -t tracefs tracefs /sys/kernel/tracing",
	    "no tracefs: probes that need it (-e EVENT) are left out, the usual ones need none");
}

static void counters_check(struct hg_check *c)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1, /* counts for oneself are let through by most settings */
		.disabled = 1,
	};
	hg_autoclose int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		ADD(HG_CHECK_YES, "counters", NULL, "hardware counters work");
	else if (errno == EACCES || errno == EPERM)
		ADD(HG_CHECK_PARTLY, "counters",
		    "run it as root, or sysctl kernel.perf_event_paranoid=1",
		    "hardware counters are not permitted: cause cpu/memory stays unknown");
	else
		ADD(HG_CHECK_PARTLY, "counters",
		    "use bare metal, or a VM with a virtual PMU (QEMU: -cpu host,pmu=on)",
		    "no hardware counters (%s): cause cpu/memory stays unknown", strerror(errno));
}

static void kvm_check(struct hg_check *c)
{
	bool module = !access("/sys/module/kvm", F_OK), device = !access("/dev/kvm", F_OK);

	if (device)
		ADD(HG_CHECK_YES, "kvm", NULL, "/dev/kvm");
	else
		ADD(HG_CHECK_PARTLY, "kvm",
		    module ? "modprobe kvm_intel or kvm_amd; in a VM: switch on nested "
			     "virtualisation"
			   : "needed for VMs as targets only: modprobe kvm_intel or kvm_amd",
		    module ? "KVM is in the kernel, but there is no /dev/kvm"
			   : "no KVM: VMs cannot be recorded, processes can");
}

static void bpf_stats_check(struct hg_check *c)
{
	if (!access("/proc/sys/kernel/bpf_stats_enabled", F_OK))
		ADD(HG_CHECK_YES, "bpf-statistics", NULL, "the probes' own cost can be measured");
	else
		ADD(HG_CHECK_PARTLY, "bpf-statistics",
		    "mount proc at /proc, use a kernel from 5.1 on",
		    "the kernel keeps no BPF run times: the probes' own cost stays unknown");
}

/* Before 5.11 maps count against RLIMIT_MEMLOCK, later against the memory cgroup. */
static void memlock_check(struct hg_check *c)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (kernel_version() >= 5011)
		ADD(HG_CHECK_YES, "memlock", NULL,
		    "not used by this kernel for BPF (5.11 or later)");
	else if (limit.rlim_max == RLIM_INFINITY || capable(capabilities(), CAP_SYS_RESOURCE))
		ADD(HG_CHECK_YES, "memlock", NULL, "RLIMIT_MEMLOCK can be raised");
	else
		ADD(HG_CHECK_NO, "memlock", "ulimit -l unlimited, or run it as root",
		    "RLIMIT_MEMLOCK is %llu KiB: too little for ring buffers on this kernel",
		    (unsigned long long)limit.rlim_max / 1024);
}

static void schedstat_check(struct hg_check *c)
{
	char text[128];

	if (hg_file_read("/proc/thread-self/schedstat", text, sizeof(text)) > 0)
		ADD(HG_CHECK_YES, "schedstat", NULL, "the kernel's own run and run-queue times");
	else
		ADD(HG_CHECK_PARTLY, "schedstat", "use a kernel with CONFIG_SCHED_INFO=y",
		    "no /proc/PID/schedstat: causes of class cpu lack their second proof");
}

static void cgroup_check(struct hg_check *c)
{
	struct hg_cgroup_mounts *m = calloc(1, sizeof(*m));
	struct hg_cgroup_place *place = calloc(1, sizeof(*place));

	if (!m || !place || hg_cgroup_mounts_read(m) || hg_cgroup_place_find(m, 0, 0, place))
		ADD(HG_CHECK_PARTLY, "cgroup",
		    "mount cgroup2 (or cgroup with the cpu controller) below /sys/fs/cgroup",
		    "no cgroup hierarchy with CPU limits: cause cpu/quota stays unknown");
	else
		ADD(HG_CHECK_YES, "cgroup", NULL, "cpu limits by cgroup v%d at %s",
		    place->v2 ? 2 : 1, place->v2 ? m->unified.point : m->cpu.point);
	free(m);
	free(place);
}

static const struct hg_probe_row *probe_row(const char *name)
{
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		if (!strcmp(hg_probe_rows[i].name, name))
			return &hg_probe_rows[i];
	}
	return NULL;
}

static void probe_told(void *arg, const struct hg_probe_status *status)
{
	const struct hg_probe_row *row = probe_row(status->name);
	struct hg_check *c = arg;
	char id[48];

	snprintf(id, sizeof(id), "probe.%s", status->name);
	if (status->attached)
		ADD(HG_CHECK_YES, id, NULL, "%s", row ? row->help : "attached");
	else
		ADD(row && row->essential ? HG_CHECK_NO : HG_CHECK_PARTLY, id,
		    "use a kernel that has it: distribution kernels from 5.15 on have all",
		    "%s%s%s", status->why ? status->why : "cannot be attached", row ? ": " : "",
		    row ? row->without : "");
}

/* Loading is tried only where it can succeed: the items above say better why it cannot. */
static void probes_check(struct hg_check *c)
{
	int r;

	if (!c->possible)
		return;
	r = hg_probes_check(probe_told, c);
	if (r)
		ADD(HG_CHECK_NO, "probes", "see the messages above the table",
		    "the probes cannot be loaded: %s", strerror(-r));
}

static void pid_namespace_check(struct hg_check *c)
{
	if (hg_in_pid_namespace())
		ADD(HG_CHECK_NO, "pid-namespace",
		    "run hourglass on the host, or give the container the host's pids "
		    "(--pid=host); "
		    "all tasks (-a) can be recorded",
		    "a pid namespace of its own: the probes see the host's pids");
	else
		ADD(HG_CHECK_YES, "pid-namespace", NULL, "the host's");
}

void check_record(struct hg_check *c, json_t *env)
{
	kernel_check(c);
	privileges_check(c);
	pid_namespace_check(c);
	btf_check(c);
	lockdown_check(c, env);
	bpf_check(c);
	memlock_check(c);
	probes_check(c);
	bpf_stats_check(c);
	schedstat_check(c);
	cgroup_check(c);
	tracefs_check(c);
	counters_check(c);
	kvm_check(c);
}
