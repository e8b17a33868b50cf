/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/diff_columns.h"

#include <string.h>

void diff_amount(const struct table *t, const struct table_column *c, const struct table_row *r,
		 struct table_cell *out)
{
	const struct diff_item *it = r->p;

	(void)t;
	cell_estimate(out, *(const struct estimate *)(const void *)((const char *)r->p + c->which));
	if (it->seconds)
		out->kind = T_SECONDS;
	else if (it->ratio)
		out->kind = T_REAL;
}

void diff_event(const struct table *t, const struct table_column *c, const struct table_row *r,
		struct table_cell *out)
{
	const struct diff_item *it = r->p;

	(void)t;
	(void)c;
	out->text = it->event ? it->key[0] : NULL;
}

void diff_node(const struct table *t, const struct table_column *c, const struct table_row *r,
	       struct table_cell *out)
{
	(void)t;
	(void)c;
	out->text = ((const struct diff_item *)r->p)->key[1];
}

void diff_node_name(const struct table *t, const struct table_column *c, const struct table_row *r,
		    struct table_cell *out)
{
	const struct diff_item *it = r->p;
	const char *dot = strrchr(it->key[1], '.');

	(void)t;
	(void)c;
	out->text = dot ? dot + 1 : it->key[1];
	out->indent = it->depth;
}
