/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of tests/data/client/ are what the tools printed on Debian 12, over loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/hg_client_output.h"
#include "base/hg_base.h"

#define LINES_MAX 4096
#define SEC	  HG_NSEC_PER_SEC

static struct hg_line lines[LINES_MAX];
static size_t lines_count;

static int reset(void **state)
{
	for (size_t i = 0; i < lines_count; i++)
		free((char *)lines[i].text);
	lines_count = 0;
	return 0;
}

static void add(uint64_t time_ns, int fd, const char *text)
{
	assert_true(lines_count < LINES_MAX);
	lines[lines_count++] = (struct hg_line){time_ns, fd, strdup(text)};
}

/* A fixture whose lines all arrive at one time, as from a tool that writes into a pipe. */
static void add_file(uint64_t time_ns, uint64_t step_ns, const char *name)
{
	char path[512], line[1024];
	hg_autofclose FILE *f = NULL;

	snprintf(path, sizeof(path), HG_TEST_DATA "/client/%s.txt", name);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		add(time_ns, 1, line);
		time_ns += step_ns;
	}
}

static struct hg_client_result parse(const char *argv, const char *name, const char *regex)
{
	struct hg_client_result r;

	hg_client_output_parse(lines, lines_count, argv, name, regex, &r);
	return r;
}

static void assert_near(double a, double b)
{
	if (!(a >= b - 1e-9 * (1 + b) && a <= b + 1e-9 * (1 + b)))
		fail_msg("%.12g is not %.12g", a, b);
}

struct expected {
	const char *file, *argv, *format, *unit;
	double value, completed, duration_s, concurrency, threads, latency_mean_s, offered, errors;
	bool closed_loop;
};

static void real_outputs(void **state)
{
	static const struct expected table[] = {
		{"wrk", "wrk -t2 -c8 -d2 http://h/", "wrk", "requests/s", 53856.59, 107844, 2.00, 8,
		 2, 220.03e-6, 0, 0, true},
		{"wrk", "/opt/wrk2/wrk -t2 -c8 -R2k http://h/", "wrk", "requests/s", 53856.59,
		 107844, 2.00, 8, 2, 220.03e-6, 2000, 0, false},
		{"wrk", "wrk --rate 1.5k http://h/", "wrk", "requests/s", 53856.59, 107844, 2.00, 8,
		 2, 220.03e-6, 1500, 0, false},
		{"wrk-errors", "ip netns exec c wrk http://h/", "wrk", "requests/s", 181.70, 364,
		 2.00, 8, 2, 43.41e-3, 0, 364, true},
		{"wrk-socket-errors", "wrk http://h/", "wrk", "requests/s", 0, 0, 2.02, 200, 2, 0,
		 0, 70530, true},
		{"ab", "ab -n 20000 -c 4 -k http://h/", "ab", "requests/s", 88224.66, 20000, 0.227,
		 4, 1, 0.045e-3, 0, 0, true},
		{"ab-errors", "ab http://h/", "ab", "requests/s", 16785.28, 500, 0.030, 4, 1,
		 0.238e-3, 0, 500, true},
		/* Requests/sec of hey is 29063 here, and not one request was answered */
		{"hey-refused", "hey -z 2s -c 4 http://h/", "hey", "requests/s", 0, 0, 2.0034, 4, 0,
		 0, 0, 58225, true},
		{"hey-rate", "sh -c 'hey -z 2s -c 4 -q 20 http://h/'", "hey", "requests/s",
		 159 / 2.0582, 159, 2.0582, 4, 0, 0.0084, 80, 0, false},
		{"hey-errors", "hey http://h/", "hey", "requests/s", 96 / 1.0239, 96, 1.0239, 50, 0,
		 0.0423, 0, 96, true},
		{"dnsperf", "dnsperf -q 10", "dnsperf", "queries/s", 5829.207228, 11660, 2.000272,
		 10, 0, 0.000172, 0, 0, true},
		/* called by a script: its own command line tells */
		{"dnsperf-rate", "./run.sh", "dnsperf", "queries/s", 99.977205, 200, 2.000456, 100,
		 0, 0.000193, 100, 0, false},
		{"dnsperf-lost", "./run.sh", "dnsperf", "queries/s", 0, 0, 1.000392, 3, 0, 0, 0, 3,
		 true},
		{"pgbench", "pgbench -c 4", "pgbench", "transactions/s", 1981.652079, 7864, 4, 4, 2,
		 2.012e-3, 0, 0, true},
		{"pgbench-rate", "pgbench -R 50", "pgbench", "transactions/s", 54.469394, 106, 2, 4,
		 2, 1.781e-3, 50, 0, false},
		{"sysbench", "sysbench cpu run", "sysbench", "events/s", 7472.78, 22439, 3.0019, 2,
		 2, 0.27e-3, 0, 0, true},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		const struct expected *e = &table[i];
		struct hg_client_result r;

		print_message("%s: %s\n", e->file, e->argv);
		reset(NULL);
		add_file(100 * SEC, 0, e->file);
		r = parse(e->argv, NULL, NULL);
		assert_true(r.valid);
		assert_string_equal(r.format, e->format);
		assert_string_equal(r.unit, e->unit);
		assert_near(r.value, e->value);
		assert_near(r.completed, e->completed);
		assert_near(r.duration_s, e->duration_s);
		assert_near(r.concurrency, e->concurrency);
		assert_near(r.threads, e->threads);
		assert_near(r.latency_mean_s, e->latency_mean_s);
		assert_near(r.offered, e->offered);
		assert_near(r.errors, e->errors);
		assert_int_equal(r.closed_loop, e->closed_loop);
		/* all lines came at once: whatever series there was has no times */
		assert_int_equal(r.series_count, 0);
		assert_true(strlen(r.source) > 0);
		hg_client_result_clear(&r);
	}
}

