/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/screen/pager.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define PAGER_NONE UINT32_MAX
enum { PAGER_STEP = 64 }; /* rows from one cursor of the index to the next */

struct pager {
	const struct table *t;
	VEC(struct table_row) index; /* of each PAGER_STEPth row; none if rows are an array */
	struct table_row end;	     /* the last row that is indexed */
	struct table_row near;	     /* the last one that was asked for */
	size_t rows;		     /* indexed */
	bool done;
	uint32_t *order; /* row by line, NULL: as they are; in trees those that are not folded */
	size_t n_order;
	uint32_t *sorted; /* all rows in their order; NULL: as they are */
	struct pager_tree {
		uint32_t *parent, *first, *next; /* by row; first[rows]: of the roots */
		uint16_t *depth;
		bool *open;
	} tree; /* .parent NULL: it is none */
	struct {
		regex_t re;
		bool on, literal, backwards;
		char *text;
		size_t at, left;
		unsigned not_flags;
	} find;
};

/* ---- the index ------------------------------------------------------------------------------- */

static bool is_array(const struct pager *p)
{
	return !p->t->form->next;
}

/* Rows from 2^32 - 1 on have no numbers, and are not shown. */
bool pager_index(struct pager *p, size_t rows)
{
	for (; rows && !p->done; rows--) {
		if (p->rows >= PAGER_NONE || !table_next(p->t, &p->end)) {
			p->done = true;
			break;
		}
		if (p->rows % PAGER_STEP == 0)
			vec_xpush(&p->index, p->end);
		p->rows++;
	}
	return p->done;
}

/* The row of this number. */
static bool pager_row_at(struct pager *p, size_t row, struct table_row *r)
{
	if (row >= p->rows && !p->done)
		(void)pager_index(p, row + 1 - p->rows);
	if (row >= p->rows)
		return false;
	if (is_array(p)) {
		*r = (struct table_row){ .p = (const char *)p->t->array + row * p->t->stride,
					 .i = row };
		return true;
	}
	if (!p->near.p || p->near.i > row || row - p->near.i >= PAGER_STEP)
		p->near = p->index.v[row / PAGER_STEP];
	while (p->near.i < row)
		if (!table_next(p->t, &p->near)) {
			p->near = (struct table_row){ 0 };
			return false;
		}
	*r = p->near;
	return true;
}

const struct table *pager_table(const struct pager *p)
{
	return p->t;
}

size_t pager_lines(const struct pager *p, bool *all)
{
	*all = p->done;
	return p->order ? p->n_order : p->rows;
}

bool pager_row(struct pager *p, size_t line, struct table_row *r)
{
	if (!p->order)
		return pager_row_at(p, line, r);
	return line < p->n_order && pager_row_at(p, p->order[line], r);
}

size_t pager_line_of(const struct pager *p, size_t row)
{
	if (!p->order)
		return row < p->rows ? row : PAGER_NO_LINE;
	for (size_t i = 0; i < p->n_order; i++)
		if (p->order[i] == row)
			return i;
	return PAGER_NO_LINE;
}

/* ---- trees: which rows are lines ------------------------------------------------------------- */

static void list_lines(struct pager *p)
{
	struct pager_tree *t = &p->tree;
	uint32_t row = t->first[p->rows];

	p->n_order = 0;
	while (row != PAGER_NONE) {
		p->order[p->n_order++] = row;
		if (t->open[row] && t->first[row] != PAGER_NONE) {
			row = t->first[row];
			continue;
		}
		while (row != p->rows && t->next[row] == PAGER_NONE)
			row = t->parent[row];
		row = row == p->rows ? PAGER_NONE : t->next[row];
	}
}

/* Links the rows in the order of `sorted`, then lists the lines that are not folded away. */
static void arrange_tree(struct pager *p)
{
	struct pager_tree *t = &p->tree;

	for (size_t i = 0; i <= p->rows; i++)
		t->first[i] = t->next[i] = PAGER_NONE;
	for (size_t i = p->rows; i-- > 0;) {
		uint32_t row = p->sorted ? p->sorted[i] : (uint32_t)i;

		t->next[row] = t->first[t->parent[row]];
		t->first[t->parent[row]] = row;
	}
	list_lines(p);
}

