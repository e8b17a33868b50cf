/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles as people read it: the rows by the branches that matter, as many as fit;
 * then the tree of all of it, what it rests on, and the next command.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/account/account_int.h"

#define COLUMNS_MAX 64
#define HEADS	    3 /* lines of a heading */
#define WORD_MAX    13
#define NAMES_LEAST 26 /* columns that names keep, whatever is to be shown */
#define FACTS	    64
#define RAN_WIDTH   8 /* of each column of branch records */
#define LABEL	    16

struct account_page {
	struct buf *out;
	struct account_view *v;
	const struct style *st;
	struct {
		uint32_t node;
		unsigned width;
		char head[HEADS][WORD_MAX + 4];
	} col[COLUMNS_MAX];
	size_t n_cols, left_out;
	bool ran;	/* columns of branch records follow */
	unsigned names; /* where names begin */
	bool mark[128]; /* marks that were used, for the legend */
	struct buf cell;
};

static const struct account *acc_of(const struct account_page *p)
{
	return p->v->source.bound->acc;
}

/* ---- headings ---- */

/* The parts of a name, one a line, the last ones together where there are more. Nesting is shown by
 * dots before the first. */
static void make_head(struct account_page *p, size_t c, const char *name, unsigned indent)
{
	unsigned line = 0, width = 6;

	memset(p->col[c].head, 0, sizeof(p->col[c].head));
	while (*name && line < HEADS) {
		size_t len = strcspn(name, "_"), at = 0;
		char *out = p->col[c].head[line];

		for (unsigned i = 0; !line && i < indent && i < 3; i++)
			out[at++] = '.';
		if (len > WORD_MAX)
			len = WORD_MAX;
		memcpy(out + at, name, len);
		if (at + len > width)
			width = (unsigned)(at + len);
		name += strcspn(name, "_");
		name += *name == '_';
		line++;
	}
	/* the words stand at the bottom */
	for (; line && line < HEADS; line++) {
		memmove(p->col[c].head[1], p->col[c].head[0],
			sizeof(p->col[c].head[0]) * (HEADS - 1));
		memset(p->col[c].head[0], 0, sizeof(p->col[c].head[0]));
	}
	p->col[c].width = width;
}

static void note_marks(struct account_page *p, const char *s)
{
	for (; *s; s++)
		if (strchr("~>?^-", *s) && !(*s == '-' && s[1]))
			p->mark[(unsigned char)*s] = true;
}

static unsigned cell_width(struct account_page *p, uint32_t node, const struct account_row *r)
{
	const struct account_cell *c = account_view_cells(p->v, r);

	buf_reset(&p->cell);
	account_put_cell(&p->cell, p->v, node, &c[node], c[0].v);
	return (unsigned)text_width(buf_str(&p->cell));
}

static void choose_columns(struct account_page *p)
{
	struct account_view *v = p->v;
	unsigned width = 1 + 7;

	for (size_t i = 0; i < v->n_columns && p->n_cols < COLUMNS_MAX; i++) {
		size_t c = p->n_cols;
		uint32_t node = v->column[i];
		size_t rows = v->n_rows < 40 ? v->n_rows : 40;

		make_head(p, c, acc_of(p)->node[node].name, v->indent[i]);
		for (size_t r = 0; r < rows; r++) {
			unsigned w = cell_width(p, node, &v->row[r]);

			if (w > p->col[c].width)
				p->col[c].width = w;
		}
		if (p->st->width && width + 2 + p->col[c].width + NAMES_LEAST > p->st->width) {
			p->left_out = v->n_columns - i;
			break;
		}
		p->col[c].node = node;
		width += 2 + p->col[c].width;
		p->n_cols++;
	}
	if (v->source.rans && v->source.rans->n) {
		unsigned more = ACCOUNT_RAN_COLUMNS * (2 + RAN_WIDTH);

		p->ran = !p->st->width || width + more + NAMES_LEAST <= p->st->width;
		if (p->ran)
			width += more;
		else
			p->left_out += ACCOUNT_RAN_COLUMNS;
	}
	p->names = width + 2;
}

