/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of an output become LINE records: split at \n and \r, stamped, bounded. Called by the client and
 * by the follower of --client-log.
 */
#ifndef HG_LINES_H
#define HG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/hg_writer.h"

#define HG_LINE_BYTES_MAX 65536 /* a longer line is stored in pieces of this size */

/*
 * Called for each line, without its end; text is not terminated. piece: HG_LINE_CONTINUES, HG_LINE_GOES_ON, as in the
 * record. 0 or -errno, which the splitter returns.
 */
typedef int (*hg_line_fn)(void *arg, uint64_t time_ns, int fd, const char *text, size_t length,
			  unsigned int piece);

struct hg_lines {
	hg_line_fn fn;
	void *arg;
	int fd;	      /* as in LINE */
	char *buffer; /* the unfinished line, HG_LINE_BYTES_MAX; allocated at first use */
	size_t used;
	bool after_cr;	/* \r\n is one end, not two */
	bool in_pieces; /* the unfinished line had pieces already */
};

void hg_lines_init(struct hg_lines *l, int fd, hg_line_fn fn, void *arg);
/* 0, -ENOMEM or what fn returned. All lines that end in data get time_ns. */
int hg_lines_feed(struct hg_lines *l, const char *data, size_t size, uint64_t time_ns);
/* The unfinished line, if any, ends here; whole: its writer ended in order, so that there is no more of it. */
int hg_lines_end(struct hg_lines *l, uint64_t time_ns, bool whole);
/* Forgets the unfinished line. */
void hg_lines_drop(struct hg_lines *l);
void hg_lines_clear(struct hg_lines *l);

/*
 * Writes lines to a file within bounds: the writer keeps every different string in memory, so of an endless
 * output the first 8 MiB are kept and, for the summary at its end, the last 256 KiB.
 */
struct hg_line_store;

int hg_line_store_new(struct hg_line_store **out);
void hg_line_store_free(struct hg_line_store *s);
/* Where lines go from now on; NULL: nowhere. */
void hg_line_store_writer_set(struct hg_line_store *s, struct hg_writer *w);
/* An hg_line_fn; arg is the store. */
int hg_line_store_add(void *arg, uint64_t time_ns, int fd, const char *text, size_t length,
		      unsigned int piece);
/* Writes the kept end and says how much was left out. */
int hg_line_store_end(struct hg_line_store *s);

#endif
