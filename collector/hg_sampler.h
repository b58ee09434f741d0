/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that is sampled ten times a second from outside the events: /proc/stat, schedstat,
 * cpu.stat, clocks, RSS, what sleeping threads wait in, qdiscs, devices and sockets of the network
 * namespaces, disks, pressure. One table of samplers in hg_sampler.c;
 * a new one is a row and a file. Its figures are the second, independent proof of a verdict, so
 * none may come from the probes.
 */
#ifndef HG_SAMPLER_H
#define HG_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/hg_netns.h"
#include "collector/hg_probes.h"
#include "trace/hg_writer.h"

struct hg_sampler;

int hg_sampler_new(struct hg_sampler **out);
/*
 * Opens the network namespaces of tasks that are added from now on. Without one only hourglass's own is read, and the file
 * says so. o must outlive s.
 */
void hg_sampler_netns_set(struct hg_sampler *s, struct hg_netns_opener *o);
void hg_sampler_free(struct hg_sampler *s);

/*
 * A task whose schedstat is read from now on (members, wakers, competitors). At most 4096; beyond
 * that the oldest without the TARGET or CLIENT role goes first. Files are opened once and re-read.
 * Idempotent per lane; role is updated. A task that is already gone is no error.
 */
int hg_sampler_task_add(struct hg_sampler *s, uint32_t lane, pid_t tid, pid_t tgid, uint32_t role);
/* Takes the last sample that is still to be had (none after exit is no error). */
void hg_sampler_task_remove(struct hg_sampler *s, uint32_t lane);
/* Looks at the word that threads were found to spin for; at most 64 words. -ENOMEM. */
int hg_sampler_spin_add(struct hg_sampler *s, const struct hg_spin_seen *spin);

/*
 * Writes one sample of everything; records carry the time of their own read, at or after now_ns
 * (CLOCK_MONOTONIC). Bounded work: at most 512 schedstats a tick, clients first, the others taking
 * turns; wait samples of at most 256 target threads. A task that was added since the last tick is
 * read whatever their number. 0 or -errno of the writer; what cannot be read is left out.
 */
int hg_sampler_tick(struct hg_sampler *s, struct hg_writer *w, uint64_t now_ns);
/* The last tick, before the probes are detached: every task once more, without turns. */
int hg_sampler_final(struct hg_sampler *s, struct hg_writer *w, uint64_t now_ns);

#endif
