/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that wait for a word, and loops that look like them: the code of each is assembled here, and each instruction between
 * its labels is tried as the one at which a thread was found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hg_base.h"
#include "collector/spin_decode.h"
#include "collector/spin_loop.h"

#ifdef __x86_64__

/* NAME_at: where the thread is found; NAME_end: the end of what is at hand. */
#define LOOP(name, text)                                                                           \
	__asm__(".section .rodata\n" #name "_begin:\n" text #name "_end:\n.previous\n");           \
	extern const uint8_t name##_begin[], name##_at[], name##_end[]

/* glibc's pthread_spin_lock, found in its loop and at its atomic decrement. */
LOOP(glibc, "1: lock decl (%rdi)\n jne 2f\n xor %eax, %eax\n ret\n .p2align 4\n"
	    "2: pause\n glibc_at: cmpl $0, (%rdi)\n jg 1b\n jmp 2b\n");
LOOP(glibc_take, "1: glibc_take_at: lock decl (%rdi)\n jne 2f\n xor %eax, %eax\n ret\n"
		 "2: pause\n cmpl $0, (%rdi)\n jg 1b\n jmp 2b\n");
/* test-and-set, with and without a pause */
LOOP(tas, "1: mov $1, %eax\n tas_at: xchg %eax, (%rbx)\n test %eax, %eax\n jne 1b\n ret\n");
LOOP(tas_pause, "1: pause\n mov %ecx, %eax\n tas_pause_at: xchg %al, 16(%rbx)\n test %al, %al\n"
		" jne 1b\n ret\n");
LOOP(ttas, "1: mov $1, %eax\n xchg %eax, (%rbx)\n test %eax, %eax\n je 3f\n"
	   "2: pause\n ttas_at: mov (%rbx), %eax\n test %eax, %eax\n jne 2b\n jmp 1b\n3: ret\n");
LOOP(cas, "1: xor %eax, %eax\n lock cmpxchg %edx, (%rdi)\n cas_at: jne 1b\n ret\n");
LOOP(bts, "1: lock btsl $0, (%rdi)\n bts_at: jc 1b\n ret\n");
/* waits for a flag, for a ticket; a global one; as compiled without optimisation */
LOOP(flag, "1: flag_at: movzbl (%rdi), %eax\n test %al, %al\n je 1b\n ret\n");
LOOP(ticket, "1: pause\n ticket_at: movzwl 2(%rdi), %eax\n cmp %ax, %dx\n jne 1b\n ret\n");
LOOP(global, "1: pause\n global_at: mov 0x1000(%rip), %eax\n test %eax, %eax\n jne 1b\n ret\n");
LOOP(slow, "1: pause\n mov -8(%rbp), %rax\n slow_at: mov (%rax), %eax\n test %eax, %eax\n"
	   " jne 1b\n ret\n");
LOOP(backoff, "1: pause\n backoff_at: sub $1, %ecx\n jne 1b\n ret\n");

/* A call each time round: found at its pause. */
LOOP(call_pause, "1: pause\n call_pause_at: call 2f\n test %eax, %eax\n jne 1b\n ret\n2: ret\n");

/* Work. */
LOOP(walk, "1: walk_at: mov (%rdi), %rdi\n test %rdi, %rdi\n jne 1b\n ret\n");
LOOP(scan, "1: scan_at: cmpb $0, (%rdi)\n lea 1(%rdi), %rdi\n jne 1b\n ret\n");
LOOP(count_up, "1: count_up_at: add $1, %rax\n cmp %rax, %rdx\n jne 1b\n ret\n");
LOOP(sum, "1: add (%rdi), %rax\n sum_at: dec %ecx\n jne 1b\n ret\n");
LOOP(store, "1: pause\n mov %eax, (%rdi)\n store_at: cmp %eax, (%rsi)\n jne 1b\n ret\n");
LOOP(volatile_count, "1: addl $1, (%rdi)\n volatile_count_at: cmpl $9, (%rdi)\n jne 1b\n ret\n");
/* lock-free: an update, a push, a counter */
LOOP(update, "mov (%rdi), %eax\n1: lea 1(%rax), %edx\n update_at: lock cmpxchg %edx, (%rdi)\n"
	     " jne 1b\n ret\n");
LOOP(set_bit, "mov (%rdi), %eax\n1: mov %eax, %edx\n or $8, %edx\n"
	      " set_bit_at: lock cmpxchg %edx, (%rdi)\n jne 1b\n ret\n");
LOOP(copy_update, "mov (%rdi), %eax\n1: mov %eax, %edx\n"
		  " copy_update_at: lock cmpxchg %edx, (%rdi)\n jne 1b\n ret\n");
LOOP(push, "1: mov %rax, 8(%rbx)\n push_at: lock cmpxchg %rbx, (%rdi)\n jne 1b\n ret\n");
LOOP(atomic_count, "1: lock incl (%rdi)\n atomic_count_at: dec %ecx\n jne 1b\n ret\n");
LOOP(swaps, "1: xchg %eax, (%rdi)\n swaps_at: dec %ecx\n jne 1b\n ret\n");
/* a pause beside the code, not in its loop; a loop that calls; a time that is read again after a pause */
LOOP(beside, "2: pause\n jmp 2b\n1: beside_at: add (%rdi), %rax\n add $8, %rdi\n dec %ecx\n"
	     " jne 1b\n ret\n 3: pause\n jmp 3b\n");
LOOP(calls, "1: pause\n call 2f\n calls_at: test %eax, %eax\n jne 1b\n ret\n2: ret\n");
LOOP(event_loop, "1: pause\n syscall\n event_loop_at: test %eax, %eax\n je 1b\n ret\n");
LOOP(clock_read, "1: mov (%rdi), %eax\n test $1, %al\n jne 3f\n clock_read_at: rdtsc\n"
		 " cmp %eax, (%rdi)\n jne 1b\n ret\n3: pause\n jmp 1b\n");
LOOP(straight, "pause\n mov %esi, %edx\n straight_at: mov (%rdi), %eax\n test %eax, %eax\n jne "
	       "2f\n ret\n2: nop\n"
	       " ret\n");

#define WORD UINT64_C(0x7f0012345000)

/* Puts [begin, end) so that at is where the thread was found; the registers are all addresses of one word. */
static struct hg_spin_code code_make(const uint8_t *begin, const uint8_t *at, const uint8_t *end)
{
	struct hg_spin_code code = {.ip = 0x400000};
	const uint8_t *first = at - begin > HG_SPIN_CODE_BEFORE ? at - HG_SPIN_CODE_BEFORE : begin;
	size_t n = (size_t)(end - first);

	memset(code.bytes, 0xcc, sizeof(code.bytes));
	memcpy(code.bytes + HG_SPIN_CODE_BEFORE - (at - first), first,
	       HG_MIN(n, sizeof(code.bytes) - HG_SPIN_CODE_BEFORE + (size_t)(at - first)));
	for (int i = 0; i < HG_SPIN_REGS; i++)
		code.regs[i] = WORD;
	code.regs[1] = 1; /* cx: what a lock that is held has */
	code.regs[2] = 7; /* dx: the ticket, or what is put there */
	return code;
}

#define MAKE(name) code_make(name##_begin, name##_at, name##_end)

static void waits_are_found(void **state)
{
	const struct {
		const char *name;
		struct hg_spin_code code;
		uint64_t word, held, free;
		bool takes, pauses;
	} rows[] = {
		{"glibc", MAKE(glibc), WORD, 0, 1, true, true},
		{"glibc, negative", MAKE(glibc), WORD, 0xfffffffe, 1, true, true},
		{"glibc_take", MAKE(glibc_take), WORD, 0, 1, true, true},
		{"tas", MAKE(tas), WORD, 1, 0, true, false},
		{"tas_pause", MAKE(tas_pause), WORD + 16, 1, 0, true, true},
		{"ttas", MAKE(ttas), WORD, 1, 0, true, true},
		{"cas", MAKE(cas), WORD, 1, 0, true, false},
		{"bts", MAKE(bts), WORD, 1, 0, true, false},
		{"flag", MAKE(flag), WORD, 0, 1, false, false},
		{"ticket", MAKE(ticket), WORD + 2, 6, 7, false, true},
		{"global", MAKE(global), 0x400000 + 6 + 0x1000, 1, 0, false, true},
	};

	(void)state;
	for (size_t i = 0; i < HG_ARRAY_SIZE(rows); i++) {
		struct hg_spin_loop loop;

		print_message("%s\n", rows[i].name);
		assert_true(hg_spin_loop_find(&rows[i].code, &loop));
		assert_int_equal(loop.word, rows[i].word);
		assert_int_equal(loop.takes, rows[i].takes);
		assert_int_equal(loop.pauses, rows[i].pauses);
		assert_true(loop.begin <= rows[i].code.ip && loop.begin + 32 >= rows[i].code.ip);
		assert_int_equal(hg_spin_loop_waits(&rows[i].code, &loop, rows[i].held), 1);
		assert_int_equal(hg_spin_loop_waits(&rows[i].code, &loop, rows[i].free), 0);
	}
}

/* They spin, but of which word is not known: nothing can be said of its value. */
static void words_not_known(void **state)
{
	const struct hg_spin_code codes[] = {MAKE(slow), MAKE(backoff), MAKE(call_pause)};

	(void)state;
	for (size_t i = 0; i < HG_ARRAY_SIZE(codes); i++) {
		struct hg_spin_loop loop;

		assert_true(hg_spin_loop_find(&codes[i], &loop));
		assert_int_equal(loop.word, 0);
		assert_int_equal(hg_spin_loop_waits(&codes[i], &loop, 1), -1);
	}
}

static void work_is_none(void **state)
{
	const struct {
		const char *name;
		struct hg_spin_code code;
	} rows[] = {
#define ROW(name) {#name, MAKE(name)}
		ROW(walk),	  ROW(scan),	       ROW(count_up),	  ROW(sum),
		ROW(store),	  ROW(volatile_count), ROW(update),	  ROW(set_bit),
		ROW(copy_update), ROW(push),	       ROW(atomic_count), ROW(swaps),
		ROW(beside),	  ROW(calls),	       ROW(event_loop),	  ROW(clock_read),
		ROW(straight),
	};

	(void)state;
	for (size_t i = 0; i < HG_ARRAY_SIZE(rows); i++) {
		struct hg_spin_loop loop;

		print_message("%s\n", rows[i].name);
		assert_false(hg_spin_loop_find(&rows[i].code, &loop));
	}
}

/* Whatever the bytes are: it ends, and reads no more than there are. */
static void any_bytes(void **state)
{
	uint64_t x = 88172645463325252, found = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		struct hg_spin_code code = {.ip = 0x400000};
		struct hg_spin_loop loop;

		for (size_t i = 0; i < sizeof(code.bytes); i++) {
			static const uint8_t often[] = {0xf3, 0x90, 0xeb, 0x75,
							0x8b, 0x85, 0x0f, 0xf0};

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			code.bytes[i] = x & 0x300 ? (uint8_t)x : often[x & 7];
			if (x >> 60 == 1)
				code.bytes[i] =
					(uint8_t)(0xf0 + (x >> 40 & 15)); /* a short jump back */
		}
		if (hg_spin_loop_find(&code, &loop)) {
			found++;
			assert_true(hg_spin_loop_waits(&code, &loop, x) <= 1);
		}
	}
	print_message("%d loops\n", (int)found);
	assert_true(found > 0);
}

/* Lengths, against what the assembler made. */
static void lengths(void **state)
{
	const struct {
		const uint8_t *begin, *end;
	} rows[] = {
		{glibc_take_begin, glibc_take_end}, {tas_begin, tas_end},   {ttas_begin, ttas_end},
		{ticket_begin, ticket_end},	    {slow_begin, slow_end}, {sum_begin, sum_end},
	};

	(void)state;
	for (size_t i = 0; i < HG_ARRAY_SIZE(rows); i++) {
		const uint8_t *at = rows[i].begin;
		struct hg_x86_insn insn;

		while (at < rows[i].end && *at != 0xc3) {
			assert_false(hg_x86_decode(at, 1, &insn) && insn.length > 1);
			assert_true(hg_x86_decode(at, (size_t)(rows[i].end - at), &insn));
			assert_int_not_equal(insn.op, HG_X86_OTHER);
			at += insn.length;
		}
		assert_true(at <= rows[i].end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_found), cmocka_unit_test(words_not_known),
		cmocka_unit_test(work_is_none),	   cmocka_unit_test(any_bytes),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	printf("skip: x86-64\n");
	return 77;
}

#endif