static void put_ran_heads(struct account_page *p, unsigned line)
{
	static const char *const head[HEADS][ACCOUNT_RAN_COLUMNS] = {
		[HEADS - 1] = { "insns", "callers", "callees" }
	};

	for (unsigned k = 0; p->ran && k < ACCOUNT_RAN_COLUMNS; k++) {
		buf_fill(p->out, ' ', 2);
		text_put_fit(p->out, head[line][k] ? head[line][k] : "", RAN_WIDTH, TEXT_RIGHT,
			     false, true);
	}
}

static void put_ran(struct account_page *p, const struct account_row *r)
{
	const struct account_ran *x = account_view_ran(p->v, r);

	for (unsigned k = 0; p->ran && k < ACCOUNT_RAN_COLUMNS; k++) {
		buf_reset(&p->cell);
		account_put_ran(&p->cell, x, k);
		buf_fill(p->out, ' ', 2);
		text_put_fit(p->out, buf_str(&p->cell), RAN_WIDTH, TEXT_RIGHT, false, p->st->ascii);
	}
}

static void put_heads(struct account_page *p)
{
	style_ink(p->out, p->st, INK_BOLD);
	for (unsigned line = 0; line < HEADS; line++) {
		bool any = line + 1 == HEADS;

		for (size_t c = 0; c < p->n_cols; c++)
			any |= p->col[c].head[line][0] != '\0';
		if (!any)
			continue;
		buf_putc(p->out, ' ');
		text_put_fit(p->out, line + 1 == HEADS ? "cycles" : "", 7, TEXT_RIGHT, false, true);
		for (size_t c = 0; c < p->n_cols; c++) {
			buf_fill(p->out, ' ', 2);
			text_put_fit(p->out, p->col[c].head[line], p->col[c].width, TEXT_RIGHT,
				     false, p->st->ascii);
		}
		put_ran_heads(p, line);
		if (line + 1 == HEADS)
			buf_puts(p->out, "  where");
		buf_end_line(p->out);
	}
	style_ink(p->out, p->st, INK_PLAIN);
}

/* ---- rows ---- */

/* The last key first: it says most. Nested rows say but their own, since the others stand above. */
static void put_names(struct account_page *p, const struct account_row *r)
{
	const struct profile_opts *o = profile_options(p->v->source.profile);
	unsigned room = p->st->width > p->names ? p->st->width - p->names : 0;
	struct buf key = BUF_INIT;

	buf_reset(&p->cell);
	buf_fill(&p->cell, ' ', 2 * (size_t)r->depth);
	if (!r->row)
		buf_printf(&p->cell,
			   r->left_out ? "(left out by --focus or --hide)" : "(%llu more)",
			   (unsigned long long)r->folded);
	for (size_t k = o->n_keys, first = k; r->row && k-- > 0;) {
		if (p->v->opts.nested && k != r->depth)
			continue;
		buf_reset(&key);
		account_put_key(&key, p->v, r, k);
		if (!p->v->opts.nested && k + 1 != first)
			buf_puts(&p->cell, "  ");
		text_put_safe(&p->cell, buf_str(&key), p->st->ascii);
	}
	if (room && text_width(buf_str(&p->cell)) > room)
		text_put_fit(p->out, buf_str(&p->cell), room, TEXT_LEFT, false, p->st->ascii);
	else
		buf_puts(p->out, buf_str(&p->cell));
	p->out->failed |= key.failed;
	buf_free(&key);
}

