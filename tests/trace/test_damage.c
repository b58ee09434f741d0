/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are cut, flipped and mutated: what is intact comes back, nothing else does, and one
 * sentence says that something is wrong.
 */
#include "tests/trace/hg_trace_oracle.h"

#include <sys/mman.h>

#include <zstd.h>

#define STRINGS 40
#define STREAMS 4

/* A file in memory, and all that it says. */
struct original {
	int fd; /* memfd, holds the variant that is read */
	char path[64];
	uint8_t *bytes;
	size_t size;
	struct sample_list want; /* in the cursor's order */
	struct hg_chunk_info *chunks;
	size_t nchunks;
	uint64_t step; /* of the clock, 0: none; then most records are softirqs of two CPUs */
	char names[STRINGS + 1][32]; /* by id */
};

static const uint32_t streams[STREAMS] = {HG_STREAM_CONTROL, HG_STREAM_SAMPLER, HG_STREAM_CPU0,
					  HG_STREAM_CPU0 + 1};

static void write_original(struct original *o, uint64_t seed, size_t n, size_t per_round)
{
	uint64_t time = 1000;
	uint32_t id;
	struct hg_writer *w;

	assert_int_equal(hg_writer_open(dup(o->fd), "original", &w), 0);
	assert_int_equal(hg_writer_blob(w, HG_CHUNK_ENVIRONMENT, 0, 0, "{}", 2), 0);
	hg_writer_step_set(w, o->step);
	for (size_t i = 0; i < n; i++) {
		uint32_t stream = streams[sample_random(&seed) % STREAMS];
		uint16_t kind = hg_kinds[sample_random(&seed) % hg_kinds_count].kind;
		struct hg_record rec;

		if (o->step && sample_random(&seed) % 8) {
			stream = streams[STREAMS - 1 - i % 2];
			kind = HG_KIND_SOFTIRQ;
		}

		if (i * STRINGS / n != (i + 1) * STRINGS / n) {
			snprintf(o->names[1 + i * STRINGS / n], sizeof(o->names[0]), "name %zu",
				 i * STRINGS / n);
			assert_int_equal(hg_writer_string(w, o->names[1 + i * STRINGS / n],
							  strlen(o->names[1 + i * STRINGS / n]),
							  &id),
					 0);
			assert_int_equal(id, 1 + i * STRINGS / n);
		}
		time += 1 + sample_random(&seed) % 1000;
		sample_record(&seed, kind, time, &rec);
		if (o->step)
			sample_step(&seed, o->step, &rec);
		/* No record of the test looks like the reader's own. */
		if (kind == HG_KIND_LOSS && rec.f[HG_LOSS_PROBE] == HG_LOSS_DAMAGE)
			rec.f[HG_LOSS_PROBE] = 0;
		assert_int_equal(hg_writer_record(w, 0, stream, &rec), 0);
		rec.stream = stream;
		sample_list_add(&o->want, &rec);
		/* Rounds a second apart: many small chunks. */
		if (i % per_round == per_round - 1)
			assert_int_equal(hg_writer_round(w, (i + 1) * HG_NSEC_PER_SEC), 0);
	}
	assert_int_equal(hg_writer_close(w), 0);
}

static void original_make_steps(struct original *o, uint64_t seed, size_t n, size_t per_round,
				uint64_t step)
{
	const struct hg_chunk_info *chunks;
	struct hg_reader *r;

	*o = (struct original){.fd = memfd_create("hg-damage", MFD_CLOEXEC), .step = step};
	assert_true(o->fd >= 0);
	snprintf(o->path, sizeof(o->path), "/proc/self/fd/%d", o->fd);
	write_original(o, seed, n, per_round);
	o->bytes = sample_read(o->path, &o->size);
	assert_int_equal(hg_reader_open(o->path, &r), 0);
	assert_string_equal(hg_reader_health(r)->sentence, "");
	o->nchunks = hg_reader_chunks(r, &chunks);
	o->chunks = malloc(o->nchunks * sizeof(*chunks));
	assert_non_null(o->chunks);
	memcpy(o->chunks, chunks, o->nchunks * sizeof(*chunks));
	hg_reader_close(r);
}

static void original_make(struct original *o, uint64_t seed, size_t n, size_t per_round)
{
	original_make_steps(o, seed, n, per_round, 0);
}

static void original_free(struct original *o)
{
	close(o->fd);
	free(o->bytes);
	free(o->chunks);
	sample_list_free(&o->want);
}

