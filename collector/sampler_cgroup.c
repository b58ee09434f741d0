/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CGROUP_CPU: the cpu cgroups that hold threads of the target, and those above them up to the root:
 * a quota anywhere on the way throttles. Tasks move, so each one's cgroup is looked up once a
 * second.
 */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/hg_cgroup.h"
#include "collector/sampler_private.h"

struct sampler_cgroup {
	char *path; /* below the mount */
	bool v2, usage;
	struct sampler_cgroup *parent;
	uint32_t targets, targets_told; /* threads in it and below; as in its last record */
	bool gone;
	struct sampler_file files[HG_CGROUP_FILES];
	UT_hash_handle hh;
};

struct cgroups {
	struct hg_cgroup_mounts mounts;
	struct hg_cgroup_place place; /* too large for a stack */
	struct sampler_cgroup *by_path;
	struct sampler_turn turn;
};

static int cgroups_init(struct hg_sampler *s, void **state)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	/* Without /proc there are no places to be found, so nothing to be read: no error. */
	hg_cgroup_mounts_read(&c->mounts);
	*state = c;
	return 0;
}

static void cgroup_free(struct hg_sampler *s, struct cgroups *c, struct sampler_cgroup *g)
{
	HASH_DEL(c->by_path, g);
	for (int i = 0; i < HG_CGROUP_FILES; i++)
		sampler_file_close(s, SAMPLER_FILE_OTHER, &g->files[i]);
	free(g->path);
	free(g);
}

static struct sampler_cgroup *cgroup_new(struct hg_sampler *s, struct cgroups *c)
{
	struct sampler_cgroup *g;
	char path[2 * PATH_MAX + 64];

	if (HASH_COUNT(c->by_path) >= SAMPLER_CGROUPS_MAX)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (!g || !(g->path = strdup(c->place.path))) {
		free(g);
		return NULL;
	}
	g->v2 = c->place.v2;
	g->usage = c->place.usage;
	for (int i = 0; i < HG_CGROUP_FILES; i++) {
		if (hg_cgroup_file_path(&c->mounts, &c->place, i, path, sizeof(path)))
			sampler_file_init(s, SAMPLER_FILE_OTHER, &g->files[i], path);
	}
	HASH_ADD_KEYPTR(hh, c->by_path, g->path, strlen(g->path), g);
	return g;
}

/*
 * The cgroup of c->place (which is changed), made with all above it unless it is known. A parent is
 * set once, when its child is new and empty: the counts on the way up always match.
 */
static struct sampler_cgroup *cgroup_get(struct hg_sampler *s, struct cgroups *c)
{
	struct sampler_cgroup *leaf = NULL, *below = NULL, *g;
	bool known;

	do {
		HASH_FIND_STR(c->by_path, c->place.path, g);
		known = g != NULL;
		if (!g)
			g = cgroup_new(s, c);
		if (below)
			below->parent = g;
		if (!leaf)
			leaf = g;
		below = g;
	} while (g && !known && hg_cgroup_path_parent(c->place.path));
	return leaf;
}

static void task_move(struct sampler_task *task, struct sampler_cgroup *to)
{
	for (struct sampler_cgroup *g = task->cgroup; g; g = g->parent)
		g->targets--;
	for (struct sampler_cgroup *g = to; g; g = g->parent)
		g->targets++;
	task->cgroup = to;
}

static void task_look_up(struct hg_sampler *s, struct cgroups *c, struct sampler_task *task)
{
	struct sampler_cgroup *to = NULL;

	if (hg_cgroup_place_find(&c->mounts, task->tgid, task->tid, &c->place) == 0)
		to = cgroup_get(s, c);
	if (to != task->cgroup)
		task_move(task, to);
}

static void cgroups_add(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	if (!(task->role & HG_ROLEF_TARGET)) {
		task_move(task, NULL);
		return;
	}
	task_look_up(s, state, task);
	task->cgroup_ns = hg_now_ns();
}

static void cgroups_remove(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	task_move(task, NULL);
}

