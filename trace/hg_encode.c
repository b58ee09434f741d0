/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_columns.h"
#include "trace/hg_format.h"
#include "trace/hg_steps.h"

/* A plane of at least this many bytes pays for a Huffman table of its own. */
#define SEAM_BYTES_MIN 512

#define RECORDS_HEAD_SIZE 9 /* kinds, step */

/* A column of steps has at least so many values, of which one in eight may be an exception. */
#define STEPS_VALUES_MIN 128
#define STEPS_SUM_MIN	 1000000 /* so many tell the step more precisely than it was known */

void hg_rows_free(struct hg_rows *rows)
{
	free(rows->words);
	free(rows->kinds);
	*rows = (struct hg_rows){0};
}

void hg_columns_encoder_free(struct hg_columns_encoder *e)
{
	free(e->values);
	free(e->exceptions);
	free(e->raw);
	hg_links_free(&e->links);
	*e = (struct hg_columns_encoder){0};
}

/* Kinds of a chunk in order of first appearance. */
struct layout {
	const struct hg_kind_desc *desc[HG_CHUNK_KINDS_MAX];
	uint32_t count[HG_CHUNK_KINDS_MAX];
	uint64_t *values
		[HG_CHUNK_KINDS_MAX]; /* a column of count values for the time and each field */
	/* Of the time and of each field. */
	uint8_t encoding[HG_CHUNK_KINDS_MAX][1 + HG_FIELDS_MAX];
	uint32_t exceptions[HG_CHUNK_KINDS_MAX][1 + HG_FIELDS_MAX];
	unsigned int nkinds;
	uint8_t index_of[256]; /* kind to index + 1 */
};

static void layout_kinds(struct layout *l, const struct hg_rows *rows, uint64_t *values)
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
	for (unsigned int k = 0; k < l->nkinds; k++) {
		l->values[k] = values;
		l->encoding[k][0] = HG_ENC_PLAIN;
		for (unsigned int f = 0; f < l->desc[k]->nfields; f++)
			l->encoding[k][1 + f] = l->desc[k]->fields[f].encoding;
		values += (size_t)l->count[k] * (1u + l->desc[k]->nfields);
	}
}

/* Row by row into columns; what needs the order of all rows is encoded on the way. */
static void scatter(struct layout *l, const struct hg_rows *rows)
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

		*value = row[0] - time;
		time = row[0];
		for (unsigned int f = 0; f < desc->nfields; f++) {
			uint64_t v = row[1 + f];

			value += l->count[k];
			if (desc->fields[f].encoding == HG_ENC_DELTA) {
				*value = hg_zigzag(v - last[k][f]);
				last[k][f] = v;
			} else if (desc->fields[f].encoding == HG_ENC_PREV) {
				*value = v ^ switch_next;
			} else {
				*value = v;
			}
		}
		if (hg_kind_is_switch(desc->kind))
			switch_next = row[1 + HG_SWITCH_NEXT];
		row += 1 + desc->nfields;
	}
}

static bool has_keyed(const struct hg_kind_desc *desc)
{
	for (unsigned int f = 1; f < desc->nfields; f++) {
		if (desc->fields[f].encoding == HG_ENC_KEYED)
			return true;
	}
	return false;
}

static int encode_keyed(struct hg_columns_encoder *e, const struct layout *l, unsigned int k)
{
	const struct hg_kind_desc *desc = l->desc[k];
	uint32_t count = l->count[k];
	int err = hg_links_make(&e->links, l->values[k] + count, 1, count);

	assert(desc->fields[0].encoding == HG_ENC_PLAIN);
	if (err)
		return err;
	for (unsigned int f = 1; f < desc->nfields; f++) {
		uint64_t *v = l->values[k] + (size_t)(1 + f) * count;

		if (desc->fields[f].encoding != HG_ENC_KEYED)
			continue;
		/* Backwards: the row before is still plain. */
		for (uint32_t i = count; i-- > 0;) {
			uint32_t before = e->links.before[i];

			v[i] = hg_zigzag(v[i] - (before ? v[before - 1] : 0));
		}
	}
	return 0;
}

