/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/hg_lines.h"

struct collected {
	char text[256]; /* lines as "<a><b>" */
	size_t count, length_max;
	uint64_t last_ns;
	int error;
};

static int collect(void *arg, uint64_t time_ns, int fd, const char *text, size_t length)
{
	struct collected *c = arg;
	size_t used = strlen(c->text);

	if (c->error)
		return c->error;
	c->count++;
	c->last_ns = time_ns;
	if (length > c->length_max)
		c->length_max = length;
	assert_int_equal(fd, 1);
	if (length < 32)
		snprintf(c->text + used, sizeof(c->text) - used, "<%.*s>", (int)length, text);
	return 0;
}

static void feed(struct hg_lines *l, const char *text, uint64_t time_ns)
{
	assert_int_equal(hg_lines_feed(l, text, strlen(text), time_ns), 0);
}

static void splits_at_both_ends(void **state)
{
	struct collected c = {0};
	struct hg_lines l;

	hg_lines_init(&l, 1, collect, &c);
	feed(&l, "one\ntwo\rthree\r\nfour\n\nlast", 7);
	assert_string_equal(c.text, "<one><two><three><four><>");
	assert_int_equal(hg_lines_end(&l, 9), 0);
	assert_string_equal(c.text, "<one><two><three><four><><last>");
	assert_int_equal(c.last_ns, 9);
	hg_lines_clear(&l);
}

static void ends_may_be_torn_apart(void **state)
{
	struct collected c = {0};
	struct hg_lines l;

	hg_lines_init(&l, 1, collect, &c);
	feed(&l, "ab", 1);
	feed(&l, "cd\r", 2);
	assert_int_equal(c.last_ns, 2);
	feed(&l, "\n", 3); /* belongs to the \r before */
	feed(&l, "\n", 4); /* a line of its own */
	assert_string_equal(c.text, "<abcd><>");
	assert_int_equal(hg_lines_end(&l, 5), 0); /* nothing is unfinished */
	assert_int_equal(c.count, 2);
	hg_lines_clear(&l);
}

static void long_lines_come_in_pieces(void **state)
{
	static char line[2 * HG_LINE_BYTES_MAX + 10];
	struct collected c = {0};
	struct hg_lines l;

	memset(line, 'x', sizeof(line));
	hg_lines_init(&l, 1, collect, &c);
	assert_int_equal(hg_lines_feed(&l, line, sizeof(line), 1), 0);
	feed(&l, "\n", 2);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.length_max, HG_LINE_BYTES_MAX);
	assert_string_equal(c.text, "<xxxxxxxxxx>");

	/* a line of just that length is one line */
	c = (struct collected){0};
	assert_int_equal(hg_lines_feed(&l, line, HG_LINE_BYTES_MAX, 3), 0);
	feed(&l, "\nafter\n", 4);
	assert_int_equal(c.count, 2);
	assert_string_equal(c.text, "<after>");
	hg_lines_clear(&l);
}

static void sink_errors_are_returned(void **state)
{
	struct collected c = {.error = -ENOSPC};
	struct hg_lines l;

	hg_lines_init(&l, 1, collect, &c);
	assert_int_equal(hg_lines_feed(&l, "a\n", 2, 1), -ENOSPC);
	hg_lines_clear(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_at_both_ends),
		cmocka_unit_test(ends_may_be_torn_apart),
		cmocka_unit_test(long_lines_come_in_pieces),
		cmocka_unit_test(sink_errors_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
