/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_columns.h"

#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_format.h"
#include "trace/hg_steps.h"

/* Time; kind, machine and stream: then the fields. */
#define ROW_HEAD_WORDS (offsetof(struct hg_record, f) / sizeof(uint64_t))
#define ROWS_AT_ONCE   64

_Static_assert(offsetof(struct hg_record, time_ns) == 0 && ROW_HEAD_WORDS == 2,
	       "a row is the begin of a record");

void hg_columns_free(struct hg_columns *c)
{
	free(c->order);
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

/* The columns of a kind as stored: encoding and planes of the time, then of each field. */
struct fields {
	const uint8_t *p;
	unsigned int stored;
};

/* Fields that this build knows must be encoded in a way that it knows. */
static int take_fields(struct hg_columns_kind *k, const struct fields *fields)
{
	if (fields->p[1] > 8 || (fields->p[0] != HG_ENC_PLAIN && fields->p[0] != HG_ENC_STEPS))
		return -EBADMSG;
	for (unsigned int f = 0; f < fields->stored; f++) {
		uint8_t encoding = fields->p[2 + 2 * f];

		if (fields->p[3 + 2 * f] > 8)
			return -EBADMSG;
		if (f >= k->nfields)
			continue;
		if (encoding > HG_ENC_STEPS)
			return -EBADMSG;
		k->prev_fields |= (uint32_t)(encoding == HG_ENC_PREV) << f;
		k->keyed_fields |= (uint32_t)(encoding == HG_ENC_KEYED) << f;
	}
	/* The key is the first field, known before the others. */
	return k->keyed_fields && ((k->keyed_fields | k->prev_fields) & 1) ? -EBADMSG : 0;
}

_Static_assert(HG_FIELDS_MAX <= 32, "a field has a bit in hg_columns_kind");

static int take_kind(const struct hg_columns *c, struct hg_columns_kind *k, struct span *s,
		     struct fields *fields, const struct hg_columns_source *source)
{
	const uint8_t *head = span_take(s, 7);
	const struct hg_kind_desc *desc;

	if (!head || head[6] > HG_CHUNK_FIELDS_MAX)
		return -EBADMSG;
	fields->stored = head[6];
	fields->p = span_take(s, 2 + 2 * (size_t)head[6]);
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
	k->is_switch = hg_kind_is_switch(k->kind);
	k->nfields = desc ? HG_MIN(desc->nfields, head[6]) : 0;
	/* Others may refer to switches. */
	if (k->is_switch || !source->want_kind || source->want_kind(k->kind))
		k->desc = desc;
	k->stride = k->desc ? ROW_HEAD_WORDS + desc->nfields : 1;
	return take_fields(k, fields);
}

/* A column as stored: values of count bytes a plane; if they are steps, exceptions that are not used yet. */
struct column {
	const uint8_t *p;
	unsigned int planes;
	bool steps;
	const uint8_t *exceptions;
	uint32_t nexceptions;
};

static int take_column(struct column *column, uint8_t encoding, uint8_t planes, uint32_t count,
		       struct span *s)
{
	*column = (struct column){.planes = planes, .steps = encoding == HG_ENC_STEPS};
	if (column->steps) {
		const uint8_t *head = span_take(s, 4);

		if (!head || hg_get32(head) > count)
			return -EBADMSG;
		column->nexceptions = hg_get32(head);
		column->exceptions = span_take(s, 8 * (size_t)column->nexceptions);
		if (!column->exceptions)
			return -EBADMSG;
	}
	column->p = span_take(s, (size_t)planes * count);
	return column->p ? 0 : -EBADMSG;
}

/* n of count values, from the first on, to dst, dst + stride, ... */
static void join_planes(uint64_t *dst, size_t stride, const struct column *column, size_t count,
			size_t first, size_t n)
{
	const uint8_t *p;

	if (!column->planes) {
		for (size_t i = 0; i < n; i++)
			dst[i * stride] = 0;
		return;
	}
	p = column->p + first;
	switch (column->planes) { /* nearly all columns have few */
	case 1:
		for (size_t i = 0; i < n; i++)
			dst[i * stride] = p[i];
		return;
	case 2:
		for (size_t i = 0; i < n; i++)
			dst[i * stride] = p[i] | (uint64_t)p[count + i] << 8;
		return;
	case 3:
		for (size_t i = 0; i < n; i++)
			dst[i * stride] = p[i] | (uint64_t)p[count + i] << 8 |
					  (uint64_t)p[2 * count + i] << 16;
		return;
	default:
		for (size_t i = 0; i < n; i++) {
			uint64_t v = p[i];

			for (unsigned int k = 1; k < column->planes; k++)
				v |= (uint64_t)p[k * count + i] << (8 * k);
			dst[i * stride] = v;
		}
	}
}

static int undo_steps(uint64_t *v, size_t stride, size_t n, struct column *column, uint64_t step)
{
	for (size_t i = 0; i < n; i++, v += stride) {
		if (*v) {
			*v = hg_steps_value(step, *v);
			continue;
		}
		if (!column->nexceptions)
			return -EBADMSG;
		*v = hg_get64(column->exceptions);
		column->exceptions += 8;
		column->nexceptions--;
	}
	return 0;
}

static int fill_column(const struct hg_columns *c, uint64_t *dst, const struct hg_columns_kind *k,
		       struct column *column, size_t first, size_t n)
{
	join_planes(dst, k->stride, column, k->count, first, n);
	return column->steps ? undo_steps(dst, k->stride, n, column, c->step) : 0;
}

static void undo_delta(uint64_t *v, size_t stride, uint32_t count)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < count; i++, v += stride)
		last = *v = last + hg_unzigzag(*v);
}

