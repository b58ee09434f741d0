/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What someone needs to repeat or doubt the run, as one JSON object: CPU, topology, SMT, governor,
 * mitigations, kernel and its command line, memory, hugepages, NUMA, virtualisation, affinities and cgroup
 * limits of the targets, versions of the programs, hourglass's own options. docs: hourglass-trace(5).
 */
#ifndef HG_ENVIRONMENT_H
#define HG_ENVIRONMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hg_environment_opts {
	const pid_t *targets; /* tgids */
	size_t targets_count;
	char *const *client_argv; /* or NULL */
	int argc;                 /* hourglass's own */
	char *const *argv;
	bool no_args; /* --no-args: command lines are left out */
};

/* A new reference, or NULL on ENOMEM. What cannot be read is left out, never made up. */
json_t *hg_environment_collect(const struct hg_environment_opts *opts);

#endif
