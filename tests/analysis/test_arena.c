/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/hg_arena.h"

static void keeps_everything(void **state)
{
	struct hg_arena *a = hg_arena_new();
	char *text[2000];

	assert_non_null(a);
	for (int i = 0; i < 2000; i++) {
		/* every seventh is larger than a block */
		char *big = i % 7 ? NULL : hg_arena_alloc(a, 20000);

		text[i] = hg_arena_printf(a, "%d-%0*d", i, i % 50, i);
		if (big)
			memset(big, 'x', 20000);
	}
	for (int i = 0; i < 2000; i++) {
		char want[128];

		snprintf(want, sizeof(want), "%d-%0*d", i, i % 50, i);
		assert_string_equal(text[i], want);
	}
	hg_arena_free(a);
}

static void zeroed_and_aligned(void **state)
{
	struct hg_arena *a = hg_arena_new();

	for (int i = 1; i < 100; i++) {
		unsigned char *p = hg_arena_alloc(a, (size_t)i);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (int k = 0; k < i; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xff, (size_t)i);
	}
	hg_arena_free(a);
}

static void refuses_overflow(void **state)
{
	struct hg_arena *a = hg_arena_new();

	assert_null(hg_arena_array(a, SIZE_MAX / 4, 8));
	assert_null(hg_arena_alloc(a, SIZE_MAX));
	assert_non_null(hg_arena_alloc(a, 0));
	hg_arena_free(a);
	hg_arena_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_everything),
		cmocka_unit_test(zeroed_and_aligned),
		cmocka_unit_test(refuses_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
