/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SPIN_LOOK: words that threads were found to spin for, read from outside by process_vm_readv, and whether the loop would go
 * on with what they hold: whether the lock is held, whatever its kind. The probes only say where to look.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/sampler_private.h"

#define WORDS_MAX  64
#define CODE_BYTES 96 /* file+offset */

struct word {
	struct hg_spin_seen spin;
	char code[CODE_BYTES];
	bool named, gone;
};

struct sampler_words {
	struct word v[WORDS_MAX];
	size_t count;
};

int sampler_word_add(struct hg_sampler *s, const struct hg_spin_seen *spin)
{
	if (!s->words)
		s->words = calloc(1, sizeof(*s->words));
	if (!s->words)
		return -ENOMEM;
	if (s->words->count < WORDS_MAX)
		s->words->v[s->words->count++].spin = *spin;
	return 0;
}

/* "BEGIN-END PERMS OFFSET DEV INODE PATH": the file's last part and the offset in it. False: it is not there. */
static bool map_take(const char *line, uint64_t ip, char *out, size_t size)
{
	unsigned long long begin, end, offset;
	const char *name;
	int at = 0;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &begin, &end, &offset, &at) < 3 || !at ||
	    ip < begin || ip >= end)
		return false;
	name = strrchr(line + at, '/') ? strrchr(line + at, '/') + 1 : line + at;
	snprintf(out, size, "%.*s+0x%llx", (int)HG_MIN(strcspn(name, "\n"), size - 24),
		 *name && *name != '\n' ? name : "anonymous memory",
		 *name == '[' || *name == '\n' || !*name ? ip - begin : ip - begin + offset);
	return true;
}

static void code_name(struct word *w)
{
	hg_autofclose FILE *f = NULL;
	hg_autofree char *line = NULL;
	size_t size = 0;
	char path[64];

	w->named = true;
	snprintf(path, sizeof(path), "/proc/%d/maps", w->spin.tgid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) >= 0 &&
	       !map_take(line, w->spin.loop.begin, w->code, sizeof(w->code)))
		;
}

static int word_look(struct word *w, const struct sampler_pass *pass)
{
	const struct hg_spin_loop *loop = &w->spin.loop;
	struct hg_record rec = {.kind = HG_KIND_SPIN_LOOK};
	uint64_t value = 0;
	struct iovec local = {&value, HG_MIN(loop->size, sizeof(value))};
	struct iovec remote = {(void *)(uintptr_t)loop->word, local.iov_len};
	uint32_t name;
	int waits, rc;

	if (process_vm_readv(w->spin.tgid, &local, 1, &remote, 1, 0) != (ssize_t)local.iov_len) {
		w->gone = true;
		return 0;
	}
	rec.time_ns = hg_now_ns();
	if (!w->named)
		code_name(w);
	waits = hg_spin_loop_waits(&w->spin.code, loop, value);
	rec.f[HG_SPIN_LOOK_ID] = w->spin.id;
	rec.f[HG_SPIN_LOOK_VALUE] = value;
	rec.f[HG_SPIN_LOOK_WAITS] = waits < 0 ? 2 : (uint64_t)waits;
	rc = hg_writer_string(pass->w, w->code, strlen(w->code), &name);
	if (rc)
		return rc;
	rec.f[HG_SPIN_LOOK_CODE] = name;
	return sampler_write(pass, &rec);
}

static int word_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	int rc = 0;

	for (size_t i = 0; s->words && i < s->words->count && !rc; i++) {
		if (!s->words->v[i].gone)
			rc = word_look(&s->words->v[i], pass);
	}
	return rc;
}

static void word_free(struct hg_sampler *s, void *state)
{
	free(s->words);
}

const struct sampler_ops sampler_word = {
	.name = "word",
	.sample = word_sample,
	.free = word_free,
};
