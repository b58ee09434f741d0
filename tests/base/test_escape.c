/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hg_escape.h"

static void terminal_escapes_controls(void **state)
{
	char out[64];

	assert_string_equal(hg_escape_terminal(out, sizeof(out), "a\033[31mb\n"),
			    "a\\x1b[31mb\\x0a");
	assert_string_equal(hg_escape_terminal(out, sizeof(out), "\xff\xc3\xa4"), "\\xff\xc3\xa4");
	/* C1 control (CSI) and a right-to-left override are valid UTF-8 and still change the terminal */
	assert_string_equal(hg_escape_terminal(out, sizeof(out), "\xc2\x9b"), "\\u{9b}");
	assert_string_equal(hg_escape_terminal(out, sizeof(out), "\xe2\x80\xae"), "\\u{202e}");
	/* overlong encoding of '/' */
	assert_string_equal(hg_escape_terminal(out, sizeof(out), "\xc0\xaf"), "\\xc0\\xaf");
}

static void xml_escapes_markup(void **state)
{
	char out[64];

	assert_string_equal(hg_escape_xml(out, sizeof(out), "<a b='\"&\">"),
			    "&lt;a b=&#39;&quot;&amp;&quot;&gt;");
}

static void cut_is_whole(void **state)
{
	char out[6];

	assert_string_equal(hg_escape_terminal(out, sizeof(out), "ab\033c"), "ab");
	assert_string_equal(hg_escape_xml(out, sizeof(out), "ab<c"), "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal_escapes_controls),
		cmocka_unit_test(xml_escapes_markup),
		cmocka_unit_test(cut_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
