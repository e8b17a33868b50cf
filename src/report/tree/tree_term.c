/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree for people: 76 columns, which is why bars are short. The last column, which part of the
 * time a node's events were counted, is there if that was less than all of it.
 *
 *	 slots               3.60 G  100.0 %                               counted
 *	 ├ retiring                   18.6 % +-0.3  ███                       24 %
 *	 └ backend                    67.4 % +-1.2  ██████████▊       <==     24 %
 *	   └ l1_bound                 61.0 % +-2.0  of clocks         <==     12 %
 *
 * With -v or -l, if a node had another share while it was counted, a column "open" follows: then
 * there are 80 columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "show/fold.h"
#include "model/groups.h"
#include "report/tree/tree_parts.h"

#define COMMAND_WIDTH 76u
#define NAME_WIDTH    32u
#define METRIC_VALUE  30u /* columns behind a metric's name: value, unit, error */
#define BAR_WIDTH     16u
#define MARK_WIDTH    4u /* of the path */
#define DEPTH	      16u

struct face {
	struct buf *b;
	const struct tree_view *v;
	const struct style *st;
	bool more[DEPTH]; /* at this depth siblings follow */
	bool in_turns;	  /* a row was counted for a part of the time */
	bool open;	  /* and had another share in it than in the run */
	bool untold;	  /* an error bar was not known */
	const char *no_error;
};

void tree_put_error(struct buf *b, double share, double error)
{
	if (isnan(share))
		return;
	if (isnan(error)) {
		buf_puts(b, "+-?");
	} else if (error < 0.0005) {
		buf_puts(b, "+-<0.1");
	} else {
		buf_puts(b, "+-");
		buf_put_fixed(b, error * 100, 1, 0);
	}
}

static void put_bar(struct buf *b, double share, const struct style *st)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	static const char full[] = "████████████████", hashes[] = "################";
	unsigned eighths, cells;

	if (!(share > 0))
		share = 0;
	eighths = (unsigned)((share > 1 ? 1 : share) * BAR_WIDTH * 8 + 0.5);
	cells = eighths / 8;
	buf_put(b, st->ascii ? hashes : full, cells * (st->ascii ? 1 : strlen("█")));
	if (!st->ascii && eighths % 8) {
		buf_puts(b, parts[eighths % 8]);
		cells++;
	}
	buf_fill(b, ' ', BAR_WIDTH - cells);
}

static void put_branch(struct face *f, const struct tree_view_row *r)
{
	bool ascii = f->st->ascii;

	buf_putc(f->b, ' ');
	for (unsigned d = 0; d < r->depth && d < DEPTH; d++)
		buf_puts(f->b, !f->more[d] ? "  " : ascii ? "| " : "│ ");
	if (ascii)
		buf_puts(f->b, r->last ? "`-" : "|-");
	else
		buf_puts(f->b, r->last ? "└ " : "├ ");
	if (r->depth < DEPTH)
		f->more[r->depth] = !r->last;
}

static void put_node_name(struct face *f, const struct tree_view_row *r)
{
	size_t used = 2 * (size_t)r->depth + 2;

	if (r->path || r->tie)
		style_ink(f->b, f->st, INK_HOT);
	text_put_safe_fit(f->b, r->name, used < NAME_WIDTH ? NAME_WIDTH - used : 1, f->st->ascii);
	if (r->path || r->tie)
		style_ink(f->b, f->st, INK_PLAIN);
}

static void put_bound(struct buf *b, const struct tree_view_row *r)
{
	struct buf text = BUF_INIT;

	tree_put_bound(&text, r);
	buf_put_right(b, buf_str(&text), 8);
	b->failed |= text.failed;
	buf_free(&text);
}

static void put_numbers(struct face *f, const struct tree_view_row *r)
{
	char n[NUM_MAX];
	size_t start, used;

	if (r->doubtful)
		buf_put_right(f->b, "?", 8);
	else if (isnan(r->share) && r->metric == MODEL_NONE)
		buf_fill(f->b, ' ', 8);
	else if (r->bound)
		put_bound(f->b, r);
	else
		buf_put_right(f->b, isnan(r->share) ? "-" : num_percent(n, r->share), 8);
	if (r->no_error && !isnan(r->share)) {
		f->untold = true;
		f->no_error = r->no_error;
	}
	buf_putc(f->b, ' ');
	start = f->b->len;
	if (r->metric != MODEL_NONE && !r->doubtful && !r->bound)
		tree_put_error(f->b, r->share, r->error);
	used = f->b->len - start;
	buf_fill(f->b, ' ', used < 7 ? 7 - used : 0);
}

