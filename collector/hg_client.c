/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "base/hg_log.h"

#define OUTPUT_BYTES	 65536
#define OUTPUT_READS_MAX 8

enum { WATCH_OUT = 0, WATCH_ERR = 1, WATCH_PID = 2 };

/* One of CMD's outputs on its way to the same one of ours. */
struct output {
	int in, out;   /* in is -1 at its end */
	bool blocking; /* out has no O_NONBLOCK: write only what poll promises */
	bool terminal, line_open;
	bool waits_for_out; /* the epoll set watches out, not in */
	int error;	    /* of the first write that failed: nothing is passed on from there */
	char *pending;	    /* read, and not yet written */
	size_t pending_from, pending_to;
	struct hg_lines lines;
};

struct hg_client {
	pid_t pid;
	int pid_fd, epoll_fd, release_fd, report_fd;
	bool ended, terminal_given, store_ended;
	int status;
	char *name;
	struct hg_line_store *store;
	struct output outputs[2];
};

/* What the child says before exec, and after an exec that failed. */
enum child_stage { CHILD_READY, CHILD_USER, CHILD_COMMAND, CHILD_EXEC };
struct child_report {
	int stage, error;
};

/* -- in the child -- */

static void __attribute__((noreturn)) child_fail(int fd, enum child_stage stage, int error)
{
	struct child_report report = {.stage = stage, .error = error};
	ssize_t n = write(fd, &report, sizeof(report));

	(void)n;
	_exit(error == ENOENT ? 127 : 126);
}

static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* As execvp searches, so that a missing command is known before the probes are attached. 0 or errno. */
static int command_look(const char *command)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];
	int error = ENOENT;

	if (strchr(command, '/'))
		return executable(command);
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		const char *end = strchrnul(path, ':');
		int n = snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)(end - path), path,
				 end > path ? "/" : "", command);

		if (n > 0 && (size_t)n < sizeof(candidate)) {
			int e = executable(candidate);

			if (!e)
				return 0;
			if (e == EACCES)
				error = EACCES;
		}
		if (!*end)
			return error;
		path = end + 1;
	}
}

static void __attribute__((noreturn))
child_run(const struct hg_client_opts *opts, const struct hg_user *user, int release_fd,
	  int report_fd)
{
	struct child_report report = {.stage = CHILD_READY};
	char go;
	int err;

	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	err = hg_user_become(user);
	if (err)
		child_fail(report_fd, CHILD_USER, -err);
	err = command_look(opts->argv[0]);
	if (err)
		child_fail(report_fd, CHILD_COMMAND, err);
	if (write(report_fd, &report, sizeof(report)) != sizeof(report))
		_exit(126);
	if (read(release_fd, &go, 1) != 1)
		_exit(126); /* the parent ended */
	if (opts->mask)
		sigprocmask(SIG_SETMASK, opts->mask, NULL);
	if (opts->files)
		setrlimit(RLIMIT_NOFILE, opts->files); /* lower or as it is: that may not fail */
	execvp(opts->argv[0], opts->argv);
	child_fail(report_fd, CHILD_EXEC, errno);
}

/* -- start -- */

static void report_explain(const struct hg_client *c, const struct child_report *r,
			   const char *user)
{
	if (r->stage == CHILD_USER)
		hg_error("cannot become user %s to run %s: %s", user, c->name, strerror(r->error));
	else if (r->error == ENOENT)
		hg_error("%s: command not found by user %s", c->name, user);
	else
		hg_error("cannot run %s as user %s: %s", c->name, user, strerror(r->error));
}

static int child_wait_ready(struct hg_client *c, const char *user)
{
	struct child_report report;
	ssize_t n;

	do {
		n = read(c->report_fd, &report, sizeof(report));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(report)) {
		hg_error("the process that was to run %s ended at once", c->name);
		return -ECHILD;
	}
	if (report.stage == CHILD_READY)
		return 0;
	report_explain(c, &report, user);
	return report.error ? -report.error : -EIO;
}

