/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/spin_loop.h"

#include <string.h>

#include "collector/spin_decode.h"

#define CODE_END   HG_SPIN_CODE_BYTES
#define STEPS_MAX  96 /* a loop of 64 bytes is gone round several times in so many */
#define STACK_REGS ((1U << HG_X86_SP) | (1U << HG_X86_BP))

/* The code as a graph: an instruction for each offset at which one was found to begin. */
struct graph {
	struct hg_x86_insn insns[HG_SPIN_CODE_BYTES];
	bool known[HG_SPIN_CODE_BYTES]; /* reached from the address */
	bool loop[HG_SPIN_CODE_BYTES];	/* and leads back to it */
};

/* Offsets that follow; beyond the code: CODE_END. */
static void successors(const struct graph *g, unsigned int at, unsigned int out[2])
{
	const struct hg_x86_insn *i = &g->insns[at];
	int64_t next = at + i->length, target = next + i->target;

	out[0] = next < CODE_END ? (unsigned int)next : CODE_END;
	out[1] = CODE_END;
	if (i->op == HG_X86_OTHER)
		out[0] = CODE_END;
	if (i->op == HG_X86_JMP)
		out[0] = CODE_END;
	if ((i->op == HG_X86_JMP || i->op == HG_X86_JCC) && target >= 0 && target < CODE_END)
		out[1] = (unsigned int)target;
}

static void graph_reach(struct graph *g, const uint8_t *bytes)
{
	unsigned int stack[2 * HG_SPIN_CODE_BYTES + 1], n = 0;

	stack[n++] = HG_SPIN_CODE_BEFORE;
	while (n) {
		unsigned int at = stack[--n], next[2];

		if (g->known[at])
			continue;
		g->known[at] = true;
		if (!hg_x86_decode(bytes + at, CODE_END - at, &g->insns[at]))
			g->insns[at] = (struct hg_x86_insn){.op = HG_X86_OTHER};
		successors(g, at, next);
		for (int k = 0; k < 2; k++) {
			if (next[k] != CODE_END && !g->known[next[k]])
				stack[n++] = next[k];
		}
	}
}

/* What leads back to the address: repeated until nothing is added. False: nothing does. */
static bool graph_loop(struct graph *g)
{
	bool more = true, any = false;

	while (more) {
		more = false;
		for (unsigned int at = 0; at < CODE_END; at++) {
			unsigned int next[2];

			if (!g->known[at] || g->loop[at])
				continue;
			successors(g, at, next);
			for (int k = 0; k < 2 && !g->loop[at]; k++) {
				if (next[k] == HG_SPIN_CODE_BEFORE ||
				    (next[k] != CODE_END && g->loop[next[k]]))
					more = any = g->loop[at] = true;
			}
		}
	}
	return any && g->loop[HG_SPIN_CODE_BEFORE];
}

static bool on_stack(const struct hg_x86_insn *i)
{
	return i->mem && !i->rip && !i->segment && i->base >= 0 && STACK_REGS >> i->base & 1;
}

struct facts {
	uint16_t written; /* registers */
	uint16_t varying; /* of them: not only by loads from the stack or of a constant */
	bool pauses, polls, counts, stores_stack;
};

static bool is_fixed(const struct hg_x86_insn *i)
{
	return i->op == HG_X86_MOV &&
	       (on_stack(i) || (i->has_imm && !i->mem) || (i->mem && i->rip));
}

static void facts_add(struct facts *f, const struct hg_x86_insn *i)
{
	f->written |= i->written;
	if (!is_fixed(i))
		f->varying |= i->written;
	f->pauses |= i->op == HG_X86_PAUSE;
	f->polls |= i->mem && i->loads && !on_stack(i);
	f->stores_stack |= i->stores && on_stack(i);
	switch (i->op) {
	case HG_X86_ALU: /* a register that is set to 0 depends on nothing */
		f->counts |= i->alu != HG_X86_CMP &&
			     !(i->alu == HG_X86_XOR && !i->mem && i->src == i->dst);
		break;
	case HG_X86_LEA:
	case HG_X86_INC:
	case HG_X86_DEC:
	case HG_X86_XADD:
		f->counts = true;
		break;
	case HG_X86_UNARY:
		f->counts |= i->stores;
		break;
	default:
		break;
	}
}

/* Code that is not optimised loads an address from the stack just before it uses it. */
static uint16_t fixed_before(const struct graph *g, unsigned int at)
{
	for (unsigned int p = at > 15 ? at - 15 : 0; p < at; p++) {
		if (g->loop[p] && p + g->insns[p].length == at && is_fixed(&g->insns[p]) &&
		    !g->insns[p].stores)
			return g->insns[p].written;
	}
	return 0;
}