static void variant_set(struct original *o, const uint8_t *bytes, size_t size)
{
	assert_int_equal(ftruncate(o->fd, (off_t)size), 0);
	assert_int_equal(pwrite(o->fd, bytes, size, 0), size);
}

static bool is_damage(const struct hg_record *rec)
{
	return rec->kind == HG_KIND_LOSS && rec->f[HG_LOSS_PROBE] == HG_LOSS_DAMAGE;
}

/*
 * Everything in got is in want, in order; what is missing between two records of a stream was
 * announced there by a LOSS record that counts no more than that.
 */
static size_t check_subsequence(const struct sample_list *got, const struct sample_list *want)
{
	size_t at[STREAMS] = {0}, good = 0;
	bool announced[STREAMS] = {false};
	uint64_t count[STREAMS] = {0}, time = 0;

	for (size_t i = 0; i < got->n; i++) {
		const struct hg_record *rec = &got->v[i];
		size_t s = 0, skipped = 0;

		assert_true(rec->time_ns >= time);
		time = rec->time_ns;
		while (s < STREAMS && streams[s] != rec->stream)
			s++;
		assert_true(s < STREAMS);
		if (is_damage(rec)) {
			announced[s] = true;
			count[s] = rec->f[HG_LOSS_COUNT];
			assert_true(rec->f[HG_LOSS_SINCE] <= rec->time_ns);
			continue;
		}
		for (;; at[s]++) {
			assert_true(at[s] < want->n);
			if (want->v[at[s]].stream != rec->stream)
				continue;
			if (sample_equal(&want->v[at[s]], rec))
				break;
			skipped++;
		}
		assert_true(!skipped || announced[s]);
		assert_true(count[s] <= skipped);
		announced[s] = false;
		count[s] = 0;
		at[s]++;
		good++;
	}
	return good;
}

static void check_names(const struct original *o, struct hg_reader *r)
{
	for (uint64_t id = 1; id <= STRINGS; id++) {
		const char *name = hg_reader_string(r, id, NULL);

		assert_true(!name || !strcmp(name, o->names[id]));
	}
	assert_null(hg_reader_string(r, STRINGS + 1, NULL));
}

/* Reads the variant: damaged, but all of the original's chunks outside [bad_from, bad_to) are whole. */
static size_t check_damaged(struct original *o, uint64_t bad_from, uint64_t bad_to)
{
	struct sample_log log = {0};
	static struct sample_list got; /* kept: growing it took most of the time */
	struct hg_reader *r;
	size_t intact = 0, good;
	char *text;

	got.n = 0;
	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_reader_open(o->path, &r), 0);
	sample_list_read(r, NULL, &got);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
	assert_string_equal(log.last, hg_reader_health(r)->sentence);
	check_names(o, r);
	for (size_t i = 0; i < o->nchunks; i++) {
		const struct hg_chunk_info *c = &o->chunks[i];
		bool whole = c->offset + c->size_bytes <= bad_from || c->offset >= bad_to;

		if (whole && c->type == HG_CHUNK_RECORDS)
			intact += c->records;
		if (whole && c->type == HG_CHUNK_ENVIRONMENT) {
			assert_int_equal(hg_reader_blob(r, c->type, 0, &text, NULL), 0);
			assert_string_equal(text, "{}");
			free(text);
		}
	}
	good = check_subsequence(&got, &o->want);
	hg_reader_close(r);
	assert_true(good >= intact);
	return good - intact;
}

static void check_only_intact(struct original *o, uint64_t bad_from, uint64_t bad_to)
{
	assert_int_equal(check_damaged(o, bad_from, bad_to), 0);
}

static void check_cut(struct original *o, size_t size)
{
	struct sample_log log = {0};
	struct hg_reader *r;

	assert_int_equal(ftruncate(o->fd, (off_t)size), 0);
	if (size >= HG_FILE_HEADER_SIZE) {
		check_only_intact(o, size, UINT64_MAX);
		return;
	}
	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_reader_open(o->path, &r), -EINVAL);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
}

static void check_flip(struct original *o, size_t at, uint8_t bits)
{
	uint8_t flipped = o->bytes[at] ^ bits;

	assert_int_equal(pwrite(o->fd, &flipped, 1, (off_t)at), 1);
	check_only_intact(o, at, at + 1);
	assert_int_equal(pwrite(o->fd, &o->bytes[at], 1, (off_t)at), 1);
}

