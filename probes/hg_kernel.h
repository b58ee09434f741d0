/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that the probes read, declared by hand: only the fields used, found in the
 * running kernel by CO-RE. Fields that moved between kernels are in flavours (___x). BPF side only.
 */
#ifndef HG_KERNEL_H
#define HG_KERNEL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef _Bool bool;
typedef int pid_t;

#define true 1
#define false 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

struct kernfs_node {
	u64 id;
};

struct list_head {
	struct list_head *next;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link; /* in css_set.cgrp_links */
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct list_head cgrp_links;
};

struct signal_struct {
	struct list_head thread_head;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct cfs_rq {
	int throttle_count; /* CONFIG_CFS_BANDWIDTH; counts throttled ancestors too */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct thread_info {
	u32 status;
	u32 cpu; /* since 5.16 */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int exit_state;
	int exit_code;
	int nr_cpus_allowed;
	struct cpumask cpus_mask;
	struct sched_entity se;
	pid_t pid, tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 start_boottime;
	char comm[16];
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct list_head thread_node;
};

struct task_struct___state { /* since 5.14 */
	unsigned int __state;
};

struct task_struct___oldstate {
	volatile long state;
};

struct task_struct___oldcpu { /* before 5.16 */
	unsigned int cpu;
};

struct task_struct___throttled { /* throttled one by one, on their way to user space: since 6.18 */
	bool throttled;
};

struct pt_regs { /* x86-64 */
	unsigned long ax, dx, si, di, orig_ax;
};

struct linux_binprm {
	const char *filename;
};

struct gendisk {
	int major, first_minor;
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	u64 start_time_ns;
};

struct request___disk { /* before 5.17 */
	struct gendisk *rq_disk;
};

enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	unsigned short hard_header_len;
	possible_net_t nd_net;
	char name[16];
};

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
};

struct napi_struct {
	struct net_device *dev;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct sock_common {
	u16 skc_family;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type; /* since 5.6 */
	u8 sk_userlocks : 4;
};

struct inet_bind_bucket {
	signed char fastreuse;
};

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
};

struct unix_address;

struct unix_sock {
	struct unix_address *addr;
};

#pragma clang attribute pop

/* struct bpf_perf_event_data: the registers are x86-64's struct pt_regs. Not the kernel's to relocate. */
struct hg_perf_ctx {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	u64 ip, cs, regflags, sp, ss;
	u64 sample_period, addr;
};

#define PF_KTHREAD	     0x00200000
#define TASK_DEAD	     0x0080
#define TASK_UNINTERRUPTIBLE 0x0002
#define TS_COMPAT	     0x0002 /* thread_info.status: in a 32-bit system call */
#define X86_USER_CS	     0x33   /* 64-bit code of user space */
#define X86_ENOSYS	     38
#define AF_UNIX		     1
#define AF_INET		     2
#define AF_INET6	     10
#define SOCK_DGRAM	     2
#define SOCK_BINDPORT_LOCK   8 /* sk_userlocks */
#define MSG_PEEK	     2

#define NR_FUTEX       202
#define FUTEX_WAIT     0
#define FUTEX_LOCK_PI  6
#define FUTEX_LOCK_PI2 13
#define FUTEX_OP_MASK  0x7f
#define FUTEX_TID_MASK 0x3fffffff
#define FUTEX_WAITERS  0x80000000

#endif
