/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which cgroup a name means, on machines with any set of hierarchies: directories stand for them. */
/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hg_base.h"
#include "collector/hg_cgroup.h"

/* A machine: hierarchies below a directory, and the two files that tell of them. */
struct machine {
	char root[64], mountinfo[80], own[80];
	struct hg_cgroup_found found;
	const char *why;
};

static void make(const struct machine *m, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", m->root, path);
	assert_int_equal(mkdir(full, 0755), 0);
}

static void mount_add(const struct machine *m, const char *root, const char *point,
		      const char *type, const char *options)
{
	hg_autofclose FILE *f = fopen(m->mountinfo, "a");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(stat(m->root, &st), 0);
	fprintf(f, "30 22 %u:%u %s %s/%s rw,relatime shared:9 - %s cgroup %s\n", major(st.st_dev),
		minor(st.st_dev), root, m->root, point, type, options);
}

static void own_write(const struct machine *m, const char *text)
{
	hg_autofclose FILE *f = fopen(m->own, "w");

	assert_non_null(f);
	fputs(text, f);
}

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	strcpy(m->root, "/tmp/hg-cgroups-XXXXXX");
	assert_non_null(mkdtemp(m->root));
	snprintf(m->mountinfo, sizeof(m->mountinfo), "%s/mountinfo", m->root);
	snprintf(m->own, sizeof(m->own), "%s/own", m->root);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", m->root);
	assert_int_equal(system(command), 0);
	free(m);
	return 0;
}

static int find(struct machine *m, const char *name)
{
	return hg_cgroup_find_in(m->mountinfo, m->own, name, &m->found, &m->why);
}

static int find_below(struct machine *m, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", m->root, path);
	return find(m, full);
}

/* As Debian had it before v2: memory comes first, cpu is together with cpuacct, v2 is for names only. */
static void hybrid(struct machine *m)
{
	const char *const names[] = {"memory", "cpu", "systemd", "unified"};

	for (size_t i = 0; i < HG_ARRAY_SIZE(names); i++)
		make(m, names[i]);
	mount_add(m, "/", "memory", "cgroup", "rw,memory");
	mount_add(m, "/", "cpu", "cgroup", "rw,cpu,cpuacct");
	mount_add(m, "/", "systemd", "cgroup", "rw,xattr,name=systemd");
	mount_add(m, "/", "unified", "cgroup2", "rw,nsdelegate");
	own_write(m, "12:memory:/\n7:cpu,cpuacct:/user\n1:name=systemd:/\n0::/\n");
}

static void test_the_cpu_hierarchy_comes_first(void **state)
{
	struct machine *m = *state;

	hybrid(m);
	make(m, "memory/box");
	make(m, "unified/box");
	assert_int_equal(find(m, "box"), 0);
	assert_string_equal(m->found.hierarchy, "");
	assert_int_equal(m->found.hierarchy_id, 0);
	assert_string_equal(m->found.path, "/box");
	make(m, "cpu/box");
	assert_int_equal(find(m, "/box"), 0);
	assert_string_equal(m->found.hierarchy, "cpu,cpuacct");
	assert_int_equal(m->found.hierarchy_id, 7);
	assert_false(m->found.in_file_system);
}

static void test_a_directory_is_what_it_is(void **state)
{
	struct machine *m = *state;
	struct stat st;
	char full[512];

	hybrid(m);
	make(m, "cpu/box");
	make(m, "memory/box");
	make(m, "systemd/box");
	assert_int_equal(find_below(m, "memory/../memory/box/"), 0);
	assert_string_equal(m->found.hierarchy, "memory");
	assert_int_equal(m->found.hierarchy_id, 12);
	assert_true(m->found.in_file_system);
	snprintf(full, sizeof(full), "%s/memory/box", m->root);
	assert_string_equal(m->found.directory, full);
	assert_int_equal(stat(full, &st), 0);
	assert_int_equal(m->found.id, st.st_ino);
	assert_int_equal(find_below(m, "systemd/box"), 0);
	assert_string_equal(m->found.hierarchy, "name=systemd");
	assert_int_equal(find_below(m, "cpu"), 0);
	assert_string_equal(m->found.path, "/");
}

static void test_v2_alone(void **state)
{
	struct machine *m = *state;

	make(m, "cgroup");
	make(m, "cgroup/system.slice");
	mount_add(m, "/", "cgroup", "cgroup2", "rw,nsdelegate");
	own_write(m, "0::/user.slice\n");
	assert_int_equal(find(m, "system.slice"), 0);
	assert_string_equal(m->found.hierarchy, "");
	assert_string_equal(m->found.path, "/system.slice");
}

/* In a container the mount shows the part below its own cgroup, and names may hold what mountinfo escapes. */
static void test_a_part_of_a_hierarchy(void **state)
{
	struct machine *m = *state;

	make(m, "my cpu");
	make(m, "my cpu/in side");
	mount_add(m, "/docker/1", "my\\040cpu", "cgroup", "rw,cpu");
	own_write(m, "3:cpu:/docker/1\n");
	assert_int_equal(find(m, "in side"), 0);
	assert_string_equal(m->found.path, "/docker/1/in side");
	assert_int_equal(find_below(m, "my cpu"), 0);
	assert_string_equal(m->found.path, "/docker/1");
}

static void test_what_is_none(void **state)
{
	struct machine *m = *state;

	hybrid(m);
	make(m, "cpu/box");
	make(m, "elsewhere");
	assert_int_equal(find(m, "crate"), -ENOENT);
	assert_non_null(strstr(m->why, "no such cgroup"));
	assert_int_equal(find_below(m, "elsewhere"), -ENOTDIR);
	assert_non_null(strstr(m->why, "no directory of a cgroup hierarchy"));
	assert_int_equal(find_below(m, "own"), -ENOTDIR);
	assert_int_equal(find_below(m, "own/x"), -ENOTDIR);
	/* A way out of a hierarchy ends in no cgroup. */
	assert_true(find(m, "../elsewhere") < 0);
	/* A hierarchy that the process knows nothing of cannot be told from another one. */
	own_write(m, "0::/\n");
	assert_true(find_below(m, "cpu/box") < 0);
}

static void test_no_hierarchies(void **state)
{
	struct machine *m = *state;
	hg_autofclose FILE *f = fopen(m->mountinfo, "w");

	assert_non_null(f);
	assert_int_equal(find(m, "box"), -ENOENT);
	assert_non_null(strstr(m->why, "no cgroup hierarchy is mounted"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_cpu_hierarchy_comes_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_is_what_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v2_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_part_of_a_hierarchy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_hierarchies, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