static void small_file_cut_at_every_byte(void **state)
{
	struct original o;

	original_make(&o, 3, 80, 20);
	assert_true(o.size < 8192 && o.nchunks > 8);
	for (size_t size = o.size; size-- > 0;)
		check_cut(&o, size);
	original_free(&o);
}

static void small_file_flipped_at_every_byte(void **state)
{
	uint64_t seed = 5;
	struct original o;

	original_make(&o, 4, 80, 20);
	for (size_t at = 0; at < o.size; at++) {
		check_flip(&o, at, 0xff);
		check_flip(&o, at, (uint8_t)(1u << sample_random(&seed) % 8));
	}
	original_free(&o);
}

/* As a recorder leaves it that was killed: no index, the header says "not finalised". */
static void unfinished_file_cut_and_flipped(void **state)
{
	struct hg_file_header header;
	struct original o;
	size_t end;

	original_make(&o, 6, 80, 20);
	end = o.chunks[o.nchunks - 1].offset + o.chunks[o.nchunks - 1].size_bytes;
	assert_int_equal(hg_file_header_unpack(o.bytes, &header), 0);
	header.index_offset = HG_INDEX_NONE;
	hg_file_header_pack(o.bytes, &header);
	variant_set(&o, o.bytes, end);
	check_only_intact(&o, UINT64_MAX, UINT64_MAX);
	for (size_t at = 0; at < end; at++)
		check_flip(&o, at, 0x10);
	for (size_t size = end; size-- > HG_FILE_HEADER_SIZE;)
		check_cut(&o, size);
	original_free(&o);
}

static void large_file_cut_and_flipped_at_random(void **state)
{
	uint64_t seed = 8;
	struct original o;

	original_make(&o, 9, 6000, 700);
	for (unsigned int i = 0; i < 1000; i++)
		check_flip(&o, sample_random(&seed) % o.size,
			   (uint8_t)(1 + sample_random(&seed) % 255));
	for (unsigned int i = 0; i < 1000; i++) {
		variant_set(&o, o.bytes, o.size);
		check_cut(&o, sample_random(&seed) % o.size);
	}
	original_free(&o);
}

static void append(struct original *o, const void *bytes, size_t size)
{
	variant_set(o, o->bytes, o->size);
	assert_int_equal(pwrite(o->fd, bytes, size, (off_t)o->size), size);
}

/* Bytes behind the end, also another whole file, are noticed and give no record. */
static void what_follows_the_end_is_not_read(void **state)
{
	struct original o, other;

	original_make(&o, 10, 80, 20);
	original_make(&other, 11, 80, 20);
	append(&o, "x", 1);
	check_only_intact(&o, UINT64_MAX, UINT64_MAX);
	append(&o, other.bytes, other.size);
	check_only_intact(&o, UINT64_MAX, UINT64_MAX);
	/* and its own chunks once more */
	append(&o, o.bytes + HG_FILE_HEADER_SIZE, o.size - HG_FILE_HEADER_SIZE);
	check_only_intact(&o, UINT64_MAX, UINT64_MAX);
	original_free(&o);
	original_free(&other);
}

/* A part that is gone altogether, so that all that follows has moved. */
static void bytes_taken_out_of_the_middle(void **state)
{
	uint64_t seed = 12;
	struct original o;

	original_make(&o, 13, 400, 40);
	for (unsigned int i = 0; i < 300; i++) {
		size_t at = HG_FILE_HEADER_SIZE +
			    sample_random(&seed) % (o.size - HG_FILE_HEADER_SIZE - 1);
		size_t n = 1 + sample_random(&seed) % HG_MIN(o.size - at - 1, 3000);
		hg_autofree uint8_t *bytes = malloc(o.size);

		memcpy(bytes, o.bytes, at);
		memcpy(bytes + at, o.bytes + at + n, o.size - at - n);
		variant_set(&o, bytes, o.size - n);
		/* More may come back: a chunk can lend its magic to the next. */
		check_damaged(&o, at, at + n);
	}
	original_free(&o);
}

