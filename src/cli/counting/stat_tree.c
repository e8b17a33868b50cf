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
#include "measure/counting_repeat.h"
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

	return drill_read(&s->d, k, err);
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

static void add_rate(struct stat_tree_runs *r, const struct tree_rate *x)
{
	repeat_add(&r->value, x->value);
	repeat_add(&r->unseen, isnan(x->value) ? (double)NAN : x->unseen);
}

/* Each run for itself, if there are to be several: what was asked for of each tree. */
static int keep_run(struct stat_tree *s, const struct counting *k, struct err *err)
{
	if (stat_runs(s->cli) < 2)
		return 0;
	if (stat_repeats_run(&s->repeats, k, err))
		return -1;
	for (size_t i = 0; i < s->d.n_parts; i++) {
		const struct drill_part *p = &s->d.part[i];
		const struct plan *plan = &s->d.core[p->core].plan;

		for (size_t m = 0; m < p->tree.n; m++) {
			const struct tree_node *n = &p->tree.node[m];
			const struct model_metric *x = &p->tree.model->metric[m];
			bool known = n->value.why == VALUE_OK && n->doubt == DOUBT_NONE;
			struct count_repeat r = { .where = p->label,
						  .name = x->path,
						  .value = NAN };

			if (plan->wanted && !plan->wanted[m])
				continue;
			r.unit = x->level ? "" : x->unit;
			if (known)
				r.value = n->shown * (x->level ? 1 : x->scale);
			if (stat_repeats_add(&s->repeats, &r, err))
				return -1;
		}
	}
	return 0;
}

static int add_run(struct stat_tree *s, const struct counting *k, struct err *err)
{
	for (size_t i = 0; i < s->d.n_parts; i++) {
		const struct tree *t = &s->d.part[i].tree;

		if (!s->runs[i])
			s->runs[i] = calloc(t->n + 1, sizeof(**s->runs));
		if (!s->runs[i])
			return err_nomem(err);
		for (size_t m = 0; m < t->n; m++) {
			const struct tree_node *n = &t->node[m];
			bool known = n->value.why == VALUE_OK && n->doubt == DOUBT_NONE;

			repeat_add(&s->runs[i][m].value, known ? n->value.v : NAN);
			repeat_add(&s->runs[i][m].unseen, known ? n->unseen : NAN);
			s->runs[i][m].over += known && n->over;
		}
		add_rate(&s->rates[i].ipc, &s->d.part[i].rates.ipc);
		add_rate(&s->rates[i].frequency, &s->d.part[i].rates.frequency);
	}
	repeat_add(&s->seconds, k->result.wall_s);
	repeat_add(&s->user, k->result.user_s);
	repeat_add(&s->sys, k->result.sys_s);
	return keep_run(s, k, err);
}

/* What no run looked at does not become less with their number: in time that was not seen, and in
 * runs that did not open it, a node has between nothing and what its parent has. */
static double unseen_of(const struct stat_tree *s, const struct model *m, size_t part, size_t i)
{
	const struct stat_tree_runs *r = &s->runs[part][i];
	const uint32_t parent = m->metric[i].parent;
	double mean = repeat_mean(&r->value), seen = 1, most = 1;

	if (!m->metric[i].level || s->d.mode != DRILL_LIVE)
		return 0;
	if (parent != MODEL_NONE && s->runs[part][parent].value.n) {
		seen = (double)r->value.n / (double)s->runs[part][parent].value.n;
		most = repeat_mean(&s->runs[part][parent].value);
	}
	seen = fmin(seen, 1);
	return seen * repeat_mean(&r->unseen) + (1 - seen) * fmax(mean, most - mean);
}

/* Runs that have it are not a sample of all: each must. */
static void mean_of_rate(struct tree_rate *out, const struct stat_tree_runs *r, size_t runs)
{
	if (r->value.n < runs) {
		*out = (struct tree_rate){ .value = NAN, .error = NAN, .counted = NAN };
		out->why = r->value.n ? "not every run has it" : "no run has it";
		return;
	}
	out->value = repeat_mean(&r->value);
	out->unseen = repeat_mean(&r->unseen);
	out->error = repeat_error(&r->value) + out->unseen;
	out->no_error = r->value.n > 1 ? NULL : "one run alone has it";
}

