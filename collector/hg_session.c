/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_session.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_environment.h"
#include "collector/session_parts.h"
#include "trace/hg_reader.h"
#include "trace/hg_steps.h"

#define SAMPLE_HZ	     199      /* samples of what runs; no divisor of what else ticks */
#define WAIT_STACK_PERIOD_NS 97000000 /* between a task's; no divisor either */
#define PROCESSES_MAX	     1024     /* of the targets, for the environment */

uint64_t session_own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * HG_NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int session_mark(struct hg_session *s, uint64_t what, uint64_t arg)
{
	struct hg_record rec = {.time_ns = hg_now_ns(), .kind = HG_KIND_MARK};

	rec.f[HG_MARK_WHAT] = what;
	rec.f[HG_MARK_ARG] = arg;
	return hg_writer_record(s->writer, 0, HG_STREAM_CONTROL, &rec);
}

/* -- what hourglass itself uses -- */

static uint64_t own_rss_bytes(void)
{
	hg_autofclose FILE *f = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
		return 0;
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int own_write(struct hg_session *s, uint64_t now_ns)
{
	struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_OWN};
	struct hg_writer_stats stats;

	hg_writer_stats_get(s->writer, &stats);
	rec.f[HG_OWN_CPU_NS] = session_own_cpu_ns();
	rec.f[HG_OWN_RSS_BYTES] = own_rss_bytes();
	rec.f[HG_OWN_EVENTS] = s->events;
	rec.f[HG_OWN_BYTES] = stats.bytes_out;
	rec.f[HG_OWN_RING_BYTES] = hg_probes_ring_bytes_max(s->probes);
	return hg_writer_record(s->writer, 0, HG_STREAM_SAMPLER, &rec);
}

int session_totals(struct hg_session *s, bool with_own)
{
	uint64_t now_ns = hg_now_ns();
	int err = hg_probes_cpu_totals(s->probes, s->writer, now_ns);

	if (!err)
		err = hg_probes_net_totals(s->probes, s->writer, now_ns);
	if (!err)
		err = hg_probes_message_totals(s->probes, s->writer, now_ns);
	return err || !with_own ? err : own_write(s, now_ns);
}

/* -- before: all that can be wrong is found before anything is attached -- */

static int signals_open(struct hg_session *s)
{
	struct sigaction hup;

	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGCHLD);
	sigaddset(&s->signals, SIGTERM);
	/* Also where a script's & has it ignored: such scripts end their recordings by kill -INT. */
	sigaddset(&s->signals, SIGINT);
	/* Ignored by nohup: a signalfd would get it all the same. */
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaddset(&s->signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &s->signals, &s->signals_before))
		return -errno;
	s->signal_fd = signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

static int client_prepare(struct hg_session *s)
{
	const struct hg_client_opts opts = {
		.argv = s->opts->command,
		.user = s->opts->user,
		.mask = &s->signals_before,
		.files = &s->files_before,
		.store = s->lines,
	};
	int err = 0;

	if (s->opts->command) {
		err = hg_client_start(&opts, &s->client);
		signal(SIGPIPE, SIG_IGN); /* our reader's end is CMD's affair */
	}
	if (!err && s->opts->client_log)
		err = hg_client_log_open(s->opts->client_log, s->lines, &s->log);
	return err;
}

static int session_prepare(struct hg_session *s)
{
	const struct hg_session_opts *o = s->opts;
	int err;

	err = session_privilege_check();
	if (!err)
		err = session_limits_check(hg_probes_rings_bytes(o->ring_bytes_cpu), o->pids_count);
	session_files_raise(&s->files_before);
	if (!err && hg_in_pid_namespace() && !(o->all && !o->pids_count && !o->cgroups_count)) {
		hg_error("cannot record a process from within a pid namespace: the probes see the "
			 "host's "
			 "pids; run hourglass on the host, give the container the host's "
			 "(--pid=host), or "
			 "record all tasks (-a)");
		err = -ENOTSUP;
	}
	if (!err)
		err = session_targets_open(&s->targets, o);
	if (!err)
		err = session_output_open(&s->output, o->output, o->force);
	if (!err)
		err = signals_open(s);
	if (!err)
		err = hg_line_store_new(&s->lines);
	if (!err)
		err = client_prepare(s);
	if (!err)
		err = session_lanes_new(o->all && !s->targets.count, &s->lanes);
	return err;
}

