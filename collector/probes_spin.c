/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples in user space: which of them are in a loop that only waits for a word, and which loop that is. */
#include <errno.h>
#include <string.h>

#include "collector/probes_internal.h"

#define SPINS_MAX 4096
/* So many samples before its word is looked at: a lock that is rarely waited for is none to look at. */
#define LOOK_AT	  4

struct spin_key {
	uint64_t tgid, code, word;
};

struct hg_spin {
	struct spin_key key;
	uint32_t id, seen;
	UT_hash_handle hh;
};

_Static_assert(HG_SPIN_CODE_BYTES == HG_SAMPLE_CODE_BYTES &&
		       HG_SPIN_CODE_BEFORE == HG_SAMPLE_CODE_BEFORE,
	       "code is what the probe reads");

static int spin_define(struct hg_probes *p, const struct hg_spin *spin,
		       const struct hg_spin_loop *loop, uint64_t time_ns)
{
	struct hg_record rec = {.time_ns = time_ns, .kind = HG_KIND_SPIN};

	rec.f[HG_SPIN_ID] = spin->id;
	rec.f[HG_SPIN_TGID] = spin->key.tgid;
	rec.f[HG_SPIN_CODE] = spin->key.code;
	rec.f[HG_SPIN_WORD] = spin->key.word;
	rec.f[HG_SPIN_BYTES] = loop->size;
	rec.f[HG_SPIN_FLAGS] =
		(loop->takes ? HG_SPINF_TAKES : 0) | (loop->pauses ? HG_SPINF_PAUSES : 0);
	return hg_probes_definition_add(p, &rec);
}

/* NULL: there are too many. */
static struct hg_spin *spin_get(struct hg_probes *p, const struct spin_key *key)
{
	struct hg_spin *spin;

	HASH_FIND(hh, p->spins, key, sizeof(*key), spin);
	if (spin || p->n_spins == SPINS_MAX)
		return spin;
	spin = calloc(1, sizeof(*spin));
	if (!spin)
		return NULL;
	spin->key = *key;
	spin->id = ++p->n_spins;
	HASH_ADD(hh, p->spins, key, sizeof(spin->key), spin);
	return spin;
}

static void spin_tell(struct hg_probes *p, const struct hg_spin *spin,
		      const struct hg_spin_code *code, const struct hg_spin_loop *loop)
{
	const struct hg_probes_observer *observer = &p->opts.observer;
	struct hg_spin_seen seen = {
		.id = spin->id, .tgid = (pid_t)spin->key.tgid, .code = *code, .loop = *loop};

	if (observer->spin_seen)
		observer->spin_seen(observer->arg, &seen);
}

int hg_probes_spin_take(struct hg_probes *p, const struct hg_ev_sample_code *ev,
			struct hg_ev_sample *sample)
{
	const struct hg_probe_lane *lane = hg_probe_lanes_find(&p->lanes, ev->sample.lane);
	struct hg_spin_code code = {.ip = ev->ip};
	struct hg_spin_loop loop;
	struct spin_key key = {0};
	struct hg_spin *spin;
	int rc = 0;

	memcpy(code.regs, ev->regs, sizeof(code.regs));
	memcpy(code.bytes, ev->code, sizeof(code.bytes));
	if (!hg_spin_loop_find(&code, &loop))
		return 0;
	sample->where = HG_SAMPLE_USER_SPINS;
	key = (struct spin_key){
		.tgid = lane ? (uint64_t)lane->tgid : 0, .code = loop.begin, .word = loop.word};
	spin = spin_get(p, &key);
	if (!spin)
		return 0;
	sample->stack = spin->id;
	if (!spin->seen)
		rc = spin_define(p, spin, &loop, ev->sample.time_ns);
	if (++spin->seen == LOOK_AT && loop.word && key.tgid)
		spin_tell(p, spin, &code, &loop);
	return rc;
}

void hg_probes_spins_free(struct hg_probes *p)
{
	struct hg_spin *spin, *next;

	HASH_ITER (hh, p->spins, spin, next) {
		HASH_DEL(p->spins, spin);
		free(spin);
	}
}
