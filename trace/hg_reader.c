/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <zstd.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "trace/hg_reader_private.h"

/* Called for each whole chunk while the file is scanned: definitions are kept. */
static int chunk_found(void *arg, const uint8_t *chunk, const struct hg_chunk_header *h)
{
	struct hg_reader *r = arg;
	hg_autofree uint8_t *raw = NULL;
	int err;

	if (h->type != HG_CHUNK_STRINGS)
		return 0;
	raw = malloc(h->raw_size ? h->raw_size : 1);
	if (!raw)
		return -ENOMEM;
	err = hg_chunk_inflate(r->zstd, chunk, h, raw);
	return err ? err : hg_names_add(&r->names, raw, h->raw_size, h->records);
}

struct sentence {
	char *text;
	size_t size, used;
	const char *separator;
};

HG_PRINTF(2, 3) static void say(struct sentence *s, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(s->text + s->used, s->size - s->used, "%s", s->separator);

	s->used = HG_MIN(s->used + (size_t)n, s->size - 1);
	va_start(ap, fmt);
	n = vsnprintf(s->text + s->used, s->size - s->used, fmt, ap);
	va_end(ap);
	s->used = HG_MIN(s->used + (size_t)n, s->size - 1);
	s->separator = ", ";
}

static uint64_t records_lost(const struct hg_scan *scan)
{
	uint64_t n = 0;

	for (size_t i = 0; i < scan->nlost; i++)
		n += scan->lost[i].type == HG_CHUNK_RECORDS ? scan->lost[i].records : 0;
	return n;
}

/* One sentence with all that is wrong; "" if nothing is. */
static void describe(struct hg_reader *r)
{
	struct hg_reader_health *h = &r->scan.health;
	uint64_t lost = records_lost(&r->scan);
	struct sentence s = {.text = h->sentence, .size = sizeof(h->sentence), .separator = ": "};

	h->sentence[0] = '\0';
	if (r->scan.header_ok && h->finalised && h->index_ok && !h->bytes_bad && !h->bytes_cut &&
	    !h->chunks_bad && !h->chunks_missing)
		return;
	s.used = (size_t)snprintf(s.text, s.size, "%.60s is not whole", r->name);
	if (!r->scan.header_ok)
		say(&s, "its file header is damaged");
	else if (!h->finalised)
		say(&s, "recording did not end in order");
	else if (r->scan.cut)
		say(&s, "its end is cut off");
	else if (!h->index_ok)
		say(&s, "its index is damaged");
	/* Only an index that is right tells of all that was there. */
	if (h->chunks_missing)
		say(&s, "%s%" PRIu64 " chunk%s missing", h->index_ok ? "" : "at least ",
		    h->chunks_missing, h->chunks_missing == 1 ? " is" : "s are");
	if (lost)
		say(&s, "%s%" PRIu64 " record%s lost", h->index_ok ? "" : "at least ", lost,
		    lost == 1 ? " is" : "s are");
	if (h->bytes_bad)
		say(&s, "%" PRIu64 " bytes unreadable", h->bytes_bad);
	if (h->bytes_cut)
		say(&s, "%" PRIu64 " bytes of an unfinished chunk left out", h->bytes_cut);
	s.separator = "; ";
	say(&s, "the rest is intact");
}

static void log_incompatible(const char *path, int fd)
{
	uint8_t header[HG_FILE_HEADER_SIZE];
	uint32_t version = HG_FILE_VERSION;

	if (pread(fd, header, sizeof(header), 0) == (ssize_t)sizeof(header))
		version = hg_file_header_version(header);
	if (version != HG_FILE_VERSION)
		hg_error("%s was written by another version (%" PRIu32 "); this one reads %d", path,
			 version, HG_FILE_VERSION);
	else
		hg_error("%s needs a feature that this version does not know", path);
}

static void log_failure(const char *path, int fd, int err)
{
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;

	if (err == -ENOTSUP)
		log_incompatible(path, fd);
	else if (err == -EINVAL && !size)
		hg_error("%s is empty", path);
	else if (err == -EINVAL && size > 0 && size < HG_FILE_HEADER_SIZE)
		hg_error("%s is no hourglass trace, or it is cut inside its file header", path);
	else if (err == -EINVAL)
		hg_error("%s is no hourglass trace", path);
	else
		hg_error("cannot read %s: %s", path, strerror(-err));
}

