/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's functions by address (/proc/kallsyms), and stacks of them: each gets an id and, at first
 * sight, a definition. Used by the loader (where does the kernel spin?) and the drain.
 */
#ifndef HG_PROBES_STACKS_H
#define HG_PROBES_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/hg_event.h"

struct hg_symbols;

/* All functions. -EPERM: the kernel hides their addresses (kptr_restrict). */
int hg_symbols_load(struct hg_symbols **out);
void hg_symbols_free(struct hg_symbols *s);
/* Where a function begins and the next one does. -ENOENT. */
int hg_symbols_range(const struct hg_symbols *s, const char *name, uint64_t *begin_out,
		     uint64_t *end_out);
/* Where the function begins that holds an address; 0 if none does. */
uint64_t hg_symbols_ip(const struct hg_symbols *s, uint64_t ip);
/* Its name; NULL if none does. */
const char *hg_symbols_name(const struct hg_symbols *s, uint64_t ip);

struct hg_stack;

struct hg_stacks {
	struct hg_stack *by_ips;
	uint32_t n;
};

/* The id of a stack; *new_out: it was not seen before. 0 when there are too many. */
uint32_t hg_stacks_id(struct hg_stacks *stacks, const uint64_t ips[HG_STACK_DEPTH], bool *new_out);
/* Its functions, joined by ';', cut at size. */
void hg_stack_text(const struct hg_symbols *s, const uint64_t ips[HG_STACK_DEPTH], char *text,
		   size_t size);
void hg_stacks_free(struct hg_stacks *stacks);

#endif
