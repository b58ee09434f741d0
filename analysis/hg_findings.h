/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result of attribution: plain data. Renderers format it and decide nothing. Strings are unescaped and owned by
 * the findings (one arena); lists are arrays with counts.
 */
#ifndef HG_FINDINGS_H
#define HG_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/hg_arena.h"
#include "analysis/hg_client_output.h"
#include "analysis/hg_model.h"

struct hg_subject {
	const char *machine; /* "host" */
	/* "thread", "process", "cpu-pool", "cgroup", "lock", "client", NULL: no subject */
	const char *kind;
	char id[64]; /* "tid 4711", "0x7f..", "/bench/web" */
	const char *name;
};

enum hg_confidence {
	HG_CONFIDENCE_NONE = 0,
	HG_CONFIDENCE_LOW,
	HG_CONFIDENCE_MEDIUM,
	HG_CONFIDENCE_HIGH
};

struct hg_evidence {
	/* one sentence with its figure: "nginx (tid 12) ran 97.1 % of 10.0 s" */
	const char *text;
	/* "sched_switch events", "/proc/12/task/12/schedstat", "wrk's output" */
	const char *source;
	bool proof;	  /* one of the two that the verdict rests on */
	bool holds;	  /* the figure supports the cause */
	double value;	  /* the figure; NAN if it is not one number */
	double threshold; /* what it was compared with; NAN */
};

struct hg_candidate {
	/* "cpu", "locking", "client", "none", "inconclusive", "unknown", ... */
	const char *class_name;
	const char *cause; /* "serial-thread"; NULL for none, inconclusive and unknown */
	struct hg_subject subject;
	enum hg_confidence confidence;
	/* criticality share with its bootstrap bounds, 0 to 1; NAN unknown */
	double share, share_low, share_high;
	double saturation;   /* utilisation of the limit, NAN unknown */
	const char *summary; /* one sentence, verdict first */
	/* the experiment that would confirm it, or what to do */
	const char *advice;
	/*
	 * links from the limit to its origin: "mutex 0x..", "held by worker (tid 5)", "asleep in
	 * clock_nanosleep"
	 */
	const char **chain;
	size_t chain_count;
	struct hg_evidence *evidence;
	size_t evidence_count;
	const char **refuted_by; /* sentences; empty: not refuted */
	size_t refuted_count;
	const char *unknown_why; /* inputs that are missing; NULL */
};

struct hg_what_if {
	const char *relieve; /* "serial thread nginx (tid 12)" */
	/* 0.3 = 30 % more; > 20 or INFINITY is shown as "> 20x"; NAN unknown */
	double gain_at_most;
	const char *bound_by;	   /* which of the bounds it is, with its formula and figures */
	struct hg_candidate *next; /* class, cause and subject of the next limit; NULL unknown */
};

struct hg_gate {
	const char *name; /* "losses", "sub-windows", "throughput", ... */
	bool passed;
	const char *text;
};

struct hg_setup_note {
	const char *id, *severity, *text; /* severity: info, warn, spoils */
};

/* Where the time went: a line for each lane of target and client, then one "others" line per kind. */
struct hg_lane_row {
	const char *machine, *kind; /* "task", "others" */
	char id[32];		    /* tid */
	const char *name;
	const char *role; /* "target", "client", "waker", "competitor" */
	int target;	  /* index of its target; -1: of none, or of several */
	uint64_t wall_ns;
	uint64_t count; /* lanes in this row */
	/* split of leaf RUNNING; user = kernel = 0 and split = false: not known */
	uint64_t user_ns, kernel_ns;
	bool split;
	uint64_t leaf_ns[HG_LEAVES];
};

/* What was named to be recorded, with the sums of its threads. */
struct hg_target_row {
	uint32_t index;
	const char *type, *name; /* "process", "cgroup" */
	const char *
		hierarchy; /* a cgroup's: controllers of the v1 hierarchy, "" v2; NULL: no cgroup */
	uint64_t id, lanes, wall_ns;
	uint64_t leaf_ns[HG_LEAVES];
};