/* Compresses raw in place of chunk i and makes its checksums right; what follows moves. */
static uint8_t *replace_chunk(const struct original *o, size_t i, const uint8_t *raw,
			      size_t raw_size, const uint8_t *frame, size_t frame_size,
			      size_t *size_out)
{
	const struct hg_chunk_info *info = &o->chunks[i];
	size_t behind = info->offset + info->size_bytes, size;
	uint8_t *bytes = malloc(o->size + raw_size + frame_size + 4096);
	struct hg_chunk_header h;

	assert_non_null(bytes);
	memcpy(bytes, o->bytes, info->offset);
	assert_int_equal(hg_chunk_header_unpack(o->bytes + info->offset, &h), 0);
	if (frame) {
		memcpy(bytes + info->offset + HG_CHUNK_HEADER_SIZE, frame, frame_size);
		h.raw_size = raw_size ? (uint32_t)raw_size : h.raw_size;
		h.stored_size = (uint32_t)frame_size;
	} else {
		h.raw_size = (uint32_t)raw_size;
		h.stored_size = (uint32_t)ZSTD_compress(bytes + info->offset + HG_CHUNK_HEADER_SIZE,
							raw_size + 2048, raw, raw_size, 1);
	}
	hg_chunk_pack(bytes + info->offset, &h);
	size = info->offset + hg_chunk_size(&h);
	memcpy(bytes + size, o->bytes + behind, o->size - behind);
	*size_out = size + o->size - behind;
	return bytes;
}

/* One raw block: zstd keeps what it cannot compress, such as what a guest sends, as it is. */
static size_t raw_frame(uint8_t *dst, const uint8_t *raw, size_t size)
{
	hg_put32(dst, ZSTD_MAGICNUMBER);
	dst[4] = 0xa0; /* one segment, content size in four bytes */
	hg_put32(dst + 5, (uint32_t)size);
	hg_put32(dst + 9, (uint32_t)size << 3 | 1); /* last block, raw; three bytes */
	memcpy(dst + 12, raw, size);
	return 12 + size;
}

/* A chunk inside a chunk: bytes of a hostile guest, found when the outer header is damaged. */
static void chunk_inside_a_chunk_is_none(void **state)
{
	struct original inner, o;
	static uint8_t frame[16384];
	hg_autofree uint8_t *bytes = NULL;
	size_t size, frame_size;

	original_make(&inner, 14, 80, 20);
	original_make(&o, 23, 80, 20);
	/* The environment is the first chunk; make it one of the other file's bytes. */
	assert_int_equal(o.chunks[0].type, HG_CHUNK_ENVIRONMENT);
	frame_size = raw_frame(frame, inner.bytes, inner.size);
	bytes = replace_chunk(&o, 0, NULL, inner.size, frame, frame_size, &size);
	variant_set(&o, bytes, size);
	bytes[HG_FILE_HEADER_SIZE + 16] ^= 1;
	variant_set(&o, bytes, size);
	check_only_intact(&o, HG_FILE_HEADER_SIZE, HG_FILE_HEADER_SIZE + 1);
	original_free(&inner);
	original_free(&o);
}

static size_t chunk_raw(const uint8_t *chunk, const struct hg_chunk_header *h, uint8_t *raw,
			size_t cap)
{
	size_t n = ZSTD_decompress(raw, cap, chunk + HG_CHUNK_HEADER_SIZE, h->stored_size);

	return ZSTD_isError(n) ? SIZE_MAX : n;
}

/* What the bytes of the variant say, by the oracle; chunks lie one behind the other. */
static void oracle_read(const uint8_t *bytes, size_t size, size_t nchunks, struct sample_list *out)
{
	static uint8_t raw[HG_CHUNK_RAW_MAX];
	const uint8_t *p = bytes + HG_FILE_HEADER_SIZE;

	for (size_t i = 0; i < nchunks; i++) {
		struct hg_chunk_header h;

		assert_int_equal(hg_chunk_header_unpack(p, &h), 0);
		if (h.type == HG_CHUNK_RECORDS && chunk_raw(p, &h, raw, sizeof(raw)) == h.raw_size)
			oracle_decode(raw, h.raw_size, &h, out);
		p += hg_chunk_size(&h);
		assert_true(p <= bytes + size);
	}
	sample_list_sort(out);
}

