/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formulas as trees: precedence climbing over the table of operators.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/expr/expr_int.h"

const struct expr_op_facts expr_op_facts[OP_COUNT] = {
#define OP(id, text, prec, kids) [id] = { text, prec, kids },
#include "model/expr/expr_op.def"
};

int expr_fail(struct expr_parser *p, size_t at, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)err_set(p->err, ERR_FORMAT, "%.200s:%u:%zu: %s", p->t->file ? p->t->file : "formula",
		      p->t->line ? p->t->line : 1, at + 1, what);
	return err_point(p->err, p->t->s, p->t->len, at, 60, 100);
}

static void next_token(struct expr_parser *p)
{
	p->tok = expr_lex(p->t, p->tok.at + p->tok.len);
}

static bool counts_as_count(const struct expr_node *n)
{
	return n->extensive || (n->op == OP_NUMBER && n->value == 0);
}

/* Whether a node is a count or a plain number: see expr.h. */
static void domain(struct expr_parser *p, struct expr_node *n)
{
	const struct expr_node *v = p->nodes.v, *a, *b;
	unsigned kids = expr_op_facts[n->op].kids;

	if (!kids)
		return;
	a = &v[n->kid[0]];
	b = &v[n->kid[kids - 1]];
	n->plain = true;
	for (unsigned i = 0; i < kids; i++)
		n->plain = n->plain && v[n->kid[i]].plain;
	switch (n->op) {
	case OP_NEG:
		n->extensive = a->extensive;
		break;
	case OP_ADD:
	case OP_SUB:
		n->extensive = a->extensive && b->extensive;
		break;
	case OP_MUL:
		n->extensive = (a->extensive && b->plain) || (a->plain && b->extensive);
		break;
	case OP_DIV:
		n->extensive = a->extensive && b->plain;
		break;
	case OP_MIN:
	case OP_MAX:
	case OP_IF:
		n->extensive =
			counts_as_count(a) && counts_as_count(b) && (a->extensive || b->extensive);
		break;
	default:
		break;
	}
}

int expr_node_add(struct expr_parser *p, struct expr_node n, uint32_t *out)
{
	unsigned kids = expr_op_facts[n.op].kids;

	n.weight = n.program ? n.program->node[expr_root(n.program)].weight : 0;
	n.weight++;
	for (unsigned i = 0; i < kids; i++) {
		const struct expr_node *k = &p->nodes.v[n.kid[i]];

		if (k->depth > n.depth)
			n.depth = k->depth;
		/* a condition is evaluated again for each logical processor */
		n.weight += n.op == OP_IF && i == 1 ? 8 * k->weight : k->weight;
	}
	n.depth++;
	if (n.depth > EXPR_MAX_DEPTH)
		return expr_fail(p, p->tok.at, "more than %d operators in a row", EXPR_MAX_DEPTH);
	if (n.weight > EXPR_MAX_WEIGHT)
		return expr_fail(p, p->tok.at, "too much to evaluate, with what it refers to");
	domain(p, &n);
	if (vec_push(&p->nodes, n))
		return err_nomem(p->err);
	*out = (uint32_t)p->nodes.n - 1;
	return 0;
}

static int parse_if(struct expr_parser *p, uint32_t *out) MUST_USE;
static int parse_infix(struct expr_parser *p, unsigned loosest, uint32_t *out) MUST_USE;

static int expect(struct expr_parser *p, enum expr_token_kind kind, const char *what)
{
	if (p->tok.kind == T_BAD)
		return expr_fail(p, p->tok.at, "%s", p->tok.why);
	if (p->tok.kind != kind)
		return expr_fail(p, p->tok.at, "expected %s", what);
	next_token(p);
	return 0;
}

