/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the samplers saw of block devices and of pressure. */
#include <errno.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"

static int disk_get(struct hg_model *m, uint64_t dev, struct hg_disk **out)
{
	struct hg_disks *d = &m->disks;
	struct hg_disk *disks;

	*out = NULL;
	for (size_t i = 0; i < d->disks_count; i++) {
		if (d->disks[i].dev == dev) {
			*out = &d->disks[i];
			return 0;
		}
	}
	if (d->disks_count >= HG_DISKS_MAX)
		return 0;
	disks = realloc(d->disks, (d->disks_count + 1) * sizeof(*disks));
	if (!disks)
		return -ENOMEM;
	d->disks = disks;
	*out = &disks[d->disks_count++];
	**out = (struct hg_disk){.dev = dev};
	return 0;
}

static int on_disk(struct hg_model *m, const struct hg_record *rec)
{
	const uint64_t *f = rec->f;
	struct hg_disk *d;
	int rc = disk_get(m, f[HG_DISK_DEV], &d);

	if (rc || !d)
		return rc;
	d->name = hg_model_string(m, f[HG_DISK_NAME]);

	const struct {
		struct hg_series *series;
		uint64_t a, b;
	} add[] = {
		{&d->requests, f[HG_DISK_READS], f[HG_DISK_WRITES]},
		{&d->bytes, f[HG_DISK_READ_BYTES], f[HG_DISK_WRITE_BYTES]},
		{&d->time_ns, f[HG_DISK_READ_NS], f[HG_DISK_WRITE_NS]},
		{&d->busy, f[HG_DISK_IO_NS], f[HG_DISK_QUEUE_NS]},
		{&d->in_flight, f[HG_DISK_IN_FLIGHT], 0},
		{&d->flushes, f[HG_DISK_FLUSHES], f[HG_DISK_FLUSH_NS]},
		{&d->discards, f[HG_DISK_DISCARDS], f[HG_DISK_DISCARD_BYTES]},
		{&d->merged, f[HG_DISK_READS_MERGED], f[HG_DISK_WRITES_MERGED]},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(add) && !rc; i++)
		rc = hg_series_add(m, add[i].series, rec->time_ns, add[i].a, add[i].b);
	return rc;
}

static int psi_get(struct hg_model *m, const char *scope, uint64_t resource, struct hg_psi **out)
{
	struct hg_disks *d = &m->disks;
	struct hg_psi *psi;

	*out = NULL;
	for (size_t i = 0; i < d->psi_count; i++) {
		if (d->psi[i].resource == resource && !strcmp(d->psi[i].scope, scope)) {
			*out = &d->psi[i];
			return 0;
		}
	}
	if (d->psi_count >= HG_PSI_MAX || resource >= HG_PSI_RESOURCES)
		return 0;
	psi = realloc(d->psi, (d->psi_count + 1) * sizeof(*psi));
	if (!psi)
		return -ENOMEM;
	d->psi = psi;
	*out = &psi[d->psi_count++];
	**out = (struct hg_psi){
		.scope = scope, .resource = (enum hg_psi_resource)resource, .why = ""};
	return 0;
}

static int on_psi(struct hg_model *m, const struct hg_record *rec)
{
	const uint64_t *f = rec->f;
	struct hg_psi *p;
	int rc = psi_get(m, hg_model_string(m, f[HG_PSI_SCOPE]), f[HG_PSI_RESOURCE], &p);

	if (rc || !p)
		return rc;
	p->why = hg_model_string(m, f[HG_PSI_WHY]);
	if (f[HG_PSI_WHY])
		return 0;
	return hg_series_add(m, &p->stall, rec->time_ns, f[HG_PSI_SOME_NS], f[HG_PSI_FULL_NS]);
}

int hg_disks_sample(struct hg_model *m, const struct hg_record *rec)
{
	return rec->kind == HG_KIND_DISK ? on_disk(m, rec) : on_psi(m, rec);
}

void hg_disks_free(struct hg_model *m)
{
	struct hg_disks *d = &m->disks;

	for (size_t i = 0; i < d->disks_count; i++) {
		struct hg_disk *k = &d->disks[i];
		struct hg_series *all[] = {&k->requests,  &k->bytes,   &k->time_ns,  &k->busy,
					   &k->in_flight, &k->flushes, &k->discards, &k->merged};

		for (size_t s = 0; s < HG_ARRAY_SIZE(all); s++)
			free(all[s]->v);
	}
	for (size_t i = 0; i < d->psi_count; i++)
		free(d->psi[i].stall.v);
	free(d->disks);
	free(d->psi);
}

size_t hg_model_disks(const struct hg_model *m, const struct hg_disk **out)
{
	*out = m->disks.disks;
	return m->disks.disks_count;
}

size_t hg_model_psi(const struct hg_model *m, const struct hg_psi **out)
{
	*out = m->disks.psi;
	return m->disks.psi_count;
}
