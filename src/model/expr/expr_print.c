/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A formula with its values: "IDQ.MS_UOPS [4.66 G] / SLOTS [55.1 G]".
 */
#include <math.h>

#include "base/num.h"
#include "model/expr/expr_int.h"

struct print {
	const struct expr *e;
	const struct expr_env *env;
	struct buf *out;
	const char *(*name)(void *ctx, enum expr_ref_kind kind, uint32_t index);
	void *ctx;
};

static const char *const why_text[] = {
	[VALUE_OK] = "",
	[VALUE_NOT_COUNTED] = "not counted",
	[VALUE_DIVIDED_BY_0] = "divided by 0",
	[VALUE_ABSENT] = "not on this model",
	[VALUE_NO_SYSTEM] = "not known here",
	[VALUE_NO_LATENCY] = "latency not known",
	[VALUE_NOT_FINITE] = "too big",
	[VALUE_NO_PASS] = "not known",
};

static void print_number(struct buf *out, double v)
{
	char s[NUM_MAX];

	if (fabs(v) >= 10000)
		buf_puts(out, num_count(s, v));
	else
		buf_printf(out, "%.4g", v);
}

static void print_name(const struct print *p, const struct expr_node *n, enum expr_ref_kind kind)
{
	const char *name = NULL;

	if (p->name && n->op != OP_NUMBER && n->op != OP_SYSTEM && n->op != OP_ABSENT)
		name = p->name(p->ctx, kind, n->index);
	if (name)
		buf_puts(p->out, name);
	else
		buf_put(p->out, n->text, n->len);
	if (n->op == OP_LATENCY && name)
		buf_puts(p->out, ":R");
}

static void leaf(const struct print *p, uint32_t at)
{
	const struct expr_node *n = &p->e->node[at];
	struct expr part = { p->e->node, at + 1, false };
	struct value v = expr_eval(&part, p->env);
	enum expr_ref_kind kind = n->op == OP_EVENT	? EXPR_EVENT
				  : n->op == OP_LATENCY ? EXPR_LATENCY
							: EXPR_METRIC;

	print_name(p, n, kind);
	/* a number's value is its text, unless a name stands for it */
	if (n->op == OP_ABSENT || (n->op == OP_NUMBER && n->len && n->text[0] <= '9' &&
				   n->text[0] != '#' && n->text[0] != '"'))
		return;
	buf_puts(p->out, " [");
	if (v.why)
		buf_puts(p->out, why_text[v.why]);
	else if (n->op == OP_PASSES)
		buf_puts(p->out, v.v != 0 ? "over" : "not over");
	else
		print_number(p->out, v.v);
	buf_puts(p->out, "]");
}

/* Operators that bind less than `tightest` get parentheses. 0: if/else needs none. */
static void print_part(const struct print *p, uint32_t at, unsigned tightest)
{
	const struct expr_node *n = &p->e->node[at];
	const struct expr_op_facts *f = &expr_op_facts[n->op];
	bool infix = f->prec > 0,
	     wrap = infix ? f->prec < tightest : n->op == OP_IF && tightest > 0;

	if (!f->kids) {
		leaf(p, at);
		return;
	}
	if (wrap)
		buf_puts(p->out, "(");
	if (infix) {
		print_part(p, n->kid[0], f->prec);
		buf_printf(p->out, " %s ", f->text);
		print_part(p, n->kid[1], f->prec + 1U);
	} else if (n->op == OP_IF) {
		print_part(p, n->kid[0], 1);
		buf_puts(p->out, " if ");
		print_part(p, n->kid[1], 1);
		buf_puts(p->out, " else ");
		print_part(p, n->kid[2], 0);
	} else if (n->op == OP_NEG) {
		buf_puts(p->out, "-");
		print_part(p, n->kid[0], 7);
	} else {
		buf_printf(p->out, "%s(", f->text);
		print_part(p, n->kid[0], 1);
		buf_puts(p->out, ", ");
		print_part(p, n->kid[1], 1);
		buf_puts(p->out, ")");
	}
	if (wrap)
		buf_puts(p->out, ")");
}

void expr_print(const struct expr *e, const struct expr_env *env, struct buf *out,
		const char *(*name)(void *ctx, enum expr_ref_kind kind, uint32_t index), void *ctx)
{
	struct print p = { e, env, out, name, ctx };

	print_part(&p, expr_root(e), 0);
}
