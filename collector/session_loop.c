/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording waits for: one epoll set, one row per source. Each step does a bounded amount of work
 * for every source that is ready, so that none starves another.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

#define DRAIN_PERIOD_MS	 20
#define DRAIN_BUDGET	 4096 /* records a ring and round */
#define TICK_PERIOD_MS	 100
#define TICKS_PER_SECOND 10
#define TICKS_PER_REPORT 5
#define KILL_GRACE_MS	 2000
#define EVENTS_MAX	 16

enum source {
	SOURCE_DRAIN,
	SOURCE_RINGS,
	SOURCE_TICK,
	SOURCE_END,
	SOURCE_SIGNAL,
	SOURCE_CLIENT,
	SOURCE_LOG,
	SOURCE_TARGET,
	SOURCE_COST
};

static uint64_t timer_read(int fd)
{
	uint64_t expirations = 0;

	if (read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return 0;
	return expirations;
}

static void end_for(struct hg_session *s, int reason)
{
	if (!s->result->end_reason)
		s->result->end_reason = reason;
}

/* -- sources: each returns 0 or -errno of the writer -- */

static int rings_drain(struct hg_session *s)
{
	long moved = hg_probes_drain(s->probes, s->writer, DRAIN_BUDGET);

	if (moved < 0)
		return (int)moved;
	s->events += (uint64_t)moved;
	s->more = moved >= DRAIN_BUDGET;
	return hg_writer_round(s->writer, hg_now_ns());
}

static int on_drain(struct hg_session *s, uint32_t index)
{
	(void)index;
	timer_read(s->drain_fd);
	return rings_drain(s);
}

static int on_rings(struct hg_session *s, uint32_t index)
{
	(void)index;
	return rings_drain(s);
}

static void progress_show(struct hg_session *s)
{
	struct hg_session_progress p = {.events = s->events, .recording = !s->over};
	struct hg_writer_stats stats;

	if (!s->opts->progress || s->ticks % TICKS_PER_REPORT)
		return;
	if (s->client && hg_client_line_open(s->client))
		return;
	hg_writer_stats_get(s->writer, &stats);
	p.elapsed_ns = hg_now_ns() - s->begin_ns;
	p.bytes = stats.bytes_out;
	p.lost = hg_probes_lost(s->probes);
	s->opts->progress(s->opts->progress_arg, &p);
}

static void progress_hide(const struct hg_session *s)
{
	if (s->opts->progress)
		s->opts->progress(s->opts->progress_arg, NULL);
}

static int on_tick(struct hg_session *s, uint32_t index)
{
	bool second;
	int err;

	(void)index;
	if (!timer_read(s->tick_fd))
		return 0;
	s->ticks++;
	second = s->ticks % TICKS_PER_SECOND == 0;
	/* In this order: the stream's times do not decrease, and samples come last. */
	err = session_totals(s, second);
	if (!err)
		err = session_cost_tick(s);
	if (!err)
		err = hg_probes_seed_moved(s->probes, s->writer);
	if (!err)
		err = session_sampling_tick(s->sampling, s->writer);
	session_targets_look(&s->targets);
	if (!err && second)
		err = session_lanes_promote(s->lanes, s->probes, s->writer);
	progress_show(s);
	return err;
}

static int on_end(struct hg_session *s, uint32_t index)
{
	(void)index;
	if (timer_read(s->end_fd))
		end_for(s, HG_END_SECS);
	return 0;
}

static int on_signal(struct hg_session *s, uint32_t index)
{
	struct signalfd_siginfo info;

	(void)index;
	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			if (s->client)
				hg_client_stopped(s->client);
			continue;
		}
		if (s->over || s->result->end_reason == HG_END_SIGNAL)
			s->kills++;
		end_for(s, HG_END_SIGNAL);
		if (info.ssi_signo == SIGHUP && s->client) /* its terminal is gone as well */
			hg_client_kill(s->client, SIGHUP);
	}
	return 0;
}