static void series_of_tools(void **state)
{
	static const struct {
		const char *file;
		size_t count;
		double first, last;
	} table[] = {{"dnsperf-series", 2, 73035.250512, 80925.351739},
		     {"pgbench", 4, 1786.8, 2055.8},
		     {"sysbench", 3, 7328.51, 7609.93}};

	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		struct hg_client_result r;

		reset(NULL);
		add_file(100 * SEC, SEC, table[i].file);
		r = parse("./run.sh", NULL, NULL);
		assert_true(r.valid);
		assert_int_equal(r.series_count, table[i].count);
		assert_near(r.series[0].value, table[i].first);
		assert_near(r.series[r.series_count - 1].value, table[i].last);
		assert_true(r.series[0].time_ns > 100 * SEC);
		assert_int_equal(r.series[1].time_ns - r.series[0].time_ns, SEC);
		hg_client_result_clear(&r);
	}
}

/* Its lines come all at once, at the end: the intervals' times are counted back. */
static void iperf3_outputs(void **state)
{
	static const struct {
		const char *file, *argv;
		double value, sent, duration_s, streams, retransmits, offered, first;
		size_t intervals;
	} table[] = {
		{"iperf3", "iperf3 -c h -t 2", 11.0e9, 11.0e9, 2, 1, 14, 0, 11.2e9, 2},
		{"iperf3-streams", "iperf3 -c h -P 2", 11.81e9, 11.84e9, 3, 2, 101, 0, 11.91e9, 3},
		{"iperf3-udp", "iperf3 -u -b 20M -c h", 20.0e6, 20.1e6, 2, 1, -1, 20e6, 20.2e6, 2},
		{"iperf3-reverse", "sh -c 'iperf3 -R -b50M -c h'", 50.3e6, 50.3e6, 2, 1, 0, 50e6,
		 50.3e6, 2},
		{"iperf3-bytes", "iperf3 --bitrate=100M -c h", 11.9 * 8 * 1048576,
		 11.9 * 8 * 1048576, 2, 1, 0, 100e6, 12.0 * 8 * 1048576, 4},
		{"iperf3-bidir", "./run.sh", 21.0e6, 21.0e6, 2, 2, 0, 0, 21.0e6, 2},
		{"iperf3-json", "./run.sh", 59748129.27320683, 59757179.35002675, 2.000693, 2, 0,
		 60e6, 60813514.99921196, 2},
		{"iperf3-udp-json", "./run.sh", 20051399.292392343, 20052451.908751115, 2.000261, 1,
		 -1, 20e6, 20181777.543020822, 2},
	};

	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		struct hg_client_result r;

		print_message("%s: %s\n", table[i].file, table[i].argv);
		reset(NULL);
		add_file(100 * SEC, 0, table[i].file);
		r = parse(table[i].argv, NULL, NULL);
		assert_true(r.valid);
		assert_string_equal(r.format, "iperf3");
		assert_string_equal(r.unit, "bit/s");
		assert_near(r.value, table[i].value);
		assert_near(r.sent, table[i].sent);
		assert_near(r.duration_s, table[i].duration_s);
		assert_near(r.completed, table[i].value * table[i].duration_s);
		assert_near(r.concurrency, table[i].streams);
		assert_int_equal(r.retransmits_known, table[i].retransmits >= 0);
		assert_near(r.retransmits, table[i].retransmits < 0 ? 0 : table[i].retransmits);
		assert_near(r.offered, table[i].offered);
		assert_int_equal(r.series_count, table[i].intervals);
		assert_near(r.series[0].value, table[i].first);
		assert_true(r.series[r.series_count - 1].time_ns <= 100 * SEC);
		assert_true(r.series[r.series_count - 1].time_ns >= 100 * SEC - SEC / 1000);
		assert_false(r.closed_loop);
		hg_client_result_clear(&r);
	}
	for (int json = 0; json < 2; json++) {
		reset(NULL);
		add_file(100 * SEC, 0, json ? "iperf3-refused-json" : "iperf3-refused");
		assert_false(parse("iperf3 -c h", NULL, NULL).valid);
	}
	/* cut off in the middle: no result, not the half of one */
	reset(NULL);
	add_file(100 * SEC, 0, "iperf3-json");
	lines_count -= 2;
	assert_false(parse("iperf3 -c h", NULL, NULL).valid);
	lines_count += 2;
}

