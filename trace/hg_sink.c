/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_sink.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include <zstd.h>

#include "base/hg_base.h"
#include "base/hg_log.h"

#define ZSTD_LEVEL	1
#define SPARES_MAX	64 /* used row blocks that are kept: page faults cost as much as the encoding */
#define SPARE_BYTES_MIN (HG_ROWS_BYTES_MAX / 2)

struct hg_sink {
	int fd;
	char *path;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct hg_job *head, **tail, *spares;
	unsigned int nspares;
	size_t queued_bytes, queued_bytes_max;
	bool ending;

	_Atomic int error;
	_Atomic uint64_t bytes_out, chunks, cpu_ns, events, last_ns;

	/* The thread's own. */
	struct hg_file_header header;
	uint64_t offset;
	ZSTD_CCtx *zstd;
	struct hg_columns_encoder encoder;
	uint8_t *out;
	size_t out_cap;
	struct hg_chunk_info *index;
	size_t nindex, index_cap;
};

void hg_job_free(struct hg_job *job)
{
	if (!job)
		return;
	hg_rows_free(&job->rows);
	free(job->bytes);
	free(job);
}

static void sink_free(struct hg_sink *s)
{
	if (!s)
		return;
	while (s->spares) {
		struct hg_job *job = s->spares;

		s->spares = job->next;
		hg_job_free(job);
	}
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->more);
	pthread_cond_destroy(&s->room);
	ZSTD_freeCCtx(s->zstd);
	hg_columns_encoder_free(&s->encoder);
	free(s->out);
	free(s->index);
	free(s->path);
	free(s);
}

static int write_at(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int write_file_header(struct hg_sink *s)
{
	uint8_t bytes[HG_FILE_HEADER_SIZE];

	hg_file_header_pack(bytes, &s->header);
	return write_at(s->fd, bytes, sizeof(bytes), 0);
}

void hg_sink_step_set(struct hg_sink *s, uint64_t step)
{
	s->encoder.step = step;
}

/* First error only. The tail of the chunk that failed is cut off, so that the file ends whole. */
static void fail(struct hg_sink *s, int err)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&s->error, &none, err))
		return;
	if (ftruncate(s->fd, (off_t)s->offset))
		hg_debug("cannot cut %s after its last whole chunk: %s", s->path, strerror(errno));
	hg_error("cannot write to %s: %s; the %.*f %s written before stay readable", s->path,
		 hg_error_text(err), s->offset < 1000000 ? 0 : 1,
		 (double)s->offset / (s->offset < 1000000 ? 1e3 : 1e6),
		 s->offset < 1000000 ? "kB" : "MB");
}

static int remember(struct hg_sink *s, const struct hg_chunk_header *h)
{
	if (s->nindex == s->index_cap) {
		size_t cap = s->index_cap ? 2 * s->index_cap : 256;
		struct hg_chunk_info *index = realloc(s->index, cap * sizeof(*index));

		if (!index)
			return -ENOMEM;
		s->index = index;
		s->index_cap = cap;
	}
	hg_chunk_info_fill(&s->index[s->nindex++], s->offset, h);
	return 0;
}

