/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the BPF object with every probe that this kernel takes. What the kernel lacks is known from its
 * BTF before loading; what its verifier refuses, by loading each row alone after a failure.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "collector/probes_internal.h"
#include "hourglass.skel.h"
#include "trace/hg_kinds.h"

int hg_libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[2048];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	hg_debug("libbpf: %s", line);
	return 0;
}

static void row_leave_out(struct hg_probes *p, const struct hg_probe_row *row, const char *why)
{
	snprintf(p->why[row->id], HG_WHY_BYTES, "%s", why);
	p->status[row->id].why = p->why[row->id];
}

static bool tracepoint_exists(const struct btf *btf, const char *name)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

/* Says why the kernel lacks a row; 0 if it has it. */
static int row_missing(const struct btf *btf, const struct hg_probe_row *row, char *why,
		       size_t size)
{
	for (size_t i = 0; i < HG_PROBE_PROGRAMS_MAX && row->programs[i].name; i++) {
		const char *tracepoint = row->programs[i].tracepoint;

		if (tracepoint && !tracepoint_exists(btf, tracepoint)) {
			snprintf(why, size, "this kernel has no tracepoint %s", tracepoint);
			return -ENOENT;
		}
	}
	if (row->id == HG_P_SEED &&
	    btf__find_by_name_kind(btf, "bpf_iter_task", BTF_KIND_FUNC) <= 0) {
		snprintf(why, size, "this kernel cannot iterate over tasks (BPF_TRACE_ITER)");
		return -ENOENT;
	}
	if (row->id == HG_P_PROMOTE &&
	    libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1) {
		snprintf(why, size, "this kernel has no BPF_PROG_TYPE_SYSCALL (since 5.14)");
		return -ENOENT;
	}
	return 0;
}

/* Arguments of a raw tracepoint, its first, (void *), among them; 0 if there is none. */
static unsigned int tracepoint_args(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *t;

	if (id < 0)
		return 0;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

/* sched_switch passes prev_state as its last argument since 5.18: (void *, preempt, prev, next, prev_state). */
static bool switch_has_state(const struct btf *btf)
{
	return tracepoint_args(btf, "btf_trace_sched_switch") == 5;
}

/* block_rq_issue passes the queue before the request until 5.11: (void *, q, rq). */
static bool block_has_queue(const struct btf *btf)
{
	return tracepoint_args(btf, "btf_trace_block_rq_issue") == 3;
}

static void samples_set(const struct hg_probes *p, struct hg_hourglass_bpf *skel)
{
	uint64_t begin[HG_SPIN_RANGES], end[HG_SPIN_RANGES];

	hg_probes_sample_ranges(p, begin, end);
	for (size_t i = 0; i < HG_SPIN_RANGES; i++) {
		skel->rodata->hg_spin_begin_ip[i] = begin[i];
		skel->rodata->hg_spin_end_ip[i] = end[i];
	}
	if (!p->status[HG_P_WAIT_STACK].why)
		skel->rodata->hg_wait_stack_period_ns = p->opts.wait_stack_period_ns;
	if (p->opts.sample_hz)
		skel->rodata->hg_sample_period_ns =
			(uint32_t)(HG_NSEC_PER_SEC / HG_MIN(p->opts.sample_hz, HG_SAMPLE_HZ_MAX));
}

static struct hg_hourglass_bpf *object_open(struct hg_probes *p, const struct btf *btf)
{
	struct hg_hourglass_bpf *skel = hg_hourglass_bpf__open();

	if (!skel)
		return NULL;
	skel->rodata->hg_all = p->opts.all;
	skel->rodata->hg_cgroups = p->opts.cgroups;
	skel->rodata->hg_switch_has_state = switch_has_state(btf);
	skel->rodata->hg_block_has_queue = block_has_queue(btf);
	samples_set(p, skel);
	skel->rodata->hg_idle_words_used = HG_MIN((p->n_cpus + 63) / 64, HG_IDLE_WORDS);
	skel->rodata->hg_drop_one_in = p->opts.drop_one_in;
	skel->rodata->hg_ring_bytes = p->ring_bytes;
	bpf_map__set_max_entries(skel->maps.hg_tasks, p->opts.tasks_max);
	bpf_map__set_max_entries(skel->maps.hg_lanes, p->opts.tasks_max);
	bpf_map__set_max_entries(skel->maps.hg_cpu_states, p->n_cpus);
	bpf_map__set_max_entries(skel->maps.hg_rings, p->n_cpus);
	bpf_map__set_max_entries(skel->maps.hg_net, p->n_cpus);
	bpf_map__set_value_size(skel->maps.hg_rings, (uint32_t)p->area_bytes);
	return skel;
}

static bool row_wanted(const struct hg_probe_row *row, int only)
{
	return !only || row->id == (enum hg_probe_id)only;
}

/* One try with the rows that have no reason against them (or only one of those). */
static int object_load(struct hg_probes *p, const struct btf *btf, int only)
{
	struct hg_hourglass_bpf *skel = object_open(p, btf);
	int rc;

	if (!skel)
		return -errno;
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		bool take = !p->status[row->id].why && row_wanted(row, only);

		for (size_t j = 0; j < HG_PROBE_PROGRAMS_MAX && row->programs[j].name; j++)
			bpf_program__set_autoload(
				bpf_object__find_program_by_name(skel->obj, row->programs[j].name),
				take);
	}
	rc = hg_hourglass_bpf__load(skel);
	if (rc) {
		hg_hourglass_bpf__destroy(skel);
		return rc;
	}
	p->skel = skel;
	return 0;
}