static int parse_call(struct expr_parser *p, uint32_t *out)
{
	struct expr_node n = { .op = (uint8_t)p->tok.op };
	const char *name = expr_op_facts[n.op].text;
	bool perf = p->t->dialect == EXPR_PERF;

	next_token(p);
	if (expect(p, T_OPEN, "( behind the name of a function"))
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		if (perf ? parse_infix(p, 1, &n.kid[i]) : parse_if(p, &n.kid[i]))
			return -1;
		if (perf && p->tok.kind == T_IF)
			return expr_fail(p, p->tok.at,
					 "if within the operands of %s needs parentheses", name);
		if (!i && p->tok.kind != T_COMMA && p->tok.kind != T_BAD)
			return expr_fail(p, p->tok.at, "%s takes two operands", name);
		if (i && p->tok.kind == T_COMMA)
			return expr_fail(p, p->tok.at, "%s takes just two operands", name);
		if (expect(p, i ? T_CLOSE : T_COMMA, i ? ")" : ","))
			return -1;
	}
	return expr_node_add(p, n, out);
}

static int parse_query(struct expr_parser *p, uint32_t *out)
{
	enum expr_ask ask = p->tok.ask;
	struct expr_token name;

	next_token(p);
	if (expect(p, T_OPEN, "( behind the name of a function"))
		return -1;
	name = p->tok;
	if (expect(p, T_NAME, "a name") || expect(p, T_CLOSE, ")"))
		return -1;
	return expr_query(p, ask, &name, out);
}

static int parse_sign(struct expr_parser *p, uint32_t *out) MUST_USE;

static int parse_operand(struct expr_parser *p, uint32_t *out)
{
	struct expr_token tok = p->tok;
	struct expr_node n = { .op = OP_NUMBER };

	switch (tok.kind) {
	case T_NUMBER:
		n.value = tok.number;
		n.plain = true;
		n.text = p->t->s + tok.at;
		n.len = (uint32_t)tok.len;
		next_token(p);
		return expr_node_add(p, n, out);
	case T_NAN:
		n.op = OP_ABSENT;
		n.text = p->t->s + tok.at;
		n.len = (uint32_t)tok.len;
		next_token(p);
		return expr_node_add(p, n, out);
	case T_NAME:
		next_token(p);
		return expr_name(p, &tok, out);
	case T_OPEN:
		next_token(p);
		return parse_if(p, out) || expect(p, T_CLOSE, ")") ? -1 : 0;
	case T_CALL:
		return parse_call(p, out);
	case T_QUERY:
		return parse_query(p, out);
	case T_BAD:
		return expr_fail(p, tok.at, "%s", tok.why);
	case T_OP:
		if (tok.op == OP_SUB)
			return parse_sign(p, out);
		if (p->t->subject && expr_op_facts[tok.op].prec == expr_op_facts[OP_LT].prec)
			return expr_subject(p, tok.at, out);
		break;
	default:
		break;
	}
	return expr_fail(p, tok.at,
			 tok.kind == T_END ? "ends where an operand should be"
					   : "expected a name, a number or (");
}

static int parse_sign(struct expr_parser *p, uint32_t *out)
{
	struct expr_node n = { .op = OP_NEG };

	next_token(p);
	if (++p->nest > EXPR_MAX_NEST)
		return expr_fail(p, p->tok.at, "nested more than %d deep", EXPR_MAX_NEST);
	if (parse_operand(p, &n.kid[0]))
		return -1;
	p->nest--;
	return expr_node_add(p, n, out);
}

/* The event whose latency `$PEBS` behind this means: the last factor, if it is an event. */
static uint32_t factor(const struct expr_parser *p, uint32_t node)
{
	const struct expr_node *n = &p->nodes.v[node];

	while (n->op == OP_MUL)
		n = &p->nodes.v[n->kid[1]];
	return n->op == OP_EVENT ? n->index : UINT32_MAX;
}

static int parse_infix(struct expr_parser *p, unsigned loosest, uint32_t *out)
{
	if (parse_operand(p, out))
		return -1;
	while (p->tok.kind == T_OP && expr_op_facts[p->tok.op].prec >= loosest) {
		struct expr_node n = { .op = (uint8_t)p->tok.op };
		uint32_t event = p->event;

		if (n.op == OP_MUL && factor(p, *out) != UINT32_MAX)
			p->event = factor(p, *out);
		next_token(p);
		n.kid[0] = *out;
		if (parse_infix(p, expr_op_facts[n.op].prec + 1U, &n.kid[1]))
			return -1;
		p->event = event;
		if (expr_node_add(p, n, out))
			return -1;
	}
	return 0;
}

