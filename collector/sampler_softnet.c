/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SOFTNET: /proc/net/softnet_stat, what each CPU's NET_RX got through and what it did not. */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "collector/sampler_private.h"

/* 15 numbers of 8 digits, and room for more columns of later kernels. */
#define LINE_BYTES_MAX 192
#define TOTALS	       (HG_SOFTNET_FLOW_LIMIT - HG_SOFTNET_PROCESSED + 1)

/* The kernel's totals have 32 bits: 4 billion packets are an hour at a million a second. */
struct softnet_cpu {
	uint32_t last[TOTALS];
	uint64_t wrapped[TOTALS];
};

struct softnet {
	struct sampler_file file;
	size_t size, cpus_count;
	struct softnet_cpu *cpus;
	char text[];
};

bool sampler_softnet_parse(const char *text, unsigned int line, uint64_t f[static 7])
{
	/* softnet_seq_show() in net/core/net-procfs.c; -1: of no use */
	static const int columns[] = {
		HG_SOFTNET_PROCESSED,
		HG_SOFTNET_DROPPED,
		HG_SOFTNET_SQUEEZED,
		-1,
		-1,
		-1,
		-1,
		-1,
		-1,
		HG_SOFTNET_RPS,
		HG_SOFTNET_FLOW_LIMIT,
		HG_SOFTNET_BACKLOG,
		HG_SOFTNET_CPU,
	};
	size_t i;

	memset(f, 0, 7 * sizeof(*f));
	f[HG_SOFTNET_CPU] = line;
	for (i = 0; i < HG_ARRAY_SIZE(columns); i++) {
		char *end;
		unsigned long v;

		if (*text == '\n' || !*text)
			break;
		v = strtoul(text, &end, 16);
		if (end == text || (*end != ' ' && *end != '\n' && *end))
			return false;
		if (columns[i] >= 0)
			f[columns[i]] = v;
		text = *end == ' ' ? end + 1 : end;
	}
	return i > HG_SOFTNET_SQUEEZED;
}

static int softnet_init(struct hg_sampler *s, void **state)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF), size = (cpus + 1) * LINE_BYTES_MAX;
	struct softnet *n = calloc(1, sizeof(*n) + size);
	int r;

	if (!n)
		return -ENOMEM;
	n->size = size;
	n->cpus_count = cpus;
	n->cpus = calloc(cpus, sizeof(*n->cpus));
	r = n->cpus ? sampler_file_init(s, SAMPLER_FILE_OTHER, &n->file, "/proc/net/softnet_stat")
		    : -ENOMEM;
	if (r) {
		free(n->cpus);
		free(n);
		return r;
	}
	*state = n;
	return 0;
}

static void totals_unwrap(struct softnet_cpu *cpu, uint64_t f[static 7])
{
	for (int i = 0; i < TOTALS; i++) {
		uint32_t v = (uint32_t)f[HG_SOFTNET_PROCESSED + i];

		if (v < cpu->last[i])
			cpu->wrapped[i] += UINT64_C(1) << 32;
		cpu->last[i] = v;
		f[HG_SOFTNET_PROCESSED + i] = cpu->wrapped[i] + v;
	}
}

static int softnet_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_SOFTNET};
	struct softnet *n = state;
	unsigned int line = 0;
	int r = 0;

	if (sampler_file_read_whole_at(&n->file, n->text, n->size, &rec.time_ns) <= 0)
		return 0;
	for (char *at = n->text, *next; at && *at && !r; at = next, line++) {
		next = strchr(at, '\n');
		if (!next)
			break; /* cut off */
		next++;
		if (!sampler_softnet_parse(at, line, rec.f) ||
		    rec.f[HG_SOFTNET_CPU] >= n->cpus_count)
			continue;
		totals_unwrap(&n->cpus[rec.f[HG_SOFTNET_CPU]], rec.f);
		r = sampler_write(pass, &rec);
	}
	return r;
}

static void softnet_free(struct hg_sampler *s, void *state)
{
	struct softnet *n = state;

	sampler_file_close(s, SAMPLER_FILE_OTHER, &n->file);
	free(n->cpus);
	free(n);
}

const struct sampler_ops sampler_softnet = {
	.name = "softnet",
	.init = softnet_init,
	.sample = softnet_sample,
	.free = softnet_free,
};