static bool is_worth_steps(const struct hg_columns_encoder *e, const uint64_t *values,
			   uint32_t count)
{
	const double per_step = (double)(1 << HG_STEPS_SHIFT) / (double)e->step;
	unsigned int exceptions = 0;

	for (uint64_t i = 0; i < STEPS_VALUES_MIN; i++) {
		uint64_t q, value = values[i * count / STEPS_VALUES_MIN];

		exceptions += !hg_steps_code(e->step, per_step, value, &q);
	}
	return exceptions <= STEPS_VALUES_MIN / 8;
}

/* How many exceptions there are. ns and steps: sums of the values that are none. */
static uint32_t encode_steps(struct hg_columns_encoder *e, uint64_t *values, uint32_t count,
			     uint64_t *ns, uint64_t *steps)
{
	const double per_step = (double)(1 << HG_STEPS_SHIFT) / (double)e->step;
	size_t before = e->nexceptions;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t q, code = hg_steps_code(e->step, per_step, values[i], &q);

		if (code) {
			*ns += values[i];
			*steps += q;
		} else {
			e->exceptions[e->nexceptions++] = values[i];
		}
		values[i] = code;
	}
	return (uint32_t)(e->nexceptions - before);
}

static bool is_time(const struct hg_kind_desc *desc, unsigned int column)
{
	return !column || (desc->fields[column - 1].encoding == HG_ENC_PLAIN &&
			   desc->fields[column - 1].show == HG_SHOW_NS);
}

static void encode_times(struct hg_columns_encoder *e, struct layout *l)
{
	uint64_t ns = 0, steps = 0;

	for (unsigned int k = 0; k < l->nkinds; k++) {
		for (unsigned int c = 0; c <= l->desc[k]->nfields; c++) {
			uint64_t *values = l->values[k] + (size_t)c * l->count[k];

			if (l->count[k] < STEPS_VALUES_MIN || !is_time(l->desc[k], c) ||
			    !is_worth_steps(e, values, l->count[k]))
				continue;
			l->encoding[k][c] = HG_ENC_STEPS;
			l->exceptions[k][c] = encode_steps(e, values, l->count[k], &ns, &steps);
		}
	}
	hg_put64(e->raw + 1, e->step);
	if (steps >= STEPS_SUM_MIN)
		e->step = (uint64_t)((double)ns / (double)steps * (1 << HG_STEPS_SHIFT) + 0.5);
}

static uint8_t count_planes(const uint64_t *values, uint32_t count)
{
	uint64_t ored = 0;

	for (uint32_t i = 0; i < count; i++)
		ored |= values[i];
	return ored ? (uint8_t)((71 - __builtin_clzll(ored)) / 8) : 0;
}

static void add_seam(struct hg_columns_encoder *e, const uint8_t *out)
{
	uint32_t at = (uint32_t)(out - e->raw);
	uint32_t last = e->nseams ? e->seams[e->nseams - 1] : 0;

	if (e->nseams < HG_SEAMS_MAX && at - last >= SEAM_BYTES_MIN)
		e->seams[e->nseams++] = at;
}

static uint8_t *put_planes(struct hg_columns_encoder *e, uint8_t *out, const uint64_t *values,
			   uint32_t count, uint8_t planes)
{
	for (unsigned int k = 0; k < planes; k++) {
		if (count >= SEAM_BYTES_MIN)
			add_seam(e, out);
		for (uint32_t i = 0; i < count; i++)
			*out++ = (uint8_t)(values[i] >> (8 * k));
		if (count >= SEAM_BYTES_MIN)
			add_seam(e, out);
	}
	return out;
}

