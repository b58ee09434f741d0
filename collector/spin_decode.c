/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/spin_decode.h"

#include <string.h>

struct decoder {
	const uint8_t *code;
	size_t size, at;
	bool cut; /* the bytes ended within the instruction */
	uint8_t rex;
	bool has_rex, word, rep, repne;
	int8_t reg; /* of ModRM, with REX */
	int8_t rm;  /* register operand, -1 if it is memory */
	struct hg_x86_insn *i;
};

static uint8_t byte_next(struct decoder *d)
{
	if (d->at >= d->size) {
		d->cut = true;
		return 0;
	}
	return d->code[d->at++];
}

static int64_t signed_next(struct decoder *d, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int k = 0; k < bytes; k++)
		v |= (uint64_t)byte_next(d) << 8 * k;
	switch (bytes) {
	case 1:
		return (int8_t)v;
	case 2:
		return (int16_t)v;
	case 4:
		return (int32_t)v;
	default:
		return (int64_t)v;
	}
}

static void prefixes(struct decoder *d)
{
	for (;;) {
		uint8_t b = d->at < d->size ? d->code[d->at] : 0;

		switch (b) {
		case 0x66:
			d->word = true;
			break;
		case 0xf2:
			d->repne = true;
			break;
		case 0xf3:
			d->rep = true;
			break;
		case 0xf0:
			d->i->locked = true;
			break;
		case 0x64:
		case 0x65:
			d->i->segment = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		default:
			if ((b & 0xf0) == 0x40) {
				d->has_rex = true;
				d->rex = b;
				d->at++;
			}
			return;
		}
		d->at++;
	}
}

static void sib(struct decoder *d, unsigned int mod)
{
	struct hg_x86_insn *i = d->i;
	uint8_t b = byte_next(d);
	int8_t index = (int8_t)((b >> 3 & 7) | (d->rex & 2) << 2);

	i->scale = (uint8_t)(1 << (b >> 6));
	i->index = index == HG_X86_SP ? -1 : index;
	if ((b & 7) == HG_X86_BP && mod == 0)
		i->disp = signed_next(d, 4);
	else
		i->base = (int8_t)((b & 7) | (d->rex & 1) << 3);
}

static void modrm(struct decoder *d)
{
	struct hg_x86_insn *i = d->i;
	uint8_t b = byte_next(d);
	unsigned int mod = b >> 6;

	d->reg = (int8_t)((b >> 3 & 7) | (d->rex & 4) << 1);
	if (mod == 3) {
		d->rm = (int8_t)((b & 7) | (d->rex & 1) << 3);
		return;
	}
	d->rm = -1;
	i->mem = true;
	if ((b & 7) == HG_X86_SP)
		sib(d, mod);
	else if ((b & 7) == HG_X86_BP && mod == 0)
		i->rip = true;
	else
		i->base = (int8_t)((b & 7) | (d->rex & 1) << 3);
	if (mod == 1)
		i->disp = signed_next(d, 1);
	else if (mod == 2 || i->rip)
		i->disp = signed_next(d, 4);
}

static void size_set(struct decoder *d, bool byte)
{
	d->i->size = byte ? 1 : d->rex & 8 ? 8 : d->word ? 2 : 4;
}

static unsigned int imm_bytes(const struct decoder *d)
{
	return d->i->size == 1 ? 1 : d->i->size == 2 ? 2 : 4;
}

static void imm_next(struct decoder *d, unsigned int bytes)
{
	d->i->has_imm = true;
	d->i->imm = signed_next(d, bytes);
}

/* Without REX the byte registers 4 to 7 are ah, ch, dh and bh: it is not known what changes below. */
static void byte_register(struct decoder *d, int8_t reg, unsigned int size)
{
	if (size == 1 && !d->has_rex && reg >= 4 && reg < 8)
		d->i->high_byte = true;
}

static uint16_t bit(int8_t reg)
{
	return reg < 0 ? 0 : (uint16_t)(1U << reg);
}

/* rm is read, and changed if writes. */
static void operand_rm(struct decoder *d, bool reads, bool writes)
{
	struct hg_x86_insn *i = d->i;

	i->dst = d->rm;
	byte_register(d, d->rm, i->size);
	if (i->mem) {
		i->loads = reads;
		i->stores = writes;
	} else if (writes) {
		i->written |= bit(d->rm);
	}
}

/* From rm into the register of ModRM, which changes if writes. */
static void operand_reg(struct decoder *d, bool writes)
{
	struct hg_x86_insn *i = d->i;

	byte_register(d, d->rm, i->size);
	i->dst = d->reg;
	i->src = d->rm;
	i->loads = i->mem;
	i->written = writes ? bit(d->reg) : 0;
}

