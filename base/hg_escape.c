/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hg_escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at s and its code point; 0 if it is not one. */
static unsigned int utf8_decode(const unsigned char *s, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int len = s[0] < 0x80		   ? 1
			   : (s[0] & 0xe0) == 0xc0 ? 2
			   : (s[0] & 0xf0) == 0xe0 ? 3
			   : (s[0] & 0xf8) == 0xf0 ? 4
						   : 0;
	uint32_t cp;

	if (!len)
		return 0;
	cp = len == 1 ? s[0] : s[0] & (0x7f >> len);
	for (unsigned int i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3f);
	}
	if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*out = cp;
	return len;
}

/* Controls, and the characters that reorder or hide text on a terminal. */
static bool is_unsafe(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x200b && cp <= 0x200f) ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff;
}

static const char *xml_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static char *escape(char *dst, size_t size, const char *src, bool xml)
{
	const unsigned char *s = (const unsigned char *)src;
	size_t used = 0;

	if (!size)
		return dst;
	while (*s) {
		char piece[16];
		uint32_t cp = 0;
		unsigned int len = utf8_decode(s, &cp);
		const char *entity = xml && len == 1 ? xml_entity((char)*s) : NULL;

		if (!len)
			snprintf(piece, sizeof(piece), "\\x%02x", *s);
		else if (entity)
			snprintf(piece, sizeof(piece), "%s", entity);
		else if (is_unsafe(cp))
			snprintf(piece, sizeof(piece), cp < 0x80 ? "\\x%02x" : "\\u{%x}", cp);
		else
			snprintf(piece, sizeof(piece), "%.*s", (int)len, (const char *)s);
		if (used + strlen(piece) + 1 > size)
			break;
		memcpy(dst + used, piece, strlen(piece));
		used += strlen(piece);
		s += len ? len : 1;
	}
	dst[used] = '\0';
	return dst;
}

char *hg_escape_terminal(char *dst, size_t size, const char *src)
{
	return escape(dst, size, src, false);
}

char *hg_escape_xml(char *dst, size_t size, const char *src)
{
	return escape(dst, size, src, true);
}