static void put_row(struct account_page *p, const struct account_row *r)
{
	const struct account_cell *c = account_view_cells(p->v, r);
	double all = p->v->source.bound->whole[0].v;
	char num[NUM_MAX];

	buf_putc(p->out, ' ');
	text_put_fit(p->out, all > 0 ? num_percent(num, c[0].v / all) : "?", 7, TEXT_RIGHT, false,
		     true);
	for (size_t i = 0; i < p->n_cols; i++) {
		const struct account_cell *x = &c[p->col[i].node];
		bool dim = !x->significant;

		buf_reset(&p->cell);
		account_put_cell(&p->cell, p->v, p->col[i].node, x, c[0].v);
		note_marks(p, buf_str(&p->cell));
		buf_fill(p->out, ' ', 2);
		if (dim)
			style_ink(p->out, p->st, INK_DIM);
		text_put_fit(p->out, buf_str(&p->cell), p->col[i].width, TEXT_RIGHT, false,
			     p->st->ascii);
		if (dim)
			style_ink(p->out, p->st, INK_PLAIN);
	}
	put_ran(p, r);
	buf_puts(p->out, "  ");
	put_names(p, r);
	buf_end_line(p->out);
}

static const char *unit_text(const struct account_view *v)
{
	return v->opts.unit == ACCOUNT_CYCLES ? "in cycles"
	       : v->opts.unit == ACCOUNT_SAMPLES
		       ? "in samples"
		       : "in per cent of the row's own cycles; they overlap, and need not add up";
}

static void put_legend(struct account_page *p)
{
	static const struct {
		char mark;
		const char *text;
	} legend[] = {
		{ '~', "~ too few samples to tell it from nothing" },
		{ '>', "> at least: parts of it were not recorded" },
		{ '?', "? another event says otherwise" },
		{ '^', "^ overlaps: more than what holds it" },
		{ '-', "- not measured" },
	};
	size_t width = 0, most = p->st->width ? p->st->width : 100;

	for (size_t i = 0; i < sizeof(legend) / sizeof(legend[0]); i++) {
		size_t n = strlen(legend[i].text);

		if (!p->mark[(unsigned char)legend[i].mark])
			continue;
		if (width && width + n + 3 > most) {
			buf_putc(p->out, '\n');
			width = 0;
		}
		buf_puts(p->out, width ? "   " : " ");
		buf_puts(p->out, legend[i].text);
		width += n + 3;
	}
	if (width)
		buf_putc(p->out, '\n');
	if (p->ran && p->v->source.rans->late)
		buf_puts(p->out, " insns~ no error bar: samples of the branch records' event come "
				 "late by an unknown number of cycles\n");
}

static void put_rows(struct account_page *p)
{
	buf_printf(p->out, " %s\n\n", unit_text(p->v));
	put_heads(p);
	for (size_t i = 0; i < p->v->n_rows; i++)
		put_row(p, &p->v->row[i]);
	buf_putc(p->out, '\n');
	put_legend(p);
	if (p->left_out)
		buf_printf(p->out,
			   " %zu more column%s: a wider screen, --expand NODE or --format csv\n",
			   p->left_out, p->left_out == 1 ? "" : "s");
	if (p->left_out || p->n_cols)
		buf_putc(p->out, '\n');
}

/* ---- the tree ---- */

static bool has_shown_child(const struct account_page *p, uint32_t node, uint32_t after)
{
	const struct account *acc = acc_of(p);

	for (uint32_t i = after + 1; i < acc->n; i++)
		if (acc->node[i].parent == node && account_shows(p->v, i))
			return true;
	return false;
}

static void put_branch(struct account_page *p, uint32_t node, bool last, unsigned depth)
{
	static const char *const glyphs[2][4] = {
		{ "\xe2\x94\x82 ", "\xe2\x94\x9c ", "\xe2\x94\x94 ", "  " },
		{ "| ", "|-", "`-", "  " },
	};
	const char *const *g = glyphs[p->st->ascii];
	const struct account *acc = acc_of(p);
	uint32_t up[16];
	unsigned n = 0;

	for (uint32_t i = acc->node[node].parent; i != MODEL_NONE && n < 16;
	     i = acc->node[i].parent)
		up[n++] = i;
	for (unsigned i = n; i-- > 1;)
		buf_puts(&p->cell, has_shown_child(p, up[i], up[i - 1]) ? g[0] : g[3]);
	if (depth)
		buf_puts(&p->cell, last ? g[2] : g[1]);
}

