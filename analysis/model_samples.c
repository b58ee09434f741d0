/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the sampler's and the client's streams: what outside sources said, as series of running totals. */
#include <errno.h>
#include <string.h>

#include "analysis/model_internal.h"
#include "analysis/model_reason.h"
#include "base/hg_base.h"
#include "base/hg_log.h"

/* Records of one round of the sampler lie closer together than this, rounds (ten a second) further apart. */
#define TICK_GAP_NS UINT64_C(20000000)

struct samples {
	struct hg_model *m;
	uint64_t tick_ns; /* last record of the present round */
	uint32_t tick;	  /* rounds so far, from 1 */
};

static bool want_samples(void *arg, uint16_t machine, uint32_t stream)
{
	return machine == 0 && (stream == HG_STREAM_SAMPLER || stream == HG_STREAM_CLIENT);
}

int hg_series_add(struct hg_model *m, struct hg_series *s, uint64_t time_ns, uint64_t a, uint64_t b)
{
	if (m->samples >= HG_SAMPLES_MAX) {
		hg_model_warn_once(m->warned_samples,
				   "The trace has more than %u samples: the rest are left out.",
				   HG_SAMPLES_MAX);
		return 0;
	}
	if (!(s->n & (s->n - 1)) && (!s->n || s->n >= 8)) { /* 8, 16, 32 ... */
		struct hg_sample *v = realloc(s->v, (s->n ? s->n * 2 : 8) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
	}
	s->v[s->n++] = (struct hg_sample){time_ns, a, b};
	m->samples++;
	return 0;
}

/* Where the total stood at t, from the two samples around it. i: last sample at or before t. */
static uint64_t value_at(const struct hg_series *s, size_t i, uint64_t t, bool second)
{
	uint64_t v0 = second ? s->v[i].b : s->v[i].a, v1;

	if (i + 1 >= s->n || s->v[i].time_ns >= t)
		return v0;
	v1 = second ? s->v[i + 1].b : s->v[i + 1].a;
	if (v1 <= v0)
		return v0;
	return v0 + (uint64_t)((unsigned __int128)(v1 - v0) * (t - s->v[i].time_ns) /
			       (s->v[i + 1].time_ns - s->v[i].time_ns));
}

/* Last sample at or before t; there is one. */
static size_t sample_before(const struct hg_series *s, uint64_t t)
{
	size_t low = 0, high = s->n;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->v[mid].time_ns <= t)
			low = mid;
		else
			high = mid;
	}
	return low;
}

bool hg_series_delta(const struct hg_series *s, uint64_t from_ns, uint64_t to_ns, uint64_t *a_out,
		     uint64_t *b_out, uint64_t *span_out)
{
	uint64_t begin[2], end[2];
	size_t i, j;

	if (s->n < 2)
		return false;
	from_ns = HG_MAX(from_ns, s->v[0].time_ns);
	to_ns = HG_MIN(to_ns, s->v[s->n - 1].time_ns);
	if (from_ns >= to_ns)
		return false;
	i = sample_before(s, from_ns);
	j = sample_before(s, to_ns);
	for (int k = 0; k < 2; k++) {
		begin[k] = value_at(s, i, from_ns, k);
		end[k] = value_at(s, j, to_ns, k);
	}
	if (a_out)
		*a_out = end[0] > begin[0] ? end[0] - begin[0] : 0;
	if (b_out)
		*b_out = end[1] > begin[1] ? end[1] - begin[1] : 0;
	if (span_out)
		*span_out = to_ns - from_ns;
	return true;
}

bool hg_series_mean(const struct hg_series *s, uint64_t from_ns, uint64_t to_ns, double *a_out,
		    double *b_out, size_t *n_out)
{
	double a = 0, b = 0;
	size_t n = 0;

	for (size_t i = s->n ? sample_before(s, from_ns) : 0; i < s->n; i++) {
		if (s->v[i].time_ns < from_ns)
			continue;
		if (s->v[i].time_ns > to_ns)
			break;
		a += (double)s->v[i].a;
		b += (double)s->v[i].b;
		n++;
	}
	if (!n)
		return false;
	if (a_out)
		*a_out = a / (double)n;
	if (b_out)
		*b_out = b / (double)n;
	if (n_out)
		*n_out = n;
	return true;
}