/* 1 while CMD runs or its output is not passed on, 0, or -errno of the writer. */
static int client_step(struct hg_session *s)
{
	int running, err = 0;

	progress_hide(s);
	running = hg_client_poll(s->client);
	if (hg_client_ended(s->client) && !s->client_end_marked) {
		s->client_end_marked = true;
		s->result->command_ended = true;
		s->result->command_status = hg_client_status(s->client);
		if (s->writer)
			err = session_mark(s, HG_MARK_CLIENT_END,
					   (unsigned int)s->result->command_status);
		end_for(s, HG_END_CLIENT);
	}
	return err ? err : running;
}

static int on_client(struct hg_session *s, uint32_t index)
{
	int running = client_step(s);

	(void)index;
	return HG_MIN(running, 0);
}

static int on_log(struct hg_session *s, uint32_t index)
{
	(void)index;
	return hg_client_log_poll(s->log);
}

/* The process is gone, but its children, which are the target too, may go on: see targets_look. */
static int on_target(struct hg_session *s, uint32_t index)
{
	session_targets_gone(&s->targets, index);
	return 0;
}

static int on_cost(struct hg_session *s, uint32_t index)
{
	(void)index;
	return session_cost_answer(s);
}

static int (*const handlers[])(struct hg_session *s, uint32_t index) = {
	[SOURCE_DRAIN] = on_drain, [SOURCE_RINGS] = on_rings,	[SOURCE_TICK] = on_tick,
	[SOURCE_END] = on_end,	   [SOURCE_SIGNAL] = on_signal, [SOURCE_CLIENT] = on_client,
	[SOURCE_LOG] = on_log,	   [SOURCE_TARGET] = on_target, [SOURCE_COST] = on_cost,
};

/* -- the set -- */

