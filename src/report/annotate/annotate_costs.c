/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_costs - the account of a function's cycles and of those of its instructions, as tables
 * and as columns of the table of instructions.
 */
#include <math.h>
#include <stdio.h>

#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

static const struct account_node *insn_cost_node_of(const struct table *t, size_t node)
{
	return &annotated_of(t)->account->bound->acc->node[node];
}

/* By node, of a row's instruction. */
static const struct account_cell *costs(const struct table *t, const struct table_row *r)
{
	size_t i = (size_t)(annotated_insn_of(r) - annotated_of(t)->insn.v);

	return annotate_account_of(annotated_of(t), i, i + 1);
}

TABLE_CELL(insn_cost, if (is_insn(t, r)) out->e.v = costs(t, r)[c->which].v)

/* In per cent of the function's cycles, with marks. */
TABLE_GET(cost_share)
{
	out->kind = T_TEXT;
	if (!is_insn(t, r))
		return;
	annotate_account_put(out->scratch, annotated_of(t), (uint32_t)c->which,
			     &costs(t, r)[c->which]);
	out->text = buf_str(out->scratch);
}

static void put_cost(struct table_cell *out, const struct account_cell *x)
{
	out->e = (struct estimate){ x->v, x->half, x->why ? account_why_text(x->why) : NULL };
}

/* The function's cells, by node. */
TABLE_CELL(sum_node, out->text = insn_cost_node_of(t, r->i)->name)
TABLE_CELL(sum_cycles, out->n = insn_cost_node_of(t, r->i)->cycles)
TABLE_CELL(sum_value, put_cost(out, r->p))

TABLE_GET(sum_shown)
{
	const struct annotate_account *x = annotated_of(t)->account;

	for (size_t i = 0; i < x->n_columns; i++)
		out->n |= x->column[i] == r->i;
}

#define OF(member) TABLE_FIELD(struct account_cell, member)
static const struct table_column account_columns[] = {
	COLUMN("node", "node", T_TEXT, C_KEY, "of the account's tree", .get = sum_node),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the function", .get = sum_value),
	COLUMN("cycles", "cycles", T_FLAG, 0, "its values are cycles", .get = sum_cycles),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", OF(samples)),
	COLUMN("significant", "significant", T_FLAG, 0, "of enough samples", OF(significant)),
	COLUMN("shown", "shown", T_FLAG, 0, "people have a column of it", .get = sum_shown),
};
#undef OF
const struct table_form annotate_account_form = { "account", NULL, TABLE_DATA,
						  TABLE_COLUMNS(account_columns) };

/* at[0] is the instruction, at[1] the node: those that samples fell on. */
static bool cost_next(const struct table *t, struct table_row *r)
{
	const struct annotate *a = annotated_of(t);
	const struct account *acc = a->account->bound->acc;

	r->at[1] += r->p != NULL;
	for (; r->at[0] < a->insn.n; r->at[0]++, r->at[1] = 0) {
		r->p = &a->insn.v[r->at[0]];
		if (!a->account->first[r->at[0]])
			continue;
		for (; r->at[1] < acc->n; r->at[1]++)
			if (costs(t, r)[r->at[1]].samples && !acc->node[r->at[1]].whole)
				return true;
	}
	return false;
}

TABLE_CELL(cost_node, out->text = insn_cost_node_of(t, r->at[1])->name)
TABLE_CELL(cost_value, put_cost(out, &costs(t, r)[r->at[1]]))
TABLE_CELL(cost_samples, out->n = costs(t, r)[r->at[1]].samples)
TABLE_CELL(cost_significant, out->n = costs(t, r)[r->at[1]].significant)

static const struct table_column cost_columns[] = {
	COLUMN("address", "address", T_ADDRESS, C_KEY, "of an instruction",
	       TABLE_FIELD(struct annotate_insn, in.vaddr)),
	COLUMN("node", "node", T_TEXT, C_KEY, "of the account's tree", .get = cost_node),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the instruction",
	       .get = cost_value),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", .get = cost_samples),
	COLUMN("significant", "significant", T_FLAG, 0, "of enough samples",
	       .get = cost_significant),
};
const struct table_form annotate_costs_form = { "costs", NULL, TABLE_DATA,
						TABLE_COLUMNS(cost_columns), .next = cost_next };

/* ---- columns of instructions ----------------------------------------------------------------- */

static bool has_key(const struct annotate_columns *c, const char *key)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].key, key))
			return true;
	return false;
}

/* Makes columns of the nodes for which the function has a value. */
void annotate_costs(struct annotate_columns *to, const struct annotate_account *x)
{
	for (uint32_t i = 0; i < x->bound->acc->n; i++) {
		const struct account_node *node = &x->bound->acc->node[i];

		if (isnan(x->all[i].v) || node->whole || has_key(to, node->name))
			continue;
		to->v[to->n++] = (struct table_column)COLUMN(node->name, node->name, T_AMOUNT,
							     C_DATA, "what its cycles went into",
							     .get = insn_cost, .which = i);
	}
}

void annotate_cost_shares(struct document *d, struct annotate_columns *to,
			  const struct annotate_account *x)
{
	for (size_t i = 0; i < x->n_columns; i++) {
		const char *name = x->bound->acc->node[x->column[i]].name;
		size_t size = strlen(name) + sizeof("share_of_");
		char *key = arena_xalloc(&d->a, size);

		(void)snprintf(key, size, "share_of_%s", name);
		to->v[to->n++] = (struct table_column)COLUMN(
			key, name, T_SHARE, C_PEOPLE, "in % of the function's cycles",
			.get = cost_share, .which = x->column[i]);
	}
}

void annotate_put_account(struct document *d, const struct annotate_view *v)
{
	document_table(d, &TABLE_OF(annotate_account_form, v, v->a->account->all,
				    v->a->account->bound->acc->n));
	document_table(d, &(struct table){ .form = &annotate_costs_form, .ctx = v });
}
