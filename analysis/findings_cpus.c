/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each CPU did, and what of it was for interrupts. */
#include <errno.h>
#include <math.h>

#include "analysis/hg_findings.h"
#include "base/hg_base.h"

static double share(const struct hg_series *s, uint64_t from_ns, uint64_t to_ns, bool second)
{
	uint64_t a, b, span;

	if (!hg_series_delta(s, from_ns, to_ns, &a, &b, &span) || !span)
		return NAN;
	return fmin(1, (double)(second ? b : a) / (double)span);
}

static void softnet_fill(struct hg_cpu_row *row, const struct hg_softnet *s, uint64_t from_ns,
			 uint64_t to_ns)
{
	uint64_t packets, span;

	if (!hg_series_delta(&s->packets, from_ns, to_ns, &packets, &row->squeezed, &span) || !span)
		return;
	row->packets_per_s = (double)packets * 1e9 / (double)span;
	hg_series_delta(&s->drops, from_ns, to_ns, &row->dropped, NULL, NULL);
}

int hg_findings_cpus(struct hg_findings *f, const struct hg_model *m)
{
	uint64_t from_ns = hg_model_from_ns(m), to_ns = hg_model_to_ns(m);
	const struct hg_softnet *softnet;
	const struct hg_cpu *cpus;
	size_t count = hg_model_cpus(m, &cpus), softnet_count = hg_model_softnet(m, &softnet);

	f->cpus = hg_arena_array(f->arena, count + 1, sizeof(*f->cpus));
	if (!f->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct hg_cpu *c = &cpus[i];
		struct hg_cpu_row row = {
			.cpu = (unsigned int)i,
			.busy = share(&c->proc_stat, from_ns, to_ns, false),
			.softirq = share(&c->probe_softirq, from_ns, to_ns, false),
			.irq = share(&c->probe_softirq, from_ns, to_ns, true),
			.softirq_ticks = share(&c->proc_softirq, from_ns, to_ns, false),
			.packets_per_s = NAN,
		};

		if (isnan(row.busy) && isnan(row.softirq))
			continue;
		if (i < softnet_count)
			softnet_fill(&row, &softnet[i], from_ns, to_ns);
		f->cpus[f->cpus_count++] = row;
	}
	return 0;
}
