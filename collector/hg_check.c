/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/hg_check.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "collector/check_private.h"
#include "collector/hg_environment.h"

void check_add(struct hg_check *c, enum hg_check_group group, enum hg_check_state state,
	       const char *id, const char *remedy, const char *why, ...)
{
	struct hg_check_item *item;
	va_list ap;

	if (state == HG_CHECK_NO)
		c->possible = false;
	if (c->count == c->max) {
		size_t max = c->max ? 2 * c->max : 64;
		struct hg_check_item *items = reallocarray(c->items, max, sizeof(*items));

		if (!items) {
			c->error = -ENOMEM;
			return;
		}
		c->items = items;
		c->max = max;
	}
	item = &c->items[c->count++];
	item->group = group;
	item->state = state;
	snprintf(item->id, sizeof(item->id), "%s", id);
	snprintf(item->remedy, sizeof(item->remedy), "%s", remedy ? remedy : "");
	va_start(ap, why);
	vsnprintf(item->why, sizeof(item->why), why, ap);
	va_end(ap);
}

static json_t *get(json_t *object, va_list ap)
{
	const char *key;

	while ((key = va_arg(ap, const char *)))
		object = json_object_get(object, key);
	return object;
}

json_t *check_get(json_t *object, ...)
{
	va_list ap;

	va_start(ap, object);
	object = get(object, ap);
	va_end(ap);
	return object;
}

const char *check_string(json_t *object, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, object);
	text = json_string_value(get(object, ap));
	va_end(ap);
	return text ? text : "";
}

int hg_check_run(const struct hg_check_opts *opts, struct hg_check *out)
{
	hg_autofree pid_t *pids = calloc(opts->pids_count + 1, sizeof(*pids));
	struct hg_environment_opts env_opts = {.targets = pids,
					       .targets_count = opts->pids_count + 1};
	struct hg_check c = {.possible = true};
	json_t *env;

	if (!pids)
		return -ENOMEM;
	pids[0] = getpid();
	if (opts->pids_count)
		memcpy(pids + 1, opts->pids, opts->pids_count * sizeof(*pids));
	env = hg_environment_collect(&env_opts);
	if (!env)
		return -ENOMEM;
	check_record(&c, env);
	check_setup(&c, env, opts);
	json_decref(env);
	if (c.error) {
		hg_check_free(&c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void hg_check_free(struct hg_check *c)
{
	free(c->items);
	*c = (struct hg_check){0};
}
