/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probes cost, by the kernel's run-time statistics, switched on a tenth of a second in five, as they
 * cost time themselves. Switching needs CAP_SYS_ADMIN each time (bpf_enable_stats in kernel/bpf/syscall.c),
 * which the process that reads names and output of others is not to have: a child keeps it, and knows
 * nothing but two words.
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
#define COST_FIRST_TICK	  4 /* early, so that short recordings have one too */
#define SWITCH_TIMEOUT_MS 100

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

/* Waits for the answer, so that no run is counted outside the two records. */
static void cost_switch(struct hg_cost *c, bool on)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char word = on ? SWITCH_ON : SWITCH_OFF;

	c->on = on;
	if (c->fd < 0)
		return;
	if (write(c->fd, &word, 1) != 1 || poll(&p, 1, SWITCH_TIMEOUT_MS) != 1 ||
	    read(c->fd, &word, 1) != 1) {
		hg_debug("the cost of the probes is not measured any more");
		close(HG_TAKE_FD(c->fd));
	}
}

/* Between the records of on and off is what was measured; outside of them nothing runs up. */
static int cost_write(struct hg_session *s, bool on)
{
	uint64_t now_ns;
	int err = 0;

	if (!on)
		cost_switch(&s->cost, false);
	now_ns = hg_now_ns();
	err = hg_probes_cost_write(s->probes, s->writer, now_ns);
	if (on) {
		s->cost.on_ns = now_ns;
		cost_switch(&s->cost, true);
	} else {
		s->cost.measured_ns += now_ns - s->cost.on_ns;
	}
	return err;
}

int session_cost_tick(struct hg_session *s)
{
	bool on = s->ticks % COST_PERIOD_TICKS == COST_FIRST_TICK;

	return on == s->cost.on ? 0 : cost_write(s, on);
}

int session_cost_end(struct hg_session *s)
{
	return s->cost.on ? cost_write(s, false) : 0;
}

void session_cost_close(struct hg_cost *c)
{
	hg_cleanup_close(&c->fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
	*c = (struct hg_cost){.fd = -1};
}
