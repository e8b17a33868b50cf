/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade compare -- A -- B: see doc/cyclade-compare.1.md.
 */
#include <signal.h>
#include <string.h>
#include <sys/random.h>

#include "cli/asking.h"
#include "cli/counting/compare_functions.h"
#include "cli/counting/no_pmu.h"
#include "cli/counting_out.h"
#include "measure/counting.h"
#include "report/compare.h"

#define PAIRS	   PAIRED_GOOD
#define PAIRS_MOST (PAIRED_MOST / COMPARE_SERIES)
#define SEEDS	   1000000u /* short enough to type */

struct comparing {
	struct cli *cli;
	struct measure_opts side[COMPARE_SIDES];
	struct compare c;
	struct compare_opts opts;
	struct compare_found found;
	struct compare_report report;
	struct counting_out out;
	struct compare_limit *limit;
	struct functions functions;
	char no_pmu[256]; /* a tree was asked for, and why there can be none */
};

static int compare_usage(struct err *err, const char *what)
{
	(void)err_set(err, ERR_USAGE, "%s", what);
	return err_hint(err, "cyclade compare -- ./old args -- ./new args");
}

static int find_programs(struct comparing *x, struct err *err)
{
	const struct text_list *l = &x->cli->args;
	size_t at = 0, found = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], "--") && !found++)
			at = i;
	if (found > 1)
		return compare_usage(err, "there are more than two programs; one with -- among its "
					  "arguments goes into a script");
	if (!found || !at || at + 1 == l->n)
		return compare_usage(err, "compare needs two programs, with -- between them");
	x->report.command[0] = (struct text_list){ .v = l->v, .n = at };
	x->report.command[1] = (struct text_list){ .v = l->v + at + 1, .n = l->n - at - 1 };
	return 0;
}

static bool wants_tree(const struct options *o)
{
	return OPTION_GIVEN(o, level) || o->measure.node.n || o->measure.metric.n;
}

static int check_compare_options(const struct options *o, struct err *err)
{
	if (OPTION_GIVEN(o, measure.repeat) &&
	    (!o->measure.repeat || o->measure.repeat > PAIRS_MOST)) {
		(void)err_set(err, ERR_USAGE, "-r goes from 1 to %u pairs", PAIRS_MOST);
		return err_hint(err, "20 is the default");
	}
	if (o->measure.event.n && wants_tree(o)) {
		(void)err_set(err, ERR_USAGE, "-e counts events, -l, --node and -M make a tree");
		return err_hint(err, "leave out one or the other");
	}
	if (OPTION_GIVEN(o, functions) && (!o->functions || wants_tree(o))) {
		(void)err_set(err, ERR_USAGE,
			      o->functions ? "--functions samples, -l, --node and -M make a tree"
					   : "--functions 0 would compare none");
		return err_hint(err, "cyclade compare --functions 10 -- ./old -- ./new");
	}
	if (OPTION_GIVEN(o, effect) && !(o->effect > 0))
		return err_set(err, ERR_USAGE, "--effect takes a change above 0");
	return 0;
}

static int parse_limits(struct comparing *x, struct err *err)
{
	const struct text_list *l = &x->cli->opt.fail_if;
	struct arena *a = &x->cli->arena;
	const char **name = arena_alloc(a, (l->n + 1) * sizeof(*name));

	x->limit = arena_alloc(a, (l->n + 1) * sizeof(*x->limit));
	if (!name || !x->limit)
		return err_nomem(err);
	for (size_t i = 0; i < l->n; i++) {
		if (limit_parse(&x->limit[i].limit, a, l->v[i], err))
			return err_prefix(err, "--fail-if");
		name[i] = x->limit[i].limit.name;
	}
	x->opts.decide = name;
	x->opts.n_decide = l->n;
	return 0;
}

/* Events that can be counted here. */
static void choose_compare_events(struct comparing *x, struct text_list *out)
{
	static const char *counters[] = {
		"cycles,instructions,branches,branch-misses,cache-misses,page-faults,"
		"context-switches",
		NULL
	};
	static const char *software[] = { "task-clock,page-faults,context-switches,cpu-migrations",
					  NULL };
	char why[256];

	no_pmu_find(x->cli, why);
	*out = (struct text_list){ .v = *why ? software : counters, .n = 1 };
}