static const struct table_column *id_column(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key) && c[i].kind == T_ID)
			return &c[i];
	return NULL;
}

/* Ids may begin anew if a table has several trees, one after another: the last row with an id has
 * it. */
static void link_rows(struct pager *p, const struct table_column *id,
		      const struct table_column *parent)
{
	struct u64map ids = U64MAP_INIT;
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct table_cell x, y;
	struct table_row r = { 0 };

	for (size_t i = 0; i < p->rows && table_next(p->t, &r); i++) {
		const uint64_t *above;

		table_cell(&x, p->t, id, &r, &a);
		table_cell(&y, p->t, parent, &r, &b);
		above = cell_has(&y) && y.n ? u64map_find(&ids, y.n) : NULL;
		p->tree.parent[i] = above ? (uint32_t)*above : (uint32_t)p->rows;
		if (cell_has(&x))
			*u64map_xat(&ids, x.n, NULL) = i;
	}
	u64map_free(&ids);
	buf_free(&a);
	buf_free(&b);
}

/* Long chains of single children stay where their first is. */
static void indent_rows(struct pager *p)
{
	struct pager_tree *t = &p->tree;

	for (size_t i = 0; i < p->rows; i++) {
		uint32_t above = t->parent[i];
		bool single = above != p->rows && t->next[t->first[above]] == PAGER_NONE &&
			      t->parent[above] != p->rows;

		if (above != p->rows)
			t->depth[i] = (uint16_t)(t->depth[above] +
						 (!single && t->depth[above] < UINT16_MAX));
	}
}

bool pager_is_tree(const struct pager *p)
{
	return p->tree.parent;
}

static bool is_line_of_tree(const struct pager *p, size_t line)
{
	return p->tree.parent && line < p->n_order;
}

struct layout_place pager_place(const struct pager *p, size_t line)
{
	struct layout_place x = { 0 };
	uint32_t row;

	if (!is_line_of_tree(p, line))
		return x;
	row = p->order[line];
	x.depth = p->tree.depth[row];
	x.opens = p->tree.first[row] != PAGER_NONE;
	x.open = p->tree.open[row];
	x.last = p->tree.next[row] == PAGER_NONE;
	return x;
}

void pager_fold(struct pager *p, size_t line, bool open)
{
	if (!is_line_of_tree(p, line))
		return;
	p->tree.open[p->order[line]] = open;
	list_lines(p);
}

void pager_fold_all(struct pager *p, bool open)
{
	if (!p->tree.parent)
		return;
	memset(p->tree.open, open, p->rows * sizeof(*p->tree.open));
	list_lines(p);
}

size_t pager_parent(const struct pager *p, size_t line)
{
	uint32_t above = is_line_of_tree(p, line) ? p->tree.parent[p->order[line]] : PAGER_NONE;

	return above == PAGER_NONE || above == p->rows ? PAGER_NO_LINE : pager_line_of(p, above);
}

void pager_unfold_first(struct pager *p, size_t line)
{
	struct pager_tree *t = &p->tree;

	if (!is_line_of_tree(p, line))
		return;
	for (uint32_t row = p->order[line]; row != PAGER_NONE; row = t->first[row])
		t->open[row] = true;
	list_lines(p);
}

/* ---- opening --------------------------------------------------------------------------------- */

struct pager *pager_open(const struct table *t)
{
	const struct table_column *id = id_column(t, "id"), *parent = id_column(t, "parent");
	struct pager *p = xcalloc(1, sizeof(*p));
	struct pager_tree *tree = &p->tree;
	size_t n;

	p->t = t;
	if (is_array(p)) {
		p->rows = t->n;
		p->done = true;
	}
	if (!id || !parent)
		return p;
	(void)pager_index(p, SIZE_MAX);
	n = p->rows + 1;
	tree->parent = xcalloc(n, sizeof(*tree->parent));
	tree->first = xcalloc(n, sizeof(*tree->first));
	tree->next = xcalloc(n, sizeof(*tree->next));
	tree->depth = xcalloc(n, sizeof(*tree->depth));
	tree->open = xcalloc(n, sizeof(*tree->open));
	p->order = xcalloc(n, sizeof(*p->order));
	link_rows(p, id, parent);
	arrange_tree(p);
	indent_rows(p);
	if (p->n_order)
		pager_unfold_first(p, 0);
	return p;
}

