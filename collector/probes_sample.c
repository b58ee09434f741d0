/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of what runs: a clock of perf on each CPU, which needs no counters of the hardware; where this
 * kernel spins; stacks of the samples that found it there.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "collector/probes_internal.h"

/*
 * Where a CPU spins for a lock. A function that this kernel has inlined, or has not, is left out. Spinlocks of
 * BPF maps (resilient_...) are those of programs like ours.
 */
static const char *const spin_functions[] = {
	"native_queued_spin_lock_slowpath",
	"__pv_queued_spin_lock_slowpath",
	"queued_spin_lock_slowpath",
	"queued_read_lock_slowpath",
	"queued_write_lock_slowpath",
	"osq_lock",
	"mutex_spin_on_owner",
	"rwsem_spin_on_owner",
};
_Static_assert(HG_ARRAY_SIZE(spin_functions) <= HG_SPIN_RANGES, "a range each");

int hg_probes_sample_prepare(struct hg_probes *p, char *why, size_t size)
{
	uint64_t begin[HG_SPIN_RANGES], end[HG_SPIN_RANGES];
	int rc = 0;

	if (!p->symbols)
		rc = hg_symbols_load(&p->symbols);
	if (rc) {
		snprintf(why, size,
			 "cannot read where the kernel's functions are "
			 "(/proc/kallsyms; kernel.kptr_restrict): %s",
			 hg_error_text(rc));
		return rc;
	}
	hg_probes_sample_ranges(p, begin, end);
	if (!end[0]) {
		snprintf(why, size, "this kernel names none of the functions in which it spins");
		return -ENOENT;
	}
	return 0;
}

void hg_probes_sample_ranges(const struct hg_probes *p, uint64_t begin[HG_SPIN_RANGES],
			     uint64_t end[HG_SPIN_RANGES])
{
	size_t n = 0;

	memset(begin, 0, HG_SPIN_RANGES * sizeof(*begin));
	memset(end, 0, HG_SPIN_RANGES * sizeof(*end));
	for (size_t i = 0; p->symbols && i < HG_ARRAY_SIZE(spin_functions); i++) {
		if (!hg_symbols_range(p->symbols, spin_functions[i], &begin[n], &end[n]))
			n++;
	}
}

/* -ENODEV: the CPU is offline. */
static int clock_attach(struct hg_probes *p, struct bpf_program *prog, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = HG_NSEC_PER_SEC / HG_MIN(p->opts.sample_hz, HG_SAMPLE_HZ_MAX),
	};
	hg_autoclose int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	p->sample_links[cpu] = bpf_program__attach_perf_event(prog, fd);
	if (!p->sample_links[cpu])
		return -errno;
	HG_TAKE_FD(fd); /* the link's now */
	return 0;
}

int hg_probes_sample_attach(struct hg_probes *p, struct bpf_program *prog)
{
	int attached = 0, rc = 0;

	p->sample_links = calloc(p->n_cpus, sizeof(struct bpf_link *));
	if (!p->sample_links)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < p->n_cpus && (!rc || rc == -ENODEV); cpu++) {
		rc = clock_attach(p, prog, cpu);
		attached += !rc;
	}
	if (attached && (!rc || rc == -ENODEV))
		return 0;
	hg_probes_sample_detach(p);
	return rc;
}

void hg_probes_sample_detach(struct hg_probes *p)
{
	for (uint32_t cpu = 0; cpu < p->n_cpus && p->sample_links; cpu++)
		bpf_link__destroy(p->sample_links[cpu]);
	free(HG_TAKE_PTR(p->sample_links));
}

int hg_probes_sample_stack(struct hg_probes *p, struct hg_writer *w,
			   const struct hg_ev_sample_stack *ev, uint32_t *id_out)
{
	struct hg_record rec = {.time_ns = ev->sample.time_ns, .kind = HG_KIND_STACK};
	char text[HG_STACK_DEPTH * 64];
	uint64_t ips[HG_STACK_DEPTH];
	uint32_t name;
	bool is_new;
	int rc;

	memcpy(ips, ev->ips, sizeof(ips));
	/* Where in the loop it spins makes no difference. */
	if (hg_symbols_ip(p->symbols, ips[0]))
		ips[0] = hg_symbols_ip(p->symbols, ips[0]);
	*id_out = hg_stacks_id(&p->stacks, ips, &is_new);
	if (!is_new)
		return 0;
	hg_stack_text(p->symbols, ips, text, sizeof(text));
	rc = hg_writer_string(w, text, strlen(text), &name);
	if (rc)
		return rc;
	rec.f[HG_STACK_ID] = *id_out;
	rec.f[HG_STACK_FRAMES] = name;
	return hg_probes_definition_add(p, &rec);
}
