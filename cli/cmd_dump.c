/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass dump: every record of a trace, one a line, as text or JSON. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "cli/hg_cli.h"
#include "trace/hg_reader.h"
#include "trace/hg_show.h"

#define STREAMS_MAX 64

enum {
	OPTION_STREAM = 0x100, /* no letter */
	OPTION_KIND,
	OPTION_FROM,
	OPTION_TO,
};

enum format { FORMAT_TEXT, FORMAT_JSON };
static const char *const formats[] = {"text", "json", NULL};

struct arguments {
	struct hg_cli_file file;
	struct hg_cli_format format;
	uint32_t streams[STREAMS_MAX];
	size_t nstreams;	   /* 0: all */
	bool kinds[UINT8_MAX + 1]; /* if has_kinds */
	bool has_kinds;
	double from_s, to_s; /* NAN: not given */
};

static const struct argp_option options[] = {
	{"stream", OPTION_STREAM, "NAME,...", 0,
	 "Only these streams: control, sampler, client, cpu0, cpu1, ...", 0},
	{"kind", OPTION_KIND, "KIND,...", 0, "Only these kinds of record, see below", 0},
	{"from", OPTION_FROM, "SECS", 0, "Only from this time on, in seconds from the start", 0},
	{"to", OPTION_TO, "SECS", 0, "Only up to this time", 0},
	{0},
};

static const char doc[] =
	"Prints every record of a trace in time order, one a line. Times are seconds from the "
	"start of the "
	"recording; lanes have their names in brackets.\v"
	"Examples:\n"
	"  hourglass dump run.hgt | less\n"
	"  hourglass dump run.hgt --stream cpu0 --from 1.5 --to 1.6\n"
	"  hourglass dump run.hgt --kind task,task_name,mark\n"
	"  hourglass dump run.hgt --format json | jq 'select(.kind == \"wakeup\")'\n";

static bool kind_parse(const char *text, size_t length, struct arguments *a)
{
	for (size_t i = 0; i < hg_kinds_count; i++) {
		if (strlen(hg_kinds[i].name) != length || strncmp(hg_kinds[i].name, text, length))
			continue;
		a->kinds[hg_kinds[i].kind] = true;
		a->has_kinds = true;
		return true;
	}
	return false;
}

static bool stream_parse(const char *text, size_t length, struct arguments *a)
{
	return a->nstreams < STREAMS_MAX &&
	       hg_show_stream_parse(text, length, &a->streams[a->nstreams++]);
}

static void list_parse(struct argp_state *state, const char *list, const char *what,
		       bool (*parse)(const char *text, size_t length, struct arguments *a))
{
	size_t length;

	for (;; list += length + 1) {
		length = strcspn(list, ",");
		if (!parse(list, length, state->input))
			hg_cli_error(state, "'%.*s' is no %s", (int)length, list, what);
		if (!list[length])
			return;
	}
}

static double seconds_parse(struct argp_state *state, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !isfinite(s) || fabs(s) > 1e9)
		hg_cli_error(state, "'%s' is no time in seconds", text);
	return s;
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->file;
		state->child_inputs[1] = &a->format;
		return 0;
	case OPTION_STREAM:
		list_parse(state, arg, "stream", stream_parse);
		return 0;
	case OPTION_KIND:
		list_parse(state, arg, "kind of record, see 'hourglass dump --help'", kind_parse);
		return 0;
	case OPTION_FROM:
		a->from_s = seconds_parse(state, arg);
		return 0;
	case OPTION_TO:
		a->to_s = seconds_parse(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&hg_cli_file_argp, 0, NULL, 0}, {&hg_cli_format_argp, 0, NULL, 0}, {0}};

/* The kinds are listed from their table. */
static char *help_filter(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t size;
	FILE *f;

	if (key != ARGP_KEY_HELP_POST_DOC || !(f = open_memstream(&out, &size)))
		return (char *)text;
	fprintf(f, "%s\nKinds:\n", text);
	for (size_t i = 0; i < hg_kinds_count; i++)
		fprintf(f, "  %-12s  %s\n", hg_kinds[i].name, hg_kinds[i].help);
	fputs("\nhourglass-trace(5) explains their fields.\n", f);
	fclose(f);
	return out;
}

struct dump {
	const struct arguments *args;
	struct hg_reader *r;
	struct hg_lanes *lanes;
	uint64_t start_ns;
};

