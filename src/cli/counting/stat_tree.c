/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat without -e: the top-down tree of this CPU. Counting is measure/drill.h's, the report
 * report/drill_report.h's.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/counting/no_pmu.h"
#include "cli/counting_out.h"
#include "cli/stat.h"
#include "measure/drill.h"
#include "measure/drill_latency.h"
#include "report/drill_report.h"
#include "report/tree_repeats.h"

struct stat_tree {
	struct cli *cli;
	struct measure_opts opts;
	struct counting k;
	struct drill d;
	struct counting_out out;
	struct arena a; /* of one printing */
	struct tree_repeats repeats;
	uint64_t interval_from; /* ns since the run began */
	bool cut_short;
	char no_pmu[256];
};

/* ---- printing --------------------------------------------------------------------------- */

static struct drill_report drill_report_of(struct stat_tree *s)
{
	return (struct drill_report){ .d = &s->d,
				      .k = &s->k,
				      .a = &s->a,
				      .verbose = s->cli->opt.verbose,
				      .why = s->cli->opt.why };
}

/* `fd`: of standard error, for a tree so far; -1: where results go. */
static int print_tree(struct stat_tree *s, struct tree_report *r, int fd, struct err *err)
{
	const struct options *o = &s->cli->opt;
	struct document d;
	int rc;

	r->verbose = o->verbose;
	/* on a terminal alone: files and pipes have no width; a kind of cores may be idle */
	r->rows = counting_out_style(&s->out)->width && !o->verbose && !o->output &&
		  s->d.n_cores == 1;
	document_open(&d, &tree_document, r);
	tree_report_put(&d, r);
	rc = stat_document(&s->k, &s->out, &d, fd, isnan(r->head.time), err);
	document_close(&d);
	return rc;
}

static int print_tree_interval(struct stat_tree *s, struct err *err)
{
	uint64_t now = s->k.now - s->k.start;
	struct tree_report r = { .head = stat_head(&s->k, &s->a) };
	struct drill_report part = drill_report_of(s);
	int rc = -1;

	r.head.time = counting_seconds(&s->k);
	r.head.seconds = (double)(now - s->interval_from) / 1e9;
	if (!drill_results(&s->d, &s->k, &s->a, s->interval_from, now, err) &&
	    !drill_report_interval(&part, &r, err)) {
		rc = print_tree(s, &r, -1, err);
		s->interval_from = now;
		drill_latency_mark(&s->d, now);
	}
	arena_reset(&s->a);
	return rc;
}

static int print_tree_so_far(struct stat_tree *s, struct err *err)
{
	struct tree_report r = { .head = stat_head(&s->k, &s->a) };
	struct drill_report part = drill_report_of(s);
	int rc = -1;

	if (!drill_read(&s->d, &s->k, err) &&
	    !drill_results(&s->d, &s->k, &s->a, 0, UINT64_MAX, err) &&
	    !drill_report_make(&part, &r, err))
		rc = print_tree(s, &r, STDERR_FILENO, err);
	arena_reset(&s->a);
	return rc;
}

/* All runs are over: the tree, of several the mean; with -I the notes alone. */
static int print_end(struct stat_tree *s, struct err *err)
{
	struct drill_report part = drill_report_of(s);
	struct tree_report r = { .head = stat_head(&s->k, &s->a) };

	r.head.status = s->k.has_program ? s->k.result.status : -1;
	r.head.killed_by = s->k.result.killed_by;
	if (s->cli->opt.measure.interval) {
		drill_latency_of_all_runs(&s->d);
		if (drill_report_notes(&part, &r, err))
			return -1;
		r.head.end = true;
		return print_tree(s, &r, -1, err);
	}
	if (s->repeats.seconds.n > 1 || s->cut_short) {
		if (tree_repeats_mean(&s->repeats, &s->d, &s->a, err))
			return -1;
		drill_latency_of_all_runs(&s->d);
	}
	tree_repeats_put(&s->repeats, s->cut_short, &r.head);
	if (!s->k.has_program)
		r.head.user_s = r.head.sys_s = NAN;
	r.head.nodes = true;
	return drill_report_make(&part, &r, err) ? -1 : print_tree(s, &r, -1, err);
}