/*
 * A reader of ours that stops reading must not stop us: our own open of a pipe or terminal can have O_NONBLOCK without
 * changing it for those who share ours. Files do not block, and a second open would not share their offset.
 */
static int output_reopen(int fd, bool *blocking)
{
	char path[32];
	struct stat st;
	int own = -1;

	*blocking = true;
	if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || isatty(fd))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (own >= 0)
			*blocking = false;
	}
	return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int watch_add(struct hg_client *c, int fd, uint32_t events, uint32_t id)
{
	struct epoll_event ev = {.events = events, .data.u32 = id};

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int output_init(struct hg_client *c, uint32_t id, int in, int fd)
{
	struct output *o = &c->outputs[id];

	o->in = in;
	o->out = output_reopen(fd, &o->blocking);
	o->terminal = isatty(fd);
	o->pending = malloc(OUTPUT_BYTES);
	if (!o->pending)
		return -ENOMEM;
	hg_lines_init(&o->lines, fd, hg_line_store_add, c->store);
	if (fcntl(in, F_SETFL, O_NONBLOCK))
		return -errno;
	return watch_add(c, in, EPOLLIN, id);
}

struct client_pipes {
	int out[2], err[2], release[2], report[2];
};

static void pipes_close(struct client_pipes *p)
{
	int *fds = (int *)p;

	for (size_t i = 0; i < sizeof(*p) / sizeof(int); i++)
		hg_cleanup_close(&fds[i]);
}

static int pipes_open(struct client_pipes *p)
{
	memset(p, 0xff, sizeof(*p));
	if (pipe2(p->out, O_CLOEXEC) || pipe2(p->err, O_CLOEXEC) || pipe2(p->release, O_CLOEXEC) ||
	    pipe2(p->report, O_CLOEXEC))
		return -errno;
	return 0;
}

static int client_fork(struct hg_client *c, const struct hg_client_opts *opts,
		       const struct hg_user *user, struct client_pipes *p)
{
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (c->pid == 0) {
		/* Ours go at exec, except the end of release that would keep it from ending with us. */
		close(p->release[1]);
		if (dup2(p->out[1], STDOUT_FILENO) < 0 || dup2(p->err[1], STDERR_FILENO) < 0)
			child_fail(p->report[1], CHILD_COMMAND, errno);
		child_run(opts, user, p->release[0], p->report[1]);
	}
	setpgid(c->pid, c->pid); /* the child does too: whoever is first */
	c->release_fd = HG_TAKE_FD(p->release[1]);
	c->report_fd = HG_TAKE_FD(p->report[0]);
	return 0;
}

static int client_watch(struct hg_client *c, struct client_pipes *p)
{
	int err;

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->pid_fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->epoll_fd < 0 || c->pid_fd < 0)
		return -errno;
	err = watch_add(c, c->pid_fd, EPOLLIN, WATCH_PID);
	if (!err)
		err = output_init(c, WATCH_OUT, HG_TAKE_FD(p->out[0]), STDOUT_FILENO);
	if (!err)
		err = output_init(c, WATCH_ERR, HG_TAKE_FD(p->err[0]), STDERR_FILENO);
	return err;
}

static int client_begin(struct hg_client *c, const struct hg_client_opts *opts,
			const struct hg_user *user)
{
	struct client_pipes pipes;
	char name[32];
	int err;

	err = pipes_open(&pipes);
	if (!err)
		err = client_fork(c, opts, user, &pipes);
	if (!err)
		err = client_watch(c, &pipes);
	pipes_close(&pipes);
	if (err) {
		hg_error("cannot start %s: %s", c->name, hg_error_text(err));
		return err;
	}
	snprintf(name, sizeof(name), "%u", user->uid);
	return child_wait_ready(c, user->name[0] ? user->name : name);
}

