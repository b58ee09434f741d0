/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/trace/hg_trace_samples.h"

#include "trace/hg_columns.h"
#include "trace/hg_intern.h"

/* Writes records of all streams in a random order of streams; want gets what must come back. */
static void write_mixed(struct hg_writer *w, uint64_t seed, size_t n, struct sample_list *want)
{
	static const struct {
		uint16_t machine;
		uint32_t stream;
	} streams[] = {{0, HG_STREAM_CONTROL},	{0, HG_STREAM_SAMPLER}, {0, HG_STREAM_CPU0},
		       {0, HG_STREAM_CPU0 + 1}, {1, HG_STREAM_CPU0},	{7, UINT32_MAX}};
	uint64_t time[HG_ARRAY_SIZE(streams)] = {0};

	for (size_t i = 0; i < n; i++) {
		size_t s = sample_random(&seed) % HG_ARRAY_SIZE(streams);
		size_t kind =
			i < 2 * hg_kinds_count ? i / 2 : sample_random(&seed) % hg_kinds_count;
		struct hg_record rec;

		/* Ties within and across streams are wanted. */
		time[s] += sample_random(&seed) % 4 ? sample_random(&seed) % 16 : 0;
		sample_record(&seed, hg_kinds[kind].kind, time[s], &rec);
		assert_int_equal(hg_writer_record(w, streams[s].machine, streams[s].stream, &rec),
				 0);
		rec.machine = streams[s].machine;
		rec.stream = streams[s].stream;
		sample_list_add(want, &rec);
		if (!(i % 5000))
			assert_int_equal(hg_writer_round(w, i * 100000), 0);
	}
	sample_list_sort(want);
}

static void assert_lists_equal(const struct sample_list *got, const struct sample_list *want)
{
	assert_int_equal(got->n, want->n);
	for (size_t i = 0; i < want->n; i++) {
		if (!sample_equal(&got->v[i], &want->v[i]))
			fail_msg("record %zu of %zu differs", i, want->n);
	}
}

static void all_kinds_and_extremes_come_back(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	struct sample_list want = {0}, got = {0};
	struct hg_writer_stats stats;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	write_mixed(w, 42, 100000, &want);
	hg_writer_stats_get(w, &stats);
	assert_int_equal(stats.records, 100000);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_string_equal(hg_reader_health(r)->sentence, "");
	assert_true(hg_reader_health(r)->finalised && hg_reader_health(r)->index_ok);
	sample_list_read(r, NULL, &got);
	assert_lists_equal(&got, &want);
	hg_reader_close(r);
	sample_list_free(&want);
	sample_list_free(&got);
}

static void empty_file_is_whole(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	struct sample_list got = {0};

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_string_equal(hg_reader_health(r)->sentence, "");
	sample_list_read(r, NULL, &got);
	assert_int_equal(got.n, 0);
	hg_reader_close(r);
}

static void earlier_times_are_raised_and_counted(void **state)
{
	static const uint64_t times[] = {100, 90, 100, 150, 149, 200},
			      want[] = {100, 100, 100, 150, 150, 200};
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	struct sample_list got = {0};
	const struct hg_chunk_info *chunks;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	for (size_t i = 0; i < HG_ARRAY_SIZE(times); i++) {
		struct hg_record rec = {.time_ns = times[i], .kind = HG_KIND_EXIT, .f = {i}};

		assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &rec), 0);
	}
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_int_equal(hg_reader_chunks(r, &chunks), 1);
	assert_int_equal(chunks[0].raised, 2);
	assert_int_equal(chunks[0].first_ns, 100);
	assert_int_equal(chunks[0].last_ns, 200);
	sample_list_read(r, NULL, &got);
	assert_int_equal(got.n, HG_ARRAY_SIZE(times));
	for (size_t i = 0; i < got.n; i++) {
		assert_int_equal(got.v[i].time_ns, want[i]);
		assert_int_equal(got.v[i].f[0], i);
	}
	hg_reader_close(r);
	sample_list_free(&got);
}

