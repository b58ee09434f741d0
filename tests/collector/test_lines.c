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
	char text[256];	 /* lines as "<a><b>" */
	char pieces[16]; /* as digits */
	size_t count, length_max;
	uint64_t last_ns;
	int error;
};

static int collect(void *arg, uint64_t time_ns, int fd, const char *text, size_t length,
		   unsigned int piece)
{
	struct collected *c = arg;
	size_t used = strlen(c->text);

	if (c->error)
		return c->error;
	if (c->count < sizeof(c->pieces) - 1)
		c->pieces[c->count] = (char)('0' + piece);
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
	assert_int_equal(hg_lines_end(&l, 9, true), 0);
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
	assert_int_equal(hg_lines_end(&l, 5, true), 0); /* nothing is unfinished */
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
	assert_string_equal(c.pieces, "231");

	/* a line of just that length is one line */
	c = (struct collected){0};
	assert_int_equal(hg_lines_feed(&l, line, HG_LINE_BYTES_MAX, 3), 0);
	feed(&l, "\nafter\n", 4);
	assert_int_equal(c.count, 2);
	assert_string_equal(c.text, "<after>");
	assert_string_equal(c.pieces, "00");

	/* one byte more is two */
	c = (struct collected){0};
	assert_int_equal(hg_lines_feed(&l, line, HG_LINE_BYTES_MAX, 5), 0);
	feed(&l, "y\n\n", 6);
	assert_string_equal(c.text, "<y><>");
	assert_string_equal(c.pieces, "210");
	hg_lines_clear(&l);
}

static void an_end_that_was_not_seen_is_marked(void **state)
{
	static char line[HG_LINE_BYTES_MAX + 1];
	struct collected c = {0};
	struct hg_lines l;

	memset(line, 'x', sizeof(line));
	hg_lines_init(&l, 1, collect, &c);
	feed(&l, "whole\nRequests/sec: 53", 1);
	assert_int_equal(hg_lines_end(&l, 2, false), 0);
	feed(&l, "whole", 3);
	assert_int_equal(hg_lines_end(&l, 4, true), 0);
	assert_int_equal(hg_lines_feed(&l, line, sizeof(line), 5), 0);
	assert_int_equal(hg_lines_end(&l, 6, false), 0);
	assert_string_equal(c.pieces, "02023");
	/* dropped: what comes next continues nothing */
	assert_int_equal(hg_lines_feed(&l, line, sizeof(line), 7), 0);
	hg_lines_drop(&l);
	feed(&l, "new\n", 8);
	assert_string_equal(c.pieces, "0202320");
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
		cmocka_unit_test(an_end_that_was_not_seen_is_marked),
		cmocka_unit_test(sink_errors_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
