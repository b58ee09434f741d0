/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hg_table.h"

static char *print(struct hg_table *t)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(hg_table_print(t, out), 0);
	fclose(out);
	return text;
}

static void assert_lines_fit(const char *text, unsigned int width)
{
	hg_autofree char *copy = strdup(text);

	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(hg_text_width(line) <= width);
}

static void aligns(void **state)
{
	static const struct hg_table_column columns[] = {{"name", HG_TABLE_LEFT, HG_TABLE_ELIDE},
							 {"share", HG_TABLE_RIGHT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, 80, 2);
	hg_autofree char *text = NULL;

	hg_table_cell(t, "nginx");
	hg_table_cell(t, "%.1f %%", 97.25);
	hg_table_cell(t, "w");
	hg_table_cell(t, "%d", 3);
	text = print(t);
	assert_string_equal(text, "  name    share\n"
				  "  nginx  97.2 %\n"
				  "  w           3\n");
}

static void elides_the_chosen_column(void **state)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_ELIDE},
							 {NULL, HG_TABLE_RIGHT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 3, 30, 0);
	hg_autofree char *text = NULL;

	hg_table_cell(t, "0123456789");
	hg_table_cell(t, "a name that is much too long");
	hg_table_cell(t, "12");
	hg_table_cell(t, "x");
	hg_table_cell(t, "short");
	hg_table_cell(t, "3");
	text = print(t);
	assert_string_equal(text, "0123456789  a name that...  12\n"
				  "x           short            3\n");
}

static void wraps_at_spaces(void **state)
{
	static const struct hg_table_column columns[] = {{"item", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"why", HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, 20, 0);
	hg_autofree char *text = NULL;

	hg_table_cell(t, "BTF");
	hg_table_cell(t, "mount it, or use averyveryverylongword");
	text = print(t);
	assert_string_equal(text, "item  why\n"
				  "BTF   mount it, or\n"
				  "      use\n"
				  "      averyveryveryl\n"
				  "      ongword\n");
}

static void never_wider_than_asked(void **state)
{
	static const struct hg_table_column columns[] = {{"one", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"two", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"three", HG_TABLE_LEFT, HG_TABLE_WRAP}};
	static const char *const values[] = {
		"", "x", "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
		"a\xcc\x88 \033[2J\n\xff", "0123456789012345678901234567890123456789"};

	for (unsigned int width = 20; width <= 80; width++) {
		hg_table_auto struct hg_table *t = hg_table_new(columns, 3, width, 2);
		hg_autofree char *text = NULL;

		for (size_t i = 0; i < 125; i++) {
			hg_table_cell(t, "%s", values[i % 5]);
			hg_table_cell(t, "%s", values[i / 5 % 5]);
			hg_table_cell(t, "%s", values[i / 25]);
		}
		text = print(t);
		assert_lines_fit(text, width);
		assert_null(strchr(text, '\033'));
		assert_null(strstr(text, " \n"));
	}
}

static void hostile_cells_stay_in_their_cell(void **state)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_ELIDE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, 80, 0);
	hg_autofree char *text = NULL, *huge = calloc(1, 100001);

	hg_table_cell(t, "a\nb\033[31m");
	hg_table_cell(t, "|");
	memset(huge, '\001', 100000);
	hg_table_cell(t, "%s", huge);
	hg_table_cell(t, "|");
	text = print(t);
	assert_memory_equal(text, "a\\x0ab\\x1b[31m ", 15);
	assert_lines_fit(text, 80);
	assert_int_equal(strlen(strrchr(text, '|')), 2);
}

static void width_of_text(void **state)
{
	assert_int_equal(hg_text_width(""), 0);
	assert_int_equal(hg_text_width("abc"), 3);
	assert_int_equal(hg_text_width("\xc3\xa4"), 1);	    /* a umlaut */
	assert_int_equal(hg_text_width("a\xcc\x88"), 1);    /* a, combining diaeresis */
	assert_int_equal(hg_text_width("\xe6\xbc\xa2"), 2); /* a Han character */
}

static void incomplete_row_and_no_rows(void **state)
{
	static const struct hg_table_column columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 2, 80, 0);
	hg_autofree char *none = print(t), *text = NULL;

	assert_string_equal(none, "");
	hg_table_cell(t, "alone");
	text = print(t);
	assert_string_equal(text, "alone\n");
	assert_int_equal(hg_table_print(NULL, stdout), -12 /* ENOMEM */);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligns),
		cmocka_unit_test(elides_the_chosen_column),
		cmocka_unit_test(wraps_at_spaces),
		cmocka_unit_test(never_wider_than_asked),
		cmocka_unit_test(hostile_cells_stay_in_their_cell),
		cmocka_unit_test(width_of_text),
		cmocka_unit_test(incomplete_row_and_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
