/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what tests ask of a trace, one fact a line: sorted by nothing but time, names escaped. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hg_escape.h"
#include "trace/hg_reader.h"

static const char *text_of(const struct hg_reader *r, uint64_t id)
{
	static char safe[4096];
	const char *text = hg_reader_string(r, id, NULL);

	return hg_escape_terminal(safe, sizeof(safe), text ? text : "(lost)");
}

static void mark_print(const struct hg_record *rec)
{
	static const char *const names[] = {"?", "begin", "client_start", "client_end", "end"};
	uint64_t what = rec->f[HG_MARK_WHAT];

	printf("%s %" PRIu64 " %" PRIu64 "\n", names[what < 5 ? what : 0], rec->time_ns,
	       rec->f[HG_MARK_ARG]);
}

static void record_print(const struct hg_reader *r, const struct hg_record *rec)
{
	switch (rec->kind) {
	case HG_KIND_MARK:
		mark_print(rec);
		break;
	case HG_KIND_LINE:
		printf("line %d %" PRIu64 " %s\n", (int)rec->f[HG_LINE_FD], rec->time_ns,
		       text_of(r, rec->f[HG_LINE_TEXT]));
		if (rec->f[HG_LINE_PIECE])
			printf("piece %d %" PRIu64 "\n", (int)rec->f[HG_LINE_FD],
			       rec->f[HG_LINE_PIECE]);
		break;
	case HG_KIND_TASK:
		printf("task %" PRIu64 " %" PRIu64 " %s\n", rec->f[HG_TASK_LANE],
		       rec->f[HG_TASK_TID], text_of(r, rec->f[HG_TASK_COMM]));
		break;
	case HG_KIND_TASK_NAME:
		printf("name %" PRIu64 " %s\n", rec->f[HG_TASK_NAME_LANE],
		       text_of(r, rec->f[HG_TASK_NAME_COMM]));
		break;
	case HG_KIND_ROLE:
		printf("role %" PRIu64 " %" PRIu64 "\n", rec->f[HG_ROLE_LANE],
		       rec->f[HG_ROLE_ROLE]);
		break;
	case HG_KIND_TARGET:
		printf("target %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", rec->f[HG_TARGET_INDEX],
		       rec->f[HG_TARGET_TYPE], rec->f[HG_TARGET_ID],
		       text_of(r, rec->f[HG_TARGET_NAME]));
		break;
	case HG_KIND_CLIENT:
		printf("client %s\n", text_of(r, rec->f[HG_CLIENT_ARGV]));
		break;
	case HG_KIND_PROBE:
		printf("probe %s %" PRIu64 "\n", text_of(r, rec->f[HG_PROBE_NAME]),
		       rec->f[HG_PROBE_ATTACHED]);
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	__attribute__((cleanup(hg_reader_closep))) struct hg_reader *r = NULL;
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	const struct hg_cursor_opts opts = {0};
	uint64_t counts[256] = {0}, last_ns = 0;
	const struct hg_record *rec;

	if (argc != 2 || hg_reader_open(argv[1], &r) || hg_cursor_open(r, &opts, &c))
		return 1;
	printf("finalised %d\n", hg_reader_health(r)->finalised);
	while (hg_cursor_next(c, &rec) == 1) {
		if (rec->kind < 256)
			counts[rec->kind]++;
		last_ns = rec->time_ns;
		record_print(r, rec);
	}
	for (size_t i = 0; i < hg_kinds_count; i++)
		printf("count %s %" PRIu64 "\n", hg_kinds[i].name, counts[hg_kinds[i].kind]);
	printf("last %" PRIu64 "\n", last_ns);
	return 0;
}
