/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass-trace(5) has every kind and every field of hg_kinds.c, in order, and no others. */
#include "tests/trace/hg_trace_samples.h"

#define PAGE HG_TEST_DATA "/../../docs/hourglass-trace.5"

static char *read_page(void)
{
	size_t size;
	char *page = (char *)sample_read(PAGE, &size);

	page[size] = '\0';
	return page;
}

/* The section of a kind, up to the next heading; NULL if there is none. Caller frees. */
static char *find_section(const char *page, const struct hg_kind_desc *kind)
{
	char heading[64];
	const char *start, *end;

	snprintf(heading, sizeof(heading), "\n.SS %u %s\n", kind->kind, kind->name);
	start = strstr(page, heading);
	if (!start)
		return NULL;
	start += strlen(heading);
	end = strstr(start, "\n.S");
	return strndup(start, end ? (size_t)(end - start) : strlen(start));
}

static void every_kind_and_field_is_documented(void **state)
{
	hg_autofree char *page = read_page();

	for (size_t i = 0; i < hg_kinds_count; i++) {
		const struct hg_kind_desc *kind = &hg_kinds[i];
		hg_autofree char *section = find_section(page, kind);
		const char *at = section;

		if (!section)
			fail_msg("%s: no section '%u %s'", PAGE, kind->kind, kind->name);
		for (unsigned int f = 0; f < kind->nfields; f++) {
			char entry[64];

			snprintf(entry, sizeof(entry), "\n.TP\n.B %s\n", kind->fields[f].name);
			if (!at || strncmp(at = strstr(at, "\n.TP") ? strstr(at, "\n.TP") : "",
					   entry, strlen(entry)))
				fail_msg("%s: '%s' lacks the field '%s' at its place", PAGE,
					 kind->name, kind->fields[f].name);
			at += strlen(entry);
		}
		if (strstr(at, "\n.TP"))
			fail_msg("%s: '%s' has more fields than the code", PAGE, kind->name);
	}
}

static void no_other_kind_is_documented(void **state)
{
	hg_autofree char *page = read_page();
	const char *at = strstr(page, "\n.SH RECORDS\n"), *end;
	size_t n = 0;

	assert_non_null(at);
	end = strstr(at + 1, "\n.SH ");
	assert_non_null(end);
	for (at = strstr(at, "\n.SS "); at && at < end; at = strstr(at + 1, "\n.SS "))
		n++;
	assert_int_equal(n, hg_kinds_count);
}

static void kinds_are_found_and_distinct(void **state)
{
	for (size_t i = 0; i < hg_kinds_count; i++) {
		assert_ptr_equal(hg_kind_find(hg_kinds[i].kind), &hg_kinds[i]);
		assert_true(hg_kinds[i].nfields >= 1 && hg_kinds[i].nfields <= HG_FIELDS_MAX);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(hg_kinds[i].name, hg_kinds[k].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_and_field_is_documented),
		cmocka_unit_test(no_other_kind_is_documented),
		cmocka_unit_test(kinds_are_found_and_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
