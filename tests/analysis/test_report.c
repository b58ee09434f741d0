/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hourglass report` as its users call it: exit codes, one sentence for what is wrong, whole and damaged files. */
#include "tests/analysis/trace_builder.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/hg_table.h"

#define SERVER 2
#define CLIENT 3

static char trace[64];

struct run {
	int status;
	char out[1 << 18], err[1 << 14];
};

static void file_read(const char *path, char *buffer, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(buffer, 1, size - 1, f);
	buffer[n] = '\0';
	fclose(f);
}

/* The command's arguments are the tests' own: a shell is safe here. */
static void report(struct run *r, const char *arguments)
{
	char command[1024], out[] = "/tmp/hg-out-XXXXXX", err[] = "/tmp/hg-err-XXXXXX";

	close(mkstemp(out));
	close(mkstemp(err));
	snprintf(command, sizeof(command), "'%s' report %s >%s 2>%s", HG_HOURGLASS, arguments, out,
		 err);
	r->status = system(command);
	file_read(out, r->out, sizeof(r->out));
	file_read(err, r->err, sizeof(r->err));
	unlink(out);
	unlink(err);
	/* by a signal: never, whatever the file */
	assert_true(WIFEXITED(r->status));
	r->status = WEXITSTATUS(r->status);
	assert_true(r->status < 126);
}

/* Three seconds in which one thread serves 900 us of each ms; the client says so too. */
static int trace_make(void **state)
{
	struct trace_builder tb;

	tb_open(&tb);
	tb_task(&tb, 0, SERVER, 100, 100, "ser\033<v>er");
	tb_task(&tb, 0, CLIENT, 200, 200, "wrk");
	tb_role(&tb, 0, SERVER, HG_ROLEF_TARGET, 0);
	tb_role(&tb, 0, CLIENT, HG_ROLEF_CLIENT, 0);
	tb_client(&tb, 0, 200, "wrk -c8 http://127.0.0.1/");
	tb_mark(&tb, 0, HG_MARK_BEGIN, 0);
	tb_mark(&tb, 0, HG_MARK_CLIENT_START, 200);
	for (uint64_t t = 0; t < 3000 * TB_MS; t += TB_MS) {
		if (!(t % (100 * TB_MS))) {
			tb_schedstat(&tb, t, SERVER, t / 10 * 9, 0);
			tb_cpu_times(&tb, t, 0, t / 10 * 9, 0, t / 10, 0);
			tb_cpu_times(&tb, t, 1, t / 10, 0, t / 10 * 9, 0);
		}
		tb_switch(&tb, 0, t, HG_LANE_IDLE, SERVER, 0, 0);
		tb_wakeup(&tb, 0, t + 800 * TB_US, CLIENT, 1, SERVER, HG_CTX_SOFTIRQ_OWN, 3, 0);
		tb_epoll(&tb, 0, t + 900 * TB_US, SERVER, HG_LANE_IDLE);
		tb_switch(&tb, 1, t + 810 * TB_US, HG_LANE_IDLE, CLIENT, 0, 0);
		tb_wakeup(&tb, 1, t + 905 * TB_US, SERVER, 0, CLIENT, HG_CTX_SOFTIRQ_OWN, 3, 0);
		tb_epoll(&tb, 1, t + 910 * TB_US, CLIENT, HG_LANE_IDLE);
	}
	tb_line(&tb, 2999 * TB_MS, 1, "Running 3s test @ http://127.0.0.1/");
	tb_line(&tb, 2999 * TB_MS, 1, "  1 threads and 8 connections");
	tb_line(&tb, 2999 * TB_MS, 1, "  3000 requests in 3.00s, 1MB read");
	tb_line(&tb, 2999 * TB_MS, 1, "Requests/sec:   1000.00");
	tb_mark(&tb, 3000 * TB_MS, HG_MARK_CLIENT_END, 0);
	tb_mark(&tb, 3000 * TB_MS, HG_MARK_END, HG_END_CLIENT);
	assert_int_equal(hg_writer_close(tb.w), 0);
	snprintf(trace, sizeof(trace), "%s", tb.path);
	return 0;
}

static int trace_remove(void **state)
{
	unlink(trace);
	return 0;
}

static json_t *json_of(const struct run *r)
{
	json_error_t error;
	json_t *o = json_loads(r->out, JSON_REJECT_DUPLICATES, &error);

	if (!o)
		fail_msg("line %d: %s", error.line, error.text);
	assert_string_equal(json_string_value(json_object_get(o, "schema")), "hourglass-report/1");
	return o;
}

static void whole_file(void **state)
{
	struct run *r = test_malloc(sizeof(*r));
	char arguments[128];
	json_t *o;

	report(r, trace);
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	assert_non_null(strstr(r->out, "1000.0 requests/s"));
	assert_non_null(strstr(r->out, "ser\\x1b<v>er"));
	for (char *l = strtok(r->out, "\n"); l; l = strtok(NULL, "\n"))
		assert_true(hg_text_width(l) <= 80);

	snprintf(arguments, sizeof(arguments), "--format=json %s", trace);
	report(r, arguments);
	assert_int_equal(r->status, 0);
	o = json_of(r);
	assert_float_equal(
		json_number_value(json_object_get(json_object_get(o, "throughput"), "value")), 1000,
		1e-9);
	json_decref(o);
	test_free(r);
}

static void window(void **state)
{
	static const struct {
		const char *window;
		double from_s, to_s;
	} good[] = {{"0.5:2.5", 0.5, 2.5}, {":2", 0, 2}, {"1:", 1, 3}, {"1:99", 1, 3}};
	struct run *r = test_malloc(sizeof(*r));
	char arguments[128];

	for (size_t i = 0; i < HG_ARRAY_SIZE(good); i++) {
		json_t *o, *w;

		snprintf(arguments, sizeof(arguments), "--format=json --window %s %s",
			 good[i].window, trace);
		report(r, arguments);
		assert_int_equal(r->status, 0);
		o = json_of(r);
		w = json_object_get(o, "window");
		assert_float_equal(json_number_value(json_object_get(w, "from_s")), good[i].from_s,
				   1e-6);
		assert_float_equal(json_number_value(json_object_get(w, "to_s")), good[i].to_s,
				   1e-6);
		json_decref(o);
	}
	snprintf(arguments, sizeof(arguments), "--window 7:8 %s", trace);
	report(r, arguments);
	assert_int_equal(r->status, 1);
	assert_string_equal(r->out, "");
	assert_non_null(strstr(r->err, "outside the recording"));
	test_free(r);
}

static void wrong_usage(void **state)
{
	static const char *const bad[][2] = {
		{"", "FILE is missing"},
		{"a b", "one FILE"},
		{"--format=html a", "text or json"},
		{"--window=5 a", "two times"},
		{"--window=a:b a", "two times"},
		{"--window=nan:3 a", "two times"},
		{"--window=0x1:3 a", "two times"},
		{"--window=-1:3 a", "two times"},
		{"--window=1:1e300 a", "two times"},
		{"--window=1:1e999 a", "two times"},
		{"--window='1: 2' a", "two times"},
		{"--window=1:2:3 a", "two times"},
		{"--window=8:2 a", "ends before it begins"},
		{"--window=2:2 a", "is empty"},
		{"--nosuch a", "nosuch"},
	};
	struct run *r = test_malloc(sizeof(*r));

	for (size_t i = 0; i < HG_ARRAY_SIZE(bad); i++) {
		report(r, bad[i][0]);
		if (r->status != 2 || *r->out || !strstr(r->err, bad[i][1]))
			fail_msg("'%s' gave %d and: %s", bad[i][0], r->status, r->err);
	}
	test_free(r);
}

static void unreadable(void **state)
{
	static const char *const bad[] = {"/nonexistent/run.hgt", "/", "/dev/null", HG_HOURGLASS};
	struct run *r = test_malloc(sizeof(*r));

	for (size_t i = 0; i < HG_ARRAY_SIZE(bad); i++) {
		report(r, bad[i]);
		assert_int_equal(r->status, 1);
		assert_string_equal(r->out, "");
		/* one sentence, on one line */
		assert_true(strlen(r->err) > 20);
		assert_ptr_equal(strchr(r->err, '\n'), r->err + strlen(r->err) - 1);
	}
	test_free(r);
}

/* What is intact is reported, and that something is missing is said on both channels. */
static void cut_file(void **state)
{
	struct run *r = test_malloc(sizeof(*r));
	char copy[80], arguments[128];
	struct stat st;
	unsigned int reported = 0;

	assert_int_equal(stat(trace, &st), 0);
	snprintf(copy, sizeof(copy), "%s.cut", trace);
	snprintf(arguments, sizeof(arguments), "--format=json %s", copy);
	for (off_t size = 0; size < st.st_size; size += st.st_size / 12) {
		char command[256];

		snprintf(command, sizeof(command), "head -c %lld %s > %s", (long long)size, trace,
			 copy);
		assert_int_equal(system(command), 0);
		report(r, arguments);
		assert_true(strlen(r->err) > 0);
		assert_true(r->status == 0 || r->status == 1);
		if (r->status == 0) {
			json_t *o = json_of(r);
			json_t *quality = json_object_get(o, "quality");

			assert_true(strlen(json_string_value(json_object_get(quality, "file"))) >
				    0);
			json_decref(o);
			reported++;
		}
	}
	unlink(copy);
	assert_true(reported > 0);
	test_free(r);
}

static void full_disk(void **state)
{
	char command[256];
	int status;

	snprintf(command, sizeof(command), "'%s' report %s >/dev/full 2>/dev/null", HG_HOURGLASS,
		 trace);
	status = system(command);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file),  cmocka_unit_test(window),
		cmocka_unit_test(wrong_usage), cmocka_unit_test(unreadable),
		cmocka_unit_test(cut_file),    cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, trace_make, trace_remove);
}
