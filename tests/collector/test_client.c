/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hg_base.h"
#include "base/hg_log.h"
#include "collector/hg_client.h"
#include "collector/hg_client_log.h"
#include "trace/hg_reader.h"

struct fixture {
	char dir[64], trace[96], out[96], message[1024];
	int saved[2]; /* the test's own stdout and stderr */
	struct hg_writer *writer;
	struct hg_line_store *store;
};

static void remember(void *arg, enum hg_log_level level, const char *message)
{
	struct fixture *f = arg;

	snprintf(f->message, sizeof(f->message), "%s", message);
}

static int set_up(void **state)
{
	static struct fixture f;
	int fd;

	memset(&f, 0, sizeof(f));
	strcpy(f.dir, "/tmp/hg-client-XXXXXX");
	assert_non_null(mkdtemp(f.dir));
	chmod(f.dir, 0755);
	snprintf(f.trace, sizeof(f.trace), "%s/trace.hgt", f.dir);
	snprintf(f.out, sizeof(f.out), "%s/out", f.dir);
	fd = open(f.trace, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(hg_writer_open(fd, f.trace, &f.writer), 0);
	assert_int_equal(hg_line_store_new(&f.store), 0);
	hg_line_store_writer_set(f.store, f.writer);
	hg_log_set(remember, &f);
	f.saved[0] = f.saved[1] = -1;
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	hg_log_set(NULL, NULL);
	if (f->writer)
		hg_writer_close(f->writer);
	hg_line_store_free(f->store);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	return system(command);
}

/* CMD's output goes where ours goes: for the time of a run that is somewhere else. */
static void output_redirect(struct fixture *f, int out_fd)
{
	fflush(stdout);
	f->saved[0] = fcntl(1, F_DUPFD_CLOEXEC, 10);
	f->saved[1] = fcntl(2, F_DUPFD_CLOEXEC, 10);
	dup2(out_fd, 1);
	dup2(out_fd, 2);
}

static void output_restore(struct fixture *f)
{
	for (int i = 0; i < 2; i++) {
		dup2(f->saved[i], i + 1);
		close(f->saved[i]);
		f->saved[i] = -1;
	}
}

static int client_start(struct fixture *f, const char *script, const char *user,
			struct hg_client **out)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
	const struct hg_client_opts opts = {.argv = argv, .user = user, .store = f->store};

	return hg_client_start(&opts, out);
}

static int client_run_to_end(struct hg_client *c)
{
	int running;

	do {
		struct pollfd p = {.fd = hg_client_fd(c), .events = POLLIN};

		poll(&p, 1, 5000);
		running = hg_client_poll(c);
	} while (running > 0);
	assert_int_equal(running, 0);
	return hg_client_status(c);
}

