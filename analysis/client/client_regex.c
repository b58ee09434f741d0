/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --client-regex: a POSIX extended expression whose first group is the rate. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/client/hg_client_format.h"

#define PATTERN_MAX    256
#define LINE_MAX_CHARS 1024
#define REPEATS_MAX    1000

/*
 * The expression may come from a file that somebody else made. glibc expands {m,n} in memory,
 * nested ones multiplied, and doubles what stands before a + (parse_dup_op in regcomp.c), which is much where that is
 * repeated itself; back references take exponential time. None is needed to pick a number out of a line.
 */
static const char *dangerous(const char *regex)
{
	unsigned long product = 1;
	bool repeated = false; /* what stands before, or it is a group that may hold such */

	if (strlen(regex) > PATTERN_MAX)
		return "is longer than 256 characters";
	for (const char *p = regex; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '9')
			return "has a back reference";
		if (p[0] == '\\' && p[1]) {
			p++;
			repeated = false;
			continue;
		}
		if (*p == '+' && repeated && (product *= 2) > REPEATS_MAX)
			return "repeats too often";
		repeated = strchr(")+*?{", *p);
		if (*p != '{')
			continue;
		for (p++; *p && *p != '}'; p++) {
			unsigned long n = strtoul(p, NULL, 10);

			product *= n > 1 ? HG_MIN(n, (unsigned long)REPEATS_MAX + 1) : 1;
			if (product > REPEATS_MAX)
				return "repeats too often";
			p += strspn(p, "0123456789");
			if (*p != ',')
				break;
		}
		if (!*p)
			break;
	}
	return NULL;
}

/* A longer line is not looked at: cut, it might end within the number. */
static bool match(const regex_t *re, const char *line, double *out)
{
	char copy[LINE_MAX_CHARS];
	regmatch_t groups[2];
	const char *p;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", line) >= sizeof(copy))
		return false;
	if (regexec(re, copy, 2, groups, 0) || groups[1].rm_so < 0)
		return false;
	copy[groups[1].rm_eo] = '\0';
	p = copy + groups[1].rm_so;
	return hg_client_number(&p, out) && !p[strspn(p, " \t")];
}

/* NULL and re to be freed, or why not. */
static const char *compile(const char *regex, regex_t *re)
{
	const char *why = dangerous(regex);

	if (why)
		return why;
	if (regcomp(re, regex, REG_EXTENDED))
		return "is not a POSIX extended regular expression";
	if (re->re_nsub)
		return NULL;
	regfree(re);
	return "has no group (...) for the number";
}

const char *hg_client_regex_check(const char *regex)
{
	regex_t re;
	const char *why = compile(regex, &re);

	if (!why)
		regfree(&re);
	return why;
}

bool hg_client_regex(const struct hg_line *lines, size_t count, const char *regex,
		     struct hg_client_result *out)
{
	regex_t re;
	const char *why = compile(regex, &re);
	double value, sum = 0;
	size_t n = 0;

	if (why) {
		snprintf(out->source, sizeof(out->source), "--client-regex %s", why);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!match(&re, lines[i].text, &value))
			continue;
		hg_client_series_add(out, lines[i].time_ns, value);
		sum += value;
		n++;
	}
	regfree(&re);
	if (n < 2) { /* one figure is a result, not a series */
		free(out->series);
		out->series = NULL;
		out->series_count = 0;
	}
	snprintf(out->unit, sizeof(out->unit), "1/s");
	if (n > 1)
		snprintf(out->source, sizeof(out->source), "--client-regex: mean of %zu lines", n);
	else
		snprintf(out->source, sizeof(out->source), "--client-regex: %s",
			 n ? "one line (no series)"
			   : "no line matches with a number in its first group");
	out->value = n ? sum / (double)n : 0;
	return n;
}
