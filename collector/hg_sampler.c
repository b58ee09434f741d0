/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_sampler.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "base/hg_log.h"
#include "collector/sampler_private.h"

/* Descriptors that are left to the rings, the output, the client and the samplers' other files. */
#define FDS_RESERVED 256
/* A read takes a few us; one that takes longer was preempted, and its time says nothing. */
#define READ_NS_MAX  100000

/* In this order at each tick: what is compared with events first, what takes longest last. */
static const struct sampler_ops *const table[] = {
	&sampler_clock,	      &sampler_cpu_times, &sampler_schedstat, &sampler_cgroup,
	&sampler_task_times,  &sampler_rss,	  &sampler_wait,      &sampler_softnet,
	&sampler_disk,	      &sampler_psi,	  &sampler_netns,     &sampler_link,
	&sampler_netns_stats, &sampler_socket,	  &sampler_word,
};
_Static_assert(HG_ARRAY_SIZE(table) <= HG_ARRAY_SIZE(((struct hg_sampler *)0)->state),
	       "state is too small");

/* --- files --- */

int sampler_file_init(struct hg_sampler *s, enum sampler_file_class class, struct sampler_file *f,
		      const char *path)
{
	f->fd = -1;
	f->path = strdup(path);
	if (!f->path)
		return -ENOMEM;
	if (s->files_open[class] < s->files_open_max[class])
		f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd >= 0)
		s->files_open[class]++;
	return 0;
}

void sampler_file_close(struct hg_sampler *s, enum sampler_file_class class, struct sampler_file *f)
{
	if (f->path && f->fd >= 0) {
		close(f->fd);
		s->files_open[class]--;
	}
	free(f->path);
	f->path = NULL;
	f->fd = -1;
}

ssize_t sampler_file_read(const struct sampler_file *f, char *buf, size_t size)
{
	hg_autoclose int fd = -1;

	if (!f->path)
		return -ENOENT;
	if (f->fd >= 0)
		return hg_file_read_once(f->fd, buf, size);
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : hg_file_read_once(fd, buf, size);
}

ssize_t sampler_file_read_at(const struct sampler_file *f, char *buf, size_t size, uint64_t *now_ns,
			     uint64_t *time_ns_out)
{
	ssize_t n = -ENOENT;

	for (int tries = 0; tries < 2; tries++) {
		uint64_t before = *now_ns;

		n = sampler_file_read(f, buf, size);
		*now_ns = hg_now_ns();
		*time_ns_out = before + (*now_ns - before) / 2;
		if (*now_ns - before < READ_NS_MAX)
			break;
	}
	return n;
}

ssize_t sampler_file_read_whole_at(const struct sampler_file *f, char *buf, size_t size,
				   uint64_t *time_ns_out)
{
	uint64_t before_ns = hg_now_ns();
	ssize_t n;

	if (!f->path)
		return -ENOENT;
	n = f->fd >= 0 ? hg_file_read_fd(f->fd, buf, size) : hg_file_read(f->path, buf, size);
	*time_ns_out = before_ns + (hg_now_ns() - before_ns) / 2;
	return n;
}

int sampler_write(const struct sampler_pass *pass, const struct hg_record *rec)
{
	return hg_writer_record(pass->w, 0, HG_STREAM_SAMPLER, rec);
}

struct sampler_task *sampler_turn_next(const struct hg_sampler *s, struct sampler_turn *turn,
				       size_t *seen)
{
	if (*seen >= s->tasks_count)
		return NULL;
	++*seen;
	turn->at = (turn->at + 1) % s->tasks_count;
	return s->tasks[turn->at];
}

/* --- life --- */

/* Descriptors in use are not counted: the reserve is for them. */
static void files_share(struct hg_sampler *s)
{
	struct rlimit limit = {.rlim_cur = 1024};
	size_t room;

	getrlimit(RLIMIT_NOFILE, &limit);
	room = limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_cur;
	room = room > FDS_RESERVED ? room - FDS_RESERVED : 0;
	s->files_open_max[SAMPLER_FILE_SCHEDSTAT] = HG_MIN(room / 2, (size_t)SAMPLER_TASKS_MAX);
	s->files_open_max[SAMPLER_FILE_WAIT] = HG_MIN(room / 4, (size_t)SAMPLER_TASKS_MAX);
	s->files_open_max[SAMPLER_FILE_OTHER] = HG_MIN(room / 4, (size_t)SAMPLER_TASKS_MAX);
}

int hg_sampler_new(struct hg_sampler **out)
{
	struct hg_sampler *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	files_share(s);
	for (size_t i = 0; i < HG_ARRAY_SIZE(table) && !r; i++) {
		if (table[i]->init)
			r = table[i]->init(s, &s->state[i]);
	}
	if (r) {
		hg_sampler_free(s);
		return r;
	}
	*out = s;
	return 0;
}