static bool insn_may_wait(const struct graph *g, unsigned int at, const struct facts *f)
{
	const struct hg_x86_insn *i = &g->insns[at];
	uint16_t address = 0;

	if (i->op == HG_X86_OTHER)
		return false;
	if (!i->mem)
		return true;
	if (i->stores && !i->locked && !on_stack(i))
		return false;
	if (i->base >= 0)
		address |= (uint16_t)(1U << i->base);
	if (i->index >= 0)
		address |= (uint16_t)(1U << i->index);
	if (address & f->varying & (uint16_t)~fixed_before(g, at))
		return false;
	/* An exchange of what the former value gave is an update, not a wait. */
	if (i->op == HG_X86_CMPXCHG && !f->pauses && i->src >= 0 && f->varying >> i->src & 1)
		return false;
	return true;
}

/* Address of an operand in memory; false: registers do not tell. */
static bool address_get(const struct hg_x86_insn *i, const struct hg_spin_code *code,
			unsigned int at, uint16_t written, uint64_t *out)
{
	uint64_t address = (uint64_t)i->disp;

	if (i->segment || (i->base >= 0 && written >> i->base & 1) ||
	    (i->index >= 0 && written >> i->index & 1))
		return false;
	if (i->rip)
		address += code->ip - HG_SPIN_CODE_BEFORE + at + i->length;
	if (i->base >= 0)
		address += code->regs[i->base];
	if (i->index >= 0)
		address += code->regs[i->index] * i->scale;
	*out = address;
	return true;
}

/* The word is what an atomic instruction changes, else the first that is loaded. */
static void word_find(const struct graph *g, const struct hg_spin_code *code, const struct facts *f,
		      struct hg_spin_loop *out)
{
	for (unsigned int at = 0; at < CODE_END; at++) {
		const struct hg_x86_insn *i = &g->insns[at];
		bool takes = i->locked && i->stores;
		uint64_t word;

		if (!g->loop[at] || !i->mem || !(i->loads || takes) || on_stack(i) ||
		    (out->word && !(takes && !out->takes)))
			continue;
		if (!address_get(i, code, at, f->written, &word))
			continue;
		out->word = word;
		out->size = i->size;
		out->takes = takes;
	}
}

static bool graph_make(struct graph *g, const struct hg_spin_code *code)
{
	memset(g, 0, sizeof(*g));
	graph_reach(g, code->bytes);
	return graph_loop(g);
}

static void facts_make(const struct graph *g, struct facts *f)
{
	*f = (struct facts){0};
	for (unsigned int at = 0; at < CODE_END; at++) {
		if (g->loop[at])
			facts_add(f, &g->insns[at]);
	}
}

/* Nobody executes PAUSE but to wait, and it takes long: a thread is found behind it. */
static bool at_pause(const struct hg_spin_code *code, struct hg_spin_loop *out)
{
	static const uint8_t pause[] = {0xf3, 0x90};
	const uint8_t *at = code->bytes + HG_SPIN_CODE_BEFORE;

	out->pauses = !memcmp(at - sizeof(pause), pause, sizeof(pause)) ||
		      !memcmp(at, pause, sizeof(pause));
	out->begin = code->ip;
	return out->pauses;
}

bool hg_spin_loop_find(const struct hg_spin_code *code, struct hg_spin_loop *out)
{
	struct graph g;
	struct facts f;

	*out = (struct hg_spin_loop){0};
	if (!graph_make(&g, code))
		return at_pause(code, out);
	facts_make(&g, &f);
	for (unsigned int at = 0; at < CODE_END; at++) {
		if (g.loop[at] && !insn_may_wait(&g, at, &f))
			return at_pause(code, out);
	}
	if (!f.pauses && (!f.polls || f.counts || f.stores_stack))
		return false;
	for (unsigned int at = CODE_END; at-- > 0;) {
		if (g.loop[at])
			out->begin = code->ip - HG_SPIN_CODE_BEFORE + at;
	}
	out->pauses = f.pauses;
	word_find(&g, code, &f, out);
	return true;
}

/* --- what the loop does with a value of its word --- */

struct flags {
	bool known, zero, sign, carry, overflow;
};

struct machine {
	const struct hg_spin_code *code;
	const struct hg_spin_loop *loop;
	uint64_t regs[HG_SPIN_REGS];
	uint16_t known; /* registers */
	struct flags flags;
	uint64_t value; /* of the word */
	bool seen;
};

static uint64_t mask(unsigned int size)
{
	return size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
}

static bool sign_of(uint64_t v, unsigned int size)
{
	return v >> (8 * size - 1) & 1;
}

static uint64_t sign_extend(uint64_t v, unsigned int size)
{
	return size < 8 && sign_of(v, size) ? v | ~mask(size) : v & mask(size);
}

