/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/render.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/hg_escape.h"

const char *hg_confidence_name(enum hg_confidence c)
{
	static const char *const names[] = {"none", "low", "medium", "high"};

	return (size_t)c < HG_ARRAY_SIZE(names) ? names[c] : names[0];
}

const char *hg_cause_gloss(const char *class_name, const char *cause)
{
	static const struct {
		const char *class_name, *cause, *gloss;
	} table[] = {
		{"cpu", "serial-thread",
		 "One thread carries the work. It is busy all the time and cannot use a second "
		 "CPU."},
		{"cpu", "saturated", "All CPUs that the target may use are busy."},
		{"cpu", "affinity",
		 "Its threads may use some CPUs only and crowd there, while others are idle."},
		{"cpu", "sched-placement",
		 "Its threads are queued on busy CPUs while one that they may use is idle."},
		{"cpu", "quota", "A cgroup's CPU limit stops the target before its work is done."},
		{"cpu", "competitor",
		 "Somebody else runs on the CPUs on which the target wants to run."},
		{"locking", "user", "Threads wait for a lock that another thread holds."},
		{"locking", "user-spin",
		 "Threads keep CPUs busy by waiting for a lock that another thread holds."},
		{"locking", "kernel-sleep",
		 "Threads wait for a lock of the kernel that guards something which they share."},
		{"locking", "kernel-spin",
		 "CPUs spin for a lock of the kernel that guards something which threads share."},
		{"net", "link-shaper",
		 "A queueing discipline or a line lets no more through than its rate."},
		{"net", "rtt-window",
		 "The path takes long, and too little is under way on it at once."},
		{"net", "drops",
		 "What was sent is lost, and connections stand still until it is sent again."},
		{"net", "vmm-io-thread",
		 "A thread that passes the traffic between client and target has no time left."},
		{"net", "softirq-one-cpu",
		 "The receive work of one CPU leaves it no time, while other CPUs have room."},
		{"disk", "device", "The target waits for a disk that always has requests to do."},
		{"disk", "journal",
		 "The target waits for its file system to commit its journal, again and again."},
		{"client", "saturated",
		 "The load generator itself is busy: it cannot ask for more."},
		{"client", "too-few-connections",
		 "The load generator waits for answers and has too few requests under way."},
		{"client", "think-time", "The clients pause between their requests."},
		{"none", NULL, "The offered load is met. More load would be served as well."},
		{"inconclusive", NULL,
		 "No cause passed all checks. What is missing for an answer is named below."},
		{"unknown", NULL, "The recording does not hold what an answer needs."},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		if (!strcmp(table[i].class_name, class_name) &&
		    (!table[i].cause || (cause && !strcmp(table[i].cause, cause))))
			return table[i].gloss;
	}
	return "";
}

bool hg_class_is_limit(const char *class_name)
{
	return class_name && strcmp(class_name, "none") && strcmp(class_name, "inconclusive") &&
	       strcmp(class_name, "unknown");
}

double hg_probe_effect(const struct hg_findings *f)
{
	return f->session.bpf_cpus >= 0 && f->host_cpus > 0 ? f->session.bpf_cpus / f->host_cpus
							    : NAN;
}

double hg_own_cpus(const struct hg_findings *f)
{
	return f->wall_s > 0 ? (double)f->session.own_cpu_ns / 1e9 / f->wall_s : NAN;
}

double hg_efficiency(const struct hg_findings *f)
{
	return f->client.valid && f->host_cpus > 0 ? f->client.value / f->host_cpus : NAN;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool hg_candidate_same(const struct hg_candidate *a, const struct hg_candidate *b)
{
	return same(a->class_name, b->class_name) && same(a->cause, b->cause) &&
	       same(a->subject.kind, b->subject.kind) && !strcmp(a->subject.id, b->subject.id);
}

/* Ends a text that is too long to be read with "...", at a whole character. */
static void clip(char *text, size_t size, int length)
{
	size_t cut = size - sizeof("...");

	if (length < (int)size)
		return;
	while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	strcpy(text + cut, "...");
}

void hg_render_heading(FILE *out, bool bold, const char *fmt, ...)
{
	char raw[512], safe[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	hg_escape_terminal(safe, sizeof(safe), raw);
	fprintf(out, bold ? "\n\033[1m%s\033[0m\n" : "\n%s\n", safe);
}

void hg_render_paragraph(FILE *out, unsigned int indent, const char *fmt, ...)
{
	static const struct hg_table_column column[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WRAP}};
	hg_table_auto struct hg_table *t = hg_table_new(column, 1, HG_RENDER_WIDTH, indent);
	char text[HG_RENDER_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	clip(text, sizeof(text), vsnprintf(text, sizeof(text), fmt, ap));
	va_end(ap);
	hg_table_cell(t, "%s", text);
	hg_table_print(t, out);
}

void hg_render_cell(struct hg_table *t, const char *fmt, ...)
{
	char text[HG_RENDER_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	clip(text, sizeof(text), vsnprintf(text, sizeof(text), fmt, ap));
	va_end(ap);
	hg_table_cell(t, "%s", text);
}

void hg_render_cause(char *dst, size_t size, const struct hg_candidate *c)
{
	const char *class_name = c->class_name ? c->class_name : "unknown";

	if (c->cause)
		snprintf(dst, size, "%s/%s", class_name, c->cause);
	else
		snprintf(dst, size, "%s", class_name);
}

void hg_render_subject(char *dst, size_t size, const struct hg_subject *s)
{
	bool named = s->name && *s->name;

	*dst = '\0';
	if (!s->kind)
		return;
	/* an id that the name already says is not said twice */
	if (named && *s->id && !strstr(s->name, s->id))
		snprintf(dst, size, "%.200s (%s)", s->name, s->id);
	else
		snprintf(dst, size, "%.200s", named ? s->name : s->id);
}
