/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_format.h"

#include <errno.h>

#define XXH_STATIC_LINKING_ONLY /* a hash state on the stack */
#include <xxhash.h>
#include <zstd.h>

#define CHUNK_CHECK_AT	  68 /* header checksum: bytes before it */
#define CHUNK_CHECKSUM_AT 72 /* whole chunk: bytes before and after it */

void hg_file_header_pack(uint8_t dst[HG_FILE_HEADER_SIZE], const struct hg_file_header *h)
{
	memset(dst, 0, HG_FILE_HEADER_SIZE);
	memcpy(dst, HG_FILE_MAGIC, 8);
	hg_put32(dst + 8, h->version);
	hg_put32(dst + 12, HG_FILE_HEADER_SIZE);
	hg_put64(dst + 16, h->compatible);
	hg_put64(dst + 24, h->incompatible);
	hg_put64(dst + 32, h->file_id);
	hg_put64(dst + 40, h->index_offset);
	hg_put64(dst + 56, XXH64(dst, 56, 0));
}

int hg_file_header_unpack(const uint8_t src[HG_FILE_HEADER_SIZE], struct hg_file_header *out)
{
	if (memcmp(src, HG_FILE_MAGIC, 8))
		return -EINVAL;
	if (hg_get64(src + 56) != XXH64(src, 56, 0))
		return -EBADMSG;
	if (hg_get32(src + 8) != HG_FILE_VERSION || hg_get32(src + 12) != HG_FILE_HEADER_SIZE ||
	    hg_get64(src + 24))
		return -ENOTSUP;
	*out = (struct hg_file_header){
		.version = hg_get32(src + 8),
		.compatible = hg_get64(src + 16),
		.incompatible = hg_get64(src + 24),
		.file_id = hg_get64(src + 32),
		.index_offset = hg_get64(src + 40),
	};
	return 0;
}

uint32_t hg_file_header_version(const uint8_t src[HG_FILE_HEADER_SIZE])
{
	return hg_get32(src + 8);
}

static uint64_t chunk_checksum(const uint8_t *chunk, const struct hg_chunk_header *h)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	XXH64_update(&state, chunk, CHUNK_CHECKSUM_AT);
	XXH64_update(&state, chunk + HG_CHUNK_HEADER_SIZE, hg_chunk_padded(h->stored_size));
	return XXH64_digest(&state);
}

void hg_chunk_pack(uint8_t *dst, const struct hg_chunk_header *h)
{
	hg_put32(dst, HG_CHUNK_MAGIC);
	hg_put16(dst + 4, h->type);
	hg_put16(dst + 6, h->machine);
	hg_put32(dst + 8, h->stream);
	hg_put32(dst + 12, h->records);
	hg_put64(dst + 16, h->file_id);
	hg_put64(dst + 24, h->sequence);
	hg_put64(dst + 32, h->first_ns);
	hg_put64(dst + 40, h->last_ns);
	hg_put64(dst + 48, h->lost);
	hg_put32(dst + 56, h->raised);
	hg_put32(dst + 60, h->raw_size);
	hg_put32(dst + 64, h->stored_size);
	hg_put32(dst + CHUNK_CHECK_AT, (uint32_t)XXH64(dst, CHUNK_CHECK_AT, 0));
	memset(dst + HG_CHUNK_HEADER_SIZE + h->stored_size, 0,
	       hg_chunk_padded(h->stored_size) - h->stored_size);
	hg_put64(dst + CHUNK_CHECKSUM_AT, chunk_checksum(dst, h));
}

