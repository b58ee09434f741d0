/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass info: what a trace holds. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_escape.h"
#include "base/hg_log.h"
#include "base/hg_table.h"
#include "cli/hg_cli.h"
#include "trace/hg_reader.h"
#include "trace/hg_show.h"

#define TEXT_WIDTH 80

enum format { FORMAT_TEXT, FORMAT_JSON };
static const char *const formats[] = {"text", "json", NULL};

struct arguments {
	struct hg_cli_file file;
	struct hg_cli_format format;
};

static const char doc[] =
	"Says what a trace holds: when and on which machine it was recorded, for how long, how "
	"many events, "
	"what was lost, which probes were missing and why, and whether the file is whole.\v"
	"Examples:\n"
	"  hourglass info run.hgt\n"
	"  hourglass info run.hgt --format json | jq .lost\n";

static error_t key_parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &a->file;
	state->child_inputs[1] = &a->format;
	return 0;
}

static const struct argp_child children[] = {
	{&hg_cli_file_argp, 0, NULL, 0}, {&hg_cli_format_argp, 0, NULL, 0}, {0}};

struct stream_info {
	uint16_t machine;
	uint32_t stream;
	uint64_t chunks, records, raised, lost, bytes, raw_bytes, first_ns, last_ns;
};

struct target_info {
	uint64_t index, type, id, name, hierarchy; /* as in TARGET */
};

struct probe_info {
	uint64_t id, name, why; /* name and why: strings */
	bool attached;
};

/* What is printed, put together from chunk headers and one pass over the records. */
struct info {
	struct hg_reader *r;
	json_t *environment; /* or NULL */
	struct stream_info *streams;
	size_t nstreams;
	uint64_t bytes, raw_bytes, chunks, raised, first_ns, last_ns;
	uint64_t lost;				    /* events: of CPU streams */
	uint64_t lines, lines_long, lines_left_out; /* of the client's output */
	uint64_t records, events, damage, kinds[UINT8_MAX + 1];
	uint64_t marks[HG_MARK_END + 1]; /* times, 0 if absent */
	struct target_info *targets;
	size_t ntargets;
	uint64_t client_argv, client_status, end_reason;
	struct probe_info *probes;
	size_t nprobes;
};

static void info_free(struct info *info)
{
	json_decref(info->environment);
	free(info->streams);
	free(info->probes);
	free(info->targets);
}