static bool counted_in_turns(const struct tree_view_row *r)
{
	return !isnan(r->counted) && r->counted < 0.9995;
}

static void put_unit(struct buf *b, const char *unit)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, unit, true);
	buf_printf(b, "of %.13s", buf_str(&safe));
	b->failed |= safe.failed;
	buf_free(&safe);
}

/* The bar, or for a share of something else than slots the word for that; and the path's mark. */
static void put_bar_or_unit(struct face *f, const struct tree_view_row *r)
{
	size_t used = BAR_WIDTH, start = f->b->len;

	if (*r->unit) {
		put_unit(f->b, r->unit);
		used = f->b->len - start;
	} else if (!r->doubtful && !isnan(r->share)) {
		put_bar(f->b, r->share, f->st);
	} else {
		used = 0;
	}
	buf_fill(f->b, ' ', BAR_WIDTH - used);
	buf_put_left(f->b, r->path ? " <==" : "", MARK_WIDTH);
}

/* For which part of the time, and the share in it (in per cent; 80 columns leave no room for a
 * unit). */
static void put_counted(struct face *f, const struct tree_view_row *r)
{
	if (!counted_in_turns(r))
		return;
	buf_put_fixed(f->b, r->counted * 100, 0, f->open ? 4 : 5);
	buf_puts(f->b, " %");
	if (f->open && !isnan(r->open))
		buf_put_fixed(f->b, r->open * 100, r->open < 0.9995 ? 1 : 0, 5);
}

static void put_counted_head(struct face *f, size_t before)
{
	buf_put_right(f->b, "counted", before + BAR_WIDTH + MARK_WIDTH + (f->open ? 6 : 7));
	if (f->open)
		buf_puts(f->b, " open");
}

static void put_node_row(struct face *f, const struct tree_view_row *r)
{
	put_branch(f, r);
	put_node_name(f, r);
	put_numbers(f, r);
	put_bar_or_unit(f, r);
	put_counted(f, r);
	buf_end_line(f->b);
}

static void put_why_rows(struct face *f)
{
	struct buf why = BUF_INIT, line = BUF_INIT;
	bool more = false;

	for (size_t i = 0; i < f->v->n; i++) {
		const struct tree_view_row *r = &f->v->row[i];

		if (r->metric == MODEL_NONE)
			continue;
		buf_reset(&why);
		tree_view_why(&why, &f->v->source, r->metric);
		if (!why.len)
			continue;
		buf_reset(&line);
		text_put_safe(&line, r->name, f->st->ascii);
		buf_puts(&line, ": ");
		text_put_safe(&line, buf_str(&why), f->st->ascii);
		buf_puts(f->b, r->doubtful ? " ? " : " - ");
		text_put_wrapped(f->b, buf_str(&line), 3, f->st->width);
		buf_putc(f->b, '\n');
		f->b->failed |= line.failed;
		more |= r->doubtful && f->v->source.tree->node[r->metric].doubt != DOUBT_DEAD;
	}
	if (more)
		buf_puts(f->b, "   (a longer run, or --no-mux, tells more)\n");
	buf_free(&line);
	buf_free(&why);
}

void tree_put_metric(struct buf *b, const struct model_metric *m, const struct tree_node *n)
{
	double v = n->shown * m->scale;
	char n_text[NUM_MAX];

	if (!strcmp(m->unit, "%"))
		buf_printf(b, "%.1f %%", v);
	else if (v >= 1e6)
		buf_printf(b, "%s %s", num_count(n_text, v), m->unit);
	else
		buf_printf(b, fabs(v) >= 100 ? "%.1f %s" : "%.3f %s", v, m->unit);
	buf_trim(b);
}

/* ---- bottlenecks: shares of all slots by cause, which add up --------------------------------- */

struct bottleneck {
	struct tree_view_row row;
	double value; /* as computed: the shown value stays within 0 and 1 */
};

/* The largest first; those without value last, as they stand in the model. */
static int by_node_value(const void *a, const void *b)
{
	double x = ((const struct bottleneck *)a)->value, y = ((const struct bottleneck *)b)->value;

	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x < y) - (x > y);
}

