/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/hg_show.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <uthash.h>

#include "base/hg_base.h"
#include "base/hg_escape.h"

static const char *const stream_names[] = {
	[HG_STREAM_CONTROL] = "control",
	[HG_STREAM_SAMPLER] = "sampler",
	[HG_STREAM_CLIENT] = "client",
};

const char *hg_show_stream(char *buf, size_t size, uint32_t stream)
{
	if (stream < HG_ARRAY_SIZE(stream_names))
		snprintf(buf, size, "%s", stream_names[stream]);
	else if (stream >= HG_STREAM_CPU0 && stream - HG_STREAM_CPU0 <= UINT16_MAX)
		snprintf(buf, size, "cpu%" PRIu32, stream - HG_STREAM_CPU0);
	else
		snprintf(buf, size, "0x%" PRIx32, stream);
	return buf;
}

bool hg_show_stream_parse(const char *text, size_t length, uint32_t *out)
{
	bool cpu = length > 3 && !strncmp(text, "cpu", 3),
	     hex = length > 2 && !strncmp(text, "0x", 2);
	char digits[16], *end;
	unsigned long n;

	for (uint32_t i = 0; i < HG_ARRAY_SIZE(stream_names); i++) {
		if (strlen(stream_names[i]) == length && !strncmp(text, stream_names[i], length)) {
			*out = i;
			return true;
		}
	}
	if ((!cpu && !hex) || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	n = strtoul(digits + (cpu ? 3 : 2), &end, cpu ? 10 : 16);
	if (*end || strchr("+- ", digits[cpu ? 3 : 2]) || n > (cpu ? UINT16_MAX : UINT32_MAX))
		return false;
	*out = (uint32_t)n + (cpu ? HG_STREAM_CPU0 : 0);
	return true;
}

/* A piece without NUL. Cut behind a whole character, so that no escape differs from the whole text's. */
static void show_piece(FILE *out, const char *text, size_t length)
{
	char piece[256], safe[4 * sizeof(piece)];

	while (length) {
		size_t n = HG_MIN(length, sizeof(piece) - 1);

		for (size_t back = 0; n < length && back < 3 && n > 1; back++, n--) {
			if ((text[n] & 0xc0) != 0x80)
				break;
		}
		memcpy(piece, text, n);
		piece[n] = '\0';
		fputs(hg_escape_terminal(safe, sizeof(safe), piece), out);
		text += n;
		length -= n;
	}
}

void hg_show_text(FILE *out, const char *text, size_t length)
{
	while (length) {
		size_t n = 0;

		while (n < length && text[n] && text[n] != '"' && text[n] != '\\')
			n++;
		show_piece(out, text, n);
		if (n < length) {
			if (text[n])
				fprintf(out, "\\%c", text[n]);
			else
				fputs("\\x00", out);
			n++;
		}
		text += n;
		length -= n;
	}
}

/* Length of the UTF-8 sequence at s, of which left bytes exist; 0 if it is not one. */
static unsigned int utf8_length(const unsigned char *s, size_t left, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int n = s[0] < 0x80		 ? 1
			 : (s[0] & 0xe0) == 0xc0 ? 2
			 : (s[0] & 0xf0) == 0xe0 ? 3
			 : (s[0] & 0xf8) == 0xf0 ? 4
						 : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	if (!n || n > left)
		return 0;
	for (unsigned int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
		return 0;
	*out = c;
	return n;
}

void hg_show_json(FILE *out, const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', out);
	for (size_t i = 0; i < length;) {
		uint32_t c = 0;
		unsigned int n = utf8_length(s + i, length - i, &c);

		if (!n)
			fprintf(out, "\\\\x%02x", s[i]);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (int)c);
		else if (c >= 0x20 && c < 0x7f)
			putc((int)c, out);
		else if (c < 0x10000)
			fprintf(out, "\\u%04x", c);
		else
			fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
				0xdc00 + ((c - 0x10000) & 0x3ff));
		i += n ? n : 1;
	}
	putc('"', out);
}

struct entry {
	struct {
		uint64_t lane, machine;
	} key;
	uint64_t string;
	UT_hash_handle hh;
};

struct hg_lanes {
	struct entry *entries;
};

static struct entry *find(const struct hg_lanes *l, uint16_t machine, uint64_t lane)
{
	struct entry *e, key = {.key = {.lane = lane, .machine = machine}};

	HASH_FIND(hh, l->entries, &key.key, sizeof(key.key), e);
	return e;
}

/* Kind, and which fields are lane and name. */
static bool names_lane(const struct hg_record *rec, uint64_t *lane, uint64_t *string)
{
	if (rec->kind == HG_KIND_TASK) {
		*lane = rec->f[HG_TASK_LANE];
		*string = rec->f[HG_TASK_COMM];
		return true;
	}
	if (rec->kind == HG_KIND_TASK_NAME) {
		*lane = rec->f[HG_TASK_NAME_LANE];
		*string = rec->f[HG_TASK_NAME_COMM];
		return true;
	}
	return false;
}

static bool is_control(void *arg, uint16_t machine, uint32_t stream)
{
	return stream == HG_STREAM_CONTROL;
}

static int define(struct hg_lanes *l, const struct hg_record *rec)
{
	uint64_t lane, string;
	struct entry *e;

	if (!names_lane(rec, &lane, &string) || find(l, rec->machine, lane))
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->key.lane = lane;
	e->key.machine = rec->machine;
	e->string = string;
	HASH_ADD(hh, l->entries, key, sizeof(e->key), e);
	return 0;
}

int hg_lanes_open(struct hg_reader *r, struct hg_lanes **out)
{
	const struct hg_cursor_opts opts = {.want = is_control};
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	__attribute__((cleanup(hg_lanes_closep))) struct hg_lanes *l = calloc(1, sizeof(*l));
	const struct hg_record *rec;
	int err = l ? hg_cursor_open(r, &opts, &c) : -ENOMEM;

	while (!err && (err = hg_cursor_next(c, &rec)) == 1)
		err = define(l, rec);
	if (err)
		return err;
	*out = HG_TAKE_PTR(l);
	return 0;
}

void hg_lanes_close(struct hg_lanes *l)
{
	struct entry *e, *next;

	HASH_ITER (hh, l->entries, e, next) {
		HASH_DEL(l->entries, e);
		free(e);
	}
	free(l);
}

void hg_lanes_update(struct hg_lanes *l, const struct hg_record *rec)
{
	uint64_t lane, string;
	struct entry *e;

	if (!names_lane(rec, &lane, &string))
		return;
	e = find(l, rec->machine, lane);
	if (e)
		e->string = string;
}

bool hg_lanes_name(const struct hg_lanes *l, uint16_t machine, uint64_t lane, uint64_t *string_out)
{
	const struct entry *e = find(l, machine, lane);

	if (e)
		*string_out = e->string;
	return e;
}