static bool stream_wanted(void *arg, uint16_t machine, uint32_t stream)
{
	const struct arguments *a = ((struct dump *)arg)->args;

	for (size_t i = 0; i < a->nstreams; i++) {
		if (a->streams[i] == stream)
			return true;
	}
	/* Definitions are always read: they name the lanes of their time. */
	return !a->nstreams || stream == HG_STREAM_CONTROL;
}

static bool record_wanted(const struct dump *d, const struct hg_record *rec, uint64_t from_ns,
			  uint64_t to_ns)
{
	const struct arguments *a = d->args;

	if (rec->time_ns < from_ns || rec->time_ns > to_ns)
		return false;
	if (a->has_kinds && (rec->kind >= HG_ARRAY_SIZE(a->kinds) || !a->kinds[rec->kind]))
		return false;
	for (size_t i = 0; i < a->nstreams; i++) {
		if (a->streams[i] == rec->stream)
			return true;
	}
	return !a->nstreams;
}

/* The name of a lane as a string; NULL: not defined. */
static const char *lane_name(const struct dump *d, const struct hg_record *rec, uint64_t lane,
			     size_t *length_out)
{
	uint64_t string;

	if (lane == HG_LANE_IDLE) {
		*length_out = 4;
		return "idle";
	}
	if (!hg_lanes_name(d->lanes, rec->machine, lane, &string))
		return NULL;
	return hg_reader_string(d->r, string, length_out);
}

static void text_string(const char *text, size_t length)
{
	if (!text) {
		fputs("undefined", stdout);
		return;
	}
	putchar('"');
	hg_show_text(stdout, text, length);
	putchar('"');
}

static void text_lane(const struct dump *d, const struct hg_record *rec, uint64_t lane)
{
	size_t length;
	const char *name;

	printf("%" PRIu64, lane);
	if (lane == HG_LANE_NONE)
		return;
	name = lane_name(d, rec, lane, &length);
	putchar('[');
	if (name)
		hg_show_text(stdout, name, length);
	else
		fputs("?", stdout);
	putchar(']');
}

static void text_record(const struct dump *d, const struct hg_record *rec,
			const struct hg_kind_desc *kind)
{
	bool before = rec->time_ns < d->start_ns;
	uint64_t ns = before ? d->start_ns - rec->time_ns : rec->time_ns - d->start_ns;
	char stream[16];

	printf("%s%" PRIu64 ".%09" PRIu64 " ", before ? "-" : "", ns / HG_NSEC_PER_SEC,
	       ns % HG_NSEC_PER_SEC);
	if (rec->machine)
		printf("%" PRIu16 ":", rec->machine);
	printf("%s %s", hg_show_stream(stream, sizeof(stream), rec->stream), kind->name);
	for (unsigned int f = 0; f < kind->nfields; f++) {
		size_t length = 0;
		const char *text;

		printf(" %s=", kind->fields[f].name);
		switch (kind->fields[f].show) {
		case HG_SHOW_STR:
			text = hg_reader_string(d->r, rec->f[f], &length);
			text_string(text, length);
			break;
		case HG_SHOW_LANE:
			text_lane(d, rec, rec->f[f]);
			break;
		case HG_SHOW_HEX:
			printf("0x%" PRIx64, rec->f[f]);
			break;
		case HG_SHOW_SIGNED:
			printf("%" PRId64, (int64_t)rec->f[f]);
			break;
		default:
			printf("%" PRIu64, rec->f[f]);
		}
	}
	putchar('\n');
}

static void json_string_or_null(const char *text, size_t length)
{
	if (text)
		hg_show_json(stdout, text, length);
	else
		fputs("null", stdout);
}

static void json_record(const struct dump *d, const struct hg_record *rec,
			const struct hg_kind_desc *kind)
{
	char stream[16];

	printf("{\"time_ns\":%" PRIu64 ",\"machine\":%" PRIu16 ",\"stream\":\"%s\",\"kind\":\"%s\"",
	       rec->time_ns, rec->machine, hg_show_stream(stream, sizeof(stream), rec->stream),
	       kind->name);
	for (unsigned int f = 0; f < kind->nfields; f++) {
		const char *name = kind->fields[f].name, *text;
		size_t length = 0;

		printf(",\"%s\":", name);
		switch (kind->fields[f].show) {
		case HG_SHOW_STR:
			text = hg_reader_string(d->r, rec->f[f], &length);
			json_string_or_null(text, length);
			break;
		case HG_SHOW_LANE:
			printf("%" PRIu64, rec->f[f]);
			if (rec->f[f] == HG_LANE_NONE)
				break;
			printf(",\"%s_name\":", name);
			text = lane_name(d, rec, rec->f[f], &length);
			json_string_or_null(text, length);
			break;
		case HG_SHOW_SIGNED:
			printf("%" PRId64, (int64_t)rec->f[f]);
			break;
		default:
			printf("%" PRIu64, rec->f[f]);
		}
	}
	puts("}");
}

