/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time went: a table of states per role, then one of lanes. */
#include <math.h>
#include <string.h>

#include "analysis/render.h"

#define ROLES_MAX      4
#define SLEEPS_SHOWN   3    /* of a role */
#define INTERRUPTS_MIN 0.10 /* of a CPU: less is no matter */
#define CPUS_MAX       16   /* with more only those of which it matters are shown */

/* Rows of the first table. SPLIT: the parts of RUNNING whose user and kernel are known. */
enum part { PART_USER, PART_KERNEL, PART_RUNNING, PART_LEAF };

static const struct {
	const char *title, *meaning;
	enum part part;
	enum hg_leaf leaf;
} states[] = {
	{"run user", "on a CPU, own code (by ticks)", PART_USER, HG_LEAF_RUNNING},
	{"run kernel", "on a CPU, in the kernel for itself", PART_KERNEL, HG_LEAF_RUNNING},
	{"run", "on a CPU, not split: too few ticks", PART_RUNNING, HG_LEAF_RUNNING},
	{"softirq", "on a CPU, taken by a softirq", PART_LEAF, HG_LEAF_RUNNING_SOFTIRQ},
	{"irq", "on a CPU, taken by an interrupt", PART_LEAF, HG_LEAF_RUNNING_IRQ},
	{"wait CPU", "ready to run, all its CPUs busy", PART_LEAF, HG_LEAF_RUNNABLE_BUSY},
	{"wait idle", "ready to run, though a CPU was idle", PART_LEAF, HG_LEAF_RUNNABLE_IDLE},
	{"throttled", "stopped by a cgroup's CPU limit", PART_LEAF, HG_LEAF_THROTTLED},
	{"lock", "asleep, waits for a lock", PART_LEAF, HG_LEAF_BLOCKED_LOCK},
	{"net", "asleep, waits for the network", PART_LEAF, HG_LEAF_BLOCKED_NET},
	{"disk", "asleep, waits for a disk", PART_LEAF, HG_LEAF_BLOCKED_DISK},
	{"timer", "asleep until a time", PART_LEAF, HG_LEAF_BLOCKED_TIMER},
	{"peer", "asleep, waits for another thread", PART_LEAF, HG_LEAF_BLOCKED_PEER},
	{"other", "asleep for another reason", PART_LEAF, HG_LEAF_BLOCKED_OTHER},
	{"unknown", "not known", PART_LEAF, HG_LEAF_UNKNOWN},
};

struct totals {
	const char *role;
	uint64_t wall_ns, count;
	uint64_t state_ns[HG_ARRAY_SIZE(states)];
};

static uint64_t state_ns(const struct hg_lane_row *row, size_t state)
{
	switch (states[state].part) {
	case PART_USER:
		return row->split ? row->user_ns : 0;
	case PART_KERNEL:
		return row->split ? row->kernel_ns : 0;
	case PART_RUNNING:
		return row->split ? 0 : row->leaf_ns[HG_LEAF_RUNNING];
	default:
		return row->leaf_ns[states[state].leaf];
	}
}

static size_t totals_fill(const struct hg_findings *f, struct totals *totals)
{
	size_t n = 0;

	for (size_t i = 0; i < f->rows_count; i++) {
		const struct hg_lane_row *row = &f->rows[i];
		size_t at = 0;

		while (at < n && strcmp(totals[at].role, row->role))
			at++;
		if (at == ROLES_MAX)
			continue;
		if (at == n)
			totals[n++] = (struct totals){.role = row->role};
		totals[at].wall_ns += row->wall_ns;
		totals[at].count += row->count;
		for (size_t s = 0; s < HG_ARRAY_SIZE(states); s++)
			totals[at].state_ns[s] += state_ns(row, s);
	}
	return n;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* The two that are members for their whole life: of the others only the running time is known. */
static const struct totals *totals_find(const struct totals *totals, size_t n, const char *role)
{
	static const struct totals none;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(totals[i].role, role))
			return &totals[i];
	}
	return &none;
}