/* Which rows does the verifier refuse? Each is tried alone; those are left out. Number of them. */
static int rows_refused(struct hg_probes *p, const struct btf *btf)
{
	int refused = 0;

	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		char why[HG_WHY_BYTES];
		int rc;

		if (p->status[row->id].why)
			continue;
		rc = object_load(p, btf, row->id);
		if (!rc) {
			hg_hourglass_bpf__destroy(p->skel);
			p->skel = NULL;
			continue;
		}
		snprintf(why, sizeof(why), "this kernel refuses it: %s", strerror(-rc));
		row_leave_out(p, row, why);
		refused++;
	}
	return refused;
}

/* Not the probes' fault: files, processes or memory ran out. */
static bool is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EAGAIN;
}

/* What the options do without; why not. */
static bool row_unasked(const struct hg_probes *p, const struct hg_probe_row *row, char *why,
			size_t size)
{
	if (row->id == HG_P_SAMPLE && !p->opts.sample_hz)
		snprintf(why, size, "no samples are asked for");
	else if (row->id == HG_P_WAIT_STACK && !p->opts.wait_stack_period_ns)
		snprintf(why, size, "no stacks are asked for");
	else if (row->id == HG_P_NETDEV && !p->opts.packets)
		snprintf(why, size,
			 "packets are counted with -a only; the kernel's own counters are read");
	else if (row->id == HG_P_NAPI && !p->opts.packets)
		snprintf(why, size, "polls are counted with -a only; their softirqs are recorded");
	else if (row->id == HG_P_MESSAGE && !p->opts.messages)
		snprintf(why, size, "the client's output tells the throughput");
	else
		return false;
	return true;
}

/* What a row needs beside its programs; 0, or why it cannot have it. */
static int row_prepare(struct hg_probes *p, const struct hg_probe_row *row, char *why, size_t size)
{
	switch (row->id) {
	case HG_P_SAMPLE:
		return hg_probes_sample_prepare(p, why, size);
	case HG_P_WAIT_STACK:
		return hg_probes_symbols_prepare(p, why, size);
	default:
		return 0;
	}
}

int hg_probes_load(struct hg_probes *p, const struct btf *btf, int only)
{
	int rc;

	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		char why[HG_WHY_BYTES];

		p->status[row->id].name = row->name;
		p->status[row->id].unasked = row_unasked(p, row, why, sizeof(why));
		if (p->status[row->id].unasked || row_missing(btf, row, why, sizeof(why)) ||
		    (row_wanted(row, only) && row_prepare(p, row, why, sizeof(why))))
			row_leave_out(p, row, why);
	}
	rc = object_load(p, btf, only);
	if (rc && !is_shortage(rc) && rc != -EPERM && !only && rows_refused(p, btf))
		rc = object_load(p, btf, only);
	return rc;
}
