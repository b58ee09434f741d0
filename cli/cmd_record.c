/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hourglass record: options in, a session, an exit code and one line that sums it up. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/hg_client_output.h"
#include "base/hg_base.h"
#include "base/hg_escape.h"
#include "base/hg_log.h"
#include "cli/hg_cli.h"
#include "collector/hg_session.h"

#define OUTPUT_DEFAULT	   "hourglass.hgt"
#define TARGETS_MAX	   255 /* their index is a byte in the probes, one of which means none */
#define DURATION_S_MAX	   1e7
#define RING_BYTES_CPU_MIN ((size_t)16 << 10)
#define RING_BYTES_CPU_MAX ((size_t)512 << 20)

enum {
	OPT_USER = 0x100,
	OPT_CLIENT,
	OPT_CLIENT_REGEX,
	OPT_CLIENT_LOG,
	OPT_NO_ARGS,
	OPT_DROP,
	OPT_CGROUP
};

struct record_args {
	struct hg_session_opts session;
	pid_t pids[TARGETS_MAX];
	const char *cgroups[TARGETS_MAX];
	bool quiet;
	int failed; /* exit code after a message of our own */
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to record:", 1},
	{"pid", 'p', "PID[,PID...]", 0, "these processes, with their threads and children", 1},
	{"cgroup", OPT_CGROUP, "PATH", 0,
	 "all tasks in this cgroup and below (repeatable); its directory, or its path in a "
	 "hierarchy",
	 1},
	{"all", 'a', NULL, 0, "the whole machine", 1},
	{NULL, 0, NULL, 0, "When, and where to:", 2},
	{"output", 'o', "FILE", 0, "the trace (" OUTPUT_DEFAULT ")", 2},
	{"force", 'f', NULL, 0, "replace FILE if it exists", 2},
	{"duration", 'd', "SECS", 0, "end after SECS seconds; fractions are allowed", 2},
	{NULL, 0, NULL, 0, "The client, whose completed work is the throughput:", 3},
	{"user", OPT_USER, "USER", 0, "run CMD as USER (default: who called sudo)", 3},
	{"client", OPT_CLIENT, "NAME", 0,
	 "what the client is (wrk, ...), if its name does not tell", 3},
	{"client-regex", OPT_CLIENT_REGEX, "REGEX", 0,
	 "the throughput is the first group of this extended regular expression", 3},
	{"client-log", OPT_CLIENT_LOG, "FILE", 0,
	 "follow FILE, the output of a client that runs already", 3},
	{NULL, 0, NULL, 0, "Other:", 4},
	{"mmap-size", 'm', "SIZE", 0,
	 "ring of each CPU in bytes, or with K or M; a power of two (16M over all CPUs)", 4},
	{"no-args", OPT_NO_ARGS, NULL, 0, "leave the arguments of commands out of the trace", 4},
	{"quiet", 'q', NULL, 0, "no progress and no summary", 4},
	{"test-drop-one-in", OPT_DROP, "N", OPTION_HIDDEN, NULL, 4},
	{0},
};

static const char doc[] =
	"Records a running benchmark into a trace file, until CMD ends, SECS have passed, the "
	"targets of -p and --cgroup have ended, or Ctrl-C.\v"
	"With -p, --cgroup or -a, CMD is the client that makes the load; without, CMD itself is "
	"what is "
	"recorded. CMD starts when the recording has begun. If the recording ends first, CMD may "
	"finish; a second Ctrl-C ends it.\n\n"
	"Examples:\n"
	"  sudo hourglass record -p $(pidof -s nginx) -o run.hgt -- wrk -t2 -c64 -d30 "
	"http://[::1]/\n"
	"  sudo hourglass record -p 4711 -d 10 --client-log load.log\n"
	"  sudo hourglass record --cgroup docker/4f1c -d 10 --client-log load.log\n"
	"  sudo hourglass record -a -d 5\n"
	"  hourglass report run.hgt\n\n"
	"Exit codes: 0 done; 1 recording or CMD failed; 2 wrong usage; 3 recorded, but more than "
	"1 % of the events were lost.";

static void HG_PRINTF(2, 3) usage_error(struct record_args *a, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	if (a->failed) /* one sentence is enough */
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	hg_error("%s", message);
	a->failed = HG_EXIT_USAGE;
}

/* -- values -- */

static bool targets_full(struct record_args *a)
{
	if (a->session.pids_count + a->session.cgroups_count < TARGETS_MAX)
		return false;
	usage_error(a, "-p and --cgroup take at most %d targets", TARGETS_MAX);
	return true;
}

static void cgroup_parse(struct record_args *a, const char *text)
{
	if (!*text)
		usage_error(a, "--cgroup needs the path of a cgroup");
	else if (!targets_full(a))
		a->cgroups[a->session.cgroups_count++] = text;
}