static void lost_counts_are_kept(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	const struct hg_chunk_info *chunks;
	struct hg_record rec = {.time_ns = 5, .kind = HG_KIND_EXIT};
	uint64_t lost = 0;
	size_t n;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	hg_writer_lost(w, 0, HG_STREAM_CPU0, 7);
	assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &rec), 0);
	hg_writer_lost(w, 0, HG_STREAM_CPU0, 8);
	hg_writer_lost(w, 0, HG_STREAM_CPU0 + 1, 100); /* a stream without a record */
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_string_equal(hg_reader_health(r)->sentence, "");
	n = hg_reader_chunks(r, &chunks);
	for (size_t i = 0; i < n; i++)
		lost += chunks[i].lost;
	assert_int_equal(lost, 115);
	hg_reader_close(r);
}

static void strings_are_interned(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	static char longest[HG_STRING_MAX + 10];
	uint32_t a, b, again, empty, binary, big;
	size_t length;
	const char *text;

	memset(longest, 'x', sizeof(longest));
	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	assert_int_equal(hg_writer_string(w, "a", 1, &a), 0);
	assert_int_equal(hg_writer_string(w, "b", 1, &b), 0);
	assert_int_equal(hg_writer_string(w, "a", 1, &again), 0);
	assert_int_equal(hg_writer_string(w, "", 0, &empty), 0);
	assert_int_equal(hg_writer_string(w, "\0\xff\n", 3, &binary), 0);
	assert_int_equal(hg_writer_string(w, longest, sizeof(longest), &big), 0);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(a, again);
	assert_int_not_equal(a, b);
	assert_int_equal(empty, 0);

	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_string_equal(hg_reader_string(r, a, NULL), "a");
	assert_string_equal(hg_reader_string(r, b, NULL), "b");
	assert_string_equal(hg_reader_string(r, 0, NULL), "");
	text = hg_reader_string(r, binary, &length);
	assert_int_equal(length, 3);
	assert_memory_equal(text, "\0\xff\n", 4);
	text = hg_reader_string(r, big, &length);
	assert_int_equal(length, HG_STRING_MAX);
	assert_string_equal(text + length - 4, "x...");
	assert_null(hg_reader_string(r, big + 1, NULL));
	assert_null(hg_reader_string(r, UINT64_MAX, NULL));
	hg_reader_close(r);
}

static void intern_memory_is_bounded(void **state)
{
	struct hg_intern *in;
	uint32_t first, id, count;
	size_t size;
	uint8_t *raw;

	assert_int_equal(hg_intern_new(&in), 0);
	assert_int_equal(hg_intern_add(in, "first", 5, &first), 0);
	for (size_t i = 0; i < HG_INTERN_BYTES_MAX / 1000; i++) {
		char text[1024];

		memset(text, 'y', sizeof(text));
		snprintf(text, 16, "%zu", i);
		assert_int_equal(hg_intern_add(in, text, sizeof(text), &id), 0);
		if (hg_intern_pending(in) > 100000) {
			assert_int_equal(hg_intern_take(in, &raw, &size, &count), 0);
			free(raw);
		}
	}
	/* Forgotten by now: a new id, and never one that another string has. */
	assert_int_equal(hg_intern_add(in, "first", 5, &id), 0);
	assert_true(id > first);
	hg_intern_free(in);
}

static void blob_comes_back(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	char *text;
	size_t size;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	assert_int_equal(hg_writer_blob(w, HG_CHUNK_ENVIRONMENT, 0, 0, "{\"a\": 1}", 8), 0);
	assert_int_equal(hg_writer_blob(w, 99, 3, 4, "later version", 13), 0);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	assert_string_equal(hg_reader_health(r)->sentence, "");
	assert_int_equal(hg_reader_blob(r, HG_CHUNK_ENVIRONMENT, 0, &text, &size), 0);
	assert_int_equal(size, 8);
	assert_string_equal(text, "{\"a\": 1}");
	free(text);
	assert_int_equal(hg_reader_blob(r, HG_CHUNK_ENVIRONMENT, 1, &text, &size), -ENOENT);
	hg_reader_close(r);
}

