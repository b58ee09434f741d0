/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Totals per CPU, read from the kernel's memory; own cost of each probe; names of probes.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "collector/probes_internal.h"
#include "hourglass.skel.h"

#define TOTALS_TRIES 100

/* A whole set: the same switch count before and after. */
static struct hg_cpu cpu_read(const struct hg_cpu *c)
{
	struct hg_cpu copy;

	for (int i = 0; i < TOTALS_TRIES; i++) {
		uint64_t switches = __atomic_load_n(&c->switches, __ATOMIC_ACQUIRE);

		copy = *c;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->switches, __ATOMIC_ACQUIRE) == switches)
			break;
	}
	return copy;
}

int hg_probes_cpu_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns)
{
	for (uint32_t i = 0; i < p->n_cpus; i++) {
		struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_CPU_BUSY};
		struct hg_cpu c = cpu_read(&p->cpus[i]);
		int rc;

		if (!c.since_ns) /* not online, or not ours to run on and no switch so far */
			continue;
		/* What runs since the last switch counts up to now. */
		if (now_ns > c.since_ns && c.cur_idle)
			c.idle_ns += now_ns - c.since_ns;
		else if (now_ns > c.since_ns)
			c.busy_ns += now_ns - c.since_ns;
		/* An interrupt of the idle task is work, as in /proc/stat. */
		c.idle_irq_ns = HG_MIN(c.idle_irq_ns, c.idle_ns);
		rec.f[HG_CPU_BUSY_CPU] = i;
		rec.f[HG_CPU_BUSY_BUSY] = c.busy_ns + c.idle_irq_ns;
		rec.f[HG_CPU_BUSY_IDLE] = c.idle_ns - c.idle_irq_ns;
		rec.f[HG_CPU_BUSY_SOFTIRQ] = c.softirq_ns;
		rec.f[HG_CPU_BUSY_IRQ] = c.irq_ns;
		rec.f[HG_CPU_BUSY_SWITCHES] = c.switches;
		rc = hg_writer_record(w, 0, HG_STREAM_SAMPLER, &rec);
		if (rc)
			return rc;
	}
	return 0;
}

int hg_probes_cost_enable(struct hg_probes *p, bool on)
{
	if (on && p->stats_fd < 0) {
		int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

		if (fd < 0)
			return -errno;
		p->stats_fd = fd;
	} else if (!on && p->stats_fd >= 0) {
		close(p->stats_fd);
		p->stats_fd = -1;
	}
	return 0;
}

static int row_cost(const struct hg_probes *p, const struct hg_probe_row *row, uint64_t *runs,
		    uint64_t *ns)
{
	for (size_t i = 0; i < HG_PROBE_PROGRAMS_MAX && row->programs[i].name; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->skel->obj, row->programs[i].name);
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
			return -errno;
		*runs += info.run_cnt;
		*ns += info.run_time_ns;
	}
	return 0;
}

int hg_probes_cost_write(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns, bool measured)
{
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_row *row = &hg_probe_rows[i];
		struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_PROBE_COST};
		uint64_t runs = 0, ns = 0;
		int rc;

		if (!p->status[row->id].attached ||
		    !(row->programs[0].tracepoint || row->id == HG_P_SAMPLE))
			continue;
		rc = row_cost(p, row, &runs, &ns);
		if (rc)
			return rc;
		/* The kernel counts runs only while statistics are on (bpf_prog_run, bpf_stats_enabled_key). */
		rec.f[HG_PROBE_COST_ID] = row->id;
		rec.f[HG_PROBE_COST_MEASURED] = measured;
		rec.f[HG_PROBE_COST_RUNS] = runs;
		rec.f[HG_PROBE_COST_NS] = ns;
		rc = hg_writer_record(w, 0, HG_STREAM_SAMPLER, &rec);
		if (rc)
			return rc;
	}
	return 0;
}

uint64_t hg_probes_cost_ns(const struct hg_probes *p)
{
	uint64_t runs = 0, ns = 0;

	for (size_t i = 0; i < hg_probe_rows_count; i++)
		row_cost(p, &hg_probe_rows[i], &runs, &ns);
	return ns;
}

int hg_probes_describe(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns)
{
	for (size_t i = 0; i < hg_probe_rows_count; i++) {
		const struct hg_probe_status *status = &p->status[hg_probe_rows[i].id];
		struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_PROBE};
		uint32_t name, why = 0;
		int rc;

		if (status->unasked)
			continue;
		rc = hg_writer_string(w, status->name, strlen(status->name), &name);

		if (!rc && status->why)
			rc = hg_writer_string(w, status->why, strlen(status->why), &why);
		if (rc)
			return rc;
		rec.f[HG_PROBE_ID] = hg_probe_rows[i].id;
		rec.f[HG_PROBE_NAME] = name;
		rec.f[HG_PROBE_ATTACHED] = status->attached;
		rec.f[HG_PROBE_WHY] = why;
		rc = hg_writer_record(w, 0, HG_STREAM_CONTROL, &rec);
		if (rc)
			return rc;
	}
	return 0;
}
