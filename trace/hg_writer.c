/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <uthash.h>

#include "base/hg_base.h"
#include "trace/hg_columns.h"
#include "trace/hg_format.h"
#include "trace/hg_intern.h"
#include "trace/hg_sink.h"

#define CHUNK_AGE_NS	  HG_NSEC_PER_SEC
#define ROWS_WORDS_MAX	  (HG_ROWS_BYTES_MAX / sizeof(uint64_t))
#define ROWS_WORDS_MIN	  256
#define HELD_BYTES_MAX	  (16u << 20)
#define STRINGS_BYTES_MAX (256u << 10)

static_assert(ROWS_WORDS_MAX / 2 <= HG_CHUNK_RECORDS_MAX, "a chunk of one-field records is valid");

/* Chunks that are numbered together. */
struct stream {
	uint64_t key;
	uint64_t sequence;
	uint64_t last_ns;
	uint64_t opened_ns; /* 0: at the next round */
	struct hg_job *job; /* being filled */
	UT_hash_handle hh;
};

struct job_list {
	struct hg_job *head, **tail;
	size_t bytes;
};

struct hg_writer {
	pthread_mutex_t lock;
	struct hg_sink *sink;
	struct hg_intern *strings;
	struct stream *streams, *last;
	struct job_list fresh; /* closed since the last round */
	struct job_list held;  /* closed in the round before */
	uint64_t records, bytes_in;
	uint8_t nfields[256]; /* by kind, 0: no such kind */
};

static uint64_t stream_key(uint16_t type, uint16_t machine, uint32_t stream)
{
	return (uint64_t)type << 48 | (uint64_t)machine << 32 | stream;
}

static bool is_control(const struct stream *s)
{
	return (uint32_t)s->key == HG_STREAM_CONTROL;
}

static struct stream *find_stream(struct hg_writer *w, uint64_t key)
{
	struct stream *s;

	HASH_FIND(hh, w->streams, &key, sizeof(key), s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	HASH_ADD(hh, w->streams, key, sizeof(s->key), s);
	return s;
}

static void list_clear(struct job_list *list)
{
	*list = (struct job_list){.tail = &list->head};
}

static void list_add(struct job_list *list, struct hg_job *job)
{
	job->next = NULL;
	*list->tail = job;
	list->tail = &job->next;
	list->bytes += job->rows.words_cap * sizeof(uint64_t);
}

/* Pushes all, also after an error: the sink drops them. */
static int list_push(struct hg_writer *w, struct job_list *list)
{
	int err = 0;

	while (list->head) {
		struct hg_job *job = list->head;

		list->head = job->next;
		err = hg_sink_push(w->sink, job);
	}
	list_clear(list);
	return err;
}

static struct hg_job *take_job(struct stream *s)
{
	struct hg_job *job = HG_TAKE_PTR(s->job);

