/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a .hgt file: file header, chunk header, limits and checksums, as
 * hourglass-trace(5) describes them. Used inside trace/ and by its tests only.
 * Everything on disk is little-endian.
 */
#ifndef HG_FORMAT_H
#define HG_FORMAT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/hg_reader.h"

/* As in PNG: not text, and damaged by whoever converts line ends or strips the high bit. */
#define HG_FILE_MAGIC	    "\x89HGT\r\n\x1a\n"
/* Raised when a reader of the version before would misread what is written now. */
#define HG_FILE_VERSION	    2
#define HG_FILE_HEADER_SIZE 64
#define HG_INDEX_NONE	    UINT64_MAX /* not finalised */

#define HG_CHUNK_MAGIC	      0x4b434748u /* "HGCK" */
#define HG_CHUNK_HEADER_SIZE  80
#define HG_CHUNK_ALIGN	      8
#define HG_CHUNK_RAW_MAX      (4u << 20)
#define HG_CHUNK_STORED_MAX   (HG_CHUNK_RAW_MAX + (HG_CHUNK_RAW_MAX >> 6) + 64)
#define HG_CHUNK_RECORDS_MAX  65536 /* of a RECORDS chunk */
#define HG_CHUNK_SEQUENCE_MAX (UINT64_C(1) << 48)
#define HG_CHUNK_KINDS_MAX    255
#define HG_CHUNK_FIELDS_MAX                                                                        \
	64 /* of a kind, as stored: later versions may have more than HG_FIELDS_MAX */
#define HG_STRING_MAX 65536

#define HG_INDEX_HEADER_SIZE 16
#define HG_INDEX_ENTRY_SIZE  80
#define HG_INDEX_ENTRIES_MAX ((HG_CHUNK_RAW_MAX - HG_INDEX_HEADER_SIZE) / HG_INDEX_ENTRY_SIZE)

struct hg_file_header {
	uint32_t version;
	uint64_t compatible;   /* features that an old reader may ignore */
	uint64_t incompatible; /* features that it must know */
	uint64_t
		file_id; /* random; every chunk repeats it, so that a chunk inside a chunk is no chunk */
	uint64_t index_offset; /* HG_INDEX_NONE until the file is whole */
};

struct hg_chunk_header {
	uint64_t file_id;
	uint64_t sequence; /* of (type, machine, stream), from 0 */
	uint64_t first_ns, last_ns;
	uint64_t lost;
	uint32_t stream;
	uint32_t records;
	uint32_t raised; /* records whose time was raised to their predecessor's */
	uint32_t raw_size;
	uint32_t stored_size; /* of the zstd frame, without padding */
	uint16_t type;
	uint16_t machine;
};

static inline void hg_put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}
static inline void hg_put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}
static inline void hg_put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}
static inline uint16_t hg_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}
static inline uint32_t hg_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}
static inline uint64_t hg_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline size_t hg_chunk_padded(size_t stored_size)
{
	return (stored_size + HG_CHUNK_ALIGN - 1) & ~(size_t)(HG_CHUNK_ALIGN - 1);
}
/* On disk, with header and padding. */
static inline size_t hg_chunk_size(const struct hg_chunk_header *h)
{
	return HG_CHUNK_HEADER_SIZE + hg_chunk_padded(h->stored_size);
}

void hg_file_header_pack(uint8_t dst[HG_FILE_HEADER_SIZE], const struct hg_file_header *h);
/* 0; -EINVAL: another magic; -EBADMSG: our magic, wrong checksum; -ENOTSUP: incompatible. */
int hg_file_header_unpack(const uint8_t src[HG_FILE_HEADER_SIZE], struct hg_file_header *out);
/* Of a header that hg_file_header_unpack() found incompatible: the version that wrote it. */
uint32_t hg_file_header_version(const uint8_t src[HG_FILE_HEADER_SIZE]);

/* Fills header and padding of a chunk whose frame is already at its place in dst (hg_chunk_size bytes). */
void hg_chunk_pack(uint8_t *dst, const struct hg_chunk_header *h);
/* Header only: magic, its checksum and limits. 0 or -EBADMSG. */
int hg_chunk_header_unpack(const uint8_t src[HG_CHUNK_HEADER_SIZE], struct hg_chunk_header *out);
/* The whole chunk of hg_chunk_size(h) bytes: checksum and padding. */
bool hg_chunk_is_whole(const uint8_t *chunk, const struct hg_chunk_header *h);

/* An index entry is the chunk's place and header. Offset, size, raw, ... of info are filled. */
void hg_index_entry_pack(uint8_t dst[HG_INDEX_ENTRY_SIZE], const struct hg_chunk_info *info);
void hg_index_entry_unpack(const uint8_t src[HG_INDEX_ENTRY_SIZE], struct hg_chunk_info *out);

/*
 * Decompresses exactly raw_size bytes of one frame into dst. dctx is a ZSTD_DCtx. 0 or -EBADMSG.
 */
int hg_chunk_inflate(void *dctx, const uint8_t *chunk, const struct hg_chunk_header *h,
		     uint8_t *dst);

void hg_chunk_info_fill(struct hg_chunk_info *info, uint64_t offset,
			const struct hg_chunk_header *h);

#endif
