/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of one stream as columns, and back: the payload of a RECORDS chunk
 * before compression. The writer fills rows and its thread encodes them; the
 * cursor of the reader decodes a chunk when it comes to it. Used inside trace/ only.
 */
#ifndef HG_COLUMNS_H
#define HG_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_kinds.h"
#include "trace/hg_links.h"

/* Input measure at which a chunk is closed: bytes of rows. */
#define HG_ROWS_BYTES_MAX (256u << 10)

/* Rows of a chunk that is being filled: per record its time and its kind's fields. */
struct hg_rows {
	uint64_t *words;
	uint16_t *kinds;
	size_t nwords, words_cap;
	uint32_t records, records_cap;
};

void hg_rows_free(struct hg_rows *rows);

#define HG_SEAMS_MAX 1024

/* Reused between chunks by the thread that encodes. Zero-initialise, then free. */
struct hg_columns_encoder {
	uint64_t *values;
	size_t values_cap;
	struct hg_links links;
	/* Of the clock, see hg_steps.h; followed from chunk to chunk: clocks are slewed. 0: none. */
	uint64_t step;
	uint64_t *exceptions; /* values that are not in steps, column by column */
	size_t exceptions_cap, nexceptions;
	uint8_t *raw; /* result */
	size_t raw_cap, raw_size;
	/* Offsets in raw where the statistics of the bytes change: good ends of compression blocks. */
	uint32_t seams[HG_SEAMS_MAX];
	unsigned int nseams;
};

void hg_columns_encoder_free(struct hg_columns_encoder *e);
/* Encodes rows (at least one) into e->raw; steps: their clock is the one that e->step is of. 0 or -ENOMEM. */
int hg_columns_encode(struct hg_columns_encoder *e, const struct hg_rows *rows, bool steps);

/* Zigzag: small differences of either sign become small numbers. */
static inline uint64_t hg_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}
static inline uint64_t hg_unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}
static inline bool hg_kind_is_switch(uint16_t kind)
{
	return kind == HG_KIND_SWITCH || kind == HG_KIND_SWITCH_BLOCK;
}

struct hg_columns_kind {
	uint16_t kind;
	uint16_t nfields; /* that this build knows and the chunk has */
	const struct hg_kind_desc
		*desc; /* NULL: only its times are decoded, not known or not wanted */
	bool is_switch;
	uint32_t prev_fields;  /* bits: HG_ENC_PREV, which only the order of all records can undo */
	uint32_t keyed_fields; /* bits: HG_ENC_KEYED */
	uint32_t count;
	size_t stride;	/* words of a row */
	uint64_t *rows; /* struct hg_record, with no more fields than desc has; or times */
};

/* A decoder keeps its arrays from chunk to chunk. Zero-initialise, then free. */
struct hg_columns {
	/* What is wanted, in order; position belongs to the user. */
	const struct hg_record **order;
	uint32_t count, position;
	size_t order_cap;
	uint32_t records; /* of the chunk */
	const uint8_t *kind_column;
	uint64_t *words; /* all rows */
	size_t words_cap;
	struct hg_columns_kind *kinds;
	size_t nkinds, kinds_cap;
	uint64_t step; /* HG_ENC_STEPS */
	struct hg_links links;
};

void hg_columns_free(struct hg_columns *c);

/* Which records come out, and what they say of themselves. */
struct hg_columns_source {
	uint16_t machine;
	uint32_t stream;
	bool (*want_kind)(uint16_t kind); /* NULL: all that are known */
};

/*
 * Decodes a raw payload, and checks all of its structure and times, wanted or not. raw must outlive the use
 * of c. 0; -EBADMSG if a byte is not as the format says; -ENOMEM. c has no records after an error.
 */
int hg_columns_open(struct hg_columns *c, const uint8_t *raw, size_t size, uint32_t records,
		    uint64_t first_ns, uint64_t last_ns, const struct hg_columns_source *source);

/* Memory that c holds, in bytes. */
static inline size_t hg_columns_bytes(const struct hg_columns *c)
{
	return c->words_cap * sizeof(*c->words) + c->order_cap * sizeof(*c->order) +
	       (c->links.before_cap + c->links.buckets_cap) * sizeof(uint32_t);
}

#endif