static void pids_parse(struct record_args *a, const char *text)
{
	for (const char *p = text;; p++) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(p, &end, 10);
		if (end == p || errno || pid <= 0 || pid > INT32_MAX || (*end && *end != ',')) {
			usage_error(a, "-p takes process ids separated by commas, not '%s'", text);
			return;
		}
		if (targets_full(a))
			return;
		a->pids[a->session.pids_count++] = (pid_t)pid;
		if (!*end)
			return;
		p = end;
	}
}

static void duration_parse(struct record_args *a, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > DURATION_S_MAX)
		usage_error(a, "-d takes a number of seconds above 0, at most %g, not '%s'",
			    DURATION_S_MAX, text);
	else
		a->session.duration_s = seconds;
}

static void ring_parse(struct record_args *a, const char *text)
{
	unsigned long long size;
	char *end;
	int shift = 0;

	errno = 0;
	size = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	if (shift)
		end++;
	if (end == text || *end || errno || *text == '-' || size > RING_BYTES_CPU_MAX >> shift)
		size = 0;
	size <<= shift;
	if (size < RING_BYTES_CPU_MIN || (size & (size - 1)))
		usage_error(a, "-m takes a power of two from %zuK to %zuM, not '%s'",
			    RING_BYTES_CPU_MIN >> 10, RING_BYTES_CPU_MAX >> 20, text);
	else
		a->session.ring_bytes_cpu = (size_t)size;
}

static void regex_parse(struct record_args *a, const char *text)
{
	const char *why = hg_client_regex_check(text);

	a->session.client_regex = text;
	if (why)
		usage_error(a, "--client-regex '%s' %s", text, why);
}

static void client_parse(struct record_args *a, const char *text)
{
	char names[256] = "";
	const char *name;

	a->session.client_name = text;
	for (size_t i = 0; (name = hg_client_format_name(i)); i++) {
		size_t used = strlen(names);

		if (!strcmp(name, text))
			return;
		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", name);
	}
	usage_error(a, "--client knows %s, not '%s'", names, text);
}

static void drop_parse(struct record_args *a, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n > UINT32_MAX)
		usage_error(a, "--test-drop-one-in takes a number, not '%s'", text);
	else
		a->session.drop_one_in = (uint32_t)n;
}

