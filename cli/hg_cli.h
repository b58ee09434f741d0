/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs, and what their command lines have in common. Each cmd_*.c turns options into one library call and
 * an exit code.
 */
#ifndef HG_CLI_H
#define HG_CLI_H

#include <argp.h>

#include "base/hg_base.h"

enum hg_exit { HG_EXIT_OK = 0, HG_EXIT_FAILED = 1, HG_EXIT_USAGE = 2, HG_EXIT_SPOILED = 3 };

struct hg_verb {
	const char *name;
	const char *help;		   /* one line */
	int (*run)(int argc, char **argv); /* argv[0] is "hourglass VERB" */
};

extern const struct hg_verb hg_verbs[]; /* ends with a NULL name; in main.c */

int hg_cmd_record(int argc, char **argv);
int hg_cmd_report(int argc, char **argv);
int hg_cmd_check(int argc, char **argv);
int hg_cmd_info(int argc, char **argv);
int hg_cmd_dump(int argc, char **argv);

/* -- children for a verb's argp: give each its input in ARGP_KEY_INIT, see hg_cli_child -- */

/* The argument FILE, which must be given, once. */
struct hg_cli_file {
	const char *path;
};
extern const struct argp hg_cli_file_argp;

/* --format NAME */
struct hg_cli_format {
	const char *const *names; /* the first is the default; NULL at the end */
	unsigned int chosen;	  /* index */
};
extern const struct argp hg_cli_format_argp;

/*
 * argp_parse with exit code 2 for wrong usage; all that argp and getopt say on stderr is escaped, as they repeat
 * the user's words. 0 or errno.
 */
int hg_cli_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
/* argp_error, escaped: the words of an error are the user's. */
void HG_PRINTF(2, 3) hg_cli_error(const struct argp_state *state, const char *fmt, ...);

#endif
