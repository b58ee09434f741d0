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
	uint8_t encoding[256], planes[256], time_planes;
	const uint8_t *at[256], *times;
	uint64_t last[256];
	uint64_t (*rows)[HG_FIELDS_MAX]; /* decoded so far */
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
static inline bool oracle_describe(struct oracle_kind *k, const uint8_t **p, const uint8_t *end)
{
	const struct hg_kind_desc *desc;
	bool keyed = false;

	if (end - *p < 8)
		return false;
	k->kind = (uint16_t)((*p)[0] | (*p)[1] << 8);
	k->count = (*p)[2] | (uint32_t)(*p)[3] << 8 | (uint32_t)(*p)[4] << 16 |
		   (uint32_t)(*p)[5] << 24;
	k->nfields = (*p)[6];
	k->time_planes = (*p)[7];
	desc = hg_kind_find(k->kind);
	*p += 8;
	if (!k->count || k->nfields > 64 || k->time_planes > 8 ||
	    end - *p < 2 * (ptrdiff_t)k->nfields)
		return false;
	for (unsigned int f = 0; f < k->nfields; f++, *p += 2) {
		bool known = desc && f < desc->nfields;

		k->encoding[f] = (*p)[0];
		k->planes[f] = (*p)[1];
		if ((*p)[1] > 8 || (known && (*p)[0] > 3))
			return false;
		keyed |= known && (*p)[0] == 3;
	}
	return !keyed || k->encoding[0] <= 1;
}

static inline void oracle_record(struct oracle_kind *k, uint64_t *next, struct hg_record *rec)
{
	const struct hg_kind_desc *desc = hg_kind_find(k->kind);

	rec->kind = k->kind;
	for (unsigned int f = 0; f < k->nfields && f < desc->nfields; f++) {
		uint64_t v = oracle_value(k->at[f], k->planes[f], k->count, k->used), base = 0;

		if (k->encoding[f] == 1)
			base = k->last[f];
		for (uint32_t i = 0; k->encoding[f] == 3 && i < k->used; i++) {
			if (k->rows[i][0] == rec->f[0])
				base = k->rows[i][f];
		}
		if (k->encoding[f] == 1 || k->encoding[f] == 3)
			v = base + ((v & 1) ? ~(v / 2) : v / 2);
		else if (k->encoding[f] == 2)
			v ^= *next;
		k->last[f] = rec->f[f] = v;
	}
	memcpy(k->rows[k->used], rec->f, sizeof(rec->f));
	if (k->kind == HG_KIND_SWITCH || k->kind == HG_KIND_SWITCH_BLOCK)
		*next = rec->f[1];
}

static inline const uint8_t *oracle_take(const uint8_t **p, const uint8_t *end, uint64_t size)
{
	const uint8_t *at = *p;

	if ((uint64_t)(end - at) < size)
		return NULL;
	*p += size;
	return at;
}

/* Descriptors and the places of all columns. */
static inline bool oracle_open(struct oracle_kind *kinds, unsigned int nkinds, const uint8_t *p,
			       const uint8_t *end, uint32_t records, const uint8_t **column_out)
{
	for (unsigned int k = 0; k < nkinds; k++) {
		if (!oracle_describe(&kinds[k], &p, end) || kinds[k].count > records)
			return false;
		for (unsigned int other = 0; other < k; other++) {
			if (kinds[other].kind == kinds[k].kind)
				return false;
		}
	}
	*column_out = oracle_take(&p, end, records);
	if (!*column_out)
		return false;
	for (unsigned int k = 0; k < nkinds; k++) {
		kinds[k].rows = calloc(kinds[k].count, sizeof(*kinds[k].rows));
		assert_non_null(kinds[k].rows);
		kinds[k].times =
			oracle_take(&p, end, (uint64_t)kinds[k].time_planes * kinds[k].count);
		if (!kinds[k].times)
			return false;
		for (unsigned int f = 0; f < kinds[k].nfields; f++) {
			kinds[k].at[f] =
				oracle_take(&p, end, (uint64_t)kinds[k].planes[f] * kinds[k].count);
			if (!kinds[k].at[f])
				return false;
		}
	}
	return p == end;
}

static inline bool oracle_rows(struct oracle_kind *kinds, unsigned int nkinds,
			       const uint8_t *column, const struct hg_chunk_header *h,
			       struct sample_list *out)
{
	uint64_t time = h->first_ns, next = 0;

	for (uint32_t i = 0; i < h->records; i++) {
		struct hg_record rec = {.machine = h->machine, .stream = h->stream};
		struct oracle_kind *k = &kinds[column[i]];
		uint64_t delta;

		if (column[i] >= nkinds || k->used == k->count)
			return false;
		delta = oracle_value(k->times, k->time_planes, k->count, k->used);
		if ((!i && delta) || time + delta < time || time + delta > h->last_ns)
			return false;
		time += delta;
		rec.time_ns = time;
		if (hg_kind_find(k->kind)) {
			oracle_record(k, &next, &rec);
			sample_list_add(out, &rec);
		}
		k->used++;
	}
	for (unsigned int k = 0; k < nkinds; k++) {
		if (kinds[k].used != kinds[k].count)
			return false;
	}
	return time == h->last_ns;
}

/* False: the payload is not as the page says. Else all records of known kinds are added. */
static inline bool oracle_decode(const uint8_t *raw, size_t size, const struct hg_chunk_header *h,
				 struct sample_list *out)
{
	static struct oracle_kind kinds[256];
	const uint8_t *column;
	size_t before = out->n;
	bool right;

	if (!size)
		return false;
	memset(kinds, 0, sizeof(kinds));
	right = oracle_open(kinds, raw[0], raw + 1, raw + size, h->records, &column) &&
		oracle_rows(kinds, raw[0], column, h, out);
	for (unsigned int k = 0; k < 256; k++)
		free(kinds[k].rows);
	if (!right)
		out->n = before;
	return right;
}

#endif
