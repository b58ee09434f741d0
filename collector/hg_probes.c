/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_probes.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "collector/probes_internal.h"
#include "hourglass.skel.h"

static void btf_cleanup(struct btf **btf)
{
	btf__free(*btf);
}

static void probes_cleanup(struct hg_probes **p)
{
	hg_probes_close(*p);
}

static size_t power_of_two_below(size_t n)
{
	size_t power = 1;

	while (power <= n / 2)
		power *= 2;
	return power;
}

static size_t ring_bytes_choose(const struct hg_probes_opts *opts, uint32_t n_cpus)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t total = opts->ring_bytes_total ? opts->ring_bytes_total : HG_RING_TOTAL_DEFAULT;

	if (opts->ring_bytes_cpu)
		return HG_MAX(power_of_two_below(opts->ring_bytes_cpu), page);
	return HG_MIN(HG_MAX(power_of_two_below(total / n_cpus), HG_RING_MIN), HG_RING_MAX_DEFAULT);
}

size_t hg_probes_rings_bytes(size_t ring_bytes_cpu)
{
	const struct hg_probes_opts opts = {.ring_bytes_cpu = ring_bytes_cpu};
	int n_cpus = libbpf_num_possible_cpus();
	uint32_t n = n_cpus > 0 ? (uint32_t)n_cpus : 1;

	return HG_RING_AREA_BYTES(ring_bytes_choose(&opts, n)) * n;
}

static int btf_load(struct btf **out)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	struct btf *btf;
	int rc;

	libbpf_set_print(hg_libbpf_print);
	btf = btf__load_vmlinux_btf();
	rc = libbpf_get_error(btf) ? -errno : 0;
	if (!rc) {
		*out = btf;
		return 0;
	}
	/* libbpf looks in several places, and its error is that of the last one. */
	if (access(path, R_OK))
		rc = -errno;
	else if (rc == -ESRCH)
		rc = -EINVAL;
	if (rc == -ENOMEM)
		hg_error("cannot record: no memory for the kernel's BTF (%s)", path);
	else
		hg_error("cannot record: this kernel gives no BTF: %s: %s; use a kernel with "
			 "CONFIG_DEBUG_INFO_BTF, and mount sysfs at /sys",
			 path, strerror(-rc));
	return rc == -EPERM || rc == -EACCES || rc == -ENOMEM ? rc : -ENOTSUP;
}

static struct hg_probes *probes_new(const struct hg_probes_opts *opts)
{
	struct hg_probes *p = calloc(1, sizeof(*p));
	int n_cpus = libbpf_num_possible_cpus();

	if (!p)
		return NULL;
	p->opts = *opts;
	p->stats_fd = -1;
	p->n_cpus = n_cpus > 0 ? (uint32_t)n_cpus : 1;
	if (!p->opts.tasks_max)
		p->opts.tasks_max = HG_TASKS_DEFAULT;
	p->ring_bytes = ring_bytes_choose(opts, p->n_cpus);
	p->area_bytes = HG_RING_AREA_BYTES(p->ring_bytes);
	return p;
}

static int bell_heard(void *arg, void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

void hg_probes_bell_clear(struct hg_probes *p)
{
	ring_buffer__consume(p->bell);
}

static int map_mmap(const struct bpf_map *map, size_t entry_bytes, uint32_t n, size_t *bytes_out,
		    void **out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (entry_bytes * n + page - 1) / page * page;
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (mem == MAP_FAILED)
		return -errno;
	*bytes_out = bytes;
	*out = mem;
	return 0;
}

static int rings_map(struct hg_probes *p)
{
	void *mem;
	int rc = map_mmap(p->skel->maps.hg_cpu_states, sizeof(struct hg_cpu), p->n_cpus,
			  &p->cpus_bytes, &mem);

	if (rc)
		return rc;
	p->cpus = mem;
	rc = map_mmap(p->skel->maps.hg_rings, p->area_bytes, p->n_cpus, &p->areas_bytes, &mem);
	if (rc)
		return rc;
	p->areas = mem;
	rc = map_mmap(p->skel->maps.hg_net, sizeof(struct hg_net_cpu), p->n_cpus, &p->net_bytes,
		      &mem);
	if (rc)
		return rc;
	p->net = mem;
	p->rings = calloc(p->n_cpus, sizeof(*p->rings));
	if (!p->rings)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_cpus; i++) {
		p->rings[i].ring.area = (void *)(p->areas + i * p->area_bytes);
		p->rings[i].ring.size_bytes = p->ring_bytes;
	}
	p->bell = ring_buffer__new(bpf_map__fd(p->skel->maps.hg_bell), bell_heard, NULL, NULL);
	return p->bell ? 0 : -errno;
}

