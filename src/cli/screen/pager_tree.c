/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pager_tree - rows that have parents: which of them are lines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "cli/screen/pager_int.h"

static const struct table_column *column(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key) && c[i].kind == T_ID)
			return &c[i];
	return NULL;
}

/* ---- who is below whom ----------------------------------------------------------------------- */

static int alloc(struct pager *p, struct err *err)
{
	struct pager_tree *t = &p->tree;
	size_t n = p->rows + 1;

	t->parent = malloc(n * sizeof(*t->parent));
	t->first = malloc(n * sizeof(*t->first));
	t->next = malloc(n * sizeof(*t->next));
	t->depth = calloc(n, sizeof(*t->depth));
	t->open = calloc(n, sizeof(*t->open));
	p->order = malloc(n * sizeof(*p->order));
	if (t->parent && t->first && t->next && t->depth && t->open && p->order)
		return 0;
	return err_nomem(err);
}

/* Ids may begin anew where a table has several trees, one behind the other: the last row with an
 * id has it. */
static int link_row(struct pager *p, struct u64map *ids, size_t row, const struct table_cell *id,
		    const struct table_cell *parent, struct err *err)
{
	struct pager_tree *t = &p->tree;
	const uint64_t *above = cell_has(parent) && parent->n ? u64map_find(ids, parent->n) : NULL;
	uint64_t *at;

	t->parent[row] = above ? (uint32_t)*above : (uint32_t)p->rows;
	if (!cell_has(id))
		return 0;
	at = u64map_at(ids, id->n, NULL);
	if (!at)
		return err_nomem(err);
	*at = row;
	return 0;
}

static int link_rows(struct pager *p, const struct table_column *id,
		     const struct table_column *parent, struct err *err)
{
	struct u64map ids = U64MAP_INIT;
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct table_cell x, y;
	struct table_row r = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->rows && !rc && table_next(p->t, &r); i++) {
		table_cell(&x, p->t, id, &r, &a);
		table_cell(&y, p->t, parent, &r, &b);
		rc = link_row(p, &ids, i, &x, &y, err);
	}
	u64map_free(&ids);
	buf_free(&a);
	buf_free(&b);
	return rc;
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

int pager_tree_open(struct pager *p, struct err *err)
{
	const struct table_column *id = column(p->t, "id"), *parent = column(p->t, "parent");

	if (!id || !parent)
		return 0;
	if (pager_index_all(p, err) || alloc(p, err) || link_rows(p, id, parent, err))
		return -1;
	pager_tree_arrange(p);
	indent_rows(p);
	if (p->n_order)
		pager_unfold_first(p, 0);
	return 0;
}

void pager_tree_free(struct pager *p)
{
	struct pager_tree *t = &p->tree;

	free(t->parent);
	free(t->first);
	free(t->next);
	free(t->depth);
	free(t->open);
}

/* ---- which rows are lines -------------------------------------------------------------------- */

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

void pager_tree_arrange(struct pager *p)
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

bool pager_is_tree(const struct pager *p)
{
	return p->tree.parent;
}

struct pager_place pager_place(const struct pager *p, size_t line)
{
	struct pager_place x = { 0 };
	uint32_t row;

	if (!p->tree.parent || line >= p->n_order)
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
	if (!p->tree.parent || line >= p->n_order)
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
	uint32_t above;

	if (!p->tree.parent || line >= p->n_order)
		return PAGER_NO_LINE;
	above = p->tree.parent[p->order[line]];
	return above == p->rows ? PAGER_NO_LINE : pager_line_of(p, above);
}

void pager_unfold_first(struct pager *p, size_t line)
{
	struct pager_tree *t = &p->tree;

	if (!t->parent || line >= p->n_order)
		return;
	for (uint32_t row = p->order[line]; row != PAGER_NONE; row = t->first[row])
		t->open[row] = true;
	list_lines(p);
}

void pager_tree_show(struct pager *p, size_t row)
{
	for (uint32_t above = p->tree.parent[row]; above != p->rows; above = p->tree.parent[above])
		p->tree.open[above] = true;
	list_lines(p);
}
