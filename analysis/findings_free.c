/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/hg_findings.h"

void hg_findings_free(struct hg_findings *f)
{
	if (!f)
		return;
	hg_client_result_clear(&f->client);
	json_decref(f->environment);
	if (f->model)
		hg_model_free(f->model);
	hg_arena_free(f->arena);
	free(f);
}
