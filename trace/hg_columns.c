/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_columns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_format.h"

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static uint8_t planes_of(uint64_t ored)
{
	return ored ? (uint8_t)((71 - __builtin_clzll(ored)) / 8) : 0;
}

static bool kind_is_switch(uint16_t kind)
{
	return kind == HG_KIND_SWITCH || kind == HG_KIND_SWITCH_BLOCK;
}

void hg_rows_free(struct hg_rows *rows)
{
	free(rows->words);
	free(rows->kinds);
	*rows = (struct hg_rows){0};
}

void hg_columns_encoder_free(struct hg_columns_encoder *e)
{
	free(e->values);
	free(e->raw);
	*e = (struct hg_columns_encoder){0};
}

/* Kinds of a chunk in order of first appearance. */
struct layout {
	const struct hg_kind_desc *desc[HG_CHUNK_KINDS_MAX];
	uint32_t count[HG_CHUNK_KINDS_MAX];
	uint64_t *values[HG_CHUNK_KINDS_MAX]; /* column-major, count values per field */
	unsigned int nkinds;
	uint8_t index_of[256]; /* kind to index + 1 */
};

static void layout_kinds(struct layout *l, const struct hg_rows *rows)
{
	*l = (struct layout){0};
	for (uint32_t i = 0; i < rows->records; i++) {
		uint16_t kind = rows->kinds[i];
		uint8_t *index = &l->index_of[kind & 0xff];

		assert(kind < 256);
		if (!*index) {
			l->desc[l->nkinds] = hg_kind_find(kind);
			*index = (uint8_t)++l->nkinds;
		}
		l->count[*index - 1]++;
	}
}

/* Row by row into columns of encoded values: the encodings need the order of the rows. */
static void scatter(struct layout *l, const struct hg_rows *rows, uint64_t *times)
{
	uint64_t last[HG_CHUNK_KINDS_MAX][HG_FIELDS_MAX];
	uint32_t position[HG_CHUNK_KINDS_MAX] = {0};
	const uint64_t *row = rows->words;
	uint64_t switch_next = 0, time = row[0];

	memset(last, 0, l->nkinds * sizeof(last[0]));
	for (uint32_t i = 0; i < rows->records; i++) {
		unsigned int k = l->index_of[rows->kinds[i] & 0xff] - 1u;
		const struct hg_kind_desc *desc = l->desc[k];
		uint64_t *value = l->values[k] + position[k]++;

		times[i] = row[0] - time;
		time = row[0];
		for (unsigned int f = 0; f < desc->nfields; f++, value += l->count[k]) {
			uint64_t v = row[1 + f];

			if (desc->fields[f].encoding == HG_ENC_DELTA) {
				*value = zigzag(v - last[k][f]);
				last[k][f] = v;
			} else if (desc->fields[f].encoding == HG_ENC_PREV) {
				*value = v ^ switch_next;
			} else {
				*value = v;
			}
		}
		if (kind_is_switch(desc->kind))
			switch_next = row[1 + HG_SWITCH_NEXT];
		row += 1 + desc->nfields;
	}
}

static uint8_t count_planes(const uint64_t *values, uint32_t count)
{
	uint64_t ored = 0;

	for (uint32_t i = 0; i < count; i++)
		ored |= values[i];
	return planes_of(ored);
}

static uint8_t *put_planes(uint8_t *out, const uint64_t *values, uint32_t count, uint8_t planes)
{
	for (unsigned int k = 0; k < planes; k++) {
		for (uint32_t i = 0; i < count; i++)
			*out++ = (uint8_t)(values[i] >> (8 * k));
	}
	return out;
}

static uint8_t *put_columns(const struct layout *l, const struct hg_rows *rows,
			    const uint64_t *times, uint8_t *out)
{
	uint8_t time_planes = count_planes(times, rows->records);
	uint8_t *planes; /* in the descriptors just written */

	*out++ = (uint8_t)l->nkinds;
	*out++ = time_planes;
	planes = out;
	for (unsigned int k = 0; k < l->nkinds; k++) {
		hg_put16(out, l->desc[k]->kind);
		hg_put32(out + 2, l->count[k]);
		out[6] = (uint8_t)l->desc[k]->nfields;
		out += 7;
		for (unsigned int f = 0; f < l->desc[k]->nfields; f++) {
			*out++ = l->desc[k]->fields[f].encoding;
			*out++ = count_planes(l->values[k] + (size_t)f * l->count[k], l->count[k]);
		}
	}
	for (uint32_t i = 0; i < rows->records; i++)
		*out++ = (uint8_t)(l->index_of[rows->kinds[i] & 0xff] - 1);
	out = put_planes(out, times, rows->records, time_planes);
	for (unsigned int k = 0; k < l->nkinds; k++) {
		planes += 7;
		for (unsigned int f = 0; f < l->desc[k]->nfields; f++, planes += 2)
			out = put_planes(out, l->values[k] + (size_t)f * l->count[k], l->count[k],
					 planes[1]);
	}
	return out;
}