static void put_node(struct account_page *p, uint32_t node)
{
	const struct account_node *t = &acc_of(p)->node[node];
	const struct account_cell *c = &p->v->source.bound->whole[node];
	double all = p->v->source.bound->whole[0].v;
	char num[NUM_MAX];
	bool dim = isnan(c->v) || !c->significant;

	buf_reset(&p->cell);
	put_branch(p, node, t->parent == MODEL_NONE || !has_shown_child(p, t->parent, node),
		   t->depth);
	buf_puts(&p->cell, t->name);
	buf_putc(p->out, ' ');
	if (dim)
		style_ink(p->out, p->st, INK_DIM);
	text_put_fit(p->out, buf_str(&p->cell), 30, TEXT_LEFT, false, p->st->ascii);
	if (isnan(c->v)) {
		buf_printf(p->out, "  not measured: %s",
			   t->part == PART_HALTED && c->why == ACCOUNT_UNKNOWN
				   ? "only whole CPUs tell (record -a)"
				   : account_why_text(c->why));
		goto out;
	}
	buf_reset(&p->cell);
	if (!c->significant && (c->v != 0 || c->samples))
		buf_putc(&p->cell, '~');
	if (c->why == ACCOUNT_PARTS)
		buf_putc(&p->cell, '>');
	if (t->cycles)
		buf_printf(&p->cell, "%.1f %%", 100 * c->v / all);
	buf_puts(&p->cell, c->disagrees ? "?" : "");
	buf_puts(&p->cell, c->overlap ? "^" : "");
	note_marks(p, buf_str(&p->cell));
	text_put_fit(p->out, buf_str(&p->cell), 10, TEXT_RIGHT, false, true);
	buf_reset(&p->cell);
	if (t->cycles && isnan(c->half))
		buf_puts(&p->cell, "+-?");
	else if (t->cycles && (node || p->v->opts.all))
		buf_printf(&p->cell, "+-%.1f", 100 * c->half / all);
	buf_putc(p->out, ' ');
	text_put_fit(p->out, buf_str(&p->cell), 7, TEXT_LEFT, false, true);
	if (!t->cycles && fabs(c->v) < 1000 && c->v != floor(c->v))
		buf_printf(p->out, " %10.3g", c->v);
	else
		buf_printf(p->out, " %10s", num_count(num, c->v));
	if (!t->cycles)
		buf_printf(p->out, " %s", t->unit);
	else if (t->cover == COVER_PROFILE)
		buf_puts(p->out, "  poor by line");
	else if (t->cover == COVER_PARTIAL)
		buf_puts(p->out, "  partly or roughly");
out:
	if (dim)
		style_ink(p->out, p->st, INK_PLAIN);
	buf_end_line(p->out);
}

/* What the paper's figure has: the whole, halted and not, stalled and not; each with its
 * branches. */
static void put_tree(struct account_page *p)
{
	static const enum account_part parts[] = { PART_CYCLES, PART_HALTED, PART_STALLED,
						   PART_UNSTALLED, PART_INFO };
	static const char *const titles[] = { "all of the recording", NULL,
					      "stalled: cycles without progress",
					      "unstalled: cycles with progress", "beside" };
	const struct account *acc = acc_of(p);

	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
		bool headed = false;
		uint32_t root = 0;

		for (uint32_t i = 0; i < acc->n; i++) {
			if (acc->node[i].parent == MODEL_NONE)
				root = i;
			if (acc->node[root].part != parts[k] || !account_shows(p->v, i) ||
			    (parts[k] == PART_INFO && !p->v->opts.all))
				continue;
			if (!headed && titles[k]) {
				style_ink(p->out, p->st, INK_BOLD);
				buf_printf(p->out, " %s", titles[k]);
				style_ink(p->out, p->st, INK_PLAIN);
				buf_putc(p->out, '\n');
			}
			headed = true;
			put_node(p, i);
		}
	}
	buf_putc(p->out, '\n');
}

