/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samplers in a thread of their own. A read of /proc can sleep for a quarter of a second on a busy
 * machine (proc files take locks that a preempted fork or exec holds; seen by recording hourglass with
 * itself), and in that time small rings overflow.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

/* A task to sample from now on, or (tid 0) no more. */
struct change {
	uint32_t lane, role;
	pid_t tid, tgid;
	struct hg_spin_seen *spin; /* not NULL: a word to look at instead */
};

enum request { REQUEST_NONE, REQUEST_TICK, REQUEST_FINAL, REQUEST_STOP };

struct hg_sampling {
	struct hg_sampler *sampler;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* of all below; never held while sampling */
	pthread_cond_t asked;
	enum request request;
	bool busy;
	struct hg_writer *writer;
	int error; /* the first of the writer */
	struct change *changes;
	size_t changes_count, changes_max;
};

static void changes_apply(struct hg_sampling *s, const struct change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		if (c->spin) {
			hg_sampler_spin_add(s->sampler, c->spin);
			free(c->spin);
		} else if (c->tid)
			hg_sampler_task_add(s->sampler, c->lane, c->tid, c->tgid, c->role);
		else
			hg_sampler_task_remove(s->sampler, c->lane);
	}
}

/* Called and returns with the lock held; works without it. */
static void request_serve(struct hg_sampling *s)
{
	hg_autofree struct change *changes = HG_TAKE_PTR(s->changes);
	enum request request = s->request;
	struct hg_writer *writer = s->writer;
	size_t count = s->changes_count;
	int err = 0;

	s->changes_count = s->changes_max = 0;
	s->request = REQUEST_NONE; /* a later one, of the next tick or to stop, stays */
	s->busy = true;
	pthread_mutex_unlock(&s->lock);
	changes_apply(s, changes, count);
	if (request == REQUEST_TICK)
		err = hg_sampler_tick(s->sampler, writer, hg_now_ns());
	else if (request == REQUEST_FINAL)
		err = hg_sampler_final(s->sampler, writer, hg_now_ns());
	pthread_mutex_lock(&s->lock);
	s->busy = false;
	if (!s->error)
		s->error = err;
}

static void *sampling_main(void *arg)
{
	struct hg_sampling *s = arg;

	session_priority_raise(); /* a sample that was preempted half-way says little */
	pthread_mutex_lock(&s->lock);
	while (s->request != REQUEST_STOP) {
		if (s->request == REQUEST_NONE && !s->changes_count)
			pthread_cond_wait(&s->asked, &s->lock);
		else
			request_serve(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int session_sampling_open(struct hg_netns_opener *netns, struct hg_sampling **out)
{
	struct hg_sampling *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	lock_init(&s->lock);
	pthread_cond_init(&s->asked, NULL);
	err = hg_sampler_new(&s->sampler);
	if (!err) {
		hg_sampler_netns_set(s->sampler, netns);
		err = -pthread_create(&s->thread, NULL, sampling_main, s);
		s->started = !err;
	}
	if (err) {
		hg_error("cannot start the samplers: %s", hg_error_text(err));
		session_sampling_free(s);
		return err;
	}
	*out = s;
	return 0;
}

static bool change_add(struct hg_sampling *s, const struct change *change)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	if (s->changes_count == s->changes_max) {
		size_t max = s->changes_max ? 2 * s->changes_max : 64;
		struct change *grown = reallocarray(s->changes, max, sizeof(*grown));

		if (grown) {
			s->changes = grown;
			s->changes_max = max;
		}
	}
	room = s->changes_count < s->changes_max;
	if (room) /* else there is no memory: it is not sampled */
		s->changes[s->changes_count++] = *change;
	pthread_cond_signal(&s->asked);
	pthread_mutex_unlock(&s->lock);
	return room;
}

void session_sampling_spin_add(struct hg_sampling *s, const struct hg_spin_seen *spin)
{
	hg_autofree struct hg_spin_seen *copy = malloc(sizeof(*copy));

	if (!copy)
		return;
	*copy = *spin;
	if (change_add(s, &(struct change){.spin = copy}))
		HG_TAKE_PTR(copy);
}

void session_sampling_task_add(struct hg_sampling *s, uint32_t lane, pid_t tid, pid_t tgid,
			       uint32_t role)
{
	change_add(s, &(struct change){.lane = lane, .tid = tid, .tgid = tgid, .role = role});
}

void session_sampling_task_remove(struct hg_sampling *s, uint32_t lane)
{
	change_add(s, &(struct change){.lane = lane});
}

static int ask(struct hg_sampling *s, struct hg_writer *w, enum request request)
{
	int err;

	pthread_mutex_lock(&s->lock);
	s->writer = w;
	s->request = request;
	err = s->error;
	pthread_cond_signal(&s->asked);
	pthread_mutex_unlock(&s->lock);
	return err;
}

int session_sampling_tick(struct hg_sampling *s, struct hg_writer *w)
{
	return ask(s, w, REQUEST_TICK);
}

int session_sampling_final(struct hg_sampling *s, struct hg_writer *w)
{
	return ask(s, w, REQUEST_FINAL);
}

int session_sampling_idle(struct hg_sampling *s)
{
	int idle;

	pthread_mutex_lock(&s->lock);
	idle = s->error ? s->error : !s->busy && s->request == REQUEST_NONE;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void session_sampling_free(struct hg_sampling *s)
{
	if (!s)
		return;
	if (s->started) {
		pthread_mutex_lock(&s->lock);
		s->request = REQUEST_STOP;
		pthread_cond_signal(&s->asked);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	if (s->sampler)
		hg_sampler_free(s->sampler);
	pthread_cond_destroy(&s->asked);
	pthread_mutex_destroy(&s->lock);
	for (size_t i = 0; i < s->changes_count; i++)
		free(s->changes[i].spin);
	free(s->changes);
	free(s);
}
