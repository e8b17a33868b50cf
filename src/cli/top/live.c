/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/top/live.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/asking.h"
#include "cli/screen/screen.h"
#include "cli/top/top_tables.h"

#define DEFAULT_INTERVAL 1000000000u /* ns */
#define DEFAULT_FREQ	 1000u

const char *const live_views[VIEWS] = {
#define VIEW(id, name, form) name,
#include "cli/top/views.def"
#undef VIEW
};

const struct table_form *const live_forms[VIEWS] = {
#define VIEW(id, name, form) &form,
#include "cli/top/views.def"
#undef VIEW
};

void live_say(struct live *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(l->message, sizeof(l->message), fmt, ap);
	va_end(ap);
}

/* ---- the rows of a view ---------------------------------------------------------------------- */

static struct table all_rows(struct live *l, enum live_view v)
{
	const struct top_interval *now = top_interval(l->top);
	struct table t = { .form = live_forms[v], .ctx = &l->style };

	switch (v) {
	case VIEW_FUNCTIONS:
		t.array = now->function;
		t.stride = sizeof(*now->function);
		t.n = now->n_functions;
		break;
	case VIEW_TREE:
		t.array = l->node.v;
		t.stride = sizeof(*l->node.v);
		t.n = l->node.n;
		break;
	case VIEW_PROCESSES:
		t.array = now->process;
		t.stride = sizeof(*now->process);
		t.n = now->n_processes;
		break;
	case VIEW_MACHINE:
		t.array = now->metric;
		t.stride = sizeof(*now->metric);
		t.n = now->n_metrics;
		break;
	default:
		t.array = now->cgroup;
		t.stride = sizeof(*now->cgroup);
		t.n = now->n_cgroups;
		break;
	}
	return t;
}

static bool live_says(const struct live *l, const char *text)
{
	return l->has_re ? !regexec(&l->re, text, 0, NULL, 0) : strcasestr(text, l->filter) != NULL;
}

static bool live_passes(const struct live *l, const struct table *t, const struct table_row *r)
{
	struct buf scratch = BUF_INIT;
	struct table_cell x;
	bool found = false;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n && !found; i++) {
		if (c[i].kind != T_TEXT && strcmp(c[i].key, "pid") != 0)
			continue;
		table_cell(&x, t, &c[i], r, &scratch);
		if (c[i].kind == T_ID) {
			char digits[24];

			(void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)x.n);
			found = live_says(l, digits);
		} else if (cell_has(&x)) {
			found = live_says(l, x.text);
		}
	}
	buf_free(&scratch);
	return found;
}

/* A tree has all of its rows: without those above, those below would be nowhere. */
static void filter_rows(struct live *l, struct live_tab *x)
{
	struct table_row r = { 0 };
	struct table all = x->s.table;

	buf_reset(&x->rows);
	if (!*l->filter || l->view == VIEW_TREE)
		return;
	while (table_next(&all, &r))
		if (live_passes(l, &all, &r))
			buf_put(&x->rows, r.p, all.stride);
	x->s.table.array = buf_str(&x->rows);
	x->s.table.n = x->rows.len / all.stride;
}

static void fold_live_nodes(struct live *l, struct pager *p)
{
	struct table_row r;
	bool all;

	for (size_t line = 0; line < pager_lines(p, &all); line++)
		if (pager_row(p, line, &r))
			pager_fold(p, line, live_node_open(l, r.p));
}

struct sheet *live_sheet(struct live *l)
{
	struct live_tab *x = &l->tab[l->view];

	if (x->s.pager)
		return &x->s;
	x->s.table = all_rows(l, l->view);
	filter_rows(l, x);
	sheet_open(&x->s);
	if (l->view == VIEW_TREE)
		fold_live_nodes(l, x->s.pager);
	return &x->s;
}

void live_refresh(struct live *l)
{
	for (size_t i = 0; i < VIEWS; i++)
		sheet_close(&l->tab[i].s);
}

