/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time without an active lane goes to what ends it. */
#include <string.h>

#include "analysis/model_syscalls.h"
#include "analysis/sweep.h"
#include "base/hg_base.h"

/*
 * What is sent to a task on the same machine arrives within the sender's own call, unless something held it on its way: a
 * queueing discipline, a relay of packets, a retransmission. Then a softirq at an interrupt's or timer's end delivers it.
 */
static bool is_late(const struct hg_sweep_lane *l)
{
	return l->leaf == HG_LEAF_BLOCKED_NET && hg_wake_is_softirq(l->ctx);
}

/*
 * The part of the lane's time in its present state in which it waits for the softirqs of a full CPU: for what they will
 * receive for it, for room to run, or while they interrupt it.
 */
static double softirq_part(const struct hg_sweep *s, const struct hg_sweep_lane *l,
			   unsigned int *cpu)
{
	*cpu = is_late(l) ? l->ended_on - 1 : l->cpu;
	if (!l->present || !hg_sweep_cpu_full(s, *cpu))
		return 0;
	if (hg_leaf_is_running((enum hg_leaf)l->leaf))
		return hg_sweep_taken_part(s, l);
	return is_late(l) || hg_leaf_is_runnable((enum hg_leaf)l->leaf);
}

void hg_sweep_client_account(struct hg_sweep *s, struct hg_sweep_lane *l, uint64_t t)
{
	uint64_t from = HG_MAX(l->since_ns, s->idle_start_ns);
	uint64_t ns, taken_ns;
	unsigned int cpu;
	double part;

	if (l->idle_epoch != s->idle_epoch) {
		memset(l->idle_ns, 0, sizeof(l->idle_ns));
		l->idle_late_ns = l->idle_softirq_ns = 0;
		l->idle_epoch = s->idle_epoch;
	}
	if (t <= from)
		return;
	ns = t - from;
	part = l->client ? softirq_part(s, l, &cpu) : 0;
	if (part > 0) {
		taken_ns = (uint64_t)(part * (double)ns);
		l->idle_softirq_ns += taken_ns;
		l->idle_softirq_cpu = cpu;
		ns -= taken_ns;
	}
	l->idle_ns[l->leaf] += ns;
	if (is_late(l))
		l->idle_late_ns += ns;
}

static void idle_give(struct hg_sweep *s, struct hg_blame_row *row, double part)
{
	if (!row || part <= 0)
		return;
	for (unsigned int i = 0; i <= s->sub; i++)
		row->sub_ns[i] += s->idle_pending[i] * part;
}

/*
 * got: the target's lane that goes on. If that one did not get what it waited for in the sender's own call either (late),
 * then what the sender waited for was still on its way.
 */
static void idle_give_client(struct hg_sweep *s, uint32_t sender, const struct hg_sweep_lane *got)
{
	struct hg_sweep_lane *l = &s->ls[sender];
	double sum = 0, busy = 0, timer = 0, net, softirq;
	bool late = is_late(got), full = late && hg_sweep_cpu_full(s, got->ended_on - 1);
	unsigned int cpu;

	hg_sweep_client_account(s, l, s->now_ns);
	for (int i = 0; i < HG_LEAVES; i++) {
		double ns = (double)l->idle_ns[i];

		sum += ns;
		if (hg_leaf_is_running((enum hg_leaf)i) || hg_leaf_is_runnable((enum hg_leaf)i) ||
		    i == HG_LEAF_THROTTLED)
			busy += ns;
		else if (i == HG_LEAF_BLOCKED_TIMER)
			timer += ns;
	}
	softirq = (double)l->idle_softirq_ns;
	sum += softirq;
	if (sum <= 0) {
		idle_give(s, hg_sweep_row(s, HG_BLAME_OTHER, 0), 1);
		return;
	}
	net = late ? sum - busy - timer - softirq : (double)l->idle_late_ns;
	cpu = l->idle_softirq_cpu;
	if (full) {
		softirq += net;
		net = 0;
		cpu = got->ended_on - 1;
	}
	idle_give(s, hg_sweep_row(s, HG_BLAME_CLIENT_BUSY, 0), busy / sum);
	idle_give(s, hg_sweep_row(s, HG_BLAME_CLIENT_TIMER, 0), timer / sum);
	if (softirq > 0)
		idle_give(s, hg_sweep_row(s, HG_BLAME_SOFTIRQ, cpu), softirq / sum);
	idle_give(s, hg_sweep_row(s, HG_BLAME_NET_LATE, 0), net / sum);
	idle_give(s, hg_sweep_row(s, HG_BLAME_CLIENT_WAIT, 0),
		  (sum - busy - timer - net - softirq) / sum);
}

