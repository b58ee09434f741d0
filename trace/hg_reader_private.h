/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hg_reader.c and hg_cursor.c share. */
#ifndef HG_READER_PRIVATE_H
#define HG_READER_PRIVATE_H

#include "trace/hg_names.h"
#include "trace/hg_scan.h"

struct hg_reader {
	int fd;
	char *name; /* last part of the path, for messages */
	struct hg_scan scan;
	struct hg_names names;
	struct ZSTD_DCtx_s *zstd;
	uint8_t *refused; /* by chunk: its content turned out to be wrong when it was read */
	bool refused_logged;
};

/*
 * Reads and decompresses chunk i into raw (grown as needed). buffer is the caller's. 0, -EBADMSG (the
 * chunk is then noted as bad) or -ENOMEM.
 */
int hg_reader_chunk_load(struct hg_reader *r, size_t i, struct hg_chunk_buffer *buffer,
			 struct hg_chunk_buffer *raw);
/* Notes a chunk whose content is wrong although its checksum is right; says so once. */
void hg_reader_chunk_refuse(struct hg_reader *r, size_t i);

#endif
