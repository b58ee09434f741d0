/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probes_table.h"

#include "base/hg_base.h"

const struct hg_probe_row hg_probe_rows[] = {
	{HG_P_SWITCH, "sched_switch", true, "who has each CPU, why the former stopped, CPU totals, exits",
	 "nothing can be accounted", {{"hg_sched_switch", "sched_switch"}}},
	{HG_P_WAKEUP, "sched_wakeup", true, "when a task becomes runnable",
	 "waiting for a CPU cannot be told from sleeping",
	 {{"hg_sched_wakeup", "sched_wakeup"}, {"hg_sched_wakeup_new", "sched_wakeup_new"}}},
	{HG_P_WAKING, "sched_waking", false, "who wakes, where the wakeup is queued to another CPU",
	 "the waker is whoever runs where the wakeup completes", {{"hg_sched_waking", "sched_waking"}}},
	{HG_P_SOFTIRQ, "softirq", false, "softirq intervals and the context of wakeups in them",
	 "network wakeups seem to come from the interrupted task",
	 {{"hg_softirq_entry", "softirq_entry"}, {"hg_softirq_exit", "softirq_exit"}}},
	{HG_P_IRQ, "irq", false, "hard interrupts of devices",
	 "softirqs at the end of device interrupts are taken for the task's own",
	 {{"hg_irq_entry", "irq_handler_entry"}, {"hg_irq_exit", "irq_handler_exit"}}},
	{HG_P_LOCAL_TIMER, "local_timer", false, "interrupts of the CPU's timer",
	 "softirqs after a tick are taken for the task's own; timer wakeups still by hrtimer",
	 {{"hg_local_timer_entry", "local_timer_entry"}, {"hg_local_timer_exit", "local_timer_exit"}}},
	{HG_P_HRTIMER, "hrtimer", false, "wakeups by a timer that expired",
	 "timer wakeups by local_timer only",
	 {{"hg_hrtimer_entry", "hrtimer_expire_entry"}, {"hg_hrtimer_exit", "hrtimer_expire_exit"}}},
	{HG_P_IPI, "ipi", false, "function calls from other CPUs: context of softirqs that they raise",
	 "receive steering and remote block completions are taken for the task's own",
	 {{"hg_call_entry", "call_function_entry"},
	  {"hg_call_exit", "call_function_exit"},
	  {"hg_call_single_entry", "call_function_single_entry"},
	  {"hg_call_single_exit", "call_function_single_exit"}}},
	{HG_P_MIGRATE, "sched_migrate_task", false, "runnable tasks that move to another CPU",
	 "moves show only when the task runs again", {{"hg_sched_migrate", "sched_migrate_task"}}},
	{HG_P_FORK, "sched_process_fork", false, "new threads and children of the target",
	 "threads created during the recording are missed", {{"hg_fork", "sched_process_fork"}}},
	{HG_P_EXEC, "sched_process_exec", false, "programs that a task runs",
	 "names stay those before exec", {{"hg_exec", "sched_process_exec"}}},
	{HG_P_RENAME, "task_rename", false, "new names of tasks", "names stay those at first sight",
	 {{"hg_rename", "task_rename"}}},
	{HG_P_SEED, "task_iter", true, "members and their states at attach",
	 "sleeping threads of the target cannot be found", {{"hg_seed", NULL}}},
	{HG_P_PROMOTE, "promote", false, "makes a waker or lock holder a full lane",
	 "done by a slower map update", {{"hg_promote", NULL}}},
};

const size_t hg_probe_rows_count = HG_ARRAY_SIZE(hg_probe_rows);