/* ---- runs ------------------------------------------------------------------------------- */

/* One of `runs`; *last: there is no further one. */
static int count_tree_run(struct stat_tree *s, uint64_t runs, bool *last, struct err *err)
{
	struct counting *k = &s->k;
	enum counting_event what = COUNTING_SO_FAR;
	int rc = drill_start(&s->d, k, err);

	s->interval_from = 0;
	while (!rc && what != COUNTING_OVER) {
		rc = drill_next(&s->d, k, &what, err);
		if (!rc && what == COUNTING_INTERVAL)
			rc = print_tree_interval(s, err);
		else if (!rc && what == COUNTING_SO_FAR)
			rc = print_tree_so_far(s, err);
	}
	if (!rc) {
		/* of several runs, one that was cut short is left out */
		s->cut_short = k->result.interrupted && s->repeats.seconds.n;
		rc = drill_results(&s->d, k, &s->a, 0, UINT64_MAX, err);
	}
	/* the texts live as long as the drill, which is that of all runs */
	if (!rc && !s->cut_short)
		rc = tree_repeats_add(&s->repeats, &k->result, &s->d, runs > 1, NULL, err);
	*last = k->result.interrupted || s->repeats.seconds.n == runs;
	if (!rc && *last)
		rc = print_end(s, err);
	arena_free(&s->a);
	return counting_finish(k, rc, err);
}

/* ---- the whole of it -------------------------------------------------------------------- */

static int describe_tree(struct stat_tree *s, struct err *err)
{
	struct buf b = BUF_INIT;
	int rc;

	for (size_t c = 0; c < s->d.n_cores; c++)
		plan_print(&b, &s->d.core[c].plan, s->d.core[c].m, &s->d.core[c].limits);
	drill_latency_describe(&b, &s->d);
	counting_describe(&b, &s->k, &s->d.setup);
	rc = stat_put(&s->k, &s->out, &b, -1, err);
	buf_free(&b);
	return rc ? -1 : counting_out_commit(&s->out, err);
}

static int check_tree_options(const struct stat_tree *s, struct err *err)
{
	const struct options *o = &s->cli->opt;
	bool several = s->d.mode == DRILL_RERUN || s->d.mode == DRILL_EACH;
	const char *what = s->d.mode == DRILL_EACH ? "--no-mux" : "--drilldown=rerun";

	if (several && (!s->cli->args.n || o->measure.interval || o->measure.repeat > 1)) {
		(void)err_set(err, ERR_USAGE, "%s runs a program several times%s", what,
			      o->measure.interval     ? ": not with -I"
			      : o->measure.repeat > 1 ? ": not with -r"
						      : "");
		return err_hint(err, "cyclade stat %s -- ./prog", what);
	}
	return 0;
}

static int count_tree(struct stat_tree *s, struct err *err)
{
	bool last = false;

	if (cli_measure_opts(s->cli, &s->opts, err) ||
	    counting_open(&s->k, &s->opts, "count", DRILL_MACHINE, err))
		return -1;
	no_pmu_find(s->cli, s->no_pmu);
	if (s->no_pmu[0])
		return err_set(err, ERR_UNSUPPORTED, "no cycle counter");
	if (drill_open(&s->d, &s->k, NULL, 0, err) || check_tree_options(s, err) ||
	    counting_out_open(&s->out, s->cli, &tree_document, err))
		return -1;
	if (s->cli->opt.measure.dry_run)
		return describe_tree(s, err);
	if (counting_warmup(&s->k, err))
		return -1;
	while (!last)
		if (count_tree_run(s, stat_runs(s->cli), &last, err))
			return -1;
	return counting_out_commit(&s->out, err);
}

int stat_tree(struct cli *cli)
{
	struct stat_tree s = { .cli = cli, .out = COUNTING_OUT_INIT, .a = ARENA_INIT };
	struct err err = ERR_INIT;
	int rc = count_tree(&s, &err), code = stat_end(cli, &s.k, rc, s.no_pmu, &err);

	counting_out_close(&s.out);
	tree_repeats_free(&s.repeats);
	drill_free(&s.d);
	counting_close(&s.k);
	arena_free(&s.a);
	return code;
}