static void states_table(const struct totals *target, const struct totals *client, FILE *out)
{
	static const struct hg_table_column columns[] = {{"state", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"target", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"%", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"client", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"%", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"meaning", HG_TABLE_LEFT, HG_TABLE_WRAP}};
	const struct totals *both[] = {target, client};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 6, HG_RENDER_WIDTH, 2);

	for (size_t s = 0; s < HG_ARRAY_SIZE(states); s++) {
		if (!target->state_ns[s] && !client->state_ns[s])
			continue;
		hg_render_cell(t, "%s", states[s].title);
		for (size_t i = 0; i < 2; i++) {
			hg_render_cell(t, both[i]->count ? "%.3f s" : "",
				       (double)both[i]->state_ns[s] / 1e9);
			hg_render_cell(t, both[i]->count ? "%.1f" : "",
				       percent(both[i]->state_ns[s], both[i]->wall_ns));
		}
		hg_render_cell(t, "%s", states[s].meaning);
	}
	hg_render_cell(t, "sum");
	for (size_t i = 0; i < 2; i++) {
		hg_render_cell(t, both[i]->count ? "%.3f s" : "", (double)both[i]->wall_ns / 1e9);
		hg_render_cell(t, both[i]->count ? "100.0" : "");
	}
	hg_render_cell(t, "threads: target %llu, client %llu", (unsigned long long)target->count,
		       (unsigned long long)client->count);
	hg_table_print(t, out);
}

/* Columns of the second table: coarser, for 80 columns. */
static const struct {
	const char *title;
	enum hg_leaf first, last;
} columns_of_lanes[] = {
	{"run", HG_LEAF_RUNNING, HG_LEAF_RUNNING},
	{"irq", HG_LEAF_RUNNING_SOFTIRQ, HG_LEAF_RUNNING_IRQ},
	{"wait", HG_LEAF_RUNNABLE_BUSY, HG_LEAF_RUNNABLE_IDLE},
	{"throt", HG_LEAF_THROTTLED, HG_LEAF_THROTTLED},
	{"lock", HG_LEAF_BLOCKED_LOCK, HG_LEAF_BLOCKED_LOCK},
	{"net", HG_LEAF_BLOCKED_NET, HG_LEAF_BLOCKED_NET},
	{"sleep", HG_LEAF_BLOCKED_DISK, HG_LEAF_BLOCKED_OTHER},
	{"?", HG_LEAF_UNKNOWN, HG_LEAF_UNKNOWN},
};

static bool is_member(const struct hg_lane_row *row)
{
	return !strcmp(row->role, "target") || !strcmp(row->role, "client");
}

static uint64_t column_ns(const struct hg_lane_row *row, size_t column)
{
	uint64_t sum = 0;

	for (int l = columns_of_lanes[column].first; l <= (int)columns_of_lanes[column].last; l++)
		sum += row->leaf_ns[l];
	return sum;
}

static void lane_row(const struct hg_lane_row *row, const size_t *used, size_t used_count,
		     struct hg_table *t)
{
	hg_render_cell(t, "%s", row->role);
	hg_render_cell(t, "%s", row->name ? row->name : "");
	hg_render_cell(t, "%s", row->id);
	hg_render_cell(t, "%.2f", (double)row->wall_ns / 1e9);
	for (size_t i = 0; i < used_count; i++) {
		uint64_t ns = column_ns(row, used[i]);

		hg_render_cell(t, ns ? "%.1f" : "", percent(ns, row->wall_ns));
	}
}

/* Columns in which any row has something. */
static size_t columns_used(const struct hg_findings *f, size_t *used)
{
	size_t n = 0;

	for (size_t c = 0; c < HG_ARRAY_SIZE(columns_of_lanes); c++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < f->rows_count; i++)
			sum += is_member(&f->rows[i]) ? column_ns(&f->rows[i], c) : 0;
		if (sum)
			used[n++] = c;
	}
	return n;
}