int hg_client_start(const struct hg_client_opts *opts, struct hg_client **out)
{
	struct hg_user user;
	struct hg_client *c;
	int err;

	err = hg_user_find(opts->user, &user);
	if (err) {
		hg_error("cannot run %s as user %s: there is no such user", opts->argv[0],
			 opts->user);
		return err;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->pid_fd = c->epoll_fd = c->release_fd = c->report_fd = -1;
	for (int i = 0; i < 2; i++)
		c->outputs[i].in = c->outputs[i].out = -1;
	c->store = opts->store;
	c->name = strdup(opts->argv[0]);
	err = c->name ? client_begin(c, opts, &user) : -ENOMEM;
	if (err) {
		hg_client_free(c);
		return err;
	}
	*out = c;
	return 0;
}

pid_t hg_client_pid(const struct hg_client *c)
{
	return c->pid;
}

int hg_client_release(struct hg_client *c)
{
	ssize_t n = write(c->release_fd, "g", 1);
	int err = n == 1 ? 0 : -errno;

	close(HG_TAKE_FD(c->release_fd));
	return err;
}

int hg_client_fd(const struct hg_client *c)
{
	return c->epoll_fd;
}

/* -- output -- */

static void output_watch(struct hg_client *c, uint32_t id, bool wait_for_out)
{
	struct output *o = &c->outputs[id];

	if (o->waits_for_out == wait_for_out)
		return;
	if (o->in >= 0 && wait_for_out)
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, o->in, NULL);
	else if (o->in >= 0)
		watch_add(c, o->in, EPOLLIN, id);
	if (wait_for_out)
		watch_add(c, o->out, EPOLLOUT, id);
	else
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, o->out, NULL);
	o->waits_for_out = wait_for_out;
}

static void output_close_in(struct hg_client *c, struct output *o)
{
	if (o->in < 0)
		return;
	if (!o->waits_for_out)
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, o->in, NULL);
	close(HG_TAKE_FD(o->in));
}

/* Bytes that can be written without waiting; 0 for none now. */
static size_t output_room(const struct output *o, size_t want)
{
	struct pollfd p = {.fd = o->out, .events = POLLOUT};

	if (!o->blocking)
		return want;
	if (poll(&p, 1, 0) == 0)
		return 0;
	return HG_MIN(want, PIPE_BUF);
}

/*
 * Our reader is gone: CMD must see that, as it would without us. Of a full disk it would see an error, which we cannot
 * give it; it is let run, and what it prints is kept in the trace.
 */
static void output_broken(struct hg_client *c, struct output *o, int error)
{
	o->error = error;
	o->pending_from = o->pending_to = 0;
	if (error == EPIPE)
		output_close_in(c, o);
}

/* True when nothing is pending. */
static bool output_write(struct hg_client *c, struct output *o)
{
	while (o->pending_from < o->pending_to) {
		size_t room = output_room(o, o->pending_to - o->pending_from);
		ssize_t n = room ? write(o->out, o->pending + o->pending_from, room) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno == EAGAIN))
			return false;
		if (n < 0) {
			output_broken(c, o, errno);
			return true;
		}
		o->line_open = o->terminal && o->pending[o->pending_from + (size_t)n - 1] != '\n';
		o->pending_from += (size_t)n;
	}
	return true;
}

/* 1: read something, 0: nothing now or at its end, or -errno of the store. */
static int output_read(struct hg_client *c, struct output *o)
{
	ssize_t n = read(o->in, o->pending, OUTPUT_BYTES);
	int err;

	if (n < 0)
		return errno == EINTR ? 1 : 0;
	if (n == 0) {
		output_close_in(c, o);
		return 0;
	}
	o->pending_from = 0;
	o->pending_to = o->error ? 0 : (size_t)n;
	err = hg_lines_feed(&o->lines, o->pending, (size_t)n, hg_now_ns());
	return err ? err : 1;
}

/* 1 if there may be more, 0 if all there is now is passed on, -EAGAIN if our reader is slow, or -errno of the store. */
static int output_pump(struct hg_client *c, struct output *o)
{
	int err = 0;

	for (int i = 0; i < OUTPUT_READS_MAX; i++) {
		int more;

		if (!output_write(c, o))
			return err ? err : -EAGAIN;
		if (o->in < 0)
			return err;
		more = output_read(c, o);
		if (more < 0)
			err = more; /* the store's trouble is not CMD's: go on passing through */
		else if (more == 0)
			return err;
	}
	return err ? err : 1;
}