static void find_end(struct pager *p)
{
	if (p->find.on && !p->find.literal)
		regfree(&p->find.re);
	free(p->find.text);
	p->find.text = NULL;
	p->find.on = false;
}

void pager_close(struct pager *p)
{
	if (!p)
		return;
	find_end(p);
	free(p->tree.parent);
	free(p->tree.first);
	free(p->tree.next);
	free(p->tree.depth);
	free(p->tree.open);
	vec_free(&p->index);
	free(p->order);
	free(p->sorted);
	free(p);
}

/* ---- sorting: numbers and the first bytes of texts by radix, alike texts by comparison ------- */

struct sorting {
	struct keyed *v; /* .a: the row; .b: its text */
	size_t n;
	struct buf texts;
	size_t *text; /* by .b: where it begins */
	bool reverse;
};

static bool is_text_kind(enum table_kind kind)
{
	return kind == T_TEXT || kind == T_LIST;
}

static bool goes_up(enum table_kind kind)
{
	return is_text_kind(kind) || kind == T_ID || kind == T_ADDRESS;
}

/* In the order of the number. */
static uint64_t key_of_real(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of_text(const char *s)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < 8; i++) {
		key = key << 8 | (unsigned char)*s;
		s += *s != 0;
	}
	return key;
}

static uint64_t sort_key_of(const struct table_cell *x)
{
	switch (x->kind) {
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		return key_of_real(x->e.v);
	case T_SIGNED:
		return (uint64_t)x->i ^ (uint64_t)1 << 63;
	default:
		return x->n;
	}
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
	const struct keyed *x = a, *y = b;
	const struct sorting *s = ctx;
	int by = strcmp(s->texts.s + s->text[x->b], s->texts.s + s->text[y->b]);

	return by ? (s->reverse ? -by : by) : (x->a > y->a) - (x->a < y->a);
}

static void sort_alike_texts(struct sorting *s)
{
	for (size_t from = 0, to; from < s->n; from = to) {
		for (to = from + 1; to < s->n && s->v[to].key == s->v[from].key; to++)
			;
		if (to - from > 1)
			qsort_r(s->v + from, to - from, sizeof(*s->v), compare_texts, s);
	}
}

/* The rows in their order into p->sorted: those without a value last, as they stand. A cell of
 * another kind than its column's (a fold's name in place of a number) has none. */
static void sort_rows(struct pager *p, const struct table_column *c, bool reverse)
{
	const bool text = is_text_kind(c->kind);
	struct sorting s = { .reverse = goes_up(c->kind) == reverse };
	struct keyed *scratch = xcalloc(p->rows, sizeof(*scratch));
	uint32_t *none = xcalloc(p->rows, sizeof(*none));
	struct buf cell = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell x;
	size_t n_none = 0;

	s.v = xcalloc(p->rows, sizeof(*s.v));
	s.text = xcalloc(text ? p->rows : 0, sizeof(*s.text));
	if (!p->sorted)
		p->sorted = xcalloc(p->rows, sizeof(*p->sorted));
	for (uint32_t i = 0; i < p->rows && pager_row_at(p, i, &r); i++) {
		uint64_t key;

		table_cell(&x, p->t, c, &r, &cell);
		if (!cell_has(&x) || is_text_kind(x.kind) != text) {
			none[n_none++] = i;
			continue;
		}
		if (text) {
			s.text[s.n] = s.texts.len;
			cell_put(&s.texts, &x);
			buf_putc(&s.texts, '\0');
			key = key_of_text(s.texts.s + s.text[s.n]);
		} else {
			key = sort_key_of(&x);
		}
		s.v[s.n] = (struct keyed){ s.reverse ? ~key : key, i, (uint32_t)s.n };
		s.n++;
	}
	keyed_sort(s.v, scratch, s.n);
	if (text)
		sort_alike_texts(&s);
	for (size_t i = 0; i < s.n; i++)
		p->sorted[i] = s.v[i].a;
	memcpy(p->sorted + s.n, none, n_none * sizeof(*none));
	buf_free(&cell);
	buf_free(&s.texts);
	free(s.text);
	free(none);
	free(scratch);
	free(s.v);
}