/* Blocks end at the seams, so that each gets a Huffman table of its own: an eighth less than in one go. */
static size_t compress(struct hg_sink *s, uint8_t *dst, size_t cap, const uint8_t *raw, size_t size,
		       const uint32_t *seams, unsigned int nseams)
{
	ZSTD_outBuffer out = {dst, cap, 0};
	uint32_t at = 0;

	ZSTD_CCtx_reset(s->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(s->zstd, size);
	for (unsigned int i = 0; i <= nseams; i++) {
		uint32_t end = i < nseams ? seams[i] : (uint32_t)size;
		ZSTD_inBuffer in = {raw + at, end - at, 0};
		size_t left = ZSTD_compressStream2(s->zstd, &out, &in,
						   i < nseams ? ZSTD_e_flush : ZSTD_e_end);

		if (ZSTD_isError(left) || left)
			return 0;
		at = end;
	}
	return out.pos;
}

static int write_chunk(struct hg_sink *s, struct hg_chunk_header *h, const uint8_t *raw,
		       size_t raw_size, const uint32_t *seams, unsigned int nseams)
{
	/* A block has a header of 3 bytes and may not compress at all. */
	size_t bound = ZSTD_compressBound(raw_size) + 4 * (size_t)nseams, got;
	size_t need = HG_CHUNK_HEADER_SIZE + bound + HG_CHUNK_ALIGN;
	int err;

	assert(raw_size <= HG_CHUNK_RAW_MAX);
	if (s->out_cap < need) {
		uint8_t *out = realloc(s->out, need);

		if (!out)
			return -ENOMEM;
		s->out = out;
		s->out_cap = need;
	}
	got = compress(s, s->out + HG_CHUNK_HEADER_SIZE, bound, raw, raw_size, seams, nseams);
	if (!got)
		return -ENOMEM; /* the only way to fail with a buffer of that size */
	h->file_id = s->header.file_id;
	h->raw_size = (uint32_t)raw_size;
	h->stored_size = (uint32_t)got;
	hg_chunk_pack(s->out, h);
	err = write_at(s->fd, s->out, hg_chunk_size(h), s->offset);
	if (!err && h->type != HG_CHUNK_INDEX)
		err = remember(s, h);
	if (err)
		return err;
	s->offset += hg_chunk_size(h);
	atomic_store(&s->bytes_out, s->offset);
	atomic_fetch_add(&s->chunks, 1);
	return 0;
}

/* A chunk of rows is in the file: what can be read is counted here, so that a full disk is told right. */
static void count_rows(struct hg_sink *s, const struct hg_job *job)
{
	uint64_t events = 0;

	if (job->header.last_ns > atomic_load(&s->last_ns))
		atomic_store(&s->last_ns, job->header.last_ns);
	if (job->header.stream < HG_STREAM_CPU0)
		return;
	for (uint32_t i = 0; i < job->rows.records; i++)
		events += job->rows.kinds[i] != HG_KIND_LOSS;
	atomic_fetch_add(&s->events, events);
}

static int write_job(struct hg_sink *s, struct hg_job *job)
{
	int err;

	if (job->header.type != HG_CHUNK_RECORDS)
		return write_chunk(s, &job->header, job->bytes, job->bytes_size, NULL, 0);
	if (!job->rows.records) /* only its lost count */
		return write_chunk(s, &job->header, (const uint8_t *)"", 0, NULL, 0);
	err = hg_columns_encode(&s->encoder, &job->rows, !job->header.machine);
	if (!err)
		err = write_chunk(s, &job->header, s->encoder.raw, s->encoder.raw_size,
				  s->encoder.seams, s->encoder.nseams);
	if (!err)
		count_rows(s, job);
	return err;
}

static int write_index(struct hg_sink *s)
{
	size_t total = s->nindex, done = 0;
	uint64_t sequence = 0;

	do {
		size_t n = HG_MIN(total - done, HG_INDEX_ENTRIES_MAX);
		size_t size = HG_INDEX_HEADER_SIZE + n * HG_INDEX_ENTRY_SIZE;
		struct hg_chunk_header h = {
			.type = HG_CHUNK_INDEX,
			.sequence = sequence++,
			.records = (uint32_t)n,
		};
		hg_autofree uint8_t *raw = malloc(size);
		int err;

		if (!raw)
			return -ENOMEM;
		hg_put64(raw, done);
		hg_put64(raw + 8, total);
		for (size_t i = 0; i < n; i++)
			hg_index_entry_pack(raw + HG_INDEX_HEADER_SIZE + i * HG_INDEX_ENTRY_SIZE,
					    &s->index[done + i]);
		err = write_chunk(s, &h, raw, size, NULL, 0);
		if (err)
			return err;
		done += n;
	} while (done < total);
	return 0;
}

/* The header may say "finalised" only when all that it promises is on the disk. */
static int finalise(struct hg_sink *s)
{
	uint64_t index_offset = s->offset;
	int err = write_index(s);

	if (err)
		return err;
	if (fdatasync(s->fd))
		return -errno;
	s->header.index_offset = index_offset;
	err = write_file_header(s);
	if (!err && fdatasync(s->fd))
		err = -errno;
	return err;
}

static void cpu_time_publish(struct hg_sink *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	atomic_store(&s->cpu_ns, (uint64_t)ts.tv_sec * HG_NSEC_PER_SEC + (uint64_t)ts.tv_nsec);
}

/* Small blocks belong to quiet streams; keeping them would make busy ones grow theirs again. */
static void recycle(struct hg_sink *s, struct hg_job *job)
{
	if (s->nspares >= SPARES_MAX || job->rows.words_cap * 8 < SPARE_BYTES_MIN) {
		hg_job_free(job);
		return;
	}
	free(job->bytes);
	*job = (struct hg_job){.rows = job->rows, .next = s->spares};
	job->rows.nwords = job->rows.records = 0;
	s->spares = job;
	s->nspares++;
}

static void *sink_main(void *arg)
{
	struct hg_sink *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct hg_job *job = s->head;
		int err;

		if (!job && s->ending)
			break;
		if (!job) {
			pthread_cond_wait(&s->more, &s->lock);
			continue;
		}
		s->head = job->next;
		if (!s->head)
			s->tail = &s->head;
		pthread_mutex_unlock(&s->lock);
		err = hg_sink_error(s) ? 0 : write_job(s, job);
		if (err)
			fail(s, err);
		cpu_time_publish(s);
		pthread_mutex_lock(&s->lock);
		s->queued_bytes -= job->footprint;
		recycle(s, job);
		pthread_cond_signal(&s->room);
	}
	pthread_mutex_unlock(&s->lock);
	if (!hg_sink_error(s)) {
		int err = finalise(s);

		if (err)
			fail(s, err);
	}
	return NULL;
}

