/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_scan.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uthash.h>
#include <zstd.h>

#include "base/hg_base.h"

#define WINDOW_BYTES (64u << 10)

/* Chunks that are numbered together, and what the last whole one said. */
struct sequence {
	struct {
		uint32_t stream;
		uint16_t machine, type;
	} key;
	bool started;
	uint64_t last, last_ns;
	UT_hash_handle hh;
};

struct scanner {
	int fd;
	struct hg_scan *scan;
	hg_scan_found_fn found;
	void *arg;
	struct hg_chunk_buffer buffer;
	struct sequence *sequences;
	/* The index, put together from its chunks. */
	struct hg_chunk_info *index;
	size_t nindex, index_cap;
	uint64_t index_total, index_offset;
	bool index_bad;
	/* Bytes of broken chunks that may still be read: a hostile file could overlap thousands. */
	uint64_t budget;
};

enum found { FOUND_WHOLE, FOUND_NOTHING, FOUND_BROKEN, FOUND_CUT };

static int read_at(int fd, uint8_t *dst, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(fd, dst, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		dst += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int buffer_reserve(struct hg_chunk_buffer *b, size_t size)
{
	uint8_t *bytes;

	if (size <= b->cap)
		return 0;
	bytes = realloc(b->bytes, size);
	if (!bytes)
		return -ENOMEM;
	b->bytes = bytes;
	b->cap = size;
	return 0;
}

static int infos_add(struct hg_chunk_info **v, size_t *n, size_t *cap,
		     const struct hg_chunk_info *info)
{
	if (*n == *cap) {
		size_t bigger = *cap ? 2 * *cap : 64;
		struct hg_chunk_info *grown = realloc(*v, bigger * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		*v = grown;
		*cap = bigger;
	}
	(*v)[(*n)++] = *info;
	return 0;
}

static int lost_add(struct hg_scan *scan, const struct hg_chunk_info *info)
{
	if (info->type == HG_CHUNK_INDEX)
		return 0;
	return infos_add(&scan->lost, &scan->nlost, &scan->lost_cap, info);
}

static bool header_is_ours(const struct hg_scan *scan, const uint8_t *bytes,
			   struct hg_chunk_header *out)
{
	return !hg_chunk_header_unpack(bytes, out) &&
	       (!scan->have_id || out->file_id == scan->header.file_id);
}

/* What is at offset. 0 with *what_out, or -errno. */
static int look_at(struct scanner *sc, uint64_t offset, struct hg_chunk_header *h,
		   enum found *what_out)
{
	struct hg_scan *scan = sc->scan;
	uint64_t left = scan->size_bytes - offset;
	int err = buffer_reserve(&sc->buffer, HG_CHUNK_HEADER_SIZE);

	*what_out = FOUND_NOTHING;
	if (err || left < HG_CHUNK_HEADER_SIZE)
		return err;
	err = read_at(sc->fd, sc->buffer.bytes, HG_CHUNK_HEADER_SIZE, offset);
	if (err || !header_is_ours(scan, sc->buffer.bytes, h))
		return err == -ENODATA ? 0 : err;
	*what_out = FOUND_CUT;
	if (hg_chunk_size(h) > left)
		return 0;
	err = buffer_reserve(&sc->buffer, hg_chunk_size(h));
	if (err)
		return err;
	err = read_at(sc->fd, sc->buffer.bytes + HG_CHUNK_HEADER_SIZE,
		      hg_chunk_size(h) - HG_CHUNK_HEADER_SIZE, offset + HG_CHUNK_HEADER_SIZE);
	if (err)
		return err == -ENODATA ? 0 : err;
	*what_out = hg_chunk_is_whole(sc->buffer.bytes, h) ? FOUND_WHOLE : FOUND_BROKEN;
	return 0;
}

/* The next offset from which a chunk of this file seems to start, else the file's size. */
static int seek_chunk(struct scanner *sc, uint64_t offset, uint64_t *out)
{
	static const uint8_t magic[4] = {'H', 'G', 'C', 'K'};
	uint64_t end = sc->scan->size_bytes;
	int err = buffer_reserve(&sc->buffer, WINDOW_BYTES);

	while (!err && offset + HG_CHUNK_HEADER_SIZE <= end) {
		size_t size = HG_MIN(end - offset, WINDOW_BYTES);
		const uint8_t *at = sc->buffer.bytes, *stop = at + size - HG_CHUNK_HEADER_SIZE + 1;

		err = read_at(sc->fd, sc->buffer.bytes, size, offset);
		if (err)
			break;
		while (at < stop && (at = memmem(at, (size_t)(stop - at) + 3, magic, 4))) {
			struct hg_chunk_header h;

			if (header_is_ours(sc->scan, at, &h)) {
				*out = offset + (uint64_t)(at - sc->buffer.bytes);
				return 0;
			}
			at++;
		}
		offset += size - HG_CHUNK_HEADER_SIZE + 1;
	}
	*out = end;
	return err == -ENODATA ? 0 : err;
}

static struct sequence *find_sequence(struct scanner *sc, const struct hg_chunk_info *info)
{
	struct sequence *s, key = {.key = {.stream = info->stream,
					   .machine = info->machine,
					   .type = info->type}};

	HASH_FIND(hh, sc->sequences, &key.key, sizeof(key.key), s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key.key;
	HASH_ADD(hh, sc->sequences, key, sizeof(s->key), s);
	return s;
}

/* Sound on its own and behind its predecessors. */
static bool header_is_sound(const struct sequence *s, const struct hg_chunk_header *h)
{
	if (s->started && h->sequence <= s->last)
		return false;
	if (h->type != HG_CHUNK_RECORDS)
		return true;
	return h->records <= HG_CHUNK_RECORDS_MAX && h->raised <= h->records &&
	       h->first_ns <= h->last_ns && (!s->started || h->first_ns >= s->last_ns);
}

static int take_index(struct scanner *sc, uint64_t offset, const struct hg_chunk_header *h)
{
	hg_autofree uint8_t *raw = malloc(h->raw_size ? h->raw_size : 1);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	uint64_t first, total;
	int err = raw && zstd ? hg_chunk_inflate(zstd, sc->buffer.bytes, h, raw) : -ENOMEM;

	ZSTD_freeDCtx(zstd);
	if (err)
		return err;
	if (h->records > HG_INDEX_ENTRIES_MAX ||
	    h->raw_size != HG_INDEX_HEADER_SIZE + (size_t)h->records * HG_INDEX_ENTRY_SIZE)
		return -EBADMSG;
	first = hg_get64(raw);
	total = hg_get64(raw + 8);
	if (first != sc->nindex || (first && total != sc->index_total) ||
	    total < first + h->records)
		return -EBADMSG;
	if (!h->sequence)
		sc->index_offset = offset;
	sc->index_total = total;
	for (uint32_t i = 0; i < h->records && !err; i++) {
		struct hg_chunk_info info;

		hg_index_entry_unpack(raw + HG_INDEX_HEADER_SIZE + (size_t)i * HG_INDEX_ENTRY_SIZE,
				      &info);
		err = infos_add(&sc->index, &sc->nindex, &sc->index_cap, &info);
	}
	return err;
}

/* A whole chunk. Its content may still be wrong: then it is as good as lost. */
static int take_chunk(struct scanner *sc, uint64_t offset, const struct hg_chunk_header *h)
{
	struct hg_scan *scan = sc->scan;
	struct hg_chunk_info info;
	struct sequence *s;
	int err;

	hg_chunk_info_fill(&info, offset, h);
	s = find_sequence(sc, &info);
	if (!s)
		return -ENOMEM;
	err = header_is_sound(s, h) ? 0 : -EBADMSG;
	if (!err && h->type == HG_CHUNK_INDEX)
		err = take_index(sc, offset, h);
	else if (!err)
		err = sc->found(sc->arg, sc->buffer.bytes, h);
	if (err == -EBADMSG) {
		scan->health.chunks_bad++;
		sc->index_bad |= h->type == HG_CHUNK_INDEX;
		return lost_add(scan, &info);
	}
	if (err)
		return err;
	s->started = true;
	s->last = h->sequence;
	s->last_ns = h->last_ns;
	if (!scan->have_id) {
		scan->have_id = true;
		scan->header.file_id = h->file_id;
	}
	if (h->type == HG_CHUNK_INDEX)
		return 0;
	return infos_add(&scan->chunks, &scan->nchunks, &scan->chunks_cap, &info);
}

/* The end of the file may be the begin of a chunk whose header is cut. */
static int is_header_begin(struct scanner *sc, uint64_t offset, bool *out)
{
	uint8_t bytes[HG_CHUNK_HEADER_SIZE], magic[4];
	uint64_t left = sc->scan->size_bytes - offset;
	int err;

	*out = false;
	if (left >= sizeof(bytes))
		return 0;
	err = read_at(sc->fd, bytes, left, offset);
	if (err)
		return err == -ENODATA ? 0 : err;
	hg_put32(magic, HG_CHUNK_MAGIC);
	*out = !memcmp(bytes, magic, HG_MIN(left, sizeof(magic)));
	return 0;
}

/* No whole chunk at *offset: notes what is known of it and steps to where one may start. */
static int step_over(struct scanner *sc, uint64_t *offset, enum found what,
		     const struct hg_chunk_header *h)
{
	struct hg_scan *scan = sc->scan;
	uint64_t next, from = *offset;
	bool cut = what == FOUND_CUT;
	int err = 0;

	if (what != FOUND_NOTHING) {
		struct hg_chunk_info info;

		hg_chunk_info_fill(&info, from, h);
		sc->index_bad |= h->type == HG_CHUNK_INDEX;
		err = lost_add(scan, &info);
	}
	if (what == FOUND_BROKEN) {
		scan->health.chunks_bad++;
		sc->budget -= HG_MIN(sc->budget, hg_chunk_size(h));
	}
	if (!sc->budget) {
		scan->health.bytes_bad += scan->size_bytes - from;
		*offset = scan->size_bytes;
		return err;
	}
	if (!err)
		err = seek_chunk(sc, from + (what == FOUND_NOTHING ? 1 : HG_CHUNK_HEADER_SIZE),
				 &next);
	if (!err && what == FOUND_NOTHING)
		err = is_header_begin(sc, from, &cut);
	if (err)
		return err;
	if (cut && next == scan->size_bytes)
		scan->health.bytes_cut += next - from;
	else
		scan->health.bytes_bad += next - from;
	*offset = next;
	return 0;
}

static int walk(struct scanner *sc)
{
	uint64_t offset = HG_FILE_HEADER_SIZE;

	sc->budget = 4 * sc->scan->size_bytes + (64u << 20);
	while (offset < sc->scan->size_bytes) {
		struct hg_chunk_header h;
		enum found what;
		int err = look_at(sc, offset, &h, &what);

		if (!err && what == FOUND_WHOLE) {
			err = take_chunk(sc, offset, &h);
			offset += hg_chunk_size(&h);
		} else if (!err) {
			err = step_over(sc, &offset, what, &h);
		}
		if (err)
			return err;
	}
	return 0;
}

static int compare_infos(const void *a, const void *b)
{
	const struct hg_chunk_info *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static bool same_chunk(const struct hg_chunk_info *x, const struct hg_chunk_info *y)
{
	return x->size_bytes == y->size_bytes && x->raw_bytes == y->raw_bytes &&
	       x->first_ns == y->first_ns && x->last_ns == y->last_ns && x->lost == y->lost &&
	       x->records == y->records && x->raised == y->raised;
}

/* Both sorted. Every chunk that was found is in the index, and the same. */
static bool index_agrees(const struct scanner *sc, const struct hg_chunk_info *found, size_t n)
{
	size_t i = 0;

	if (sc->index_bad || sc->nindex != sc->index_total)
		return false;
	for (size_t k = 0; k < n; k++, i++) {
		while (i < sc->nindex && compare_infos(&sc->index[i], &found[k]) < 0)
			i++;
		if (i == sc->nindex || compare_infos(&sc->index[i], &found[k]) ||
		    !same_chunk(&sc->index[i], &found[k]))
			return false;
	}
	for (i = 1; i < sc->nindex; i++) {
		if (!compare_infos(&sc->index[i - 1], &sc->index[i]))
			return false;
	}
	return true;
}

/* Drops doubles, and what was found after all. Both sorted. */
static void lost_unique(struct hg_scan *scan, const struct hg_chunk_info *found)
{
	size_t kept = 0, f = 0;

	for (size_t i = 0; i < scan->nlost; i++) {
		const struct hg_chunk_info *info = &scan->lost[i];

		while (f < scan->nchunks && compare_infos(&found[f], info) < 0)
			f++;
		if (f < scan->nchunks && !compare_infos(&found[f], info))
			continue;
		if (kept && !compare_infos(&scan->lost[kept - 1], info))
			continue;
		scan->lost[kept++] = *info;
	}
	scan->nlost = kept;
}

static bool same_stream(const struct hg_chunk_info *x, const struct hg_chunk_info *y)
{
	return x->type == y->type && x->machine == y->machine && x->stream == y->stream;
}

/* Per stream: the highest number known, less what was found. Both sorted. */
static uint64_t count_missing(const struct hg_scan *scan, const struct hg_chunk_info *found)
{
	size_t f = 0, l = 0;
	uint64_t missing = 0;

	while (f < scan->nchunks || l < scan->nlost) {
		const struct hg_chunk_info *first = f == scan->nchunks ? &scan->lost[l]
						    : l == scan->nlost ? &found[f]
						    : compare_infos(&found[f], &scan->lost[l]) < 0
							    ? &found[f]
							    : &scan->lost[l];
		uint64_t last = 0, n = 0;

		for (; f < scan->nchunks && same_stream(&found[f], first); f++, n++)
			last = found[f].sequence;
		for (; l < scan->nlost && same_stream(&scan->lost[l], first); l++)
			last = HG_MAX(last, scan->lost[l].sequence);
		if (__builtin_add_overflow(missing, last + 1 - n, &missing))
			return UINT64_MAX;
	}
	return missing;
}

/* Compares with the index: what it lists and nobody found is lost, with known figures. */
static int judge(struct scanner *sc)
{
	struct hg_scan *scan = sc->scan;
	struct hg_reader_health *health = &scan->health;
	bool have_index = sc->index_offset && sc->nindex == sc->index_total && !sc->index_bad;
	hg_autofree struct hg_chunk_info *found = NULL;
	int err = 0;

	found = malloc((scan->nchunks + 1) * sizeof(*found));
	if (!found)
		return -ENOMEM;
	if (scan->nchunks) {
		memcpy(found, scan->chunks, scan->nchunks * sizeof(*found));
		qsort(found, scan->nchunks, sizeof(*found), compare_infos);
	}
	if (sc->nindex)
		qsort(sc->index, sc->nindex, sizeof(*sc->index), compare_infos);
	health->index_ok = have_index && index_agrees(sc, found, scan->nchunks);
	if (scan->header_ok)
		health->finalised = scan->header.index_offset != HG_INDEX_NONE;
	else
		health->finalised = have_index;
	scan->cut = scan->header_ok && health->finalised && !have_index &&
		    scan->header.index_offset >= scan->size_bytes;
	if (scan->header_ok && health->index_ok && scan->header.index_offset != sc->index_offset)
		health->index_ok = false;
	for (size_t i = 0; health->index_ok && i < sc->nindex && !err; i++)
		err = lost_add(scan, &sc->index[i]);
	if (err)
		return err;
	if (scan->nlost)
		qsort(scan->lost, scan->nlost, sizeof(*scan->lost), compare_infos);
	lost_unique(scan, found);
	health->chunks_missing = count_missing(scan, found);
	return 0;
}

static int read_file_header(struct scanner *sc)
{
	struct hg_scan *scan = sc->scan;
	uint8_t bytes[HG_FILE_HEADER_SIZE];
	struct hg_chunk_header h;
	enum found what;
	int err;

	if (scan->size_bytes < sizeof(bytes))
		return -EINVAL;
	err = read_at(sc->fd, bytes, sizeof(bytes), 0);
	if (err)
		return err == -ENODATA ? -EINVAL : err;
	err = hg_file_header_unpack(bytes, &scan->header);
	if (!err) {
		scan->header_ok = scan->have_id = true;
		return 0;
	}
	if (err != -EINVAL)
		return err == -EBADMSG ? 0 : err;
	/* Another magic: still ours, if a chunk follows. */
	err = look_at(sc, HG_FILE_HEADER_SIZE, &h, &what);
	return err || what == FOUND_WHOLE ? err : -EINVAL;
}

int hg_scan_file(int fd, struct hg_scan *scan, hg_scan_found_fn found, void *arg)
{
	struct scanner sc = {.fd = fd, .scan = scan, .found = found, .arg = arg};
	struct sequence *s, *next;
	struct stat st;
	int err;

	*scan = (struct hg_scan){0};
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	scan->size_bytes = (uint64_t)st.st_size;
	err = read_file_header(&sc);
	if (!err)
		err = walk(&sc);
	if (!err)
		err = judge(&sc);
	HASH_ITER (hh, sc.sequences, s, next) {
		HASH_DEL(sc.sequences, s);
		free(s);
	}
	free(sc.buffer.bytes);
	free(sc.index);
	return err;
}

void hg_scan_free(struct hg_scan *scan)
{
	free(scan->chunks);
	free(scan->lost);
	*scan = (struct hg_scan){0};
}

int hg_scan_chunk(int fd, const struct hg_scan *scan, const struct hg_chunk_info *info,
		  struct hg_chunk_buffer *buffer, struct hg_chunk_header *out)
{
	struct hg_chunk_info again;
	int err = buffer_reserve(buffer, info->size_bytes);

	if (!err)
		err = read_at(fd, buffer->bytes, info->size_bytes, info->offset);
	if (err)
		return err == -ENODATA ? -EBADMSG : err;
	if (!header_is_ours(scan, buffer->bytes, out) || hg_chunk_size(out) != info->size_bytes ||
	    !hg_chunk_is_whole(buffer->bytes, out))
		return -EBADMSG;
	hg_chunk_info_fill(&again, info->offset, out);
	return same_chunk(&again, info) && !compare_infos(&again, info) ? 0 : -EBADMSG;
}
