/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_columns.h"

#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_format.h"

void hg_columns_free(struct hg_columns *c)
{
	free(c->words);
	free(c->kinds);
	hg_links_free(&c->links);
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

/* The columns of a kind as stored: planes of the time, then encoding and planes of each field. */
struct fields {
	const uint8_t *p;
	unsigned int stored;
};

/* Fields that this build knows must be encoded in a way that it knows. */
static int take_fields(struct hg_columns_kind *k, const struct fields *fields)
{
	if (fields->p[0] > 8)
		return -EBADMSG;
	for (unsigned int f = 0; f < fields->stored; f++) {
		uint8_t encoding = fields->p[1 + 2 * f];

		if (fields->p[2 + 2 * f] > 8)
			return -EBADMSG;
		if (f >= k->nfields)
			continue;
		if (encoding > HG_ENC_KEYED)
			return -EBADMSG;
		k->prev_fields |= (uint32_t)(encoding == HG_ENC_PREV) << f;
		k->keyed_fields |= (uint32_t)(encoding == HG_ENC_KEYED) << f;
	}
	/* The key is the first field, known before the others. */
	return k->keyed_fields && ((k->keyed_fields | k->prev_fields) & 1) ? -EBADMSG : 0;
}

_Static_assert(HG_FIELDS_MAX <= 32, "a field has a bit in hg_columns_kind");

static int take_kind(const struct hg_columns *c, struct hg_columns_kind *k, struct span *s,
		     struct fields *fields)
{
	const uint8_t *head = span_take(s, 7);
	const struct hg_kind_desc *desc;

	if (!head || head[6] > HG_CHUNK_FIELDS_MAX)
		return -EBADMSG;
	fields->stored = head[6];
	fields->p = span_take(s, 1 + 2 * (size_t)head[6]);
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
	k->is_switch = hg_kind_is_switch(k->kind);
	k->nfields = desc ? HG_MIN(desc->nfields, head[6]) : 0;
	return take_fields(k, fields);
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
		last = *v = last + hg_unzigzag(*v);
}

static int undo_keyed(struct hg_columns *c, struct hg_columns_kind *k)
{
	size_t stride = 1u + k->nfields;
	int err = hg_links_make(&c->links, k->rows + 1, stride, k->count);

	if (err)
		return err;
	for (uint32_t i = 0; i < k->count; i++) {
		uint64_t *row = k->rows + i * stride + 1;
		uint32_t before = c->links.before[i];
		const uint64_t *other = before ? k->rows + (before - 1) * stride + 1 : NULL;

		for (unsigned int bits = k->keyed_fields; bits; bits &= bits - 1) {
			int f = __builtin_ctz(bits);

			row[f] = hg_unzigzag(row[f]) + (other ? other[f] : 0);
		}
	}
	return 0;
}

static int take_columns(struct hg_columns *c, struct hg_columns_kind *k, struct span *s,
			const struct fields *fields)
{
	size_t stride = 1u + k->nfields;
	const uint8_t *p = span_take(s, (size_t)fields->p[0] * k->count);

	if (!p)
		return -EBADMSG;
	join_planes(k->rows, stride, p, fields->p[0], k->count);
	for (unsigned int f = 0; f < fields->stored; f++) {
		uint8_t encoding = fields->p[1 + 2 * f], planes = fields->p[2 + 2 * f];

		p = span_take(s, (size_t)planes * k->count);
		if (!p)
			return -EBADMSG;
		if (f >= k->nfields)
			continue;
		join_planes(k->rows + 1 + f, stride, p, planes, k->count);
		if (encoding == HG_ENC_DELTA)
			undo_delta(k->rows + 1 + f, stride, k->count);
	}
	return k->keyed_fields ? undo_keyed(c, k) : 0;
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

/* Only when the counts are known to be true is it known how much memory is needed. */
static int rows_reserve(struct hg_columns *c)
{
	size_t need = 0;
	uint64_t *words;

	for (size_t k = 0; k < c->nkinds; k++)
		need += (size_t)c->kinds[k].count * (1u + c->kinds[k].nfields);
	if (need > c->words_cap) {
		words = realloc(c->words, need * sizeof(*words));
		if (!words)
			return -ENOMEM;
		c->words = words;
		c->words_cap = need;
	}
	words = c->words;
	for (size_t k = 0; k < c->nkinds; k++) {
		c->kinds[k].next = c->kinds[k].rows = words;
		words += (size_t)c->kinds[k].count * (1u + c->kinds[k].nfields);
	}
	return 0;
}

/* Differences become times: the chunk is refused if one is outside its header's range. */
static int undo_times(struct hg_columns *c, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t time = first_ns;

	if (*c->kinds[c->kind_column[0]].next)
		return -EBADMSG;
	for (uint32_t i = 0; i < c->records; i++) {
		struct hg_columns_kind *k = &c->kinds[c->kind_column[i]];

		if (*k->next > last_ns - time)
			return -EBADMSG;
		time += *k->next;
		*k->next = time;
		k->next += 1u + k->nfields;
	}
	for (size_t k = 0; k < c->nkinds; k++)
		c->kinds[k].next = c->kinds[k].rows;
	return time == last_ns ? 0 : -EBADMSG;
}

int hg_columns_open(struct hg_columns *c, const uint8_t *raw, size_t size, uint32_t records,
		    uint64_t first_ns, uint64_t last_ns)
{
	struct fields fields[HG_CHUNK_KINDS_MAX];
	struct span s = {raw, size};
	const uint8_t *head = span_take(&s, 1);
	int err;

	c->records = c->position = 0;
	c->nkinds = 0;
	c->switch_next = 0;
	if (!head || !records || records > HG_CHUNK_RECORDS_MAX || first_ns > last_ns)
		return -EBADMSG;
	err = kinds_reserve(c, *head);
	c->records = records;
	for (unsigned int k = 0; k < *head && !err; k++)
		err = take_kind(c, &c->kinds[k], &s, &fields[k]);
	if (err)
		goto refuse;
	c->nkinds = *head;
	c->kind_column = span_take(&s, records);
	err = c->kind_column ? check_kind_column(c) : -EBADMSG;
	if (!err)
		err = rows_reserve(c);
	for (unsigned int k = 0; k < c->nkinds && !err; k++)
		err = take_columns(c, &c->kinds[k], &s, &fields[k]);
	if (!err)
		err = s.size ? -EBADMSG : undo_times(c, first_ns, last_ns);
	if (!err)
		return 0;
refuse:
	c->records = 0; /* nothing to seek */
	return err;
}

bool hg_columns_seek_known(struct hg_columns *c)
{
	while (c->position < c->records && !c->kinds[c->kind_column[c->position]].known)
		c->position++;
	return c->position < c->records;
}

void hg_columns_next(struct hg_columns *c, struct hg_record *out)
{
	struct hg_columns_kind *k = &c->kinds[c->kind_column[c->position++]];
	const uint64_t *row = k->next;
	unsigned int n = k->nfields;

	out->time_ns = row[0];
	out->kind = k->kind;
	for (unsigned int f = 0; f < n; f++)
		out->f[f] = row[1 + f];
	for (unsigned int f = n; f < HG_FIELDS_MAX; f++)
		out->f[f] = 0;
	for (unsigned int bits = k->prev_fields; bits; bits &= bits - 1)
		out->f[__builtin_ctz(bits)] ^= c->switch_next;
	if (k->is_switch)
		c->switch_next = out->f[HG_SWITCH_NEXT];
	k->next += 1 + n;
}