/* The last tree with the means of all in its nodes. */
static int mean_of_runs(struct stat_tree *s, struct err *err)
{
	for (size_t i = 0; i < s->d.n_parts; i++) {
		struct tree *t = &s->d.part[i].tree;
		struct tree_node *node = arena_memdup(&s->a, t->node, t->n * sizeof(*node));

		if (!node)
			return err_nomem(err);
		for (size_t m = 0; m < t->n; m++) {
			const struct repeat *r = &s->runs[i][m].value;

			if (!r->n)
				continue;
			node[m].value = (struct value){ .v = repeat_mean(r), .why = VALUE_OK };
			node[m].doubt = DOUBT_NONE;
			node[m].over = 2 * s->runs[i][m].over > r->n; /* in most runs */
			node[m].shown = tree_shown(&t->model->metric[m], repeat_mean(r));
			node[m].unseen = unseen_of(s, t->model, i, m);
			node[m].error = hypot(repeat_error(r), node[m].unseen);
			node[m].open = NAN; /* of one run alone */
			node[m].no_error = r->n > 1 ? NULL : "one run alone has it";
		}
		mean_of_rate(&s->d.part[i].rates.ipc, &s->rates[i].ipc, s->seconds.n);
		mean_of_rate(&s->d.part[i].rates.frequency, &s->rates[i].frequency, s->seconds.n);
		tree_judge_means(t->model, node);
		t->node = node;
	}
	return 0;
}

static int finish(struct stat_tree *s, struct counting *k, struct err *err)
{
	struct drill_report said = { &s->cli->opt, &s->d, k, &s->a, s->passes };
	struct tree_report r = { .head = stat_head(k, &s->a) };

	r.head.status = k->has_program ? k->result.status : -1;
	r.head.killed_by = k->result.killed_by;
	if (s->cli->opt.interval) {
		drill_latency_of_all_runs(&s->d);
		if (drill_report_notes(&said, &r, err))
			return -1;
		r.head.end = true;
		return print(s, &r, -1, err);
	}
	if (s->seconds.n > 1 || s->cut_short) {
		if (mean_of_runs(s, err))
			return -1;
		drill_latency_of_all_runs(&s->d);
		r.head.runs = s->seconds.n;
		r.head.seconds = repeat_mean(&s->seconds);
		r.head.seconds_error = repeat_error(&s->seconds);
	}
	if (k->has_program) {
		r.head.user_s = repeat_mean(&s->user);
		r.head.sys_s = repeat_mean(&s->sys);
	}
	stat_repeats_put(&s->repeats, &r.head);
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
	if (!s->runs) {
		s->runs = calloc(s->d.n_parts + 1, sizeof(*s->runs));
		s->rates = calloc(s->d.n_parts + 1, sizeof(*s->rates));
		if (!s->runs || !s->rates)
			return err_nomem(err);
	}
	if (several && !k->result.interrupted && drill_again(&s->d, k, &s->again, err))
		goto out;
	if (s->again) {
		s->passes++;
		rc = 0;
		goto out;
	}
	/* of several runs, one that was cut short is left out */
	s->cut_short = k->result.interrupted && s->seconds.n;
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

	if (several && (!s->cli->args.n || o->interval || o->repeat > 1)) {
		(void)err_set(err, ERR_USAGE, "%s runs a program several times%s", what,
			      o->interval     ? ": not with -I"
			      : o->repeat > 1 ? ": not with -r"
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

	if (cli_ask(s->cli, &s->ask, err) ||
	    counting_open(&s->k, &s->ask, "count", DRILL_MACHINE, err))
		return -1;
	no_pmu_find(s->cli, s->no_pmu);
	if (s->no_pmu[0])
		return err_set(err, ERR_UNSUPPORTED, "no cycle counter");
	if (drill_open(&s->d, &s->k, NULL, 0, err) || check(s, err) ||
	    counting_out_open(&s->out, s->cli, &tree_document, err))
		return -1;
	if (s->cli->opt.dry_run)
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
	for (size_t i = 0; s.runs && i < s.d.n_parts; i++)
		free(s.runs[i]);
	free(s.runs);
	free(s.rates);
	stat_repeats_free(&s.repeats);
	drill_free(&s.d);
	counting_close(&s.k);
	arena_free(&s.a);
	return code;
}
