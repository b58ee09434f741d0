/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/model_syscalls.h"

#include <stdlib.h>

#include "base/hg_base.h"

/* Sorted by number: arch/x86/entry/syscalls/syscall_64.tbl. */
static const struct hg_syscall syscalls[] = {
	{0, "read", HG_SYSCALL_FILE},
	{1, "write", HG_SYSCALL_FILE},
	{2, "open", HG_SYSCALL_DISK},
	{3, "close", HG_SYSCALL_FILE},
	{4, "stat", HG_SYSCALL_DISK},
	{5, "fstat", HG_SYSCALL_DISK},
	{7, "poll", HG_SYSCALL_POLL},
	{16, "ioctl", HG_SYSCALL_OTHER},
	{17, "pread64", HG_SYSCALL_DISK},
	{18, "pwrite64", HG_SYSCALL_DISK},
	{19, "readv", HG_SYSCALL_FILE},
	{20, "writev", HG_SYSCALL_FILE},
	{23, "select", HG_SYSCALL_POLL},
	{26, "msync", HG_SYSCALL_DISK},
	{34, "pause", HG_SYSCALL_OTHER},
	{35, "nanosleep", HG_SYSCALL_SLEEP},
	{40, "sendfile", HG_SYSCALL_SOCKET},
	{42, "connect", HG_SYSCALL_SOCKET},
	{43, "accept", HG_SYSCALL_SOCKET},
	{44, "sendto", HG_SYSCALL_SOCKET},
	{45, "recvfrom", HG_SYSCALL_SOCKET},
	{46, "sendmsg", HG_SYSCALL_SOCKET},
	{47, "recvmsg", HG_SYSCALL_SOCKET},
	{56, "clone", HG_SYSCALL_CHILD},
	{58, "vfork", HG_SYSCALL_CHILD},
	{61, "wait4", HG_SYSCALL_CHILD},
	{65, "semop", HG_SYSCALL_OTHER},
	{69, "msgsnd", HG_SYSCALL_OTHER},
	{70, "msgrcv", HG_SYSCALL_OTHER},
	{72, "fcntl", HG_SYSCALL_OTHER},
	{73, "flock", HG_SYSCALL_OTHER},
	{74, "fsync", HG_SYSCALL_DISK},
	{75, "fdatasync", HG_SYSCALL_DISK},
	{76, "truncate", HG_SYSCALL_DISK},
	{77, "ftruncate", HG_SYSCALL_DISK},
	{82, "rename", HG_SYSCALL_DISK},
	{87, "unlink", HG_SYSCALL_DISK},
	{128, "rt_sigtimedwait", HG_SYSCALL_OTHER},
	{130, "rt_sigsuspend", HG_SYSCALL_OTHER},
	{162, "sync", HG_SYSCALL_DISK},
	{202, "futex", HG_SYSCALL_FUTEX},
	{208, "io_getevents", HG_SYSCALL_DISK},
	{220, "semtimedop", HG_SYSCALL_OTHER},
	{230, "clock_nanosleep", HG_SYSCALL_SLEEP},
	{232, "epoll_wait", HG_SYSCALL_POLL},
	{242, "mq_timedsend", HG_SYSCALL_OTHER},
	{243, "mq_timedreceive", HG_SYSCALL_OTHER},
	{247, "waitid", HG_SYSCALL_CHILD},
	{257, "openat", HG_SYSCALL_DISK},
	{262, "newfstatat", HG_SYSCALL_DISK},
	{263, "unlinkat", HG_SYSCALL_DISK},
	{270, "pselect6", HG_SYSCALL_POLL},
	{271, "ppoll", HG_SYSCALL_POLL},
	{275, "splice", HG_SYSCALL_FILE},
	{277, "sync_file_range", HG_SYSCALL_DISK},
	{281, "epoll_pwait", HG_SYSCALL_POLL},
	{285, "fallocate", HG_SYSCALL_DISK},
	{288, "accept4", HG_SYSCALL_SOCKET},
	{295, "preadv", HG_SYSCALL_DISK},
	{296, "pwritev", HG_SYSCALL_DISK},
	{299, "recvmmsg", HG_SYSCALL_SOCKET},
	{306, "syncfs", HG_SYSCALL_DISK},
	{307, "sendmmsg", HG_SYSCALL_SOCKET},
	{316, "renameat2", HG_SYSCALL_DISK},
	{326, "copy_file_range", HG_SYSCALL_DISK},
	{327, "preadv2", HG_SYSCALL_DISK},
	{328, "pwritev2", HG_SYSCALL_DISK},
	{332, "statx", HG_SYSCALL_DISK},
	{426, "io_uring_enter", HG_SYSCALL_POLL},
	{435, "clone3", HG_SYSCALL_CHILD},
	{441, "epoll_pwait2", HG_SYSCALL_POLL},
	{449, "futex_waitv", HG_SYSCALL_FUTEX},
	{455, "futex_wait", HG_SYSCALL_FUTEX},
};

static int compare(const void *key, const void *row)
{
	int nr = *(const int *)key, other = ((const struct hg_syscall *)row)->nr;

	return (nr > other) - (nr < other);
}

const struct hg_syscall *hg_syscall_find(int nr)
{
	return bsearch(&nr, syscalls, HG_ARRAY_SIZE(syscalls), sizeof(syscalls[0]), compare);
}
