/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCHEDSTAT and TASK_TIMES: what the kernel itself counts for each task. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/sampler_private.h"

/* --- SCHEDSTAT --- */

struct schedstat {
	struct sampler_turn clients, others;
};

static int schedstat_init(struct hg_sampler *s, void **state)
{
	*state = calloc(1, sizeof(struct schedstat));
	return *state ? 0 : -ENOMEM;
}

static void schedstat_add(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	char path[64];

	if (task->schedstat.path)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", task->tgid, task->tid);
	if (sampler_file_init(s, SAMPLER_FILE_SCHEDSTAT, &task->schedstat, path))
		return;
	task->schedstat_fresh = true;
}

/* SCHEDSTAT's fields are in the file's order. */
static bool numbers_parse(const char *text, int count, uint64_t *out)
{
	for (int i = 0; i < count; i++) {
		char *end;

		out[i] = strtoull(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}
	return true;
}

/* false: nothing to be had. *now_ns: in, a time before the read; out, one after it. */
static bool schedstat_read(struct sampler_task *task, uint64_t *now_ns, struct hg_record *rec)
{
	char text[128];
	ssize_t n;

	if (task->gone)
		return false;
	*rec = (struct hg_record){.kind = HG_KIND_SCHEDSTAT};
	n = sampler_file_read_at(&task->schedstat, text, sizeof(text), now_ns, &rec->time_ns);
	task->schedstat_fresh = false;
	/* For want of memory or descriptors now it may come again; a task that is gone does not. */
	if (n < 0) {
		task->gone = n == -ESRCH || n == -ENOENT;
		return false;
	}
	if (!numbers_parse(text, 3, &rec->f[HG_SCHEDSTAT_RUN_NS]))
		return false;
	if (rec->f[HG_SCHEDSTAT_RUN_NS] < task->run_ns) {
		task->gone = true;
		return false;
	}
	task->run_ns = rec->f[HG_SCHEDSTAT_RUN_NS];
	rec->f[HG_SCHEDSTAT_LANE] = task->lane;
	return true;
}

static void schedstat_remove(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	uint64_t now_ns = hg_now_ns();
	struct hg_record rec;

	if (!s->closing && schedstat_read(task, &now_ns, &rec)) {
		if (s->pending_count == s->pending_max) {
			size_t max = s->pending_max ? 2 * s->pending_max : 64;
			struct hg_record *pending = reallocarray(s->pending, max, sizeof(*pending));

			if (pending) {
				s->pending = pending;
				s->pending_max = max;
			}
		}
		if (s->pending_count < s->pending_max)
			s->pending[s->pending_count++] = rec;
	}
	sampler_file_close(s, SAMPLER_FILE_SCHEDSTAT, &task->schedstat);
}

static int schedstat_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct schedstat *st = state;
	uint64_t now_ns = hg_now_ns();
	size_t budget = SAMPLER_SCHEDSTAT_MAX;
	int r = 0;

	/* New ones first, then clients, then the rest; what a round has read counts against the
	 * next. */
	for (int round = 0; round < 3 && !r; round++) {
		struct sampler_turn *turn = round == 1 ? &st->clients : &st->others;
		size_t seen = 0, floor = round == 1 ? SAMPLER_SCHEDSTAT_MAX / 2 : 0;
		struct sampler_turn fresh = {0};
		struct sampler_task *task;

		if (round == 0)
			turn = &fresh;
		while (!r && (round == 0 || pass->final || budget > floor) &&
		       (task = sampler_turn_next(s, turn, &seen))) {
			bool client = task->role & HG_ROLEF_CLIENT;
			struct hg_record rec;

			if (task->gone || task->read_pass == pass->number ||
			    (round == 0 ? !task->schedstat_fresh : client != (round == 1)))
				continue;
			task->read_pass = pass->number;
			if (schedstat_read(task, &now_ns, &rec))
				r = sampler_write(pass, &rec);
			budget -= budget > 0;
		}
	}
	return r;
}

static void schedstat_free(struct hg_sampler *s, void *state)
{
	free(state);
}

const struct sampler_ops sampler_schedstat = {
	.name = "schedstat",
	.init = schedstat_init,
	.task_add = schedstat_add,
	.task_remove = schedstat_remove,
	.sample = schedstat_sample,
	.free = schedstat_free,
};

/* --- TASK_TIMES --- */

bool sampler_stat_parse(const char *text, uint64_t *utime_out, uint64_t *stime_out,
			uint64_t *start_out)
{
	/* comm may hold anything, also ") R 1 ": what follows the last bracket is numbers only. */
	const char *at = strrchr(text, ')');

	if (!at)
		return false;
	return sscanf(at + 1,
		      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		      " %*d %*d %*d %*d %*d %*d %" SCNu64,
		      utime_out, stime_out, start_out) == 3;
}

static int times_init(struct hg_sampler *s, void **state)
{
	*state = calloc(1, sizeof(struct sampler_turn));
	return *state ? 0 : -ENOMEM;
}

/* false: nothing to be had. */
static bool times_read(struct sampler_task *task, uint64_t *now_ns, struct hg_record *rec)
{
	char path[64], text[1024];
	uint64_t utime, stime, start;
	struct sampler_file file = {.path = path, .fd = -1};

	*rec = (struct hg_record){.kind = HG_KIND_TASK_TIMES};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", task->tgid, task->tid);
	if (sampler_file_read_at(&file, text, sizeof(text), now_ns, &rec->time_ns) < 0 ||
	    !sampler_stat_parse(text, &utime, &stime, &start))
		return false;
	if (!task->start_ticks)
		task->start_ticks = start;
	if (task->start_ticks != start) {
		task->gone = true; /* the tid belongs to another task by now */
		return false;
	}
	rec->f[HG_TASK_TIMES_LANE] = task->lane;
	rec->f[HG_TASK_TIMES_USER_NS] = sampler_ticks_to_ns(utime);
	rec->f[HG_TASK_TIMES_SYSTEM_NS] = sampler_ticks_to_ns(stime);
	return true;
}

static int times_write(struct sampler_task *task, const struct sampler_pass *pass, uint64_t *now_ns)
{
	struct hg_record rec;

	task->times_ns = pass->now_ns;
	return times_read(task, now_ns, &rec) ? sampler_write(pass, &rec) : 0;
}

static int times_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	uint64_t now_ns = hg_now_ns();
	size_t budget = SAMPLER_TIMES_MAX, seen = 0;
	struct sampler_task *task;
	int r = 0;

	/* A new one's first sample is worth more than an even load: it is taken at once. */
	for (size_t i = 0; i < s->tasks_count && !r; i++) {
		task = s->tasks[i];
		if (!task->gone && (!task->times_ns || pass->final))
			r = times_write(task, pass, &now_ns);
	}
	while (!r && budget && (task = sampler_turn_next(s, state, &seen))) {
		if (task->gone || pass->now_ns < task->times_ns + SAMPLER_SECOND_NS)
			continue;
		r = times_write(task, pass, &now_ns);
		budget--;
	}
	return r;
}

static void times_free(struct hg_sampler *s, void *state)
{
	free(state);
}

const struct sampler_ops sampler_task_times = {
	.name = "task_times",
	.init = times_init,
	.sample = times_sample,
	.free = times_free,
};