static int cgroup_write(struct sampler_cgroup *g, const struct sampler_pass *pass)
{
	struct hg_record rec = {.kind = HG_KIND_CGROUP_CPU};
	struct hg_cgroup_cpu cpu = {0};
	uint64_t now_ns = hg_now_ns();
	char text[4096];
	uint32_t id;
	int r;

	/* cpu.stat last: the record's time is that of the totals. */
	for (int i = HG_CGROUP_FILES; i-- > 0;) {
		ssize_t n;

		if (!g->files[i].path)
			continue;
		n = sampler_file_read_at(&g->files[i], text, sizeof(text), &now_ns, &rec.time_ns);
		if (n >= 0)
			hg_cgroup_file_parse(g->v2, i, text, &cpu);
		else if (i == HG_CGROUP_STAT)
			return 0; /* no totals, no record: zeros would look like a reset */
	}
	r = hg_writer_string(pass->w, g->path, strlen(g->path), &id);
	if (r)
		return r;
	rec.f[HG_CGROUP_CPU_PATH] = id;
	rec.f[HG_CGROUP_CPU_PERIODS] = cpu.periods;
	rec.f[HG_CGROUP_CPU_THROTTLED] = cpu.throttled;
	rec.f[HG_CGROUP_CPU_THROTTLED_NS] = cpu.throttled_ns;
	rec.f[HG_CGROUP_CPU_USAGE_NS] = cpu.usage_ns;
	rec.f[HG_CGROUP_CPU_QUOTA_US] = cpu.quota_us;
	rec.f[HG_CGROUP_CPU_PERIOD_US] = cpu.period_us;
	rec.f[HG_CGROUP_CPU_TARGETS] = g->targets;
	g->targets_told = g->targets;
	return sampler_write(pass, &rec);
}

static bool place_due(const struct sampler_task *task, uint64_t now_ns)
{
	return !task->gone && (task->role & HG_ROLEF_TARGET) &&
	       now_ns >= task->cgroup_ns + SAMPLER_SECOND_NS;
}

static void place_refresh(struct hg_sampler *s, struct cgroups *c, struct sampler_task *task,
			  uint64_t now_ns)
{
	task_look_up(s, c, task);
	task->cgroup_ns = now_ns;
}

/* The other threads of a process whose leader moved, at once, whatever their number. */
static void process_refresh(struct hg_sampler *s, struct cgroups *c,
			    const struct sampler_task *leader, uint64_t now_ns)
{
	for (size_t i = 0; i < s->tasks_count; i++) {
		struct sampler_task *task = s->tasks[i];

		if (task->tgid == leader->tgid && task != leader && !task->gone &&
		    (task->role & HG_ROLEF_TARGET))
			place_refresh(s, c, task, now_ns);
	}
}

/*
 * Most moves are of whole processes: leaders are looked up every second; other threads in turns, which
 * takes longer than a second when there are many.
 */
static void places_refresh(struct hg_sampler *s, struct cgroups *c, uint64_t now_ns)
{
	size_t budget = SAMPLER_CGROUP_MAX, seen = 0;
	struct sampler_task *task;

	for (size_t i = 0; i < s->tasks_count; i++) {
		struct sampler_cgroup *from;

		task = s->tasks[i];
		if (task->tid != task->tgid || !place_due(task, now_ns))
			continue;
		from = task->cgroup;
		place_refresh(s, c, task, now_ns);
		if (task->cgroup != from)
			process_refresh(s, c, task, now_ns);
	}
	while (budget && (task = sampler_turn_next(s, &c->turn, &seen))) {
		if (!place_due(task, now_ns))
			continue;
		place_refresh(s, c, task, now_ns);
		budget--;
	}
}

static int cgroups_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct sampler_cgroup *g, *next;
	struct cgroups *c = state;
	int r = 0;

	places_refresh(s, c, pass->now_ns);
	HASH_ITER (hh, c->by_path, g, next) {
		if (g->targets || g->targets_told) {
			r = cgroup_write(g, pass);
			if (r)
				return r;
		}
		if (!g->targets) /* those below it are empty as well: none points here */
			g->gone = true;
	}
	HASH_ITER (hh, c->by_path, g, next) {
		if (g->gone)
			cgroup_free(s, c, g);
	}
	return 0;
}

static void cgroups_free(struct hg_sampler *s, void *state)
{
	struct sampler_cgroup *g, *next;
	struct cgroups *c = state;

	HASH_ITER (hh, c->by_path, g, next)
		cgroup_free(s, c, g);
	free(c);
}

const struct sampler_ops sampler_cgroup = {
	.name = "cgroup",
	.init = cgroups_init,
	.task_add = cgroups_add,
	.task_remove = cgroups_remove,
	.sample = cgroups_sample,
	.free = cgroups_free,
};
