/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expr_int - the tree that a formula becomes; for the files of expr alone.
 *
 * Nodes lie in one array, operands before their operators, so the last one is the root.
 */
#ifndef CYCLADE_MODEL_EXPR_INT_H
#define CYCLADE_MODEL_EXPR_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/expr.h"

#define EXPR_MAX_TEXT	65536
#define EXPR_MAX_NEST	64 /* parentheses, function calls, signs and chained else */
#define EXPR_MAX_WEIGHT 1e6f
#define EXPR_MAX_DEPTH	1024 /* of the tree: a + b + c + ... is one deeper with each term */

enum expr_op {
#define OP(id, text, prec, kids) id,
#include "model/expr/expr_op.def"
	OP_COUNT
};

struct expr_op_facts {
	const char *text;
	uint8_t prec; /* of an infix operator: 1 loosest; 0: none */
	uint8_t kids;
};
extern const struct expr_op_facts expr_op_facts[OP_COUNT];

struct expr_node {
	uint8_t op;
	bool extensive; /* a count */
	bool plain;	/* a number that no count enters */
	uint16_t depth;
	float weight;	 /* how many nodes an evaluation can visit, on one logical processor */
	uint32_t kid[3]; /* OP_IF: value, condition, else value */
	uint32_t index;	 /* of the event, metric or system fact */
	double value;	 /* of OP_NUMBER */
	const struct expr *program;
	const char *text; /* a name or number as written */
	uint32_t len;
};

struct expr {
	const struct expr_node *node;
	uint32_t n;
	bool wants_parent;
};

static inline uint32_t expr_root(const struct expr *e)
{
	return e->n - 1;
}

/* ---- lexer ---- */

enum expr_token_kind {
	T_END,
	T_NUMBER,
	T_NAME,
	T_OP, /* an infix operator: token.op; `-` may be a sign */
	T_OPEN,
	T_CLOSE,
	T_COMMA,
	T_IF,
	T_ELSE,
	T_CALL,	 /* a function's name: token.op */
	T_QUERY, /* has_event and its like: token.ask */
	T_NAN,
	T_BAD, /* token.why */
};

struct expr_token {
	enum expr_token_kind kind;
	enum expr_op op;
	enum expr_ask ask;
	size_t at, len; /* in the text */
	double number;
	const char *why;
};

struct expr_token expr_lex(const struct expr_text *t, size_t at);

/* ---- parser ---- */

struct expr_parser {
	const struct expr_text *t;
	const struct expr_scope *scope;
	struct arena *arena;
	struct err *err;
	struct expr_token tok;
	VEC(struct expr_node) nodes;
	unsigned nest;
	unsigned parents; /* how often P was met */
	uint32_t event;	  /* that $PEBS belongs to; UINT32_MAX: none */
};

/* "file:line:column: ..." with the text and a caret as the hint. Always -1. */
int expr_fail(struct expr_parser *p, size_t at, const char *fmt, ...) PRINTF_(3, 4);
/* Appends a node and sets the members that follow from its operands; -1 out of memory or too
 * deep. */
int expr_node_add(struct expr_parser *p, struct expr_node n, uint32_t *out) MUST_USE;
/* The name tok, in its own words, as a node. */
int expr_name(struct expr_parser *p, const struct expr_token *tok, uint32_t *out) MUST_USE;
/* has_event(tok) and its like. */
int expr_query(struct expr_parser *p, enum expr_ask ask, const struct expr_token *tok,
	       uint32_t *out) MUST_USE;
/* The metric that a threshold is of. */
int expr_subject(struct expr_parser *p, size_t at, uint32_t *out) MUST_USE;

static inline struct value expr_value(double v)
{
	return (struct value){ v, VALUE_OK, 0 };
}

#endif
