/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/hg_escape.h"
#include "cli/hg_cli.h"

#define STACK_BYTES_LEAST (256u << 10)

const struct hg_verb hg_verbs[] = {
	{"record", "record a running benchmark into a trace", hg_cmd_record},
	{"check", "what this machine can record, and what would spoil a benchmark", hg_cmd_check},
	{"report", "what limits the recorded benchmark, with the evidence", hg_cmd_report},
	{"info", "what a trace holds: when, what, how many events, what was lost", hg_cmd_info},
	{"dump", "every record of a trace, one a line, as text or JSON", hg_cmd_dump},
	{NULL, NULL, NULL},
};

static void usage(FILE *out)
{
	fputs("Usage: hourglass VERB [OPTIONS]\n\n"
	      "Names what limits a running benchmark, with the evidence.\n\n",
	      out);
	for (const struct hg_verb *v = hg_verbs; v->name; v++)
		fprintf(out, "  %-12s %s\n", v->name, v->help);
	fputs("\n'hourglass VERB --help' explains a verb; hourglass(1) has examples.\n", out);
}

/* Too little of it is a crash without a word, wherever it happens to run out. */
static bool stack_suffices(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES_LEAST)
		return true;
	fprintf(stderr,
		"hourglass: error: the stack is limited to %llu KiB (ulimit -s), and %u KiB are "
		"needed: raise it with ulimit -s, or in what starts hourglass\n",
		(unsigned long long)limit.rlim_cur / 1024, STACK_BYTES_LEAST / 1024);
	return false;
}

int main(int argc, char **argv)
{
	char name[64], word[256];

	if (argc < 2) {
		usage(stderr);
		return HG_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return HG_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("hourglass " HG_VERSION);
		return HG_EXIT_OK;
	}
	if (!stack_suffices())
		return HG_EXIT_FAILED;
	for (const struct hg_verb *v = hg_verbs; v->name; v++) {
		if (strcmp(argv[1], v->name))
			continue;
		snprintf(name, sizeof(name), "hourglass %s", v->name);
		argv[1] = name;
		return v->run(argc - 1, argv + 1);
	}
	fprintf(stderr, "hourglass: '%s' is no verb; 'hourglass --help' lists them\n",
		hg_escape_terminal(word, sizeof(word), argv[1]));
	return HG_EXIT_USAGE;
}
