/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All probes in one object, so that they share maps. A probe is a file here and a row in
 * collector/probes_table.c; one that the kernel lacks is left out when loading.
 */
#include "probes/hg_context.bpf.h"

#include "probes/sched_switch.bpf.h"

#include "probes/sched_wakeup.bpf.h"

#include "probes/softirq.bpf.h"

#include "probes/irq.bpf.h"

#include "probes/contention.bpf.h"

#include "probes/cpu_sample.bpf.h"

#include "probes/block.bpf.h"

#include "probes/net.bpf.h"

#include "probes/sched_migrate.bpf.h"

#include "probes/cgroup.bpf.h"

#include "probes/process.bpf.h"

#include "probes/message.bpf.h"

#include "probes/seed.bpf.h"

char LICENSE[] SEC("license") = "GPL";
