/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over a span of its own for each lane, by one sweep. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hg_model.h"
#include "base/hg_base.h"

struct spans {
	struct hg_span *v;
	uint32_t *of_lane; /* index in v + 1 */
	size_t lanes;
	uint8_t *leaf; /* [n] that the lane is in; HG_LEAVES: no member now */
	uint64_t *since_ns;
};

static void span_add(struct hg_span *span, uint8_t leaf, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = HG_MAX(from_ns, span->from_ns);
	to_ns = HG_MIN(to_ns, span->to_ns);
	if (leaf < HG_LEAVES && from_ns < to_ns)
		span->leaf_ns[leaf] += to_ns - from_ns;
}

static void on_step(void *arg, const struct hg_step *step)
{
	struct spans *s = arg;
	uint32_t i = step->lane < s->lanes ? s->of_lane[step->lane] : 0;

	if (!i--)
		return;
	span_add(&s->v[i], s->leaf[i], s->since_ns[i], step->time_ns);
	s->leaf[i] = step->gone || !step->member ? HG_LEAVES : step->leaf;
	s->since_ns[i] = step->time_ns;
}

int hg_model_spans(struct hg_model *m, struct hg_span *spans, size_t n)
{
	const struct hg_lane *lanes;
	size_t lanes_count = hg_model_lanes(m, &lanes);
	hg_autofree uint32_t *of_lane = calloc(lanes_count, sizeof(*of_lane));
	hg_autofree uint8_t *leaf = malloc(n + 1);
	hg_autofree uint64_t *since_ns = calloc(n + 1, sizeof(*since_ns));
	struct spans s = {spans, of_lane, lanes_count, leaf, since_ns};
	int rc;

	if (!of_lane || !leaf || !since_ns)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		memset(spans[i].leaf_ns, 0, sizeof(spans[i].leaf_ns));
		leaf[i] = HG_LEAVES;
		if (spans[i].lane < lanes_count)
			of_lane[spans[i].lane] = (uint32_t)i + 1;
	}
	rc = hg_model_sweep(m, on_step, &s);
	for (size_t i = 0; i < n && !rc; i++)
		span_add(&spans[i], leaf[i], since_ns[i], hg_model_to_ns(m));
	return rc;
}
