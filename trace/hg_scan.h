/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the chunks of a .hgt file: walks it from its header, goes on behind damage,
 * and compares what it found with the index. Used by hg_reader.c only.
 */
#ifndef HG_SCAN_H
#define HG_SCAN_H

#include "trace/hg_format.h"

/* Reads at most one chunk at a time into a buffer that it keeps. Never mapped: files shrink. */
struct hg_chunk_buffer {
	uint8_t *bytes;
	size_t cap;
};

/* A definition that a STRINGS chunk holds is kept by whoever scans. */
struct hg_scan {
	struct hg_chunk_info *chunks; /* whole, in file order; without INDEX chunks */
	size_t nchunks, chunks_cap;
	struct hg_chunk_info *lost; /* not whole, but known by their header or the index */
	size_t nlost, lost_cap;
	struct hg_file_header header;
	bool header_ok, have_id;
	bool cut; /* the file ends before the index that its header promises */
	uint64_t size_bytes;
	struct hg_reader_health health; /* without sentence */
};

/*
 * fd is a regular file. found is called for each whole chunk, in file order, with its bytes; it returns 0,
 * -EBADMSG if its content is wrong, or -ENOMEM. 0; -EINVAL, -ENOTSUP as hg_reader_open; or -errno.
 */
typedef int (*hg_scan_found_fn)(void *arg, const uint8_t *chunk, const struct hg_chunk_header *h);
int hg_scan_file(int fd, struct hg_scan *scan, hg_scan_found_fn found, void *arg);
void hg_scan_free(struct hg_scan *scan);

/* Reads one chunk again and checks it. 0, -EBADMSG (also: the file is shorter now), -ENOMEM, -EIO. */
int hg_scan_chunk(int fd, const struct hg_scan *scan, const struct hg_chunk_info *info,
		  struct hg_chunk_buffer *buffer, struct hg_chunk_header *out);

#endif