/* -- life -- */

static void exec_failure_explain(struct hg_client *c)
{
	struct child_report report;

	if (fcntl(c->report_fd, F_SETFL, O_NONBLOCK) == 0 &&
	    read(c->report_fd, &report, sizeof(report)) == sizeof(report))
		hg_error("cannot run %s: %s", c->name, strerror(report.error));
}

static void client_reap(struct hg_client *c)
{
	pid_t pid = waitpid(c->pid, &c->status, WNOHANG);

	if (pid == 0 || (pid < 0 && errno == EINTR))
		return;
	c->ended = true;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, c->pid_fd, NULL);
	if (c->terminal_given) { /* we are in the background, where tcsetpgrp raises SIGTTOU */
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(STDIN_FILENO, getpgrp());
	}
	exec_failure_explain(c);
}

static int client_output_end(struct hg_client *c)
{
	int err = 0;

	if (c->store_ended)
		return 0;
	c->store_ended = true;
	for (int i = 0; i < 2; i++) {
		/* Ended by a signal, it may have been in the middle of a line. */
		int e = hg_lines_end(&c->outputs[i].lines, hg_now_ns(),
				     WIFEXITED(c->status) && c->outputs[i].error != EPIPE);

		err = err ? err : e;
	}
	if (!err)
		err = hg_line_store_end(c->store);
	return err;
}

int hg_client_poll(struct hg_client *c)
{
	bool done = true;
	int err = 0;

	/* Before reading: what CMD wrote before it ended is then in the pipes. */
	if (!c->ended)
		client_reap(c);
	for (uint32_t i = 0; i < 2; i++) {
		struct output *o = &c->outputs[i];
		int more = output_pump(c, o);

		output_watch(c, i, more == -EAGAIN);
		if (more < 0 && more != -EAGAIN)
			err = more;
		done = done && more == 0;
	}
	if (c->ended && done) {
		int e = client_output_end(c);

		err = err ? err : e;
		return err;
	}
	return err ? err : 1;
}

bool hg_client_ended(const struct hg_client *c)
{
	return c->ended;
}

int hg_client_status(const struct hg_client *c)
{
	return c->status;
}

int hg_client_output_error(const struct hg_client *c, int *fd_out)
{
	for (int i = 0; i < 2; i++) {
		if (!c->outputs[i].error)
			continue;
		*fd_out = i == WATCH_OUT ? STDOUT_FILENO : STDERR_FILENO;
		return -c->outputs[i].error;
	}
	return 0;
}

bool hg_client_line_open(const struct hg_client *c)
{
	return c->outputs[0].line_open || c->outputs[1].line_open;
}

void hg_client_stopped(struct hg_client *c)
{
	siginfo_t info = {0};

	if (c->ended || waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG) || !info.si_pid)
		return;
	if (info.si_status != SIGTTIN && info.si_status != SIGTTOU)
		return;
	if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcsetpgrp(STDIN_FILENO, c->pid))
		return;
	c->terminal_given = true;
	kill(-c->pid, SIGCONT);
}

void hg_client_kill(struct hg_client *c, int signo)
{
	if (!c->ended)
		kill(-c->pid, signo);
}

void hg_client_free(struct hg_client *c)
{
	if (!c)
		return;
	hg_cleanup_close(&c->release_fd); /* a child that still waits ends by this */
	if (c->pid > 0 && !c->ended)
		waitpid(c->pid, &c->status, 0);
	for (int i = 0; i < 2; i++) {
		struct output *o = &c->outputs[i];

		hg_cleanup_close(&o->in);
		hg_cleanup_close(&o->out);
		free(o->pending);
		hg_lines_clear(&o->lines);
	}
	hg_cleanup_close(&c->report_fd);
	hg_cleanup_close(&c->pid_fd);
	hg_cleanup_close(&c->epoll_fd);
	free(c->name);
	free(c);
}