static int compare_chunks(const void *a, const void *b)
{
	const struct hg_chunk_info *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static void lost_add(uint64_t *sum, uint64_t lost)
{
	if (__builtin_add_overflow(*sum, lost, sum))
		*sum = UINT64_MAX;
}

static void add_chunk(struct info *info, const struct hg_chunk_info *c)
{
	struct stream_info *s = info->nstreams ? &info->streams[info->nstreams - 1] : NULL;

	info->chunks++;
	info->bytes += c->size_bytes;
	info->raw_bytes += c->raw_bytes;
	if (c->type != HG_CHUNK_RECORDS)
		return;
	if (!s || s->machine != c->machine || s->stream != c->stream) {
		s = &info->streams[info->nstreams++];
		*s = (struct stream_info){c->machine, c->stream, .first_ns = UINT64_MAX};
	}
	s->chunks++;
	s->records += c->records;
	s->raised += c->raised;
	s->bytes += c->size_bytes;
	s->raw_bytes += c->raw_bytes;
	lost_add(&s->lost, c->lost);
	if (c->stream >= HG_STREAM_CPU0)
		lost_add(&info->lost, c->lost);
	else if (c->stream == HG_STREAM_CLIENT)
		lost_add(&info->lines_left_out, c->lost);
	info->raised += c->raised;
	if (!c->records)
		return;
	s->first_ns = HG_MIN(s->first_ns, c->first_ns);
	s->last_ns = HG_MAX(s->last_ns, c->last_ns);
	info->first_ns = HG_MIN(info->first_ns, c->first_ns);
	info->last_ns = HG_MAX(info->last_ns, c->last_ns);
}

static int add_chunks(struct info *info)
{
	const struct hg_chunk_info *chunks;
	size_t n = hg_reader_chunks(info->r, &chunks);
	hg_autofree struct hg_chunk_info *sorted = malloc((n + 1) * sizeof(*sorted));

	info->streams = calloc(n + 1, sizeof(*info->streams));
	if (!sorted || !info->streams)
		return -ENOMEM;
	if (n)
		memcpy(sorted, chunks, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_chunks);
	info->first_ns = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		add_chunk(info, &sorted[i]);
	return 0;
}

static int add_probe(struct info *info, const struct hg_record *rec)
{
	struct probe_info *probes =
		realloc(info->probes, (info->nprobes + 1) * sizeof(*info->probes));

	if (!probes)
		return -ENOMEM;
	info->probes = probes;
	info->probes[info->nprobes++] = (struct probe_info){
		.id = rec->f[HG_PROBE_ID],
		.name = rec->f[HG_PROBE_NAME],
		.attached = rec->f[HG_PROBE_ATTACHED],
		.why = rec->f[HG_PROBE_WHY],
	};
	return 0;
}

static int add_target(struct info *info, const struct hg_record *rec)
{
	struct target_info *targets =
		realloc(info->targets, (info->ntargets + 1) * sizeof(*info->targets));

	if (!targets)
		return -ENOMEM;
	info->targets = targets;
	info->targets[info->ntargets++] = (struct target_info){
		.index = rec->f[HG_TARGET_INDEX],
		.type = rec->f[HG_TARGET_TYPE],
		.id = rec->f[HG_TARGET_ID],
		.name = rec->f[HG_TARGET_NAME],
		.hierarchy = rec->f[HG_TARGET_HIERARCHY],
	};
	return 0;
}

static void add_mark(struct info *info, const struct hg_record *rec)
{
	uint64_t what = rec->f[HG_MARK_WHAT];

	if (what >= HG_ARRAY_SIZE(info->marks))
		return;
	info->marks[what] = rec->time_ns;
	if (what == HG_MARK_CLIENT_END)
		info->client_status = rec->f[HG_MARK_ARG];
	if (what == HG_MARK_END)
		info->end_reason = rec->f[HG_MARK_ARG];
}

static int add_record(struct info *info, const struct hg_record *rec)
{
	if (rec->kind == HG_KIND_LOSS && rec->f[HG_LOSS_PROBE] == HG_LOSS_DAMAGE) {
		info->damage++;
		return 0;
	}
	info->records++;
	info->events += rec->stream >= HG_STREAM_CPU0 && rec->kind != HG_KIND_LOSS;
	if (rec->kind < HG_ARRAY_SIZE(info->kinds))
		info->kinds[rec->kind]++;
	if (rec->machine)
		return 0;
	if (rec->kind == HG_KIND_LINE && !(rec->f[HG_LINE_PIECE] & HG_LINE_CONTINUES)) {
		info->lines++;
		info->lines_long += rec->f[HG_LINE_PIECE] == HG_LINE_GOES_ON;
	}
	if (rec->kind == HG_KIND_MARK)
		add_mark(info, rec);
	else if (rec->kind == HG_KIND_CLIENT)
		info->client_argv = rec->f[HG_CLIENT_ARGV];
	else if (rec->kind == HG_KIND_TARGET)
		return add_target(info, rec);
	else if (rec->kind == HG_KIND_PROBE)
		return add_probe(info, rec);
	return 0;
}

static int info_fill(struct info *info)
{
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	hg_autofree char *text = NULL;
	const struct hg_record *rec;
	size_t size;
	int err = add_chunks(info);

	if (!err)
		err = hg_cursor_open(info->r, NULL, &c);
	while (!err && (err = hg_cursor_next(c, &rec)) == 1)
		err = add_record(info, rec);
	if (!err && !hg_reader_blob(info->r, HG_CHUNK_ENVIRONMENT, 0, &text, &size))
		info->environment = json_loadb(text, size, 0, NULL);
	return err;
}

/* 0: nothing was recorded. */
static uint64_t duration_ns(const struct info *info)
{
	uint64_t from = info->marks[HG_MARK_BEGIN], to = info->marks[HG_MARK_END];

	if (!from)
		from = info->first_ns;
	if (!to)
		to = info->last_ns;
	return to > from ? to - from : 0;
}

static const char *end_name(uint64_t reason)
{
	static const char *const names[] = {
		[HG_END_CLIENT] = "the client ended",
		[HG_END_SECS] = "the time was up",
		[HG_END_SIGNAL] = "it was interrupted",
		[HG_END_TARGET] = "the target ended",
		[HG_END_ERROR] = "an error",
	};

	return reason < HG_ARRAY_SIZE(names) ? names[reason] : NULL;
}

/* A string of the file as JSON: bytes that are not UTF-8 are escaped as on a terminal. */
static json_t *json_name(const struct info *info, uint64_t id)
{
	size_t length = 0;
	const char *text = hg_reader_string(info->r, id, &length);
	hg_autofree char *safe = NULL;
	json_t *j;

	if (!text)
		return json_null();
	j = json_stringn(text, length);
	if (j)
		return j;
	safe = malloc(4 * length + 1);
	return safe ? json_string(hg_escape_terminal(safe, 4 * length + 1, text)) : json_null();
}

/* Times and counts are below 2^63 but for hostile files, whose figures are then negative. */
static json_t *json_u64(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *json_health(const struct hg_reader_health *h)
{
	return json_pack("{s:b,s:b,s:b,s:o,s:o,s:o,s:o,s:s}", "whole", !*h->sentence, "finalised",
			 h->finalised, "index_ok", h->index_ok, "bytes_bad", json_u64(h->bytes_bad),
			 "bytes_cut", json_u64(h->bytes_cut), "chunks_bad", json_u64(h->chunks_bad),
			 "chunks_missing", json_u64(h->chunks_missing), "sentence", h->sentence);
}

static json_t *json_streams(const struct info *info)
{
	json_t *array = json_array();
	char name[16];

	for (size_t i = 0; i < info->nstreams; i++) {
		const struct stream_info *s = &info->streams[i];

		json_array_append_new(
			array,
			json_pack("{s:i,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "machine", s->machine,
				  "name", hg_show_stream(name, sizeof(name), s->stream), "records",
				  json_u64(s->records), "bytes", json_u64(s->bytes), "chunks",
				  json_u64(s->chunks), "lost", json_u64(s->lost), "raised",
				  json_u64(s->raised), "first_ns",
				  s->records ? json_u64(s->first_ns) : json_null(), "last_ns",
				  s->records ? json_u64(s->last_ns) : json_null()));
	}
	return array;
}

static json_t *json_machines(const struct info *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->nstreams; i++) {
		if (!i || info->streams[i].machine != info->streams[i - 1].machine)
			json_array_append_new(array, json_integer(info->streams[i].machine));
	}
	return array;
}

static json_t *json_kinds(const struct info *info)
{
	json_t *object = json_object();

	for (size_t i = 0; i < hg_kinds_count; i++) {
		if (info->kinds[hg_kinds[i].kind])
			json_object_set_new(object, hg_kinds[i].name,
					    json_u64(info->kinds[hg_kinds[i].kind]));
	}
	return object;
}

static json_t *json_probes(const struct info *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->nprobes; i++) {
		const struct probe_info *p = &info->probes[i];

		json_array_append_new(
			array, json_pack("{s:o,s:o,s:b,s:o}", "id", json_u64(p->id), "name",
					 json_name(info, p->name), "attached", p->attached, "why",
					 p->why ? json_name(info, p->why) : json_null()));
	}
	return array;
}