static struct bottleneck bottleneck_of(const struct face *f, uint32_t metric)
{
	const struct model_metric *m = &f->v->source.tree->model->metric[metric];
	const struct tree_node *n = &f->v->source.tree->node[metric];
	bool known = n->value.why == VALUE_OK && n->doubt == DOUBT_NONE;
	double unit = m->scale / 100;

	return (struct bottleneck){
		.row = { .metric = metric,
			 .name = model_bottleneck_name(m),
			 .unit = "",
			 .share = known ? n->shown * unit : NAN,
			 .error = n->error * unit,
			 .counted = n->counted,
			 .open = NAN,
			 .no_error = n->no_error,
			 .path = known && n->over && model_bottleneck_is_loss(m),
			 .doubtful = n->doubt != DOUBT_NONE },
		.value = n->value.why == VALUE_OK ? n->value.v * unit : NAN,
	};
}

static void put_node_why(struct face *f, uint32_t metric)
{
	struct buf why = BUF_INIT;

	tree_view_why(&why, &f->v->source, metric);
	buf_puts(f->b, "  ");
	text_put_safe(f->b, buf_str(&why), f->st->ascii);
	f->b->failed |= why.failed;
	buf_free(&why);
}

static void put_bottleneck(struct face *f, const struct tree_view_row *r)
{
	buf_putc(f->b, ' ');
	put_node_name(f, r);
	buf_fill(f->b, ' ', 1);
	put_numbers(f, r);
	put_bar_or_unit(f, r);
	put_counted(f, r);
	if (isnan(r->share))
		put_node_why(f, r->metric);
	buf_end_line(f->b);
}

static void put_bottlenecks(struct face *f)
{
	const struct model *m = f->v->source.tree->model;
	struct bottleneck *v = calloc(f->v->n_metrics + 1, sizeof(*v));
	size_t n = 0, of_model = 0;
	bool turns = false;
	double sum = 0;
	char text[NUM_MAX];

	for (size_t i = 0; v && i < f->v->n_metrics; i++)
		if (model_bottleneck_name(&m->metric[f->v->metric[i]]))
			v[n++] = bottleneck_of(f, f->v->metric[i]);
	for (size_t i = 0; i < m->n_metrics; i++)
		of_model += model_bottleneck_name(&m->metric[i]) != NULL;
	f->b->failed |= !v;
	if (n) {
		qsort(v, n, sizeof(*v), by_node_value);
		for (size_t i = 0; i < n; i++) {
			sum += v[i].value;
			turns |= counted_in_turns(&v[i].row);
		}
		buf_put_left(f->b, " bottlenecks, of slots", NAME_WIDTH + 1);
		buf_put_right(f->b, n < of_model || isnan(sum) ? "" : num_percent(text, sum), 8);
		if (turns)
			put_counted_head(f, 8);
		buf_end_line(f->b);
	}
	for (size_t i = 0; i < n; i++)
		put_bottleneck(f, &v[i].row);
	free(v);
}

static const char *safe_name(struct buf *b, const struct model_metric *m, bool ascii)
{
	buf_reset(b);
	text_put_safe(b, m->name, ascii);
	return buf_str(b);
}

/* Names of metrics are long, and often differ at their ends. */
static size_t metric_names(const struct face *f, struct folds *names)
{
	const struct model *model = f->v->source.tree->model;
	size_t width = NAME_WIDTH, most = f->st->width;
	struct buf safe = BUF_INIT;

	for (size_t i = 0; i < f->v->n_metrics; i++) {
		const struct model_metric *m = &model->metric[f->v->metric[i]];

		if (model_bottleneck_name(m))
			continue;
		folds_add(names, safe_name(&safe, m, f->st->ascii), 0);
		if (text_width(buf_str(&safe)) > width)
			width = text_width(buf_str(&safe));
	}
	f->b->failed |= safe.failed;
	buf_free(&safe);
	most = most > NAME_WIDTH + METRIC_VALUE ? most - METRIC_VALUE : NAME_WIDTH;
	if (f->st->width && width > most)
		width = most;
	folds_settle(names, width, f->st->ascii);
	return width;
}

