/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/diff_runs.h"

void diff_runs_begin(struct diff_runs *r, struct cli *cli)
{
	*r = (struct diff_runs){ .cli = cli };
	cli->opt.sort = "event,dso,function"; /* what the functions' rows are joined by */
}

int diff_runs_open(struct diff_runs *r, struct diff_run *run, const char *path, struct err *err)
{
	const struct document **doc = arena_alloc(&r->cli->arena, sizeof(*doc));
	struct results *all;
	struct document *d;

	if (!doc)
		return err_nomem(err);
	if (results_open(&all, r->cli, path, err))
		return -1;
	if (vec_push(&r->results, all)) {
		results_close(all);
		return err_nomem(err);
	}
	if (results_get(&d, all, RESULT_FUNCTIONS, NULL, err))
		return -1;
	doc[0] = d;
	*run = (struct diff_run){ path, doc, 1, results_recording(all)->images };
	return 0;
}

void diff_runs_close(struct diff_runs *r)
{
	vec_each (&r->results, struct results **, all)
		results_close(*all);
	vec_free(&r->results);
}
