/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a small trace with every kind of record and hostile names, for the tests of info and dump. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/hg_base.h"
#include "trace/hg_reader.h"
#include "trace/hg_writer.h"

#define NAME(s)                                                                                    \
	{                                                                                          \
		(s), sizeof(s) - 1                                                                 \
	}
static const struct {
	const char *text;
	size_t length;
} names[] = {
	NAME("nginx"),
	NAME("evil\033[31m\n\"<&\\"),
	NAME("\xff\xfe\xc3("),
	NAME("a\0b"),
	NAME("\xc3\xbcn\xe2\x80\xae\xc2\x9b\xf0\x9f\x98\x80"),
};
static const char environment[] =
	"{\"time\":\"2026-01-01T00:00:00Z\",\"host\":{\"hostname\":\"h\"}}";

static uint32_t name_id(struct hg_writer *w, size_t i)
{
	uint32_t id = 0;

	i %= HG_ARRAY_SIZE(names);
	hg_writer_string(w, names[i].text, names[i].length, &id);
	return id;
}

static int put(struct hg_writer *w, uint32_t stream, struct hg_record rec)
{
	return hg_writer_record(w, 0, stream, &rec);
}

static int write_all(struct hg_writer *w)
{
	static const uint64_t pieces[] = {HG_LINE_GOES_ON, HG_LINE_CONTINUES, 0};
	const uint64_t start = 5000000000;
	int err =
		hg_writer_blob(w, HG_CHUNK_ENVIRONMENT, 0, 0, environment, sizeof(environment) - 1);

	/* Five lanes, the last of which is renamed; lane 99 is never defined. */
	for (uint64_t i = 0; i < HG_ARRAY_SIZE(names); i++)
		err |= put(w, HG_STREAM_CONTROL,
			   (struct hg_record){start - 10 + i, HG_KIND_TASK,
					      .f = {HG_LANE_FIRST + i,
						    100 + i, [HG_TASK_COMM] = name_id(w, i)}});
	err |= put(w, HG_STREAM_CONTROL,
		   (struct hg_record){start, HG_KIND_MARK, .f = {HG_MARK_BEGIN}});
	err |= put(w, HG_STREAM_CONTROL,
		   (struct hg_record){start, HG_KIND_PROBE, .f = {1, name_id(w, 0), 1}});
	err |= put(w, HG_STREAM_CONTROL,
		   (struct hg_record){start, HG_KIND_PROBE,
				      .f = {2, name_id(w, 1), 0, name_id(w, 2)}});
	err |= put(w, HG_STREAM_CONTROL,
		   (struct hg_record){start, HG_KIND_CLIENT, .f = {200, name_id(w, 4)}});
	for (size_t i = 0; i < hg_kinds_count; i++) {
		const struct hg_kind_desc *kind = &hg_kinds[i];
		struct hg_record rec = {.time_ns = start + 1000000 * (i + 1), .kind = kind->kind};

		if (kind->kind == HG_KIND_MARK || kind->kind == HG_KIND_PROBE ||
		    kind->kind == HG_KIND_CLIENT || kind->kind == HG_KIND_TASK)
			continue;
		for (unsigned int f = 0; f < kind->nfields; f++) {
			bool str = kind->fields[f].show == HG_SHOW_STR;
			bool lane = kind->fields[f].show == HG_SHOW_LANE;

			rec.f[f] = str ? name_id(w, i + f) : lane ? (i + f) % 8 : 1000 * i + f;
		}
		if (kind->kind == HG_KIND_LINE)
			continue;
		if (kind->kind == HG_KIND_TASK_NAME)
			rec.f[HG_TASK_NAME_LANE] = HG_LANE_FIRST;
		err |= put(w,
			   kind->kind < HG_KIND_SWITCH	    ? HG_STREAM_CONTROL
			   : kind->kind < HG_KIND_CPU_TIMES ? HG_STREAM_CPU0 + (uint32_t)(i % 2)
							    : HG_STREAM_SAMPLER,
			   rec);
	}
	err |= put(w, HG_STREAM_CPU0,
		   (struct hg_record){start + 2000000000, HG_KIND_EXIT, .f = {99, 1}});
	hg_writer_lost(w, 0, HG_STREAM_CPU0, 7);
	/* one line in pieces, and a whole one */
	for (size_t i = 0; i < HG_ARRAY_SIZE(pieces); i++)
		err |= put(w, HG_STREAM_CLIENT,
			   (struct hg_record){start + 1800000000, HG_KIND_LINE,
					      .f = {1, name_id(w, 2), pieces[i]}});
	hg_writer_lost(w, 0, HG_STREAM_CLIENT, 5);
	err |= put(w, HG_STREAM_CONTROL,
		   (struct hg_record){start + 2500000000, HG_KIND_MARK,
				      .f = {HG_MARK_END, HG_END_SECS}});
	return err;
}

int main(int argc, char **argv)
{
	struct hg_writer *w;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	if (hg_writer_open(open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0600), argv[1], &w))
		return 1;
	err = write_all(w);
	return hg_writer_close(w) || err;
}
