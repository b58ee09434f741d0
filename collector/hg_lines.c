/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_lines.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/hg_base.h"
#include "base/hg_log.h"

#define STORE_HEAD_BYTES_MAX ((size_t)8 << 20)
#define STORE_TAIL_BYTES_MAX ((size_t)256 << 10)

void hg_lines_init(struct hg_lines *l, int fd, hg_line_fn fn, void *arg)
{
	*l = (struct hg_lines){.fd = fd, .fn = fn, .arg = arg};
}

void hg_lines_clear(struct hg_lines *l)
{
	free(l->buffer);
	l->buffer = NULL;
	l->used = 0;
}

static int lines_flush(struct hg_lines *l, uint64_t time_ns, bool goes_on)
{
	unsigned int piece =
		(l->in_pieces ? HG_LINE_CONTINUES : 0U) | (goes_on ? HG_LINE_GOES_ON : 0U);
	size_t length = l->used;

	l->used = 0;
	l->in_pieces = goes_on;
	return l->fn(l->arg, time_ns, l->fd, l->buffer, length, piece);
}

/* Appends bytes of one line; what exceeds the bound goes out in pieces, so that no byte is lost. */
static int lines_append(struct hg_lines *l, const char *data, size_t size, uint64_t time_ns)
{
	while (size) {
		int err = l->used == HG_LINE_BYTES_MAX ? lines_flush(l, time_ns, true) : 0;
		size_t n = HG_MIN(size, HG_LINE_BYTES_MAX - l->used);

		if (err)
			return err;
		memcpy(l->buffer + l->used, data, n);
		l->used += n;
		data += n;
		size -= n;
	}
	return 0;
}

static size_t line_length(const char *data, size_t size)
{
	const char *lf = memchr(data, '\n', size);
	const char *cr = memchr(data, '\r', lf ? (size_t)(lf - data) : size);

	if (cr)
		return (size_t)(cr - data);
	return lf ? (size_t)(lf - data) : size;
}

int hg_lines_feed(struct hg_lines *l, const char *data, size_t size, uint64_t time_ns)
{
	if (!l->buffer) {
		l->buffer = malloc(HG_LINE_BYTES_MAX);
		if (!l->buffer)
			return -ENOMEM;
	}
	while (size) {
		size_t n;
		int err;

		if (l->after_cr && *data == '\n') {
			l->after_cr = false;
			data++;
			size--;
			continue;
		}
		l->after_cr = false;
		n = line_length(data, size);
		err = lines_append(l, data, n, time_ns);
		if (err)
			return err;
		if (n == size)
			return 0;
		l->after_cr = data[n] == '\r';
		err = lines_flush(l, time_ns, false);
		if (err)
			return err;
		data += n + 1;
		size -= n + 1;
	}
	return 0;
}

int hg_lines_end(struct hg_lines *l, uint64_t time_ns, bool whole)
{
	int err = l->used ? lines_flush(l, time_ns, !whole) : 0;

	hg_lines_drop(l);
	return err;
}

void hg_lines_drop(struct hg_lines *l)
{
	l->used = 0;
	l->in_pieces = l->after_cr = false;
}

struct kept_line {
	struct kept_line *next, *prev;
	uint64_t time_ns;
	int fd;
	unsigned int piece;
	size_t length;
	char text[];
};

struct hg_line_store {
	struct hg_writer *writer;
	size_t head_bytes, tail_bytes;
	uint64_t left_out;
	struct kept_line *tail;
};

int hg_line_store_new(struct hg_line_store **out)
{
	struct hg_line_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*out = s;
	return 0;
}

static void tail_drop(struct hg_line_store *s, struct kept_line *line)
{
	DL_DELETE(s->tail, line);
	s->tail_bytes -= sizeof(*line) + line->length;
	free(line);
}

void hg_line_store_free(struct hg_line_store *s)
{
	if (!s)
		return;
	while (s->tail)
		tail_drop(s, s->tail);
	free(s);
}

void hg_line_store_writer_set(struct hg_line_store *s, struct hg_writer *w)
{
	s->writer = w;
}

static int line_write(struct hg_writer *w, uint64_t time_ns, int fd, const char *text,
		      size_t length, unsigned int piece)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_LINE};
	uint32_t id;
	int err;

	err = hg_writer_string(w, text, length, &id);
	if (err)
		return err;
	rec.f[HG_LINE_FD] = (uint64_t)fd;
	rec.f[HG_LINE_TEXT] = id;
	rec.f[HG_LINE_PIECE] = piece;
	return hg_writer_record(w, 0, HG_STREAM_CLIENT, &rec);
}

int hg_line_store_add(void *arg, uint64_t time_ns, int fd, const char *text, size_t length,
		      unsigned int piece)
{
	struct hg_line_store *s = arg;
	struct kept_line *line;

	if (!s->writer)
		return 0;
	if (s->head_bytes + length <= STORE_HEAD_BYTES_MAX && !s->tail) {
		s->head_bytes += length + 1;
		return line_write(s->writer, time_ns, fd, text, length, piece);
	}
	line = malloc(sizeof(*line) + length);
	if (!line)
		return -ENOMEM;
	line->time_ns = time_ns;
	line->fd = fd;
	line->length = length;
	line->piece = piece;
	memcpy(line->text, text, length);
	DL_APPEND(s->tail, line);
	s->tail_bytes += sizeof(*line) + length;
	while (s->tail_bytes > STORE_TAIL_BYTES_MAX && s->tail != line) {
		s->left_out++;
		tail_drop(s, s->tail);
	}
	return 0;
}

int hg_line_store_end(struct hg_line_store *s)
{
	int err = 0;

	if (s->left_out) {
		hg_warn("of the client's long output, %llu lines between its first %zu MiB and its "
			"end are not kept in the trace",
			(unsigned long long)s->left_out, STORE_HEAD_BYTES_MAX >> 20);
		if (s->writer)
			hg_writer_lost(s->writer, 0, HG_STREAM_CLIENT, s->left_out);
		s->left_out = 0;
	}
	while (s->tail) {
		struct kept_line *line = s->tail;

		if (!err && s->writer)
			err = line_write(s->writer, line->time_ns, line->fd, line->text,
					 line->length, line->piece);
		tail_drop(s, line);
	}
	return err;
}
