/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of check share. Included by hg_check.c and check_*.c only. */
#ifndef HG_CHECK_PRIVATE_H
#define HG_CHECK_PRIVATE_H

#include <jansson.h>

#include "base/hg_base.h"
#include "collector/hg_check.h"

/* Appends a finding. remedy may be NULL. */
void check_add(struct hg_check *c, enum hg_check_group group, enum hg_check_state state,
	       const char *id, const char *remedy, const char *why, ...) HG_PRINTF(6, 7);

/* env: of hg_environment_collect; its first target is hourglass itself, the rest are those of -p. */
void check_record(struct hg_check *c, json_t *env);
void check_setup(struct hg_check *c, json_t *env, const struct hg_check_opts *opts);

/* A string or "" at a path of keys that ends with NULL. */
const char *check_string(json_t *object, ...) __attribute__((sentinel));
json_t *check_get(json_t *object, ...) __attribute__((sentinel));

#endif
