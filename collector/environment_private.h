/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the environment share: setters that leave out what cannot be had. Included by
 * hg_environment.c, environment_*.c and their test only.
 */
#ifndef HG_ENVIRONMENT_PRIVATE_H
#define HG_ENVIRONMENT_PRIVATE_H

#include <jansson.h>
#include <limits.h>
#include <stdint.h>

#include "collector/hg_environment.h"

#define ENV_TEXT_MAX	 4096
#define ENV_PROGRAMS_MAX 64
#define ENV_TARGETS_MAX	 64   /* described one by one; the rest is counted */
#define ENV_THREADS_MAX	 4096 /* of a target, whose affinity is asked for */
#define ENV_SETS_MAX	 16   /* different affinities that are listed */
#define ENV_CPUS_MAX	 8192

/* The text, with bytes that are not UTF-8 escaped. NULL on ENOMEM, which json_object_set_new() takes. */
json_t *env_string(const char *text);
/* Sets a member; "" and NULL are left out. */
void env_set_string(json_t *object, const char *key, const char *text);
/* Takes the reference; empty objects and arrays are left out. */
void env_set_new(json_t *object, const char *key, json_t *value);

/* How a one-line file becomes a value. */
enum env_line_type {
	ENV_TEXT,
	ENV_NUMBER,
	ENV_YES,
	ENV_NO /* 0 is true */,
	ENV_CHOSEN /* the word in [] */
};
struct env_line {
	const char *key, *path;
	enum env_line_type type;
};
void env_set_lines(json_t *object, const struct env_line *lines, size_t count);

/* "0-3,8" from a CPU set; the number of CPUs in such a text, 0 if it is none. */
void env_cpus_format(const void *mask, size_t mask_bytes, char *buf, size_t size);
unsigned int env_cpus_count(const char *list);

/* The parts. NULL only on ENOMEM. */
json_t *env_host(void);
json_t *env_target(pid_t tgid, bool no_args);
json_t *env_network(const struct hg_environment_opts *opts);
json_t *env_disks(void);
json_t *env_pressure(void);
/* Those that hold the program, the working folder and open files of a process. */
json_t *env_filesystems(pid_t tgid);

/* What is known of a program without running it. */
struct env_program {
	char path[PATH_MAX]; /* as its mount namespace names it */
	bool ours;	     /* that namespace is ours: the package database is about it */
	char build_id[2 * 64 + 1];
	char package[128], version[128];
};
/* fd is the open program. 0 or -errno: it is no ELF file or has no build-id. */
int env_build_id_read(int fd, char *hex, size_t size);
/* Looks the owner of each program up in the package database; what is not found is left as it is. */
void env_packages_find(struct env_program *programs, size_t count);
/* The same with the database elsewhere. */
void env_packages_find_in(const char *dpkg_dir, struct env_program *programs, size_t count);
void env_program_of_process(pid_t tgid, struct env_program *out);
/* argv[0], by PATH unless it has a slash. */
void env_program_of_command(const char *name, struct env_program *out);
void env_set_program(json_t *object, const struct env_program *program);

#endif
