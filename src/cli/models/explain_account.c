/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain: a node of the cycle accounting.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "cli/model_facts.h"
#include "cli/models/account_facts.h"
#include "cli/models/explain_int.h"

static const char *const parts[] = {
	[PART_CYCLES] = "the whole",
	[PART_HALTED] = "time in which the CPU had nothing to do",
	[PART_STALLED] = "stalled cycles",
	[PART_UNSTALLED] = "cycles that are not stalled",
	[PART_INFO] = "none: it is told beside the others",
};
static const char *const covers[] = {
	[COVER_FULL] = "measured",
	[COVER_PROFILE] = "right as a count; as a profile its places are rough",
	[COVER_PARTIAL] = "in part, or roughly",
	[COVER_NONE] = "not measured on this CPU",
};

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct explain *x = ctx;
	const struct account_node *t;

	if (kind != EXPR_METRIC) {
		x->needed[index] = true;
		return 0;
	}
	t = &x->acc->node[index];
	if (t->event != MODEL_NONE)
		x->needed[t->event] = true;
	if (t->expr)
		return expr_needs(t->expr, x->system, need, x);
	for (uint32_t i = 0; i < x->acc->n; i++)
		if (x->acc->node[i].parent == index && x->acc->node[i].adds)
			(void)need(x, EXPR_METRIC, i);
	return 0;
}

static void find_needs(struct explain *x, uint32_t node)
{
	memset(x->needed, 0, x->m->n_events * sizeof(*x->needed));
	(void)need(x, EXPR_METRIC, node);
}

static void put_children(struct explain *x, uint32_t node)
{
	struct buf b = BUF_INIT;

	for (uint32_t i = 0; i < x->acc->n; i++)
		if (x->acc->node[i].parent == node)
			buf_printf(&b, "%s%s", b.len ? ", " : "", x->acc->node[i].name);
	explain_fact(x, "children", buf_str(&b));
	buf_free(&b);
}

static void put_sampling(struct explain *x, const struct account_node *t)
{
	char number[NUM_MAX], text[96];

	if (t->event == MODEL_NONE)
		return;
	(void)snprintf(text, sizeof(text), "%s%s", num_exact(number, t->period),
		       t->precise > 1 ? ", precise, without skid"
		       : t->precise   ? ", precise"
				      : "");
	explain_fact(x, "sample by", text);
}

void explain_account_node(struct explain *x, uint32_t node)
{
	const struct account_node *t = &x->acc->node[node];
	struct buf cost = BUF_INIT;

	explain_title(x, t->name, "node of the cycle accounting");
	if (*t->says) {
		buf_puts(&x->b, "  ");
		explain_wrapped(x, t->says, 2);
	}
	explain_fact(x, "part", parts[t->part]);
	explain_fact(x, "cover", covers[t->cover]);
	explain_fact(x, "note", t->note);
	put_account_cost(&cost, x->acc, node);
	explain_fact(x, t->cycles ? "cycles" : "is", buf_str(&cost));
	buf_free(&cost);
	explain_label(x, "");
	style_ink(&x->b, &x->st, INK_DIM);
	buf_printf(&x->b, "%s:%u\n", t->file, t->line);
	style_ink(&x->b, &x->st, INK_PLAIN);
	if (t->penalty > 0 && t->penalty != 1.0)
		explain_fact(x, "from", x->acc->from);
	explain_fact(x, "unit", t->unit);
	if (t->parent != MODEL_NONE)
		explain_fact(x, t->adds ? "adds to" : "parent", x->acc->node[t->parent].name);
	put_children(x, node);
	if (t->within != MODEL_NONE)
		explain_fact(x, "within", x->acc->node[t->within].name);
	if (t->same != MODEL_NONE)
		explain_fact(x, "same as", x->acc->node[t->same].name);
	put_sampling(x, t);
	find_needs(x, node);
	explain_events(x);
	explain_fact(x, "try", t->try_);
}

void explain_account_json(struct explain *x, struct json *j, uint32_t node)
{
	struct fact f[FACTS_MAX];

	facts_json(j, f, account_facts(x->acc, node, f));
	find_needs(x, node);
	explain_json_events(x, j);
}

static int uses(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const uint32_t *event = ctx;

	return kind == EXPR_EVENT && index == *event;
}

void explain_account_users(struct explain *x, uint32_t event, struct buf *names)
{
	for (uint32_t i = 0; x->acc && i < x->acc->n; i++) {
		const struct account_node *t = &x->acc->node[i];

		if (t->event == event || (t->expr && expr_needs(t->expr, x->system, uses, &event)))
			buf_printf(names, "%s%s", names->len ? ", " : "", t->name);
	}
}
