/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How records are shown: names of streams and lanes, strings that may hold any bytes.
 * Used by info and dump.
 */
#ifndef HG_SHOW_H
#define HG_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/hg_reader.h"

/* "control", "sampler", "client", "cpu0", else "0x..."; returns buf. 16 bytes suffice. */
const char *hg_show_stream(char *buf, size_t size, uint32_t stream);
/* The reverse. False: no such name. */
bool hg_show_stream_parse(const char *text, size_t length, uint32_t *out);

/* Escaped for a terminal; \, " and NUL too, so that it can be read back. */
void hg_show_text(FILE *out, const char *text, size_t length);
/*
 * In double quotes as JSON, ASCII only. Bytes that are not UTF-8 become the four characters
 * \xNN: JSON has no bytes.
 */
void hg_show_json(FILE *out, const char *text, size_t length);

/* Names of lanes, from the definitions of a file. */
struct hg_lanes;

/* Reads the definitions: each lane has its first name. 0 or -errno. */
int hg_lanes_open(struct hg_reader *r, struct hg_lanes **out);
void hg_lanes_close(struct hg_lanes *l);
static inline void hg_lanes_closep(struct hg_lanes **l)
{
	if (*l)
		hg_lanes_close(*l);
}
/* A record that may rename a lane, in time order: names are then those of its time. */
void hg_lanes_update(struct hg_lanes *l, const struct hg_record *rec);
/* String id of the lane's name; false: the file does not define the lane. Not for HG_LANE_NONE and _IDLE. */
bool hg_lanes_name(const struct hg_lanes *l, uint16_t machine, uint64_t lane, uint64_t *string_out);

#endif
