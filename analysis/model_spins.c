/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that threads spin for in user space: for how long, which threads, and what was seen of the word from outside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "base/hg_base.h"

struct hg_spin_pair_key {
	uint32_t word, lane; /* word: index */
};

/* A lane spins for a word. */
struct hg_spin_pair {
	struct hg_spin_pair_key key;
	UT_hash_handle hh;
};

/* Index of the word, or -1 if there is no room. A word that is not known goes by the code that waits for it. */
static int64_t word_get(struct hg_spins *s, const struct hg_record *rec)
{
	uint64_t word = rec->f[HG_SPIN_WORD], tgid = rec->f[HG_SPIN_TGID];
	uint64_t code = rec->f[HG_SPIN_CODE];
	size_t size = s->words_size ? 2 * s->words_size : 16;
	struct hg_spin_word *more;

	for (size_t i = 0; i < s->words_count; i++) {
		const struct hg_spin_word *w = &s->words[i];

		if (w->tgid == tgid && w->word == word && (word || w->code_address == code))
			return (int64_t)i;
	}
	if (s->words_count == HG_SPINS_MAX)
		return -1;
	if (s->words_count == s->words_size) {
		more = reallocarray(s->words, size, sizeof(*more));
		if (!more)
			return -1;
		s->words = more;
		s->words_size = size;
	}
	s->words[s->words_count] = (struct hg_spin_word){
		.tgid = (uint32_t)tgid, .word = word, .code_address = code, .code = ""};
	return (int64_t)s->words_count++;
}

int hg_spins_define(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_spins *s = &m->spins;
	uint64_t id = rec->f[HG_SPIN_ID];
	int64_t word;

	if (!id || id > HG_SPINS_MAX)
		return 0;
	if (!s->by_id)
		s->by_id = calloc(HG_SPINS_MAX + 1, sizeof(*s->by_id));
	if (!s->by_id)
		return -ENOMEM;
	word = word_get(s, rec);
	if (word < 0)
		return 0;
	s->by_id[id] = (uint32_t)word + 1;
	s->words[word].takes |= rec->f[HG_SPIN_FLAGS] & HG_SPINF_TAKES;
	return 0;
}

/* NULL: the definition was lost. */
static struct hg_spin_word *word_of(const struct hg_spins *s, uint64_t id)
{
	return id && id <= HG_SPINS_MAX && s->by_id && s->by_id[id] ? &s->words[s->by_id[id] - 1]
								    : NULL;
}

void hg_spins_look(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_spin_word *w = word_of(&m->spins, rec->f[HG_SPIN_LOOK_ID]);

	if (!w || rec->time_ns < m->from_ns || rec->time_ns >= m->to_ns)
		return;
	w->looks++;
	w->looks_waits += rec->f[HG_SPIN_LOOK_WAITS] == 1;
	w->looks_unknown += rec->f[HG_SPIN_LOOK_WAITS] > 1;
	if (!w->code[0])
		w->code = hg_model_string(m, rec->f[HG_SPIN_LOOK_CODE]);
}

static void pairs_clear(struct hg_spins *s)
{
	struct hg_spin_pair *p, *next;

	HASH_ITER (hh, s->pairs, p, next) {
		HASH_DEL(s->pairs, p);
		free(p);
	}
}

int hg_spins_reset(struct hg_model *m)
{
	struct hg_spins *s = &m->spins;

	pairs_clear(s);
	for (size_t i = 0; i < s->words_count; i++) {
		struct hg_spin_word *w = &s->words[i];

		w->ns = w->samples = 0;
		w->lanes = 0;
		if (!w->sub_ns)
			w->sub_ns = calloc(m->subwindows, sizeof(*w->sub_ns));
		else
			memset(w->sub_ns, 0, m->subwindows * sizeof(*w->sub_ns));
		if (!w->sub_ns)
			return -ENOMEM;
	}
	return 0;
}

static void pair_add(struct hg_spins *s, struct hg_spin_word *w, uint32_t lane)
{
	struct hg_spin_pair_key key = {(uint32_t)(w - s->words), lane};
	struct hg_spin_pair *p;

	HASH_FIND(hh, s->pairs, &key, sizeof(key), p);
	if (p || HASH_COUNT(s->pairs) >= HG_WAITERS_MAX)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->key = key;
	HASH_ADD(hh, s->pairs, key, sizeof(p->key), p);
	w->lanes++;
}

void hg_spins_sample(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t lane = rec->f[HG_CPU_SAMPLE_LANE], ns = rec->f[HG_CPU_SAMPLE_PERIOD];
	struct hg_spin_word *w;

	if (lane < HG_LANE_FIRST || lane >= m->lanes_count || rec->time_ns < m->from_ns ||
	    rec->time_ns >= m->to_ns)
		return;
	m->lanes[lane].samples++;
	if (rec->f[HG_CPU_SAMPLE_WHERE] != HG_SAMPLE_USER_SPINS)
		return;
	m->lanes[lane].spins++;
	w = word_of(&m->spins, rec->f[HG_CPU_SAMPLE_STACK]);
	if (!w || !w->sub_ns)
		return;
	w->samples++;
	w->ns += ns;
	hg_account_span(m, w->sub_ns, 1, rec->time_ns, HG_MIN(rec->time_ns + ns, m->to_ns));
	pair_add(&m->spins, w, (uint32_t)lane);
}

size_t hg_model_spins(const struct hg_model *m, const struct hg_spin_word **out)
{
	*out = m->spins.words;
	return m->spins.words_count;
}

bool hg_model_spins_for(const struct hg_model *m, const struct hg_spin_word *w, uint32_t lane)
{
	struct hg_spin_pair_key key = {(uint32_t)(w - m->spins.words), lane};
	struct hg_spin_pair *p;

	HASH_FIND(hh, m->spins.pairs, &key, sizeof(key), p);
	return p;
}

void hg_spins_free(struct hg_model *m)
{
	struct hg_spins *s = &m->spins;

	pairs_clear(s);
	for (size_t i = 0; i < s->words_count; i++)
		free(s->words[i].sub_ns);
	free(s->words);
	free(s->by_id);
}