static void put_metrics(struct face *f)
{
	const struct tree *t = f->v->source.tree;
	struct folds names = { 0 };
	struct buf safe = BUF_INIT;
	size_t width;

	if (f->v->n_metrics && f->v->n)
		buf_putc(f->b, '\n');
	put_bottlenecks(f);
	width = metric_names(f, &names);
	for (size_t i = 0; i < f->v->n_metrics; i++) {
		const struct model_metric *m = &t->model->metric[f->v->metric[i]];
		const struct tree_node *n = &t->node[f->v->metric[i]];
		bool told = n->value.why == VALUE_OK && !n->doubt;
		struct buf text = BUF_INIT;

		if (model_bottleneck_name(m))
			continue;
		if (told)
			tree_put_metric(&text, m, n);
		buf_putc(f->b, ' ');
		text_put_fit(f->b, folds_get(&names, safe_name(&safe, m, f->st->ascii), 0), width,
			     TEXT_LEFT, true, f->st->ascii);
		buf_putc(f->b, ' ');
		buf_put_right(f->b, told ? buf_str(&text) : n->doubt ? "?" : "-", 12);
		if (told && n->error > 0 && fabs(n->value.v) > 0)
			buf_printf(f->b, " +-%.1f %%", 100 * n->error / fabs(n->value.v));
		if (!told)
			put_node_why(f, f->v->metric[i]);
		buf_putc(f->b, '\n');
		buf_free(&text);
	}
	buf_free(&safe);
	folds_free(&names, f->b);
}

static void put_formula(struct face *f, uint32_t metric, const char *name)
{
	const char *formula = f->v->source.formula ? f->v->source.formula[metric] : NULL;
	const struct model_metric *m = &f->v->source.tree->model->metric[metric];

	if (!formula)
		return;
	buf_putc(f->b, ' ');
	text_put_safe(f->b, name, f->st->ascii);
	buf_puts(f->b, " = ");
	text_put_safe(f->b, formula, f->st->ascii);
	buf_puts(f->b, "\n   by ");
	text_put_safe(f->b, m->file ? m->file : "the model", f->st->ascii);
	buf_printf(f->b, ":%u\n", m->line);
}

static void put_formulas(struct face *f)
{
	if (!f->v->source.formula)
		return;
	buf_putc(f->b, '\n');
	for (size_t i = 0; i < f->v->n; i++)
		if (f->v->row[i].metric != MODEL_NONE)
			put_formula(f, f->v->row[i].metric, f->v->row[i].name);
	for (size_t i = 0; i < f->v->n_metrics; i++)
		put_formula(f, f->v->metric[i],
			    f->v->source.tree->model->metric[f->v->metric[i]].name);
}

static void put_whole(struct buf *b, double slots)
{
	char n[NUM_MAX];

	buf_puts(b, " slots ");
	buf_put_right(b, num_count(n, slots), NAME_WIDTH - 7);
	buf_puts(b, "  100.0 %");
}

/* Behind the label: with one tree, which has none, they are in the head. */
static void put_label_rates(struct face *f)
{
	struct buf rates = BUF_INIT;

	if (f->v && f->v->source.rates)
		tree_view_rates(&rates, f->v->source.rates);
	if (rates.len)
		buf_printf(f->b, "   %s", buf_str(&rates));
	f->b->failed |= rates.failed;
	buf_free(&rates);
}

static void put_node_rows(struct face *f, const struct tree_rows *r, bool first)
{
	if (r->label) {
		buf_puts(f->b, first ? " " : "\n ");
		text_put_safe(f->b, r->label, f->st->ascii);
		put_label_rates(f);
		buf_putc(f->b, '\n');
	}
	for (size_t i = 0; i < r->n; i++) {
		f->in_turns |= counted_in_turns(&r->row[i]);
		f->open |= counted_in_turns(&r->row[i]) && !isnan(r->row[i].open);
	}
	if (r->n && r->whole > 0)
		put_whole(f->b, r->whole);
	else if (f->in_turns)
		buf_fill(f->b, ' ', NAME_WIDTH + 9);
	if (f->in_turns)
		put_counted_head(f, 7 + 1);
	if (f->in_turns || (r->n && r->whole > 0))
		buf_putc(f->b, '\n');
	for (size_t i = 0; i < r->n; i++)
		put_node_row(f, &r->row[i]);
}

static void put_untold(const struct face *f)
{
	if (!f->untold)
		return;
	buf_puts(f->b, " +-? no error bar: ");
	text_put_safe(f->b, f->no_error, f->st->ascii);
	buf_putc(f->b, '\n');
}