/* Runs a script with its output in f->out; returns its wait status. */
static int client_run(struct fixture *f, const char *script, const char *user)
{
	hg_autoclose int fd = open(f->out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct hg_client *c = NULL;
	int err, status = -1;

	output_redirect(f, fd);
	err = client_start(f, script, user, &c);
	if (!err)
		err = hg_client_release(c);
	if (!err)
		status = client_run_to_end(c);
	hg_client_free(c);
	output_restore(f);
	assert_int_equal(err, 0);
	return status;
}

static char *file_read(const char *path, char *buffer, size_t size)
{
	hg_autofclose FILE *file = fopen(path, "re");
	size_t n = file ? fread(buffer, 1, size - 1, file) : 0;

	buffer[n] = '\0';
	return buffer;
}

/* The LINE records of the trace as "1:text|2:text|", and the lost count of their chunks. */
static char *lines_read(struct fixture *f, char *buffer, size_t size, uint64_t *lost_out)
{
	__attribute__((cleanup(hg_reader_closep))) struct hg_reader *r = NULL;
	__attribute__((cleanup(hg_cursor_closep))) struct hg_cursor *c = NULL;
	const struct hg_cursor_opts opts = {0};
	const struct hg_chunk_info *chunks;
	const struct hg_record *rec;
	uint64_t last_ns = 0;
	size_t used = 0, n;

	assert_int_equal(hg_writer_close(HG_TAKE_PTR(f->writer)), 0);
	assert_int_equal(hg_reader_open(f->trace, &r), 0);
	assert_int_equal(hg_cursor_open(r, &opts, &c), 0);
	*buffer = '\0';
	while (hg_cursor_next(c, &rec) == 1) {
		if (rec->kind != HG_KIND_LINE)
			continue;
		assert_int_equal(rec->stream, HG_STREAM_CLIENT);
		assert_true(rec->time_ns >= last_ns && rec->time_ns <= hg_now_ns());
		last_ns = rec->time_ns;
		used += (size_t)snprintf(buffer + used, size - used, "%d:%s|",
					 (int)rec->f[HG_LINE_FD],
					 hg_reader_string(r, rec->f[HG_LINE_TEXT], NULL));
		assert_true(used < size);
	}
	if (lost_out)
		*lost_out = 0;
	n = hg_reader_chunks(r, &chunks);
	for (size_t i = 0; lost_out && i < n; i++)
		*lost_out += chunks[i].lost;
	return buffer;
}

/* -- CMD -- */

static void output_passes_and_is_kept(void **state)
{
	struct fixture *f = *state;
	char buffer[512];
	int status = client_run(f, "printf 'a\\rb\\nc'; exit 3", NULL);

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	assert_string_equal(file_read(f->out, buffer, sizeof(buffer)), "a\rb\nc");
	assert_string_equal(lines_read(f, buffer, sizeof(buffer), NULL), "1:a|1:b|1:c|");
}

static void stderr_is_told_apart(void **state)
{
	struct fixture *f = *state;
	char buffer[512];

	client_run(f, "echo x >&2", NULL);
	assert_string_equal(file_read(f->out, buffer, sizeof(buffer)), "x\n");
	assert_string_equal(lines_read(f, buffer, sizeof(buffer), NULL), "2:x|");
}

static void missing_command_is_known_before(void **state)
{
	struct fixture *f = *state;
	char *argv[] = {"hg-no-such-command", NULL};
	char *dir[] = {f->dir, NULL};
	struct hg_client_opts opts = {.argv = argv, .store = f->store};
	struct hg_client *c = NULL;

	assert_int_equal(hg_client_start(&opts, &c), -ENOENT);
	assert_non_null(strstr(f->message, "hg-no-such-command: command not found"));
	opts.argv = dir;
	assert_int_equal(hg_client_start(&opts, &c), -EACCES);
	argv[0] = f->trace; /* not executable, even for root */
	opts.argv = argv;
	assert_int_equal(hg_client_start(&opts, &c), -EACCES);
	opts.user = "hg-no-such-user";
	assert_int_equal(hg_client_start(&opts, &c), -ENOENT);
	assert_non_null(strstr(f->message, "no such user"));
	assert_null(c);
}

static void not_released_is_not_run(void **state)
{
	struct fixture *f = *state;
	struct hg_client *c = NULL;
	char script[128];

	snprintf(script, sizeof(script), "echo ran > %s", f->out);
	assert_int_equal(client_start(f, script, NULL, &c), 0);
	assert_int_equal(hg_client_poll(c), 1);
	hg_client_free(c);
	assert_int_equal(access(f->out, F_OK), -1);
}

static void signals_reach_its_group(void **state)
{
	struct fixture *f = *state;
	struct hg_client *c = NULL;
	int status;

	assert_int_equal(client_start(f, "sleep 60 & wait", NULL, &c), 0);
	assert_int_equal(hg_client_release(c), 0);
	usleep(100000); /* whether it came to its exec or not, the signal ends it */
	hg_client_kill(c, SIGTERM);
	status = client_run_to_end(c);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	hg_client_free(c);
}

/* A reader of ours that does not read must stop CMD, as without us, but never the caller. */
static void slow_reader_stops_cmd_only(void **state)
{
	struct fixture *f = *state;
	struct hg_client *c = NULL;
	static char buffer[65536];
	size_t total = 0;
	int pipe_fds[2], running = 1;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	output_redirect(f, pipe_fds[1]);
	assert_int_equal(client_start(f, "head -c 3000000 /dev/zero", NULL, &c), 0);
	output_restore(f);
	close(pipe_fds[1]);
	hg_client_release(c);
	for (int i = 0; i < 50; i++) { /* returns although nobody reads */
		struct pollfd p = {.fd = hg_client_fd(c), .events = POLLIN};

		poll(&p, 1, 10);
		assert_int_equal(hg_client_poll(c), 1);
	}
	fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
	while (running > 0) {
		struct pollfd p = {.fd = hg_client_fd(c), .events = POLLIN};
		ssize_t n;

		while ((n = read(pipe_fds[0], buffer, sizeof(buffer))) > 0)
			total += (size_t)n;
		poll(&p, 1, 5000);
		running = hg_client_poll(c);
	}
	assert_int_equal(running, 0);
	for (ssize_t n; (n = read(pipe_fds[0], buffer, sizeof(buffer))) > 0;)
		total += (size_t)n;
	assert_int_equal(total, 3000000);
	close(pipe_fds[0]);
	hg_client_free(c);
}

static void broken_reader_is_seen_by_cmd(void **state)
{
	struct fixture *f = *state;
	struct hg_client *c = NULL;
	int pipe_fds[2], status;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	output_redirect(f, pipe_fds[1]);
	assert_int_equal(client_start(f, "exec cat /dev/zero", NULL, &c), 0);
	output_restore(f);
	close(pipe_fds[1]);
	close(pipe_fds[0]);
	signal(SIGPIPE, SIG_IGN);
	hg_client_release(c);
	status = client_run_to_end(c);
	signal(SIGPIPE, SIG_DFL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	hg_client_free(c);
}

static void long_output_keeps_begin_and_end(void **state)
{
	struct fixture *f = *state;
	static char buffer[16 << 20];
	uint64_t lost;
	char *last;

	client_run(f, "seq 1 1500000; echo summary", NULL);
	lines_read(f, buffer, sizeof(buffer), &lost);
	assert_int_equal(strncmp(buffer, "1:1|1:2|", 8), 0);
	last = strstr(buffer, "1:1499999|");
	assert_non_null(last);
	assert_string_equal(last, "1:1499999|1:1500000|1:summary|");
	assert_true(lost > 0);
	assert_non_null(strstr(f->message, "not kept"));
}

static void runs_as_another_user(void **state)
{
	struct fixture *f = *state;
	char buffer[512];

	if (geteuid()) {
		print_message("skipped: root is missing\n");
		skip();
	}
	client_run(f, "echo $(id -u) $(id -G) $USER $KEPT", "nobody");
	assert_string_equal(file_read(f->out, buffer, sizeof(buffer)), "65534 65534 nobody yes\n");
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	client_run(f, "id -u", NULL);
	assert_string_equal(file_read(f->out, buffer, sizeof(buffer)), "65534\n");
	setenv("SUDO_UID", "4294967295", 1); /* -1 would leave root in place, silently */
	client_run(f, "id -u", NULL);
	assert_string_equal(file_read(f->out, buffer, sizeof(buffer)), "0\n");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

/* -- --client-log -- */

static void file_append(const char *path, const char *text)
{
	hg_autofclose FILE *file = fopen(path, "ae");

	assert_non_null(file);
	fputs(text, file);
}

static void log_is_followed_from_its_end(void **state)
{
	struct fixture *f = *state;
	struct hg_client_log *l = NULL;
	char buffer[512];

	file_append(f->out, "old\nhalf");
	assert_int_equal(hg_client_log_open(f->out, f->store, &l), 0);
	file_append(f->out, " old\nnew\npart");
	assert_int_equal(hg_client_log_poll(l), 0);
	file_append(f->out, "ial\nrest");
	assert_int_equal(hg_client_log_poll(l), 0);
	assert_int_equal(hg_client_log_end(l), 0);
	hg_client_log_free(l);
	assert_string_equal(lines_read(f, buffer, sizeof(buffer), NULL), "3:new|3:partial|3:rest|");
}

static void log_is_followed_when_replaced(void **state)
{
	struct fixture *f = *state;
	struct hg_client_log *l = NULL;
	char buffer[512], other[128];

	assert_int_equal(hg_client_log_open(f->out, f->store, &l), 0); /* not there yet */
	assert_int_equal(hg_client_log_poll(l), 0);
	file_append(f->out, "first\n");
	assert_int_equal(hg_client_log_poll(l), 0);
	snprintf(other, sizeof(other), "%s.new", f->out);
	file_append(other, "second\n");
	file_append(f->out, "late\n");
	assert_int_equal(rename(other, f->out), 0);
	assert_int_equal(hg_client_log_poll(l), 0);
	assert_int_equal(hg_client_log_poll(l), 0);
	assert_int_equal(truncate(f->out, 0), 0);
	assert_int_equal(hg_client_log_poll(l), 0);
	file_append(f->out, "third\n");
	assert_int_equal(hg_client_log_end(l), 0);
	hg_client_log_free(l);
	assert_string_equal(lines_read(f, buffer, sizeof(buffer), NULL),
			    "3:first|3:late|3:second|3:third|");
}

static void log_must_be_a_file(void **state)
{
	struct fixture *f = *state;
	struct hg_client_log *l = NULL;

	assert_int_equal(mkfifo(f->out, 0600), 0);
	assert_int_equal(hg_client_log_open(f->out, f->store, &l), -EINVAL);
	assert_non_null(strstr(f->message, "not a regular file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(output_passes_and_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stderr_is_told_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(missing_command_is_known_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_released_is_not_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(signals_reach_its_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(slow_reader_stops_cmd_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(broken_reader_is_seen_by_cmd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_output_keeps_begin_and_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(runs_as_another_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(log_is_followed_from_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(log_is_followed_when_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(log_must_be_a_file, set_up, tear_down),
	};

	setenv("KEPT", "yes", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