static void alu(struct decoder *d, uint8_t op)
{
	struct hg_x86_insn *i = d->i;
	bool compare = (op >> 3) == HG_X86_CMP;
	unsigned int form = op & 7;

	i->op = HG_X86_ALU;
	i->alu = op >> 3;
	size_set(d, !(form & 1));
	if (form >= 4) {
		i->dst = 0;
		i->written = compare ? 0 : 1;
		imm_next(d, imm_bytes(d));
		return;
	}
	modrm(d);
	byte_register(d, d->reg, i->size);
	if (form < 2) {
		operand_rm(d, true, !compare);
		i->src = d->reg;
		return;
	}
	operand_reg(d, !compare);
}

static void alu_imm(struct decoder *d, uint8_t op)
{
	size_set(d, op == 0x80);
	modrm(d);
	d->i->op = HG_X86_ALU;
	d->i->alu = d->reg & 7;
	operand_rm(d, true, d->i->alu != HG_X86_CMP);
	imm_next(d, op == 0x83 ? 1 : imm_bytes(d));
}

static void test(struct decoder *d, uint8_t op)
{
	struct hg_x86_insn *i = d->i;

	i->op = HG_X86_TEST;
	size_set(d, !(op & 1));
	if (op >= 0xa8) {
		i->dst = 0;
		imm_next(d, imm_bytes(d));
		return;
	}
	modrm(d);
	operand_rm(d, true, false);
	i->src = d->reg;
	byte_register(d, d->reg, i->size);
}

static void mov(struct decoder *d, uint8_t op)
{
	struct hg_x86_insn *i = d->i;

	i->op = HG_X86_MOV;
	size_set(d, !(op & 1));
	modrm(d);
	byte_register(d, d->reg, i->size);
	if (op < 0x8a) {
		operand_rm(d, false, true);
		i->src = d->reg;
		return;
	}
	operand_reg(d, true);
}

/* A source that is narrower than the register. */
static void mov_extended(struct decoder *d, unsigned int size, bool sign)
{
	struct hg_x86_insn *i = d->i;

	i->extends = true;
	i->sign = sign;
	i->op = HG_X86_MOV;
	i->size = (uint8_t)size;
	modrm(d);
	operand_reg(d, true);
}

static void group3(struct decoder *d, uint8_t op)
{
	struct hg_x86_insn *i = d->i;

	size_set(d, !(op & 1));
	modrm(d);
	switch (d->reg & 7) {
	case 0:
	case 1:
		i->op = HG_X86_TEST;
		operand_rm(d, true, false);
		imm_next(d, imm_bytes(d));
		break;
	case 2:
	case 3:
		i->op = HG_X86_UNARY;
		operand_rm(d, true, true);
		break;
	}
}

static void exchange(struct decoder *d, enum hg_x86_op op, bool byte)
{
	struct hg_x86_insn *i = d->i;

	i->op = op;
	size_set(d, byte);
	modrm(d);
	operand_rm(d, true, true);
	i->src = d->reg;
	byte_register(d, d->reg, i->size);
	i->written |= op == HG_X86_CMPXCHG ? 1 : bit(d->reg);
	if (op == HG_X86_XCHG && i->mem)
		i->locked = true;
}

static void bits(struct decoder *d, unsigned int what, bool has_imm)
{
	size_set(d, false);
	d->i->op = HG_X86_BT;
	operand_rm(d, true, what != 0);
	if (has_imm)
		imm_next(d, 1);
	else
		d->i->src = d->reg;
	/* With a register the bit may lie beyond the operand. */
	if (!has_imm && d->i->mem)
		d->i->segment = true;
}

static void unary(struct decoder *d, bool byte, unsigned int imm)
{
	size_set(d, byte);
	modrm(d);
	d->i->op = HG_X86_UNARY;
	operand_rm(d, true, true);
	if (imm)
		imm_next(d, imm);
}