/* A data chunk closed in a round is handed on in the next one, behind what was defined until then. */
static void definitions_come_before_data(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	const struct hg_chunk_info *chunks;
	struct hg_record event = {.time_ns = 10, .kind = HG_KIND_EXIT, .f = {2}};
	struct hg_record task = {.time_ns = 11, .kind = HG_KIND_TASK, .f = {2, 100}};
	uint32_t id;
	size_t n;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	assert_int_equal(hg_writer_round(w, 1), 0);
	assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &event), 0);
	assert_int_equal(hg_writer_round(w, 2), 0);
	assert_int_equal(hg_writer_round(w, 2 + 1000000000), 0); /* closes the chunk of CPU 0 */
	assert_int_equal(hg_writer_string(w, "name", 4, &id), 0);
	task.f[HG_TASK_COMM] = id;
	assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CONTROL, &task), 0);
	assert_int_equal(hg_writer_round(w, 2 + 1010000000), 0); /* hands it on */
	event.time_ns = 20;
	assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &event), 0);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	n = hg_reader_chunks(r, &chunks);
	assert_int_equal(n, 4);
	assert_int_equal(chunks[0].type, HG_CHUNK_STRINGS);
	assert_int_equal(chunks[1].stream, HG_STREAM_CONTROL);
	assert_int_equal(chunks[2].stream, HG_STREAM_CPU0);
	assert_int_equal(chunks[3].stream, HG_STREAM_CPU0);
	assert_int_equal(chunks[3].sequence, 1);
	hg_reader_close(r);
}

static void chunks_close_at_their_input_measure(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	const struct hg_chunk_info *chunks;
	struct hg_record rec = {.kind = HG_KIND_SWITCH};
	/* a row of a switch is its time and four fields */
	size_t per_chunk = HG_ROWS_BYTES_MAX / 40, n;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	for (size_t i = 0; i < 2 * per_chunk + 1; i++) {
		rec.time_ns = i;
		assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &rec), 0);
	}
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	n = hg_reader_chunks(r, &chunks);
	assert_int_equal(n, 3);
	assert_int_equal(chunks[0].records, per_chunk);
	assert_int_equal(chunks[1].records, per_chunk);
	assert_int_equal(chunks[2].records, 1);
	hg_reader_close(r);
}

static bool only_cpu1(void *arg, uint16_t machine, uint32_t stream)
{
	return machine == 0 && stream == HG_STREAM_CPU0 + 1;
}

static void cursor_filters_streams_and_skips_chunks(void **state)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	struct sample_list want = {0}, got = {0};
	struct hg_cursor_opts opts = {.want = only_cpu1};

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	write_mixed(w, 7, 100000, &want);
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	sample_list_read(r, &opts, &got);
	assert_true(got.n > 1000);
	for (size_t i = 0; i < got.n; i++)
		assert_int_equal(got.v[i].stream, HG_STREAM_CPU0 + 1);
	sample_list_free(&got);

	opts = (struct hg_cursor_opts){.from_ns = 40000, .to_ns = 50000};
	sample_list_read(r, &opts, &got);
	assert_true(got.n < want.n);
	/* All of the range, and nothing that was not written: skipped chunks are no damage. */
	for (size_t i = 0, k = 0; i < want.n; i++) {
		if (k < got.n && sample_equal(&got.v[k], &want.v[i]))
			k++;
		else
			assert_true(want.v[i].time_ns < 40000 || want.v[i].time_ns > 50000);
		assert_true(i + 1 < want.n || k == got.n);
	}
	hg_reader_close(r);
	sample_list_free(&want);
	sample_list_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_and_extremes_come_back),
		cmocka_unit_test(empty_file_is_whole),
		cmocka_unit_test(earlier_times_are_raised_and_counted),
		cmocka_unit_test(lost_counts_are_kept),
		cmocka_unit_test(strings_are_interned),
		cmocka_unit_test(intern_memory_is_bounded),
		cmocka_unit_test(blob_comes_back),
		cmocka_unit_test(definitions_come_before_data),
		cmocka_unit_test(chunks_close_at_their_input_measure),
		cmocka_unit_test(cursor_filters_streams_and_skips_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
