/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade monitor - see doc/cyclade-monitor.1.md.
 */
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "cli/asking.h"
#include "cli/counting_out.h"
#include "collect/msr.h"
#include "monitor/history.h"
#include "monitor/http.h"
#include "monitor/monitor.h"

#define DEFAULT_INTERVAL 1000000000u /* ns */
#define LACKING_LISTED	 6	     /* metrics that people see one by one */

struct monitoring {
	struct cli *cli;
	struct counting_out out;
	bool prints;
	struct http *http;	 /* NULL: --listen was not given */
	struct document *shown;	 /* of the last interval */
	struct history *history; /* of the server */
	struct buf listed;	 /* the metrics last reported as not available */
};

static const char *const texts[HTTP_TEXTS] = {
	[HTTP_OPENMETRICS] = "openmetrics",
	[HTTP_PROMETHEUS] = "prometheus",
	[HTTP_TABLES] = "html",
	[HTTP_HISTORY] = "json",
	[HTTP_LAST] = "json",
};

/* In the server's thread, while the counting leaves the document alone. */
static int make_text(void *ctx, enum http_text which, struct buf *out, struct err *err)
{
	struct monitoring *s = ctx;
	struct show show = { .quiet = true, .line = true };
	struct document d;
	int rc;

	if (which == HTTP_HISTORY || which == HTTP_LAST) {
		history_document(&d, s->history, which == HTTP_LAST ? 1 : HISTORY_INTERVALS);
		rc = show_choose(&show, &history_form, texts[which], NULL, err) ||
		     document_write(out, &d, &show, err);
		document_close(&d);
		return rc ? -1 : 0;
	}
	return show_choose(&show, &monitor_document, texts[which], NULL, err) ||
			       document_write(out, s->shown, &show, err)
		       ? -1
		       : 0;
}

static void leave_interval(void *ctx, bool again)
{
	struct monitoring *s = ctx;

	if (s->http && again)
		http_keep(s->http);
	else if (s->http)
		http_hold(s->http);
}

static struct table *unavailable(struct document *d)
{
	for (size_t i = 0; i < d->table.n; i++)
		if (!strcmp(d->table.v[i].form->name, "unavailable"))
			return &d->table.v[i];
	return NULL;
}

/* People need not read a line for each metric of a PMU that is not there. True: one line has
 * all. */
static bool say_lacking(struct document *d, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf places = BUF_INIT, scratch = BUF_INIT;
	const char *before = "";
	size_t n = 0;

	for (; table_next(t, &r); n++) {
		table_cell(&x, t, &t->form->column[0], &r, &scratch); /* the kind of place */
		if (strcmp(x.text, before) != 0 && !strstr(buf_str(&places), x.text))
			buf_printf(&places, "%s%s", places.len ? ", " : "", x.text);
		before = x.text;
	}
	if (n > LACKING_LISTED)
		document_fact(d, "not available", false,
			      "%zu metrics of %s. Why: cyclade monitor --once --format csv "
			      "--table unavailable",
			      n, buf_str(&places));
	d->failed |= places.failed || scratch.failed;
	buf_free(&places);
	buf_free(&scratch);
	return n > LACKING_LISTED;
}

/* People read the list in the first interval, and again if it changed: in one line if it is long.
 * True: the line is there. */
static bool list_once(struct monitoring *s, struct document *d, struct table *t)
{
	struct buf now = BUF_INIT, scratch = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell x;
	bool said = false;

	while (table_next(t, &r))
		for (size_t i = 0; i < t->form->n_columns; i++) {
			table_cell(&x, t, &t->form->column[i], &r, &scratch);
			cell_put(&now, &x);
			buf_putc(&now, '\n');
		}
	t->data_only = now.len && !strcmp(buf_str(&now), buf_str(&s->listed));
	if (!t->data_only)
		t->data_only = said = say_lacking(d, t);
	buf_free(&scratch);
	buf_free(&s->listed);
	s->listed = now;
	return said;
}

static int print_interval_document(struct monitoring *s, struct document *d, bool *enough,
				   struct err *err)
{
	struct table *lacks = unavailable(d);
	bool said = false;
	int rc;

	if (!s->prints) {
		if (lacks)
			lacks->data_only = say_lacking(d, lacks);
		return 0;
	}
	/* the tables are several, and people want to know which is which */
	if (!strcmp(s->out.show.format->name, "term")) {
		s->out.show.later = false;
		if (lacks)
			said = list_once(s, d, lacks);
	}
	rc = counting_out_document(&s->out, d, -1, s->cli->opt.once, enough, err);
	lacks = unavailable(d); /* the last document may be closed by now */
	if (lacks)		/* the server's page has it each time */
		lacks->data_only = said || say_lacking(d, lacks);
	return rc;
}

