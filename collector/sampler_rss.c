/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RSS: resident memory of each process of the target, once a second. */
#include <errno.h>
#include <string.h>

#include "base/hg_base.h"
#include "collector/sampler_private.h"

struct sampler_process {
	pid_t tgid;
	struct sampler_file statm;
	UT_hash_handle hh;
};

struct processes {
	struct sampler_process *by_tgid;
	uint64_t page_bytes, read_ns;
	bool fresh; /* one was added since the last round */
};

static int processes_init(struct hg_sampler *s, void **state)
{
	struct processes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	*state = p;
	return 0;
}

static void process_free(struct hg_sampler *s, struct processes *p, struct sampler_process *process)
{
	HASH_DEL(p->by_tgid, process);
	sampler_file_close(s, SAMPLER_FILE_OTHER, &process->statm);
	free(process);
}

static int process_open(struct hg_sampler *s, struct sampler_process *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", process->tgid);
	return sampler_file_init(s, SAMPLER_FILE_OTHER, &process->statm, path);
}

static void processes_add(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	struct sampler_process *process;
	struct processes *p = state;

	if (!(task->role & HG_ROLEF_TARGET))
		return;
	HASH_FIND(hh, p->by_tgid, &task->tgid, sizeof(task->tgid), process);
	if (process || HASH_COUNT(p->by_tgid) >= SAMPLER_PROCESSES_MAX)
		return;
	process = calloc(1, sizeof(*process));
	if (!process)
		return;
	process->tgid = task->tgid;
	if (process_open(s, process)) {
		free(process);
		return;
	}
	HASH_ADD(hh, p->by_tgid, tgid, sizeof(process->tgid), process);
	p->fresh = true;
}

/* 0 with the record, or -errno of the read. */
static int process_read(const struct processes *p, const struct sampler_process *process,
			uint64_t *now_ns, struct hg_record *rec)
{
	unsigned long long size, resident;
	char text[128];
	ssize_t n;

	*rec = (struct hg_record){.kind = HG_KIND_RSS};
	n = sampler_file_read_at(&process->statm, text, sizeof(text), now_ns, &rec->time_ns);
	if (n < 0)
		return (int)n;
	if (sscanf(text, "%llu %llu", &size, &resident) != 2)
		return -ESRCH;
	rec->f[HG_RSS_TGID] = (uint64_t)process->tgid;
	rec->f[HG_RSS_BYTES] = resident * p->page_bytes;
	return 0;
}

static int processes_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	struct sampler_process *process, *next;
	struct processes *p = state;
	uint64_t now_ns = hg_now_ns();
	struct hg_record rec;

	if (!p->fresh && !pass->final && pass->now_ns < p->read_ns + SAMPLER_SECOND_NS)
		return 0;
	p->fresh = false;
	p->read_ns = pass->now_ns;
	HASH_ITER (hh, p->by_tgid, process, next) {
		int r = process_read(p, process, &now_ns, &rec);

		if (r == -ESRCH && process->statm.fd >= 0) {
			/* It ended; its number may be another process of the target by now. */
			sampler_file_close(s, SAMPLER_FILE_OTHER, &process->statm);
			if (!process_open(s, process))
				r = process_read(p, process, &now_ns, &rec);
		}
		if (r) {
			process_free(s, p, process);
			continue;
		}
		r = sampler_write(pass, &rec);
		if (r)
			return r;
	}
	return 0;
}

static void processes_free(struct hg_sampler *s, void *state)
{
	struct sampler_process *process, *next;
	struct processes *p = state;

	HASH_ITER (hh, p->by_tgid, process, next)
		process_free(s, p, process);
	free(p);
}

const struct sampler_ops sampler_rss = {
	.name = "rss",
	.init = processes_init,
	.task_add = processes_add,
	.sample = processes_sample,
	.free = processes_free,
};
