/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a .hgt file. Called by the collector and by import; by several threads at once, except open and close.
 * Records are gathered into chunks of one stream, closed at 256 KiB of input or
 * after one second; a thread of the writer compresses and writes them.
 */
#ifndef HG_WRITER_H
#define HG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_kinds.h"

struct hg_writer;

struct hg_writer_stats {
	uint64_t records;   /* accepted so far */
	uint64_t bytes_in;  /* of the chunks' input measure */
	uint64_t bytes_out; /* written to the file so far */
	uint64_t chunks;
	uint64_t cpu_ns;	 /* CPU time of the compressing thread */
	size_t queued_bytes_max; /* most that waited for that thread */
	uint64_t events;	 /* records of CPU streams that are in the file, but losses */
	uint64_t last_ns;	 /* the last time in the file; 0: no record */
};

/*
 * Takes ownership of fd (open for writing, at offset 0, seekable), also on failure. 0 or -errno.
 * path is for messages only.
 */
int hg_writer_open(int fd, const char *path, struct hg_writer **out);

/*
 * The host's times go in such steps (hg_steps.h), as far as is known: they take less room then. Before the first record.
 */
void hg_writer_step_set(struct hg_writer *w, uint64_t step);

/*
 * Interns a string (any bytes, at most 64 KiB: longer ones are cut and end in "..."); 0 is
 * the empty string's id. The same bytes give the same id, until 16 MiB of distinct strings are
 * remembered: then they are forgotten, and a string that comes again gets a second id. 0 or -errno.
 */
int hg_writer_string(struct hg_writer *w, const char *text, size_t length, uint32_t *id_out);

/*
 * Appends a record (machine and stream are taken from the arguments, not from rec). Times of one stream must not decrease: a record that is
 * earlier than its stream's last one is given that time and counted in the chunk's
 * header. 0; -EINVAL: hg_kinds.c has no such kind; or the -errno of the first write that failed (ENOSPC, ...), for ever after:
 * what was written before stays whole.
 */
int hg_writer_record(struct hg_writer *w, uint16_t machine, uint32_t stream,
		     const struct hg_record *rec);

/* Adds to the lost count of the stream's chunk that is being filled. */
void hg_writer_lost(struct hg_writer *w, uint16_t machine, uint32_t stream, uint64_t count);

/*
 * A section that is not records: HG_CHUNK_ENVIRONMENT (JSON text), guest bytes, ... 0, -E2BIG
 * (more than 4 MiB) or -errno.
 */
int hg_writer_blob(struct hg_writer *w, uint16_t type, uint16_t machine, uint32_t stream,
		   const void *data, size_t size);

/*
 * Call once after each round over all rings: closes chunks older than a second, and hands on
 * those closed in the round before, behind all definitions that arrived since. A lane
 * defined in one ring is thus in the file before another ring's record names it. When more than
 * 16 MiB of closed chunks wait for the next round, they are handed on at once.
 */
int hg_writer_round(struct hg_writer *w, uint64_t now_ns);

void hg_writer_stats_get(const struct hg_writer *w, struct hg_writer_stats *out);

/* True once a write has failed; one message has told it. */
bool hg_writer_failed(const struct hg_writer *w);

/* Writes everything, the index and the finalised header; frees w. 0 or the first -errno, told by one message. */
int hg_writer_close(struct hg_writer *w);
/* The same; stats_out says what is in the file, also after a failure. */
int hg_writer_close_stats(struct hg_writer *w, struct hg_writer_stats *stats_out);

#endif
