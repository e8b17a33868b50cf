/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_account - the account of a function's cycles, by line and instruction: the leaves of the
 * account that matter most for the function, in shares of the function's own cycles. (Of an
 * instruction's own cycles they would mean little: a load is sampled at its own address, the cycles
 * that it cost some instructions behind.)
 */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

#define WORDS 3
#define LARGE 0.01 /* of the function's cycles: a leaf that is worth a column */
#define CELL  (ANNOTATE_ACCOUNT_WIDTH - 1)

static const struct account *line_account_acc_of(const struct annotate *a)
{
	return a->account->bound->acc;
}

/* ---- rows of lines and instructions ---- */

static void add_line_account_row(struct annotate_account *x, const struct profile_row *r)
{
	profile_tallies(r, x->n_events, x->tally);
}

static void evaluate_line(struct annotate_account *x, struct account_cell *out)
{
	x->at = SIZE_MAX;
	account_row(x->bound, x->tally, out);
	memset(x->tally, 0, x->n_events * sizeof(*x->tally));
}

static void find_rows(struct annotate *a, const struct profile *p, struct images *images)
{
	struct annotate_account *x = a->account;
	const struct profile_row *row;
	size_t n, k = 0;

	row = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++)
		x->n_rows += row[i].symbol == a->target.symbol && row[i].image == a->target.image;
	x->row = arena_xalloc(&a->arena, (x->n_rows + 1) * sizeof(struct profile_row *));
	x->next = arena_xalloc(&a->arena, (x->n_rows + 1) * sizeof(*x->next));
	x->first = arena_xalloc(&a->arena, (a->insn.n + 1) * sizeof(*x->first));
	for (size_t i = 0; i < n; i++) {
		uint64_t vaddr;
		size_t at;

		if (row[i].symbol != a->target.symbol || row[i].image != a->target.image)
			continue;
		if (!image_to_vaddr(images, a->target.image, row[i].key[2], &vaddr))
			vaddr = row[i].key[2];
		at = annotate_insn_at(a, vaddr);
		x->row[k] = &row[i];
		add_line_account_row(x, &row[i]);
		if (at != SIZE_MAX) {
			x->next[k] = x->first[at];
			x->first[at] = (uint32_t)k + 1;
		}
		k++;
	}
	evaluate_line(x, x->all);
	evaluate_line(x, x->none);
}

/* ---- which columns ---- */

static bool has_parts(const struct account *acc, uint32_t node)
{
	for (size_t i = node + 1; i < acc->n; i++)
		if (acc->node[i].parent == node && acc->node[i].adds)
			return true;
	return false;
}

/* Returns true for a part of a branch, or a branch without parts; not for the halves of the
 * whole. */
static bool is_leaf(const struct account *acc, uint32_t node)
{
	const struct account_node *t = &acc->node[node];

	if (!node || !t->cycles || t->whole || has_parts(acc, node))
		return false;
	if (t->parent != MODEL_NONE) {
		for (; t->parent != MODEL_NONE; t = &acc->node[t->parent])
			if (!t->adds)
				return false;
		return true;
	}
	return (t->part == PART_STALLED || t->part == PART_UNSTALLED) &&
	       strcmp(t->name, "Stalled") != 0 && strcmp(t->name, "Unstalled") != 0;
}

static void choose_line_account_columns(struct annotate *a)
{
	struct annotate_account *x = a->account;
	const struct account *acc = line_account_acc_of(a);
	double all = x->all[0].v;

	for (size_t k = 0; k < ANNOTATE_ACCOUNT_MAX; k++) {
		uint32_t best = MODEL_NONE;

		for (uint32_t i = 0; i < acc->n; i++) {
			bool taken = false;

			for (size_t c = 0; c < x->n_columns; c++)
				taken |= x->column[c] == i;
			if (taken || !is_leaf(acc, i) || !x->all[i].significant ||
			    !(x->all[i].v >= LARGE * all))
				continue;
			if (best == MODEL_NONE || x->all[i].v > x->all[best].v)
				best = i;
		}
		if (best == MODEL_NONE)
			return;
		x->column[x->n_columns++] = best;
	}
}

static int take_columns(struct annotate *a, const char *const *node, size_t n, struct err *err)
{
	struct annotate_account *x = a->account;
	const struct account *acc = line_account_acc_of(a);

	for (size_t i = 0; i < n && x->n_columns < ANNOTATE_ACCOUNT_MAX; i++) {
		uint32_t at = account_find(acc, node[i], strlen(node[i]));

		if (at == MODEL_NONE) {
			(void)err_set(err, ERR_USAGE, "the account of %s has no node '%.60s'",
				      acc->model->title, node[i]);
			return err_hint(err, "cyclade report --account -v lists them");
		}
		x->column[x->n_columns++] = at;
	}
	return 0;
}

int annotate_account(struct annotate *a, const struct profile *p, struct images *images,
		     const struct account_bound *bound, const char *const *node, size_t n,
		     struct err *err)
{
	struct annotate_account *x = arena_xalloc(&a->arena, sizeof(*x));

	x->bound = bound;
	(void)profile_sums(p, &x->n_events);
	x->all = arena_xalloc(&a->arena, (bound->acc->n + 1) * sizeof(*x->all));
	x->none = arena_xalloc(&a->arena, (bound->acc->n + 1) * sizeof(*x->none));
	x->cell = arena_xalloc(&a->arena, (bound->acc->n + 1) * sizeof(*x->cell));
	x->tally = arena_xalloc(&a->arena, (x->n_events + 1) * sizeof(*x->tally));
	a->account = x;
	find_rows(a, p, images);
	if (n)
		return take_columns(a, node, n, err);
	choose_line_account_columns(a);
	return 0;
}