static bool reg_read(const struct machine *m, const struct hg_x86_insn *i, int8_t reg,
		     uint64_t *out)
{
	if (reg < 0 || i->high_byte || !(m->known >> reg & 1))
		return false;
	*out = m->regs[reg] & mask(i->size);
	return true;
}

static void reg_write(struct machine *m, const struct hg_x86_insn *i, int8_t reg, bool known,
		      uint64_t v)
{
	uint16_t bit = (uint16_t)(1U << reg);
	bool whole = i->size >= 4 || i->extends;

	if (!known || i->high_byte || (!whole && !(m->known & bit))) {
		/* Of a partial write to an unknown register only the written part is known: taken as known, as only
		 * that part is compared by code that writes it. */
		if (known && !i->high_byte && !whole) {
			m->regs[reg] = v & mask(i->size);
			m->known |= bit;
			return;
		}
		m->known &= (uint16_t)~bit;
		return;
	}
	if (i->extends)
		v = i->sign ? sign_extend(v, i->size) : v & mask(i->size);
	else if (whole)
		v &= mask(i->size);
	else
		v = (m->regs[reg] & ~mask(i->size)) | (v & mask(i->size));
	m->regs[reg] = v;
	m->known |= bit;
}

static bool is_word(const struct machine *m, const struct hg_x86_insn *i, unsigned int at)
{
	struct hg_spin_code code = *m->code;
	uint64_t address;

	memcpy(code.regs, m->regs, sizeof(code.regs));
	return address_get(i, &code, at, (uint16_t)~m->known, &address) &&
	       address == m->loop->word && i->size <= m->loop->size;
}

static bool dst_read(struct machine *m, const struct hg_x86_insn *i, unsigned int at, uint64_t *out)
{
	if (!i->mem || i->dst >= 0)
		return reg_read(m, i, i->dst, out);
	if (!is_word(m, i, at))
		return false;
	m->seen = true;
	*out = m->value & mask(i->size);
	return true;
}

static void dst_write(struct machine *m, const struct hg_x86_insn *i, unsigned int at, bool known,
		      uint64_t v)
{
	if (!i->mem || i->dst >= 0) {
		reg_write(m, i, i->dst, known, v);
	} else if (known && is_word(m, i, at)) {
		/* One that is not known is of the round that was under way: the value that was read stands. */
		m->value = v & mask(i->size);
	}
}

static bool src_read(struct machine *m, const struct hg_x86_insn *i, unsigned int at, uint64_t *out)
{
	if (i->has_imm) {
		*out = (uint64_t)i->imm & mask(i->size);
		return true;
	}
	if (i->src >= 0)
		return reg_read(m, i, i->src, out);
	if (!i->mem || !is_word(m, i, at))
		return false;
	m->seen = true;
	*out = m->value & mask(i->size);
	return true;
}

static void flags_logic(struct machine *m, unsigned int size, bool known, uint64_t v)
{
	m->flags = (struct flags){known, !(v & mask(size)), sign_of(v, size), false, false};
}

static void flags_sub(struct machine *m, unsigned int size, bool known, uint64_t a, uint64_t b)
{
	uint64_t r = (a - b) & mask(size);

	m->flags = (struct flags){known, !r, sign_of(r, size), a < b,
				  sign_of((a ^ b) & (a ^ r), size)};
}

static void flags_add(struct machine *m, unsigned int size, bool known, uint64_t a, uint64_t b)
{
	uint64_t r = (a + b) & mask(size);

	m->flags = (struct flags){known, !r, sign_of(r, size), r < a,
				  sign_of(~(a ^ b) & (a ^ r), size)};
}

static void run_alu(struct machine *m, const struct hg_x86_insn *i, unsigned int at)
{
	uint64_t a = 0, b = 0, r = 0;
	bool same = i->alu == HG_X86_XOR && !i->mem && !i->has_imm && i->dst == i->src;
	bool known = dst_read(m, i, at, &a) & src_read(m, i, at, &b);

	if (same) {
		known = true;
		a = b = 0;
	}
	switch (i->alu) {
	case HG_X86_ADD:
		r = a + b;
		flags_add(m, i->size, known, a, b);
		break;
	case HG_X86_SUB:
	case HG_X86_CMP:
		r = a - b;
		flags_sub(m, i->size, known, a, b);
		break;
	case HG_X86_AND:
	case HG_X86_OR:
	case HG_X86_XOR:
		r = i->alu == HG_X86_AND ? a & b : i->alu == HG_X86_OR ? a | b : a ^ b;
		flags_logic(m, i->size, known, r);
		break;
	default:
		known = m->flags.known = false;
	}
	if (i->alu != HG_X86_CMP)
		dst_write(m, i, at, known, r);
}

