/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/hg_proxy.h"
#include "base/hg_base.h"

#define WORK_MIN	  100 /* units, in all */
#define WORK_INTERVAL_MIN 20  /* of an interval that is compared */
#define INTERVALS_MIN	  3   /* that are compared */
#define FACTOR_MAX	  3
#define AGREE_MAX	  0.10 /* of the factor */
#define RATIO_VARIES_MAX  0.10 /* standard deviation by mean, over intervals */
#define BYTES_VARIES_MAX  0.25
#define INTERVAL_MIN_S	  0.25 /* counts are read ten times a second */

/* -- the rule -- */

static double work_of(const struct hg_proxy_count *c)
{
	return fmin(c->received, c->sent);
}

static double ratio_of(const struct hg_proxy_count *c)
{
	return fmax(c->received, c->sent) / work_of(c);
}

static double bytes_of(const struct hg_proxy_count *c)
{
	return (c->received_bytes + c->sent_bytes) / work_of(c);
}

/* Standard deviation by mean over the intervals with enough work; NAN if they are too few. */
static double varies(const struct hg_proxy_count *counts, size_t n,
		     double (*of)(const struct hg_proxy_count *c))
{
	double sum = 0, squares = 0, mean;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		double v;

		if (work_of(&counts[i]) < WORK_INTERVAL_MIN)
			continue;
		v = of(&counts[i]);
		sum += v;
		squares += v * v;
		used++;
	}
	if (used < INTERVALS_MIN)
		return NAN;
	mean = sum / (double)used;
	return mean > 0 ? sqrt(fmax(0, squares / (double)used - mean * mean)) / mean : NAN;
}

static struct hg_proxy_count counts_sum(const struct hg_proxy_count *counts, size_t n)
{
	struct hg_proxy_count sum = {0};

	for (size_t i = 0; i < n; i++) {
		sum.received += counts[i].received;
		sum.received_bytes += counts[i].received_bytes;
		sum.sent += counts[i].sent;
		sum.sent_bytes += counts[i].sent_bytes;
		sum.length_s += counts[i].length_s;
	}
	return sum;
}

void hg_proxy_judge(const struct hg_proxy_count *counts, size_t n, struct hg_proxy *out)
{
	struct hg_proxy_count sum = counts_sum(counts, n);
	double ratio, ratio_varies = varies(counts, n, ratio_of),
		      bytes_varies = varies(counts, n, bytes_of);

	*out = (struct hg_proxy){.work = work_of(&sum)};
	if (out->work < WORK_MIN || isnan(ratio_varies) || isnan(bytes_varies)) {
		snprintf(out->why, sizeof(out->why),
			 "the target served too little (%.0f receives, %.0f sends)", sum.received,
			 sum.sent);
		return;
	}
	ratio = ratio_of(&sum);
	out->factor = fmax(1, round(ratio));
	if (out->factor > FACTOR_MAX || fabs(ratio - out->factor) > AGREE_MAX * out->factor)
		snprintf(out->why, sizeof(out->why),
			 "receives and sends disagree (%.2f %s for each %s)", ratio,
			 sum.sent > sum.received ? "sends" : "receives",
			 sum.sent > sum.received ? "receive" : "send");
	else if (ratio_varies > RATIO_VARIES_MAX)
		snprintf(out->why, sizeof(out->why),
			 "the ratio of receives to sends varies by %.0f %%", 100 * ratio_varies);
	else if (bytes_varies > BYTES_VARIES_MAX)
		snprintf(out->why, sizeof(out->why), "the bytes of a message vary by %.0f %%",
			 100 * bytes_varies);
	else
		out->usable = true;
	if (out->usable && out->factor == 1)
		snprintf(out->why, sizeof(out->why), "messages received and answered");
	else if (out->usable)
		snprintf(out->why, sizeof(out->why), "messages %s, with %.0f %s each",
			 sum.sent > sum.received ? "received" : "sent", out->factor,
			 sum.sent > sum.received ? "sends" : "receives");
}