static int watch(struct hg_session *s, int fd, enum source source, uint32_t index)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)index << 32 | source};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int timer_open(double seconds, bool periodic)
{
	struct itimerspec spec = {0};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	spec.it_value.tv_sec = (time_t)seconds;
	spec.it_value.tv_nsec =
		HG_MAX((long)((seconds - floor(seconds)) * 1e9), seconds < 1 ? 1 : 0);
	if (periodic)
		spec.it_interval = spec.it_value;
	if (timerfd_settime(fd, 0, &spec, NULL)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int timers_watch(struct hg_session *s)
{
	int err;

	s->drain_fd = timer_open(DRAIN_PERIOD_MS / 1e3, true);
	s->tick_fd = timer_open(TICK_PERIOD_MS / 1e3, true);
	if (s->drain_fd < 0 || s->tick_fd < 0)
		return HG_MIN(s->drain_fd, s->tick_fd);
	err = watch(s, s->drain_fd, SOURCE_DRAIN, 0);
	return err ? err : watch(s, s->tick_fd, SOURCE_TICK, 0);
}

/* From the recording's begin on: the samples before it can take a while. */
int session_loop_end_after(struct hg_session *s, double seconds)
{
	s->end_fd = timer_open(seconds, false);
	return s->end_fd < 0 ? s->end_fd : watch(s, s->end_fd, SOURCE_END, 0);
}

static int targets_watch(struct hg_session *s)
{
	int err = 0;

	for (size_t i = 0; i < s->targets.count && !err; i++) {
		if (s->targets.v[i].type == HG_TARGET_PROCESS)
			err = watch(s, s->targets.v[i].fd, SOURCE_TARGET, (uint32_t)i);
	}
	return err;
}

int session_loop_open(struct hg_session *s)
{
	int err;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	err = watch(s, s->signal_fd, SOURCE_SIGNAL, 0);
	if (!err)
		err = watch(s, hg_probes_fd(s->probes), SOURCE_RINGS, 0);
	if (!err && s->cost.fd >= 0)
		err = watch(s, s->cost.fd, SOURCE_COST, 0);
	if (!err && s->client)
		err = watch(s, hg_client_fd(s->client), SOURCE_CLIENT, 0);
	if (!err && s->log)
		err = watch(s, hg_client_log_fd(s->log), SOURCE_LOG, 0);
	if (!err)
		err = targets_watch(s);
	return err ? err : timers_watch(s);
}

void session_loop_close(struct hg_session *s)
{
	hg_cleanup_close(&s->drain_fd);
	hg_cleanup_close(&s->tick_fd);
	hg_cleanup_close(&s->end_fd);
	hg_cleanup_close(&s->epoll_fd);
}

static int step(struct hg_session *s)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(s->epoll_fd, events, EVENTS_MAX, s->more ? 0 : -1);
	int err = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return rings_drain(s);
	for (int i = 0; i < n && !err; i++)
		err = handlers[(uint32_t)events[i].data.u64](s,
							     (uint32_t)(events[i].data.u64 >> 32));
	return err;
}

/* With -a the machine is the target, and that does not end. */
static void targets_look(struct hg_session *s)
{
	if (s->targets.count && !s->targets.alive && !s->opts->all &&
	    !hg_probes_members(s->probes, HG_ROLEF_TARGET))
		end_for(s, HG_END_TARGET);
}

int session_loop_record(struct hg_session *s)
{
	int err = 0;

	while (!err && !s->result->end_reason) {
		err = step(s);
		if (!err)
			targets_look(s);
	}
	progress_hide(s);
	return err;
}

int session_loop_wait_samples(struct hg_session *s)
{
	struct pollfd p = {.fd = hg_probes_fd(s->probes), .events = POLLIN};
	int idle, err = 0;

	while (!err && !(idle = session_sampling_idle(s->sampling))) {
		poll(&p, 1, 1);
		err = rings_drain(s);
	}
	return err ? err : HG_MIN(idle, 0);
}

/* The probes are detached: what is in the rings now is all. */
int session_loop_drain_all(struct hg_session *s)
{
	uint64_t before;
	int err;

	do {
		before = s->events;
		err = rings_drain(s);
	} while (!err && s->events != before);
	return err;
}

/* -- after the recording -- */

/* Ctrl-C as the terminal would have sent it, so that clients print their summary; then harder. */
static void client_end_harder(struct hg_session *s, uint64_t *next_ns)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
	unsigned int i = HG_MIN(s->kills, (unsigned int)HG_ARRAY_SIZE(signals)) - 1;

	s->result->command_killed = true;
	hg_client_kill(s->client, signals[i]);
	*next_ns = hg_now_ns() + KILL_GRACE_MS * UINT64_C(1000000);
}

static void client_wait_ready(struct hg_session *s)
{
	struct pollfd fds[] = {{.fd = hg_client_fd(s->client), .events = POLLIN},
			       {.fd = s->signal_fd, .events = POLLIN}};

	poll(fds, HG_ARRAY_SIZE(fds), 250);
	if (fds[1].revents)
		on_signal(s, 0);
}

void session_loop_wait_client(struct hg_session *s)
{
	unsigned int kills_done = 0;
	uint64_t next_ns = 0;
	bool told = false;
	int running;

	while (s->client && (running = client_step(s)) != 0) {
		if (running < 0 && s->writer) {
			/* The disk is full: CMD still may finish. The error shows again when the file is closed. */
			hg_line_store_writer_set(s->lines, NULL);
			continue;
		}
		if (!told && !hg_client_ended(s->client)) {
			told = true;
			hg_info("recording has ended; %s still runs (Ctrl-C ends it)",
				s->opts->command[0]);
		}
		client_wait_ready(s);
		if (s->kills && hg_client_ended(s->client))
			return; /* only whoever reads our output is slow: it had its time */
		if (kills_done && hg_now_ns() > next_ns)
			s->kills++;
		if (s->kills > kills_done) {
			client_end_harder(s, &next_ns);
			kills_done = s->kills;
		}
		if (s->writer)
			hg_writer_round(s->writer, hg_now_ns());
	}
}
