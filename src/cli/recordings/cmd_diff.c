/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade diff BASE NEW... - see doc/cyclade-diff.1.md.
 */
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/xalloc.h"
#include "cli/recordings/diff_html.h"

struct comparing {
	struct cli *cli;
	VEC(struct diff_side) side;
	struct diff_runs runs;
	struct diff *diff;
	struct show show;
	struct limit *gate;
};

/* The recordings that an operand names: one, those of `run -r`, or several between commas. */
static int open_side(struct comparing *c, const char *operand, struct err *err)
{
	struct arena *a = &c->cli->arena;
	diff_run_list list = VEC_INIT;
	struct diff_side s = { .name = operand };
	bool several = !file_look(operand, NULL) && strchr(operand, ',');
	int rc = 0;

	for (const char *p = operand; !rc; p++) {
		size_t len = several ? strcspn(p, ",") : strlen(p);
		char *path = arena_xstrndup(a, p, len);

		if (!len && several)
			rc = err_set(err, ERR_USAGE, "'%.120s': a file is missing between commas",
				     operand);
		else
			rc = diff_runs_open(&c->runs, &list, path, err);
		p += len;
		if (!*p)
			break;
	}
	s.n = list.n;
	if (!rc) {
		s.run = arena_xmemdup(a, list.v, list.n * sizeof(*list.v));
		vec_xpush(&c->side, s);
	}
	vec_free(&list);
	return rc;
}

static int compare_sides(struct comparing *c, struct err *err)
{
	const struct options *o = &c->cli->opt;
	const struct diff_opts opts = { .per = o->normalize,
					.limit = (size_t)o->limit,
					.gate = c->gate,
					.n_gates = o->fail_if.n,
					.partial_ok = o->allow_partial };

	for (size_t i = 0; i < c->cli->args.n; i++)
		if (open_side(c, c->cli->args.v[i], err))
			return -1;
	return diff_build(&c->diff, c->side.v, c->side.n, &opts, err);
}

/* Limits that cannot be read are refused before anything is opened. */
static int check_sides(struct comparing *c, struct err *err)
{
	const struct options *o = &c->cli->opt;

	if (cli_show(c->cli, &c->show, &diff_document, err))
		return -1;
	if (c->cli->args.n < 2) {
		(void)err_set(err, ERR_USAGE,
			      "diff compares recordings: a base, and one or more others");
		return err_hint(
			err,
			"cyclade diff base.data new.data; repeats of a run: A1,A2,A3 B1,B2,B3");
	}
	c->gate = arena_xalloc(&c->cli->arena, (o->fail_if.n + 1) * sizeof(*c->gate));
	for (size_t i = 0; i < o->fail_if.n; i++)
		if (limit_parse(&c->gate[i], &c->cli->arena, o->fail_if.v[i], err))
			return err_prefix(err, "--fail-if");
	return 0;
}

int cmd_diff(struct cli *cli)
{
	struct comparing c = { .cli = cli };
	struct document d;
	struct err err = ERR_INIT;
	int code;

	document_open(&d, &diff_document, NULL);
	if (diff_runs_begin(&c.runs, cli, &err) || check_sides(&c, &err) ||
	    compare_sides(&c, &err)) {
		cli_progress_end(cli);
		code = cli_fail(&err);
	} else {
		cli_progress_end(cli);
		diff_put(&d, c.diff);
		code = cli->opt.html ? diff_html(&c.runs, c.side.v, c.side.n, c.diff, &d)
				     : cli_document(cli, &d, &c.show);
		if (code == EXIT_OK && diff_exceeded(c.diff))
			code = EXIT_NO;
		if (code == EXIT_OK && cli->opt.fail_if.n && diff_partial(c.diff)) {
			(void)err_set(
				&err, ERR_FORMAT,
				"--fail-if is not decided: a recording does not go to its end");
			(void)err_hint(&err,
				       "record it again; --allow-partial compares what there is");
			code = cli_fail(&err);
		}
	}
	document_close(&d);
	diff_free(c.diff);
	diff_runs_close(&c.runs);
	vec_free(&c.side);
	return code;
}