static void check_mutation(struct original *o, const uint8_t *bytes, size_t size)
{
	struct sample_log log = {0};
	struct sample_list got = {0}, want = {0};
	struct hg_reader *r;
	size_t k = 0;

	variant_set(o, bytes, size);
	oracle_read(bytes, size, o->nchunks, &want);
	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_reader_open(o->path, &r), 0);
	sample_list_read(r, NULL, &got);
	hg_log_set(NULL, NULL);
	for (size_t i = 0; i < got.n; i++) {
		if (is_damage(&got.v[i]) && (k == want.n || !sample_equal(&got.v[i], &want.v[k]))) {
			assert_true(log.messages > 0);
			continue;
		}
		assert_true(k < want.n && sample_equal(&got.v[i], &want.v[k]));
		k++;
	}
	assert_int_equal(k, want.n);
	hg_reader_close(r);
	sample_list_free(&got);
	sample_list_free(&want);
}

/* Changes 1 to 3 bytes; half of the time in the descriptors, where most can go wrong. */
static void mutate(uint64_t *seed, uint8_t *bytes, size_t size)
{
	for (uint64_t n = 1 + sample_random(seed) % 3; n; n--) {
		size_t at =
			sample_random(seed) % (sample_random(seed) % 2 ? size : HG_MIN(size, 300));

		bytes[at] = (uint8_t)(sample_random(seed) % 2
					      ? sample_random(seed)
					      : bytes[at] + sample_random(seed) % 3 - 1);
	}
}

static void mutate_chunks(struct original *o, uint64_t seed)
{
	static uint8_t raw[HG_CHUNK_RAW_MAX + 64];

	for (unsigned int i = 0; i < 1000; i++) {
		size_t c = sample_random(&seed) % o->nchunks, size, raw_size;
		const uint8_t *chunk = o->bytes + o->chunks[c].offset;
		hg_autofree uint8_t *bytes = NULL;
		struct hg_chunk_header h;

		assert_int_equal(hg_chunk_header_unpack(chunk, &h), 0);
		if (h.type != HG_CHUNK_RECORDS) {
			i--;
			continue;
		}
		if (i % 3 == 0) { /* the compressed bytes */
			memcpy(raw, chunk + HG_CHUNK_HEADER_SIZE, h.stored_size);
			mutate(&seed, raw, h.stored_size);
			bytes = replace_chunk(o, c, NULL, 0, raw, h.stored_size, &size);
		} else {
			raw_size = chunk_raw(chunk, &h, raw, sizeof(raw));
			assert_int_equal(raw_size, h.raw_size);
			mutate(&seed, raw, raw_size);
			if (i % 10 == 0)
				raw_size += sample_random(&seed) % 32;
			else if (i % 10 == 1)
				raw_size -= sample_random(&seed) % 32;
			bytes = replace_chunk(o, c, raw, raw_size, NULL, 0, &size);
		}
		check_mutation(o, bytes, size);
	}
}

static void mutated_with_right_checksum(void **state)
{
	struct original o;

	original_make(&o, 16, 4000, 500);
	mutate_chunks(&o, 15);
	original_free(&o);
}

static bool has_steps(const struct original *o)
{
	static uint8_t raw[HG_CHUNK_RAW_MAX];

	for (size_t c = 0; c < o->nchunks; c++) {
		const uint8_t *chunk = o->bytes + o->chunks[c].offset;
		struct hg_chunk_header h;

		assert_int_equal(hg_chunk_header_unpack(chunk, &h), 0);
		if (h.type == HG_CHUNK_RECORDS &&
		    chunk_raw(chunk, &h, raw, sizeof(raw)) == h.raw_size && hg_get64(raw + 1))
			return true;
	}
	return false;
}

static void mutated_steps_with_right_checksum(void **state)
{
	struct original o;

	original_make_steps(&o, 26, 4000, 800, (UINT64_C(10) << HG_STEPS_SHIFT) + 12345);
	assert_true(has_steps(&o));
	mutate_chunks(&o, 25);
	original_free(&o);
}

/* Where the last kind's descriptor begins, in a payload that is right. */
static size_t last_descriptor(const uint8_t *raw)
{
	size_t at = 9;

	for (unsigned int k = 1; k < raw[0]; k++)
		at += 9 + 2 * (size_t)raw[at + 6];
	return at;
}

/*
 * A file of a later version: a kind that this one does not know, a field more (in an encoding of its
 * own). And of an earlier one: a field less.
 */