static void two_bytes(struct decoder *d)
{
	struct hg_x86_insn *i = d->i;
	uint8_t op = byte_next(d);

	if (op >= 0x80 && op <= 0x8f) {
		i->op = HG_X86_JCC;
		i->cond = op & 15;
		i->target = signed_next(d, 4);
		return;
	}
	if (op >= 0x90 && op <= 0x9f) {
		unary(d, true, 0);
		i->loads = false;
		return;
	}
	if (op >= 0x40 && op <= 0x4f) {
		size_set(d, false);
		modrm(d);
		i->op = HG_X86_UNARY;
		operand_reg(d, true);
		return;
	}
	switch (op) {
	case 0x0d: /* prefetchw */
	case 0x18: /* prefetch */
	case 0x1e: /* endbr64 */
	case 0x1f:
		modrm(d);
		i->op = HG_X86_NOP;
		i->mem = false;
		break;
	case 0xa3:
	case 0xab:
	case 0xb3:
	case 0xbb:
		modrm(d);
		bits(d, op != 0xa3, false);
		break;
	case 0xba:
		modrm(d);
		if ((d->reg & 7) >= 4)
			bits(d, (d->reg & 3), true);
		break;
	case 0xae: /* fences; tpause and umwait pause */
		modrm(d);
		if (i->mem)
			break;
		if ((d->reg & 7) == 6 && (d->word || d->repne))
			i->op = HG_X86_PAUSE;
		else if ((d->reg & 7) >= 5 && !d->rep && !d->word && !d->repne)
			i->op = HG_X86_NOP;
		break;
	case 0xb0:
	case 0xb1:
		exchange(d, HG_X86_CMPXCHG, op == 0xb0);
		break;
	case 0xc0:
	case 0xc1:
		exchange(d, HG_X86_XADD, op == 0xc0);
		break;
	case 0xb6:
	case 0xbe:
		mov_extended(d, 1, op == 0xbe);
		break;
	case 0xb7:
	case 0xbf:
		mov_extended(d, 2, op == 0xbf);
		break;
	}
}

static void one_byte(struct decoder *d, uint8_t op)
{
	struct hg_x86_insn *i = d->i;

	if (op < 0x40 && (op & 7) < 6) {
		alu(d, op);
	} else if (op >= 0x70 && op <= 0x7f) {
		i->op = HG_X86_JCC;
		i->cond = op & 15;
		i->target = signed_next(d, 1);
	} else if (op >= 0xb0 && op <= 0xbf) {
		i->op = HG_X86_MOV;
		size_set(d, op < 0xb8);
		i->dst = (int8_t)((op & 7) | (d->rex & 1) << 3);
		byte_register(d, i->dst, i->size);
		i->written = bit(i->dst);
		imm_next(d, i->size == 8 ? 8 : imm_bytes(d));
	} else {
		switch (op) {
		case 0x0f:
			two_bytes(d);
			break;
		case 0x63:
			mov_extended(d, 4, true);
			break;
		case 0x80:
		case 0x81:
		case 0x83:
			alu_imm(d, op);
			break;
		case 0x84:
		case 0x85:
		case 0xa8:
		case 0xa9:
			test(d, op);
			break;
		case 0x86:
		case 0x87:
			exchange(d, HG_X86_XCHG, op == 0x86);
			break;
		case 0x88:
		case 0x89:
		case 0x8a:
		case 0x8b:
			mov(d, op);
			break;
		case 0x8d:
			size_set(d, false);
			modrm(d);
			i->op = HG_X86_LEA;
			i->dst = d->reg;
			i->written = bit(d->reg);
			i->mem = false;
			break;
		case 0x90:
			i->op = d->rep ? HG_X86_PAUSE : d->rex & 1 ? HG_X86_OTHER : HG_X86_NOP;
			break;
		case 0xc0:
		case 0xc1:
			unary(d, op == 0xc0, 1);
			break;
		case 0xd0:
		case 0xd1:
		case 0xd2:
		case 0xd3:
			unary(d, !(op & 1), 0);
			break;
		case 0xc6:
		case 0xc7:
			size_set(d, op == 0xc6);
			modrm(d);
			if (d->reg & 7)
				break;
			i->op = HG_X86_MOV;
			operand_rm(d, false, true);
			imm_next(d, imm_bytes(d));
			break;
		case 0xe9:
		case 0xeb:
			i->op = HG_X86_JMP;
			i->target = signed_next(d, op == 0xeb ? 1 : 4);
			break;
		case 0xf6:
		case 0xf7:
			group3(d, op);
			break;
		case 0xfe:
		case 0xff:
			size_set(d, op == 0xfe);
			modrm(d);
			if ((d->reg & 7) > 1)
				break;
			i->op = d->reg & 7 ? HG_X86_DEC : HG_X86_INC;
			operand_rm(d, true, true);
			break;
		}
	}
}

bool hg_x86_decode(const uint8_t *code, size_t size, struct hg_x86_insn *out)
{
	struct decoder d = {.code = code, .size = size, .i = out};

	memset(out, 0, sizeof(*out));
	out->base = out->index = out->dst = out->src = -1;
	out->scale = 1;
	prefixes(&d);
	one_byte(&d, byte_next(&d));
	if (d.cut || d.at > 15)
		return false;
	out->length = (uint8_t)d.at;
	return true;
}