static int on_cpu_times(struct hg_model *m, const struct hg_record *rec)
{
	int err = 0;
	struct hg_cpu *c = hg_model_cpu_want(m, rec->f[HG_CPU_TIMES_CPU], &err);
	uint64_t busy;

	if (!c)
		return err;
	err = hg_series_add(m, &c->proc_softirq, rec->time_ns, rec->f[HG_CPU_TIMES_SOFTIRQ],
			    rec->f[HG_CPU_TIMES_IRQ]);
	if (err)
		return err;
	/* Wall less idle and iowait: these are measured where the tick stops (get_cpu_idle_time_us()), while user, system
	 * and the rest are counted in ticks on common configurations, and miss what begins and ends between them. */
	busy = rec->time_ns - rec->f[HG_CPU_TIMES_IDLE] - rec->f[HG_CPU_TIMES_IOWAIT];
	return hg_series_add(m, &c->proc_stat, rec->time_ns, busy, rec->f[HG_CPU_TIMES_STEAL]);
}

static int on_cpu_busy(struct hg_model *m, const struct hg_record *rec)
{
	int err = 0;
	struct hg_cpu *c = hg_model_cpu_want(m, rec->f[HG_CPU_BUSY_CPU], &err);

	if (!c)
		return err;
	err = hg_series_add(m, &c->probe_softirq, rec->time_ns, rec->f[HG_CPU_BUSY_SOFTIRQ],
			    rec->f[HG_CPU_BUSY_IRQ]);
	if (err)
		return err;
	return hg_series_add(m, &c->probe_busy, rec->time_ns, rec->f[HG_CPU_BUSY_BUSY],
			     rec->f[HG_CPU_BUSY_SWITCHES]);
}

static int on_task_sample(struct hg_model *m, const struct hg_record *rec)
{
	int err = 0;
	struct hg_lane *l;

	if (!hg_model_lane_want(m, rec->f[HG_SCHEDSTAT_LANE], &err))
		return err;
	l = &m->lanes[rec->f[HG_SCHEDSTAT_LANE]];
	if (rec->kind == HG_KIND_SCHEDSTAT)
		return hg_series_add(m, &l->schedstat, rec->time_ns, rec->f[HG_SCHEDSTAT_RUN_NS],
				     rec->f[HG_SCHEDSTAT_DELAY_NS]);
	return hg_series_add(m, &l->times, rec->time_ns, rec->f[HG_TASK_TIMES_USER_NS],
			     rec->f[HG_TASK_TIMES_SYSTEM_NS]);
}

static struct hg_cgroup *cgroup_get(struct hg_model *m, const char *path)
{
	struct hg_cgroup *cgroups;

	for (size_t i = 0; i < m->cgroups_count; i++) {
		if (!strcmp(m->cgroups[i].path, path))
			return &m->cgroups[i];
	}
	if (m->cgroups_count >= HG_CGROUPS_MAX)
		return NULL;
	cgroups = realloc(m->cgroups, (m->cgroups_count + 1) * sizeof(*cgroups));
	if (!cgroups)
		return NULL;
	m->cgroups = cgroups;
	cgroups[m->cgroups_count] = (struct hg_cgroup){.path = path};
	return &cgroups[m->cgroups_count++];
}