static void other_kinds_and_fields(void **state)
{
	static uint8_t raw[HG_CHUNK_RAW_MAX];
	struct original o;

	original_make(&o, 24, 4000, 500);
	for (unsigned int i = 0; i < 3 * o.nchunks; i++) {
		size_t c = i / 3, size, raw_size, at, end;
		const uint8_t *chunk = o.bytes + o.chunks[c].offset;
		hg_autofree uint8_t *bytes = NULL;
		struct sample_list before = {0}, after = {0};
		struct hg_chunk_header h;
		uint32_t count;

		assert_int_equal(hg_chunk_header_unpack(chunk, &h), 0);
		if (h.type != HG_CHUNK_RECORDS)
			continue;
		raw_size = chunk_raw(chunk, &h, raw, sizeof(raw));
		at = last_descriptor(raw);
		count = hg_get32(raw + at + 2);
		end = at + 9 + 2 * (size_t)raw[at + 6];
		assert_true(oracle_decode(raw, raw_size, &h, &before));
		if (i % 3 == 0) {
			hg_put16(raw + at, 60000);
		} else if (i % 3 == 1) {
			memmove(raw + end + 2, raw + end, raw_size - end);
			raw[at + 6]++;
			raw[end] = 99;
			raw[end + 1] = 1;
			memset(raw + raw_size + 2, 0xaa, count);
			raw_size += 2 + count;
		} else {
			raw_size -= 2 + (size_t)raw[end - 1] * count;
			raw[at + 6]--;
			memmove(raw + end - 2, raw + end, raw_size - (end - 2));
		}
		assert_true(oracle_decode(raw, raw_size, &h, &after));
		assert_int_equal(after.n, i % 3 == 0 ? before.n - count : before.n);
		bytes = replace_chunk(&o, c, raw, raw_size, NULL, 0, &size);
		check_mutation(&o, bytes, size);
		sample_list_free(&before);
		sample_list_free(&after);
	}
	original_free(&o);
}

/* Strings: a mutated chunk is refused, or says what its bytes say; the others stay as they are. */
static void mutated_strings_with_right_checksum(void **state)
{
	static uint8_t raw[HG_CHUNK_RAW_MAX];
	uint64_t seed = 17;
	struct original o;

	original_make(&o, 18, 400, 40);
	for (unsigned int i = 0; i < 500; i++) {
		size_t c = sample_random(&seed) % o.nchunks, size, raw_size;
		const uint8_t *chunk = o.bytes + o.chunks[c].offset;
		hg_autofree uint8_t *bytes = NULL;
		struct sample_log log = {0};
		struct hg_chunk_header h;
		struct hg_reader *r;
		uint32_t first, count;

		assert_int_equal(hg_chunk_header_unpack(chunk, &h), 0);
		if (h.type != HG_CHUNK_STRINGS) {
			i--;
			continue;
		}
		raw_size = chunk_raw(chunk, &h, raw, sizeof(raw));
		first = hg_get32(raw);
		count = hg_get32(raw + 4);
		mutate(&seed, raw, HG_MIN(raw_size, 8 + 4 * (size_t)count));
		bytes = replace_chunk(&o, c, raw, raw_size, NULL, 0, &size);
		variant_set(&o, bytes, size);
		hg_log_set(sample_log_fn, &log);
		assert_int_equal(hg_reader_open(o.path, &r), 0);
		hg_log_set(NULL, NULL);
		for (uint64_t id = 1; id <= STRINGS; id++) {
			const char *name = hg_reader_string(r, id, NULL);

			/* Ids of other chunks keep their names; they may be gone if ids now overlap. */
			if ((id < first || id >= first + count) && name &&
			    strcmp(name, o.names[id]))
				assert_true(hg_get32(raw) <= id && id - hg_get32(raw) < count);
		}
		hg_reader_close(r);
	}
	original_free(&o);
}

/* Any field of any header, with both checksums right: no crash, and time never goes back. */
static void mutated_headers_with_right_checksum(void **state)
{
	uint64_t seed = 19;
	struct original o;

	original_make(&o, 20, 400, 40);
	for (unsigned int i = 0; i < 1000; i++) {
		const struct hg_chunk_info *info = &o.chunks[sample_random(&seed) % o.nchunks];
		hg_autofree uint8_t *bytes = malloc(o.size);
		struct sample_log log = {0};
		struct sample_list got = {0};
		struct hg_chunk_header h, was;
		struct hg_reader *r;

		memcpy(bytes, o.bytes, o.size);
		assert_int_equal(hg_chunk_header_unpack(bytes + info->offset, &h), 0);
		was = h;
		mutate(&seed, (uint8_t *)&h, sizeof(h));
		h.stored_size = was.stored_size; /* the others stay where they are */
		hg_chunk_pack(bytes + info->offset, &h);
		variant_set(&o, bytes, o.size);
		hg_log_set(sample_log_fn, &log);
		assert_int_equal(hg_reader_open(o.path, &r), 0);
		sample_list_read(r, NULL, &got);
		hg_log_set(NULL, NULL);
		assert_true(log.messages <= 2);
		for (size_t k = 1; k < got.n; k++)
			assert_true(got.v[k].time_ns >= got.v[k - 1].time_ns);
		hg_reader_close(r);
		sample_list_free(&got);
	}
	original_free(&o);
}

