/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's output: lines of the input; the first is CMD, the second is a regular expression when it begins with
 * '?', or a format's name when it begins with '='. They are of one output if CMD begins with a space.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hg_client_output.h"

#define LINES_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hg_line lines[LINES_MAX];
	const char *argv = "", *name = NULL, *regex = NULL;
	struct hg_client_result r;
	char *text = malloc(size + 1), *save = NULL;
	size_t n = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	argv = strtok_r(text, "\n", &save);
	for (char *l; argv && n < LINES_MAX && (l = strtok_r(NULL, "\n", &save));) {
		if (!n && *l == '?' && !regex)
			regex = l + 1;
		else if (!n && *l == '=' && !name)
			name = l + 1;
		else
			lines[n] = (struct hg_line){n * 100000000,
						    *argv == ' ' ? 1 : 1 + (int)(n % 3), l},
			n++;
	}
	hg_client_output_parse(lines, n, argv, name, regex, &r);
	assert(memchr(r.source, '\0', sizeof(r.source)));
	assert(memchr(r.unit, '\0', sizeof(r.unit)));
	assert(!r.valid || (isfinite(r.value) && r.value >= 0 && r.format));
	assert(!(r.errors < 0) && !(r.completed < 0) && !(r.duration_s < 0) && !(r.offered < 0));
	for (size_t i = 0; i < r.series_count; i++)
		assert(isfinite(r.series[i].value));
	hg_client_result_clear(&r);
	free(text);
	return 0;
}