static int fill_sides(struct comparing *x, struct err *err)
{
	struct cli *cli = x->cli;
	const struct options *o = &cli->opt;

	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		struct measure_opts *s = &x->side[i];

		cli->args = x->report.command[i];
		if (cli_measure_opts(cli, s, err))
			return -1;
		s->warmup = OPTION_GIVEN(o, measure.warmup) ? o->measure.warmup : 1;
		s->silent = WORKLOAD_NO_INPUT | (o->show_output ? 0u : WORKLOAD_NO_OUTPUT);
		if (!s->event.n && !x->opts.tree && !o->functions)
			choose_compare_events(x, &s->event);
		x->opts.side[i] = s;
	}
	/* nothing else prints: the result goes to standard output */
	if (!o->show_output)
		cli->args = (struct text_list){ 0 };
	return 0;
}

static uint64_t any_seed(void)
{
	uint64_t seed = 1;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = counting_clock();
	return seed % SEEDS;
}

static int prepare_comparison(struct comparing *x, struct err *err)
{
	const struct options *o = &x->cli->opt;

	x->opts.tree = wants_tree(o);
	if (find_programs(x, err) || check_compare_options(o, err) || parse_limits(x, err) ||
	    fill_sides(x, err) || counting_out_open(&x->out, x->cli, &compare_document, err))
		return -1;
	if (x->opts.tree) {
		no_pmu_find(x->cli, x->no_pmu);
		if (*x->no_pmu)
			return err_set(err, ERR_UNSUPPORTED, "no cycle counter");
	}
	if (o->functions) {
		if (functions_open(&x->functions, x->cli, o->functions, err))
			return -1;
		functions_ask(&x->functions, &x->opts);
	}
	x->opts.anyway = o->anyway;
	x->opts.may_fail = o->ignore_failure;
	compare_begin(&x->c, &x->cli->arena,
		      o->measure.repeat ? (uint32_t)o->measure.repeat : PAIRS,
		      OPTION_GIVEN(o, seed) ? o->seed : any_seed());
	if (OPTION_GIVEN(o, effect))
		x->c.aim = o->effect / 100;
	x->c.news = cli_progress;
	x->c.news_ctx = x->cli;
	return 0;
}

/* Whether a limit is broken. */
static bool judge_comparison(struct comparing *x)
{
	bool broken = false;

	for (size_t i = 0; i < x->opts.n_decide; i++) {
		struct compare_limit *l = &x->limit[i];

		for (size_t m = 0; m < x->c.n_metrics; m++)
			if (compare_named(&x->c.metric[m], l->limit.name)) {
				l->metric = &x->c.metric[m];
				l->broken = compare_breaks(&l->limit, l->metric);
			}
		broken |= l->broken;
	}
	return broken;
}

static int put_comparison(struct comparing *x, struct err *err)
{
	struct document d;
	bool gone;
	int rc;

	x->report.c = &x->c;
	x->report.found = &x->found;
	x->report.limit = x->limit;
	x->report.n_limits = x->opts.n_decide;
	x->report.warmup = x->side[0].warmup;
	x->report.sampled = x->opts.record != NULL;
	document_open(&d, &compare_document, &x->report);
	compare_put(&d, &x->report);
	rc = counting_out_document(&x->out, &d, -1, true, &gone, err);
	document_close(&d);
	return rc ? -1 : counting_out_commit(&x->out, err);
}

int cmd_compare(struct cli *cli)
{
	struct comparing x = { .cli = cli, .out = COUNTING_OUT_INIT };
	struct err err = ERR_INIT;
	int code = EXIT_TOOL, rc;

	if (cli->opt.json_schema)
		return cli_schema(cli, &compare_document);
	rc = prepare_comparison(&x, &err);
	if (!rc && x.c.pairs > 1 && x.c.pairs < PAIRED_LEAST)
		cli_note(cli,
			 "%u pairs give no verdict, whatever they show; 7 can, 20 is the default "
			 "(-r)",
			 x.c.pairs);
	if (!rc && !compare_programs(&x.c, &x.opts, &x.found, &err)) {
		cli_progress_end(cli);
		code = judge_comparison(&x) ? EXIT_NO : EXIT_OK;
		if (x.found.interrupted)
			code = 128 + SIGINT;
		if (put_comparison(&x, &err))
			code = cli_fail_as(&err, EXIT_TOOL);
	} else {
		cli_progress_end(cli);
		if (err.code == ERR_EXEC)
			code = cli_measuring_code(cli, &err);
		else if (x.found.interrupted)
			code = 128 + SIGINT;
		if (*x.no_pmu)
			(void)no_pmu_end(cli, x.no_pmu, "cyclade compare -- ./old -- ./new");
		else
			code = cli_fail_as(&err, code);
	}
	counting_out_close(&x.out);
	functions_close(&x.functions);
	compare_free(&x.c);
	return code;
}