/* The file shrinks between opening and reading. */
static void shrinking_file_is_no_crash(void **state)
{
	struct original o;
	struct sample_log log = {0};
	struct sample_list got = {0};
	struct hg_reader *r;

	original_make(&o, 21, 4000, 100);
	assert_int_equal(hg_reader_open(o.path, &r), 0);
	assert_int_equal(ftruncate(o.fd, (off_t)o.size / 2), 0);
	hg_log_set(sample_log_fn, &log);
	sample_list_read(r, NULL, &got);
	hg_log_set(NULL, NULL);
	assert_int_equal(log.messages, 1);
	assert_true(check_subsequence(&got, &o.want) > 1000);
	assert_true(*hg_reader_health(r)->sentence);
	hg_reader_close(r);
	sample_list_free(&got);
	original_free(&o);
}

static void other_versions_and_other_files_are_refused(void **state)
{
	struct sample_log log = {0};
	struct hg_file_header header;
	struct original o;
	struct hg_reader *r;

	original_make(&o, 22, 80, 20);
	hg_log_set(sample_log_fn, &log);
	assert_int_equal(hg_file_header_unpack(o.bytes, &header), 0);
	header.incompatible = 1;
	hg_file_header_pack(o.bytes, &header);
	variant_set(&o, o.bytes, o.size);
	assert_int_equal(hg_reader_open(o.path, &r), -ENOTSUP);
	assert_non_null(strstr(log.last, "needs a feature that this version does not know"));
	header.incompatible = 0;
	for (int step = -1; step <= 1; step += 2) {
		char want[128];

		header.version = (uint32_t)(HG_FILE_VERSION + step);
		hg_file_header_pack(o.bytes, &header);
		variant_set(&o, o.bytes, o.size);
		assert_int_equal(hg_reader_open(o.path, &r), -ENOTSUP);
		snprintf(want, sizeof(want),
			 "was written by another version (%d); this one reads %d",
			 HG_FILE_VERSION + step, HG_FILE_VERSION);
		assert_non_null(strstr(log.last, want));
	}
	header.version = HG_FILE_VERSION;
	header.compatible = UINT64_MAX;
	hg_file_header_pack(o.bytes, &header);
	variant_set(&o, o.bytes, o.size);
	assert_int_equal(log.messages, 3);
	assert_int_equal(hg_reader_open(o.path, &r), 0);
	hg_reader_close(r);
	assert_int_equal(log.messages, 3);
	memset(o.bytes, 'x', o.size);
	variant_set(&o, o.bytes, o.size);
	assert_int_equal(hg_reader_open(o.path, &r), -EINVAL);
	assert_int_equal(hg_reader_open("/dev/null", &r), -EINVAL);
	assert_int_equal(hg_reader_open("/tmp", &r), -EINVAL);
	assert_int_equal(hg_reader_open("/nonexistent/file", &r), -ENOENT);
	assert_int_equal(log.messages, 7);
	hg_log_set(NULL, NULL);
	original_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_file_cut_at_every_byte),
		cmocka_unit_test(small_file_flipped_at_every_byte),
		cmocka_unit_test(unfinished_file_cut_and_flipped),
		cmocka_unit_test(large_file_cut_and_flipped_at_random),
		cmocka_unit_test(what_follows_the_end_is_not_read),
		cmocka_unit_test(bytes_taken_out_of_the_middle),
		cmocka_unit_test(chunk_inside_a_chunk_is_none),
		cmocka_unit_test(mutated_with_right_checksum),
		cmocka_unit_test(mutated_steps_with_right_checksum),
		cmocka_unit_test(other_kinds_and_fields),
		cmocka_unit_test(mutated_strings_with_right_checksum),
		cmocka_unit_test(mutated_headers_with_right_checksum),
		cmocka_unit_test(shrinking_file_is_no_crash),
		cmocka_unit_test(other_versions_and_other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
