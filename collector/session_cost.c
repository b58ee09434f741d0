/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probes cost, by the kernel's run-time statistics, switched on a tenth of a second in five, as they
 * cost time themselves. Switching needs CAP_SYS_ADMIN each time (bpf_enable_stats in kernel/bpf/syscall.c),
 * which the process that reads names and output of others is not to have: a child keeps it, and knows
 * nothing but two words. Nobody waits for it: the kernel patches its code, which takes 10 to 30 ms on a busy
 * machine, and a ring of 128 KiB is full in less.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/session_parts.h"

#define COST_PERIOD_TICKS 50
#define COST_FIRST_TICK	  4			 /* early, so that short recordings have one too */
#define COST_NS_MIN	  (HG_NSEC_PER_SEC / 20) /* at least, and at most a tick more */

enum { SWITCH_OFF = '0', SWITCH_ON = '1' };

/* Before the probes are attached, so that it holds none of them. */
static void __attribute__((noreturn)) switch_run(struct hg_probes *p, int fd)
{
	char word;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || dup2(fd, 3) != 3 || close_range(4, ~0U, 0) ||
	    session_privilege_switch_only())
		_exit(1);
	while (read(3, &word, 1) == 1) {
		hg_probes_cost_enable(p, word == SWITCH_ON);
		if (write(3, &word, 1) != 1)
			break;
	}
	_exit(0);
}

int session_cost_open(struct hg_cost *c, struct hg_probes *p)
{
	int fds[2];

	*c = (struct hg_cost){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	c->pid = fork();
	if (c->pid == 0)
		switch_run(p, fds[1]);
	close(fds[1]);
	if (c->pid < 0) {
		close(fds[0]);
		return -errno;
	}
	c->fd = fds[0];
	return 0;
}

static void cost_switch(struct hg_cost *c, bool on)
{
	char word = on ? SWITCH_ON : SWITCH_OFF;

	if (write(c->fd, &word, 1) == 1) {
		c->state = on ? HG_COST_TURNS_ON : HG_COST_TURNS_OFF;
		return;
	}
	hg_debug("the cost of the probes is not measured any more");
	close(HG_TAKE_FD(c->fd));
}

/* Both records are written while statistics are on, so that what they enclose is exact however long switching takes. */
static int cost_begin(struct hg_session *s)
{
	struct hg_cost *c = &s->cost;

	c->state = HG_COST_ON;
	c->begin_ns = hg_now_ns();
	c->begin_run_ns = hg_probes_cost_ns(s->probes);
	return hg_probes_cost_write(s->probes, s->writer, c->begin_ns, false);
}

static int cost_finish(struct hg_session *s)
{
	struct hg_cost *c = &s->cost;
	uint64_t now_ns = hg_now_ns();

	c->measured_ns += now_ns - c->begin_ns;
	c->run_ns += hg_probes_cost_ns(s->probes) - c->begin_run_ns;
	return hg_probes_cost_write(s->probes, s->writer, now_ns, true);
}

int session_cost_tick(struct hg_session *s)
{
	struct hg_cost *c = &s->cost;
	int err = 0;

	if (c->fd < 0)
		return 0;
	if (c->state == HG_COST_OFF && s->ticks % COST_PERIOD_TICKS == COST_FIRST_TICK)
		cost_switch(c, true);
	else if (c->state == HG_COST_ON && hg_now_ns() - c->begin_ns >= COST_NS_MIN) {
		err = cost_finish(s);
		cost_switch(c, false);
	}
	return err;
}

int session_cost_answer(struct hg_session *s)
{
	struct hg_cost *c = &s->cost;
	char word;

	if (read(c->fd, &word, 1) != 1) {
		hg_debug("the child that switches BPF's statistics has ended");
		close(HG_TAKE_FD(c->fd));
		return 0;
	}
	if (c->state == HG_COST_TURNS_ON)
		return cost_begin(s);
	c->state = HG_COST_OFF;
	return 0;
}

int session_cost_end(struct hg_session *s)
{
	return s->cost.fd >= 0 && s->cost.state == HG_COST_ON ? cost_finish(s) : 0;
}

void session_cost_close(struct hg_cost *c)
{
	hg_cleanup_close(&c->fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
	*c = (struct hg_cost){.fd = -1};
}