static int on_rss(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t tgid = rec->f[HG_RSS_TGID];
	struct hg_process *p = NULL;

	for (size_t i = 0; i < m->processes_count && !p; i++) {
		if (m->processes[i].tgid == tgid)
			p = &m->processes[i];
	}
	if (!p) {
		if (tgid > UINT32_MAX || m->processes_count >= HG_PROCESSES_MAX)
			return 0;
		p = realloc(m->processes, (m->processes_count + 1) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		m->processes = p;
		p += m->processes_count++;
		*p = (struct hg_process){.tgid = (uint32_t)tgid};
	}
	return hg_series_add(m, &p->rss, rec->time_ns, rec->f[HG_RSS_BYTES], 0);
}

static int on_messages(struct hg_model *m, const struct hg_record *rec)
{
	uint64_t target = rec->f[HG_MESSAGES_TARGET];
	struct hg_message_series *s = NULL;
	int rc;

	for (size_t i = 0; i < m->messages_count && !s; i++) {
		if (m->messages[i].target == target)
			s = &m->messages[i];
	}
	if (!s) {
		if (target >= HG_TARGETS_MAX)
			return 0;
		s = realloc(m->messages, (m->messages_count + 1) * sizeof(*s));
		if (!s)
			return -ENOMEM;
		m->messages = s;
		s += m->messages_count++;
		*s = (struct hg_message_series){.target = (uint32_t)target};
	}
	rc = hg_series_add(m, &s->received, rec->time_ns, rec->f[HG_MESSAGES_RECEIVED],
			   rec->f[HG_MESSAGES_RECEIVED_BYTES]);
	return rc ? rc
		  : hg_series_add(m, &s->sent, rec->time_ns, rec->f[HG_MESSAGES_SENT],
				  rec->f[HG_MESSAGES_SENT_BYTES]);
}

static int on_cgroup(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_cgroup *g = cgroup_get(m, hg_model_string(m, rec->f[HG_CGROUP_CPU_PATH]));
	int rc;

	if (!g)
		return 0;
	if (rec->time_ns <= m->to_ns || !g->period_us) {
		g->quota_us = rec->f[HG_CGROUP_CPU_QUOTA_US];
		g->period_us = rec->f[HG_CGROUP_CPU_PERIOD_US];
		g->targets = rec->f[HG_CGROUP_CPU_TARGETS];
	}
	rc = hg_series_add(m, &g->stat, rec->time_ns, rec->f[HG_CGROUP_CPU_THROTTLED_NS],
			   rec->f[HG_CGROUP_CPU_USAGE_NS]);
	return rc ? rc
		  : hg_series_add(m, &g->periods, rec->time_ns, rec->f[HG_CGROUP_CPU_PERIODS],
				  rec->f[HG_CGROUP_CPU_THROTTLED]);
}

static void look_add(struct hg_model *m, uint32_t tick, int sysnr)
{
	if (m->looks_count == m->looks_size) {
		size_t size = m->looks_size ? 2 * m->looks_size : 256;
		struct hg_look *looks;

		if (m->looks_count >= HG_LOOKS_MAX)
			return;
		looks = reallocarray(m->looks, size, sizeof(*looks));
		if (!looks)
			return;
		m->looks = looks;
		m->looks_size = size;
	}
	m->looks[m->looks_count++] = (struct hg_look){tick, sysnr};
}

bool hg_model_syscalls_seen(const struct hg_model *m, const int *sysnrs, size_t n, double *part_out,
			    uint64_t *rounds_out)
{
	uint32_t last = 0, seen = 0;

	if (!m->looks_count || !m->ticks)
		return false;
	for (size_t i = 0; i < m->looks_count; i++) {
		const struct hg_look *l = &m->looks[i];

		for (size_t k = 0; k < n && l->tick != last; k++) {
			if (sysnrs[k] == l->sysnr) {
				seen++;
				last = l->tick;
			}
		}
	}
	*part_out = (double)seen / m->ticks;
	*rounds_out = m->ticks;
	return true;
}

static int on_wait_sample(struct samples *s, const struct hg_record *rec)
{
	struct hg_model *m = s->m;
	uint64_t id = rec->f[HG_WAIT_SAMPLE_LANE];
	int nr = (int)rec->f[HG_WAIT_SAMPLE_SYSNR] - 1;

	if (id < HG_LANE_FIRST || id >= m->lanes_count || rec->time_ns < m->from_ns ||
	    rec->time_ns >= m->to_ns)
		return 0;
	look_add(m, s->tick, nr);
	if (hg_wait_is_lock(nr, rec->f[HG_WAIT_SAMPLE_ARG1], rec->f[HG_WAIT_SAMPLE_ARG2]))
		hg_locks_sample(m, hg_locks_get(m, m->lanes[id].tgid, rec->f[HG_WAIT_SAMPLE_ARG0]),
				s->tick);
	return hg_kernel_look(m, (uint32_t)id, s->tick, rec->time_ns, rec->f[HG_WAIT_SAMPLE_WCHAN]);
}

static void probe_cost_end(struct hg_probe_info *p, const struct hg_record *rec)
{
	struct hg_probe_cost *c = p->cost_count ? &p->cost[p->cost_count - 1] : NULL;

	if (!c || c->end_ns || rec->time_ns <= c->begin_ns || rec->f[HG_PROBE_COST_NS] < c->ns)
		return;
	c->end_ns = rec->time_ns;
	c->runs = rec->f[HG_PROBE_COST_RUNS] - HG_MIN(c->runs, rec->f[HG_PROBE_COST_RUNS]);
	c->ns = rec->f[HG_PROBE_COST_NS] - c->ns;
}

static int on_probe_cost(struct hg_model *m, const struct hg_record *rec)
{
	struct hg_probe_info *p;
	size_t n;

	if (rec->f[HG_PROBE_COST_ID] >= HG_PROBES_MAX || m->samples >= HG_SAMPLES_MAX)
		return 0;
	p = &m->probes[rec->f[HG_PROBE_COST_ID]];
	n = p->cost_count;
	if (rec->f[HG_PROBE_COST_MEASURED]) {
		probe_cost_end(p, rec);
		return 0;
	}
	if (n && !p->cost[n - 1].end_ns) /* the record of its end is lost */
		n = --p->cost_count;
	if (!(n & (n - 1)) && (!n || n >= 8)) {
		void *v = realloc(p->cost, (n ? n * 2 : 8) * sizeof(*p->cost));

		if (!v)
			return -ENOMEM;
		p->cost = v;
	}
	p->cost[p->cost_count++] = (struct hg_probe_cost){
		.begin_ns = rec->time_ns,
		.runs = rec->f[HG_PROBE_COST_RUNS],
		.ns = rec->f[HG_PROBE_COST_NS],
	};
	m->samples++;
	return 0;
}

/* A piece of a line may end within a number, and a line with a NUL is cut there: no figure is read from them. */
static const char *line_text(const struct hg_model *m, const struct hg_record *rec)
{
	const char *text = hg_model_string(m, rec->f[HG_LINE_TEXT]);
	size_t length = 0;

	hg_reader_string(m->r, rec->f[HG_LINE_TEXT], &length);
	return rec->f[HG_LINE_PIECE] || memchr(text, '\0', length) ? NULL : text;
}

static int on_line(struct hg_model *m, const struct hg_record *rec)
{
	size_t n = m->lines_count;

	if (n >= HG_LINES_MAX)
		return 0;
	if (!(n & (n - 1))) {
		void *v = realloc(m->lines, (n ? n * 2 : 1) * sizeof(*m->lines));

		if (!v)
			return -ENOMEM;
		m->lines = v;
	}
	m->lines[m->lines_count++] =
		(struct hg_line){rec->time_ns, (int)rec->f[HG_LINE_FD], line_text(m, rec)};
	return 0;
}

/* A round is one that read the tasks or CPUs; other records of the stream come at times of their own. */
static void count_tick(struct samples *s, const struct hg_record *rec)
{
	struct hg_model *m = s->m;

	if (s->tick && rec->time_ns - s->tick_ns < TICK_GAP_NS) {
		s->tick_ns = rec->time_ns;
		return;
	}
	s->tick_ns = rec->time_ns;
	s->tick++;
	if (rec->time_ns >= m->from_ns && rec->time_ns < m->to_ns)
		m->ticks++;
}

static int on_sample(struct samples *s, const struct hg_record *rec)
{
	struct hg_model *m = s->m;

	switch (rec->kind) {
	case HG_KIND_CPU_TIMES:
		count_tick(s, rec);
		return on_cpu_times(m, rec);
	case HG_KIND_SCHEDSTAT:
		count_tick(s, rec);
		return on_task_sample(m, rec);
	case HG_KIND_WAIT_SAMPLE:
		count_tick(s, rec);
		return on_wait_sample(s, rec);
	case HG_KIND_SPIN_LOOK:
		hg_spins_look(s->m, rec);
		return 0;
	case HG_KIND_TASK_TIMES:
		return on_task_sample(m, rec);
	case HG_KIND_CPU_BUSY:
		return on_cpu_busy(m, rec);
	case HG_KIND_CGROUP_CPU:
		return on_cgroup(m, rec);
	case HG_KIND_MESSAGES:
		return on_messages(m, rec);
	case HG_KIND_RSS:
		return on_rss(m, rec);
	case HG_KIND_OWN:
		return hg_series_add(m, &m->own, rec->time_ns, rec->f[HG_OWN_CPU_NS],
				     rec->f[HG_OWN_BYTES]);
	case HG_KIND_PROBE_COST:
		return on_probe_cost(m, rec);
	case HG_KIND_QDISC:
	case HG_KIND_NETDEV_STATS:
	case HG_KIND_SOFTNET:
	case HG_KIND_SOCKET:
	case HG_KIND_NETNS_STATS:
		return hg_network_sample(m, rec);
	case HG_KIND_DISK:
	case HG_KIND_PSI:
		return hg_disks_sample(m, rec);
	case HG_KIND_LINE:
		return on_line(m, rec);
	case HG_KIND_LOSS:
		m->losses.damage += rec->f[HG_LOSS_COUNT];
		return 0;
	}
	return 0;
}

int hg_model_read_samples(struct hg_model *m)
{
	struct hg_cursor_opts opts = {.want = want_samples};
	struct hg_cursor *c __attribute__((cleanup(hg_cursor_closep))) = NULL;
	struct samples s = {.m = m};
	const struct hg_record *rec;
	int rc = hg_cursor_open(m->r, &opts, &c);

	if (rc)
		return rc;
	while ((rc = hg_cursor_next(c, &rec)) > 0) {
		int err = on_sample(&s, rec);

		if (err)
			return err;
	}
	return rc;
}

/* CPUs' worth of one probe, from the measurements that touch [from, to]; < 0: there is none. */
static double cost_cpus(const struct hg_probe_info *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0, measured_ns = 0;

	for (size_t i = 0; i < p->cost_count; i++) {
		const struct hg_probe_cost *c = &p->cost[i];

		if (!c->end_ns || c->end_ns <= from_ns || c->begin_ns >= to_ns)
			continue;
		measured_ns += c->end_ns - c->begin_ns;
		ns += c->ns;
	}
	return measured_ns ? (double)ns / (double)measured_ns : -1;
}

static double cost_sum(const struct hg_model *m, uint64_t from_ns, uint64_t to_ns)
{
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < HG_PROBES_MAX; i++) {
		double cpus = cost_cpus(&m->probes[i], from_ns, to_ns);

		if (cpus < 0)
			continue;
		any = true;
		sum += cpus;
	}
	return any ? sum : -1;
}

double hg_model_bpf_cpus(const struct hg_model *m)
{
	double cpus = cost_sum(m, m->from_ns, m->to_ns);

	/* A short window may lie between two measurements. */
	return cpus < 0 ? cost_sum(m, m->begin_ns, m->end_ns) : cpus;
}
