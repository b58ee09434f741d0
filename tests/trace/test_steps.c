/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks that go in steps: found in their times, and what they save in a file. */
#include "tests/trace/hg_trace_samples.h"

#define TIMES 65536

static void steps_are_found(void **state)
{
	static const double steps_ns[] = {8.25, 10.0189, 10.2854, 14.091, 26.4474, 40, 61.3};
	static uint64_t times[TIMES];
	uint64_t seed = 1;

	for (size_t k = 0; k < HG_ARRAY_SIZE(steps_ns); k++) {
		double time = 1e6;
		uint64_t found;

		for (size_t i = 0; i < TIMES; i++) {
			time += steps_ns[k] * (double)(1 + sample_random(&seed) % 4);
			/* The reader of the clock was interrupted. */
			if (!(sample_random(&seed) % 1000))
				time += steps_ns[k] * (double)(sample_random(&seed) % 1000);
			times[i] = (uint64_t)time;
		}
		found = hg_steps_find(times, TIMES);
		assert_float_equal((double)found / (1 << HG_STEPS_SHIFT), steps_ns[k],
				   1e-5 * steps_ns[k]);
	}
}

static void other_clocks_have_no_steps(void **state)
{
	static uint64_t times[TIMES];
	uint64_t seed = 2;

	for (uint64_t spread = 2; spread < 12; spread++) {
		times[0] = 1000000;
		for (size_t i = 1; i < TIMES; i++)
			times[i] = times[i - 1] + 20 + sample_random(&seed) % spread;
		assert_int_equal(hg_steps_find(times, TIMES), 0);
	}
	memset(times, 0, sizeof(times));
	assert_int_equal(hg_steps_find(times, TIMES), 0);
}

static void codes_are_exact(void **state)
{
	const uint64_t step = (UINT64_C(10) << HG_STEPS_SHIFT) + 12345;
	const double per_step = (double)(1 << HG_STEPS_SHIFT) / (double)step;
	unsigned int coded = 0;
	uint64_t none;

	for (uint64_t v = 0; v < 100000; v++) {
		uint64_t q, code = hg_steps_code(step, per_step, v, &q);

		coded += code != 0;
		if (code)
			assert_int_equal(hg_steps_value(step, code), v);
	}
	assert_in_range(coded, 29900, 30100); /* three of ten: a step and its neighbours */
	assert_int_equal(hg_steps_code(step, per_step, UINT64_MAX, &none), 0);
}

/* Bytes of a file of softirqs on a clock with steps, if the writer knows of a step. */
static size_t file_size(uint64_t clock_step, uint64_t known_step)
{
	sample_file_auto f;
	struct hg_writer *w;
	struct hg_reader *r;
	struct sample_list want = {0}, got = {0};
	uint64_t seed = 3, time = 1000;
	struct stat st;

	assert_int_equal(hg_writer_open(sample_file_new(&f), f.path, &w), 0);
	hg_writer_step_set(w, known_step);
	for (size_t i = 0; i < 40000; i++) {
		struct hg_record rec = {.time_ns = time += 2000 + sample_random(&seed) % 10000,
					.kind = HG_KIND_SOFTIRQ,
					.stream = HG_STREAM_CPU0};

		rec.f[HG_SOFTIRQ_DUR] = sample_random(&seed) % 1000; /* no step: an exception */
		if (i % 5000 == 4999)
			time += 10 * HG_NSEC_PER_SEC;
		sample_step(&seed, clock_step, &rec);
		sample_list_add(&want, &rec);
		assert_int_equal(hg_writer_record(w, 0, HG_STREAM_CPU0, &rec), 0);
	}
	assert_int_equal(hg_writer_close(w), 0);
	assert_int_equal(stat(f.path, &st), 0);
	assert_int_equal(hg_reader_open(f.path, &r), 0);
	sample_list_read(r, NULL, &got);
	hg_reader_close(r);
	assert_int_equal(got.n, want.n);
	for (size_t i = 0; i < want.n; i++)
		assert_true(sample_equal(&got.v[i], &want.v[i]));
	sample_list_free(&want);
	sample_list_free(&got);
	return (size_t)st.st_size;
}

static void steps_save_room_and_change_nothing(void **state)
{
	const uint64_t step = (UINT64_C(10) << HG_STEPS_SHIFT) + 12345;
	size_t without = file_size(step, 0);

	assert_in_range(file_size(step, step), without / 2, without * 9 / 10);
	/* Not quite right: it is followed. */
	assert_in_range(file_size(step, step + 200), without / 2, without * 9 / 10);
	/* Wrong: not used. */
	assert_in_range(file_size(step, step / 7 * 10), without * 99 / 100, without * 101 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_found),
		cmocka_unit_test(other_clocks_have_no_steps),
		cmocka_unit_test(codes_are_exact),
		cmocka_unit_test(steps_save_room_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