void live_filter(struct live *l, const char *text)
{
	if (l->has_re)
		regfree(&l->re);
	l->has_re = false;
	if (text != l->filter)
		(void)snprintf(l->filter, sizeof(l->filter), "%s", text);
	if (*l->filter)
		l->has_re = !regcomp(&l->re, l->filter, REG_EXTENDED | REG_NOSUB | REG_ICASE);
	live_refresh(l);
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int take_interval(void *ctx, struct top *t, struct err *err)
{
	struct live *l = ctx;
	uint64_t from, to;

	(void)t;
	top_span(l->top, &from, &to);
	if (sampled_tree_interval(&l->tree, from, to, &l->report, err) || live_nodes(l, err))
		return -1;
	live_refresh(l);
	live_draw(l);
	return 0;
}

static int woken(void *ctx, struct top *t, struct err *err)
{
	struct live *l = ctx;
	int key;

	(void)t;
	(void)err;
	while ((key = screen_key(0)) != SCREEN_NONE)
		live_key(l, key);
	if (screen_gone())
		top_end(l->top);
	live_draw(l);
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* All of the machine if the user may observe it; else the user's processes. */
static void choose_whom(struct live *l)
{
	struct measure_opts *a = &l->opts;
	char *uid;

	a->all = a->cgroup.n && !a->pid.n && !a->tid.n;
	if (a->pid.n || a->tid.n || a->uid || a->cgroup.n)
		return;
	if (top_may_watch_all()) {
		a->all = true;
		return;
	}
	uid = arena_printf(&l->cli->arena, "%u", (unsigned)getuid());
	a->uid = uid;
}

static void symbols(struct live *l, struct images_opts *io)
{
	const struct options *o = &l->cli->opt;

	*io = (struct images_opts){ .symbol_dirs = o->symbols.n ? o->symbols.v : NULL,
				    .cache_dir = cli_cache_dir(l->cli),
				    .home = cli_perf_home(l->cli),
				    .debuginfod = cli_debuginfod_dir(l->cli),
				    .raw_names = o->raw_names,
				    .trust_paths = true,
				    .inodes_here = true };
}

int live_open(struct live *l, struct cli *cli, struct err *err)
{
	struct images_opts *io = arena_alloc(&cli->arena, sizeof(*io));
	struct top_opts opts = {
		.opts = &l->opts, .symbols = io, .each = take_interval, .woken = woken, .ctx = l
	};

	*l = (struct live){ .cli = cli, .tree = { .verbose = cli->opt.verbose, .a = ARENA_INIT } };
	for (size_t i = 0; i < VIEWS; i++)
		l->tab[i].s.sort = PAGER_UNSORTED;
	if (!io)
		return err_nomem(err);
	if (cli->args.n)
		return err_set(err, ERR_USAGE, "top takes no operand, not '%.60s'", cli->args.v[0]);
	if (cli_measure_opts(cli, &l->opts, err))
		return -1;
	symbols(l, io);
	if (l->opts.event.n > 1 || (l->opts.event.n && !strchr(l->opts.event.v[0], '/') &&
				    strchr(l->opts.event.v[0], ',')))
		return err_set(err, ERR_USAGE, "top samples one event at a time");
	l->opts.interval = l->opts.interval ? l->opts.interval : DEFAULT_INTERVAL;
	if (!l->opts.freq && !l->opts.period)
		l->opts.freq = DEFAULT_FREQ;
	l->interval_ns = l->opts.interval;
	choose_whom(l);
	l->style = cli_style(cli, STDOUT_FILENO);
	if (top_open(&l->top, &opts, err))
		return -1;
	l->tree.r = top_sampling(l->top);
	return 0;
}

int live_run(struct live *l, struct err *err)
{
	int file, rc;

	if (screen_open(l->style.colour, err))
		return -1;
	file = screen_file(err);
	rc = file < 0 ? -1 : 0;
	if (!rc) {
		top_wake(l->top, file);
		live_draw(l);
		rc = top_run(l->top, err);
	}
	screen_close();
	return rc;
}

void live_close(struct live *l)
{
	for (size_t i = 0; i < VIEWS; i++) {
		sheet_close(&l->tab[i].s);
		buf_free(&l->tab[i].rows);
	}
	if (l->has_re)
		regfree(&l->re);
	top_close(l->top);
	sampled_tree_free(&l->tree);
	vec_free(&l->node);
	u64map_free(&l->folds);
}