/* by is neither target nor client; what it did meanwhile is known once it is recorded in full. */
static void idle_give_peer(struct hg_sweep *s, uint32_t by)
{
	struct hg_sweep_lane *l = &s->ls[by];
	double sum = 0, busy = 0;

	if (by)
		hg_sweep_client_account(s, l, s->now_ns);
	for (int i = 0; by && i < HG_LEAVES; i++) {
		double ns = (double)l->idle_ns[i];

		if (i == HG_LEAF_UNKNOWN)
			continue;
		sum += ns;
		if (!hg_leaf_is_blocked((enum hg_leaf)i))
			busy += ns;
	}
	if (sum <= 0)
		busy = sum = 1;
	idle_give(s, hg_sweep_row(s, HG_BLAME_PEER, by), busy / sum);
	idle_give(s, hg_sweep_row(s, HG_BLAME_PEER_WAIT, by), 1 - busy / sum);
}

/* A thread in an event loop is ready for the next request. */
static bool is_event_wait(int sysnr)
{
	const struct hg_syscall *call = hg_syscall_find(sysnr);

	return call && call->family == HG_SYSCALL_POLL;
}

/* kjournald2() names its thread after the device. */
static bool is_journal(const struct hg_sweep *s, uint32_t lane)
{
	return lane && (s->lanes[lane].flags & HG_TASKF_KTHREAD) &&
	       !strncmp(s->lanes[lane].name, "jbd2/", 5);
}

void hg_sweep_idle_end(struct hg_sweep *s, const struct hg_sweep_lane *l)
{
	uint32_t by = l->by < s->lanes_count ? l->by : 0;
	bool own = l->ctx == HG_CTX_SOFTIRQ_OWN || l->ctx == HG_CTX_TASK;
	uint32_t sender = own && by && s->ls[by].client ? by : 0;

	if (s->idle_pending_sum <= 0)
		return;
	switch (l->leaf) {
	case HG_LEAF_BLOCKED_NET:
	case HG_LEAF_BLOCKED_PEER:
		/* In softirqs of other contexts the sender is not known; the last known one is the best guess. */
		if (!sender && !own)
			sender = s->last_sender;
		if (sender) {
			s->last_sender = sender;
			idle_give_client(s, sender, l);
		} else if (is_late(l) && hg_sweep_cpu_full(s, l->ended_on - 1)) {
			idle_give(s, hg_sweep_row(s, HG_BLAME_SOFTIRQ, l->ended_on - 1), 1);
		} else if (l->leaf == HG_LEAF_BLOCKED_NET && !own) {
			idle_give(s, hg_sweep_row(s, HG_BLAME_NET, 0), 1);
		} else {
			idle_give_peer(s, by);
		}
		break;
	case HG_LEAF_BLOCKED_TIMER:
		idle_give(s,
			  hg_sweep_row(s,
				       is_event_wait(l->sysnr) || s->net_waiters
					       ? HG_BLAME_SERVICE
					       : HG_BLAME_SERIAL_WAIT,
				       0),
			  1);
		break;
	case HG_LEAF_BLOCKED_DISK:
		if (l->ctx == HG_CTX_TASK && is_journal(s, by))
			idle_give(s, hg_sweep_row(s, HG_BLAME_JOURNAL, by), 1);
		else
			idle_give(s, hg_sweep_row(s, HG_BLAME_DISK, 0), 1);
		break;
	default:
		idle_give(s, hg_sweep_row(s, HG_BLAME_OTHER, 0), 1);
	}
	memset(s->idle_pending, 0, (s->sub + 1) * sizeof(s->idle_pending[0]));
	s->idle_pending_sum = 0;
}

void hg_sweep_idle_rest(struct hg_sweep *s)
{
	idle_give(s, hg_sweep_row(s, HG_BLAME_OTHER, 0), 1);
}
