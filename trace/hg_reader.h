/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a .hgt file and trusts nothing in it. Used by analysis, info and dump.
 * Memory is bounded by one chunk per open cursor, whatever the headers claim.
 */
#ifndef HG_READER_H
#define HG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_kinds.h"

/* On disk, append only. */
enum hg_chunk_type {
	HG_CHUNK_STRINGS = 1,
	HG_CHUNK_RECORDS = 2,
	HG_CHUNK_ENVIRONMENT = 3, /* one JSON object */
	HG_CHUNK_INDEX = 4,
};

struct hg_reader;

struct hg_chunk_info {
	uint64_t offset;     /* in the file */
	uint64_t size_bytes; /* on disk, with its header */
	uint64_t raw_bytes;  /* after decompression */
	uint64_t first_ns, last_ns;
	uint64_t lost;
	/* of its type, machine and stream, from 0: a gap is a chunk that is missing */
	uint64_t sequence;
	uint32_t records;
	/* records that came with an earlier time than their predecessor's and got that */
	uint32_t raised;
	uint32_t stream;
	uint16_t machine;
	uint16_t type;
};

/* What is wrong with a file, in numbers; sentences are logged once by hg_reader_open. */
struct hg_reader_health {
	bool finalised; /* recording ended in order */
	bool index_ok;
	uint64_t bytes_bad;	 /* skipped while looking for the next whole chunk */
	uint64_t chunks_bad;	 /* whole by size, but checksum or content wrong */
	uint64_t chunks_missing; /* gaps in the streams' sequences */
	uint64_t bytes_cut;	 /* of an unfinished chunk at the end */
	char sentence[256];	 /* "" when the file is in order */
};

/*
 * Opens the file, and scans and checks all its chunks once. -EINVAL: not a .hgt file; -ENOTSUP: made by an incompatible version; or
 * -errno. Damage is no failure: see health; damaged chunks are left out. One sentence is logged for either.
 */
int hg_reader_open(const char *path, struct hg_reader **out);
void hg_reader_close(struct hg_reader *r);
static inline void hg_reader_closep(struct hg_reader **r)
{
	if (*r)
		hg_reader_close(*r);
}

const struct hg_reader_health *hg_reader_health(const struct hg_reader *r);
size_t hg_reader_chunks(const struct hg_reader *r, const struct hg_chunk_info **out);

/* "" for 0; NULL if the definition is missing from a damaged file. Owned by r. */
const char *hg_reader_string(const struct hg_reader *r, uint64_t id, size_t *length_out);

/* The first blob of a type (environment JSON), decompressed, terminated; caller frees. -ENOENT. */
int hg_reader_blob(struct hg_reader *r, uint16_t type, uint16_t machine, char **out,
		   size_t *size_out);

/*
 * Walks records in time order over all streams (merged; ties by machine, stream, position).
 * A stream can be left out by the filter. Opens one chunk per stream at a time.
 */
struct hg_cursor;
struct hg_cursor_opts {
	/* chunks wholly outside are skipped, records are not filtered; to_ns 0 = end */
	uint64_t from_ns, to_ns;
	bool (*want)(void *arg, uint16_t machine, uint32_t stream); /* NULL: all */
	void *arg;
	bool (*want_kind)(uint16_t kind); /* NULL: all; others cost much less */
};
int hg_cursor_open(struct hg_reader *r, const struct hg_cursor_opts *opts, struct hg_cursor **out);
void hg_cursor_close(struct hg_cursor *c);
static inline void hg_cursor_closep(struct hg_cursor **c)
{
	if (*c)
		hg_cursor_close(*c);
}
/* 1 and *out (valid until the next call), 0 at the end, or -errno (ENOMEM only: damage is skipped). */
int hg_cursor_next(struct hg_cursor *c, const struct hg_record **out);
/*
 * The same, as many at once as come from one stream: their number. These records have no fields
 * beyond those of their kind: the next one may lie there. Not to be mixed with hg_cursor_next.
 */
int hg_cursor_run(struct hg_cursor *c, const struct hg_record *const **out);

/*
 * A chunk that was lost to damage leaves a hole in its stream; holes are reported as synthetic
 * HG_KIND_LOSS records of that stream (PROBE = HG_LOSS_DAMAGE, COUNT = records if known) at the
 * hole's end, SINCE reaching back to its start.
 */
#define HG_LOSS_DAMAGE 0xffff

#endif