static int undo_keyed(struct hg_columns *c, struct hg_columns_kind *k)
{
	uint64_t *fields = k->rows + ROW_HEAD_WORDS;
	int err = hg_links_make(&c->links, fields, k->stride, k->count);

	if (err)
		return err;
	for (uint32_t i = 0; i < k->count; i++) {
		uint64_t *row = fields + i * k->stride;
		uint32_t before = c->links.before[i];
		const uint64_t *other = before ? fields + (before - 1) * k->stride : NULL;

		for (unsigned int bits = k->keyed_fields; bits; bits &= bits - 1) {
			int f = __builtin_ctz(bits);

			row[f] = hg_unzigzag(row[f]) + (other ? other[f] : 0);
		}
	}
	return 0;
}

/* Some rows at a time, so that they stay in the cache while their columns are filled in one by one. */
static int fill_rows(const struct hg_columns *c, const struct hg_columns_kind *k,
		     struct column *columns, const struct hg_columns_source *source)
{
	struct column missing = {0};
	int err = 0;

	for (size_t i = 0; i < k->count && !err; i += ROWS_AT_ONCE) {
		size_t n = HG_MIN(k->count - i, (size_t)ROWS_AT_ONCE);
		uint64_t *rows = k->rows + i * k->stride;

		err = fill_column(c, rows, k, &columns[0], i, n);
		for (size_t row = 0; row < n && k->desc; row++) {
			struct hg_record *rec = (struct hg_record *)(rows + row * k->stride);

			rec->kind = k->kind;
			rec->machine = source->machine;
			rec->stream = source->stream;
		}
		for (unsigned int f = 0; k->desc && f < k->desc->nfields && !err; f++)
			err = fill_column(c, rows + ROW_HEAD_WORDS + f, k,
					  f < k->nfields ? &columns[1 + f] : &missing, i, n);
	}
	for (unsigned int f = 0; f <= (k->desc ? k->nfields : 0) && !err; f++)
		err = columns[f].nexceptions ? -EBADMSG : 0;
	return err;
}