static uint8_t *put_exceptions(uint8_t *out, const uint64_t *values, uint32_t count)
{
	hg_put32(out, count);
	out += 4;
	for (uint32_t i = 0; i < count; i++, out += 8)
		hg_put64(out, values[i]);
	return out;
}

static uint8_t *put_descriptor(const struct layout *l, unsigned int k, uint8_t *out)
{
	const struct hg_kind_desc *desc = l->desc[k];
	uint32_t count = l->count[k];

	hg_put16(out, desc->kind);
	hg_put32(out + 2, count);
	out[6] = (uint8_t)desc->nfields;
	out += 7;
	for (unsigned int c = 0; c <= desc->nfields; c++) {
		*out++ = l->encoding[k][c];
		*out++ = count_planes(l->values[k] + (size_t)c * count, count);
	}
	return out;
}

static void put_columns(struct hg_columns_encoder *e, const struct layout *l,
			const struct hg_rows *rows)
{
	uint8_t *out = e->raw;
	const uint8_t *planes; /* in the descriptors just written */
	const uint64_t *exceptions = e->exceptions;

	*out = (uint8_t)l->nkinds;
	out += RECORDS_HEAD_SIZE;
	for (unsigned int k = 0; k < l->nkinds; k++)
		out = put_descriptor(l, k, out);
	for (uint32_t i = 0; i < rows->records; i++)
		*out++ = (uint8_t)(l->index_of[rows->kinds[i] & 0xff] - 1);
	planes = e->raw + RECORDS_HEAD_SIZE + 1;
	for (unsigned int k = 0; k < l->nkinds; k++, planes += 7) {
		for (unsigned int c = 0; c <= l->desc[k]->nfields; c++, planes += 2) {
			if (l->encoding[k][c] == HG_ENC_STEPS) {
				out = put_exceptions(out, exceptions, l->exceptions[k][c]);
				exceptions += l->exceptions[k][c];
			}
			out = put_planes(e, out, l->values[k] + (size_t)c * l->count[k],
					 l->count[k], planes[7]);
		}
	}
	e->raw_size = (size_t)(out - e->raw);
}

/* Room for what rows can become at most: each value is a value or an exception. */
static int reserve(struct hg_columns_encoder *e, const struct hg_rows *rows)
{
	size_t raw_max = RECORDS_HEAD_SIZE + (size_t)HG_CHUNK_KINDS_MAX * (9 + 6 * HG_FIELDS_MAX) +
			 rows->records + rows->nwords * 16;

	if (e->values_cap < rows->nwords) {
		uint64_t *values = realloc(e->values, rows->nwords * sizeof(*values));

		if (!values)
			return -ENOMEM;
		e->values = values;
		e->values_cap = rows->nwords;
	}
	if (e->exceptions_cap < rows->nwords) {
		uint64_t *exceptions = realloc(e->exceptions, rows->nwords * sizeof(*exceptions));

		if (!exceptions)
			return -ENOMEM;
		e->exceptions = exceptions;
		e->exceptions_cap = rows->nwords;
	}
	if (e->raw_cap < raw_max) {
		uint8_t *raw = realloc(e->raw, raw_max);

		if (!raw)
			return -ENOMEM;
		e->raw = raw;
		e->raw_cap = raw_max;
	}
	return 0;
}

int hg_columns_encode(struct hg_columns_encoder *e, const struct hg_rows *rows, bool steps)
{
	struct layout l;
	int err = reserve(e, rows);

	assert(rows->records);
	if (err)
		return err;
	e->nseams = 0;
	e->nexceptions = 0;
	layout_kinds(&l, rows, e->values);
	scatter(&l, rows);
	for (unsigned int k = 0; k < l.nkinds; k++) {
		err = has_keyed(l.desc[k]) ? encode_keyed(e, &l, k) : 0;
		if (err)
			return err;
	}
	hg_put64(e->raw + 1, 0);
	if (steps && e->step)
		encode_times(e, &l);
	put_columns(e, &l, rows);
	return 0;
}
