/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU_TIMES: /proc/stat, each CPU that is online. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/sampler_private.h"

/* "cpuN" and ten numbers of up to 20 digits; the lines of the CPUs come first in the file. */
#define LINE_BYTES_MAX 256

struct cpu_times {
	struct sampler_file file;
	size_t size;
	char text[];
};

uint64_t sampler_ticks_to_ns(uint64_t ticks)
{
	static long hz;

	if (!hz)
		hz = sysconf(_SC_CLK_TCK);
	return ticks * (HG_NSEC_PER_SEC / (uint64_t)hz);
}

bool sampler_cpu_parse(const char *line, uint64_t f[static 9])
{
	char *end;

	if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]))
		return false;
	f[HG_CPU_TIMES_CPU] = strtoull(line + 3, &end, 10);
	for (int i = HG_CPU_TIMES_USER; i <= HG_CPU_TIMES_STEAL; i++) {
		const char *at = end;

		/* In the file's order; not past the line, whatever strtoull takes for space. */
		if (*at != ' ')
			return false;
		f[i] = strtoull(at, &end, 10);
		if (end == at)
			return false;
	}
	return true;
}

static int cpu_times_init(struct hg_sampler *s, void **state)
{
	size_t size = ((size_t)sysconf(_SC_NPROCESSORS_CONF) + 2) * LINE_BYTES_MAX;
	struct cpu_times *c = malloc(sizeof(*c) + size);
	int r;

	if (!c)
		return -ENOMEM;
	c->size = size;
	r = sampler_file_init(s, SAMPLER_FILE_OTHER, &c->file, "/proc/stat");
	if (r) {
		free(c);
		return r;
	}
	*state = c;
	return 0;
}

static int cpu_times_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_CPU_TIMES};
	uint64_t now_ns = hg_now_ns();
	struct cpu_times *c = state;
	int r = 0;

	if (sampler_file_read_at(&c->file, c->text, c->size, &now_ns, &rec.time_ns) <= 0)
		return 0;
	for (char *line = c->text, *next; line && !strncmp(line, "cpu", 3) && !r; line = next) {
		next = strchr(line, '\n');
		if (!next)
			break; /* cut off */
		next++;
		if (!sampler_cpu_parse(line, rec.f))
			continue;
		for (int i = HG_CPU_TIMES_USER; i <= HG_CPU_TIMES_STEAL; i++)
			rec.f[i] = sampler_ticks_to_ns(rec.f[i]);
		r = sampler_write(pass, &rec);
	}
	return r;
}

static void cpu_times_free(struct hg_sampler *s, void *state)
{
	struct cpu_times *c = state;

	sampler_file_close(s, SAMPLER_FILE_OTHER, &c->file);
	free(c);
}

const struct sampler_ops sampler_cpu_times = {
	.name = "cpu_times",
	.init = cpu_times_init,
	.sample = cpu_times_sample,
	.free = cpu_times_free,
};