static error_t option_value(struct record_args *a, int key, char *arg)
{
	switch (key) {
	case 'p':
		pids_parse(a, arg);
		return 0;
	case OPT_CGROUP:
		cgroup_parse(a, arg);
		return 0;
	case 'o':
		a->session.output = arg;
		return 0;
	case 'd':
		duration_parse(a, arg);
		return 0;
	case 'm':
		ring_parse(a, arg);
		return 0;
	case OPT_USER:
		a->session.user = arg;
		return 0;
	case OPT_CLIENT:
		client_parse(a, arg);
		return 0;
	case OPT_CLIENT_REGEX:
		regex_parse(a, arg);
		return 0;
	case OPT_CLIENT_LOG:
		a->session.client_log = arg;
		return 0;
	case OPT_DROP:
		drop_parse(a, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct record_args *a = state->input;

	switch (key) {
	case 'f':
		a->session.force = true;
		return 0;
	case 'a':
		a->session.all = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case OPT_NO_ARGS:
		a->session.no_args = true;
		return 0;
	case ARGP_KEY_ARG: /* CMD: everything from here on is its own */
		a->session.command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return option_value(a, key, arg);
	}
}

static void args_check(struct record_args *a)
{
	const struct hg_session_opts *s = &a->session;

	if (!s->pids_count && !s->cgroups_count && !s->all && !s->command)
		usage_error(a, "nothing to record: name processes with -p, a cgroup with --cgroup, "
			       "the machine with -a, or a command after --");
	if (s->command && !*s->command[0])
		usage_error(a, "the command after -- is empty");
	if (s->user && !s->command)
		usage_error(a, "--user needs a command after --");
	if (!*s->output || !strcmp(s->output, "-"))
		usage_error(a, "-o needs the name of a file: a trace cannot go to stdout");
	if (s->client_log && !*s->client_log)
		usage_error(a, "--client-log needs the name of a file");
}

/* Is the client's output expected to tell the throughput? Then nothing needs to be counted in its place. */
static bool client_tells(const struct hg_session_opts *s)
{
	if (s->client_log || s->client_name || s->client_regex)
		return true;
	for (char *const *word = s->command; word && *word; word++) {
		if (hg_client_command_known(*word))
			return true;
	}
	return false;
}

/* -- progress, only on a terminal -- */

static bool progress_shown;

static void progress_clear(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

/* 1234567 as "1.23 M" */
static const char *quantity(char *buffer, size_t size, double value, const char *unit)
{
	static const char *const prefix[] = {"", "k", "M", "G", "T"};
	size_t i = 0;

	for (; value >= 999.5 && i + 1 < HG_ARRAY_SIZE(prefix); i++)
		value /= 1000;
	if (!i)
		snprintf(buffer, size, "%.0f%s%s", value, *unit ? " " : "", unit);
	else
		snprintf(buffer, size, "%.*f %s%s",
			 value < 9.995	 ? 2
			 : value < 99.95 ? 1
					 : 0,
			 value, prefix[i], unit);
	return buffer;
}

static void progress_show(void *arg, const struct hg_session_progress *p)
{
	char events[32], bytes[32];

	(void)arg;
	if (!p) {
		progress_clear();
		return;
	}
	fprintf(stderr, "\r\033[K%.1f s  %s events  %s  %" PRIu64 " lost",
		(double)p->elapsed_ns / 1e9,
		quantity(events, sizeof(events), (double)p->events, ""),
		quantity(bytes, sizeof(bytes), (double)p->bytes, "B"), p->lost);
	progress_shown = true;
}

/* A message takes the place of the line; the next progress comes below it. */
static void log_above(void *arg, enum hg_log_level level, const char *message)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};

	(void)arg;
	progress_clear();
	fprintf(stderr, "hourglass: %s%s\n", prefix[level], message);
}

static bool terminal_can_rewrite(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* -- the end -- */

static void summary_print(const struct record_args *a, const struct hg_session_result *r, int err)
{
	/* after a failure it is that of the file, and the cost is of more */
	uint64_t cost_wall_ns = err ? 0 : r->wall_ns;
	char events[32], bytes[32], file[512];
	double wall_s = (double)r->wall_ns / 1e9;

	fprintf(stderr, "hourglass: %s: %.1f s, %s events, %s, %" PRIu64 " lost",
		hg_escape_terminal(file, sizeof(file), a->session.output), wall_s,
		quantity(events, sizeof(events), (double)r->events, ""),
		quantity(bytes, sizeof(bytes), (double)r->bytes, "B"), r->lost);
	if (cost_wall_ns)
		fprintf(stderr, "; own cost %.1f %% of one CPU",
			100 * (double)r->own_cpu_ns / (double)cost_wall_ns);
	if (cost_wall_ns && r->bpf_ns)
		fprintf(stderr, " + %.1f %% in its probes",
			100 * (double)r->bpf_ns / (double)cost_wall_ns);
	fputc('\n', stderr);
	if (r->promoted_over)
		hg_warn("%u tasks that wake the target or hold its locks were followed, %u more "
			"were "
			"not: the most at once is reached",
			r->promoted, r->promoted_over);
}

static bool command_failed(const struct record_args *a, const struct hg_session_result *r)
{
	int status = r->command_status;

	if (!r->command_ended || r->command_killed || !status)
		return false;
	/* it ended by what has been told already */
	if (r->output_broken && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		return true;
	if (WIFSIGNALED(status))
		hg_error("%s was ended by signal %d (%s)", a->session.command[0], WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		hg_error("%s ended with exit code %d", a->session.command[0], WEXITSTATUS(status));
	return true;
}

static int exit_code(const struct record_args *a, int err, const struct hg_session_result *r)
{
	bool failed = command_failed(a, r);

	if (r->spoiled && !err)
		hg_warn("%.1f %% of the events were lost, which spoils a verdict: record with "
			"larger "
			"rings (-m)",
			100 * (double)r->lost / (double)(r->events + r->lost));
	if (err || failed || r->output_broken)
		return HG_EXIT_FAILED;
	return r->spoiled ? HG_EXIT_SPOILED : HG_EXIT_OK;
}

/*
 * A closed stdin, stdout or stderr would be given to the next file that is opened. What takes its place cannot be
 * used, like what is closed: nobody is to believe that output went somewhere.
 */
static void standard_fds_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int hg_cmd_record(int argc, char **argv)
{
	static const struct argp argp = {options, option_parse, "[-- CMD [ARG...]]", doc, NULL,
					 NULL,	  NULL};
	struct record_args a = {.session = {.output = OUTPUT_DEFAULT, .argc = argc, .argv = argv}};
	struct hg_session_result result;
	int err;

	standard_fds_open();
	if (hg_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &a))
		return HG_EXIT_USAGE;
	args_check(&a);
	if (a.failed)
		return a.failed;
	a.session.pids = a.pids;
	a.session.cgroups = a.cgroups;
	a.session.client_tells = client_tells(&a.session);
	if (!a.quiet && terminal_can_rewrite()) {
		a.session.progress = progress_show;
		hg_log_set(log_above, NULL);
	}
	err = hg_session_run(&a.session, &result);
	progress_clear();
	hg_log_set(NULL, NULL);
	if (result.began && !a.quiet)
		summary_print(&a, &result, err);
	return exit_code(&a, err, &result);
}