static json_t *json_targets(const struct info *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->ntargets; i++) {
		const struct target_info *t = &info->targets[i];
		bool cgroup = t->type == HG_TARGET_CGROUP;
		json_t *hierarchy = json_null();

		if (cgroup)
			hierarchy = t->hierarchy ? json_name(info, t->hierarchy) : json_string("");
		json_array_append_new(
			array,
			json_pack("{s:o,s:s,s:o,s:o,s:o}", "index", json_u64(t->index), "type",
				  cgroup ? "cgroup" : "process", "id", json_u64(t->id), "name",
				  json_name(info, t->name), "hierarchy", hierarchy));
	}
	return array;
}

static json_t *json_client(const struct info *info)
{
	json_t *object;

	if (!info->client_argv)
		return json_null();
	object = json_pack("{s:o}", "command", json_name(info, info->client_argv));
	if (info->marks[HG_MARK_CLIENT_END])
		json_object_set_new(object, "wait_status", json_u64(info->client_status));
	return object;
}

static int json_print(const struct info *info, const char *path)
{
	const char *end = end_name(info->end_reason);
	json_t *j = json_object(), *host = json_object_get(info->environment, "host");
	hg_autofree char *safe = malloc(4 * strlen(path) + 1);
	int err;

	json_object_set_new(j, "schema", json_string("hourglass-info/1"));
	json_object_set_new(
		j, "file",
		json_string(safe ? hg_escape_terminal(safe, 4 * strlen(path) + 1, path) : ""));
	json_object_set_new(j, "health", json_health(hg_reader_health(info->r)));
	json_object_set_new(j, "duration_ns", json_u64(duration_ns(info)));
	json_object_set_new(j, "events", json_u64(info->events));
	json_object_set_new(j, "records", json_u64(info->records));
	json_object_set_new(j, "lost", json_u64(info->lost));
	json_object_set_new(j, "raised", json_u64(info->raised));
	json_object_set_new(j, "holes", json_u64(info->damage));
	json_object_set_new(j, "bytes", json_u64(info->bytes));
	json_object_set_new(j, "raw_bytes", json_u64(info->raw_bytes));
	json_object_set_new(j, "chunks", json_u64(info->chunks));
	json_object_set_new(j, "end", end ? json_string(end) : json_null());
	json_object_set_new(j, "targets", json_targets(info));
	json_object_set_new(j, "client", json_client(info));
	json_object_set_new(j, "client_lines",
			    json_pack("{s:o,s:o,s:o}", "kept", json_u64(info->lines), "in_pieces",
				      json_u64(info->lines_long), "left_out",
				      json_u64(info->lines_left_out)));
	json_object_set_new(j, "machines", json_machines(info));
	json_object_set_new(j, "streams", json_streams(info));
	json_object_set_new(j, "kinds", json_kinds(info));
	json_object_set_new(j, "probes", json_probes(info));
	json_object_set(j, "time", json_object_get(info->environment, "time"));
	json_object_set(j, "host", host ? host : json_null());
	err = json_dumpf(j, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(j);
	putchar('\n');
	return err ? -EIO : 0;
}

static const char *environment_text(const struct info *info, const char *object, const char *key)
{
	json_t *j = object ? json_object_get(info->environment, object) : info->environment;

	return json_string_value(json_object_get(j, key));
}

static void text_targets(const struct info *info, struct hg_table *t)
{
	for (size_t i = 0; i < info->ntargets; i++) {
		const struct target_info *target = &info->targets[i];
		const char *name = hg_reader_string(info->r, target->name, NULL);
		const char *hierarchy = hg_reader_string(info->r, target->hierarchy, NULL);

		hg_table_cell(t, "target %" PRIu64, target->index);
		if (target->type == HG_TARGET_CGROUP)
			hg_table_cell(t, "cgroup %s (%s%s)", name ? name : "undefined",
				      target->hierarchy ? "v1, " : "v2",
				      target->hierarchy ? hierarchy ? hierarchy : "undefined" : "");
		else
			hg_table_cell(t, "process %s (pid %" PRIu64 ")", name ? name : "undefined",
				      target->id);
	}
}

static void text_lines(const struct info *info, struct hg_table *t)
{
	char pieces[64] = "", left_out[64] = "";

	if (!info->lines && !info->lines_left_out)
		return;
	if (info->lines_long)
		snprintf(pieces, sizeof(pieces), ", %" PRIu64 " in pieces or unfinished",
			 info->lines_long);
	if (info->lines_left_out)
		snprintf(left_out, sizeof(left_out), "; %" PRIu64 " left out",
			 info->lines_left_out);
	hg_table_cell(t, "client's lines");
	hg_table_cell(t, "%" PRIu64 " kept%s%s", info->lines, pieces, left_out);
}

static void text_facts(const struct info *info, struct hg_table *t)
{
	const struct hg_reader_health *h = hg_reader_health(info->r);
	const char *time = environment_text(info, NULL, "time"), *end = end_name(info->end_reason);
	const char *name = environment_text(info, "host", "hostname");
	const char *kernel = environment_text(info, "host", "kernel");
	double s = (double)duration_ns(info) / 1e9;

	hg_table_cell(t, "file");
	hg_table_cell(t, "%s", *h->sentence ? h->sentence : "whole");
	if (time || name || kernel) {
		hg_table_cell(t, "recorded");
		hg_table_cell(t, "%s%s%s%s%s", time ? time : "", name ? " on " : "",
			      name ? name : "", kernel ? ", " : "", kernel ? kernel : "");
	}
	hg_table_cell(t, "duration");
	hg_table_cell(t, "%.3f s%s%s", s, end ? ", until " : "", end ? end : "");
	text_targets(info, t);
	if (info->client_argv) {
		const char *argv = hg_reader_string(info->r, info->client_argv, NULL);

		hg_table_cell(t, "client");
		hg_table_cell(t, "%s", argv ? argv : "undefined");
	}
	text_lines(info, t);
	hg_table_cell(t, "events");
	hg_table_cell(t, "%" PRIu64 ", %.0f a second", info->events,
		      s > 0 ? (double)info->events / s : 0);
	hg_table_cell(t, "lost");
	hg_table_cell(t, "%" PRIu64 " event%s%s", info->lost, info->lost == 1 ? "" : "s",
		      info->damage ? ", and what damage to the file took" : "");
	hg_table_cell(t, "size");
	hg_table_cell(t, "%" PRIu64 " bytes in %" PRIu64 " chunks, %.2f bytes a record",
		      info->bytes, info->chunks,
		      info->records ? (double)info->bytes / (double)info->records : 0);
}

static int text_streams(const struct info *info)
{
	static const struct hg_table_column columns[] = {
		{"STREAM", HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{"RECORDS", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"BYTES", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"CHUNKS", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"LOST", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"RAISED", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
	};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), TEXT_WIDTH, 0);
	char name[16];

	for (size_t i = 0; i < info->nstreams; i++) {
		const struct stream_info *s = &info->streams[i];

		hg_show_stream(name, sizeof(name), s->stream);
		if (s->machine)
			hg_table_cell(t, "%u:%s", s->machine, name);
		else
			hg_table_cell(t, "%s", name);
		hg_table_cell(t, "%" PRIu64, s->records);
		hg_table_cell(t, "%" PRIu64, s->bytes);
		hg_table_cell(t, "%" PRIu64, s->chunks);
		hg_table_cell(t, "%" PRIu64, s->lost);
		hg_table_cell(t, "%" PRIu64, s->raised);
	}
	return hg_table_print(t, stdout);
}

static int text_kinds(const struct info *info)
{
	static const struct hg_table_column columns[] = {
		{"KIND", HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{"RECORDS", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"WHAT IT IS", HG_TABLE_LEFT, HG_TABLE_ELIDE},
	};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), TEXT_WIDTH, 0);

	for (size_t i = 0; i < hg_kinds_count; i++) {
		if (!info->kinds[hg_kinds[i].kind])
			continue;
		hg_table_cell(t, "%s", hg_kinds[i].name);
		hg_table_cell(t, "%" PRIu64, info->kinds[hg_kinds[i].kind]);
		hg_table_cell(t, "%s", hg_kinds[i].help);
	}
	return hg_table_print(t, stdout);
}

