/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"

static json_t *at(json_t *object, const char *a, const char *b, const char *c)
{
	object = json_object_get(object, a);
	object = b ? json_object_get(object, b) : object;
	return c ? json_object_get(object, c) : object;
}

/* A sleeping child with a hostile name, pinned to one CPU. */
static pid_t child_start(int cpu)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		setpriority(PRIO_PROCESS, 0, 7);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a\xff\n\"<");
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void child_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void host_and_target(void **state)
{
	char *argv[] = {"hourglass", "record", "--", "sh", "-c", "secret", NULL};
	struct hg_environment_opts o = {
		.targets_count = 1, .client_argv = argv + 3, .argc = 6, .argv = argv};
	cpu_set_t mine;
	int cpu = 0;
	char cpu_text[16], *text;
	struct utsname u;
	json_t *env, *target;
	pid_t pid;

	sched_getaffinity(0, sizeof(mine), &mine);
	while (!CPU_ISSET(cpu, &mine))
		cpu++;
	pid = child_start(cpu);
	o.targets = &pid;
	env = hg_environment_collect(&o);
	assert_non_null(env);
	uname(&u);
	assert_string_equal(json_string_value(at(env, "host", "kernel", "release")), u.release);
	assert_true(json_integer_value(at(env, "host", "cpu", "count")) ==
		    sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(json_integer_value(at(env, "host", "memory", "total_bytes")) > 1 << 20);
	assert_true(json_is_boolean(at(env, "host", "virtualisation", "virtual")));
	/* A hypervisor is who it says it is, and that it says so is said. */
	if (at(env, "host", "virtualisation", "hypervisor_signature"))
		assert_non_null(
			strstr(json_string_value(at(env, "host", "virtualisation", "hypervisor")),
			       "CPUID signature"));
	assert_int_equal(json_array_size(at(env, "hourglass", "arguments", NULL)), 6);
	assert_int_equal(json_array_size(at(env, "client", "arguments", NULL)), 3);
	assert_int_equal(json_string_value(at(env, "client", "program", NULL))[0], '/');

	target = json_array_get(at(env, "targets", NULL, NULL), 0);
	assert_int_equal(json_integer_value(at(target, "pid", NULL, NULL)), pid);
	assert_int_equal(json_integer_value(at(target, "threads", NULL, NULL)), 1);
	assert_string_equal(json_string_value(at(target, "policy", NULL, NULL)), "other");
	assert_int_equal(json_integer_value(at(target, "nice", NULL, NULL)),
			 getpriority(PRIO_PROCESS, (id_t)pid));
	snprintf(cpu_text, sizeof(cpu_text), "%d", cpu);
	assert_int_equal(json_integer_value(at(target, "affinity", cpu_text, NULL)), 1);
	assert_non_null(strstr(json_string_value(at(target, "program", NULL, NULL)),
			       "test_collector_environment"));

	text = json_dumps(env, 0);
	assert_non_null(text); /* all of it is valid UTF-8 */
	assert_non_null(strstr(text, "secret"));
	free(text);
	json_decref(env);

	o.no_args = true;
	env = hg_environment_collect(&o);
	text = json_dumps(env, 0);
	assert_null(strstr(text, "secret"));
	assert_int_equal(json_array_size(at(env, "hourglass", "arguments", NULL)), 3);
	assert_null(at(json_array_get(at(env, "targets", NULL, NULL), 0), "arguments", NULL, NULL));
	free(text);
	json_decref(env);
	child_stop(pid);
}

static void target_that_is_gone(void **state)
{
	pid_t pid = child_start(0);
	struct hg_environment_opts o = {.targets = &pid, .targets_count = 1};
	json_t *env, *target;

	child_stop(pid);
	env = hg_environment_collect(&o);
	assert_non_null(env);
	target = json_array_get(json_object_get(env, "targets"), 0);
	assert_int_equal(json_object_size(target), 1); /* the pid, nothing made up */
	json_decref(env);
}

static void cpu_lists(void **state)
{
	unsigned long mask[2] = {0x10f, 0x3};
	char text[64], little[6];

	env_cpus_format(mask, sizeof(mask), text, sizeof(text));
	assert_string_equal(text, "0-3,8,64-65");
	mask[0] = 1UL << 63;
	env_cpus_format(mask, sizeof(mask), text, sizeof(text));
	assert_string_equal(text, "63-65");
	mask[0] = 0x10f;
	env_cpus_format(mask, sizeof(mask), little, sizeof(little));
	assert_true(strlen(little) < sizeof(little));
	assert_int_equal(env_cpus_count("0-3,8,64-65"), 7);
	assert_int_equal(env_cpus_count(""), 0);
	assert_int_equal(env_cpus_count("3-1"), 0);
	assert_int_equal(env_cpus_count("0-99999999999"), 0);
}

static void lines_by_type(void **state)
{
	static const struct {
		enum env_line_type type;
		const char *text, *json;
	} cases[] = {
		{ENV_TEXT, "two words \n", "{\"k\": \"two words\"}"},
		{ENV_TEXT, "\xff\n", "{\"k\": \"\\\\xff\"}"},
		{ENV_TEXT, "\n", "{}"},
		{ENV_NUMBER, "42\n", "{\"k\": 42}"},
		{ENV_NUMBER, "none\n", "{}"},
		{ENV_YES, "1\n", "{\"k\": true}"},
		{ENV_YES, "0\n", "{\"k\": false}"},
		{ENV_NO, "1\n", "{\"k\": false}"},
		{ENV_NO, "0\n", "{\"k\": true}"},
		{ENV_CHOSEN, "always [madvise] never\n", "{\"k\": \"madvise\"}"},
		{ENV_CHOSEN, "none voluntary (full)\n", "{\"k\": \"full\"}"},
		{ENV_CHOSEN, "nothing\n", "{}"},
	};
	char path[] = "/tmp/hg-test-env-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < HG_ARRAY_SIZE(cases); i++) {
		struct env_line line = {"k", path, cases[i].type};
		json_t *object = json_object();
		char *text;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0),
				 strlen(cases[i].text));
		env_set_lines(object, &line, 1);
		text = json_dumps(object, 0);
		assert_string_equal(text, cases[i].json);
		free(text);
		json_decref(object);
	}
	close(fd);
	unlink(path);
}

