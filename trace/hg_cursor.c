/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "trace/hg_columns.h"
#include "trace/hg_reader_private.h"

/* Decoded chunks of all streams together: only a hostile file comes near it. */
#define CURSOR_BYTES_MAX (UINT64_C(1) << 30)

/* One stream: its chunks in order, of which one is decoded. */
struct source {
	uint64_t time_ns; /* of the record that is next */
	uint16_t machine;
	uint32_t stream;
	const uint32_t *chunks; /* indices of the reader's chunks */
	size_t nchunks, next_chunk;
	const struct hg_chunk_info *lost; /* known ones of this stream, by sequence */
	size_t nlost;			  /* that no hole has told of */
	bool in_hole;			  /* the next record is the synthetic one of hole_* */
	uint64_t hole_from_ns, hole_records;
	uint64_t sequence; /* that comes next */
	uint64_t last_ns;  /* of what was read */
	bool started;
	/* Chunks since then whose content is wrong. */
	bool was_refused;
	uint64_t refused, refused_last_ns;
	struct hg_columns columns;
	struct hg_chunk_buffer raw;
};

struct hg_cursor {
	struct hg_reader *r;
	uint64_t from_ns, to_ns, begin_ns;
	struct source *sources;
	size_t nsources;
	uint32_t *order; /* chunk indices, grouped by stream */
	uint32_t *heap;	 /* sources that are not at their end; the earliest first */
	size_t nheap;
	bool moved; /* the first of the heap gave a run: its time is an old one */
	uint64_t bytes;
	struct hg_chunk_buffer buffer;
	bool (*want_kind)(uint16_t kind);
	/* Of hg_cursor_next: what is left of the run. */
	const struct hg_record *const *left;
	int nleft;
	const struct hg_kind_desc *desc; /* of the last one */
	struct hg_record record, hole;
	const struct hg_record *hole_run[1];
};

static bool is_outside(const struct hg_cursor *c, uint64_t first_ns, uint64_t last_ns)
{
	return last_ns < c->from_ns || first_ns > c->to_ns;
}

/* Records of the lost chunks before number end, as far as they are known. Each is told once. */
static uint64_t take_lost(struct source *s, uint64_t end)
{
	uint64_t n = 0;

	for (; s->nlost && s->lost->sequence < end; s->lost++, s->nlost--)
		n += s->lost->records;
	return n;
}

/* A hole before what comes next: at to_ns, with number sequence. False: there is none to report. */
static bool hole_before(const struct hg_cursor *c, struct source *s, uint64_t to_ns,
			uint64_t sequence)
{
	uint64_t from_ns = s->started ? s->last_ns : HG_MIN(c->begin_ns, to_ns);
	uint64_t records = s->refused + take_lost(s, sequence);
	bool gap = sequence > s->sequence || s->was_refused;

	s->was_refused = false;
	s->refused = 0;
	if (!gap || is_outside(c, from_ns, to_ns))
		return false;
	s->in_hole = true;
	s->hole_from_ns = HG_MIN(from_ns, to_ns);
	s->hole_records = records;
	s->time_ns = to_ns;
	return true;
}

/* The stream has no chunk left; what is known to be lost behind its last one is a hole too. */
static bool hole_at_end(const struct hg_cursor *c, struct source *s)
{
	uint64_t to_ns = HG_MAX(s->last_ns, s->refused_last_ns), end = s->sequence;

	for (size_t i = 0; i < s->nlost; i++) {
		if (s->lost[i].sequence >= end) {
			to_ns = HG_MAX(to_ns, s->lost[i].last_ns);
			end = s->lost[i].sequence + 1;
		}
	}
	if (!hole_before(c, s, to_ns, end))
		return false;
	s->sequence = end;
	s->last_ns = to_ns;
	return true;
}

/* Decodes chunk i. 0; -EBADMSG: it is left out and noted; -ENOMEM. */
static int load_chunk(struct hg_cursor *c, struct source *s, uint32_t i)
{
	const struct hg_chunk_info *info = &c->r->scan.chunks[i];
	const struct hg_columns_source source = {s->machine, s->stream, c->want_kind};
	size_t before = s->raw.cap + hg_columns_bytes(&s->columns);
	int err;

	if (c->bytes > CURSOR_BYTES_MAX) {
		hg_error("%s: its streams need more than 1 GiB of memory at once", c->r->name);
		return -ENOMEM;
	}
	err = hg_reader_chunk_load(c->r, i, &c->buffer, &s->raw);
	if (!err)
		err = hg_columns_open(&s->columns, s->raw.bytes, info->raw_bytes, info->records,
				      info->first_ns, info->last_ns, &source);
	c->bytes += s->raw.cap + hg_columns_bytes(&s->columns) - before;
	if (err == -EBADMSG)
		hg_reader_chunk_refuse(c->r, i);
	return err;
}

