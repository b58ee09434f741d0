/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader on any bytes. The first byte of an input chooses: 0, the rest is the file; else the rest
 * describes chunks (see struct piece), which get frames and checksums, so that the fuzzer reaches what
 * lies behind these.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hg_log.h"
#include "trace/hg_format.h"
#include "trace/hg_reader.h"

#define FILE_BYTES_MAX (1u << 20)
#define PIECE_BYTES    16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void log_nothing(void *arg, enum hg_log_level level, const char *message)
{
}

/* One raw block: a frame without the cost of compression. Blocks hold at most 128 KiB. */
static size_t put_frame(uint8_t *dst, const uint8_t *raw, size_t size)
{
	hg_put32(dst, 0xfd2fb528);
	dst[4] = 0xa0; /* one segment, content size in four bytes */
	hg_put32(dst + 5, (uint32_t)size);
	hg_put32(dst + 9, (uint32_t)size << 3 | 1); /* last block, raw; three bytes */
	memcpy(dst + 12, raw, size);
	return 12 + size;
}

/* A chunk from 16 bytes of header and the payload that follows. */
static size_t put_chunk(uint8_t *dst, const uint8_t **data, size_t *left)
{
	const uint8_t *p = *data;
	struct hg_chunk_header h = {
		.file_id = 1,
		.type = p[0],
		.machine = p[1],
		.stream = p[2],
		.sequence = p[3],
		.records = hg_get16(p + 4),
		.raised = p[6],
		.lost = p[7],
		.first_ns = hg_get16(p + 8),
		.last_ns = hg_get32(p + 10),
		.raw_size = hg_get16(p + 14),
	};

	*data += PIECE_BYTES;
	*left -= PIECE_BYTES;
	if (h.raw_size > *left)
		h.raw_size = (uint32_t)*left;
	h.stored_size = (uint32_t)put_frame(dst + HG_CHUNK_HEADER_SIZE, *data, h.raw_size);
	*data += h.raw_size;
	*left -= h.raw_size;
	hg_chunk_pack(dst, &h);
	return hg_chunk_size(&h);
}

static size_t build(uint8_t *file, const uint8_t *data, size_t left)
{
	struct hg_file_header header = {
		.version = HG_FILE_VERSION, .file_id = 1, .index_offset = HG_INDEX_NONE};
	size_t size = HG_FILE_HEADER_SIZE;

	while (left >= PIECE_BYTES && size + left + 256 < FILE_BYTES_MAX) {
		if (data[0] == HG_CHUNK_INDEX && header.index_offset == HG_INDEX_NONE)
			header.index_offset = size;
		size += put_chunk(file + size, &data, &left);
	}
	hg_file_header_pack(file, &header);
	return size;
}

/* What any user of the reader does, and what it may rely on. */
static void read_all(struct hg_reader *r)
{
	const struct hg_record *rec;
	struct hg_cursor *c;
	struct hg_record last = {0};
	char *text;
	size_t size;
	int err;

	for (uint64_t id = 0; id < 300; id++) {
		const char *name = hg_reader_string(r, id, &size);

		assert(!name || !name[size]);
	}
	for (uint16_t type = 0; type < 8; type++) {
		if (!hg_reader_blob(r, type, 0, &text, &size)) {
			assert(!text[size]);
			free(text);
		}
	}
	if (hg_cursor_open(r, NULL, &c))
		return;
	while ((err = hg_cursor_next(c, &rec)) == 1) {
		assert(rec->time_ns >= last.time_ns && hg_kind_find(rec->kind));
		assert(rec->time_ns > last.time_ns || rec->machine > last.machine ||
		       (rec->machine == last.machine && rec->stream >= last.stream));
		last = *rec;
	}
	assert(!err);
	hg_cursor_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t file[FILE_BYTES_MAX];
	static int fd = -1;
	static char path[64];
	const uint8_t *bytes = data + 1;
	struct hg_reader *r;

	if (fd < 0) {
		hg_log_set(log_nothing, NULL);
		fd = memfd_create("hg-fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (!size--)
		return 0;
	if (*data) {
		size = build(file, bytes, size);
		bytes = file;
	}
	if (ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		return 0;
	if (!hg_reader_open(path, &r)) {
		read_all(r);
		hg_reader_close(r);
	}
	return 0;
}
