/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct hg_probes, for the files that implement collector/hg_probes.h: hg_probes.c (life cycle),
 * probes_load.c (which probes this kernel takes), probes_drain.c (rings to records), probes_seed.c
 * (states at attach, promotion), probes_totals.c (CPU totals, own cost), probes_net.c (totals of network devices)
 * and probes_sample.c (the clock that samples).
 */
#ifndef HG_PROBES_INTERNAL_H
#define HG_PROBES_INTERNAL_H

#include <bpf/libbpf.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_probes.h"
#include "collector/probes_lanes.h"
#include "collector/probes_ring.h"
#include "collector/probes_stacks.h"
#include "collector/probes_table.h"
#include "probes/hg_event.h"

#define HG_RING_TOTAL_DEFAULT ((size_t)16 << 20)
#define HG_RING_MIN	      ((size_t)128 << 10)
/* Memory that no cache holds doubles the cost of a switch (545 against 275 ns seen with 8 MiB). */
#define HG_RING_MAX_DEFAULT   ((size_t)1 << 20)
#define HG_SAMPLE_HZ_MAX      10000U
#define HG_TASKS_DEFAULT      32768
#define HG_WHY_BYTES	      160
#define HG_LINKS_MAX	      (HG_P_COUNT * HG_PROBE_PROGRAMS_MAX)

struct hg_hourglass_bpf;
struct hg_netdev;
struct hg_blockdev;

/* Losses of a probe on a CPU that the file does not have yet. */
struct hg_loss {
	uint64_t seen; /* of the kernel's running count */
	uint64_t count;
	uint64_t since_ns; /* the first of them */
};

struct hg_cpu_ring {
	struct hg_ring ring;
	struct hg_loss loss[HG_P_COUNT];
	bool loss_waits; /* until the ring was read up to loss_pos: records before that are older */
	uint64_t loss_pos;
	uint64_t last_ns; /* of the last record taken */
};

/* TASK, ROLE and names of a round: rings are drained one by one, the control stream is in time order. */
struct hg_definition {
	struct hg_record rec;
	size_t order;
};

struct hg_probes {
	struct hg_probes_opts opts;
	struct hg_hourglass_bpf *skel;
	struct bpf_link *links[HG_LINKS_MAX];
	size_t n_links;
	struct hg_probe_status status[HG_P_COUNT];
	char why[HG_P_COUNT][HG_WHY_BYTES];

	uint32_t n_cpus;
	size_t ring_bytes;
	struct hg_cpu_ring *rings; /* n_cpus */
	struct hg_cpu *cpus;	   /* the kernel's, mapped */
	size_t cpus_bytes;
	uint8_t *areas; /* the rings, mapped */
	size_t area_bytes, areas_bytes;
	struct ring_buffer *bell;
	int stats_fd;

	struct bpf_link **sample_links; /* n_cpus, NULL where a CPU is offline */
	struct hg_symbols *symbols;
	struct hg_stacks stacks;
	struct hg_spin *spins;
	uint32_t n_spins;

	struct hg_net_cpu *net; /* n_cpus, the kernel's, mapped */
	size_t net_bytes;
	struct hg_netdev *netdevs;
	struct hg_blockdev *blockdevs;

	struct hg_probe_lanes lanes;
	struct hg_definition *definitions;
	size_t n_definitions, definitions_size;
	uint64_t control_ns; /* last time on the control stream */
	uint64_t lost;
	uint32_t targets; /* highest index that was added + 1 */
	bool moved;	  /* members came or went by cgroup, and no walk has looked at them yet */
};

/* probes_load.c: what libbpf says, for the log at its lowest level: our own sentence tells what matters. */
int hg_libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args);

/* probes_load.c: opens the skeleton with what this kernel has, and loads it. only: id of one row, or 0 = all. */
int hg_probes_load(struct hg_probes *p, const struct btf *btf, int only);

/* hg_probes.c: the bell rings again only when it was heard. */
void hg_probes_bell_clear(struct hg_probes *p);

/* probes_drain.c: a TASK (if it is new), its ROLE (if that is new) and the observer. */
int hg_probes_task_define(struct hg_probes *p, struct hg_writer *w, const struct hg_ev_task *ev);
/* role replaces the former one, but for PROMOTED, unless that is younger than time_ns. */
int hg_probes_role_define(struct hg_probes *p, struct hg_probe_lane *lane, uint32_t role,
			  uint32_t target, const char *comm, uint64_t time_ns);
/* A record that is to precede those of this round. */
int hg_probes_definition_add(struct hg_probes *p, const struct hg_record *rec);
/* Writes the definitions gathered so far, in time order. */
int hg_probes_definitions_flush(struct hg_probes *p, struct hg_writer *w);

/* probes_sample.c: names of the kernel's functions, and where it spins, before loading. -errno with a reason of at most size bytes. */
int hg_probes_symbols_prepare(struct hg_probes *p, char *why, size_t size);
int hg_probes_sample_prepare(struct hg_probes *p, char *why, size_t size);
void hg_probes_sample_ranges(const struct hg_probes *p, uint64_t begin[HG_SPIN_RANGES],
			     uint64_t end[HG_SPIN_RANGES]);
/* One clock a CPU. */
int hg_probes_sample_attach(struct hg_probes *p, struct bpf_program *prog);
void hg_probes_sample_detach(struct hg_probes *p);
/* The id of a sample's or a wait's stack; defines it at first sight. 0: there are too many, or nothing is known of it. */
int hg_probes_sample_stack(struct hg_probes *p, struct hg_writer *w,
			   const struct hg_ev_sample_stack *ev, uint32_t *id_out);
int hg_probes_wait_stack(struct hg_probes *p, struct hg_writer *w,
			 const struct hg_ev_wait_stack *ev, uint32_t *id_out);

/* probes_spin.c: sets where and stack of the sample if its code waits for a word; defines the loop at first sight. */
int hg_probes_spin_take(struct hg_probes *p, const struct hg_ev_sample_code *ev,
			struct hg_ev_sample *sample);
void hg_probes_spins_free(struct hg_probes *p);

/* probes_block.c: defines a device at first sight. */
int hg_probes_blockdev_define(struct hg_probes *p, struct hg_writer *w, uint32_t dev,
			      uint64_t time_ns);
void hg_probes_blockdev_free(struct hg_probes *p);

void hg_probes_net_free(struct hg_probes *p);

#endif