/* Where in the kernel the target or the client slept, by waits whose stack was taken. */
struct hg_sleep_row {
	const char *role; /* "target", "client" */
	enum hg_leaf leaf;
	const char *frames; /* innermost first, joined by ';' */
	uint64_t waits, ns;
};

/* A CPU: shares of the time; NAN: not known. */
struct hg_cpu_row {
	unsigned int cpu;
	double busy;	      /* by /proc/stat */
	double softirq, irq;  /* by events, whatever they interrupted, ksoftirqd included */
	double softirq_ticks; /* by /proc/stat */
	/* /proc/net/softnet_stat: packets that it received for the kernel, dropped before that, rounds with work left */
	double packets_per_s;
	uint64_t dropped, squeezed;
};

/* Memory of a process of the target. */
struct hg_footprint {
	const char *name;	/* "nginx (pid 12)" */
	uint64_t rss_bytes_max; /* largest sample in the window, or the last one before it */
};

struct hg_findings {
	double wall_s;	     /* window */
	double from_s, to_s; /* from the start of the recording */
	unsigned int subwindows;
	struct hg_client_result client;	 /* throughput */
	double host_cpus;		 /* CPUs busy on average, by /proc/stat, whole host; NAN */
	double target_cpus, client_cpus; /* by events */
	double other_cpus;		 /* host_cpus without these two; NAN */
	unsigned int cpus_online;
	/* of the target's processes: sum of each one's largest; 0 unknown */
	uint64_t rss_bytes_max;
	struct hg_footprint *footprints; /* a row for each of them */
	size_t footprints_count;
	const char *target_name; /* "nginx (pid 12, 3 threads)" */
	struct hg_candidate verdict;
	struct hg_candidate *candidates; /* ranked; the first may be the verdict */
	size_t candidates_count;
	struct hg_what_if *what_if;
	size_t what_if_count;
	struct hg_target_row *targets;
	size_t targets_count;
	struct hg_lane_row *rows;
	size_t rows_count;
	struct hg_sleep_row *sleeps; /* longest first */
	size_t sleeps_count;
	struct hg_cpu_row *cpus; /* those with figures */
	size_t cpus_count;
	struct hg_gate *gates;
	size_t gates_count;
	struct hg_setup_note *setup;
	size_t setup_count;
	struct hg_losses losses;
	struct hg_model_session session;
	double clock_error_ns;	/* of the host: 0 */
	char health[256];	/* the reader's sentence, "" if the file is in order */
	json_t *environment;	/* or NULL */
	struct hg_model *model; /* for names of probes; owned; NULL: probes are shown by number */
	/* owned; all strings and lists above but client's series and environment */
	struct hg_arena *arena;
};

/* Analyses a file's window. 0 or -errno with one message. */
int hg_findings_make(struct hg_reader *r, const struct hg_model_opts *opts, const char *client_name,
		     const char *client_regex, struct hg_findings **out);
/* f itself is from calloc. NULL does nothing. */
void hg_findings_free(struct hg_findings *f);

/*
 * Fills f->rows from the model's lanes: the max_rows (0: 20) of the target and the client, and as many of the rest, with
 * most time not spent asleep, then a row "others" per role that keeps the sums. Uses f->arena. 0 or -ENOMEM.
 */
int hg_findings_rows(struct hg_findings *f, const struct hg_model *m, unsigned int max_rows);

/* Fills f->targets. 0 or -ENOMEM. */
int hg_findings_targets(struct hg_findings *f, const struct hg_model *m);

/* Fills f->sleeps. 0 or -ENOMEM. */
int hg_findings_sleeps(struct hg_findings *f, const struct hg_model *m);
/* Fills f->cpus. 0 or -ENOMEM. */
int hg_findings_cpus(struct hg_findings *f, const struct hg_model *m);

/* Renderers. Text is at most 80 columns. */
int hg_findings_text(const struct hg_findings *f, FILE *out);
int hg_findings_json(const struct hg_findings *f, FILE *out); /* schema hourglass-report/1 */

#endif
