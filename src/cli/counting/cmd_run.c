/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - the main job: record a program, say where its time went, name the next commands.
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/asking.h"
#include "cli/counting/run_tree.h"
#include "cli/counting_out.h"
#include "cli/recording.h"
#include "cli/regions.h"
#include "report/run.h"

#define ROWS 12

/* What of it all is told, and what it is read from. */
struct told {
	struct cli *cli;
	const struct sampling_result *res;
	struct run_tree *t;
	const char *path;
	struct counting_out out;
	struct tree_report tree;
	struct recording rec;
	struct profile *profile;
	struct run_table *table; /* for each event that has samples: of a hybrid each kind of core
				    has one */
	size_t n_tables;
	bool several;	 /* events sample */
	const char *top; /* the hottest function of the event with most of them */
};

struct steps {
	struct next v[6];
	size_t n;
	struct arena *a;
};

/* `cyclade VERB [FILE] [WHAT]`, unless one of them cannot be typed. */
static void add_step(struct steps *s, const char *verb, const char *file, const char *what,
		     const char *why)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	buf_printf(&b, "cyclade %s", verb);
	if (*file) {
		buf_putc(&b, ' ');
		fine &= next_word(&b, file);
	}
	if (*what) {
		buf_putc(&b, ' ');
		fine &= next_word(&b, what);
	}
	s->v[s->n].command = fine && !b.failed ? arena_strdup(s->a, b.s) : NULL;
	s->v[s->n].why = why;
	s->n += s->v[s->n].command != NULL;
	buf_free(&b);
}

/* The function first, then what is the matter with it. */
static void find_steps(struct steps *s, const struct told *o)
{
	const char *file = strcmp(o->path, "cyclade.data") ? o->path : "";
	bool chains = o->res->chains;
	unsigned level = run_tree_deeper(o->t);
	struct buf line = BUF_INIT;

	if (*o->top && strlen(o->top) < 60)
		add_step(s, "annotate", file, o->top, "which lines, which instructions");
	if (o->tree.n_next)
		s->v[s->n++] = o->tree.next[0];
	if (level) {
		char text[40];

		(void)snprintf(text, sizeof(text), "stat -l %u -- ...", level);
		add_step(s, text, "", "", "all nodes down to there, and nothing else");
	}
	add_step(s, chains ? "report -g" : "report", file, "",
		 chains ? "who called it" : "all of it, by program and library");
	if (run_waited(&o->tree.head, &line))
		add_step(s, "record --wait -- ...", "", "", "what it waited for: report --wait");
	buf_free(&line);
	if (!chains)
		add_step(s, "run -g -- ...", "", "", "who called it");
}

static int make_tables(struct told *o, struct err *err)
{
	const struct options *opt = &o->cli->opt;
	size_t limit = opt->limit ? opt->limit : o->out.show.format == run_document.face ? ROWS : 0;
	size_t n, n_events;
	const struct profile_sum *sum = profile_sums(o->profile, &n);
	const struct pd_event *event = pd_events(o->rec.rec, &n_events);
	uint64_t most = 0;

	o->table = arena_alloc(&o->cli->arena, (n + 1) * sizeof(*o->table));
	if (!o->table)
		return err_nomem(err);
	o->several = n > 1;
	for (size_t i = 0; i < n; i++) {
		struct run_table *t = &o->table[o->n_tables];

		if (!sum[i].selected.samples && (i || n > 1))
			continue;
		t->event = n == n_events ? event[i].name : NULL;
		if (where_make(&t->where, &o->cli->arena, o->profile, i, limit, err))
			return -1;
		if (sum[i].selected.samples > most) {
			most = sum[i].selected.samples;
			o->top = t->where.top;
		}
		o->n_tables++;
	}
	return 0;
}

static int look_where(struct told *o, struct err *err)
{
	struct profile_opts po = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	const char *root = o->cli->opt.sysroot;
	int rc;

	o->cli->opt.sysroot = NULL; /* the program ran here, whatever machine was looked at */
	rc = recording_open(&o->rec, o->cli, o->path, err);
	o->cli->opt.sysroot = root;
	if (rc)
		return -1;
	rc = -1;
	if (!recording_select(&o->rec, o->cli, &po, err) &&
	    !profile_build(&o->profile, o->rec.rec, o->rec.spaces, &po, err))
		rc = make_tables(o, err);
	cli_progress_end(o->cli);
	return rc;
}

