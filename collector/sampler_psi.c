/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PSI: pressure of the machine, and of the cgroups (v2 only: v1 has none) that the target's processes are in. What a
 * kernel has not is said once, so that nobody takes its absence for none.
 */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "collector/hg_cgroup.h"
#include "collector/sampler_private.h"

#define SCOPES_MAX    16
#define PROCESSES_MAX 64 /* whose cgroup is looked up, a second */

static const char *const resources[HG_PSI_RESOURCES] = {
	[HG_PSI_CPU] = "cpu", [HG_PSI_IO] = "io", [HG_PSI_MEMORY] = "memory", [HG_PSI_IRQ] = "irq"};

struct scope {
	char *path; /* "" the machine */
	struct sampler_file files[HG_PSI_RESOURCES];
	bool told[HG_PSI_RESOURCES]; /* that it has none */
	bool seen;
};

struct pressure {
	struct hg_cgroup_mounts mounts;
	struct hg_cgroup_place place;	 /* too large for a stack */
	struct scope scopes[SCOPES_MAX]; /* the first is the machine */
	size_t count;
	uint64_t scopes_ns; /* when they were looked up last */
	struct sampler_turn turn;
};

static uint64_t total_ns(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	at = at ? strstr(at, "total=") : NULL;
	return at ? 1000 * strtoull(at + strlen("total="), NULL, 10) : 0;
}

bool sampler_psi_parse(const char *text, uint64_t *some_ns_out, uint64_t *full_ns_out)
{
	if (strncmp(text, "some ", 5) && strncmp(text, "full ", 5))
		return false;
	*some_ns_out = strncmp(text, "some ", 5) ? 0 : total_ns(text, "some ");
	*full_ns_out = total_ns(text, "full ");
	return true;
}

static void scope_open(struct hg_sampler *s, struct pressure *p, const char *path)
{
	char file[2 * PATH_MAX + 32];
	struct scope *c = &p->scopes[p->count];

	*c = (struct scope){.path = strdup(path), .seen = true};
	if (!c->path)
		return;
	for (int i = 0; i < HG_PSI_RESOURCES; i++) {
		if (*path)
			snprintf(file, sizeof(file), "%s%s/%s.pressure", p->mounts.unified.point,
				 path, resources[i]);
		else
			snprintf(file, sizeof(file), "/proc/pressure/%s", resources[i]);
		if (sampler_file_init(s, SAMPLER_FILE_OTHER, &c->files[i], file))
			c->files[i].path = NULL;
	}
	p->count++;
}

static void scope_close(struct hg_sampler *s, struct scope *c)
{
	for (int i = 0; i < HG_PSI_RESOURCES; i++)
		sampler_file_close(s, SAMPLER_FILE_OTHER, &c->files[i]);
	free(c->path);
	c->path = NULL;
}

static int pressure_init(struct hg_sampler *s, void **state)
{
	struct pressure *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	hg_cgroup_mounts_read(&p->mounts);
	/* Without v1's, places are those of v2, which a machine can have beside it. */
	p->mounts.cpu = p->mounts.cpuacct = (struct hg_cgroup_mount){0};
	scope_open(s, p, "");
	*state = p;
	return 0;
}

static void scope_see(struct hg_sampler *s, struct pressure *p, const struct sampler_task *task)
{
	if (hg_cgroup_place_find(&p->mounts, task->tgid, task->tid, &p->place) ||
	    !strcmp(p->place.path, "/"))
		return;
	for (size_t i = 1; i < p->count; i++) {
		if (!strcmp(p->scopes[i].path, p->place.path)) {
			p->scopes[i].seen = true;
			return;
		}
	}
	if (p->count < SCOPES_MAX)
		scope_open(s, p, p->place.path);
}

/* The cgroups of the target's processes, once a second; those that none is in any more go. */
static void scopes_look_up(struct hg_sampler *s, struct pressure *p, uint64_t now_ns)
{
	size_t seen = 0, budget = PROCESSES_MAX, kept = 1;
	struct sampler_task *task;

	if (now_ns < p->scopes_ns + SAMPLER_SECOND_NS || !p->mounts.unified.point[0])
		return;
	p->scopes_ns = now_ns;
	for (size_t i = 1; i < p->count; i++)
		p->scopes[i].seen = false;
	while (budget && (task = sampler_turn_next(s, &p->turn, &seen))) {
		if (task->gone || task->tid != task->tgid || !(task->role & HG_ROLEF_TARGET))
			continue;
		scope_see(s, p, task);
		budget--;
	}
	for (size_t i = 1; i < p->count; i++) {
		/* With too many processes for one look, one that was not looked at may be in it. */
		if (p->scopes[i].seen || !budget)
			p->scopes[kept++] = p->scopes[i];
		else
			scope_close(s, &p->scopes[i]);
	}
	p->count = HG_MIN(kept, p->count);
}

static const char *why_text(int err)
{
	switch (err) {
	case -ENOENT:
		return "this kernel does not count it";
	case -EOPNOTSUPP:
		return "switched off: boot with psi=1";
	case -ENODEV:
		return "the cgroup is gone";
	}
	return strerror(-err);
}

static int resource_write(struct scope *c, int resource, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_PSI};
	uint64_t now_ns = hg_now_ns();
	char text[256];
	const char *why;
	uint32_t scope, id = 0;
	ssize_t n;
	int r = 0;

	if (c->told[resource] && c->files[resource].fd < 0)
		return 0;
	n = sampler_file_read_at(&c->files[resource], text, sizeof(text), &now_ns, &rec.time_ns);
	rec.f[HG_PSI_RESOURCE] = (uint64_t)resource;
	if (n < 0 || !sampler_psi_parse(text, &rec.f[HG_PSI_SOME_NS], &rec.f[HG_PSI_FULL_NS])) {
		if (c->told[resource])
			return 0;
		c->told[resource] = true;
		why = n < 0 ? why_text((int)n) : "the kernel's text is not understood";
		r = hg_writer_string(pass->w, why, strlen(why), &id);
		rec.f[HG_PSI_WHY] = id;
	}
	if (!r)
		r = hg_writer_string(pass->w, c->path, strlen(c->path), &scope);
	if (r)
		return r;
	rec.f[HG_PSI_SCOPE] = scope;
	return sampler_write(pass, &rec);
}

static int pressure_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct pressure *p = state;
	int r = 0;

	scopes_look_up(s, p, pass->now_ns);
	for (size_t i = 0; i < p->count && !r; i++) {
		for (int k = 0; k < HG_PSI_RESOURCES && !r; k++)
			r = resource_write(&p->scopes[i], k, pass);
	}
	return r;
}

static void pressure_free(struct hg_sampler *s, void *state)
{
	struct pressure *p = state;

	for (size_t i = 0; i < p->count; i++)
		scope_close(s, &p->scopes[i]);
	free(p);
}

const struct sampler_ops sampler_psi = {
	.name = "psi",
	.init = pressure_init,
	.sample = pressure_sample,
	.free = pressure_free,
};