static int write_interval(void *ctx, struct document *d, bool *enough, struct err *err)
{
	struct monitoring *s = ctx;

	if (print_interval_document(s, d, enough, err))
		return -1;
	s->shown = d;
	if (s->history)
		history_add(s->history, d);
	if (s->http) /* from here on the document is the server's */
		http_publish(s->http, make_text, s);
	return 0;
}

/* Names behind commas become words of their own. */
static int split(struct arena *a, const struct text_list *said, struct text_list *out,
		 struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < said->n; i++) {
		n++;
		for (const char *s = said->v[i]; *s; s++)
			n += *s == ',';
	}
	*out = (struct text_list){ arena_alloc(a, (n + 1) * sizeof(*out->v)), 0 };
	if (!out->v)
		return err_nomem(err);
	for (size_t i = 0; i < said->n; i++) {
		const char *list = said->v[i], *word;
		size_t len;

		while (text_word(&list, &word, &len))
			if (len && !(out->v[out->n++] = arena_strndup(a, word, len)))
				return err_nomem(err);
	}
	out->v[out->n] = NULL;
	return 0;
}

static int check_monitor_options(struct cli *cli, struct err *err)
{
	struct options *o = &cli->opt;

	if (cli->args.n)
		return err_set(err, ERR_USAGE, "monitor takes no operand, not '%.60s'",
			       cli->args.v[0]);
	if (o->restore && (o->once || o->measure.for_time || o->listen))
		return err_set(err, ERR_USAGE, "--restore counts nothing: it stands alone");
	if (o->once && o->measure.for_time)
		return err_set(err, ERR_USAGE, "--once and --for exclude each other");
	if (o->once && o->listen)
		return err_set(err, ERR_USAGE, "--once and --listen exclude each other");
	if (o->allow_remote && !o->listen)
		return err_set(err, ERR_USAGE, "--allow-remote goes with --listen");
	return 0;
}

/* A server prints only if -o or --format is given. */
static int serve_intervals(struct monitoring *s, struct err *err)
{
	const struct options *o = &s->cli->opt;
	sigset_t ends;

	s->prints = !o->listen || o->format || o->json || o->separator || o->output;
	if (!o->listen)
		return 0;
	/* from here on there is something to clean up; counting takes them when it begins */
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	if (history_new(&s->history, err) || http_open(&s->http, o->listen, o->allow_remote, err))
		return -1;
	cli_note(s->cli, "listening on %s", http_where(s->http));
	return 0;
}

static void said(void *ctx, const char *text)
{
	const struct monitoring *s = ctx;

	cli_note(s->cli, "not read again: %s", text);
}

static int restore(struct cli *cli, struct err *err)
{
	size_t n;
	int rc = msr_restore(cli->opt.sysroot ? cli->opt.sysroot : "", &n, err);

	if (n)
		cli_note(cli, "%zu registers have their old values", n);
	return rc;
}

static void choose_backend(struct monitor_opts *m, const char *said)
{
	m->backend = !said || !strcmp(said, "auto") ? MONITOR_AUTO
		     : !strcmp(said, "msr")	    ? MONITOR_MSR
						    : MONITOR_PERF;
}

int cmd_monitor(struct cli *cli)
{
	struct monitoring s = { .cli = cli, .out = COUNTING_OUT_INIT };
	struct measure_opts opts;
	struct monitor_opts m = {
		.opts = &opts, .each = write_interval, .over = leave_interval, .ctx = &s
	};
	struct err err = ERR_INIT;
	bool failed = true;

	if (cli->opt.json_schema)
		return cli_schema(cli, &monitor_document);
	if (check_monitor_options(cli, &err) || cli_measure_opts(cli, &opts, &err) ||
	    split(&cli->arena, &cli->opt.metrics, &m.metrics, &err) ||
	    split(&cli->arena, &cli->opt.measure.cgroup, &m.cgroups, &err))
		goto out;
	opts.cgroup.n = 0; /* counters are the machine's */
	if (cli->opt.restore) {
		failed = restore(cli, &err);
		goto out;
	}
	choose_backend(&m, cli->opt.backend);
	opts.all = true;
	m.rereads = cli->opt.listen;
	m.said = said;
	opts.interval = opts.interval ? opts.interval : DEFAULT_INTERVAL;
	if (cli->opt.once)
		opts.for_time = opts.interval;
	if (counting_out_open(&s.out, cli, &monitor_document, &err) || serve_intervals(&s, &err))
		goto out;
	s.out.show.line = !cli->opt.once;
	failed = monitor_run(&m, &err) || counting_out_commit(&s.out, &err);
out:
	http_close(s.http);
	history_free(s.history);
	counting_out_close(&s.out);
	buf_free(&s.listed);
	return failed ? cli_fail(&err) : EXIT_OK;
}