static const char *why_no_tree(const struct told *o)
{
	return o->tree.n_views	     ? NULL
	       : *o->t->why	     ? o->t->why
	       : *o->res->no_cycles  ? "there is no cycle counter"
	       : o->cli->opt.no_tree ? "--no-tree"
				     : "nothing was counted";
}

static int put_document(struct told *o, struct err *err)
{
	const struct sampling_result *res = o->res;
	struct steps steps = { .a = &o->cli->arena };
	struct run_report r = {
		.tree = &o->tree,
		.no_tree = why_no_tree(o),
		.unwanted = o->cli->opt.no_tree,
		.table = o->table,
		.n_tables = o->n_tables,
		.several = o->several,
		.sampled = res->event,
		.no_cycles = *res->no_cycles ? res->no_cycles : NULL,
		.user_only = res->user_only,
		.file = o->path,
		.kept = res->kept,
		.samples = res->samples,
		.bytes = res->bytes,
		.lost = res->lost,
		.throttled = res->throttled,
		.ousted = res->ousted,
		.counters = res->counters,
	};
	struct document d;
	bool gone;
	int rc;

	if (res->kept)
		find_steps(&steps, o);
	r.next = steps.v;
	r.n_next = steps.n;
	document_open(&d, &run_document, &r);
	run_report_put(&d, &r);
	rc = counting_out_document(&o->out, &d, -1, true, &gone, err);
	document_close(&d);
	return rc ? -1 : counting_out_commit(&o->out, err);
}

static void fill_head(struct told *o)
{
	const struct sampling_result *res = o->res;
	struct count_head *h = &o->tree.head;

	h->command = o->cli->args.v;
	h->n_command = o->cli->args.n;
	h->time = h->seconds_error = NAN;
	h->seconds = res->wall_s;
	h->user_s = res->user_s;
	h->sys_s = res->cpu_s - res->user_s;
	h->tasks = res->tasks;
	h->runs = 1;
	h->status = res->status;
	h->killed_by = res->killed_by;
}

static int report(struct told *o, struct err *err)
{
	int rc = -1;

	if (!run_tree_report(o->t, &o->tree, err)) {
		fill_head(o);
		rc = (o->res->samples && look_where(o, err)) || put_document(o, err) ? -1 : 0;
	}
	profile_free(o->profile);
	recording_close(&o->rec);
	return rc;
}

static int run(struct sampling *s, struct told *o, struct err *err)
{
	o->res = sampling_result(s);
	return sampling_run(s, err) ? -1 : report(o, err);
}

static int describe(const struct sampling *s, struct told *o, struct err *err)
{
	struct buf b = BUF_INIT;
	bool gone;
	int rc;

	sampling_describe(s, o->cli->opt.verbose, &b);
	run_tree_describe(o->t, &b);
	rc = counting_out_put(&o->out, &b, &gone, err);
	buf_free(&b);
	return rc ? -1 : counting_out_commit(&o->out, err);
}

int cmd_run(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	struct run_tree tree = RUN_TREE_INIT(cli);
	struct told told = {
		.cli = cli, .t = &tree, .path = path, .out = COUNTING_OUT_INIT, .top = ""
	};
	struct err err = ERR_INIT;
	struct sampling *s = NULL;
	struct ask ask;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "run needs a program");
		(void)err_hint(&err, "cyclade run -- ./prog args");
		return cli_fail_as(&err, EXIT_TOOL);
	}
	if (cli->opt.regions)
		return regions_run(cli);
	if (counting_out_open(&told.out, cli, &run_document, &err) || cli_ask(cli, &ask, &err) ||
	    sampling_open(&s, &ask, path, run_tree_beside(&tree), &err))
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	else if (cli->opt.dry_run)
		code = describe(s, &told, &err) ? cli_fail_as(&err, EXIT_TOOL) : EXIT_OK;
	else if (run(s, &told, &err) || sampling_after(s, &err))
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	else
		code = sampling_result(s)->status;
	counting_out_close(&told.out);
	sampling_close(s);
	run_tree_free(&tree);
	return code;
}