void pager_sort(struct pager *p, size_t column, bool reverse)
{
	size_t n;
	const struct table_column *c = table_columns(p->t, &n);

	if (column < n) {
		(void)pager_index(p, SIZE_MAX);
		sort_rows(p, &c[column], reverse);
	} else {
		free(p->sorted);
		p->sorted = NULL;
	}
	if (p->tree.parent) {
		arrange_tree(p);
		return;
	}
	free(p->order);
	p->order = p->sorted; /* is the lines */
	p->sorted = NULL;
	p->n_order = p->rows;
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool has_capital(const char *s)
{
	for (; *s; s++)
		if (isupper((unsigned char)*s))
			return true;
	return false;
}

/* Lines of a tree are found by their rows, which are there while they are folded. */
static size_t n_searched(const struct pager *p)
{
	return p->tree.parent || !p->order ? p->rows : p->n_order;
}

int pager_find(struct pager *p, const char *what, size_t from, bool backwards, unsigned not_flags,
	       struct err *err)
{
	bool exact = has_capital(what);
	char why[128];
	int rc;

	find_end(p);
	(void)pager_index(p, SIZE_MAX);
	p->find.literal = !strpbrk(what, ".[]{}()\\*+?|^$");
	p->find.text = xstrdup(what);
	rc = p->find.literal ? 0
			     : regcomp(&p->find.re, what,
				       REG_EXTENDED | REG_NOSUB | (exact ? 0 : REG_ICASE));
	if (rc) {
		(void)regerror(rc, &p->find.re, why, sizeof(why));
		return err_set(err, ERR_USAGE, "'%.60s': %s", what, why);
	}
	p->find.on = true;
	p->find.backwards = backwards;
	p->find.not_flags = not_flags;
	p->find.left = n_searched(p);
	p->find.at = p->tree.parent && from < p->n_order ? p->order[from] : from;
	if (p->find.at >= p->find.left)
		p->find.at = p->find.left ? p->find.left - 1 : 0;
	return 0;
}

static bool is_match(const struct pager *p, const char *s)
{
	if (!p->find.literal)
		return !regexec(&p->find.re, s, 0, NULL, 0);
	return (has_capital(p->find.text) ? strstr(s, p->find.text)
					  : strcasestr(s, p->find.text)) != NULL;
}

static bool row_matches(const struct pager *p, const struct table_row *r, struct buf *scratch,
			struct buf *word)
{
	size_t n;
	const struct table_column *c = table_columns(p->t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n; i++) {
		if (!table_has(p->t, i, p->find.not_flags))
			continue;
		table_cell(&x, p->t, &c[i], r, scratch);
		if (x.kind == T_TEXT && !x.tail) {
			if (x.text && is_match(p, x.text))
				return true;
			continue;
		}
		buf_reset(word);
		cell_put(word, &x);
		if (is_match(p, buf_str(word)))
			return true;
	}
	return false;
}

static void find_next_row(struct pager *p)
{
	size_t n = n_searched(p);

	if (p->find.backwards)
		p->find.at = p->find.at ? p->find.at - 1 : n - 1;
	else
		p->find.at = p->find.at + 1 < n ? p->find.at + 1 : 0;
	p->find.left--;
}

enum pager_found pager_find_step(struct pager *p, size_t rows, size_t *line)
{
	struct buf scratch = BUF_INIT, word = BUF_INIT;
	struct table_row r = { 0 };
	bool found = false;

	for (; p->find.on && p->find.left && rows && !found; rows--) {
		find_next_row(p);
		found = p->tree.parent ? pager_row_at(p, p->find.at, &r)
				       : pager_row(p, p->find.at, &r);
		found = found && row_matches(p, &r, &scratch, &word);
	}
	buf_free(&scratch);
	buf_free(&word);
	if (!found)
		return p->find.on && p->find.left ? PAGER_MORE : PAGER_NOWHERE;
	*line = p->find.at;
	if (p->tree.parent) {
		for (uint32_t up = p->tree.parent[p->find.at]; up != p->rows;
		     up = p->tree.parent[up])
			p->tree.open[up] = true;
		list_lines(p);
		*line = pager_line_of(p, p->find.at);
	}
	return PAGER_FOUND;
}

double pager_find_done(const struct pager *p)
{
	size_t n = n_searched(p);

	return n ? 1 - (double)p->find.left / (double)n : 1;
}
