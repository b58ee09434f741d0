/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass report: a trace in, what limited the benchmark out. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/hg_findings.h"
#include "base/hg_base.h"
#include "base/hg_log.h"
#include "cli/hg_cli.h"
#include "trace/hg_reader.h"

#define WINDOW_S_MAX 1e9 /* longer than any recording: an open end */

typedef int (*render_fn)(const struct hg_findings *f, FILE *out);

static const char *const formats[] = {"text", "json", NULL};
static const render_fn renders[] = {hg_findings_text, hg_findings_json};

struct report_args {
	struct hg_cli_file file;
	struct hg_cli_format format;
	struct hg_model_opts model;
};

enum { OPT_WINDOW = 0x100 };

static const struct argp_option options[] = {
	{"window", OPT_WINDOW, "A:B", 0,
	 "only from A to B seconds after the start of the recording; an end left out is that of "
	 "the recording "
	 "(default: while the client ran, else all)",
	 0},
	{0},
};

static const char doc[] =
	"Says what limited the benchmark that was recorded in FILE, with the evidence, what "
	"removing it would gain "
	"at most, and where the time went.\v"
	"Examples:\n"
	"  hourglass report run.hgt\n"
	"  hourglass report run.hgt --window 5:25\n"
	"  hourglass report run.hgt --format json | jq .verdict\n\n"
	"Exit codes: 0 done; 1 FILE cannot be read or holds too little; 2 wrong usage.";

/* A number of seconds that ends at stop; empty gives the fallback. */
static bool seconds_parse(const char *text, const char *stop, double fallback, double *out)
{
	char *end;

	*out = fallback;
	if (text == stop)
		return true;
	/* no sign, space, "inf", "nan" or hexadecimal */
	if (strspn(text, "0123456789.eE+-") < (size_t)(stop - text) ||
	    !strchr("0123456789.", *text))
		return false;
	*out = strtod(text, &end);
	return end == stop && isfinite(*out) && *out <= WINDOW_S_MAX;
}

static void window_parse(const char *text, struct argp_state *state, struct hg_model_opts *out)
{
	const char *colon = strchr(text, ':');

	if (!colon || !seconds_parse(text, colon, 0, &out->window_from_s) ||
	    !seconds_parse(colon + 1, text + strlen(text), WINDOW_S_MAX, &out->window_to_s))
		hg_cli_error(state, "--window takes two times in seconds, such as 5:25, not '%s'",
			     text);
	else if (out->window_from_s == out->window_to_s)
		hg_cli_error(state, "--window %s is empty: it ends where it begins", text);
	else if (out->window_from_s > out->window_to_s)
		hg_cli_error(state, "--window %s ends before it begins", text);
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct report_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->file;
		state->child_inputs[1] = &a->format;
		return 0;
	case OPT_WINDOW:
		window_parse(arg, state, &a->model);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&hg_cli_file_argp, 0, NULL, 0}, {&hg_cli_format_argp, 0, NULL, 0}, {0}};

static int report(const struct report_args *a)
{
	__attribute__((cleanup(hg_reader_closep))) struct hg_reader *reader = NULL;
	struct hg_findings *findings = NULL;
	int r = hg_reader_open(a->file.path, &reader);

	/* whoever fails in here has said why */
	if (!r)
		r = hg_findings_make(reader, &a->model, NULL, NULL, &findings);
	if (r)
		return r;
	r = renders[a->format.chosen](findings, stdout);
	hg_findings_free(findings);
	if (r || fflush(stdout)) {
		hg_error("cannot write the report: %s", strerror(errno ? errno : EIO));
		return -EIO;
	}
	return 0;
}

int hg_cmd_report(int argc, char **argv)
{
	static const struct argp argp = {options, option_parse, NULL, doc, children, NULL, NULL};
	struct report_args a = {.format = {.names = formats}};

	if (hg_cli_parse(&argp, argc, argv, 0, &a))
		return HG_EXIT_USAGE;
	return report(&a) ? HG_EXIT_FAILED : HG_EXIT_OK;
}