static void key_value_lines(void **state)
{
	struct hg_client_result r;

	add(1 * SEC, 1, "interval: 100 ops/s");
	add(2 * SEC, 1, "interval: 300 ops/s");
	r = parse("./gen", NULL, NULL);
	assert_true(r.valid);
	assert_near(r.value, 200);
	assert_string_equal(r.format, "key-value");
	assert_string_equal(r.unit, "ops/s");
	assert_int_equal(r.series_count, 2);
	hg_client_result_clear(&r);

	add(3 * SEC, 1, "throughput: 150.5 ops/s");
	add(3 * SEC, 1, "  offered: 200");
	add(3 * SEC, 1, "connections: 8");
	add(3 * SEC, 1, "completed: 301");
	add(3 * SEC, 1, "duration: 2");
	add(3 * SEC, 1, "latency-mean: 0.0012");
	/* prose, not ours */
	add(3 * SEC, 1, "duration: 99 seconds of warm-up");
	add(3 * SEC, 1, "errors: none");
	r = parse("./gen", NULL, NULL);
	assert_near(r.value, 150.5);
	assert_near(r.offered, 200);
	assert_near(r.concurrency, 8);
	assert_near(r.completed, 301);
	assert_near(r.duration_s, 2);
	assert_near(r.latency_mean_s, 0.0012);
	assert_near(r.errors, 0);
	assert_false(r.closed_loop);
	assert_int_equal(r.series_count, 2);
	hg_client_result_clear(&r);
}

static void client_log_is_second(void **state)
{
	struct hg_client_result r;

	add(SEC, 1, "nothing of interest");
	add(SEC, 3, "throughput: 7 frames/s");
	r = parse("./gen", NULL, NULL);
	assert_near(r.value, 7);
	assert_non_null(strstr(r.source, "--client-log"));
	hg_client_result_clear(&r);

	add(SEC, 2, "throughput: 9 frames/s");
	r = parse("./gen", NULL, NULL);
	assert_near(r.value, 9);
	assert_null(strstr(r.source, "--client-log"));
	hg_client_result_clear(&r);
}

static void regex(void **state)
{
	struct hg_client_result r;

	add(1 * SEC, 1, "rate=100 n=1");
	add(2 * SEC, 1, "rate=200 n=2");
	add(3 * SEC, 1, "rate=nan n=3");
	add(4 * SEC, 1, "rate=1x n=4");
	r = parse("./gen", NULL, "rate=([^ ]+)");
	assert_true(r.valid);
	assert_near(r.value, 150);
	assert_int_equal(r.series_count, 2);
	assert_string_equal(r.format, "regex");
	hg_client_result_clear(&r);

	r = parse("./gen", NULL, "rate=([0-9.]+) n=2");
	assert_near(r.value, 200);
	assert_int_equal(r.series_count, 0);
	hg_client_result_clear(&r);
}

