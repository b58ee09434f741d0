/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that samplers write tick by tick and a test reads back. Included by the tests of the samplers, after cmocka.h.
 */
#ifndef HG_TESTS_SAMPLER_TAPE_H
#define HG_TESTS_SAMPLER_TAPE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hg_base.h"
#include "trace/hg_reader.h"
#include "trace/hg_writer.h"

struct tape {
	char path[32];
	struct hg_writer *w;
	struct hg_record *records;
	size_t count;
	struct hg_reader *r;
};

static inline void tape_open(struct tape *t)
{
	int fd;

	memset(t, 0, sizeof(*t));
	strcpy(t->path, "/tmp/hg-test-sampler-XXXXXX");
	fd = mkstemp(t->path);
	assert_true(fd >= 0);
	assert_int_equal(hg_writer_open(fd, t->path, &t->w), 0);
}

static inline void tape_read(struct tape *t)
{
	const struct hg_record *rec;
	struct hg_cursor *cursor;
	struct hg_cursor_opts opts = {0};
	int r;

	assert_int_equal(hg_writer_close(t->w), 0);
	assert_int_equal(hg_reader_open(t->path, &t->r), 0);
	assert_int_equal(hg_cursor_open(t->r, &opts, &cursor), 0);
	while ((r = hg_cursor_next(cursor, &rec)) == 1) {
		t->records = reallocarray(t->records, t->count + 1, sizeof(*rec));
		assert_non_null(t->records);
		t->records[t->count++] = *rec;
		assert_int_equal(rec->stream,
				 rec->kind == HG_KIND_NETNS || rec->kind == HG_KIND_LINK
					 ? HG_STREAM_CONTROL
					 : HG_STREAM_SAMPLER);
		assert_true(t->count < 2 || t->records[t->count - 2].time_ns <= rec->time_ns);
	}
	assert_int_equal(r, 0);
	hg_cursor_close(cursor);
}

static inline void tape_close(struct tape *t)
{
	hg_reader_close(t->r);
	free(t->records);
	unlink(t->path);
}

/* The nth record (from 0) of a kind whose first field is key (UINT64_MAX: any); NULL. */
static inline const struct hg_record *find(const struct tape *t, uint16_t kind, uint64_t key,
					   size_t nth)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind == kind && (key == UINT64_MAX || rec->f[0] == key) && !nth--)
			return rec;
	}
	return NULL;
}

static inline size_t count(const struct tape *t, uint16_t kind, uint64_t key)
{
	size_t n = 0;

	while (find(t, kind, key, n))
		n++;
	return n;
}

#endif
