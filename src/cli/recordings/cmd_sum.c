/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade sum FILE... - see doc/cyclade-sum.1.md.
 */
#include "base/xalloc.h"
#include "cli/recordings/diff_runs.h"
#include "report/sum.h"

static int add_up(struct sum **out, struct diff_runs *r, struct err *err)
{
	const struct text_list *files = &r->cli->args;
	struct diff_run *run;
	diff_run_list list = VEC_INIT;
	size_t n;
	int rc = 0;

	if (!files->n) {
		(void)err_set(err, ERR_USAGE, "sum adds up recordings: name them");
		return err_hint(err, "cyclade sum first.data second.data");
	}
	for (size_t i = 0; !rc && i < files->n; i++)
		rc = diff_runs_open(r, &list, files->v[i], err);
	n = list.n;
	run = arena_xmemdup(&r->cli->arena, list.v, n * sizeof(*run));
	vec_free(&list);
	return rc ? -1 : sum_build(out, run, n, err);
}

int cmd_sum(struct cli *cli)
{
	struct diff_runs runs;
	struct sum *sum = NULL;
	struct document d;
	struct show show;
	struct err err = ERR_INIT;
	int code;

	document_open(&d, &sum_document, NULL);
	code = diff_runs_begin(&runs, cli, &err) || cli_show(cli, &show, &sum_document, &err) ||
	       add_up(&sum, &runs, &err);
	cli_progress_end(cli);
	if (code) {
		code = cli_fail(&err);
	} else {
		sum_put(&d, sum, (size_t)cli->opt.limit);
		code = cli_document(cli, &d, &show);
	}
	document_close(&d);
	sum_free(sum);
	diff_runs_close(&runs);
	return code;
}