/* ---- cells ---- */

static void add_insns(const struct annotate *a, size_t first, size_t last)
{
	struct annotate_account *x = a->account;

	for (size_t i = first; i < last; i++)
		for (uint32_t k = x->first[i]; k; k = x->next[k - 1])
			add_line_account_row(x, x->row[k - 1]);
}

const struct account_cell *annotate_account_of(const struct annotate *a, size_t first, size_t last)
{
	struct annotate_account *x = a->account;
	bool any = false;

	for (size_t i = first; i < last && !any; i++)
		any = x->first[i];
	if (!any)
		return x->none;
	if (x->at != first || last != first + 1) {
		add_insns(a, first, last);
		evaluate_line(x, x->cell);
		x->at = last == first + 1 ? first : SIZE_MAX;
	}
	return x->cell;
}

void annotate_account_put(struct buf *b, const struct annotate *a, uint32_t node,
			  const struct account_cell *c)
{
	double all = a->account->all[0].v;
	char num[NUM_MAX];

	if (isnan(c->v)) {
		buf_putc(b, '-');
		return;
	}
	if (!c->samples)
		return;
	if (!c->significant)
		buf_putc(b, '~');
	if (!line_account_acc_of(a)->node[node].cycles || !(all > 0))
		buf_puts(b, num_count(num, c->v));
	else
		buf_printf(b, "%.1f", 100 * c->v / all);
	if (c->disagrees || c->failed != MODEL_NONE)
		buf_putc(b, '?');
}

/* ---- the terminal ---- */

/* As many as leave room for the instructions. */
static size_t n_columns(const struct annotate *a, const struct style *st)
{
	size_t n = a->account ? a->account->n_columns : 0;

	size_t most = !st->width || st->width >= 110 ? 4 : st->width >= 96 ? 3 : 2;

	return n < most ? n : most;
}

size_t annotate_account_width(const struct annotate *a, const struct style *st)
{
	return n_columns(a, st) * ANNOTATE_ACCOUNT_WIDTH;
}

/* Word `line` of a name, words standing at the bottom of WORDS lines. */
static void put_line_account_word(struct buf *b, const char *name, unsigned line)
{
	unsigned words = 1, skip;
	char word[CELL + 1] = "";
	size_t len;

	for (const char *s = name; *s; s++)
		words += *s == '_';
	if (words > WORDS)
		words = WORDS;
	if (line + words >= WORDS) {
		for (skip = line + words - WORDS; skip; skip--)
			name += strcspn(name, "_") + 1;
		len = strcspn(name, "_");
		memcpy(word, name, len < CELL ? len : CELL);
	}
	text_put_fit(b, word, ANNOTATE_ACCOUNT_WIDTH, TEXT_RIGHT, false, true);
}

void annotate_account_head(struct buf *out, const struct annotate *a, const struct style *st,
			   unsigned line)
{
	for (size_t i = 0; i < n_columns(a, st); i++)
		put_line_account_word(out, line_account_acc_of(a)->node[a->account->column[i]].name,
				      line);
}

static void put_line_account_cells(struct buf *out, const struct annotate *a,
				   const struct style *st, const struct account_cell *c)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < n_columns(a, st); i++) {
		uint32_t node = a->account->column[i];

		buf_reset(&b);
		annotate_account_put(&b, a, node, &c[node]);
		if (!c[node].significant)
			style_ink(out, st, INK_DIM);
		text_put_fit(out, buf_str(&b), ANNOTATE_ACCOUNT_WIDTH, TEXT_RIGHT, false, true);
		if (!c[node].significant)
			style_ink(out, st, INK_PLAIN);
	}
	buf_free(&b);
}

void annotate_account_cells(struct buf *out, const struct annotate *a, const struct style *st,
			    size_t first, size_t last)
{
	if (n_columns(a, st))
		put_line_account_cells(out, a, st, annotate_account_of(a, first, last));
}

void annotate_account_line(struct buf *out, const struct annotate *a, const struct style *st,
			   const struct source_line *l)
{
	if (!n_columns(a, st))
		return;
	for (size_t i = 0; i < a->insn.n; i++)
		if (same_line(&a->insn.v[i].line, l))
			add_insns(a, i, i + 1);
	evaluate_line(a->account, a->account->cell);
	put_line_account_cells(out, a, st, a->account->cell);
}

/* "Load_Latency 41.2 %, Branch_Misprediction 8.1 %" */
void annotate_account_sum(struct buf *out, const struct annotate *a)
{
	const struct account *acc;
	size_t shown = 0;
	double all;

	if (!a->account)
		return;
	acc = line_account_acc_of(a);
	all = a->account->all[0].v;
	for (uint32_t i = 1; i < acc->n && all > 0; i++) {
		const struct account_cell *c = &a->account->all[i];
		const struct account_node *t = &acc->node[i];

		if (t->parent != MODEL_NONE || !t->cycles || t->whole || !c->significant ||
		    !strcmp(t->name, "Unstalled") || c->v < LARGE * all ||
		    (t->part != PART_STALLED && t->part != PART_UNSTALLED))
			continue;
		buf_printf(out, "%s%s %s%.1f %%%s", shown++ ? ", " : "", t->name,
			   c->why == ACCOUNT_PARTS ? ">" : "", 100 * c->v / all,
			   c->overlap ? "^" : "");
	}
}
