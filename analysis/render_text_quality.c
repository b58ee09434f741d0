/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far the figures can be trusted, and what the run stood on. */
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/render.h"

static const struct hg_table_column two_columns[] = {{NULL, HG_TABLE_LEFT, HG_TABLE_WHOLE},
						     {NULL, HG_TABLE_LEFT, HG_TABLE_WRAP}};

static void gate_rows(const struct hg_findings *f, struct hg_table *t)
{
	for (size_t i = 0; i < f->gates_count; i++) {
		hg_render_cell(t, f->gates[i].passed ? "ok" : "FAILED");
		hg_render_cell(t, "%s: %s", f->gates[i].name,
			       f->gates[i].text ? f->gates[i].text : "");
	}
}

static void loss_rows(const struct hg_findings *f, struct hg_table *t)
{
	const struct hg_losses *l = &f->losses;

	hg_render_cell(t, "events");
	hg_render_cell(t, "%llu recorded in the window, %llu lost",
		       (unsigned long long)f->session.events, (unsigned long long)l->total);
	for (unsigned int i = 0; i < HG_ARRAY_SIZE(l->by_probe); i++) {
		const char *name = f->model ? hg_model_probe_name(f->model, i) : NULL;

		if (!l->by_probe[i])
			continue;
		hg_render_cell(t, " lost");
		if (name)
			hg_render_cell(t, "%llu of %s", (unsigned long long)l->by_probe[i], name);
		else
			hg_render_cell(t, "%llu of probe %u", (unsigned long long)l->by_probe[i],
				       i);
	}
	if (l->damage || l->lost_ns) {
		hg_render_cell(t, "holes");
		hg_render_cell(
			t, "%.3f s of the window; %llu records lost with damaged parts of the file",
			(double)l->lost_ns / 1e9, (unsigned long long)l->damage);
	}
	if (*f->health) {
		hg_render_cell(t, "file");
		hg_render_cell(t, "%s", f->health);
	}
}

static void cost_rows(const struct hg_findings *f, struct hg_table *t)
{
	double effect = hg_probe_effect(f), own = hg_own_cpus(f);

	hg_render_cell(t, "own cost");
	if (!isfinite(own))
		hg_render_cell(t, "unknown");
	else if (f->session.bpf_cpus >= 0 && isfinite(effect))
		hg_render_cell(
			t,
			"probes %.3f CPUs (%.1f %% of the busy time), hourglass itself %.3f CPUs",
			f->session.bpf_cpus, 100 * effect, own);
	else
		hg_render_cell(t, "probes unknown, hourglass itself %.3f CPUs", own);
}

static void client_row(const struct hg_findings *f, struct hg_table *t)
{
	int status = f->session.client_status;

	if (!f->session.client || !f->session.client_ended || !status)
		return;
	hg_render_cell(t, "client");
	if (WIFSIGNALED(status))
		hg_render_cell(t, "CMD was ended by signal %d: its throughput may be wrong",
			       WTERMSIG(status));
	else
		hg_render_cell(t, "CMD failed with code %d: its throughput may be wrong",
			       WEXITSTATUS(status));
}

static void missing_rows(const struct hg_findings *f, struct hg_table *t)
{
	const char *missing[64][2];
	size_t n =
		f->model ? hg_model_probes_missing(f->model, missing, HG_ARRAY_SIZE(missing)) : 0;

	for (size_t i = 0; i < HG_MIN(n, HG_ARRAY_SIZE(missing)); i++) {
		hg_render_cell(t, "no probe");
		hg_render_cell(t, "%s: %s", missing[i][0] ? missing[i][0] : "",
			       missing[i][1] ? missing[i][1] : "");
	}
}

static void setup_notes(const struct hg_findings *f, FILE *out, bool bold)
{
	hg_table_auto struct hg_table *t = hg_table_new(two_columns, 2, HG_RENDER_WIDTH, 2);

	if (!f->setup_count)
		return;
	for (size_t i = 0; i < f->setup_count; i++) {
		hg_render_cell(t, "%s", f->setup[i].severity ? f->setup[i].severity : "info");
		hg_render_cell(t, "%s", f->setup[i].text ? f->setup[i].text : "");
	}
	hg_render_heading(out, bold, "WHAT IN THE SETUP MAKES THE NUMBER DOUBTFUL");
	hg_table_print(t, out);
}

