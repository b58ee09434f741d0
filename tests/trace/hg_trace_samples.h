/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records and files for the tests of trace/: every kind, extreme values, several
 * streams, all drawn from a seed. Included by the test programs.
 */
#ifndef HG_TRACE_SAMPLES_H
#define HG_TRACE_SAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "trace/hg_format.h"
#include "trace/hg_reader.h"
#include "trace/hg_steps.h"
#include "trace/hg_writer.h"

/* xorshift64*: the same numbers on every machine. */
static inline uint64_t sample_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

/* A file that is gone at the end of its block. */
struct sample_file {
	char path[64];
};

static inline int sample_file_new(struct sample_file *f)
{
	int fd;

	snprintf(f->path, sizeof(f->path), "%s", "/tmp/hg-trace-test-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	return fd;
}

static inline void sample_file_remove(struct sample_file *f)
{
	if (*f->path)
		unlink(f->path);
}
#define sample_file_auto __attribute__((cleanup(sample_file_remove))) struct sample_file

static inline uint8_t *sample_read(const char *path, size_t *size_out)
{
	hg_autoclose int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	*size_out = (size_t)st.st_size;
	return bytes;
}

static inline void sample_write(const char *path, const uint8_t *bytes, size_t size)
{
	hg_autoclose int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
}

/* Values that are likely to find a plane that is missing or a sign that is wrong. */
static inline uint64_t sample_value(uint64_t *seed)
{
	uint64_t r = sample_random(seed);

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return UINT64_C(1) << (r >> 8) % 64;
	case 3:
		return (UINT64_C(1) << (r >> 8) % 64) - 1;
	case 4:
		return sample_random(seed);
	default:
		return (r >> 8) % 300;
	}
}

static inline void sample_record(uint64_t *seed, uint16_t kind, uint64_t time_ns,
				 struct hg_record *out)
{
	const struct hg_kind_desc *desc = hg_kind_find(kind);

	*out = (struct hg_record){.time_ns = time_ns, .kind = kind};
	for (unsigned int f = 0; f < desc->nfields; f++)
		out->f[f] = sample_value(seed);
}

/* Puts the record's times on the steps of a clock, most of them. */
static inline void sample_step(uint64_t *seed, uint64_t step, struct hg_record *rec)
{
	uint64_t now = (rec->time_ns << HG_STEPS_SHIFT) / step + 1;

	rec->time_ns = now * step >> HG_STEPS_SHIFT;
	if (rec->kind == HG_KIND_SOFTIRQ && sample_random(seed) % 16) {
		uint64_t then = now - HG_MIN(now, sample_random(seed) % 500);

		rec->f[HG_SOFTIRQ_DUR] = rec->time_ns - (then * step >> HG_STEPS_SHIFT);
		rec->f[HG_SOFTIRQ_SPAN] = rec->f[HG_SOFTIRQ_DUR];
	}
}

static inline bool sample_equal(const struct hg_record *a, const struct hg_record *b)
{
	return a->time_ns == b->time_ns && a->kind == b->kind && a->machine == b->machine &&
	       a->stream == b->stream && !memcmp(a->f, b->f, sizeof(a->f));
}

/* A growing list of records. */
struct sample_list {
	struct hg_record *v;
	size_t n, cap;
};

static inline void sample_list_add(struct sample_list *list, const struct hg_record *rec)
{
	if (list->n == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 256;
		list->v = realloc(list->v, list->cap * sizeof(*list->v));
		assert_non_null(list->v);
	}
	list->v[list->n++] = *rec;
}

static inline void sample_list_free(struct sample_list *list)
{
	free(list->v);
	*list = (struct sample_list){0};
}

static inline void sample_list_read(struct hg_reader *r, const struct hg_cursor_opts *opts,
				    struct sample_list *out)
{
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	const struct hg_record *rec;
	int err;

	assert_int_equal(hg_cursor_open(r, opts, &c), 0);
	while ((err = hg_cursor_next(c, &rec)) == 1)
		sample_list_add(out, rec);
	assert_int_equal(err, 0);
}

/* By time, machine and stream; stable: what the cursor promises. */
static inline int sample_compare(const struct hg_record *a, const struct hg_record *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static inline void sample_list_sort(struct sample_list *list)
{
	/* Merge sort, bottom up: qsort() is not stable. */
	struct hg_record *from = list->v, *to = malloc((list->n + 1) * sizeof(*to)), *other = to;

	assert_non_null(to);
	for (size_t width = 1; width < list->n; width *= 2) {
		for (size_t i = 0; i < list->n; i += 2 * width) {
			size_t a = i, b = HG_MIN(i + width, list->n), mid = b;
			size_t end = HG_MIN(i + 2 * width, list->n);

			for (size_t k = i; k < end; k++)
				to[k] = a < mid && (b == end ||
						    sample_compare(&from[a], &from[b]) <= 0)
						? from[a++]
						: from[b++];
		}
		other = from;
		from = to;
		to = other;
	}
	if (from != list->v)
		memcpy(list->v, from, list->n * sizeof(*from));
	free(from == list->v ? to : from);
}

/* What hg_log says, counted; the last message is kept. */
struct sample_log {
	unsigned int messages;
	char last[2048];
};

static inline void sample_log_fn(void *arg, enum hg_log_level level, const char *message)
{
	struct sample_log *log = arg;

	log->messages++;
	snprintf(log->last, sizeof(log->last), "%s", message);
}

#endif
