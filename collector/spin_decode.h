/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes those x86-64 instructions of which a loop that waits for a word is made; every other one is HG_X86_OTHER, which
 * no such loop holds. Used by collector/spin_loop.c only.
 */
#ifndef HG_SPIN_DECODE_H
#define HG_SPIN_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of registers are the processor's: ax cx dx bx sp bp si di r8 to r15. */
#define HG_X86_REGS 16
#define HG_X86_SP   4
#define HG_X86_BP   5

enum hg_x86_op {
	HG_X86_OTHER =
		0, /* also what leaves: a call, a return, a jump to an address in a register */
	HG_X86_NOP,
	HG_X86_PAUSE,
	HG_X86_JMP,
	HG_X86_JCC,
	HG_X86_MOV, /* to reg or memory; also with sign or zero extended */
	HG_X86_LEA,
	HG_X86_TEST,
	HG_X86_ALU, /* add or adc sbb and sub xor cmp, by alu */
	HG_X86_INC,
	HG_X86_DEC,
	HG_X86_UNARY, /* not, neg, shifts, setcc, cmov: what becomes of the register is not followed */
	HG_X86_XCHG,
	HG_X86_CMPXCHG,
	HG_X86_XADD,
	HG_X86_BT, /* bt, bts, btr, btc */
};

enum {
	HG_X86_ADD,
	HG_X86_OR,
	HG_X86_ADC,
	HG_X86_SBB,
	HG_X86_AND,
	HG_X86_SUB,
	HG_X86_XOR,
	HG_X86_CMP
};

struct hg_x86_insn {
	enum hg_x86_op op;
	uint8_t length, size; /* of the operands in memory or a register, bytes */
	uint8_t alu, cond;
	bool locked; /* by its prefix, or because xchg always is */
	bool mem;    /* one operand is in memory */
	bool stores; /* to it */
	bool loads;  /* from it */
	bool rip, segment;
	int8_t base, index; /* -1 none */
	uint8_t scale;
	int64_t disp, imm;
	int8_t dst, src; /* registers; -1: memory, or imm (src), or none */
	bool has_imm;
	bool extends, sign; /* mov: fills the register, with the sign or with 0 */
	bool high_byte;	    /* ah, ch, dh, bh: not followed */
	uint16_t written;   /* registers that it changes */
	int64_t target;	    /* jumps: from the end of the instruction */
};

/* Of at most size bytes. False: more bytes would be needed. */
bool hg_x86_decode(const uint8_t *code, size_t size, struct hg_x86_insn *out);

#endif