/* -- from the model -- */

/* Of all targets; of what belongs to none only if there is no target (-a). */
static bool series_wanted(const struct hg_message_series *series, size_t n,
			  const struct hg_message_series *s)
{
	bool targets = false;

	for (size_t i = 0; i < n; i++)
		targets |= series[i].target != HG_MESSAGES_OF_OTHERS;
	return targets == (s->target != HG_MESSAGES_OF_OTHERS);
}

static void count_add(const struct hg_message_series *s, uint64_t from_ns, uint64_t to_ns,
		      struct hg_proxy_count *c)
{
	uint64_t count, bytes, span_ns;

	if (hg_series_delta(&s->received, from_ns, to_ns, &count, &bytes, &span_ns)) {
		c->received += (double)count;
		c->received_bytes += (double)bytes;
		c->length_s = fmax(c->length_s, (double)span_ns / 1e9);
	}
	if (hg_series_delta(&s->sent, from_ns, to_ns, &count, &bytes, NULL)) {
		c->sent += (double)count;
		c->sent_bytes += (double)bytes;
	}
}

/* Sub-windows, joined where they are shorter than the counts can tell apart. */
static size_t counts_fill(const struct hg_model *m, struct hg_proxy_count *counts, uint64_t *ends)
{
	const struct hg_message_series *series;
	size_t series_n = hg_model_messages(m, &series), n = 0;
	unsigned int subs = hg_model_subwindows(m);
	uint64_t from_ns = hg_model_sub_ns(m, 0);

	for (unsigned int i = 1; i <= subs; i++) {
		uint64_t to_ns = hg_model_sub_ns(m, i);

		if ((double)(to_ns - from_ns) < INTERVAL_MIN_S * 1e9 && i < subs)
			continue;
		counts[n] = (struct hg_proxy_count){0};
		for (size_t j = 0; j < series_n; j++) {
			if (series_wanted(series, series_n, &series[j]))
				count_add(&series[j], from_ns, to_ns, &counts[n]);
		}
		ends[n++] = to_ns;
		from_ns = to_ns;
	}
	return n;
}

static int series_fill(const struct hg_proxy_count *counts, const uint64_t *ends, size_t n,
		       struct hg_client_result *out)
{
	out->series = calloc(n, sizeof(*out->series));
	if (!out->series)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (counts[i].length_s <= 0)
			continue;
		out->series[out->series_count++] = (struct hg_client_point){
			.time_ns = ends[i], .value = work_of(&counts[i]) / counts[i].length_s};
	}
	return 0;
}

int hg_proxy_make(const struct hg_model *m, struct hg_client_result *out)
{
	const struct hg_message_series *series;
	unsigned int subs = hg_model_subwindows(m);
	hg_autofree struct hg_proxy_count *counts = calloc(subs + 1, sizeof(*counts));
	hg_autofree uint64_t *ends = calloc(subs + 1, sizeof(*ends));
	struct hg_proxy proxy;
	double length_s;
	size_t n, used;

	if (!hg_model_messages(m, &series))
		return 0;
	if (!counts || !ends)
		return -ENOMEM;
	n = counts_fill(m, counts, ends);
	hg_proxy_judge(counts, n, &proxy);
	length_s = counts_sum(counts, n).length_s;
	if (!proxy.usable || length_s <= 0) {
		used = strlen(out->source);
		snprintf(out->source + used, sizeof(out->source) - used, "%sno proxy either: %s",
			 used ? "; " : "", proxy.why);
		return 0;
	}
	hg_client_result_clear(out);
	*out = (struct hg_client_result){.valid = true,
					 .proxy = true,
					 .value = proxy.work / length_s,
					 .completed = proxy.work,
					 .duration_s = length_s,
					 .unit = "messages/s"};
	snprintf(out->source, sizeof(out->source), "proxy: %s", proxy.why);
	return series_fill(counts, ends, n, out);
}