static int parse_if(struct expr_parser *p, uint32_t *out)
{
	struct expr_node n = { .op = OP_IF };

	if (++p->nest > EXPR_MAX_NEST)
		return expr_fail(p, p->tok.at, "nested more than %d deep", EXPR_MAX_NEST);
	if (parse_infix(p, 1, out))
		return -1;
	if (p->tok.kind == T_IF) {
		n.kid[0] = *out;
		next_token(p);
		if (parse_infix(p, 1, &n.kid[1]) || expect(p, T_ELSE, "else") ||
		    parse_if(p, &n.kid[2]) || expr_node_add(p, n, out))
			return -1;
	}
	p->nest--;
	return 0;
}

/* The conditions of a threshold, joined by & | ^: a metric alone means that it exceeds its own
 * threshold. Returns the number of P that are reached through & alone. */
static unsigned truths(struct expr_parser *p, uint32_t at, bool under_and)
{
	struct expr_node *n = &p->nodes.v[at];

	switch (n->op) {
	case OP_AND:
	case OP_OR:
	case OP_XOR:
		under_and = under_and && n->op == OP_AND;
		return truths(p, n->kid[0], under_and) + truths(p, n->kid[1], under_and);
	case OP_METRIC:
		n->op = OP_PASSES;
		return 0;
	case OP_NUMBER:
		return under_and && n->len == 1 && *n->text == 'P';
	default:
		return 0;
	}
}

static int finish_program(struct expr_parser *p, struct expr **out)
{
	struct expr *e = arena_alloc(p->arena, sizeof(*e));
	struct expr_node *v = arena_memdup(p->arena, p->nodes.v, p->nodes.n * sizeof(*v));
	char *text = arena_memdup(p->arena, p->t->s, p->t->len);

	if (!e || !v || !text)
		return err_nomem(p->err);
	/* the caller's text need not last; names of the subject are not in it */
	for (size_t i = 0; i < p->nodes.n; i++)
		if (v[i].text && v[i].text >= p->t->s && v[i].text < p->t->s + p->t->len)
			v[i].text = text + (v[i].text - p->t->s);
	e->node = v;
	e->n = (uint32_t)p->nodes.n;
	e->wants_parent = p->parents > 0;
	*out = e;
	return 0;
}

static int parse_all(struct expr_parser *p)
{
	uint32_t root;

	p->tok = expr_lex(p->t, 0);
	if (p->tok.kind == T_END)
		return expr_fail(p, p->tok.at, "an empty formula");
	if (parse_if(p, &root))
		return -1;
	if (p->tok.kind == T_BAD)
		return expr_fail(p, p->tok.at, "%s", p->tok.why);
	if (p->tok.kind == T_ELSE)
		return expr_fail(p, p->tok.at, "else without if");
	if (p->tok.kind != T_END)
		return expr_fail(p, p->tok.at, "the formula was over before this");
	if (p->t->dialect == EXPR_SHEET && p->t->subject && truths(p, root, true) != p->parents)
		return expr_fail(p, 0, "P (the parent is over, too) can only be joined by &");
	return 0;
}

int expr_compile(struct expr **out, struct arena *a, const struct expr_text *text,
		 const struct expr_scope *scope, struct err *err)
{
	struct expr_parser p = { .t = text, .scope = scope, .arena = a, .err = err };
	int rc = -1;

	p.event = UINT32_MAX;
	if (text->len > EXPR_MAX_TEXT) {
		err_set(err, ERR_LIMIT, "%s:%u: a formula of %zu bytes, more than %d",
			text->file ? text->file : "formula", text->line, text->len, EXPR_MAX_TEXT);
		goto out;
	}
	if (parse_all(&p))
		goto out;
	rc = finish_program(&p, out);
out:
	vec_free(&p.nodes);
	return rc;
}
