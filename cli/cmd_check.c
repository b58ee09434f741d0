/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass check: what this machine can record, and what would spoil a benchmark. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "base/hg_table.h"
#include "cli/hg_cli.h"
#include "collector/hg_check.h"

#define PIDS_MAX   32
#define TEXT_WIDTH 80

enum format { FORMAT_TEXT, FORMAT_JSON };
static const char *const formats[] = {"text", "json", NULL};

struct arguments {
	pid_t pids[PIDS_MAX];
	size_t pids_count;
	struct hg_cli_format format;
};

static const char *const state_names[HG_CHECK_STATES] = {"yes",	 "info",   "partly",
							 "warn", "spoils", "no"};
static const char *const group_names[HG_CHECK_GROUPS] = {"record", "setup"};

static const struct argp_option options[] = {
	{"pid", 'p', "PID[,PID]", 0, "Look at these processes as well: limits, affinity", 0},
	{0},
};

static const char doc[] =
	"Says what this machine can record and why not the rest, each with the remedy, and what in "
	"the "
	"setup would spoil a benchmark.\v"
	"Exit code 0: recording is possible; 1: it is not.\n\n"
	"Examples:\n"
	"  sudo hourglass check                     this machine\n"
	"  sudo hourglass check -p $(pidof nginx | tr ' ' ,)   and these processes\n"
	"  sudo hourglass check --format json       for a program\n\n"
	"hourglass-check(1) explains each item.";

static int pids_parse(const char *text, struct arguments *a)
{
	while (a->pids_count < PIDS_MAX) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > INT_MAX || (*end && *end != ','))
			return -EINVAL;
		a->pids[a->pids_count++] = (pid_t)pid;
		if (!*end)
			return 0;
		text = end + 1;
	}
	return -E2BIG;
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	int r;

	switch (key) {
	case 'p':
		r = pids_parse(arg, a);
		if (r == -E2BIG)
			hg_cli_error(state, "at most %d processes", PIDS_MAX);
		else if (r)
			hg_cli_error(state, "'%s' is no list of process ids", arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->format;
		return 0;
	case ARGP_KEY_ARG:
		hg_cli_error(state, "'%s' is one word too many", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&hg_cli_format_argp, 0, NULL, 0}, {0}};

/* One table for both groups, so that their columns agree. */
static int text_print(const struct hg_check *c)
{
	static const struct hg_table_column columns[] = {
		{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{NULL, HG_TABLE_LEFT, HG_TABLE_WRAP},
	};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), TEXT_WIDTH, 0);
	static const char *const titles[][3] = {
		[HG_CHECK_RECORD] = {"RECORDING", "WORKS", "WHAT WAS FOUND, AND WHAT TO DO"},
		[HG_CHECK_SETUP] = {"SETUP", "IN ORDER",
				    "WHAT MAY MOVE THE FIGURES, AND WHAT TO DO"},
	};
	char missing[512] = "";

	for (int group = 0; group < HG_CHECK_GROUPS; group++) {
		for (int i = 0; group && i < 3; i++)
			hg_table_cell(t, "%s", "");
		for (int i = 0; i < 3; i++)
			hg_table_cell(t, "%s", titles[group][i]);
		for (size_t i = 0; i < c->count; i++) {
			const struct hg_check_item *item = &c->items[i];
			size_t used = strlen(missing);

			if (item->group != (enum hg_check_group)group)
				continue;
			hg_table_cell(t, "%s", item->id);
			hg_table_cell(t, "%s", state_names[item->state]);
			hg_table_cell(t, "%s%s%s", item->why, item->remedy[0] ? "; " : "",
				      item->remedy);
			if (item->state == HG_CHECK_NO)
				snprintf(missing + used, sizeof(missing) - used, "%s%s",
					 used ? ", " : "", item->id);
		}
	}
	if (hg_table_print(t, stdout))
		return -EIO;
	if (c->possible)
		puts("\nRecording is possible.");
	else
		printf("\nRecording is not possible: %s.\n", missing);
	return fflush(stdout) ? -errno : 0;
}

static int json_print(const struct hg_check *c)
{
	json_t *object = json_object(), *items = json_array();
	int r;

	for (size_t i = 0; i < c->count; i++) {
		const struct hg_check_item *item = &c->items[i];
		json_t *j = json_object();

		json_object_set_new(j, "group", json_string(group_names[item->group]));
		json_object_set_new(j, "id", json_string(item->id));
		json_object_set_new(j, "state", json_string(state_names[item->state]));
		json_object_set_new(j, "why", json_string(item->why));
		json_object_set_new(j, "remedy", json_string(item->remedy));
		json_array_append_new(items, j);
	}
	json_object_set_new(object, "schema", json_string("hourglass-check/1"));
	json_object_set_new(object, "possible", json_boolean(c->possible));
	json_object_set_new(object, "items", items);
	r = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(object);
	putchar('\n');
	return r || fflush(stdout) ? -EIO : 0;
}

int hg_cmd_check(int argc, char **argv)
{
	static const struct argp argp = {options, option_parse, NULL, doc, children, NULL, NULL};
	struct arguments a = {.format = {.names = formats}};
	struct hg_check_opts opts = {.pids = a.pids};
	struct hg_check check;
	bool possible;
	int r;

	if (hg_cli_parse(&argp, argc, argv, 0, &a))
		return HG_EXIT_USAGE;
	opts.pids_count = a.pids_count;
	r = hg_check_run(&opts, &check);
	if (!r) {
		possible = check.possible;
		r = a.format.chosen == FORMAT_JSON ? json_print(&check) : text_print(&check);
		hg_check_free(&check);
	}
	if (r) {
		hg_error("cannot finish the check: %s", strerror(-r));
		return HG_EXIT_FAILED;
	}
	return possible ? HG_EXIT_OK : HG_EXIT_FAILED;
}
