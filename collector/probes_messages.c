/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of messages per target, summed over CPUs. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "collector/probes_internal.h"
#include "hourglass.skel.h"

static int slot_write(const struct hg_probes *p, struct hg_writer *w, uint64_t now_ns,
		      uint32_t slot, struct hg_messages *of_cpus)
{
	struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_MESSAGES};

	if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.hg_message_totals), &slot, of_cpus))
		return -errno;
	rec.f[HG_MESSAGES_TARGET] = slot;
	for (uint32_t i = 0; i < p->n_cpus; i++) {
		rec.f[HG_MESSAGES_RECEIVED] += of_cpus[i].received;
		rec.f[HG_MESSAGES_RECEIVED_BYTES] += of_cpus[i].received_bytes;
		rec.f[HG_MESSAGES_SENT] += of_cpus[i].sent;
		rec.f[HG_MESSAGES_SENT_BYTES] += of_cpus[i].sent_bytes;
	}
	return hg_writer_record(w, 0, HG_STREAM_SAMPLER, &rec);
}

int hg_probes_message_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns)
{
	hg_autofree struct hg_messages *of_cpus = NULL;
	int rc = 0;

	if (!p->status[HG_P_MESSAGE].attached)
		return 0;
	of_cpus = calloc(p->n_cpus, sizeof(*of_cpus));
	if (!of_cpus)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < p->targets && !rc; slot++)
		rc = slot_write(p, w, now_ns, slot, of_cpus);
	if (!rc && p->opts.all)
		rc = slot_write(p, w, now_ns, HG_MESSAGES_OF_OTHERS, of_cpus);
	return rc;
}
