/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps and constants of all probes. Sizes that depend on the machine are set before loading.
 */
#ifndef HG_MAPS_BPF_H
#define HG_MAPS_BPF_H

#include "probes/hg_event.h"
#include "trace/hg_kinds.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Set by the collector before loading: the verifier then removes the branches not taken. */
const volatile bool hg_all = false;		/* level 3 */
const volatile bool hg_cgroups = false;		/* some cgroup is a target */
const volatile bool hg_switch_has_state = true; /* sched_switch passes prev_state: since 5.18 */
const volatile u32 hg_idle_words_used = HG_IDLE_WORDS;
const volatile u32 hg_drop_one_in = 0;	 /* tests only */
const volatile u64 hg_ring_bytes = 4096; /* power of two */

#define HG_ROLE_LEVEL0 (HG_ROLEF_TARGET | HG_ROLEF_CLIENT)

#define HG_WAKING_VALID (1ULL << 63)
#define HG_WAKING(lane, ctx, vec, member)                                                          \
	(HG_WAKING_VALID | (u64)(lane) | (u64)(ctx) << 32 | (u64)(vec) << 40 | (u64)(member) << 48)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u64); /* address of the task_struct */
	__type(value, struct hg_task);
	__uint(max_entries, 32768);
} hg_tasks SEC(".maps");

/* A lane's task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 32768);
} hg_lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32); /* tgid */
	__type(value, struct hg_root);
	__uint(max_entries, HG_ROOTS_MAX);
} hg_roots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct hg_cgroup_key);
	__type(value, struct hg_root);
	__uint(max_entries, HG_CGROUPS_MAX);
} hg_cgroup_roots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct hg_cpu);
	__uint(max_entries, 1);
} hg_cpu_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32); /* target */
	__type(value, struct hg_messages);
	__uint(max_entries, HG_MESSAGES_SLOTS);
} hg_message_totals SEC(".maps");

/* struct hg_ring_area per CPU; value_size is set to HG_RING_AREA_BYTES(hg_ring_bytes). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, HG_RING_AREA_BYTES(4096));
	__uint(max_entries, 1);
} hg_rings SEC(".maps");

/* Readable for the collector when a ring is half full: what is in it does not matter. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} hg_bell SEC(".maps");

u32 hg_lane_next = HG_LANE_FIRST;
/* Bit per CPU that runs its idle task. Only the CPU itself changes its bit, by adding and subtracting:
 * an atomic or needs 5.12. */
u64 hg_idle_bits[HG_IDLE_WORDS];

#endif
