/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text and JSON of the cases in render_cases.h. The text is compared with goldens/NAME.txt; after a wanted change:
 *
 *	HG_GOLDENS_WRITE=1 build-debug/tests/test_analysis_render && git diff tests/analysis/goldens
 *
 * "--write DIR" writes DIR/NAME.txt and DIR/NAME.json instead, for tests/analysis/report_schema.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hg_table.h"
#include "render_cases.h"

#define GOLDENS HG_TEST_DATA "/../analysis/goldens"

typedef int (*renderer)(const struct hg_findings *f, FILE *out);

static char *render(const struct render_case *c, renderer fn)
{
	struct hg_findings *f = c->make();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(fn(f, out), 0);
	fclose(out);
	hg_findings_free(f);
	assert_int_equal(strlen(text), size);
	return text;
}

static void file_write(const char *dir, const char *name, const char *suffix, const char *text)
{
	char path[512];
	hg_autofclose FILE *out = NULL;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
}

static void text_is_as_golden(void **state)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
		hg_autofree char *text = render(&render_cases[i], hg_findings_text);
		hg_autofree char *golden = NULL;
		char path[512];
		hg_autofclose FILE *in = NULL;
		size_t size = 0;
		ssize_t n;

		if (getenv("HG_GOLDENS_WRITE"))
			file_write(GOLDENS, render_cases[i].name, "txt", text);
		snprintf(path, sizeof(path), GOLDENS "/%s.txt", render_cases[i].name);
		in = fopen(path, "r");
		if (!in)
			fail_msg("%s does not exist", path);
		n = getdelim(&golden, &size, '\0', in);
		assert_true(n > 0);
		if (strcmp(text, golden))
			fail_msg("%s differs; the report is:\n%s", path, text);
	}
}

/* Whatever the names: 80 columns, no control characters, no spaces at line ends. */
static void text_fits(void **state)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
		hg_autofree char *text = render(&render_cases[i], hg_findings_text);
		char *save = NULL;

		for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
			if (hg_text_width(l) > 80)
				fail_msg("%s: %u columns: %s", render_cases[i].name,
					 hg_text_width(l), l);
			for (const char *p = l; *p; p++)
				assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
			assert_true(l[strlen(l) - 1] != ' ');
			assert_null(strstr(l, "\xc2\x9b"));
			assert_null(strstr(l, "\xe2\x80\xae"));
		}
	}
}

static void text_is_repeatable(void **state)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
		hg_autofree char *a = render(&render_cases[i], hg_findings_json);
		hg_autofree char *b = render(&render_cases[i], hg_findings_json);

		assert_string_equal(a, b);
	}
}

static json_t *load(const struct render_case *c)
{
	hg_autofree char *text = render(c, hg_findings_json);
	json_error_t error;
	json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!o)
		fail_msg("%s: line %d: %s", c->name, error.line, error.text);
	/* nothing but printable ASCII reaches the terminal */
	for (const char *p = text; *p; p++)
		assert_true((*p >= 0x20 && *p < 0x7f) || *p == '\n');
	return o;
}

static void json_states_sum(void **state)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
		json_t *o = load(&render_cases[i]), *lane, *ns;
		const char *key;
		size_t at;

		json_array_foreach (json_object_get(o, "lanes"), at, lane) {
			json_int_t sum = 0;

			json_object_foreach (json_object_get(lane, "states"), key, ns)
				sum += json_integer_value(ns);
			assert_int_equal(sum, json_integer_value(json_object_get(lane, "wall_ns")));
			assert_true(sum > 0);
		}
		json_decref(o);
	}
}

static void json_unknown_is_null(void **state)
{
	json_t *o = load(&render_cases[0]), *what;

	what = json_object_get(o, "what_if");
	assert_float_equal(
		json_number_value(json_object_get(json_array_get(what, 0), "gain_at_most")), 0.63,
		1e-9);
	/* 25 times: beyond what is worth saying */
	assert_true(json_is_null(json_object_get(json_array_get(what, 1), "gain_at_most")));
	json_decref(o);

	for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
		if (strcmp(render_cases[i].name, "no-throughput"))
			continue;
		o = load(&render_cases[i]);
		assert_true(json_is_null(json_object_get(o, "throughput")));
		assert_true(
			json_is_null(json_object_get(json_object_get(o, "efficiency"), "per_cpu")));
		what = json_array_get(json_object_get(o, "what_if"), 0);
		assert_true(json_is_null(json_object_get(what, "gain_at_most")));
		json_decref(o);
	}
}

