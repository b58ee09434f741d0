/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/hg_cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_escape.h"

#define OPTION_FORMAT  0x180 /* no letter, and none of the verbs' own numbers */
#define SAID_BYTES_MAX 65536

/* -- FILE -- */

static error_t file_parse(int key, char *arg, struct argp_state *state)
{
	struct hg_cli_file *f = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (f->path)
			hg_cli_error(state, "'%s' is one word too many: one FILE is enough", arg);
		f->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!f->path)
			argp_error(state, "which trace? FILE is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp hg_cli_file_argp = {NULL, file_parse, "FILE", NULL, NULL, NULL, NULL};

/* -- --format -- */

static const struct argp_option format_options[] = {
	{"format", OPTION_FORMAT, "FORMAT", 0, "How to print it", 0},
	{0},
};

/* "text, json or html" */
static const char *names_join(char *dst, size_t size, const char *const *names)
{
	size_t used = 0;

	*dst = '\0';
	for (size_t i = 0; names[i] && used < size; i++)
		used += (size_t)snprintf(dst + used, size - used, "%s%s",
					 !i		? ""
					 : names[i + 1] ? ", "
							: " or ",
					 names[i]);
	return dst;
}

static error_t format_parse(int key, char *arg, struct argp_state *state)
{
	struct hg_cli_format *f = state->input;
	char names[128];

	if (key != OPTION_FORMAT)
		return ARGP_ERR_UNKNOWN;
	for (unsigned int i = 0; f->names[i]; i++) {
		if (strcmp(f->names[i], arg))
			continue;
		f->chosen = i;
		return 0;
	}
	hg_cli_error(state, "--format takes %s, not '%s'",
		     names_join(names, sizeof(names), f->names), arg);
	return 0;
}

/* The help names the formats of this verb. argp frees what is not the text it passed. */
static char *format_help(int key, const char *text, void *input)
{
	const struct hg_cli_format *f = input;
	char names[128], *out;

	if (key != OPTION_FORMAT || !f ||
	    asprintf(&out, "How to print it: %s; %s if not given",
		     names_join(names, sizeof(names), f->names), f->names[0]) < 0)
		return (char *)text;
	return out;
}

const struct argp hg_cli_format_argp = {format_options, format_parse, NULL, NULL,
					NULL,		format_help,  NULL};

/* -- parsing -- */

struct escaped {
	FILE *out;
	int argc;
	char *const *argv;
};

/* Is the line break at data[at] part of a word of the user's, rather than the end of a line? */
static bool in_word(const struct escaped *e, const char *data, size_t size, size_t at)
{
	for (int i = 1; i < e->argc; i++) {
		const char *word = e->argv[i];
		size_t length = strlen(word);

		for (const char *p = word; (p = strchr(p, '\n')); p++) {
			size_t before = (size_t)(p - word);

			if (before <= at && at - before + length <= size &&
			    !memcmp(data + at - before, word, length))
				return true;
		}
	}
	return false;
}

/* All that argp says comes in one piece, when it calls exit() or returns. */
static ssize_t escaped_write(void *cookie, const char *data, size_t size)
{
	const struct escaped *e = cookie;
	char bytes[256], safe[4 * sizeof(bytes)];

	for (size_t at = 0, n = 0; at < size; at++) {
		bool end = data[at] == '\n' && !in_word(e, data, size, at);

		if (!end)
			bytes[n++] = data[at];
		/* cut before a character, not within one */
		if (!end && at + 1 < size &&
		    (n < sizeof(bytes) - 8 ||
		     ((data[at + 1] & 0xc0) == 0x80 && n < sizeof(bytes) - 1)))
			continue;
		bytes[n] = '\0';
		fputs(hg_escape_terminal(safe, sizeof(safe), bytes), e->out);
		if (end)
			fputc('\n', e->out);
		n = 0;
	}
	return (ssize_t)size;
}

int hg_cli_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	struct escaped e = {stderr, argc, argv};
	FILE *escaped;
	int err;

	argp_err_exit_status = HG_EXIT_USAGE;
	escaped = fopencookie(&e, "w", (cookie_io_functions_t){.write = escaped_write});
	if (!escaped)
		return errno;
	setvbuf(escaped, NULL, _IOFBF, SAID_BYTES_MAX);
	stderr = escaped; /* a variable in glibc, and getopt takes no other stream */
	err = argp_parse(argp, argc, argv, flags, NULL, input);
	stderr = e.out;
	fclose(escaped);
	return err;
}

void hg_cli_error(const struct argp_state *state, const char *fmt, ...)
{
	char raw[512], safe[4 * sizeof(raw)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	argp_error(state, "%s", hg_escape_terminal(safe, sizeof(safe), raw));
}