/* An ELF file of one note segment; note_bytes is what its program header claims. */
static int elf_make(uint32_t name_bytes, uint32_t desc_bytes, uint64_t note_bytes)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr;
		Elf64_Nhdr note;
		char name[4];
		unsigned char desc[4];
	} f = {.name = "GNU", .desc = {0xde, 0xad, 0xbe, 0x0f}};
	size_t size = offsetof(__typeof__(f), desc) + sizeof(f.desc);
	int fd = memfd_create("elf", MFD_CLOEXEC);

	memcpy(f.ehdr.e_ident, ELFMAG, SELFMAG);
	f.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	f.ehdr.e_phoff = offsetof(__typeof__(f), phdr);
	f.ehdr.e_phentsize = sizeof(f.phdr);
	f.ehdr.e_phnum = 1;
	f.phdr.p_type = PT_NOTE;
	f.phdr.p_offset = offsetof(__typeof__(f), note);
	f.phdr.p_filesz = note_bytes;
	f.note = (Elf64_Nhdr){name_bytes, desc_bytes, NT_GNU_BUILD_ID};
	assert_int_equal(write(fd, &f, size), size);
	return fd;
}

static void build_ids(void **state)
{
	static const struct {
		uint32_t name, desc;
		uint64_t size;
		int result;
	} cases[] = {
		{4, 4, 20, 0},
		{4, 5, 20, -ENODATA}, /* beyond the segment */
		{4, UINT32_MAX, 20, -ENODATA},
		{UINT32_MAX, 4, 20, -ENODATA},
		{4, 4, 19, -ENODATA},
		{4, 4, 1 << 15, -ENODATA}, /* beyond the file */
		{4, 4, UINT64_MAX, -ENODATA},
		{4, 0, 20, -ENODATA},
		{3, 4, 20, -ENODATA},
	};
	char hex[129];
	int fd;

	for (size_t i = 0; i < HG_ARRAY_SIZE(cases); i++) {
		fd = elf_make(cases[i].name, cases[i].desc, cases[i].size);
		assert_int_equal(env_build_id_read(fd, hex, sizeof(hex)), cases[i].result);
		if (!cases[i].result)
			assert_string_equal(hex, "deadbe0f");
		close(fd);
	}
	fd = memfd_create("not elf", MFD_CLOEXEC);
	assert_int_equal(env_build_id_read(fd, hex, sizeof(hex)), -ENOEXEC);
	close(fd);
}