int hg_columns_encode(struct hg_columns_encoder *e, const struct hg_rows *rows)
{
	struct layout l;
	/* One word a row is its time, which gets a column too. */
	size_t raw_max = 2 + (size_t)HG_CHUNK_KINDS_MAX * (7 + 2 * HG_FIELDS_MAX) + rows->records +
			 rows->nwords * 8;
	uint64_t *value;

	assert(rows->records);
	if (e->values_cap < rows->nwords) {
		uint64_t *values = realloc(e->values, rows->nwords * sizeof(*values));

		if (!values)
			return -ENOMEM;
		e->values = values;
		e->values_cap = rows->nwords;
	}
	if (e->raw_cap < raw_max) {
		uint8_t *raw = realloc(e->raw, raw_max);

		if (!raw)
			return -ENOMEM;
		e->raw = raw;
		e->raw_cap = raw_max;
	}
	layout_kinds(&l, rows);
	value = e->values + rows->records;
	for (unsigned int k = 0; k < l.nkinds; k++) {
		l.values[k] = value;
		value += (size_t)l.count[k] * l.desc[k]->nfields;
	}
	scatter(&l, rows, e->values);
	e->raw_size = (size_t)(put_columns(&l, rows, e->values, e->raw) - e->raw);
	return 0;
}

void hg_columns_free(struct hg_columns *c)
{
	free(c->times);
	free(c->values);
	free(c->kinds);
	*c = (struct hg_columns){0};
}

/* A span of the payload that is still unread. */
struct span {
	const uint8_t *p;
	size_t size;
};

static const uint8_t *span_take(struct span *s, size_t size)
{
	const uint8_t *p = s->p;

	if (size > s->size)
		return NULL;
	s->p += size;
	s->size -= size;
	return p;
}

static int words_reserve(uint64_t **words, size_t *cap, size_t need)
{
	uint64_t *grown;

	if (need <= *cap)
		return 0;
	grown = realloc(*words, need * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*words = grown;
	*cap = need;
	return 0;
}

static int kinds_reserve(struct hg_columns *c, size_t nkinds)
{
	struct hg_columns_kind *kinds;

	if (nkinds <= c->kinds_cap)
		return 0;
	kinds = realloc(c->kinds, nkinds * sizeof(*kinds));
	if (!kinds)
		return -ENOMEM;
	c->kinds = kinds;
	c->kinds_cap = nkinds;
	return 0;
}

/* The field descriptors of a kind: as many as are stored. */
struct fields {
	const uint8_t *p; /* encoding and planes of each */
	unsigned int stored;
};

static int take_kind(const struct hg_columns *c, struct hg_columns_kind *k, struct span *s,
		     struct fields *fields)
{
	const uint8_t *head = span_take(s, 7);
	const struct hg_kind_desc *desc;

	if (!head || head[6] > HG_CHUNK_FIELDS_MAX)
		return -EBADMSG;
	fields->stored = head[6];
	fields->p = span_take(s, 2 * (size_t)head[6]);
	if (!fields->p)
		return -EBADMSG;
	*k = (struct hg_columns_kind){.kind = hg_get16(head), .count = hg_get32(head + 2)};
	if (!k->count || k->count > c->records)
		return -EBADMSG;
	for (const struct hg_columns_kind *other = c->kinds; other < k; other++) {
		if (other->kind == k->kind)
			return -EBADMSG;
	}
	desc = hg_kind_find(k->kind);
	k->known = desc;
	k->is_switch = kind_is_switch(k->kind);
	k->nfields = desc ? HG_MIN(desc->nfields, head[6]) : 0;
	for (unsigned int f = 0; f < fields->stored; f++) {
		if (fields->p[2 * f + 1] > 8)
			return -EBADMSG;
		if (f < k->nfields && fields->p[2 * f] > HG_ENC_PREV)
			return -EBADMSG; /* a known field, encoded in a way that we do not know */
	}
	return 0;
}

/* count values of so many planes to dst, dst + stride, ... */
static void join_planes(uint64_t *dst, size_t stride, const uint8_t *p, unsigned int planes,
			uint32_t count)
{
	switch (planes) { /* nearly all columns have few */
	case 0:
		for (uint32_t i = 0; i < count; i++)
			dst[i * stride] = 0;
		return;
	case 1:
		for (uint32_t i = 0; i < count; i++)
			dst[i * stride] = p[i];
		return;
	case 2:
		for (uint32_t i = 0; i < count; i++)
			dst[i * stride] = p[i] | (uint64_t)p[count + i] << 8;
		return;
	default:
		for (uint32_t i = 0; i < count; i++) {
			uint64_t v = p[i];

			for (unsigned int k = 1; k < planes; k++)
				v |= (uint64_t)p[(size_t)k * count + i] << (8 * k);
			dst[i * stride] = v;
		}
	}
}

static void undo_delta(uint64_t *v, size_t stride, uint32_t count)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < count; i++, v += stride)
		last = *v = last + unzigzag(*v);
}