int hg_reader_open(const char *path, struct hg_reader **out)
{
	struct hg_reader *r = calloc(1, sizeof(*r));
	const char *slash = strrchr(path, '/');
	int err;

	if (!r)
		return -ENOMEM;
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	err = r->fd < 0 ? -errno : 0;
	r->zstd = ZSTD_createDCtx();
	r->name = strdup(slash && slash[1] ? slash + 1 : path);
	if (!err && (!r->zstd || !r->name))
		err = -ENOMEM;
	if (!err)
		err = hg_scan_file(r->fd, &r->scan, chunk_found, r);
	if (!err) {
		r->refused = calloc(r->scan.nchunks + 1, 1);
		err = r->refused ? 0 : -ENOMEM;
	}
	if (err) {
		log_failure(path, r->fd, err);
		hg_reader_close(r);
		return err;
	}
	describe(r);
	if (*r->scan.health.sentence)
		hg_warn("%s", r->scan.health.sentence);
	*out = r;
	return 0;
}

void hg_reader_close(struct hg_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	ZSTD_freeDCtx(r->zstd);
	hg_names_free(&r->names);
	hg_scan_free(&r->scan);
	free(r->refused);
	free(r->name);
	free(r);
}

const struct hg_reader_health *hg_reader_health(const struct hg_reader *r)
{
	return &r->scan.health;
}

size_t hg_reader_chunks(const struct hg_reader *r, const struct hg_chunk_info **out)
{
	*out = r->scan.chunks;
	return r->scan.nchunks;
}

const char *hg_reader_string(const struct hg_reader *r, uint64_t id, size_t *length_out)
{
	return hg_names_get(&r->names, id, length_out);
}

void hg_reader_chunk_refuse(struct hg_reader *r, size_t i)
{
	struct hg_reader_health *h = &r->scan.health;

	if (r->refused[i])
		return;
	r->refused[i] = 1;
	h->chunks_bad++;
	h->chunks_missing++;
	h->index_ok = false;
	if (!*h->sentence)
		snprintf(h->sentence, sizeof(h->sentence),
			 "%.60s is not whole: the content of a chunk is wrong although its "
			 "checksum is "
			 "right; the rest is intact",
			 r->name);
	if (!r->refused_logged)
		hg_warn("%s: the content of the chunk at byte %" PRIu64
			" is wrong or gone; it is left out",
			r->name, r->scan.chunks[i].offset);
	r->refused_logged = true;
}

int hg_reader_chunk_load(struct hg_reader *r, size_t i, struct hg_chunk_buffer *buffer,
			 struct hg_chunk_buffer *raw)
{
	struct hg_chunk_header h;
	int err = r->refused[i] ? -EBADMSG
				: hg_scan_chunk(r->fd, &r->scan, &r->scan.chunks[i], buffer, &h);

	if (!err && raw->cap < h.raw_size) {
		uint8_t *bytes = realloc(raw->bytes, h.raw_size);

		if (!bytes)
			return -ENOMEM;
		raw->bytes = bytes;
		raw->cap = h.raw_size;
	}
	if (!err)
		err = hg_chunk_inflate(r->zstd, buffer->bytes, &h, raw->bytes);
	if (!err || err == -ENOMEM)
		return err;
	hg_reader_chunk_refuse(r, i);
	return -EBADMSG;
}

static int load_blob(struct hg_reader *r, size_t i, char **out, size_t *size_out)
{
	struct hg_chunk_buffer buffer = {0}, raw = {0};
	size_t size = r->scan.chunks[i].raw_bytes;
	int err = hg_reader_chunk_load(r, i, &buffer, &raw);
	char *text = err ? NULL : realloc(raw.bytes, size + 1);

	free(buffer.bytes);
	if (!text) {
		free(raw.bytes);
		return err ? err : -ENOMEM;
	}
	text[size] = '\0';
	*out = text;
	if (size_out)
		*size_out = size;
	return 0;
}

int hg_reader_blob(struct hg_reader *r, uint16_t type, uint16_t machine, char **out,
		   size_t *size_out)
{
	for (size_t i = 0; i < r->scan.nchunks; i++) {
		const struct hg_chunk_info *info = &r->scan.chunks[i];

		if (info->type == type && info->machine == machine) {
			int err = load_blob(r, i, out, size_out);

			if (err != -EBADMSG)
				return err;
		}
	}
	return -ENOENT;
}
