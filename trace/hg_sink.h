/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's back half: a bounded queue and the thread that encodes, compresses
 * and writes chunks, then the index and the finalised header. Used by hg_writer.c.
 */
#ifndef HG_SINK_H
#define HG_SINK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_columns.h"
#include "trace/hg_format.h"

/* Bytes that may wait for the thread; the caller blocks beyond it. */
#define HG_SINK_QUEUE_MAX (16u << 20)

/* One chunk on its way to the file: rows, or the bytes of another section. */
struct hg_job {
	struct hg_job *next;
	struct hg_chunk_header header; /* sizes and checksums are filled by the thread */
	struct hg_rows rows;	       /* RECORDS */
	uint8_t *bytes;		       /* else, owned */
	size_t bytes_size;
	size_t footprint; /* memory that it holds */
};

void hg_job_free(struct hg_job *job);

struct hg_sink;

struct hg_sink_stats {
	uint64_t bytes_out, chunks, cpu_ns;
	uint64_t events;  /* records of CPU streams that are in the file, but losses */
	uint64_t last_ns; /* the last time in the file; 0: no record */
	size_t queued_bytes_max;
};

/*
 * A lock whose holder runs at least as urgently as who waits for it: rings are drained at real-time
 * priority, and the compressing thread may be preempted for long on a busy machine.
 */
void hg_sink_lock_init(pthread_mutex_t *lock);

/* Takes fd, also on failure, and writes the file header that says "not finalised". 0 or -errno. */
int hg_sink_open(int fd, const char *path, struct hg_sink **out);
/* See hg_writer_step_set. */
void hg_sink_step_set(struct hg_sink *s, uint64_t step);
/* Takes job. Blocks while the queue is full. 0, or the first -errno of the thread: job is dropped. */
int hg_sink_push(struct hg_sink *s, struct hg_job *job);
/* First -errno of the thread, else 0. Cheap. */
int hg_sink_error(const struct hg_sink *s);
/* An empty block of rows, a used one if there is one. NULL: no memory. */
struct hg_job *hg_sink_job(struct hg_sink *s);
void hg_sink_stats_get(struct hg_sink *s, struct hg_sink_stats *out);
/*
 * Writes what waits, the index and the finalised header; frees s. 0 or the first -errno. stats_out is filled either
 * way, unless NULL.
 */
int hg_sink_close(struct hg_sink *s, struct hg_sink_stats *stats_out);

#endif
