/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen/pager_int.h"

/* ---- the index ------------------------------------------------------------------------------- */

static bool is_array(const struct pager *p)
{
	return !p->t->form->next;
}

int pager_index(struct pager *p, size_t rows, bool *done, struct err *err)
{
	for (; rows && !p->done; rows--) {
		if (!table_next(p->t, &p->end)) {
			p->done = true;
			break;
		}
		if (p->rows % PAGER_STEP == 0 && vec_push(&p->index, p->end))
			return err_nomem(err);
		p->rows++;
	}
	*done = p->done;
	return 0;
}

int pager_index_all(struct pager *p, struct err *err)
{
	bool done;

	if (pager_index(p, SIZE_MAX, &done, err))
		return -1;
	if (p->rows >= PAGER_NONE)
		return err_set(err, ERR_LIMIT, "%s has too many rows to be sorted",
			       p->t->form->name);
	return 0;
}

static int reach(struct pager *p, size_t row, struct err *err)
{
	bool done;

	return row < p->rows || p->done ? 0 : pager_index(p, row + 1 - p->rows, &done, err);
}

int pager_at(struct pager *p, size_t row, struct table_row *r, struct err *err)
{
	if (reach(p, row, err))
		return -1;
	if (row >= p->rows)
		return 0;
	if (is_array(p)) {
		*r = (struct table_row){ .p = (const char *)p->t->array + row * p->t->stride,
					 .i = row };
		return 1;
	}
	if (!p->near.p || p->near.i > row || row - p->near.i >= PAGER_STEP)
		p->near = p->index.v[row / PAGER_STEP];
	while (p->near.i < row)
		if (!table_next(p->t, &p->near)) {
			p->near = (struct table_row){ 0 };
			return 0;
		}
	*r = p->near;
	return 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

int pager_open(struct pager **out, const struct table *t, struct err *err)
{
	struct pager *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return err_nomem(err);
	p->t = t;
	if (is_array(p)) {
		p->rows = t->n;
		p->done = true;
	}
	if (!pager_tree_open(p, err))
		return 0;
	pager_close(p);
	*out = NULL;
	return -1;
}

void pager_close(struct pager *p)
{
	if (!p)
		return;
	pager_find_end(p);
	pager_tree_free(p);
	vec_free(&p->index);
	free(p->order);
	free(p->sorted);
	free(p);
}

const struct table *pager_table(const struct pager *p)
{
	return p->t;
}

/* ---- lines ----------------------------------------------------------------------------------- */

size_t pager_lines(const struct pager *p, bool *all)
{
	*all = p->done;
	return p->order ? p->n_order : p->rows;
}

int pager_row(struct pager *p, size_t line, struct table_row *r, struct err *err)
{
	if (!p->order)
		return pager_at(p, line, r, err);
	return line < p->n_order ? pager_at(p, p->order[line], r, err) : 0;
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
