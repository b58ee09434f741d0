/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probes_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/hg_base.h"

#define STACKS_MAX	   4096
#define SYMBOLS_MAX	   (1U << 20)
/* No function is larger: what is further behind one is code without a name, as of BPF programs. */
#define FUNCTION_BYTES_MAX (1U << 20)

struct symbol {
	uint64_t ip;
	uint32_t name; /* in names */
};

struct hg_symbols {
	struct symbol *symbols;
	size_t n, size;
	char *names;
	size_t names_bytes, names_size;
};

static int symbol_add(struct hg_symbols *s, uint64_t ip, const char *name)
{
	size_t length = strlen(name) + 1;

	if (s->n == SYMBOLS_MAX)
		return -E2BIG;
	if (s->n == s->size) {
		size_t size = s->size ? 2 * s->size : 65536;
		struct symbol *more = reallocarray(s->symbols, size, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->symbols = more;
		s->size = size;
	}
	if (s->names_bytes + length > s->names_size) {
		size_t size = s->names_size ? 2 * s->names_size : 1 << 20;
		char *more = realloc(s->names, size);

		if (!more)
			return -ENOMEM;
		s->names = more;
		s->names_size = size;
	}
	memcpy(s->names + s->names_bytes, name, length);
	s->symbols[s->n++] = (struct symbol){.ip = ip, .name = (uint32_t)s->names_bytes};
	s->names_bytes += length;
	return 0;
}

static int symbol_compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* "ffffffff81000000 T name [module]": functions only. 1 if it is one. */
static int line_take(struct hg_symbols *s, char *line)
{
	char *at, *name;
	uint64_t ip = strtoull(line, &at, 16);

	if (at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ' || !ip)
		return 0;
	name = at + 3;
	name[strcspn(name, "\t\n ")] = 0;
	/* Programs like ours come and go, and their addresses with them. */
	if (!strncmp(name, "bpf_prog_", 9))
		return 0;
	return symbol_add(s, ip, name) ?: 1;
}

int hg_symbols_load(struct hg_symbols **out)
{
	struct hg_symbols *s = calloc(1, sizeof(*s));
	hg_autofclose FILE *f = fopen("/proc/kallsyms", "re");
	hg_autofree char *line = NULL;
	size_t line_size = 0;
	int rc = s ? 0 : -ENOMEM;

	if (!rc && !f)
		rc = -errno;
	while (rc >= 0 && getline(&line, &line_size, f) >= 0)
		rc = line_take(s, line);
	if (rc >= 0)
		rc = s->n ? 0 : -EPERM;
	if (rc) {
		hg_symbols_free(s);
		return rc;
	}
	qsort(s->symbols, s->n, sizeof(*s->symbols), symbol_compare);
	*out = s;
	return 0;
}

void hg_symbols_free(struct hg_symbols *s)
{
	if (!s)
		return;
	free(s->symbols);
	free(s->names);
	free(s);
}

int hg_symbols_range(const struct hg_symbols *s, const char *name, uint64_t *begin_out,
		     uint64_t *end_out)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t next = i + 1;

		if (strcmp(s->names + s->symbols[i].name, name) != 0)
			continue;
		while (next < s->n && s->symbols[next].ip == s->symbols[i].ip)
			next++;
		if (next == s->n)
			return -ENOENT;
		*begin_out = s->symbols[i].ip;
		*end_out = s->symbols[next].ip;
		return 0;
	}
	return -ENOENT;
}

static const struct symbol *symbol_find(const struct hg_symbols *s, uint64_t ip)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->symbols[middle].ip <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	return low && ip - s->symbols[low - 1].ip < FUNCTION_BYTES_MAX ? &s->symbols[low - 1]
								       : NULL;
}

uint64_t hg_symbols_ip(const struct hg_symbols *s, uint64_t ip)
{
	const struct symbol *symbol = symbol_find(s, ip);

	return symbol ? symbol->ip : 0;
}

const char *hg_symbols_name(const struct hg_symbols *s, uint64_t ip)
{
	const struct symbol *symbol = symbol_find(s, ip);

	return symbol ? s->names + symbol->name : NULL;
}

struct hg_stack {
	uint64_t ips[HG_STACK_DEPTH];
	uint32_t id;
	UT_hash_handle hh;
};

uint32_t hg_stacks_id(struct hg_stacks *stacks, const uint64_t ips[HG_STACK_DEPTH], bool *new_out)
{
	struct hg_stack *stack;

	*new_out = false;
	HASH_FIND(hh, stacks->by_ips, ips, sizeof(stack->ips), stack);
	if (stack)
		return stack->id;
	if (stacks->n == STACKS_MAX)
		return 0;
	stack = calloc(1, sizeof(*stack));
	if (!stack)
		return 0;
	memcpy(stack->ips, ips, sizeof(stack->ips));
	stack->id = ++stacks->n;
	HASH_ADD(hh, stacks->by_ips, ips, sizeof(stack->ips), stack);
	*new_out = true;
	return stack->id;
}

void hg_stack_text(const struct hg_symbols *s, const uint64_t ips[HG_STACK_DEPTH], char *text,
		   size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < HG_STACK_DEPTH && ips[i] && used < size; i++) {
		/* A return address may be behind the end of the function that called. */
		const char *name = hg_symbols_name(s, i ? ips[i] - 1 : ips[i]);

		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ";" : "",
					 name ? name : "?");
	}
}

void hg_stacks_free(struct hg_stacks *stacks)
{
	struct hg_stack *stack, *next;

	HASH_ITER (hh, stacks->by_ips, stack, next) {
		HASH_DEL(stacks->by_ips, stack);
		free(stack);
	}
}