static int essentials_check(const struct hg_probes *p)
{
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];

		if (row->essential && p->status[row->id].why) {
			hg_error("cannot record without probe %s: %s", row->name,
				 p->status[row->id].why);
			return -ENOTSUP;
		}
	}
	return 0;
}

int hg_probes_open(const struct hg_probes_opts *opts, struct hg_probes **out)
{
	__attribute__((cleanup(btf_cleanup))) struct btf *btf = NULL;
	__attribute__((cleanup(probes_cleanup))) struct hg_probes *p = probes_new(opts);
	int rc;

	if (!p)
		return -ENOMEM;
	rc = btf_load(&btf);
	if (rc)
		return rc;
	rc = hg_probes_load(p, btf, 0);
	if (rc == -EPERM || rc == -EACCES) {
		hg_error("cannot load probes: not permitted; run as root (CAP_BPF and "
			 "CAP_PERFMON), with "
			 "kernel lockdown below 'confidentiality'");
		return rc;
	}
	if (essentials_check(p))
		return -ENOTSUP;
	if (!rc)
		rc = rings_map(p);
	if (rc) {
		hg_error("cannot load probes: %s", hg_error_text(rc));
		return rc;
	}
	*out = HG_TAKE_PTR(p);
	return 0;
}

void hg_probes_detach(struct hg_probes *p)
{
	for (size_t i = 0; i < p->n_links; i++)
		bpf_link__destroy(p->links[i]);
	p->n_links = 0;
	hg_probes_sample_detach(p);
	for (size_t i = 0; i < hg_probe_rows_count; i++)
		p->status[hg_probe_rows[i].id].attached = false;
}

void hg_probes_close(struct hg_probes *p)
{
	if (!p)
		return;
	hg_probes_detach(p);
	hg_probes_cost_enable(p, false);
	if (p->cpus)
		munmap(p->cpus, p->cpus_bytes);
	if (p->areas)
		munmap(p->areas, p->areas_bytes);
	if (p->net)
		munmap(p->net, p->net_bytes);
	free(p->rings);
	ring_buffer__free(p->bell);
	hg_hourglass_bpf__destroy(p->skel);
	hg_probe_lanes_free(&p->lanes);
	hg_probes_net_free(p);
	hg_probes_blockdev_free(p);
	hg_stacks_free(&p->stacks);
	hg_probes_spins_free(p);
	hg_symbols_free(p->symbols);
	free(p->definitions);
	free(p);
}

int hg_probes_root_add(struct hg_probes *p, pid_t tgid, uint32_t role, uint32_t target)
{
	struct hg_root root = {.role = (uint8_t)role, .target = (uint8_t)target};
	uint32_t key = (uint32_t)tgid;

	if (target >= HG_MESSAGES_OF_OTHERS)
		return -EINVAL;
	if (role & HG_ROLEF_TARGET)
		p->targets = HG_MAX(p->targets, target + 1);
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.hg_roots), &key, &root, BPF_ANY)) {
		int rc = -errno;

		hg_error("cannot add process %d to the targets: %s", (int)tgid, strerror(-rc));
		return rc;
	}
	return 0;
}

int hg_probes_cgroup_add(struct hg_probes *p, uint32_t hierarchy, uint64_t id, uint32_t role,
			 uint32_t target)
{
	const struct hg_cgroup_key key = {.id = id, .hierarchy = hierarchy};
	const struct hg_root root = {.role = (uint8_t)role, .target = (uint8_t)target};

	if (target >= HG_MESSAGES_OF_OTHERS || !p->opts.cgroups)
		return -EINVAL;
	if (role & HG_ROLEF_TARGET)
		p->targets = HG_MAX(p->targets, target + 1);
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.hg_cgroup_roots), &key, &root, BPF_ANY)) {
		int rc = -errno;

		hg_error("cannot add a cgroup to the targets: %s", strerror(-rc));
		return rc;
	}
	return 0;
}

/*
 * A probe that has seen no switch on a CPU knows nothing of it. So run once on each: that switches.
 * CPUs that we may not use begin with their first switch.
 */
