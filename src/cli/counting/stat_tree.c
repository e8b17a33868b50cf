/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat without -e: the top-down tree of this CPU.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/counting/drill_report.h"
#include "cli/counting/no_pmu.h"
#include "cli/counting/stat_tree.h"
#include "cli/counting_out.h"
#include "cli/stat.h"
#include "measure/drill.h"
#include "measure/drill_latency.h"

/* ---- before the program starts ---------------------------------------------------------- */

static int opened(void *ctx, struct counting *k, struct err *err)
{
	struct stat_tree *s = ctx;

	s->interval_from = 0;
	return drill_begin(&s->d, k, err);
}

/* ---- printing --------------------------------------------------------------------------- */

static int make_report(struct stat_tree *s, struct tree_report *r, struct err *err)
{
	struct drill_report said = { &s->cli->opt, &s->d, &s->k, &s->a, s->passes };

	return drill_report_make(&said, r, err);
}

static int print(struct stat_tree *s, struct tree_report *r, int fd, struct err *err)
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

static int read_counters(void *ctx, struct counting *k, struct err *err)
{
	struct stat_tree *s = ctx;

	return drill_on_tick(&s->d, k, err);
}

static uint64_t tick(void *ctx)
{
	struct stat_tree *s = ctx;

	return drill_tick(&s->d);
}

static int switched(void *ctx, struct counting *k, bool on, struct err *err)
{
	struct stat_tree *s = ctx;

	(void)k;
	return drill_latency_switched(&s->d, on, err);
}

static int interval(void *ctx, struct counting *k, struct err *err)
{
	struct stat_tree *s = ctx;
	uint64_t now = k->now - k->start;
	struct tree_report r = { .head = stat_head(k, &s->a) };
	struct drill_report said = { &s->cli->opt, &s->d, &s->k, &s->a, s->passes };
	int rc = -1;

	r.head.time = counting_seconds(k);
	r.head.seconds = (double)(now - s->interval_from) / 1e9;
	if (drill_results(&s->d, k, &s->a, s->interval_from, now, err) ||
	    drill_report_interval(&said, &r, err))
		goto out;
	rc = print(s, &r, -1, err);
	s->interval_from = now;
	drill_latency_mark(&s->d, now);
out:
	arena_reset(&s->a);
	return rc;
}

static int so_far(void *ctx, struct counting *k, struct err *err)
{
	struct stat_tree *s = ctx;
	struct tree_report r = { .head = stat_head(k, &s->a) };
	int rc = -1;

	if (!drill_read(&s->d, k, err) && !drill_results(&s->d, k, &s->a, 0, UINT64_MAX, err) &&
	    !make_report(s, &r, err))
		rc = print(s, &r, STDERR_FILENO, err);
	arena_reset(&s->a);
	return rc;
}

/* ---- runs ------------------------------------------------------------------------------- */

static int add_run(struct stat_tree *s, const struct counting *k, struct err *err)
{
	/* the texts live as long as the drill, which is that of all runs */
	return tree_repeats_add(&s->repeats, &k->result, &s->d, stat_runs(s->cli) > 1, NULL, err);
}

static int finish(struct stat_tree *s, struct counting *k, struct err *err)
{
	struct drill_report said = { &s->cli->opt, &s->d, k, &s->a, s->passes };
	struct tree_report r = { .head = stat_head(k, &s->a) };

	r.head.status = k->has_program ? k->result.status : -1;
	r.head.killed_by = k->result.killed_by;
	if (s->cli->opt.measure.interval) {
		drill_latency_of_all_runs(&s->d);
		if (drill_report_notes(&said, &r, err))
			return -1;
		r.head.end = true;
		return print(s, &r, -1, err);
	}
	if (s->repeats.seconds.n > 1 || s->cut_short) {
		if (tree_repeats_mean(&s->repeats, &s->d, &s->a, err))
			return -1;
		drill_latency_of_all_runs(&s->d);
	}
	tree_repeats_put(&s->repeats, s->cut_short, &r.head);
	if (!k->has_program)
		r.head.user_s = r.head.sys_s = NAN;
	r.head.nodes = true;
	if (make_report(s, &r, err))
		return -1;
	return print(s, &r, -1, err);
}

static int ended(void *ctx, struct counting *k, struct err *err)
{
	struct stat_tree *s = ctx;
	bool several = s->d.mode == DRILL_RERUN || s->d.mode == DRILL_EACH;
	int rc = -1;

	s->again = false;
	if (several && !k->result.interrupted && drill_again(&s->d, k, &s->again, err))
		goto out;
	if (s->again) {
		s->passes++;
		rc = 0;
		goto out;
	}
	/* of several runs, one that was cut short is left out */
	s->cut_short = k->result.interrupted && s->repeats.seconds.n;
	if (drill_results(&s->d, k, &s->a, 0, UINT64_MAX, err) ||
	    (!s->cut_short && add_run(s, k, err)))
		goto out;
	s->run++;
	s->again = s->run < stat_runs(s->cli) && !k->result.interrupted;
	rc = s->again ? 0 : finish(s, k, err);
out:
	arena_free(&s->a);
	return rc;
}

/* ---- the whole of it -------------------------------------------------------------------- */

static int describe(struct stat_tree *s, struct err *err)
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

static int check(const struct stat_tree *s, struct err *err)
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

static int count(struct stat_tree *s, struct err *err)
{
	const struct counting_hooks hooks = { .opened = opened,
					      .read = read_counters,
					      .tick = tick,
					      .interval = interval,
					      .switched = switched,
					      .so_far = so_far,
					      .ended = ended,
					      .ctx = s };

	if (cli_measure_opts(s->cli, &s->opts, err) ||
	    counting_open(&s->k, &s->opts, "count", DRILL_MACHINE, err))
		return -1;
	no_pmu_find(s->cli, s->no_pmu);
	if (s->no_pmu[0])
		return err_set(err, ERR_UNSUPPORTED, "no cycle counter");
	if (drill_open(&s->d, &s->k, NULL, 0, err) || check(s, err) ||
	    counting_out_open(&s->out, s->cli, &tree_document, err))
		return -1;
	if (s->cli->opt.measure.dry_run)
		return describe(s, err);
	if (counting_warmup(&s->k, err))
		return -1;
	do {
		drill_prepare(&s->d);
		if (counting_run(&s->k, &s->d.setup, &hooks, err))
			return -1;
	} while (s->again);
	return counting_out_commit(&s->out, err);
}

int stat_tree(struct cli *cli)
{
	struct stat_tree s = { .cli = cli, .out = COUNTING_OUT_INIT, .a = ARENA_INIT };
	struct err err = ERR_INIT;
	int rc = count(&s, &err), code = stat_end(cli, &s.k, rc, s.no_pmu, &err);

	counting_out_close(&s.out);
	tree_repeats_free(&s.repeats);
	drill_free(&s.d);
	counting_close(&s.k);
	arena_free(&s.a);
	return code;
}