static int text_probes(const struct info *info)
{
	static const struct hg_table_column columns[] = {
		{"PROBE", HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{"ATTACHED", HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{"WHY NOT", HG_TABLE_LEFT, HG_TABLE_WRAP},
	};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), TEXT_WIDTH, 0);

	for (size_t i = 0; i < info->nprobes; i++) {
		const struct probe_info *p = &info->probes[i];
		const char *name = hg_reader_string(info->r, p->name, NULL);
		const char *why = hg_reader_string(info->r, p->why, NULL);

		hg_table_cell(t, "%s", name ? name : "undefined");
		hg_table_cell(t, "%s", p->attached ? "yes" : "no");
		hg_table_cell(t, "%s", why ? why : "undefined");
	}
	return hg_table_print(t, stdout);
}

static int text_print(const struct info *info)
{
	static const struct hg_table_column columns[] = {
		{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{NULL, HG_TABLE_LEFT, HG_TABLE_WRAP},
	};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), TEXT_WIDTH, 0);
	int err;

	text_facts(info, t);
	err = hg_table_print(t, stdout);
	putchar('\n');
	if (!err)
		err = text_streams(info);
	putchar('\n');
	if (!err)
		err = text_kinds(info);
	if (err || !info->nprobes)
		return err;
	putchar('\n');
	return text_probes(info);
}

int hg_cmd_info(int argc, char **argv)
{
	static const struct argp argp = {NULL, key_parse, NULL, doc, children, NULL, NULL};
	struct arguments a = {.format = {.names = formats}};
	__attribute__((cleanup(hg_reader_closep))) struct hg_reader *r = NULL;
	__attribute__((cleanup(info_free))) struct info info = {0};
	int err;

	if (hg_cli_parse(&argp, argc, argv, 0, &a))
		return HG_EXIT_USAGE;
	if (hg_reader_open(a.file.path, &r))
		return HG_EXIT_FAILED;
	info.r = r;
	err = info_fill(&info);
	if (!err) {
		err = a.format.chosen == FORMAT_JSON ? json_print(&info, a.file.path)
						     : text_print(&info);
		if (fflush(stdout))
			err = -errno;
	}
	if (!err || err == -EPIPE) /* the reader of a pipe has seen enough */
		return HG_EXIT_OK;
	hg_error("cannot describe %s: %s", a.file.path, strerror(-err));
	return HG_EXIT_FAILED;
}