static void cpus_tour(const struct hg_probes *p)
{
	size_t size = CPU_ALLOC_SIZE(p->n_cpus);
	cpu_set_t *home = CPU_ALLOC(p->n_cpus), *one = CPU_ALLOC(p->n_cpus);

	if (home && one && !sched_getaffinity(0, size, home)) {
		for (uint32_t i = 0; i < p->n_cpus; i++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(i, size, one);
			if (!sched_setaffinity(0, size, one))
				sched_yield();
		}
		sched_setaffinity(0, size, home);
	}
	CPU_FREE(home);
	CPU_FREE(one);
}

static int row_attach_fail(struct hg_probes *p, const struct hg_probe_row *row, const char *to,
			   int rc)
{
	snprintf(p->why[row->id], HG_WHY_BYTES, "cannot attach to %s: %s", to, hg_error_text(rc));
	p->status[row->id].why = p->why[row->id];
	return rc;
}

static int row_attach(struct hg_probes *p, const struct hg_probe_row *row)
{
	int rc = 0;

	if (row->id == HG_P_SAMPLE)
		rc = hg_probes_sample_attach(p, p->skel->progs.hg_cpu_sample);
	if (rc)
		return row_attach_fail(p, row, "perf's cpu-clock", rc);
	for (size_t i = 0; i < HG_PROBE_PROGRAMS_MAX && row->programs[i].tracepoint; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->skel->obj, row->programs[i].name);
		struct bpf_link *link = bpf_program__attach(prog);

		if (!link)
			return row_attach_fail(p, row, row->programs[i].tracepoint, -errno);
		p->links[p->n_links++] = link;
	}
	p->status[row->id].attached = true;
	return 0;
}

int hg_probes_attach(struct hg_probes *p)
{
	/* In the order of the table turned around: what tells contexts first, switches last. */
	for (size_t i = hg_probe_rows_count; i-- > 0;) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		int rc;

		if (p->status[row->id].why)
			continue;
		rc = row_attach(p, row);
		if (rc && row->essential) {
			hg_error("cannot record without probe %s: %s", row->name,
				 p->status[row->id].why);
			return rc;
		}
	}
	cpus_tour(p);
	return 0;
}

int hg_probes_fd(const struct hg_probes *p)
{
	return ring_buffer__epoll_fd(p->bell);
}

size_t hg_probes_members(const struct hg_probes *p, uint32_t role)
{
	for (unsigned int bit = 0; bit < HG_ROLE_BITS; bit++) {
		if (role == 1U << bit)
			return p->lanes.members[bit];
	}
	return 0;
}

uint32_t hg_probes_lane_by_tid(const struct hg_probes *p, pid_t tid)
{
	struct hg_probe_lane *lane = hg_probe_lanes_find_tid(&p->lanes, tid);

	return lane ? lane->lane : 0;
}

const struct hg_probe_status *hg_probes_status(const struct hg_probes *p, size_t *n_out)
{
	*n_out = hg_probe_rows_count;
	return &p->status[1];
}

uint64_t hg_probes_lost(const struct hg_probes *p)
{
	return p->lost;
}

size_t hg_probes_ring_bytes_max(const struct hg_probes *p)
{
	size_t max = 0;

	for (uint32_t i = 0; i < p->n_cpus; i++)
		max = HG_MAX(max, p->rings[i].ring.fill_max_bytes);
	return max;
}

int hg_probes_check(void (*fn)(void *arg, const struct hg_probe_status *status), void *arg)
{
	__attribute__((cleanup(btf_cleanup))) struct btf *btf = NULL;
	int rc = btf_load(&btf);

	if (rc)
		return rc;
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		struct hg_probes_opts opts = {.tasks_max = 64,
					      .ring_bytes_cpu = 4096,
					      .packets = true,
					      .sample_hz = 99,
					      .wait_stack_period_ns = 1};
		__attribute__((cleanup(probes_cleanup))) struct hg_probes *p = probes_new(&opts);

		if (!p)
			return -ENOMEM;
		rc = hg_probes_load(p, btf, row->id);
		if (rc && !p->status[row->id].why) {
			snprintf(p->why[row->id], HG_WHY_BYTES, "cannot load: %s", strerror(-rc));
			p->status[row->id].why = p->why[row->id];
		}
		if (!p->status[row->id].why)
			row_attach(p, row);
		fn(arg, &p->status[row->id]);
	}
	return 0;
}