/* -- attach -- */

static int roots_add(struct hg_session *s)
{
	uint32_t all = s->opts->all ? HG_ROLEF_ALL : 0;
	int err;

	/* We are no part of what we record, also where our own shell or cgroup is the target. */
	err = hg_probes_root_add(s->probes, getpid(), 0, 0);
	if (!err)
		err = session_targets_root_add(&s->targets, s->probes, HG_ROLEF_TARGET | all);
	if (!err && s->client)
		err = hg_probes_root_add(
			s->probes, hg_client_pid(s->client),
			(s->command_is_target ? HG_ROLEF_TARGET : HG_ROLEF_CLIENT) | all, 0);
	return err;
}

/* What is missing is in the file too, and the report draws no conclusion from its absence. */
static void missing_probes_warn(const struct hg_session *s)
{
	size_t n;
	const struct hg_probe_status *status = hg_probes_status(s->probes, &n);

	for (size_t i = 0; i < n; i++) {
		if (!status[i].attached && !status[i].unasked)
			hg_warn("recording without probe %s: %s", status[i].name,
				status[i].why ? status[i].why : "it is not attached");
	}
}

static int probes_start(struct hg_session *s)
{
	const struct hg_probes_opts opts = {
		.all = s->opts->all,
		.cgroups = s->opts->cgroups_count,
		.ring_bytes_cpu = s->opts->ring_bytes_cpu,
		.drop_one_in = s->opts->drop_one_in,
		.packets = s->opts->all,
		.messages = !s->opts->client_tells,
		.sample_hz = SAMPLE_HZ,
		.wait_stack_period_ns = WAIT_STACK_PERIOD_NS,
		.observer = session_lanes_observer(s->lanes),
	};
	int err;

	err = hg_probes_open(&opts, &s->probes);
	if (!err)
		err = roots_add(s);
	if (!err)
		err = session_cost_open(&s->cost, s->probes);
	if (!err)
		err = hg_probes_attach(s->probes);
	if (!err)
		missing_probes_warn(s);
	return err;
}

/* -- what the file says about the run itself -- */