/* ---- facts ---- */

static void put_fact(struct account_page *p, const char *label, const char *text)
{
	size_t width = p->st->width > LABEL + 20 ? p->st->width - 1 : LABEL + 200;

	buf_printf(p->out, " %-*s", LABEL - 1, label);
	text_put_wrapped(p->out, text, LABEL, width);
	buf_putc(p->out, '\n');
}

static bool is_used(struct account_view *const *v, size_t n, size_t event)
{
	for (size_t i = 0; i < n; i++)
		if (account_uses(v[i]->source.bound, event))
			return true;
	return false;
}

static void put_events(struct buf *b, struct account_view *const *v, size_t n_views,
		       const struct style *st)
{
	const struct mux_event *m = NULL;
	size_t n = 0;
	char num[NUM_MAX];

	if (v[0]->source.mux)
		m = mux_events(v[0]->source.mux, &n);
	buf_puts(b, "\n    samples  weighed by (least, most)  event\n");
	for (size_t e = 0; e < v[0]->n_events; e++) {
		buf_printf(b, " %10s", num_exact(num, v[0]->whole[e].samples));
		if (m && m[e].told)
			buf_printf(b, "  %7.3f %8.3f %8.3f  ", m[e].mean, m[e].least, m[e].most);
		else
			buf_printf(b, "  %25s  ", "not told");
		text_put_safe(b, v[0]->source.view->event[e].name, st->ascii);
		if (!is_used(v, n_views, e))
			buf_puts(b, "  (not in a tree)");
		buf_putc(b, '\n');
	}
}

static void put_title(struct account_page *p)
{
	const struct account *acc = acc_of(p);
	char cycles[NUM_MAX], samples[NUM_MAX];
	size_t e = (size_t)p->v->source.bound->event[acc->node[0].event];

	buf_printf(p->out, " %s cycles, %s samples of them; account of %s",
		   num_count(cycles, p->v->source.bound->whole[0].v),
		   num_exact(samples, p->v->whole[e].samples), acc->model->title);
	if (p->v->source.pmu)
		buf_printf(p->out, " (%s)", p->v->source.pmu);
	buf_putc(p->out, '\n');
}

static void put_view(struct buf *b, struct account_view *v, const struct style *st)
{
	struct account_page p = { .out = b, .v = v, .st = st };
	const char *label[FACTS], *text[FACTS];
	struct arena a = ARENA_INIT;
	size_t n;

	put_title(&p);
	if (v->source.bound->whole[0].v > 0) {
		choose_columns(&p);
		put_rows(&p);
		put_tree(&p);
	} else {
		buf_puts(b, " nothing to account for: a branch is a share of the cycles\n\n");
	}
	n = account_view_facts(v, &a, label, text, FACTS);
	for (size_t i = 0; i < n; i++)
		put_fact(&p, label[i], text[i]);
	b->failed |= p.cell.failed;
	buf_free(&p.cell);
	arena_free(&a);
}

void account_term(struct buf *b, struct account_view *const *v, size_t n, const struct style *st)
{
	struct next next[NEXT_MAX];
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(b, '\n');
		put_view(b, v[i], st);
	}
	if (v[0]->opts.all)
		put_events(b, v, n, st);
	if (!v[0]->opts.quiet) {
		buf_putc(b, '\n');
		next_put(b, next, account_next(account_view_most(v, n), next, &a), st);
	}
	arena_free(&a);
}