static int take_columns(struct hg_columns_kind *k, struct span *s, const struct fields *fields)
{
	for (unsigned int f = 0; f < fields->stored; f++) {
		uint8_t encoding = fields->p[2 * f], planes = fields->p[2 * f + 1];
		const uint8_t *p = span_take(s, (size_t)planes * k->count);

		if (!p)
			return -EBADMSG;
		if (f >= k->nfields)
			continue;
		join_planes(k->values + f, k->nfields, p, planes, k->count);
		if (encoding == HG_ENC_DELTA)
			undo_delta(k->values + f, k->nfields, k->count);
		else if (encoding == HG_ENC_PREV)
			k->prev_fields |= (uint16_t)(1u << f);
	}
	return 0;
}

/* Decodes all times: the whole chunk is refused if one is outside its header's range. */
static int take_times(struct hg_columns *c, struct span *s, unsigned int planes, uint64_t first_ns,
		      uint64_t last_ns)
{
	const uint8_t *p = span_take(s, (size_t)planes * c->records);
	uint64_t time = first_ns;

	if (!p)
		return -EBADMSG;
	join_planes(c->times, 1, p, planes, c->records);
	if (c->times[0])
		return -EBADMSG;
	for (uint32_t i = 0; i < c->records; i++) {
		if (c->times[i] > last_ns - time)
			return -EBADMSG;
		time += c->times[i];
		c->times[i] = time;
	}
	return time == last_ns ? 0 : -EBADMSG;
}

static int check_kind_column(const struct hg_columns *c)
{
	uint32_t count[256] = {0};

	for (uint32_t i = 0; i < c->records; i++)
		count[c->kind_column[i]]++;
	for (size_t k = 0; k < 256; k++) {
		if (count[k] != (k < c->nkinds ? c->kinds[k].count : 0))
			return -EBADMSG;
	}
	return 0;
}

static int reserve_values(struct hg_columns *c)
{
	size_t need = 1; /* never none: of unknown kinds nothing is kept */
	int err;

	for (size_t k = 0; k < c->nkinds; k++)
		need += (size_t)c->kinds[k].count * c->kinds[k].nfields;
	err = words_reserve(&c->values, &c->values_cap, need);
	if (err)
		return err;
	need = 0;
	for (size_t k = 0; k < c->nkinds; k++) {
		c->kinds[k].next = c->kinds[k].values = c->values + need;
		need += (size_t)c->kinds[k].count * c->kinds[k].nfields;
	}
	return 0;
}

int hg_columns_open(struct hg_columns *c, const uint8_t *raw, size_t size, uint32_t records,
		    uint64_t first_ns, uint64_t last_ns)
{
	struct fields fields[HG_CHUNK_KINDS_MAX];
	struct span s = {raw, size};
	const uint8_t *head = span_take(&s, 2);
	int err;

	c->records = c->position = 0;
	c->nkinds = 0;
	c->switch_next = 0;
	if (!head || head[1] > 8 || !records || records > HG_CHUNK_RECORDS_MAX ||
	    first_ns > last_ns)
		return -EBADMSG;
	err = kinds_reserve(c, head[0]);
	c->records = records;
	for (unsigned int k = 0; k < head[0] && !err; k++)
		err = take_kind(c, &c->kinds[k], &s, &fields[k]);
	if (err)
		goto refuse;
	c->nkinds = head[0];
	c->kind_column = span_take(&s, records);
	err = c->kind_column ? check_kind_column(c) : -EBADMSG;
	/* Only now are the counts known to be true, and with them how much memory is needed. */
	if (!err)
		err = words_reserve(&c->times, &c->times_cap, records);
	if (!err)
		err = take_times(c, &s, head[1], first_ns, last_ns);
	if (!err)
		err = reserve_values(c);
	for (unsigned int k = 0; k < c->nkinds && !err; k++)
		err = take_columns(&c->kinds[k], &s, &fields[k]);
	if (!err && !s.size)
		return 0;
refuse:
	c->records = 0; /* nothing to seek */
	return err ? err : -EBADMSG;
}

bool hg_columns_seek_known(struct hg_columns *c)
{
	while (c->position < c->records && !c->kinds[c->kind_column[c->position]].known)
		c->position++;
	return c->position < c->records;
}

void hg_columns_next(struct hg_columns *c, struct hg_record *out)
{
	struct hg_columns_kind *k = &c->kinds[c->kind_column[c->position]];
	const uint64_t *values = k->next;
	unsigned int n = k->nfields;

	out->time_ns = c->times[c->position++];
	out->kind = k->kind;
	for (unsigned int f = 0; f < n; f++)
		out->f[f] = values[f];
	for (unsigned int f = n; f < HG_FIELDS_MAX; f++)
		out->f[f] = 0;
	for (unsigned int bits = k->prev_fields; bits; bits &= bits - 1)
		out->f[__builtin_ctz(bits)] ^= c->switch_next;
	if (k->is_switch)
		c->switch_next = out->f[HG_SWITCH_NEXT];
	k->next += n;
}
