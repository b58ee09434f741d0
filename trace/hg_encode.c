/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_columns.h"
#include "trace/hg_format.h"

/* A plane of at least this many bytes pays for a Huffman table of its own. */
#define SEAM_BYTES_MIN 512

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
	hg_links_free(&e->links);
	*e = (struct hg_columns_encoder){0};
}

/* Kinds of a chunk in order of first appearance. */
struct layout {
	const struct hg_kind_desc *desc[HG_CHUNK_KINDS_MAX];
	uint32_t count[HG_CHUNK_KINDS_MAX];
	uint64_t *values
		[HG_CHUNK_KINDS_MAX]; /* a column of count values for the time and each field */
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

static uint8_t *put_column(struct hg_columns_encoder *e, uint8_t *out, const uint64_t *values,
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

static uint8_t *put_descriptor(const struct layout *l, unsigned int k, uint8_t *out)
{
	const struct hg_kind_desc *desc = l->desc[k];
	uint32_t count = l->count[k];

	hg_put16(out, desc->kind);
	hg_put32(out + 2, count);
	out[6] = (uint8_t)desc->nfields;
	out[7] = count_planes(l->values[k], count);
	out += 8;
	for (unsigned int f = 0; f < desc->nfields; f++) {
		*out++ = desc->fields[f].encoding;
		*out++ = count_planes(l->values[k] + (size_t)(1 + f) * count, count);
	}
	return out;
}

static void put_columns(struct hg_columns_encoder *e, const struct layout *l,
			const struct hg_rows *rows)
{
	uint8_t *out = e->raw;
	const uint8_t *planes; /* in the descriptors just written */

	*out++ = (uint8_t)l->nkinds;
	for (unsigned int k = 0; k < l->nkinds; k++)
		out = put_descriptor(l, k, out);
	for (uint32_t i = 0; i < rows->records; i++)
		*out++ = (uint8_t)(l->index_of[rows->kinds[i] & 0xff] - 1);
	planes = e->raw + 1 + 7;
	for (unsigned int k = 0; k < l->nkinds; k++, planes += 7) {
		for (unsigned int column = 0; column <= l->desc[k]->nfields; column++) {
			out = put_column(e, out, l->values[k] + (size_t)column * l->count[k],
					 l->count[k], *planes);
			planes += column < l->desc[k]->nfields ? 2 : 1;
		}
	}
	e->raw_size = (size_t)(out - e->raw);
}

int hg_columns_encode(struct hg_columns_encoder *e, const struct hg_rows *rows)
{
	struct layout l;
	size_t raw_max = 1 + (size_t)HG_CHUNK_KINDS_MAX * (8 + 2 * HG_FIELDS_MAX) + rows->records +
			 rows->nwords * 8;

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
	e->nseams = 0;
	layout_kinds(&l, rows, e->values);
	scatter(&l, rows);
	for (unsigned int k = 0; k < l.nkinds; k++) {
		int err = has_keyed(l.desc[k]) ? encode_keyed(e, &l, k) : 0;

		if (err)
			return err;
	}
	put_columns(e, &l, rows);
	return 0;
}
