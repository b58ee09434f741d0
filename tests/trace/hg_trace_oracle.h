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
	/* Column 0 is the time, field f column f + 1. */
	uint8_t encoding[256], planes[256];
	const uint8_t *at[256], *exceptions[256];
	uint32_t exceptions_left[256];
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

	if (end - *p < 7)
		return false;
	k->kind = (uint16_t)((*p)[0] | (*p)[1] << 8);
	k->count = (*p)[2] | (uint32_t)(*p)[3] << 8 | (uint32_t)(*p)[4] << 16 |
		   (uint32_t)(*p)[5] << 24;
	k->nfields = (*p)[6];
	desc = hg_kind_find(k->kind);
	*p += 7;
	if (!k->count || k->nfields > 64 || end - *p < 2 * (ptrdiff_t)k->nfields + 2)
		return false;
	for (unsigned int c = 0; c <= k->nfields; c++, *p += 2) {
		bool known = desc && c && c <= desc->nfields;

		k->encoding[c] = (*p)[0];
		k->planes[c] = (*p)[1];
		if ((*p)[1] > 8 || (known && (*p)[0] > 4) || (!c && (*p)[0] && (*p)[0] != 4))
			return false;
		keyed |= known && (*p)[0] == 3;
	}
	return !keyed || (k->encoding[1] != 2 && k->encoding[1] != 3);
}

/* The value of column c in the next record; steps undone. False: no exception is left. */
static inline bool oracle_column(struct oracle_kind *k, unsigned int c, uint64_t step,
				 uint64_t *out)
{
	uint64_t v = oracle_value(k->at[c], k->planes[c], k->count, k->used);

	if (k->encoding[c] == 4 && !v) {
		if (!k->exceptions_left[c])
			return false;
		k->exceptions_left[c]--;
		v = oracle_value(k->exceptions[c], 8, 1, 0);
		k->exceptions[c] += 8;
	} else if (k->encoding[c] == 4) {
		v = (((v - 1) / 3 * step + 0x800000) >> 24) + (v - 1) % 3 - 1;
	}
	*out = v;
	return true;
}

static inline bool oracle_record(struct oracle_kind *k, uint64_t step, uint64_t *next,
				 struct hg_record *rec)
{
	const struct hg_kind_desc *desc = hg_kind_find(k->kind);

	rec->kind = k->kind;
	for (unsigned int f = 0; f < k->nfields && f < desc->nfields; f++) {
		uint8_t encoding = k->encoding[1 + f];
		uint64_t v, base = 0;

		if (!oracle_column(k, 1 + f, step, &v))
			return false;
		if (encoding == 1)
			base = k->last[f];
		for (uint32_t i = 0; encoding == 3 && i < k->used; i++) {
			if (k->rows[i][0] == rec->f[0])
				base = k->rows[i][f];
		}
		if (encoding == 1 || encoding == 3)
			v = base + ((v & 1) ? ~(v / 2) : v / 2);
		else if (encoding == 2)
			v ^= *next;
		k->last[f] = rec->f[f] = v;
	}
	memcpy(k->rows[k->used], rec->f, sizeof(rec->f));
	if (k->kind == HG_KIND_SWITCH || k->kind == HG_KIND_SWITCH_BLOCK)
		*next = rec->f[1];
	return true;
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
		for (unsigned int c = 0; c <= kinds[k].nfields; c++) {
			if (kinds[k].encoding[c] == 4) {
				const uint8_t *head = oracle_take(&p, end, 4);
				uint64_t n = head ? oracle_value(head, 4, 1, 0) : 0;

				kinds[k].exceptions[c] = oracle_take(&p, end, 8 * n);
				if (!head || !kinds[k].exceptions[c] || n > kinds[k].count)
					return false;
				kinds[k].exceptions_left[c] = (uint32_t)n;
			}
			kinds[k].at[c] =
				oracle_take(&p, end, (uint64_t)kinds[k].planes[c] * kinds[k].count);
			if (!kinds[k].at[c])
				return false;
		}
	}
	return p == end;
}

/* Columns of unknown kinds and fields are not read, but for the time's: their exceptions do not count. */
static inline bool oracle_used_up(const struct oracle_kind *k)
{
	const struct hg_kind_desc *desc = hg_kind_find(k->kind);

	for (unsigned int c = 0; c <= k->nfields && c <= (desc ? desc->nfields : 0u); c++) {
		if (k->encoding[c] == 4 && k->exceptions_left[c])
			return false;
	}
	return k->used == k->count;
}

static inline bool oracle_rows(struct oracle_kind *kinds, unsigned int nkinds, uint64_t step,
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
		if (!oracle_column(k, 0, step, &delta))
			return false;
		if ((!i && delta) || time + delta < time || time + delta > h->last_ns)
			return false;
		time += delta;
		rec.time_ns = time;
		if (hg_kind_find(k->kind)) {
			if (!oracle_record(k, step, &next, &rec))
				return false;
			sample_list_add(out, &rec);
		}
		k->used++;
	}
	for (unsigned int k = 0; k < nkinds; k++) {
		if (!oracle_used_up(&kinds[k]))
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

	if (size < 9)
		return false;
	memset(kinds, 0, sizeof(kinds));
	right = oracle_open(kinds, raw[0], raw + 9, raw + size, h->records, &column) &&
		oracle_rows(kinds, raw[0], oracle_value(raw + 1, 8, 1, 0), column, h, out);
	for (unsigned int k = 0; k < 256; k++)
		free(kinds[k].rows);
	if (!right)
		out->n = before;
	return right;
}

#endif