static int take_columns(struct hg_columns *c, struct hg_columns_kind *k, struct span *s,
			const struct fields *fields, const struct hg_columns_source *source)
{
	struct column columns[1 + HG_CHUNK_FIELDS_MAX];
	int err = 0;

	for (unsigned int i = 0; i <= fields->stored && !err; i++)
		err = take_column(&columns[i], fields->p[2 * i], fields->p[1 + 2 * i], k->count, s);
	if (!err)
		err = fill_rows(c, k, columns, source);
	for (unsigned int f = 0; k->desc && f < k->nfields && !err; f++) {
		if (fields->p[2 + 2 * f] == HG_ENC_DELTA)
			undo_delta(k->rows + ROW_HEAD_WORDS + f, k->stride, k->count);
	}
	return !err && k->desc && k->keyed_fields ? undo_keyed(c, k) : err;
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

/* Once the counts are known to add up, what they need is bounded by the payload. */
static int rows_reserve(struct hg_columns *c)
{
	const struct hg_record **order;
	size_t need = 0, count = 0;
	uint64_t *words;

	for (size_t k = 0; k < c->nkinds; k++) {
		need += c->kinds[k].count * c->kinds[k].stride;
		count += c->kinds[k].count;
	}
	if (count != c->records)
		return -EBADMSG;
	if (need > c->words_cap) {
		words = realloc(c->words, need * sizeof(*words));
		if (!words)
			return -ENOMEM;
		c->words = words;
		c->words_cap = need;
	}
	if (count > c->order_cap) {
		order = realloc(c->order, count * sizeof(struct hg_record *));
		if (!order)
			return -ENOMEM;
		c->order = order;
		c->order_cap = count;
	}
	words = c->words;
	for (size_t k = 0; k < c->nkinds; k++) {
		c->kinds[k].rows = words;
		words += c->kinds[k].count * c->kinds[k].stride;
	}
	return 0;
}

static void undo_prev(const struct hg_columns_kind *k, struct hg_record *rec, uint64_t *switch_next)
{
	for (unsigned int bits = k->prev_fields; bits; bits &= bits - 1)
		rec->f[__builtin_ctz(bits)] ^= *switch_next;
	if (k->is_switch)
		*switch_next = rec->f[HG_SWITCH_NEXT];
}

/* Differences become times: the chunk is refused if one is outside its header's range, or has no row. */
static int put_in_order(struct hg_columns *c, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t *next[UINT8_MAX + 1] = {0}, *end[UINT8_MAX + 1] = {0};
	uint64_t time = first_ns, switch_next = 0;
	uint32_t count = 0;

	for (size_t k = 0; k < c->nkinds; k++) {
		next[k] = c->kinds[k].rows;
		end[k] = next[k] + c->kinds[k].count * c->kinds[k].stride;
	}
	if (c->kind_column[0] >= c->nkinds || *next[c->kind_column[0]])
		return -EBADMSG;
	for (uint32_t i = 0; i < c->records; i++) {
		uint8_t index = c->kind_column[i];
		const struct hg_columns_kind *k = &c->kinds[index];
		uint64_t *row = next[index];

		if (row == end[index] || *row > last_ns - time)
			return -EBADMSG;
		time += *row;
		*row = time;
		next[index] = row + k->stride;
		if (!k->desc)
			continue;
		if (k->is_switch || k->prev_fields)
			undo_prev(k, (struct hg_record *)row, &switch_next);
		c->order[count++] = (const struct hg_record *)row;
	}
	if (time != last_ns)
		return -EBADMSG;
	c->count = count;
	return 0;
}

int hg_columns_open(struct hg_columns *c, const uint8_t *raw, size_t size, uint32_t records,
		    uint64_t first_ns, uint64_t last_ns, const struct hg_columns_source *source)
{
	struct fields fields[HG_CHUNK_KINDS_MAX];
	struct span s = {raw, size};
	const uint8_t *head = span_take(&s, 9);
	int err;

	c->count = c->position = 0;
	if (!head || !records || records > HG_CHUNK_RECORDS_MAX || first_ns > last_ns)
		return -EBADMSG;
	err = kinds_reserve(c, *head);
	c->records = records;
	c->nkinds = *head;
	c->step = hg_get64(head + 1);
	for (unsigned int k = 0; k < c->nkinds && !err; k++)
		err = take_kind(c, &c->kinds[k], &s, &fields[k], source);
	if (err)
		return err;
	c->kind_column = span_take(&s, records);
	err = c->kind_column ? rows_reserve(c) : -EBADMSG;
	for (unsigned int k = 0; k < c->nkinds && !err; k++)
		err = take_columns(c, &c->kinds[k], &s, &fields[k], source);
	if (err)
		return err;
	return s.size ? -EBADMSG : put_in_order(c, first_ns, last_ns);
}