static void step(struct source *s, const struct hg_chunk_info *info)
{
	s->next_chunk++;
	s->sequence = info->sequence + 1;
	s->last_ns = info->last_ns;
	s->started = true;
}

static void step_refused(struct source *s, const struct hg_chunk_info *info)
{
	s->refused += info->records + take_lost(s, info->sequence);
	s->refused_last_ns = info->last_ns;
	s->was_refused = true;
	s->next_chunk++;
	s->sequence = info->sequence + 1;
	s->columns.count = s->columns.position = 0;
}

/* Moves to the stream's next record. 1, 0 at its end, or -ENOMEM. */
static int source_next(struct hg_cursor *c, struct source *s)
{
	while (s->columns.position == s->columns.count) {
		const struct hg_chunk_info *info;
		bool hole;
		int err;

		if (s->next_chunk == s->nchunks)
			return hole_at_end(c, s);
		info = &c->r->scan.chunks[s->chunks[s->next_chunk]];
		if (is_outside(c, info->first_ns, info->last_ns)) {
			take_lost(s, info->sequence);
			step(s, info);
			continue;
		}
		/* Decoded before the hole is judged: it may join it. */
		err = info->records ? load_chunk(c, s, s->chunks[s->next_chunk]) : 0;
		if (err == -EBADMSG) {
			step_refused(s, info);
			continue;
		}
		if (err)
			return err;
		hole = hole_before(c, s, info->first_ns, info->sequence);
		step(s, info);
		if (hole)
			return 1;
	}
	s->time_ns = s->columns.order[s->columns.position]->time_ns;
	return 1;
}

static bool earlier(const struct hg_cursor *c, uint32_t a, uint32_t b)
{
	uint64_t x = c->sources[a].time_ns, y = c->sources[b].time_ns;

	/* Sources are sorted by machine and stream. */
	return x < y || (x == y && a < b);
}

static void sift_down(struct hg_cursor *c, size_t at)
{
	uint32_t source = c->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= c->nheap)
			break;
		if (child + 1 < c->nheap && earlier(c, c->heap[child + 1], c->heap[child]))
			child++;
		if (!earlier(c, c->heap[child], source))
			break;
		c->heap[at] = c->heap[child];
		at = child;
	}
	c->heap[at] = source;
}