void hg_render_quality(const struct hg_findings *f, FILE *out, bool bold)
{
	hg_table_auto struct hg_table *t = hg_table_new(two_columns, 2, HG_RENDER_WIDTH, 2);

	setup_notes(f, out, bold);
	hg_render_heading(out, bold, "QUALITY OF THIS RECORDING");
	gate_rows(f, t);
	loss_rows(f, t);
	cost_rows(f, t);
	client_row(f, t);
	missing_rows(f, t);
	hg_table_print(t, out);
}

/* A value by its path of keys, as text; false if it is not there. The environment comes from the file: any shape. */
static bool env_text(const json_t *env, const char *const *path, char *dst, size_t size)
{
	for (; env && *path; path++)
		env = json_object_get(env, *path);
	if (json_is_string(env))
		snprintf(dst, size, "%.200s", json_string_value(env));
	else if (json_is_integer(env))
		snprintf(dst, size, "%lld", (long long)json_integer_value(env));
	else if (json_is_boolean(env))
		snprintf(dst, size, "%s", json_is_true(env) ? "yes" : "no");
	else
		return false;
	return true;
}

static void env_row(const json_t *env, struct hg_table *t, const char *title,
		    const char *const *path)
{
	char text[256];

	if (!env_text(env, path, text, sizeof(text)))
		return;
	hg_render_cell(t, "%s", title);
	hg_render_cell(t, "%s", text);
}

/* Of the list in the file only what leaves a CPU open or was switched on: "Mitigation: ..." are the long ones. */
static void mitigations_row(const json_t *env, struct hg_table *t)
{
	json_t *list = json_object_get(json_object_get(env, "host"), "mitigations"), *value;
	unsigned int mitigated = 0, vulnerable = 0, unaffected = 0;
	const char *key;

	json_object_foreach (list, key, value) {
		const char *text = json_string_value(value);

		if (!text)
			continue;
		mitigated += strstr(text, "Mitigation") == text;
		vulnerable += strstr(text, "Vulnerable") == text;
		unaffected += strstr(text, "Not affected") == text;
	}
	if (!mitigated && !vulnerable && !unaffected)
		return;
	hg_render_cell(t, "mitigations");
	hg_render_cell(t, "%u in force, %u CPU flaws left open, %u do not concern this CPU",
		       mitigated, vulnerable, unaffected);
}

static void words_row(const json_t *env, struct hg_table *t, const char *title, const char *object)
{
	json_t *list = json_object_get(json_object_get(env, object), "arguments"), *value;
	char text[1024];
	size_t i, used = 0;

	if (!json_array_size(list))
		return;
	json_array_foreach (list, i, value) {
		const char *word = json_string_value(value);

		if (!word || used >= sizeof(text) - 1)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 word);
	}
	if (!used)
		return;
	hg_render_cell(t, "%s", title);
	hg_render_cell(t, "%s", text);
}

void hg_render_environment(const struct hg_findings *f, FILE *out, bool bold)
{
	static const struct {
		const char *title;
		const char *path[4];
	} rows[] = {
		{"time", {"time"}},
		{"system", {"host", "distribution"}},
		{"kernel", {"host", "kernel", "release"}},
		{"CPU", {"host", "cpu", "model"}},
		{"CPUs online", {"host", "cpu", "online"}},
		{"SMT", {"host", "cpu", "smt"}},
		{"virtual machine", {"host", "virtualisation", "virtual"}},
		{"hypervisor", {"host", "virtualisation", "hypervisor"}},
		{"governor", {"host", "frequency", "governor"}},
		{"turbo", {"host", "frequency", "turbo"}},
		{"clock source", {"host", "clocksource", "current"}},
	};
	hg_table_auto struct hg_table *t = hg_table_new(two_columns, 2, HG_RENDER_WIDTH, 2);

	hg_render_heading(out, bold, "ENVIRONMENT");
	if (!f->environment) {
		hg_render_paragraph(out, 2, "not in the file");
		return;
	}
	for (size_t i = 0; i < HG_ARRAY_SIZE(rows); i++)
		env_row(f->environment, t, rows[i].title, rows[i].path);
	mitigations_row(f->environment, t);
	words_row(f->environment, t, "recorded by", "hourglass");
	words_row(f->environment, t, "client", "client");
	hg_table_print(t, out);
	hg_render_paragraph(out, 2, "All of it: hourglass report FILE --format json");
}
