/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second reader of RECORDS payloads, written from hourglass-trace(5) alone: slow, plain, and
 * without a line of trace/. What it says is what the bytes say.
 */
#ifndef HG_TRACE_ORACLE_H
#define HG_TRACE_ORACLE_H

#include "tests/trace/hg_trace_samples.h"

struct oracle_kind {
	uint16_t kind;
	uint32_t count, used;
	unsigned int nfields;
	uint8_t encoding[256], planes[256];
	const uint8_t *at[256];
	uint64_t last[256];
};

static inline uint64_t oracle_value(const uint8_t *at, unsigned int planes, uint32_t count,
				    uint32_t i)
{
	uint64_t v = 0;

	for (unsigned int k = 0; k < planes; k++)
		v += (uint64_t)at[(size_t)k * count + i] << (8 * k);
	return v;
}

/* Known kinds and known fields in a known encoding; others are skipped, as the page says. */
static inline bool oracle_describe(struct oracle_kind *kinds, unsigned int nkinds,
				   const uint8_t **p, const uint8_t *end)
{
	for (unsigned int k = 0; k < nkinds; k++) {
		const struct hg_kind_desc *desc;

		if (end - *p < 7)
			return false;
		kinds[k].kind = (uint16_t)((*p)[0] | (*p)[1] << 8);
		kinds[k].count = (*p)[2] | (uint32_t)(*p)[3] << 8 | (uint32_t)(*p)[4] << 16 |
				 (uint32_t)(*p)[5] << 24;
		kinds[k].nfields = (*p)[6];
		desc = hg_kind_find(kinds[k].kind);
		*p += 7;
		if (!kinds[k].count || kinds[k].nfields > 64 ||
		    end - *p < 2 * (ptrdiff_t)kinds[k].nfields)
			return false;
		for (unsigned int f = 0; f < kinds[k].nfields; f++, *p += 2) {
			kinds[k].encoding[f] = (*p)[0];
			kinds[k].planes[f] = (*p)[1];
			if ((*p)[1] > 8 || (desc && f < desc->nfields && (*p)[0] > 2))
				return false;
		}
		for (unsigned int other = 0; other < k; other++) {
			if (kinds[other].kind == kinds[k].kind)
				return false;
		}
	}
	return true;
}

static inline void oracle_record(struct oracle_kind *k, uint64_t *next, struct hg_record *rec)
{
	const struct hg_kind_desc *desc = hg_kind_find(k->kind);

	rec->kind = k->kind;
	for (unsigned int f = 0; f < k->nfields && f < desc->nfields; f++) {
		uint64_t v = oracle_value(k->at[f], k->planes[f], k->count, k->used);

		if (k->encoding[f] == 1) {
			v = k->last[f] + ((v & 1) ? ~(v / 2) : v / 2);
			k->last[f] = v;
		} else if (k->encoding[f] == 2) {
			v ^= *next;
		}
		rec->f[f] = v;
	}
	if (k->kind == HG_KIND_SWITCH || k->kind == HG_KIND_SWITCH_BLOCK)
		*next = rec->f[1];
}

/* False: the payload is not as the page says. Else all records of known kinds are added. */
static inline bool oracle_decode(const uint8_t *raw, size_t size, const struct hg_chunk_header *h,
				 struct sample_list *out)
{
	static struct oracle_kind kinds[256];
	const uint8_t *p = raw + 2, *end = raw + size, *column, *times;
	uint64_t time = h->first_ns, next = 0;
	size_t before = out->n;

	memset(kinds, 0, sizeof(kinds));
	if (size < 2 || raw[1] > 8 || !oracle_describe(kinds, raw[0], &p, end))
		return false;
	column = p;
	if (end - p < (ptrdiff_t)h->records * (1 + raw[1]))
		return false;
	times = p + h->records;
	p = times + (size_t)h->records * raw[1];
	for (unsigned int k = 0; k < raw[0]; k++) {
		for (unsigned int f = 0; f < kinds[k].nfields; f++) {
			kinds[k].at[f] = p;
			if ((uint64_t)(end - p) < (uint64_t)kinds[k].planes[f] * kinds[k].count)
				return false;
			p += (size_t)kinds[k].planes[f] * kinds[k].count;
		}
	}
	if (p != end)
		return false;
	for (uint32_t i = 0; i < h->records; i++) {
		uint64_t delta = oracle_value(times, raw[1], h->records, i);
		struct hg_record rec = {.machine = h->machine, .stream = h->stream};
		struct oracle_kind *k = &kinds[column[i]];

		if (column[i] >= raw[0] || k->used == k->count || (!i && delta) ||
		    time + delta < time || time + delta > h->last_ns)
			goto wrong;
		time += delta;
		rec.time_ns = time;
		if (hg_kind_find(k->kind)) {
			oracle_record(k, &next, &rec);
			sample_list_add(out, &rec);
		}
		k->used++;
	}
	for (unsigned int k = 0; k < raw[0]; k++) {
		if (kinds[k].used != kinds[k].count)
			goto wrong;
	}
	if (time == h->last_ns)
		return true;
wrong:
	out->n = before;
	return false;
}

#endif