static void file_put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void packages(void **state)
{
	static const char *const files[] = {"info/served.list", "info/tool:amd64.list",
					    "info/served.md5sums", "status"};
	char dir[] = "/tmp/hg-test-dpkg-XXXXXX", path[128];
	struct env_program *p = calloc(4, sizeof(*p));

	strcpy(p[0].path, "/usr/bin/served");
	strcpy(p[1].path, "/usr/lib/x86_64-linux-gnu/tool");
	strcpy(p[2].path, "/usr/local/bin/unowned");
	strcpy(p[3].path, "/usr/bin/served"); /* in another mount namespace */
	p[0].ours = p[1].ours = p[2].ours = true;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/info", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	file_put(path, "served.list", "/.\n/bin\n/bin/served\n");
	file_put(path, "tool:amd64.list", "/usr/lib/x86_64-linux-gnu/tool");
	file_put(path, "served.md5sums", "/usr/local/bin/unowned\n");
	file_put(dir, "status",
		 "Package: other\nVersion: 9\n\nPackage: served\nStatus: install ok installed\n"
		 "Version: 1:2.0-3\n\nPackage: tool\nVersion: 7~rc1\n");
	env_packages_find_in(dir, p, 4);
	assert_string_equal(p[0].package, "served");
	assert_string_equal(p[0].version, "1:2.0-3");
	assert_string_equal(p[1].package, "tool");
	assert_string_equal(p[1].version, "7~rc1");
	assert_string_equal(p[2].package, "");
	assert_string_equal(p[3].package, "");

	for (size_t i = 0; i < HG_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/info", dir);
	rmdir(path);
	rmdir(dir);
	free(p);
}

static json_t *entry(json_t *array, const char *key, const char *value)
{
	json_t *object;
	size_t i;

	json_array_foreach (array, i, object) {
		const char *v = json_string_value(json_object_get(object, key));

		if (v && !strcmp(v, value))
			return object;
	}
	return NULL;
}

/* Every device with a medium; and the file system that this folder is on, whatever it is. */
static void disks_and_filesystems(void **state)
{
	json_t *disks = env_disks(), *mounts = env_filesystems(getpid()), *disk;
	char path[PATH_MAX], text[256], device[32];
	hg_autoclosedir DIR *dir = opendir("/sys/block");
	struct dirent *file;
	struct stat st;
	size_t n = 0;

	while (dir && (file = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/block/%s/size", file->d_name);
		if (file->d_name[0] == '.' || hg_file_line(path, text, sizeof(text)) ||
		    !strtoull(text, NULL, 10))
			continue;
		n++;
		disk = entry(disks, "name", file->d_name);
		assert_non_null(disk);
		assert_int_equal(json_integer_value(json_object_get(disk, "size_bytes")),
				 512 * strtoull(text, NULL, 10));
		snprintf(path, sizeof(path), "/sys/block/%s/queue/nr_requests", file->d_name);
		if (!hg_file_line(path, text, sizeof(text)))
			assert_int_equal(json_integer_value(json_object_get(disk, "queue_depth")),
					 strtoull(text, NULL, 10));
	}
	assert_int_equal(json_array_size(disks), HG_MIN(n, (size_t)128));
	assert_int_equal(stat(".", &st), 0);
	snprintf(device, sizeof(device), "%u:%u", major(st.st_dev), minor(st.st_dev));
	assert_non_null(entry(mounts, "device", device));
	json_decref(disks);
	json_decref(mounts);
	mounts = env_filesystems(-1);
	assert_int_equal(json_array_size(mounts), 0);
	json_decref(mounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_target),
		cmocka_unit_test(target_that_is_gone),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(lines_by_type),
		cmocka_unit_test(build_ids),
		cmocka_unit_test(packages),
		cmocka_unit_test(disks_and_filesystems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
