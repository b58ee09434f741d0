/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of "where the time went", from plain lanes: what hg_findings_rows does, testable without a file. */
#ifndef HG_FINDINGS_ROWS_H
#define HG_FINDINGS_ROWS_H

#include "analysis/hg_findings.h"

/* "target", "client", "waker" or "competitor". all_is_target: no target was named. */
const char *hg_findings_role(const struct hg_lane *lane, bool all_is_target);
bool hg_findings_all_is_target(const struct hg_lane *lanes, size_t count);

/* Lanes that are not members have only their running time known; their wall is the window and the rest unknown. */
int hg_findings_rows_build(struct hg_findings *f, const struct hg_lane *lanes, size_t count,
			   uint64_t from_ns, uint64_t to_ns, unsigned int max_rows);

#endif
