/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of probes: what each is made of, what is lost without it. Read by the loader and by check.
 */
#ifndef HG_PROBES_TABLE_H
#define HG_PROBES_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "probes/hg_event.h"

#define HG_PROBE_PROGRAMS_MAX 4

struct hg_probe_program {
	const char *name;	/* of the BPF function */
	const char *tracepoint; /* NULL: not a tracepoint */
};

struct hg_probe_row {
	enum hg_probe_id id;
	const char *name; /* as after -e */
	bool essential;	  /* no recording without it */
	const char *help;
	const char *without; /* what is lost, or what takes its place */
	struct hg_probe_program
		programs[HG_PROBE_PROGRAMS_MAX]; /* all of them, or the probe is left out */
};

extern const struct hg_probe_row hg_probe_rows[];
extern const size_t hg_probe_rows_count;

#endif
