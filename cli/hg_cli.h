/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs. Each cmd_*.c turns options into one library call and an exit code. */
#ifndef HG_CLI_H
#define HG_CLI_H

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

#endif