static void run_exchange(struct machine *m, const struct hg_x86_insn *i, unsigned int at)
{
	uint64_t old = 0, src = 0, ax = 0;
	bool old_known = dst_read(m, i, at, &old), src_known = src_read(m, i, at, &src);

	switch (i->op) {
	case HG_X86_XCHG:
		dst_write(m, i, at, src_known, src);
		reg_write(m, i, i->src, old_known, old);
		return;
	case HG_X86_XADD:
		flags_add(m, i->size, old_known && src_known, old, src);
		dst_write(m, i, at, old_known && src_known, old + src);
		reg_write(m, i, i->src, old_known, old);
		return;
	default: /* cmpxchg */
		old_known &= reg_read(m, i, 0, &ax);
		flags_sub(m, i->size, old_known, ax, old);
		if (!old_known)
			dst_write(m, i, at, false, 0);
		else if (ax == old)
			dst_write(m, i, at, src_known, src);
		reg_write(m, i, 0, old_known, old);
	}
}

static void run_step(struct machine *m, const struct hg_x86_insn *i, unsigned int at)
{
	uint64_t a = 0, b = 0;
	bool known, carry = m->flags.carry;

	switch (i->op) {
	case HG_X86_MOV:
		known = src_read(m, i, at, &a);
		dst_write(m, i, at, known, a);
		return;
	case HG_X86_TEST:
		known = dst_read(m, i, at, &a) & src_read(m, i, at, &b);
		flags_logic(m, i->size, known, a & b);
		return;
	case HG_X86_ALU:
		run_alu(m, i, at);
		return;
	case HG_X86_INC:
	case HG_X86_DEC:
		known = dst_read(m, i, at, &a);
		if (i->op == HG_X86_INC)
			flags_add(m, i->size, known, a, 1);
		else
			flags_sub(m, i->size, known, a, 1);
		m->flags.carry = carry;
		dst_write(m, i, at, known, i->op == HG_X86_INC ? a + 1 : a - 1);
		return;
	case HG_X86_XCHG:
	case HG_X86_XADD:
	case HG_X86_CMPXCHG:
		run_exchange(m, i, at);
		return;
	case HG_X86_BT:
		known = dst_read(m, i, at, &a) & src_read(m, i, at, &b);
		b &= 8 * i->size - 1;
		m->flags.known = false;
		if (known)
			m->flags = (struct flags){.known = true, .carry = a >> b & 1};
		if (i->stores || i->written)
			dst_write(m, i, at, false, 0);
		return;
	case HG_X86_LEA:
	case HG_X86_UNARY:
		m->known &= (uint16_t)~i->written;
		m->flags.known = false;
		return;
	default:
		return;
	}
}

static bool condition(const struct flags *f, unsigned int cond)
{
	bool is = false;

	switch (cond >> 1) {
	case 0:
		is = f->overflow;
		break;
	case 1:
		is = f->carry;
		break;
	case 2:
		is = f->zero;
		break;
	case 3:
		is = f->carry || f->zero;
		break;
	case 4:
		is = f->sign;
		break;
	case 5: /* parity is not followed */
		break;
	case 6:
		is = f->sign != f->overflow;
		break;
	case 7:
		is = f->zero || f->sign != f->overflow;
		break;
	}
	return is != (cond & 1);
}

int hg_spin_loop_waits(const struct hg_spin_code *code, const struct hg_spin_loop *loop,
		       uint64_t value)
{
	struct machine m = {.code = code, .loop = loop, .value = value};
	unsigned int at = HG_SPIN_CODE_BEFORE;
	struct graph g;
	struct facts f;

	if (!loop->word || !graph_make(&g, code))
		return -1;
	facts_make(&g, &f);
	memcpy(m.regs, code->regs, sizeof(m.regs));
	/* What the loop sets is from an earlier value. */
	m.known = (uint16_t)~f.written;
	for (unsigned int step = 0; step < STEPS_MAX; step++) {
		const struct hg_x86_insn *i = &g.insns[at];
		unsigned int next[2], way;

		run_step(&m, i, at);
		successors(&g, at, next);
		way = i->op == HG_X86_JMP;
		if (i->op == HG_X86_JCC) {
			bool stays[2] = {next[0] != CODE_END && g.loop[next[0]],
					 next[1] != CODE_END && g.loop[next[1]]};

			if (m.flags.known && i->cond >> 1 != 5)
				way = condition(&m.flags, i->cond);
			else if (!m.seen || (stays[0] && stays[1]))
				way = !stays[0];
			else
				return -1;
		}
		if (next[way] == CODE_END || !g.loop[next[way]])
			return m.seen ? 0 : -1;
		at = next[way];
	}
	return m.seen ? 1 : -1;
}
