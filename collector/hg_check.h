/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine can record, why not the rest, and what in the setup would spoil a benchmark, as a
 * list of findings. Called by `hourglass check`, which only formats it.
 */
#ifndef HG_CHECK_H
#define HG_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum hg_check_group { HG_CHECK_RECORD, HG_CHECK_SETUP, HG_CHECK_GROUPS };

enum hg_check_state {
	HG_CHECK_YES,	 /* in order */
	HG_CHECK_INFO,	 /* worth knowing */
	HG_CHECK_PARTLY, /* recording goes on without it */
	HG_CHECK_WARN,	 /* may move the figures */
	HG_CHECK_SPOILS, /* the figures will be of something else */
	HG_CHECK_NO,	 /* recording is impossible */
	HG_CHECK_STATES,
};

struct hg_check_item {
	enum hg_check_group group;
	enum hg_check_state state;
	char id[48];	  /* stable, for programs: "btf", "probe.sched_switch" */
	char why[384];	  /* what was found, one sentence without full stop */
	char remedy[256]; /* what to do, "" when nothing is to be done */
};

struct hg_check {
	struct hg_check_item *items;
	size_t count, max;
	bool possible; /* nothing is HG_CHECK_NO */
	int error;     /* -ENOMEM: items are missing */
};

struct hg_check_opts {
	const pid_t *pids; /* -p, or none */
	size_t pids_count;
};

/* Looks at everything: takes a few seconds, for probes are attached and the load is measured. Needs no root. 0 or -errno. */
int hg_check_run(const struct hg_check_opts *opts, struct hg_check *out);
void hg_check_free(struct hg_check *c);

#endif
