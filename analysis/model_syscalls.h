/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 system calls in which threads wait: their names, and what kind of thing they wait for.
 * Used by the model for reasons, and by whoever shows a system call to people.
 */
#ifndef HG_MODEL_SYSCALLS_H
#define HG_MODEL_SYSCALLS_H

enum hg_syscall_family {
	HG_SYSCALL_OTHER = 0,
	HG_SYSCALL_FUTEX,  /* locks, condition variables */
	HG_SYSCALL_SLEEP,  /* for a time */
	HG_SYSCALL_POLL,   /* for one of many files: sockets as a rule */
	HG_SYSCALL_SOCKET, /* for this socket */
	HG_SYSCALL_FILE,   /* file, pipe, terminal or socket by read and write */
	HG_SYSCALL_DISK,   /* storage and nothing else */
	HG_SYSCALL_CHILD,  /* for another process */
};

struct hg_syscall {
	int nr;
	const char *name;
	enum hg_syscall_family family;
};

#define HG_SYSCALL_NR_FUTEX 202

/* NULL if it is not in the table. */
const struct hg_syscall *hg_syscall_find(int nr);

#endif