/* A word as sh would need it, so that the line can be pasted. */
static void word_quote(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%^";

	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

static int command_string(const struct hg_session *s, uint32_t *id_out)
{
	hg_autofree char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	for (char *const *word = s->opts->command; *word; word++) {
		if (word != s->opts->command)
			fputc(' ', out);
		word_quote(out, *word);
		if (s->opts->no_args)
			break;
	}
	if (fclose(out))
		return -ENOMEM;
	return hg_writer_string(s->writer, text, size, id_out);
}

static int option_string(struct hg_session *s, const char *text, uint64_t *out)
{
	uint32_t id;
	int err;

	if (!text)
		return 0;
	err = hg_writer_string(s->writer, text, strlen(text), &id);
	if (!err)
		*out = id;
	return err;
}

static int client_describe(struct hg_session *s)
{
	struct hg_record rec = {.time_ns = hg_now_ns(), .kind = HG_KIND_CLIENT};
	uint32_t argv = 0;
	int err = 0;

	if (!s->client && !s->log)
		return 0;
	if (s->client) {
		rec.f[HG_CLIENT_TID] = (uint64_t)hg_client_pid(s->client);
		err = command_string(s, &argv);
		rec.f[HG_CLIENT_ARGV] = argv;
	}
	if (!err)
		err = option_string(s, s->opts->client_log, &rec.f[HG_CLIENT_LOG]);
	if (!err)
		err = option_string(s, s->opts->client_name, &rec.f[HG_CLIENT_FORMAT]);
	if (!err)
		err = option_string(s, s->opts->client_regex, &rec.f[HG_CLIENT_REGEX]);
	return err ? err : hg_writer_record(s->writer, 0, HG_STREAM_CONTROL, &rec);
}

/* Read before the priority is raised: it takes a while and is not urgent. */
static int environment_read(const struct hg_session *s, char **text_out)
{
	pid_t command = s->client ? hg_client_pid(s->client) : 0, processes[PROCESSES_MAX];
	size_t count = session_targets_processes(&s->targets, processes, PROCESSES_MAX);
	const struct hg_environment_opts opts = {
		.targets = s->command_is_target ? &command : processes,
		.targets_count = s->command_is_target ? 1 : count,
		.client_argv = s->opts->command,
		.argc = s->opts->argc,
		.argv = s->opts->argv,
		.no_args = s->opts->no_args,
		.netns = s->netns,
	};
	json_t *environment = hg_environment_collect(&opts);
	char *text = environment ? json_dumps(environment, JSON_COMPACT) : NULL;

	json_decref(environment);
	if (!text)
		return -ENOMEM;
	*text_out = text;
	return 0;
}

static int writer_open(void *arg)
{
	struct hg_session *s = arg;

	return hg_writer_open(HG_TAKE_FD(s->output.fd), s->opts->output, &s->writer);
}

/* The writer's thread starts after privileges are given up, so that it has no more than we have. */
static int writer_start(struct hg_session *s)
{
	hg_autofree char *environment = NULL;
	int err;

	/* While we may still write into any directory. */
	err = session_output_commit(&s->output, s->opts->output);
	if (!err)
		err = session_privilege_drop();
	if (!err)
		err = environment_read(s, &environment);
	if (err)
		return err;
	err = session_sampling_open(s->netns, &s->sampling);
	if (err)
		return err;
	session_lanes_sampling_set(s->lanes, s->sampling);
	err = session_priority_prefer(writer_open, s);
	session_priority_raise();
	if (err)
		return err;
	hg_writer_step_set(s->writer, hg_steps_measure());
	hg_line_store_writer_set(s->lines, s->writer);
	return hg_writer_blob(s->writer, HG_CHUNK_ENVIRONMENT, 0, HG_STREAM_CONTROL, environment,
			      strlen(environment));
}

static int session_describe(struct hg_session *s)
{
	int err;

	err = hg_probes_describe(s->probes, s->writer, hg_now_ns());
	if (!err)
		err = session_targets_describe(&s->targets, s->writer);
	if (!err && s->command_is_target)
		err = session_targets_describe_command(hg_client_pid(s->client),
						       s->opts->command[0], s->writer);
	if (!err)
		err = client_describe(s);
	return err;
}

/* What goes wrong here leaves no file. */
static int session_attach(struct hg_session *s)
{
	int err;

	/* Before the probes, so that the child has none of them. */
	err = hg_netns_opener_start(session_privilege_netns_only, &s->netns);
	if (err)
		hg_warn("the network is read in hourglass's own namespace only: %s",
			strerror(-err));
	err = probes_start(s);
	if (!err)
		err = writer_start(s);
	if (!err)
		err = session_describe(s);
	if (!err)
		err = hg_probes_seed(s->probes, s->writer);
	if (!err)
		err = session_loop_open(s);
	s->result->began = !err;
	if (err)
		session_output_remove(&s->output);
	return err;
}

/* -- record -- */

static int session_begin(struct hg_session *s)
{
	int err;

	s->own_cpu_begin_ns = session_own_cpu_ns();
	err = session_totals(s, true);
	if (!err)
		err = session_sampling_tick(s->sampling, s->writer);
	if (!err)
		err = session_loop_wait_samples(s);
	s->begin_ns = hg_now_ns();
	if (!err)
		err = session_mark(s, HG_MARK_BEGIN, 0);
	if (!err && s->opts->duration_s > 0)
		err = session_loop_end_after(s, s->opts->duration_s);
	if (err || !s->client)
		return err;
	err = session_mark(s, HG_MARK_CLIENT_START, (uint64_t)hg_client_pid(s->client));
	return err ? err : hg_client_release(s->client);
}

/* The last sample is taken while the probes still count, so that both sides cover the same time. */
static int session_end(struct hg_session *s)
{
	int err;

	err = session_cost_end(s);
	if (!err)
		err = session_totals(s, true);
	if (!err)
		err = session_sampling_final(s->sampling, s->writer);
	if (!err)
		err = session_loop_wait_samples(s);
	if (!err)
		err = session_mark(s, HG_MARK_END, (uint64_t)s->result->end_reason);
	s->result->wall_ns = hg_now_ns() - s->begin_ns;
	hg_probes_detach(s->probes);
	if (!err)
		err = session_loop_drain_all(s);
	if (!err && s->log)
		err = hg_client_log_end(s->log);
	/* With a CMD its output may go on: the client ends the store. */
	if (!err && !s->client)
		err = hg_line_store_end(s->lines);
	return err;
}

static void result_take(struct hg_session *s)
{
	struct hg_session_result *r = s->result;

	r->events = s->events;
	r->lost = hg_probes_lost(s->probes);
	if (s->cost.measured_ns)
		r->bpf_ns = (uint64_t)((double)s->cost.run_ns / (double)s->cost.measured_ns *
				       (double)r->wall_ns);
	r->own_cpu_ns = session_own_cpu_ns() - s->own_cpu_begin_ns;
	r->ring_bytes_max = hg_probes_ring_bytes_max(s->probes);
	session_lanes_counts(s->lanes, &r->promoted, &r->promoted_over);
	r->spoiled = (double)r->lost > HG_SESSION_LOSS_MAX * (double)(r->events + r->lost);
}

/* Nothing of ours runs in the kernel any more. */
static void session_detach(struct hg_session *s)
{
	if (s->probes)
		hg_probes_close(s->probes);
	s->probes = NULL;
	session_cost_close(&s->cost);
	session_lanes_sampling_set(s->lanes, NULL);
	session_sampling_free(HG_TAKE_PTR(s->sampling));
}

/* Closes the file, with err of what came before. What is told of it is what can be read from it. */
static int writer_stop(struct hg_session *s, int err)
{
	struct hg_session_result *r = s->result;
	struct hg_writer_stats stats;
	int e;

	/* A write that failed has been told by the writer. */
	if (err && !hg_writer_failed(s->writer))
		hg_error("recording into %s stopped: %s; what was written until then is kept",
			 s->opts->output, hg_error_text(err));
	hg_line_store_writer_set(s->lines, NULL);
	e = hg_writer_close_stats(HG_TAKE_PTR(s->writer), &stats);
	err = err ? err : e;
	r->bytes = session_output_bytes(&s->output);
	r->events = stats.events;
	if (err) {
		r->end_reason = HG_END_ERROR;
		r->wall_ns = stats.last_ns > s->begin_ns ? stats.last_ns - s->begin_ns : 0;
	}
	return err;
}

static void output_error_tell(struct hg_session *s)
{
	int fd = -1, err = s->client ? hg_client_output_error(s->client, &fd) : 0;

	if (!err)
		return;
	s->result->output_broken = true;
	hg_error("cannot pass on what %s writes to %s: %s; the recording is kept",
		 s->opts->command[0], fd == STDOUT_FILENO ? "stdout" : "stderr", strerror(-err));
}

static int session_record(struct hg_session *s)
{
	int err;

	err = session_begin(s);
	if (!err)
		err = session_loop_record(s);
	s->over = true;
	if (!err)
		err = session_end(s);
	result_take(s);
	session_detach(s);
	if (err)
		writer_stop(s, err);
	session_loop_wait_client(s);
	output_error_tell(s);
	return err ? err : writer_stop(s, 0);
}

static void session_clear(struct hg_session *s)
{
	session_loop_close(s);
	if (s->lanes)
		session_detach(s);
	if (s->writer)
		hg_writer_close(HG_TAKE_PTR(s->writer));
	hg_client_free(s->client);
	hg_client_log_free(s->log);
	hg_line_store_free(s->lines);
	session_lanes_free(s->lanes);
	hg_netns_opener_stop(s->netns);
	session_targets_clear(&s->targets);
	session_output_clear(&s->output);
	hg_cleanup_close(&s->signal_fd);
	sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
}

int hg_session_run(const struct hg_session_opts *opts, struct hg_session_result *out)
{
	struct hg_session s = {
		.opts = opts,
		.result = out,
		.output = {.fd = -1, .dir_fd = -1, .old_fd = -1},
		.cost = {.fd = -1},
		.epoll_fd = -1,
		.signal_fd = -1,
		.drain_fd = -1,
		.tick_fd = -1,
		.end_fd = -1,
		.command_is_target =
			opts->command && !opts->pids_count && !opts->cgroups_count && !opts->all,
	};
	int err;

	*out = (struct hg_session_result){0};
	sigprocmask(SIG_BLOCK, NULL, &s.signals_before);
	err = session_prepare(&s);
	if (!err)
		err = session_attach(&s);
	if (!err)
		err = session_record(&s);
	session_clear(&s);
	return err;
}
