/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work estimated from messages: when the counts can be trusted, and that they are refused when they cannot. */
/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analysis/hg_proxy.h"
#include "base/hg_base.h"

#define INTERVALS 10

static struct hg_proxy_count counts[INTERVALS];

/* Each interval: so many requests of bytes, with so many receives and sends. */
static void fill(double work, double receives, double sends, double bytes)
{
	for (size_t i = 0; i < INTERVALS; i++)
		counts[i] = (struct hg_proxy_count){work * receives, work * bytes / 2, work * sends,
						    work * bytes / 2, 1};
}

static struct hg_proxy judge(void)
{
	struct hg_proxy proxy;

	hg_proxy_judge(counts, INTERVALS, &proxy);
	return proxy;
}

static void test_one_message_each_way(void **state)
{
	struct hg_proxy p;

	(void)state;
	fill(1000, 1, 1, 300);
	p = judge();
	assert_true(p.usable);
	assert_true(p.work == INTERVALS * 1000 && p.factor == 1);
}

static void test_a_whole_factor(void **state)
{
	struct hg_proxy p;

	(void)state;
	fill(1000, 1, 2, 300);
	p = judge();
	assert_true(p.usable && p.work == INTERVALS * 1000 && p.factor == 2);
	assert_non_null(strstr(p.why, "2 sends each"));
	fill(1000, 3, 1.05, 300);
	p = judge();
	assert_true(p.usable && p.factor == 3);
	assert_non_null(strstr(p.why, "3 receives each"));
}

static void test_counts_that_disagree(void **state)
{
	(void)state;
	fill(1000, 1, 1.11, 300);
	assert_false(judge().usable);
	fill(1000, 1, 1.5, 300);
	assert_false(judge().usable);
	fill(1000, 1, 47, 3e6); /* a large file, or a batch of requests */
	assert_false(judge().usable);
	fill(1000, 1, 1.09, 300);
	assert_true(judge().usable);
}

/* 1 in sum, but by chance: each half tells another story. */
static void test_a_ratio_that_varies(void **state)
{
	struct hg_proxy p;

	(void)state;
	fill(1000, 1, 1, 300);
	for (size_t i = 0; i < INTERVALS; i++)
		*(i % 2 ? &counts[i].sent : &counts[i].received) *= 1.5;
	p = judge();
	assert_true(p.usable);
	for (size_t i = 0; i < INTERVALS; i += 3)
		counts[i].sent *= 1.4;
	p = judge();
	assert_false(p.usable);
}

static void test_a_unit_that_varies(void **state)
{
	(void)state;
	fill(1000, 1, 1, 300);
	for (size_t i = 0; i < INTERVALS; i += 2)
		counts[i].sent_bytes *= 4;
	assert_false(judge().usable);
	assert_non_null(strstr(judge().why, "bytes"));
}

static void test_idle_intervals_do_not_count(void **state)
{
	struct hg_proxy p;

	(void)state;
	fill(1000, 1, 1, 300);
	for (size_t i = 0; i < 5; i++)
		counts[i] = (struct hg_proxy_count){2, 4000, 1, 1, 1};
	p = judge();
	assert_true(p.usable);
	assert_true(p.work == 5 * 1000 + 5);
}

static void test_too_little(void **state)
{
	struct hg_proxy p;

	(void)state;
	fill(0, 1, 1, 300);
	assert_false(judge().usable);
	fill(9, 1, 1, 300);
	p = judge();
	assert_false(p.usable);
	assert_non_null(strstr(p.why, "too little"));
	/* One direction only: a sink. */
	fill(1000, 1, 0, 300);
	assert_false(judge().usable);
	hg_proxy_judge(counts, 0, &p);
	assert_false(p.usable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_message_each_way),
		cmocka_unit_test(test_a_whole_factor),
		cmocka_unit_test(test_counts_that_disagree),
		cmocka_unit_test(test_a_ratio_that_varies),
		cmocka_unit_test(test_a_unit_that_varies),
		cmocka_unit_test(test_idle_intervals_do_not_count),
		cmocka_unit_test(test_too_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
