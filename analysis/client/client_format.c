/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/client/hg_client_format.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX 100000

static const char *skip_spaces(const char *s)
{
	return s + strspn(s, " \t");
}

const char *hg_client_after(const char *line, const char *key)
{
	size_t length = strlen(key);

	line = skip_spaces(line);
	return strncmp(line, key, length) ? NULL : skip_spaces(line + length);
}

bool hg_client_number(const char **p, double *out)
{
	/* only these characters: no inf, nan, hexadecimal or sign reaches strtod */
	size_t length = strspn(*p, "0123456789.");
	char text[64], *end;
	locale_t locale;
	double value;

	if (!length || !isdigit((unsigned char)(*p)[0]))
		return false;
	if ((*p)[length] == 'e' || (*p)[length] == 'E') {
		size_t sign = (*p)[length + 1] == '+' || (*p)[length + 1] == '-';
		size_t digits = strspn(*p + length + 1 + sign, "0123456789");

		length += digits ? 1 + sign + digits : 0;
	}
	if (length >= sizeof(text))
		return false;
	memcpy(text, *p, length);
	text[length] = '\0';
	locale = newlocale(LC_ALL_MASK, "C", NULL);
	if (!locale)
		return false;
	value = strtod_l(text, &end, locale);
	freelocale(locale);
	if (*end || !isfinite(value))
		return false;
	*p += length;
	*out = value;
	return true;
}

bool hg_client_field(const char *line, const char *key, double *out)
{
	const char *p = hg_client_after(line, key);
	double value;

	/* "0x10" and "12abc" are no numbers */
	if (!p || !hg_client_number(&p, &value) || isalnum((unsigned char)*p))
		return false;
	*out = value;
	return true;
}

bool hg_client_seconds(const char **p, double *out)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
	const char *s = *p;
	double value;

	if (!hg_client_number(&s, &value))
		return false;
	s = skip_spaces(s);
	for (size_t i = 0; i < HG_ARRAY_SIZE(units); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(s, units[i].name, length) || isalpha((unsigned char)s[length]))
			continue;
		*p = s + length;
		*out = value * units[i].seconds;
		return true;
	}
	return false;
}

static bool scaled(const char *text, double *out)
{
	double value, factor = 1;

	if (!hg_client_number(&text, &value))
		return false;
	if (*text == 'k' || *text == 'K')
		factor = 1e3;
	else if (*text == 'M' || *text == 'm')
		factor = 1e6;
	else if (*text == 'G' || *text == 'g')
		factor = 1e9;
	text += factor > 1;
	if (*text)
		return false;
	*out = value * factor;
	return true;
}

bool hg_client_option(const struct hg_client_text *text, char short_name, const char *long_name,
		      double *out)
{
	bool found = false;

	for (size_t i = 0; i < text->words_count; i++) {
		const char *word = text->words[i];
		const char *next = i + 1 < text->words_count ? text->words[i + 1] : "";
		size_t length = long_name ? strlen(long_name) : 0;

		if (short_name && word[0] == '-' && word[1] == short_name)
			found |= scaled(word[2] ? word + 2 : next, out);
		else if (long_name && !strncmp(word, "--", 2) &&
			 !strncmp(word + 2, long_name, length))
			found |= (word[2 + length] == '=' && scaled(word + 3 + length, out)) ||
				 (!word[2 + length] && scaled(next, out));
	}
	return found;
}

void hg_client_series_add(struct hg_client_result *out, uint64_t time_ns, double value)
{
	size_t n = out->series_count;
	struct hg_client_point *grown;

	if (n >= SERIES_MAX)
		return;
	/* room doubles at each power of two */
	if (!(n & (n - 1))) {
		grown = realloc(out->series, (n ? 2 * n : 1) * sizeof(*grown));
		if (!grown)
			return;
		out->series = grown;
	}
	out->series[out->series_count++] = (struct hg_client_point){time_ns, value};
}