int hg_chunk_header_unpack(const uint8_t src[HG_CHUNK_HEADER_SIZE], struct hg_chunk_header *out)
{
	struct hg_chunk_header h;

	if (hg_get32(src) != HG_CHUNK_MAGIC ||
	    hg_get32(src + CHUNK_CHECK_AT) != (uint32_t)XXH64(src, CHUNK_CHECK_AT, 0))
		return -EBADMSG;
	h = (struct hg_chunk_header){
		.type = hg_get16(src + 4),
		.machine = hg_get16(src + 6),
		.stream = hg_get32(src + 8),
		.records = hg_get32(src + 12),
		.file_id = hg_get64(src + 16),
		.sequence = hg_get64(src + 24),
		.first_ns = hg_get64(src + 32),
		.last_ns = hg_get64(src + 40),
		.lost = hg_get64(src + 48),
		.raised = hg_get32(src + 56),
		.raw_size = hg_get32(src + 60),
		.stored_size = hg_get32(src + 64),
	};
	if (h.raw_size > HG_CHUNK_RAW_MAX || h.stored_size > HG_CHUNK_STORED_MAX ||
	    h.sequence > HG_CHUNK_SEQUENCE_MAX)
		return -EBADMSG;
	*out = h;
	return 0;
}

bool hg_chunk_is_whole(const uint8_t *chunk, const struct hg_chunk_header *h)
{
	for (size_t i = h->stored_size; i < hg_chunk_padded(h->stored_size); i++) {
		if (chunk[HG_CHUNK_HEADER_SIZE + i])
			return false;
	}
	return hg_get64(chunk + CHUNK_CHECKSUM_AT) == chunk_checksum(chunk, h);
}

void hg_index_entry_pack(uint8_t dst[HG_INDEX_ENTRY_SIZE], const struct hg_chunk_info *info)
{
	hg_put64(dst, info->offset);
	hg_put64(dst + 8, info->size_bytes);
	hg_put64(dst + 16, info->raw_bytes);
	hg_put64(dst + 24, info->first_ns);
	hg_put64(dst + 32, info->last_ns);
	hg_put64(dst + 40, info->lost);
	hg_put64(dst + 48, info->sequence);
	hg_put32(dst + 56, info->records);
	hg_put32(dst + 60, info->raised);
	hg_put32(dst + 64, info->stream);
	hg_put16(dst + 68, info->machine);
	hg_put16(dst + 70, info->type);
	hg_put64(dst + 72, 0);
}

void hg_index_entry_unpack(const uint8_t src[HG_INDEX_ENTRY_SIZE], struct hg_chunk_info *out)
{
	*out = (struct hg_chunk_info){
		.offset = hg_get64(src),
		.size_bytes = hg_get64(src + 8),
		.raw_bytes = hg_get64(src + 16),
		.first_ns = hg_get64(src + 24),
		.last_ns = hg_get64(src + 32),
		.lost = hg_get64(src + 40),
		.sequence = hg_get64(src + 48),
		.records = hg_get32(src + 56),
		.raised = hg_get32(src + 60),
		.stream = hg_get32(src + 64),
		.machine = hg_get16(src + 68),
		.type = hg_get16(src + 70),
	};
}

int hg_chunk_inflate(void *dctx, const uint8_t *chunk, const struct hg_chunk_header *h,
		     uint8_t *dst)
{
	const uint8_t *frame = chunk + HG_CHUNK_HEADER_SIZE;
	size_t got;

	/* Exactly one frame: zstd itself would go on with what follows it. */
	if (ZSTD_findFrameCompressedSize(frame, h->stored_size) != h->stored_size)
		return -EBADMSG;
	got = ZSTD_decompressDCtx(dctx, dst, h->raw_size, frame, h->stored_size);
	return ZSTD_isError(got) || got != h->raw_size ? -EBADMSG : 0;
}

void hg_chunk_info_fill(struct hg_chunk_info *info, uint64_t offset,
			const struct hg_chunk_header *h)
{
	*info = (struct hg_chunk_info){
		.offset = offset,
		.size_bytes = hg_chunk_size(h),
		.raw_bytes = h->raw_size,
		.first_ns = h->first_ns,
		.last_ns = h->last_ns,
		.lost = h->lost,
		.sequence = h->sequence,
		.records = h->records,
		.raised = h->raised,
		.stream = h->stream,
		.machine = h->machine,
		.type = h->type,
	};
}
