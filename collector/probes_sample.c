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

int hg_probes_symbols_prepare(struct hg_probes *p, char *why, size_t size)
{
	int rc = p->symbols ? 0 : hg_symbols_load(&p->symbols);

	if (rc)
		snprintf(why, size,
			 "cannot read where the kernel's functions are "
			 "(/proc/kallsyms; kernel.kptr_restrict): %s",
			 hg_error_text(rc));
	return rc;
}

int hg_probes_sample_prepare(struct hg_probes *p, char *why, size_t size)
{
	uint64_t begin[HG_SPIN_RANGES], end[HG_SPIN_RANGES];
	int rc = hg_probes_symbols_prepare(p, why, size);

	if (rc)
		return rc;
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

/* ips as the file has them. */
static int stack_define(struct hg_probes *p, struct hg_writer *w, uint64_t time_ns,
			const uint64_t ips[HG_STACK_DEPTH], uint32_t *id_out)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_STACK};
	char text[HG_STACK_DEPTH * 64];
	uint32_t name;
	bool is_new;
	int rc;

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

int hg_probes_sample_stack(struct hg_probes *p, struct hg_writer *w,
			   const struct hg_ev_sample_stack *ev, uint32_t *id_out)
{
	uint64_t ips[HG_STACK_DEPTH];

	memcpy(ips, ev->ips, sizeof(ips));
	/* Where in the loop it spins makes no difference. */
	if (hg_symbols_ip(p->symbols, ips[0]))
		ips[0] = hg_symbols_ip(p->symbols, ips[0]);
	return stack_define(p, w, ev->sample.time_ns, ips, id_out);
}

/* What every wait has. */
static bool is_scheduler(const char *name)
{
	static const char *const names[] = {
		"__schedule",
		"schedule",
		"schedule_timeout",
		"schedule_preempt_disabled",
		"io_schedule",
		"io_schedule_timeout",
		"schedule_hrtimeout_range",
		"schedule_hrtimeout_range_clock",
	};

	for (size_t i = 0; name && i < HG_ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* Where the stack begins that is the wait's own: above the probe's and the scheduler's functions. */
static size_t wait_stack_first(const struct hg_probes *p, const uint64_t ips[HG_WAIT_STACK_DEPTH])
{
	size_t i = 0;

	while (i < HG_WAIT_STACK_DEPTH && ips[i] &&
	       !is_scheduler(hg_symbols_name(p->symbols, ips[i] - 1)))
		i++;
	while (i < HG_WAIT_STACK_DEPTH && ips[i] &&
	       is_scheduler(hg_symbols_name(p->symbols, ips[i] - 1)))
		i++;
	return i;
}

int hg_probes_wait_stack(struct hg_probes *p, struct hg_writer *w,
			 const struct hg_ev_wait_stack *ev, uint32_t *id_out)
{
	uint64_t ips[HG_STACK_DEPTH] = {0};
	size_t first = wait_stack_first(p, ev->ips);

	*id_out = 0;
	for (size_t i = 0; i < HG_STACK_DEPTH && first + i < HG_WAIT_STACK_DEPTH; i++)
		ips[i] = ev->ips[first + i];
	return ips[0] ? stack_define(p, w, ev->time_ns, ips, id_out) : 0;
}
