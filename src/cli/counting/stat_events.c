/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat -e: events, with their counts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/counting/no_pmu.h"
#include "cli/counting_out.h"
#include "cli/stat.h"
#include "measure/counting_events.h"
#include "measure/counting_repeat.h"

struct stat_run {
	struct cli *cli;
	struct measure_opts opts;
	struct counting k;
	struct counting_events ev;
	struct counting_out out;
	struct arena a;				/* of one printing */
	struct repeat *row, seconds, user, sys; /* row: by row */
	size_t n_rows;
	struct count_runs repeats;
	uint64_t run;
	double interval_from;
	char no_pmu[256];
};

/* ---- before the program starts ---------------------------------------------------------- */

static bool wants_pmu(const struct event *ev)
{
	return ev->attr.type == PERF_TYPE_HARDWARE || ev->attr.type == PERF_TYPE_HW_CACHE ||
	       ev->attr.type == PERF_TYPE_RAW;
}

static int nothing_counts(struct stat_run *s, struct counting *k, struct err *err)
{
	const struct event_place at = s->ev.at[0];
	const char *name = s->ev.list.ev.v[0].name;
	const char *why;
	bool hardware = true;
	int number = 0;

	for (size_t i = 0; i < s->ev.n_asked; i++)
		hardware &= wants_pmu(&s->ev.list.ev.v[i]);
	why = counters_refused(k->c, at.group, at.index, &number);
	if (number == EACCES || number == EPERM) {
		(void)err_set(err, ERR_PERM, "%s: %s", name, why);
		if (k->who.whole_cpus)
			return err_hint(err, "whole CPUs need root or sysctl "
					     "kernel.perf_event_paranoid=0; your own programs "
					     "need neither: -- ./prog");
		return err_hint(err, "another user's tasks need root; `cyclade doctor` tells what "
				     "this machine allows");
	}
	if (hardware)
		no_pmu_find(s->cli, s->no_pmu);
	(void)err_set(err, ERR_UNSUPPORTED, "%s: %s", name, why);
	return err_hint(err, "`cyclade list events` has what can be counted here");
}

static int start_events_run(struct stat_run *s, struct err *err)
{
	size_t refused = 0;

	if (counting_events_start(&s->ev, &s->k, err))
		return -1;
	for (size_t i = 0; i < s->ev.n_asked; i++)
		refused += !!counters_refused(s->k.c, s->ev.at[i].group, s->ev.at[i].index, NULL);
	s->interval_from = 0;
	return refused == s->ev.n_asked ? nothing_counts(s, &s->k, err) : 0;
}

/* ---- results ---------------------------------------------------------------------------- */

/* `fd`: of standard error, for counts so far; -1: where results go. */
static int print_counts(struct stat_run *s, struct counts *c, const struct counting *k, int fd,
			struct err *err)
{
	struct document d;
	int rc = -1;

	document_open(&d, &counts_document, c);
	if (!counting_events_notes(&s->ev, k, &s->a, &c->head.notes, &c->head.n_notes, err)) {
		counts_put(&d, c);
		rc = stat_document(&s->k, &s->out, &d, fd, isnan(c->head.time), err);
	}
	document_close(&d);
	return rc;
}

static int print_counts_interval(struct stat_run *s, struct err *err)
{
	struct counting *k = &s->k;
	struct counts c = { .head = stat_head(k, &s->a) };
	struct counts_row *row;
	int rc = -1;

	c.head.time = counting_seconds(k);
	c.head.seconds = c.head.time - s->interval_from;
	if (counting_events_rows(&s->ev, k, &s->a, c.head.seconds, &row, &c.n, err))
		goto out;
	counting_events_mean(&s->ev, &s->a, row, c.head.seconds);
	c.row = row;
	rc = print_counts(s, &c, k, -1, err);
	counting_events_mark(&s->ev, false);
	s->interval_from = c.head.time;
out:
	arena_free(&s->a);
	return rc;
}

static int print_counts_so_far(struct stat_run *s, struct err *err)
{
	struct counting *k = &s->k;
	struct counts c = { .head = stat_head(k, &s->a) };
	struct counts_row *row;
	int rc = -1;

	if (counting_events_take(&s->ev, k, err) ||
	    counting_events_rows(&s->ev, k, &s->a, c.head.seconds, &row, &c.n, err))
		goto out;
	counting_events_mean(&s->ev, &s->a, row, c.head.seconds);
	c.row = row;
	rc = print_counts(s, &c, k, STDERR_FILENO, err);
out:
	arena_free(&s->a);
	return rc;
}

