/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/hg_base.h"
#include "base/hg_escape.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"

json_t *env_string(const char *text)
{
	json_t *value = json_string(text);
	char safe[4 * ENV_TEXT_MAX];

	/* Not UTF-8 (or no memory: then this fails too). */
	return value ? value : json_string(hg_escape_terminal(safe, sizeof(safe), text));
}

void env_set_string(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, env_string(text));
}

void env_set_new(json_t *object, const char *key, json_t *value)
{
	if ((json_is_object(value) && !json_object_size(value)) ||
	    (json_is_array(value) && !json_array_size(value)))
		json_decref(value);
	else
		json_object_set_new(object, key, value);
}

void env_set_lines(json_t *object, const struct env_line *lines, size_t count)
{
	char text[ENV_TEXT_MAX], *word, *end;

	for (size_t i = 0; i < count; i++) {
		const struct env_line *l = &lines[i];

		if (hg_file_line(l->path, text, sizeof(text)))
			continue;
		switch (l->type) {
		case ENV_TEXT:
			env_set_string(object, l->key, text);
			break;
		case ENV_NUMBER: {
			long long v = strtoll(text, &end, 10);

			if (end != text)
				json_object_set_new(object, l->key, json_integer(v));
			break;
		}
		case ENV_YES:
		case ENV_NO:
			json_object_set_new(object, l->key,
					    json_boolean((text[0] == '0') == (l->type == ENV_NO)));
			break;
		case ENV_CHOSEN:
			word = strchr(text, '[');
			if (!word)
				word = strchr(text, '(');
			if (word) {
				word++;
				word[strcspn(word, "])")] = '\0';
				env_set_string(object, l->key, word);
			}
			break;
		}
	}
}

void env_cpus_format(const void *mask, size_t mask_bytes, char *buf, size_t size)
{
	const unsigned long *words = mask;
	size_t bits = mask_bytes * 8, word_bits = 8 * sizeof(*words), used = 0;

	buf[0] = '\0';
	for (size_t first = 0, last; first < bits; first = last + 1) {
		int n;

		last = first;
		if (!(words[first / word_bits] >> first % word_bits & 1))
			continue;
		while (last + 1 < bits &&
		       (words[(last + 1) / word_bits] >> (last + 1) % word_bits & 1))
			last++;
		n = snprintf(buf + used, size - used, first == last ? "%s%zu" : "%s%zu-%zu",
			     used ? "," : "", first, last);
		if (n < 0 || (size_t)n >= size - used)
			return; /* cut within a number: still terminated */
		used += (size_t)n;
	}
}

unsigned int env_cpus_count(const char *list)
{
	unsigned int count = 0;

	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last >= ENV_CPUS_MAX)
			return 0;
		count += (unsigned int)(last - first + 1);
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}

static json_t *words(int count, char *const *argv)
{
	json_t *array = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(array, env_string(argv[i]));
	return array;
}

static int words_count(char *const *argv)
{
	int n = 0;

	while (argv && argv[n])
		n++;
	return n;
}

static json_t *self(const struct hg_environment_opts *o)
{
	json_t *object = json_object();
	int shown = o->argc, client = words_count(o->client_argv);

	/* The client's words are the tail of our own. */
	if (o->no_args && client && client <= shown &&
	    !strcmp(o->argv[shown - client], o->client_argv[0]))
		shown -= client;
	env_set_string(object, "version", HG_VERSION);
	env_set_new(object, "arguments", words(shown, o->argv));
	return object;
}

static json_t *client(const struct hg_environment_opts *o, struct env_program *program)
{
	json_t *object = json_object();
	int count = words_count(o->client_argv);

	if (count)
		env_set_new(object, "arguments", words(o->no_args ? 1 : count, o->client_argv));
	if (count)
		env_set_program(object, program);
	return object;
}

static json_t *targets(const struct hg_environment_opts *o, const struct env_program *programs)
{
	json_t *array = json_array();

	for (size_t i = 0; i < HG_MIN(o->targets_count, (size_t)ENV_TARGETS_MAX - 1); i++) {
		json_t *target = env_target(o->targets[i], o->no_args);

		env_set_program(target, &programs[i]);
		json_array_append_new(array, target);
	}
	return array;
}

static void time_set(json_t *object)
{
	time_t now = time(NULL);
	char text[32];
	struct tm tm;

	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		env_set_string(object, "time", text);
}

json_t *hg_environment_collect(const struct hg_environment_opts *o)
{
	struct env_program *programs = calloc(ENV_PROGRAMS_MAX, sizeof(*programs));
	size_t count = HG_MIN(o->targets_count, (size_t)ENV_TARGETS_MAX - 1);
	json_t *object = json_object();

	if (!programs || !object) {
		free(programs);
		json_decref(object);
		return NULL;
	}
	/* All programs at once: the package database is read through once. */
	for (size_t i = 0; i < count; i++)
		env_program_of_process(o->targets[i], &programs[i]);
	if (o->client_argv && o->client_argv[0])
		env_program_of_command(o->client_argv[0], &programs[count]);
	env_packages_find(programs, count + 1);

	env_set_new(object, "hourglass", self(o));
	time_set(object);
	env_set_new(object, "host", env_host());
	env_set_new(object, "network", env_network(o));
	env_set_new(object, "targets", targets(o, programs));
	if (o->targets_count > count)
		json_object_set_new(object, "targets_not_listed",
				    json_integer((json_int_t)(o->targets_count - count)));
	env_set_new(object, "client", client(o, &programs[count]));
	free(programs);
	return object;
}