static void lanes_table(const struct hg_findings *f, FILE *out)
{
	struct hg_table_column columns[4 + HG_ARRAY_SIZE(columns_of_lanes)] = {
		{"role", HG_TABLE_LEFT, HG_TABLE_WHOLE},
		{"thread", HG_TABLE_LEFT, HG_TABLE_ELIDE},
		{"tid", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"of s", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
	};
	size_t used[HG_ARRAY_SIZE(columns_of_lanes)], n = columns_used(f, used);
	hg_table_auto struct hg_table *t = NULL;

	for (size_t i = 0; i < n; i++)
		columns[4 + i] = (struct hg_table_column){columns_of_lanes[used[i]].title,
							  HG_TABLE_RIGHT, HG_TABLE_WHOLE};
	t = hg_table_new(columns, 4 + n, HG_RENDER_WIDTH, 2);
	for (size_t i = 0; i < f->rows_count; i++) {
		if (is_member(&f->rows[i]))
			lane_row(&f->rows[i], used, n, t);
	}
	fputc('\n', out);
	hg_render_paragraph(
		out, 2,
		"Per thread, %% of its time (irq: softirq and interrupts; wait: for a CPU; throt: "
		"throttled; sleep: disk, timer, peer and other waits)");
	hg_table_print(t, out);
}

/* Who else ran: competitors for the CPUs, and wakers. */
static void others_table(const struct hg_findings *f, FILE *out)
{
	static const struct hg_table_column columns[] = {{"role", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"thread", HG_TABLE_LEFT, HG_TABLE_ELIDE},
							 {"tid", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"ran", HG_TABLE_RIGHT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t = hg_table_new(columns, 4, HG_RENDER_WIDTH, 2);
	size_t shown = 0;

	for (size_t i = 0; i < f->rows_count; i++) {
		const struct hg_lane_row *row = &f->rows[i];
		uint64_t ran = row->leaf_ns[HG_LEAF_RUNNING] +
			       row->leaf_ns[HG_LEAF_RUNNING_SOFTIRQ] +
			       row->leaf_ns[HG_LEAF_RUNNING_IRQ];

		if (!ran || is_member(row))
			continue;
		hg_render_cell(t, "%s", row->role);
		hg_render_cell(t, "%s", row->name ? row->name : "");
		hg_render_cell(t, "%s", row->id);
		hg_render_cell(t, "%.3f s", (double)ran / 1e9);
		shown++;
	}
	if (!shown)
		return;
	fputc('\n', out);
	hg_render_paragraph(out, 2, "Others that ran where the target wanted to, or that woke it:");
	hg_table_print(t, out);
}

static uint64_t leaves_sum(const uint64_t *leaf_ns, int from, int to)
{
	uint64_t sum = 0;

	for (int l = from; l <= to; l++)
		sum += leaf_ns[l];
	return sum;
}

/* Only where it tells more than the table of states. */
static void targets_table(const struct hg_findings *f, FILE *out)
{
	static const struct hg_table_column columns[] = {
		{"target", HG_TABLE_LEFT, HG_TABLE_ELIDE},
		{"threads", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"CPUs", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"run", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"wait", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"throt", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"sleep", HG_TABLE_RIGHT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), HG_RENDER_WIDTH, 2);

	if (f->targets_count < 2)
		return;
	for (size_t i = 0; i < f->targets_count; i++) {
		const struct hg_target_row *row = &f->targets[i];
		uint64_t run = leaves_sum(row->leaf_ns, HG_LEAF_RUNNING, HG_LEAF_RUNNING_IRQ);

		if (row->hierarchy)
			hg_render_cell(t, "cgroup %s", row->name);
		else
			hg_render_cell(t, "%s (pid %llu)", row->name, (unsigned long long)row->id);
		hg_render_cell(t, "%llu", (unsigned long long)row->lanes);
		hg_render_cell(t, "%.2f", f->wall_s > 0 ? (double)run / 1e9 / f->wall_s : 0);
		hg_render_cell(t, "%.1f", percent(run, row->wall_ns));
		hg_render_cell(t, "%.1f",
			       percent(leaves_sum(row->leaf_ns, HG_LEAF_RUNNABLE_BUSY,
						  HG_LEAF_RUNNABLE_IDLE),
				       row->wall_ns));
		hg_render_cell(t, "%.1f", percent(row->leaf_ns[HG_LEAF_THROTTLED], row->wall_ns));
		hg_render_cell(t, "%.1f",
			       percent(leaves_sum(row->leaf_ns, HG_LEAF_BLOCKED_LOCK,
						  HG_LEAF_BLOCKED_OTHER),
				       row->wall_ns));
	}
	fputc('\n', out);
	hg_render_paragraph(out, 2, "Per target, %% of its threads' time (CPUs: used on average):");
	hg_table_print(t, out);
}

/* The functions that tell waits apart: not how every system call is entered, and no more than fit. */
static void frames_cell(struct hg_table *t, const char *frames)
{
	static const char *const ends[] = {"do_syscall_64", "x64_sys_call", "ret_from_fork",
					   "asm_exc_page_fault"};
	char text[128];
	size_t used = 0, functions = 0;

	while (*frames && functions < 3) {
		size_t length = strcspn(frames, ";");
		bool end = !length;

		for (size_t i = 0; i < HG_ARRAY_SIZE(ends); i++)
			end |= length == strlen(ends[i]) && !strncmp(frames, ends[i], length);
		if (end || used + length + 4 > sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
					 functions ? " < " : "", (int)length, frames);
		frames += length + (frames[length] == ';');
		functions++;
	}
	text[used] = 0;
	hg_render_cell(t, "%s", used ? text : "?");
}

static uint64_t sleeps_ns(const struct hg_findings *f, const char *role)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->sleeps_count; i++)
		sum += strcmp(f->sleeps[i].role, role) ? 0 : f->sleeps[i].ns;
	return sum;
}

/* What the kernel's functions say beyond the reason: the largest of each role. */
static void sleeps_table(const struct hg_findings *f, FILE *out)
{
	static const struct hg_table_column columns[] = {{"role", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"%", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"waits", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
							 {"state", HG_TABLE_LEFT, HG_TABLE_WHOLE},
							 {"in", HG_TABLE_LEFT, HG_TABLE_ELIDE}};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), HG_RENDER_WIDTH, 2);
	size_t of_role = 0;

	if (!f->sleeps_count)
		return;
	for (size_t i = 0; i < f->sleeps_count; i++) {
		const struct hg_sleep_row *row = &f->sleeps[i];

		of_role = i && !strcmp(row->role, f->sleeps[i - 1].role) ? of_role + 1 : 0;
		if (of_role >= SLEEPS_SHOWN)
			continue;
		hg_render_cell(t, "%s", row->role);
		hg_render_cell(t, "%.1f", percent(row->ns, sleeps_ns(f, row->role)));
		hg_render_cell(t, "%llu", (unsigned long long)row->waits);
		hg_render_cell(t, "%s", hg_leaf_name(row->leaf) + strlen("blocked."));
		frames_cell(t, row->frames);
	}
	fputc('\n', out);
	hg_render_paragraph(
		out, 2,
		"Where in the kernel they slept, %% of the waits whose stack was taken (one "
		"in a while of each thread; innermost function first):");
	hg_table_print(t, out);
}