/* Each run for itself, if there are to be several. */
static int keep_events_run(struct stat_run *s, const struct counts_row *row, size_t n,
			   const struct counting *k, struct err *err)
{
	if (stat_runs(s->cli) < 2)
		return 0;
	if (count_runs_begin(&s->repeats, &k->result, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct count_repeat x = { 0, row[i].where, row[i].event, row[i].unit,
						row[i].value };

		if (count_runs_add(&s->repeats, &x, err))
			return -1;
	}
	return 0;
}

static int add_events_run(struct stat_run *s, const struct counts_row *row, size_t n,
			  const struct counting *k, struct err *err)
{
	if (!s->row) {
		s->row = calloc(n + 1, sizeof(*s->row));
		s->n_rows = n;
		if (!s->row)
			return err_nomem(err);
	}
	for (size_t i = 0; i < n && i < s->n_rows; i++)
		repeat_add(&s->row[i], row[i].value);
	repeat_add(&s->seconds, k->result.wall_s);
	repeat_add(&s->user, k->result.user_s);
	repeat_add(&s->sys, k->result.sys_s);
	return keep_events_run(s, row, n, k, err);
}

static void mean_of_runs(const struct stat_run *s, struct counts *c, struct counts_row *row)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct repeat *r = &s->row[i];

		row[i].value = repeat_mean(r);
		row[i].stddev = repeat_stddev(r);
		row[i].error = repeat_error(r);
		row[i].runs = r->n;
		row[i].whole &= r->n < 2;
	}
	c->head.seconds = repeat_mean(&s->seconds);
	c->head.seconds_error = repeat_error(&s->seconds);
	c->head.user_s = repeat_mean(&s->user);
	c->head.sys_s = repeat_mean(&s->sys);
	c->head.runs = s->seconds.n;
}

static int end_events_run(struct stat_run *s, struct err *err)
{
	struct counting *k = &s->k;
	bool last = s->run + 1 >= stat_runs(s->cli) || k->result.interrupted;
	struct counts c = { .head = stat_head(k, &s->a) };
	struct counts_row *row;
	int rc = -1;

	c.head.status = k->has_program ? k->result.status : -1;
	c.head.killed_by = k->result.killed_by;
	if (s->cli->opt.measure.interval) {
		c.head.end = true;
		rc = print_counts(s, &c, k, -1, err);
		goto out;
	}
	/* of a run that was cut short, the counts are not those of a run */
	s->ev.cut_short = k->result.interrupted && s->seconds.n;
	if (counting_events_rows(&s->ev, k, &s->a, c.head.seconds, &row, &c.n, err) ||
	    (!s->ev.cut_short && add_events_run(s, row, c.n, k, err)))
		goto out;
	if (last) {
		mean_of_runs(s, &c, row);
		count_runs_put(&s->repeats, &c.head);
		if (!k->has_program)
			c.head.user_s = c.head.sys_s = NAN;
		counting_events_mean(&s->ev, &s->a, row, c.head.seconds);
		c.row = row;
		rc = print_counts(s, &c, k, -1, err);
	} else {
		rc = 0;
	}
out:
	arena_free(&s->a);
	return rc;
}

/* ---- the whole of it -------------------------------------------------------------------- */

static int describe_events(struct stat_run *s, struct err *err)
{
	struct buf b = BUF_INIT;
	int rc;

	counting_describe(&b, &s->k, &s->ev.setup);
	rc = stat_put(&s->k, &s->out, &b, -1, err);
	buf_free(&b);
	return rc ? -1 : counting_out_commit(&s->out, err);
}

static int count_events_run(struct stat_run *s, struct err *err)
{
	enum counting_event what = COUNTING_SO_FAR;
	int rc = start_events_run(s, err);

	while (!rc && what != COUNTING_OVER) {
		rc = counting_next(&s->k, &what, err);
		if (!rc && what == COUNTING_INTERVAL)
			rc = print_counts_interval(s, err);
		else if (!rc && what == COUNTING_SO_FAR)
			rc = print_counts_so_far(s, err);
	}
	if (!rc)
		rc = end_events_run(s, err);
	return counting_finish(&s->k, rc, err);
}

static int count_events(struct stat_run *s, struct err *err)
{
	if (cli_measure_opts(s->cli, &s->opts, err) ||
	    counting_open(&s->k, &s->opts, "count", 0, err) ||
	    counting_events_parse(&s->ev, &s->k, err) ||
	    counting_out_open(&s->out, s->cli, &counts_document, err))
		return -1;
	if (s->cli->opt.measure.dry_run)
		return describe_events(s, err);
	if (counting_warmup(&s->k, err))
		return -1;
	for (s->run = 0; s->run < stat_runs(s->cli) && !s->k.result.interrupted; s->run++)
		if (count_events_run(s, err))
			return -1;
	return counting_out_commit(&s->out, err);
}

int stat_events(struct cli *cli)
{
	struct stat_run s = { .cli = cli, .out = COUNTING_OUT_INIT, .a = ARENA_INIT };
	struct err err = ERR_INIT;
	int rc = count_events(&s, &err), code = stat_end(cli, &s.k, rc, s.no_pmu, &err);

	counting_out_close(&s.out);
	counting_events_free(&s.ev);
	counting_close(&s.k);
	free(s.row);
	count_runs_free(&s.repeats);
	arena_free(&s.a);
	return code;
}
