/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WAIT_SAMPLE: the system call that a thread of the target was found in, by
 * /proc/TGID/task/TID/syscall, and for a futex its word: evidence of waiting that does not come
 * from the probes.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/hg_base.h"
#include "collector/sampler_private.h"

struct wait {
	struct sampler_turn turn;
	pid_t denied; /* a process that we may not look into: its threads are asked once a round
			 only */
};

static int wait_init(struct hg_sampler *s, void **state)
{
	*state = calloc(1, sizeof(struct wait));
	return *state ? 0 : -ENOMEM;
}

static void wait_add(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	char path[64];

	if (!(task->role & HG_ROLEF_TARGET) || task->wait.path)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", task->tgid, task->tid);
	sampler_file_init(s, SAMPLER_FILE_WAIT, &task->wait, path);
}

static void wait_remove(struct hg_sampler *s, void *state, struct sampler_task *task)
{
	sampler_file_close(s, SAMPLER_FILE_WAIT, &task->wait);
}

/* "running", "-1 SP PC" (asleep, but in no system call), or "NR 0xARG0 ... 0xARG5 0xSP 0xPC":
 * proc_pid_syscall */
bool sampler_syscall_parse(const char *text, uint64_t f[static 5])
{
	char *end;
	long nr;

	memset(&f[HG_WAIT_SAMPLE_SYSNR], 0, 4 * sizeof(*f));
	if (!strncmp(text, "running", 7))
		return true;
	nr = strtol(text, &end, 10);
	if (end == text)
		return false;
	if (nr < 0)
		return true;
	for (int i = HG_WAIT_SAMPLE_ARG0; i <= HG_WAIT_SAMPLE_ARG2; i++) {
		const char *at = end;

		f[i] = strtoull(at, &end, 16);
		if (end == at)
			return false;
	}
	f[HG_WAIT_SAMPLE_SYSNR] = (uint64_t)nr + 1;
	return true;
}

static uint32_t word_read(pid_t pid, uint64_t address)
{
	uint32_t word = 0;
	struct iovec local = {&word, sizeof(word)};
	struct iovec remote = {(void *)(uintptr_t)address, sizeof(word)};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(word) ? word : 0;
}

/* These wait for what their name says. Any other call may wait for a lock of the kernel. */
static bool waits_by_intent(uint64_t sysnr)
{
	static const int calls[] = {SYS_futex,	SYS_epoll_wait,	    SYS_epoll_pwait, SYS_poll,
				    SYS_ppoll,	SYS_select,	    SYS_pselect6,    SYS_nanosleep,
				    SYS_accept, SYS_accept4,	    SYS_wait4,	     SYS_waitid,
				    SYS_pause,	SYS_clock_nanosleep};

	for (size_t i = 0; i < HG_ARRAY_SIZE(calls); i++) {
		if (sysnr == (uint64_t)calls[i] + 1)
			return true;
	}
	return false;
}

/* Where it sleeps, outside of scheduler and locks: as a string of the file. "0": it does not. */
static int wchan_read(const struct sampler_pass *pass, const struct sampler_task *task,
		      uint64_t *id_out)
{
	char path[64], text[128];
	struct sampler_file file = {.path = path, .fd = -1};
	uint32_t id;
	ssize_t n;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", task->tgid, task->tid);
	n = sampler_file_read(&file, text, sizeof(text));
	if (n <= 0 || !strcmp(text, "0"))
		return 0;
	r = hg_writer_string(pass->w, text, strlen(text), &id);
	if (!r)
		*id_out = id;
	return r;
}

static int wait_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	size_t budget = SAMPLER_WAIT_MAX, seen = 0;
	uint64_t now_ns = hg_now_ns();
	struct wait *wait = state;
	struct sampler_task *task;
	int r = 0;

	wait->denied = 0;
	while (!r && budget && (task = sampler_turn_next(s, &wait->turn, &seen))) {
		struct hg_record rec = {.kind = HG_KIND_WAIT_SAMPLE};
		char text[256];
		ssize_t n;

		if (task->gone || !(task->role & HG_ROLEF_TARGET) || task->tgid == wait->denied)
			continue;
		budget--;
		n = sampler_file_read_at(&task->wait, text, sizeof(text), &now_ns, &rec.time_ns);
		if (n == -EPERM || n == -EACCES)
			wait->denied = task->tgid;
		if (n < 0 || !sampler_syscall_parse(text, rec.f))
			continue;
		rec.f[HG_WAIT_SAMPLE_LANE] = task->lane;
		if (rec.f[HG_WAIT_SAMPLE_SYSNR] == SYS_futex + 1)
			rec.f[HG_WAIT_SAMPLE_WORD] =
				word_read(task->tgid, rec.f[HG_WAIT_SAMPLE_ARG0]);
		if (strncmp(text, "running", 7) != 0 &&
		    !waits_by_intent(rec.f[HG_WAIT_SAMPLE_SYSNR]))
			r = wchan_read(pass, task, &rec.f[HG_WAIT_SAMPLE_WCHAN]);
		if (r)
			return r;
		r = sampler_write(pass, &rec);
	}
	return r;
}

static void wait_free(struct hg_sampler *s, void *state)
{
	free(state);
}

const struct sampler_ops sampler_wait = {
	.name = "wait",
	.init = wait_init,
	.task_add = wait_add,
	.task_remove = wait_remove,
	.sample = wait_sample,
	.free = wait_free,
};