/* Only where interrupts take a part that matters of some CPU. */
static void cpus_table(const struct hg_findings *f, FILE *out)
{
	static const struct hg_table_column columns[] = {
		{"CPU", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"busy", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"softirq", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"by ticks", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"irq", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"packets/s", HG_TABLE_RIGHT, HG_TABLE_WHOLE},
		{"dropped", HG_TABLE_RIGHT, HG_TABLE_WHOLE}};
	hg_table_auto struct hg_table *t =
		hg_table_new(columns, HG_ARRAY_SIZE(columns), HG_RENDER_WIDTH, 2);
	size_t shown = 0, matter = 0;

	for (size_t i = 0; i < f->cpus_count; i++)
		matter += f->cpus[i].softirq + f->cpus[i].irq >= INTERRUPTS_MIN;
	if (!matter)
		return;
	for (size_t i = 0; i < f->cpus_count && shown < CPUS_MAX; i++) {
		const struct hg_cpu_row *row = &f->cpus[i];
		const double shares[] = {row->busy, row->softirq, row->softirq_ticks, row->irq};

		if (f->cpus_count > CPUS_MAX && !(row->softirq + row->irq >= INTERRUPTS_MIN))
			continue;
		shown++;
		hg_render_cell(t, "%u", row->cpu);
		for (size_t k = 0; k < HG_ARRAY_SIZE(shares); k++)
			hg_render_cell(t, isnan(shares[k]) ? "" : "%.1f", 100 * shares[k]);
		hg_render_cell(t, isnan(row->packets_per_s) ? "" : "%.0f", row->packets_per_s);
		hg_render_cell(t, isnan(row->packets_per_s) ? "" : "%llu",
			       (unsigned long long)row->dropped);
	}
	fputc('\n', out);
	hg_render_paragraph(out, 2,
			    "Per CPU, %% of the time (softirq, irq: by events; busy, by ticks: "
			    "/proc/stat) and what it received:");
	hg_table_print(t, out);
}

void hg_render_time(const struct hg_findings *f, FILE *out, bool bold)
{
	struct totals totals[ROLES_MAX];
	size_t n = totals_fill(f, totals);
	const struct totals *target = totals_find(totals, n, "target");
	const struct totals *client = totals_find(totals, n, "client");

	if (!f->rows_count)
		return;
	hg_render_heading(out, bold, "WHERE THE TIME WENT");
	if (target->count || client->count) {
		states_table(target, client, out);
		targets_table(f, out);
		lanes_table(f, out);
		sleeps_table(f, out);
	}
	cpus_table(f, out);
	others_table(f, out);
}