	if (!job)
		return NULL;
	if (!job->rows.records)
		job->header.first_ns = s->last_ns;
	job->header.last_ns = s->last_ns;
	job->header.records = job->rows.records;
	job->header.sequence = s->sequence++;
	return job;
}

/* A section that is not rows. Takes bytes. */
static int push_bytes(struct hg_writer *w, uint64_t key, uint8_t *bytes, size_t size,
		      uint32_t records)
{
	struct stream *s = find_stream(w, key);
	struct hg_job *job = s ? calloc(1, sizeof(*job)) : NULL;

	if (!job) {
		free(bytes);
		return -ENOMEM;
	}
	job->bytes = bytes;
	job->bytes_size = size;
	job->header.type = (uint16_t)(key >> 48);
	job->header.machine = (uint16_t)(key >> 32);
	job->header.stream = (uint32_t)key;
	job->header.records = records;
	job->header.sequence = s->sequence++;
	w->bytes_in += size;
	return hg_sink_push(w->sink, job);
}

static int flush_strings(struct hg_writer *w)
{
	uint8_t *bytes;
	size_t size;
	uint32_t count;
	int err = hg_intern_take(w->strings, &bytes, &size, &count);

	if (err)
		return err == -ENOENT ? 0 : err;
	return push_bytes(w, stream_key(HG_CHUNK_STRINGS, 0, 0), bytes, size, count);
}

/* Strings first: the control stream's records name them. */
static int flush_definitions(struct hg_writer *w)
{
	int err = flush_strings(w);

	for (struct stream *s = w->streams; s && !err; s = s->hh.next) {
		if (is_control(s) && s->job)
			err = hg_sink_push(w->sink, take_job(s));
	}
	return err;
}

static int close_chunk(struct hg_writer *w, struct stream *s)
{
	int err;

	if (is_control(s))
		return flush_definitions(w);
	list_add(&w->fresh, take_job(s));
	if (w->fresh.bytes + w->held.bytes <= HELD_BYTES_MAX)
		return 0;
	/* Bounded memory goes before the order of definitions, which only a cut file needs. */
	err = flush_definitions(w);
	if (!err)
		err = list_push(w, &w->held);
	return err ? err : list_push(w, &w->fresh);
}

static int open_chunk(struct hg_writer *w, struct stream *s)
{
	s->job = hg_sink_job(w->sink);
	if (!s->job)
		return -ENOMEM;
	s->job->header = (struct hg_chunk_header){
		.type = HG_CHUNK_RECORDS,
		.machine = (uint16_t)(s->key >> 32),
		.stream = (uint32_t)s->key,
	};
	s->opened_ns = 0;
	return 0;
}

/* Doubles, so that a quiet stream stays small. */
static int grow_rows(struct hg_rows *rows)
{
	size_t cap = HG_MIN(HG_MAX(2 * rows->words_cap, ROWS_WORDS_MIN), ROWS_WORDS_MAX);
	uint64_t *words = realloc(rows->words, cap * sizeof(*words));
	uint16_t *kinds;

	if (!words)
		return -ENOMEM;
	rows->words = words;
	kinds = realloc(rows->kinds, cap / 2 * sizeof(*kinds));
	if (!kinds)
		return -ENOMEM;
	rows->kinds = kinds;
	rows->words_cap = cap;
	rows->records_cap = (uint32_t)(cap / 2);
	return 0;
}

/* The rows of s have no room for need words, or there are none. */
static int make_room(struct hg_writer *w, struct stream *s, size_t need)
{
	int err = 0;

	if (s->job && s->job->rows.nwords + need > ROWS_WORDS_MAX)
		err = close_chunk(w, s);
	if (!err && !s->job)
		err = open_chunk(w, s);
	while (!err && s->job->rows.nwords + need > s->job->rows.words_cap)
		err = grow_rows(&s->job->rows);
	return err;
}

static void lock_release(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define WRITER_LOCKED(w)                                                                           \
	__attribute__((cleanup(lock_release))) pthread_mutex_t *hg_locked_ = &(w)->lock;           \
	pthread_mutex_lock(hg_locked_)

int hg_writer_open(int fd, const char *path, struct hg_writer **out)
{
	struct hg_writer *w = calloc(1, sizeof(*w));
	int err = w ? hg_intern_new(&w->strings) : -ENOMEM;

	if (err) {
		close(fd);
		free(w);
		return err;
	}
	err = hg_sink_open(fd, path, &w->sink);
	if (err) {
		hg_intern_free(w->strings);
		free(w);
		return err;
	}
	hg_sink_lock_init(&w->lock);
	list_clear(&w->fresh);
	list_clear(&w->held);
	for (size_t i = 0; i < hg_kinds_count; i++) {
		assert(hg_kinds[i].kind < HG_ARRAY_SIZE(w->nfields) && hg_kinds[i].nfields);
		w->nfields[hg_kinds[i].kind] = (uint8_t)hg_kinds[i].nfields;
	}
	*out = w;
	return 0;
}

void hg_writer_step_set(struct hg_writer *w, uint64_t step)
{
	hg_sink_step_set(w->sink, step);
}

int hg_writer_string(struct hg_writer *w, const char *text, size_t length, uint32_t *id_out)
{
	hg_autofree char *cut = NULL;
	int err = hg_sink_error(w->sink);
	WRITER_LOCKED(w);

	if (err)
		return err;
	if (length > HG_STRING_MAX) {
		cut = malloc(HG_STRING_MAX);
		if (!cut)
			return -ENOMEM;
		memcpy(cut, text, HG_STRING_MAX - 3);
		memcpy(cut + HG_STRING_MAX - 3, "...", 3);
		text = cut;
		length = HG_STRING_MAX;
	}
	err = hg_intern_add(w->strings, text, length, id_out);
	if (!err && hg_intern_pending(w->strings) >= STRINGS_BYTES_MAX)
		err = flush_strings(w);
	return err;
}

static struct stream *records_stream(struct hg_writer *w, uint16_t machine, uint32_t stream)
{
	uint64_t key = stream_key(HG_CHUNK_RECORDS, machine, stream);

	if (!w->last || w->last->key != key)
		w->last = find_stream(w, key);
	return w->last;
}

int hg_writer_record(struct hg_writer *w, uint16_t machine, uint32_t stream,
		     const struct hg_record *rec)
{
	WRITER_LOCKED(w);
	struct stream *s = records_stream(w, machine, stream);
	unsigned int n = rec->kind < HG_ARRAY_SIZE(w->nfields) ? w->nfields[rec->kind] : 0;
	uint64_t time = rec->time_ns;
	struct hg_rows *rows;
	uint64_t *row;
	int err = hg_sink_error(w->sink);

	if (err || !s || !n)
		return err ? err : s ? -EINVAL : -ENOMEM;
	if (!s->job || s->job->rows.nwords + 1 + n > s->job->rows.words_cap) {
		err = make_room(w, s, 1 + n);
		if (err)
			return err;
	}
	rows = &s->job->rows;
	if (time < s->last_ns) {
		time = s->last_ns;
		s->job->header.raised++;
	}
	s->last_ns = time;
	if (!rows->records)
		s->job->header.first_ns = time;
	row = rows->words + rows->nwords;
	row[0] = time;
	for (unsigned int f = 0; f < n; f++)
		row[1 + f] = rec->f[f];
	rows->kinds[rows->records++] = rec->kind;
	rows->nwords += 1 + n;
	w->records++;
	w->bytes_in += (1 + n) * sizeof(uint64_t);
	return 0;
}

void hg_writer_lost(struct hg_writer *w, uint16_t machine, uint32_t stream, uint64_t count)
{
	WRITER_LOCKED(w);
	struct stream *s = records_stream(w, machine, stream);

	if (hg_sink_error(w->sink) || !s || (!s->job && open_chunk(w, s)))
		return;
	if (__builtin_add_overflow(s->job->header.lost, count, &s->job->header.lost))
		s->job->header.lost = UINT64_MAX;
}

int hg_writer_blob(struct hg_writer *w, uint16_t type, uint16_t machine, uint32_t stream,
		   const void *data, size_t size)
{
	uint8_t *copy;
	int err = hg_sink_error(w->sink);

	assert(type != HG_CHUNK_RECORDS && type != HG_CHUNK_STRINGS && type != HG_CHUNK_INDEX);
	if (err)
		return err;
	if (size > HG_CHUNK_RAW_MAX)
		return -E2BIG;
	copy = malloc(size ? size : 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	WRITER_LOCKED(w);
	return push_bytes(w, stream_key(type, machine, stream), copy, size, 0);
}

int hg_writer_round(struct hg_writer *w, uint64_t now_ns)
{
	int err = hg_sink_error(w->sink);
	WRITER_LOCKED(w);

	for (struct stream *s = w->streams; s && !err; s = s->hh.next) {
		if (!s->job)
			continue;
		if (!s->opened_ns)
			s->opened_ns = now_ns;
		else if (now_ns - s->opened_ns >= CHUNK_AGE_NS)
			err = close_chunk(w, s);
	}
	if (!err && w->held.head) {
		err = flush_definitions(w);
		if (!err)
			err = list_push(w, &w->held);
	}
	if (err)
		return err;
	if (w->fresh.head) {
		w->held = w->fresh;
		list_clear(&w->fresh);
	}
	return 0;
}

static void stats_fill(const struct hg_writer *w, const struct hg_sink_stats *sink,
		       struct hg_writer_stats *out)
{
	*out = (struct hg_writer_stats){
		.records = w->records,
		.bytes_in = w->bytes_in,
		.bytes_out = sink->bytes_out,
		.chunks = sink->chunks,
		.cpu_ns = sink->cpu_ns,
		.queued_bytes_max = sink->queued_bytes_max,
		.events = sink->events,
		.last_ns = sink->last_ns,
	};
}

void hg_writer_stats_get(const struct hg_writer *w, struct hg_writer_stats *out)
{
	struct hg_sink_stats sink;
	WRITER_LOCKED((struct hg_writer *)w); /* the lock is no part of what is const */

	hg_sink_stats_get(w->sink, &sink);
	stats_fill(w, &sink, out);
}

bool hg_writer_failed(const struct hg_writer *w)
{
	return hg_sink_error(w->sink) != 0;
}

/* In the order that a cut file needs: definitions, then what was closed first. */
static int push_all(struct hg_writer *w)
{
	int err = flush_definitions(w);

	for (struct stream *s = w->streams; s && !err; s = s->hh.next) {
		if (s->job)
			list_add(&w->fresh, take_job(s));
	}
	if (!err)
		err = list_push(w, &w->held);
	return err ? err : list_push(w, &w->fresh);
}

static void drop_list(struct job_list *list)
{
	while (list->head) {
		struct hg_job *job = list->head;

		list->head = job->next;
		hg_job_free(job);
	}
}

int hg_writer_close(struct hg_writer *w)
{
	struct hg_writer_stats stats;

	return hg_writer_close_stats(w, &stats);
}

int hg_writer_close_stats(struct hg_writer *w, struct hg_writer_stats *stats_out)
{
	struct hg_sink_stats sink;
	struct stream *s, *next;
	int err = push_all(w), sink_err = hg_sink_close(w->sink, &sink);

	stats_fill(w, &sink, stats_out);
	drop_list(&w->held);
	drop_list(&w->fresh);
	HASH_ITER (hh, w->streams, s, next) {
		HASH_DEL(w->streams, s);
		hg_job_free(s->job);
		free(s);
	}
	hg_intern_free(w->strings);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return sink_err ? sink_err : err;
}
