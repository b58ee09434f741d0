/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States at attach, by an iterator over all tasks that runs in the kernel; and promotion.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "collector/probes_internal.h"
#include "hourglass.skel.h"

#define SEED_ROUNDS_MAX 16
#define SEED_BATCH	128

static void link_cleanup(struct bpf_link **link)
{
	bpf_link__destroy(*link);
}

/* New or changed in this round: counted in *news. */
static int seed_take(struct hg_probes *p, struct hg_writer *w, const struct hg_seed_record *seed,
		     size_t *news)
{
	struct hg_record rec = {.time_ns = seed->task.time_ns, .kind = HG_KIND_SEED};
	struct hg_probe_lane *lane;
	uint32_t role = 0;
	int rc;

	lane = hg_probe_lanes_find(&p->lanes, seed->task.lane);
	if (lane)
		role = lane->role;
	rc = hg_probes_task_define(p, w, &seed->task);
	if (rc)
		return rc;
	lane = hg_probe_lanes_find(&p->lanes, seed->task.lane);
	if (!lane)
		return -ENOMEM;
	if (lane->exited)
		return 0;
	if (lane->role != role)
		(*news)++;
	if (lane->seeded)
		return 0;
	lane->seeded = true;
	rc = hg_probes_definitions_flush(p, w);
	if (rc)
		return rc;
	rec.f[HG_SEED_LANE] = seed->task.lane;
	rec.f[HG_SEED_STATE] = seed->state;
	rec.f[HG_SEED_CPU] = seed->cpu;
	rec.f[HG_SEED_SYSNR] = seed->sysnr;
	rec.f[HG_SEED_ARG0] = seed->arg0;
	return hg_writer_record(w, 0, HG_STREAM_CONTROL, &rec);
}

/* One walk over all tasks. */
static int seed_round(struct hg_probes *p, struct hg_writer *w, struct bpf_link *link, size_t *news)
{
	struct hg_seed_record batch[SEED_BATCH];
	hg_autoclose int fd = bpf_iter_create(bpf_link__fd(link));
	size_t have = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, (char *)batch + have, sizeof(batch) - have);
		size_t whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return have ? -EPROTO : 0;
		have += (size_t)n;
		whole = have / sizeof(batch[0]);
		for (size_t i = 0; i < whole; i++) {
			int rc = seed_take(p, w, &batch[i], news);

			if (rc)
				return rc;
		}
		have -= whole * sizeof(batch[0]);
		memmove(batch, &batch[whole], have);
	}
}

int hg_probes_seed(struct hg_probes *p, struct hg_writer *w)
{
	__attribute__((cleanup(link_cleanup))) struct bpf_link *link =
		bpf_program__attach_iter(p->skel->progs.hg_seed, NULL);
	size_t news = 1;

	if (!link) {
		int rc = -errno;

		hg_error("cannot walk over tasks (probe task_iter): %s", strerror(-rc));
		return rc;
	}
	for (int i = 0; i < SEED_ROUNDS_MAX && news; i++) {
		int rc;

		news = 0;
		rc = seed_round(p, w, link, &news);
		if (!rc)
			rc = hg_probes_definitions_flush(p, w);
		if (rc)
			return rc;
	}
	return 0;
}

int hg_probes_seed_moved(struct hg_probes *p, struct hg_writer *w)
{
	if (!p->moved)
		return 0;
	p->moved = false;
	return hg_probes_seed(p, w);
}

static int promote_by_program(struct hg_probes *p, struct hg_promote_args *args)
{
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts), .ctx_in = args, .ctx_size_in = sizeof(*args)};

	if (bpf_prog_test_run_opts(bpf_program__fd(p->skel->progs.hg_promote), &opts))
		return -errno;
	return args->result;
}

/* Before 5.14: read, change, write. A waker that the kernel notes in between is lost, no more. */
static int promote_by_update(struct hg_probes *p, struct hg_promote_args *args)
{
	int tasks = bpf_map__fd(p->skel->maps.hg_tasks);
	struct hg_task task;
	uint64_t key;

	if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.hg_lanes), &args->lane, &key))
		return -ESRCH;
	if (bpf_map_lookup_elem(tasks, &key, &task))
		return -ESRCH;
	task.role |= (uint8_t)args->role;
	args->new_role = task.role;
	if (bpf_map_update_elem(tasks, &key, &task, BPF_EXIST))
		return errno == ENOENT ? -ESRCH : -errno;
	return 0;
}

int hg_probes_promote(struct hg_probes *p, struct hg_writer *w, uint32_t lane)
{
	struct hg_promote_args args = {.lane = lane, .role = HG_ROLEF_PROMOTED};
	uint64_t role_ns;
	struct hg_probe_lane *l;
	int rc;

	if (lane < HG_LANE_FIRST)
		return -EINVAL;
	rc = p->status[HG_P_PROMOTE].why ? promote_by_update(p, &args)
					 : promote_by_program(p, &args);
	if (rc)
		return rc;
	l = hg_probe_lanes_get(&p->lanes, lane);
	if (!l)
		return -ENOMEM;
	/* The kernel's roles, whose records may still be in a ring, are not younger or older for this. */
	role_ns = l->role_ns;
	rc = hg_probes_role_define(p, l, l->role | HG_ROLEF_PROMOTED, l->target, "",
				   HG_MAX(hg_now_ns(), role_ns));
	l->role_ns = role_ns;
	return rc ? rc : hg_probes_definitions_flush(p, w);
}