static int compare_streams(const void *a, const void *b, void *arg)
{
	const struct hg_chunk_info *chunks = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct hg_chunk_info *x = &chunks[i], *y = &chunks[k];

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int compare_source(const struct hg_chunk_info *info, const struct source *s)
{
	if (info->machine != s->machine)
		return info->machine < s->machine ? -1 : 1;
	return info->stream < s->stream ? -1 : info->stream > s->stream;
}

static bool is_wanted(const struct hg_cursor_opts *opts, const struct hg_chunk_info *info)
{
	return info->type == HG_CHUNK_RECORDS &&
	       (!opts || !opts->want || opts->want(opts->arg, info->machine, info->stream));
}

/* The wanted chunks, grouped by stream; how many they are. */
static size_t sort_chunks(struct hg_cursor *c, const struct hg_cursor_opts *opts)
{
	const struct hg_scan *scan = &c->r->scan;
	size_t n = 0;

	c->begin_ns = UINT64_MAX;
	for (size_t i = 0; i < scan->nchunks; i++) {
		const struct hg_chunk_info *info = &scan->chunks[i];

		if (info->type == HG_CHUNK_RECORDS && info->records)
			c->begin_ns = HG_MIN(c->begin_ns, info->first_ns);
		if (is_wanted(opts, info))
			c->order[n++] = (uint32_t)i;
	}
	qsort_r(c->order, n, sizeof(*c->order), compare_streams, scan->chunks);
	return n;
}

/* Streams with chunks, and those of which only lost chunks are known: both lists are sorted. */
static int make_sources(struct hg_cursor *c, const struct hg_cursor_opts *opts)
{
	const struct hg_scan *scan = &c->r->scan;
	size_t n, i = 0, lost = 0;

	c->order = malloc((scan->nchunks + 1) * sizeof(*c->order));
	c->sources = calloc(scan->nchunks + scan->nlost + 1, sizeof(*c->sources));
	if (!c->order || !c->sources)
		return -ENOMEM;
	n = sort_chunks(c, opts);
	while (i < n || lost < scan->nlost) {
		const struct hg_chunk_info *info = i < n ? &scan->chunks[c->order[i]] : NULL;
		const struct hg_chunk_info *other = lost < scan->nlost ? &scan->lost[lost] : NULL;
		struct source *s = &c->sources[c->nsources];

		if (other && !is_wanted(opts, other)) {
			lost++;
			continue;
		}
		if (!info ||
		    (other && (other->machine < info->machine ||
			       (other->machine == info->machine && other->stream < info->stream))))
			info = other;
		s->machine = info->machine;
		s->stream = info->stream;
		s->chunks = &c->order[i];
		for (; i < n && !compare_source(&scan->chunks[c->order[i]], s); i++)
			s->nchunks++;
		s->lost = other;
		for (; lost < scan->nlost && is_wanted(opts, &scan->lost[lost]) &&
		       !compare_source(&scan->lost[lost], s);
		     lost++)
			s->nlost++;
		c->nsources++;
	}
	return 0;
}

static int fill_heap(struct hg_cursor *c)
{
	c->heap = malloc((c->nsources + 1) * sizeof(*c->heap));
	if (!c->heap)
		return -ENOMEM;
	for (size_t i = 0; i < c->nsources; i++) {
		int err = source_next(c, &c->sources[i]);

		if (err < 0)
			return err;
		if (err)
			c->heap[c->nheap++] = (uint32_t)i;
	}
	for (size_t i = c->nheap / 2; i-- > 0;)
		sift_down(c, i);
	return 0;
}

int hg_cursor_open(struct hg_reader *r, const struct hg_cursor_opts *opts, struct hg_cursor **out)
{
	struct hg_cursor *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->r = r;
	c->from_ns = opts ? opts->from_ns : 0;
	c->to_ns = opts && opts->to_ns ? opts->to_ns : UINT64_MAX;
	c->want_kind = opts ? opts->want_kind : NULL;
	err = make_sources(c, opts);
	if (!err)
		err = fill_heap(c);
	if (err) {
		hg_cursor_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void hg_cursor_close(struct hg_cursor *c)
{
	for (size_t i = 0; i < c->nsources; i++) {
		hg_columns_free(&c->sources[i].columns);
		free(c->sources[i].raw.bytes);
	}
	free(c->sources);
	free(c->order);
	free(c->heap);
	free(c->buffer.bytes);
	free(c);
}

static int take_hole(struct hg_cursor *c, struct source *s, const struct hg_record *const **out)
{
	c->hole = (struct hg_record){
		.time_ns = s->time_ns,
		.kind = HG_KIND_LOSS,
		.machine = s->machine,
		.stream = s->stream,
		.f = {[HG_LOSS_PROBE] = HG_LOSS_DAMAGE,
		      [HG_LOSS_COUNT] = s->hole_records,
		      [HG_LOSS_SINCE] = s->time_ns - s->hole_from_ns},
	};
	s->in_hole = false;
	c->hole_run[0] = &c->hole;
	*out = c->hole_run;
	return 1;
}

/* Puts the stream that gave the last run where its next record belongs. */
static int heap_settle(struct hg_cursor *c)
{
	int err = source_next(c, &c->sources[c->heap[0]]);

	if (err < 0)
		return err;
	c->moved = false;
	if (!err)
		c->heap[0] = c->heap[--c->nheap];
	if (c->nheap)
		sift_down(c, 0);
	return 0;
}

/* The last time at which the first of the heap still comes before the others. */
static uint64_t run_end(const struct hg_cursor *c)
{
	uint64_t end_ns = UINT64_MAX;

	for (size_t i = 1; i < HG_MIN(c->nheap, (size_t)3); i++) {
		uint64_t time_ns = c->sources[c->heap[i]].time_ns;

		/* At the same time the stream that sorts first goes first. */
		end_ns = HG_MIN(end_ns, time_ns - (c->heap[0] > c->heap[i]));
	}
	return end_ns;
}

int hg_cursor_run(struct hg_cursor *c, const struct hg_record *const **out)
{
	struct hg_columns *columns;
	uint32_t first, at;
	uint64_t end_ns;
	struct source *s;
	int err = c->moved ? heap_settle(c) : 0;

	if (err || !c->nheap)
		return err;
	c->moved = true;
	s = &c->sources[c->heap[0]];
	if (s->in_hole)
		return take_hole(c, s, out);
	columns = &s->columns;
	end_ns = run_end(c);
	/* The first one is first for sure. */
	first = at = columns->position;
	do
		at++;
	while (at < columns->count && columns->order[at]->time_ns <= end_ns);
	columns->position = at;
	*out = columns->order + first;
	return (int)(at - first);
}

int hg_cursor_next(struct hg_cursor *c, const struct hg_record **out)
{
	const struct hg_record *rec;

	if (!c->nleft) {
		c->nleft = hg_cursor_run(c, &c->left);
		if (c->nleft <= 0) {
			int end = c->nleft;

			c->nleft = 0;
			return end;
		}
	}
	c->nleft--;
	rec = *c->left++;
	if (!c->desc || c->desc->kind != rec->kind)
		c->desc = hg_kind_find(rec->kind);
	memset(&c->record, 0, sizeof(c->record));
	memcpy(&c->record, rec,
	       offsetof(struct hg_record, f) + c->desc->nfields * sizeof(rec->f[0]));
	*out = &c->record;
	return 1;
}