void tree_put_rows(struct buf *b, const struct tree_rows *r, const char *why,
		   const struct style *st, bool first)
{
	struct face f = { .b = b, .st = st };

	put_node_rows(&f, r, first);
	buf_puts(b, why);
	put_untold(&f);
}

static void put_term_view(struct buf *b, const struct tree_view *v, const struct style *st,
			  bool first)
{
	const struct tree_rows rows = { v->source.label, v->source.whole, v->row, v->n };
	struct face f = { .b = b, .v = v, .st = st };

	put_node_rows(&f, &rows, first);
	put_metrics(&f);
	put_why_rows(&f);
	if (f.open)
		buf_puts(b, " open: the share (%) while it was counted; first that of the run\n");
	put_untold(&f);
	put_formulas(&f);
}

void tree_put_views(struct buf *out, const struct tree_report *r, const struct style *st)
{
	for (size_t i = 0; i < r->n_views; i++)
		put_term_view(out, &r->view[i], st, !i);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void tree_put_line(struct buf *b, const char *text, const struct style *st)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, text, st->ascii);
	buf_putc(b, ' ');
	text_put_wrapped(b, buf_str(&safe), 1, st->width);
	buf_putc(b, '\n');
	b->failed |= safe.failed;
	buf_free(&safe);
}

void tree_put_head(struct buf *b, const struct count_head *h, const struct style *st)
{
	struct buf line = BUF_INIT, safe = BUF_INIT;

	count_head_command(&line, h);
	text_put_safe(&safe, buf_str(&line), st->ascii);
	buf_putc(b, ' ');
	style_ink(b, st, INK_BOLD);
	if (text_width(buf_str(&safe)) > COMMAND_WIDTH)
		text_put_fit(b, buf_str(&safe), COMMAND_WIDTH, TEXT_LEFT, false, st->ascii);
	else
		buf_puts(b, buf_str(&safe));
	style_ink(b, st, INK_PLAIN);
	buf_putc(b, '\n');
	buf_reset(&line);
	count_head_times(&line, h);
	tree_put_line(b, buf_str(&line), st);
	b->failed |= line.failed | safe.failed;
	buf_free(&line);
	buf_free(&safe);
}

void tree_put_notes(struct buf *b, const struct count_head *h, const struct style *st)
{
	for (size_t i = 0; i < h->n_notes; i++)
		tree_put_line(b, h->notes[i], st);
}

/* Tables behind the trees that are as in other documents. */
static int put_beside_tree(struct buf *b, const struct document *d, const struct show *s,
			   struct err *err)
{
	const struct tree_report *r = d->ctx;
	const struct table_form *const form[] = { &counts_beside_form, &counts_shown_form };

	for (size_t i = 0; r->beside && i < sizeof(form) / sizeof(*form); i++) {
		struct show one = *s;

		if (!counts_beside_shown(r->beside, !i))
			continue;
		one.table = form[i]->name;
		if (format_term(b, d, &one, err))
			return -1;
	}
	return 0;
}

/* The document is the report's, or of a table that people asked for by name. */
int tree_write_term(struct buf *b, const struct document *d, const struct show *s, struct err *err)
{
	const struct tree_report *r = d->ctx;
	bool interval = !isnan(r->head.time);

	if (s->table)
		return format_term(b, d, s, err);
	if (r->head.end) {
		tree_put_notes(b, &r->head, &s->style);
		return 0;
	}
	if (interval && r->rows && tree_interval_fits(r, &s->style)) {
		tree_put_interval(b, r, s);
		return 0;
	}
	if (interval) {
		buf_put_fixed(b, r->head.time, 3, 10);
		buf_puts(b, " s\n");
	} else {
		tree_put_head(b, &r->head, &s->style);
		if (r->cpu && *r->cpu)
			tree_put_line(b, r->cpu, &s->style);
		buf_putc(b, '\n');
	}
	tree_put_views(b, r, &s->style);
	if (put_beside_tree(b, d, s, err))
		return -1;
	if (interval)
		return 0;
	if (r->verbose || (r->n_views && r->view[0].source.formula))
		tree_term_latencies(b, r, &s->style);
	if (r->n_next && !s->quiet) {
		buf_putc(b, '\n');
		next_put(b, r->next, r->n_next, &s->style);
	} else if (r->head.n_notes) {
		buf_putc(b, '\n');
	}
	tree_put_notes(b, &r->head, &s->style);
	return 0;
}