static void regex_refused(void **state)
{
	static const char *const table[][2] = {
		{"rate=([0-9]+", "POSIX"},
		{"rate=[0-9]+", "group"},
		{"(a)\\1", "back reference"},
		{"((((x{1,99}){1,99}){1,99}){1,99})", "repeats"},
		{"(za++++++++++++++++++++++++++++++)", "repeats"},
		{"((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)", "repeats"},
		{"(x{4294967297})", "repeats"},
		{"rate=(-?[0-9]+)$", "no line matches"},
	};
	char longest[400];
	struct hg_client_result r;

	add(SEC, 1, "rate=-5");
	for (size_t i = 0; i < HG_ARRAY_SIZE(table); i++) {
		r = parse("./gen", NULL, table[i][0]);
		assert_false(r.valid);
		assert_null(r.format);
		assert_non_null(strstr(r.source, table[i][1]));
	}
	memset(longest, '(', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(parse("./gen", NULL, longest).valid);
}

/* Two runs in one recording: added if they ran side by side, else nothing can be said. */
static void several_runs(void **state)
{
	struct hg_client_result r;

	add_file(10 * SEC, 0, "wrk");
	add_file(10 * SEC + SEC / 20, 0, "wrk");
	r = parse("sh -c 'wrk -c8 http://a & wrk -c8 http://b; wait'", NULL, NULL);
	assert_true(r.valid);
	assert_near(r.value, 2 * 53856.59);
	assert_near(r.concurrency, 16);
	assert_near(r.latency_mean_s, 220.03e-6);
	assert_true(r.closed_loop);

	reset(NULL);
	add_file(10 * SEC, 0, "wrk");
	add_file(14 * SEC, 0, "wrk");
	r = parse("./run.sh", NULL, NULL);
	assert_false(r.valid);
	assert_string_equal(r.format, "wrk");
	assert_non_null(strstr(r.source, "2 runs of wrk"));

	/* one of two was cut off */
	reset(NULL);
	add_file(10 * SEC, 0, "wrk");
	add(10 * SEC, 1, "Running 30s test @ http://127.0.0.1/");
	r = parse("./run.sh", NULL, NULL);
	assert_false(r.valid);
	assert_non_null(strstr(r.source, "1 of 2 runs"));

	reset(NULL);
	add_file(10 * SEC, 0, "wrk");
	add_file(10 * SEC, 0, "ab");
	r = parse("./run.sh", NULL, NULL);
	assert_false(r.valid);
	assert_non_null(strstr(r.source, "both"));
	r = parse("./run.sh", "ab", NULL);
	assert_true(r.valid);
	assert_near(r.value, 88224.66);
}

/* Four that print line by line into one pipe. */
static void mixed_lines(void **state)
{
	char *copies[4][64];
	size_t n = 0, count;
	struct hg_client_result r;

	for (int i = 0; i < 4; i++) {
		reset(NULL);
		add_file(10 * SEC, 0, i % 2 ? "wrk" : "wrk-errors");
		for (n = 0; n < lines_count; n++)
			copies[i][n] = strdup(lines[n].text);
		for (; n < 64; n++)
			copies[i][n] = NULL;
	}
	reset(NULL);
	for (size_t k = 0; k < 64; k++) {
		for (size_t i = 0; i < 4; i++) {
			if (copies[i][k])
				add(10 * SEC + i * SEC / 200, 1, copies[i][k]);
			free(copies[i][k]);
		}
	}
	count = lines_count;
	r = parse("sh -c 'wrk a & wrk b & wrk c & wrk d & wait'", NULL, NULL);
	assert_true(r.valid);
	assert_near(r.value, 2 * 53856.59 + 2 * 181.70);
	assert_near(r.completed, 2 * 107844 + 2 * 364);
	assert_near(r.concurrency, 32);
	assert_near(r.errors, 2 * 364);
	assert_int_equal(r.runs, 4);
	assert_near(r.stop_skew_s, 0.015);
	assert_false(r.skewed);

	/* one of them is cut off */
	assert_int_equal(count, lines_count);
	for (size_t i = lines_count; i-- > 0;) {
		if (!strncmp(lines[i].text, "Requests/sec:", 13)) {
			free((char *)lines[i].text);
			lines[i].text = strdup("");
			break;
		}
	}
	r = parse("./run.sh", NULL, NULL);
	assert_false(r.valid);
	assert_non_null(strstr(r.source, "3 of 4 runs"));
}

static void skew_of_runs(void **state)
{
	struct hg_client_result r;

	/* runs of 2.00 s: common 1.88 s, 6 % apart */
	add_file(10 * SEC, 0, "wrk");
	add_file(10 * SEC + SEC * 12 / 100, 0, "wrk");
	r = parse("./run.sh", NULL, NULL);
	assert_true(r.valid);
	assert_int_equal(r.runs, 2);
	assert_near(r.common_s, 1.88);
	assert_near(r.start_skew_s, 0.12);
	assert_near(r.stop_skew_s, 0.12);
	assert_true(r.skewed);

	reset(NULL);
	add_file(10 * SEC, 0, "wrk");
	add_file(10 * SEC + SEC * 4 / 100, 0, "wrk");
	r = parse("./run.sh", NULL, NULL);
	assert_true(r.valid);
	assert_false(r.skewed);

	reset(NULL);
	add_file(10 * SEC, 0, "wrk");
	r = parse("./run.sh", NULL, NULL);
	assert_int_equal(r.runs, 1);
	assert_false(r.skewed);
}

static void nothing_recognised(void **state)
{
	struct hg_client_result r;

	r = parse("", NULL, NULL);
	assert_null(r.format);
	assert_false(r.valid);
	assert_true(strlen(r.source) > 0);

	add_file(SEC, 0, "wrk-refused");
	r = parse("wrk http://127.0.0.1:1/", NULL, NULL);
	assert_null(r.format);
	assert_false(r.valid);

	r = parse("wrk", "nosuch", NULL);
	assert_false(r.valid);
	assert_non_null(strstr(r.source, "nosuch"));
}

static void hostile_lines(void **state)
{
	static const char *const bad[] = {
		"Requests/sec: nan",
		"Requests/sec: inf",
		"Requests/sec: -1",
		"Requests/sec: 1e999",
		"Requests/sec: 0x10",
		"Requests/sec: 1.2.3",
		"Requests/sec:",
		"Requests/sec: \xff\xfe",
		"throughput: 1e999",
		"throughput: -3",
		"throughput: nan requests/s",
		"Requests/sec: "
		"1111111111111111111111111111111111111111111111111111111111111111111111111111111111"
		"111111",
	};
	static char huge[70000];
	struct hg_client_result r;

	memset(huge, '9', sizeof(huge) - 1);
	for (size_t i = 0; i < HG_ARRAY_SIZE(bad); i++) {
		reset(NULL);
		add(SEC, 1, "Running 30s test @ http://127.0.0.1/");
		add(SEC, 1, bad[i]);
		add(SEC, 1, huge);
		r = parse("wrk", NULL, NULL);
		if (r.valid || r.value != 0)
			fail_msg("accepted: %s", bad[i]);
	}
	/* a decimal comma in the locale must not matter */
	reset(NULL);
	add(SEC, 1, "Requests/sec: 1.5e3");
	r = parse(huge, NULL, "([0-9][0-9.e]*)");
	assert_near(r.value, 1500);
	hg_client_result_clear(&r);
}

static void commands_known_before_the_run(void **state)
{
	assert_true(hg_client_command_known("/usr/bin/wrk"));
	assert_true(hg_client_command_known("for i in 1 2; do wrk -t1 http://h/ & done; wait"));
	assert_true(hg_client_command_known("iperf3"));
	assert_false(hg_client_command_known("work"));
	assert_false(hg_client_command_known("wrk.log"));
	assert_false(hg_client_command_known(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(real_outputs, reset, reset),
		cmocka_unit_test_setup_teardown(series_of_tools, reset, reset),
		cmocka_unit_test_setup_teardown(iperf3_outputs, reset, reset),
		cmocka_unit_test_setup_teardown(mixed_lines, reset, reset),
		cmocka_unit_test_setup_teardown(skew_of_runs, reset, reset),
		cmocka_unit_test_setup_teardown(key_value_lines, reset, reset),
		cmocka_unit_test_setup_teardown(client_log_is_second, reset, reset),
		cmocka_unit_test(commands_known_before_the_run),
		cmocka_unit_test_setup_teardown(regex, reset, reset),
		cmocka_unit_test_setup_teardown(regex_refused, reset, reset),
		cmocka_unit_test_setup_teardown(several_runs, reset, reset),
		cmocka_unit_test_setup_teardown(nothing_recognised, reset, reset),
		cmocka_unit_test_setup_teardown(hostile_lines, reset, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
