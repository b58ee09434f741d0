/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the tests of the probes: a recording of real programs, made in this process and read back from
 * its file as an array of records. Needs root and BTF.
 */
#ifndef HG_PROBES_FIXTURE_H
#define HG_PROBES_FIXTURE_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "collector/hg_probes.h"
#include "collector/probes_internal.h"
#include "trace/hg_reader.h"
#include "trace/hg_writer.h"

struct recording {
	struct hg_probes *p;
	struct hg_writer *w;
	char path[64];
	struct hg_record *recs; /* after recording_end() */
	size_t n;
	struct hg_reader *reader;
};

static inline void recording_begin(struct recording *r, const struct hg_probes_opts *opts)
{
	static int serial;
	int fd;

	memset(r, 0, sizeof(*r));
	snprintf(r->path, sizeof(r->path), "/tmp/hg-test-%d-%d.hgt", getpid(), serial++);
	fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(hg_writer_open(fd, r->path, &r->w), 0);
	assert_int_equal(hg_probes_open(opts, &r->p), 0);
}

static inline void recording_attach(struct recording *r)
{
	assert_int_equal(hg_probes_attach(r->p), 0);
	assert_int_equal(hg_probes_seed(r->p, r->w), 0);
}

static inline void recording_round(struct recording *r)
{
	assert_true(hg_probes_drain(r->p, r->w, 1 << 20) >= 0);
	assert_int_equal(hg_writer_round(r->w, hg_now_ns()), 0);
}

static inline void recording_run(struct recording *r, uint64_t ms)
{
	uint64_t end_ns = hg_now_ns() + ms * 1000000;

	while (hg_now_ns() < end_ns) {
		struct pollfd fd = {.fd = hg_probes_fd(r->p), .events = POLLIN};

		poll(&fd, 1, 20);
		recording_round(r);
	}
}

/* Detaches, reads the whole file back and removes it. Strings by hg_reader_string(r->reader). */
static inline void recording_end(struct recording *r)
{
	struct hg_cursor_opts opts = {0};
	const struct hg_record *rec;
	struct hg_cursor *cursor;
	size_t size = 0;

	hg_probes_detach(r->p);
	recording_round(r);
	recording_round(r);
	assert_int_equal(hg_writer_close(r->w), 0);
	assert_int_equal(hg_reader_open(r->path, &r->reader), 0);
	assert_int_equal(hg_cursor_open(r->reader, &opts, &cursor), 0);
	while (hg_cursor_next(cursor, &rec) == 1) {
		if (r->n == size) {
			size = size ? 2 * size : 4096;
			r->recs = realloc(r->recs, size * sizeof(*rec));
			assert_non_null(r->recs);
		}
		r->recs[r->n++] = *rec;
	}
	hg_cursor_close(cursor);
	unlink(r->path);
}

static inline void recording_free(struct recording *r)
{
	hg_probes_close(r->p);
	hg_reader_close(r->reader);
	free(r->recs);
}

/* The lane that was introduced (last) with this tid; 0 if none. */
static inline uint64_t recording_lane(const struct recording *r, pid_t tid)
{
	uint64_t lane = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->recs[i].kind == HG_KIND_TASK && r->recs[i].f[HG_TASK_TID] == (uint64_t)tid)
			lane = r->recs[i].f[HG_TASK_LANE];
	}
	return lane;
}

static inline bool is_switch(const struct hg_record *rec)
{
	return rec->kind == HG_KIND_SWITCH || rec->kind == HG_KIND_SWITCH_BLOCK;
}

/* A child that runs fn and ends with the test whatever happens; it waits until it is let go. */
struct child {
	pid_t pid;
	int go;
};

static inline struct child child_start(void (*fn)(void *arg), void *arg)
{
	struct child child;
	int pipes[2];
	char c;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fflush(NULL);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[1]);
		if (read(pipes[0], &c, 1) == 1)
			fn(arg);
		_exit(0);
	}
	close(pipes[0]);
	child.go = pipes[1];
	return child;
}

static inline void child_go(struct child *child)
{
	assert_int_equal(write(child->go, "x", 1), 1);
	close(child->go);
}

/* Of the child as the target, from before it is let go until it ends. */
static inline void recording_of_child(struct recording *r, const struct hg_probes_opts *opts,
				      struct child *child)
{
	recording_begin(r, opts);
	assert_int_equal(hg_probes_root_add(r->p, child->pid, HG_ROLEF_TARGET, 0), 0);
	recording_attach(r);
	child_go(child);
	while (!waitpid(child->pid, NULL, WNOHANG))
		recording_run(r, 20);
	recording_end(r);
}

static inline void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

static inline pid_t gettid_here(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* For main(): 77 with the reason when the tests cannot run here. */
static inline int probes_skip(void)
{
	if (geteuid() != 0) {
		printf("skip: probes need root\n");
		return 77;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		printf("skip: this kernel has no BTF (/sys/kernel/btf/vmlinux)\n");
		return 77;
	}
	return 0;
}

#endif