static void task_free(struct hg_sampler *s, struct sampler_task *task)
{
	for (size_t i = HG_ARRAY_SIZE(table); i-- > 0;) {
		if (table[i]->task_remove)
			table[i]->task_remove(s, s->state[i], task);
	}
	HASH_DEL(s->by_lane, task);
	s->tasks[task->index] = s->tasks[--s->tasks_count];
	s->tasks[task->index]->index = task->index;
	free(task);
}

void hg_sampler_free(struct hg_sampler *s)
{
	if (!s)
		return;
	s->closing = true;
	while (s->tasks_count)
		task_free(s, s->tasks[s->tasks_count - 1]);
	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		if (table[i]->free && s->state[i])
			table[i]->free(s, s->state[i]);
	}
	free(s->pending);
	free(s);
}

/* --- tasks --- */

/* false: all are members, none may go for this one. */
static bool room_make(struct hg_sampler *s)
{
	struct sampler_task *oldest = NULL;

	if (s->tasks_count < SAMPLER_TASKS_MAX)
		return true;
	for (size_t i = 0; i < s->tasks_count; i++) {
		struct sampler_task *t = s->tasks[i];

		if (!t->gone && (t->role & (HG_ROLEF_TARGET | HG_ROLEF_CLIENT)))
			continue;
		if (!oldest || t->order < oldest->order)
			oldest = t;
	}
	if (!oldest)
		return false;
	hg_sampler_task_remove(s, oldest->lane);
	return true;
}

static void task_tell(struct hg_sampler *s, struct sampler_task *task)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		if (table[i]->task_add)
			table[i]->task_add(s, s->state[i], task);
	}
}

static int task_new(struct hg_sampler *s, uint32_t lane, pid_t tid, pid_t tgid, uint32_t role)
{
	struct sampler_task *task;

	if (!room_make(s)) {
		if (!s->full_told)
			hg_warn("the kernel's own times are read for %d threads only: those of the "
				"others will be missing",
				SAMPLER_TASKS_MAX);
		s->full_told = true;
		return 0;
	}
	task = calloc(1, sizeof(*task));
	if (!task)
		return -ENOMEM;
	task->lane = lane;
	task->role = role;
	task->tid = tid;
	task->tgid = tgid;
	task->order = s->orders++;
	task->index = s->tasks_count;
	s->tasks[s->tasks_count++] = task;
	HASH_ADD(hh, s->by_lane, lane, sizeof(task->lane), task);
	task_tell(s, task);
	return 0;
}

int hg_sampler_task_add(struct hg_sampler *s, uint32_t lane, pid_t tid, pid_t tgid, uint32_t role)
{
	struct sampler_task *task;

	HASH_FIND(hh, s->by_lane, &lane, sizeof(lane), task);
	if (task && (task->tid != tid || task->tgid != tgid)) {
		/* An exec by another thread than the leader gives a task another tid, so other
		 * files. */
		task_free(s, task);
		task = NULL;
	}
	if (!task)
		return task_new(s, lane, tid, tgid, role);
	if (task->role != role) {
		task->role = role;
		task_tell(s, task);
	}
	return 0;
}

void hg_sampler_task_remove(struct hg_sampler *s, uint32_t lane)
{
	struct sampler_task *task;

	HASH_FIND(hh, s->by_lane, &lane, sizeof(lane), task);
	if (task)
		task_free(s, task);
}

int hg_sampler_spin_add(struct hg_sampler *s, const struct hg_spin_seen *spin)
{
	return sampler_word_add(s, spin);
}

/* --- ticks --- */

static int pass_run(struct hg_sampler *s, const struct sampler_pass *pass)
{
	int r = 0;

	for (size_t i = 0; i < s->pending_count && !r; i++)
		r = sampler_write(pass, &s->pending[i]);
	s->pending_count = 0;
	for (size_t i = 0; i < HG_ARRAY_SIZE(table) && !r; i++)
		r = table[i]->sample(s, s->state[i], pass);
	return r;
}

int hg_sampler_tick(struct hg_sampler *s, struct hg_writer *w, uint64_t now_ns)
{
	struct sampler_pass pass = {.w = w, .now_ns = now_ns, .number = ++s->passes};

	return pass_run(s, &pass);
}

int hg_sampler_final(struct hg_sampler *s, struct hg_writer *w, uint64_t now_ns)
{
	struct sampler_pass pass = {.w = w, .now_ns = now_ns, .number = ++s->passes, .final = true};

	return pass_run(s, &pass);
}