/* No signal of the process is for this thread; blocked, SIGXFSZ becomes the error EFBIG. */
static int start_thread(struct hg_sink *s)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = write_file_header(s);
	if (!err)
		err = -pthread_create(&s->thread, NULL, sink_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void hg_sink_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int hg_sink_open(int fd, const char *path, struct hg_sink **out)
{
	struct hg_sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	s->tail = &s->head;
	hg_sink_lock_init(&s->lock);
	pthread_cond_init(&s->more, NULL);
	pthread_cond_init(&s->room, NULL);
	s->offset = HG_FILE_HEADER_SIZE;
	atomic_store(&s->bytes_out, s->offset);
	s->header = (struct hg_file_header){
		.version = HG_FILE_VERSION,
		.index_offset = HG_INDEX_NONE,
	};
	s->path = strdup(path);
	s->zstd = ZSTD_createCCtx();
	if (!s->path || !s->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)))
		err = -ENOMEM;
	else if (getrandom(&s->header.file_id, sizeof(s->header.file_id), 0) < 0)
		err = -errno;
	else
		err = start_thread(s);
	if (err) {
		hg_error("cannot write to %s: %s", path, hg_error_text(err));
		sink_free(s);
		return err;
	}
	*out = s;
	return 0;
}

int hg_sink_error(const struct hg_sink *s)
{
	return atomic_load_explicit(&s->error, memory_order_relaxed);
}

int hg_sink_push(struct hg_sink *s, struct hg_job *job)
{
	int err;

	job->next = NULL;
	job->footprint = sizeof(*job) + job->rows.words_cap * sizeof(uint64_t) +
			 job->rows.records_cap * sizeof(uint16_t) + job->bytes_size;
	pthread_mutex_lock(&s->lock);
	while (s->queued_bytes && s->queued_bytes + job->footprint > HG_SINK_QUEUE_MAX)
		pthread_cond_wait(&s->room, &s->lock);
	err = hg_sink_error(s);
	if (err) {
		recycle(s, job);
	} else {
		*s->tail = job;
		s->tail = &job->next;
		s->queued_bytes += job->footprint;
		s->queued_bytes_max = HG_MAX(s->queued_bytes_max, s->queued_bytes);
		pthread_cond_signal(&s->more);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

struct hg_job *hg_sink_job(struct hg_sink *s)
{
	struct hg_job *job;

	pthread_mutex_lock(&s->lock);
	job = s->spares;
	if (job) {
		s->spares = job->next;
		s->nspares--;
		job->next = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return job ? job : calloc(1, sizeof(*job));
}

void hg_sink_stats_get(struct hg_sink *s, struct hg_sink_stats *out)
{
	pthread_mutex_lock(&s->lock);
	out->queued_bytes_max = s->queued_bytes_max;
	pthread_mutex_unlock(&s->lock);
	out->bytes_out = atomic_load(&s->bytes_out);
	out->chunks = atomic_load(&s->chunks);
	out->cpu_ns = atomic_load(&s->cpu_ns);
	out->events = atomic_load(&s->events);
	out->last_ns = atomic_load(&s->last_ns);
}

int hg_sink_close(struct hg_sink *s, struct hg_sink_stats *stats_out)
{
	int err;

	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	err = hg_sink_error(s);
	if (close(HG_TAKE_FD(s->fd)) && !err) {
		err = -errno;
		hg_error("cannot write to %s: %s", s->path, strerror(errno));
	}
	if (stats_out)
		hg_sink_stats_get(s, stats_out);
	sink_free(s);
	return err;
}