/* The lanes that are not shown one by one are still in the sums. */
static void rows_keep_sums(void **state)
{
	struct hg_findings *f = case_many_lanes();
	uint64_t wall_ns = 0, count = 0;
	size_t single = 0;

	for (size_t i = 0; i < f->rows_count; i++) {
		if (strcmp(f->rows[i].role, "target"))
			continue;
		wall_ns += f->rows[i].wall_ns;
		count += f->rows[i].count;
		single += !strcmp(f->rows[i].kind, "task");
	}
	assert_int_equal(count, 2000); /* lanes 0 and 1 are none and idle */
	assert_int_equal(wall_ns, 2000 * 10 * SEC);
	assert_int_equal(single, 20);
	hg_findings_free(f);
}

static void split_needs_ticks(void **state)
{
	struct hg_sample few[] = {{0, 0, 0}, {10 * SEC, 8 * MS, 4 * MS}};
	struct hg_sample many[] = {{0, 0, 0}, {10 * SEC, 3 * SEC, SEC}};
	struct hg_lane lanes[2] = {{.id = 2, .tid = 2, .role = HG_ROLEF_TARGET, .to_ns = 10 * SEC},
				   {.id = 3, .tid = 3, .role = HG_ROLEF_TARGET, .to_ns = 10 * SEC}};
	struct hg_findings *f = case_new("x");

	lanes[0].leaf_ns[HG_LEAF_RUNNING] = 4400 * MS;
	lanes[0].leaf_ns[HG_LEAF_BLOCKED_NET] = 5600 * MS;
	lanes[0].times = (struct hg_series){many, 2};
	lanes[1].leaf_ns[HG_LEAF_RUNNING] = 12 * MS;
	lanes[1].leaf_ns[HG_LEAF_BLOCKED_NET] = 10 * SEC - 12 * MS;
	lanes[1].times = (struct hg_series){few, 2};
	assert_int_equal(hg_findings_rows_build(f, lanes, 2, 0, 10 * SEC, 0), 0);
	assert_int_equal(f->rows_count, 2);
	assert_true(f->rows[0].split);
	assert_int_equal(f->rows[0].user_ns, 3300 * MS);
	assert_int_equal(f->rows[0].kernel_ns, 1100 * MS);
	assert_false(f->rows[1].split);
	hg_findings_free(f);
}

/* A report on a full disk must not look like a whole one. */
static void write_errors_are_told(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct hg_findings *f = case_serial_thread();

	if (!full) {
		print_message("skip: /dev/full does not exist\n");
		hg_findings_free(f);
		skip();
	}
	setvbuf(full, NULL, _IONBF, 0);
	assert_true(hg_findings_text(f, full) < 0);
	assert_true(hg_findings_json(f, full) < 0);
	fclose(full);
	hg_findings_free(f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_golden),	cmocka_unit_test(text_fits),
		cmocka_unit_test(text_is_repeatable),	cmocka_unit_test(json_states_sum),
		cmocka_unit_test(json_unknown_is_null), cmocka_unit_test(rows_keep_sums),
		cmocka_unit_test(split_needs_ticks),	cmocka_unit_test(write_errors_are_told),
	};

	if (argc == 3 && !strcmp(argv[1], "--write")) {
		for (size_t i = 0; i < HG_ARRAY_SIZE(render_cases); i++) {
			hg_autofree char *text = render(&render_cases[i], hg_findings_text);
			hg_autofree char *json = render(&render_cases[i], hg_findings_json);

			file_write(argv[2], render_cases[i].name, "txt", text);
			file_write(argv[2], render_cases[i].name, "json", json);
		}
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