static bool is_control(void *arg, uint16_t machine, uint32_t stream)
{
	return !machine && stream == HG_STREAM_CONTROL;
}

/* The start: when all probes were attached; else the first record of the file. */
static int find_start(struct dump *d)
{
	const struct hg_cursor_opts opts = {.want = is_control};
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	const struct hg_chunk_info *chunks;
	const struct hg_record *rec;
	size_t n = hg_reader_chunks(d->r, &chunks);
	int err = hg_cursor_open(d->r, &opts, &c);

	d->start_ns = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].type == HG_CHUNK_RECORDS && chunks[i].records)
			d->start_ns = HG_MIN(d->start_ns, chunks[i].first_ns);
	}
	while (!err && (err = hg_cursor_next(c, &rec)) == 1) {
		err = 0;
		if (rec->kind == HG_KIND_MARK && rec->f[HG_MARK_WHAT] == HG_MARK_BEGIN) {
			d->start_ns = rec->time_ns;
			return 0;
		}
	}
	return err;
}

/* A time of the options in the clock of the file, kept inside it. */
static uint64_t to_clock(const struct dump *d, double s, uint64_t absent)
{
	uint64_t ns;

	if (isnan(s))
		return absent;
	ns = (uint64_t)(fabs(s) * 1e9 + 0.5);
	if (s < 0)
		return ns < d->start_ns ? d->start_ns - ns : 0;
	return ns > UINT64_MAX - d->start_ns ? UINT64_MAX : d->start_ns + ns;
}

/* 0, or -errno of the output or of memory. */
static int dump_records(struct dump *d)
{
	uint64_t from_ns = to_clock(d, d->args->from_s, 0);
	uint64_t to_ns = to_clock(d, d->args->to_s, UINT64_MAX);
	/* From the file's begin: definitions before from_ns rename lanes. */
	const struct hg_cursor_opts opts = {.to_ns = to_ns, .want = stream_wanted, .arg = d};
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	const struct hg_record *rec;
	int err = hg_cursor_open(d->r, &opts, &c);

	while (!err && (err = hg_cursor_next(c, &rec)) == 1) {
		err = 0;
		hg_lanes_update(d->lanes, rec);
		if (!record_wanted(d, rec, from_ns, to_ns))
			continue;
		if (d->args->format.chosen == FORMAT_JSON)
			json_record(d, rec, hg_kind_find(rec->kind));
		else
			text_record(d, rec, hg_kind_find(rec->kind));
		if (ferror(stdout))
			err = errno ? -errno : -EIO;
	}
	if (!err && fflush(stdout))
		err = -errno;
	return err;
}

int hg_cmd_dump(int argc, char **argv)
{
	static const struct argp argp = {options,  option_parse, NULL, doc,
					 children, help_filter,	 NULL};
	struct arguments a = {.format = {.names = formats}, .from_s = NAN, .to_s = NAN};
	__attribute__((cleanup(hg_reader_closep))) struct hg_reader *r = NULL;
	__attribute__((cleanup(hg_lanes_closep))) struct hg_lanes *lanes = NULL;
	struct dump d = {.args = &a};
	int err;

	if (hg_cli_parse(&argp, argc, argv, 0, &a))
		return HG_EXIT_USAGE;
	if (hg_reader_open(a.file.path, &r))
		return HG_EXIT_FAILED;
	d.r = r;
	err = hg_lanes_open(r, &lanes);
	d.lanes = lanes;
	if (!err)
		err = find_start(&d);
	if (!err)
		err = dump_records(&d);
	if (!err || err == -EPIPE) /* the reader of a pipe has seen enough */
		return HG_EXIT_OK;
	hg_error("cannot dump %s: %s", a.file.path, strerror(-err));
	return HG_EXIT_FAILED;
}
