/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions in names: of decltype, of a template's arguments, of constraints. */
#include "symbol/elf/demangle_plain_int.h"

#include <string.h>

static void read_exprs(struct plain *r, const char *until)
{
	while (plain_peek(r, 0) && !plain_is_in(r, 0, until))
		plain_read_expr(r);
}

/* name<arguments>, on and an operator, dn and a destructor's */
static void read_base_name(struct plain *r)
{
	if (plain_next_is(r, "on")) {
		plain_copy(r, 2);
		if (plain_next_is(r, "cv")) {
			plain_copy(r, 2);
			plain_read_type(r);
		} else {
			plain_read_operator(r);
		}
	} else if (plain_next_is(r, "dn")) {
		plain_copy(r, 2);
		if (!plain_is_digit(r, 0)) {
			plain_read_type(r);
			return;
		}
		plain_read_source(r);
	} else {
		plain_read_source(r);
	}
	plain_read_args_if(r);
}

/* sr: what stands before "::" */
static void read_qualified(struct plain *r)
{
	bool levels = plain_is_digit(r, 2) || plain_peek(r, 2) == 'N';

	plain_copy(r, 2);
	if (plain_peek(r, 0) == 'N')
		plain_copy(r, 1);
	if (!plain_is_digit(r, 0))
		plain_read_type(r);
	if (levels) {
		while (plain_is_digit(r, 0)) {
			plain_read_source(r);
			plain_read_args_if(r);
		}
		plain_copy_one(r, 'E');
	}
	read_base_name(r);
}

/* What `requires { ... }` has inside. */
static void read_requirements(struct plain *r)
{
	while (plain_peek(r, 0) && plain_peek(r, 0) != 'E') {
		char kind = plain_peek(r, 0);

		plain_copy(r, 1);
		if (kind == 'T') {
			plain_read_type(r);
		} else if (kind == 'X' || kind == 'Q') {
			plain_read_expr(r);
			if (kind == 'X' && plain_peek(r, 0) == 'N')
				plain_copy(r, 1);
			if (kind == 'X' && plain_peek(r, 0) == 'R') {
				plain_copy(r, 1);
				plain_read_name(r);
			}
		} else {
			plain_fail(r);
		}
	}
	plain_copy_one(r, 'E');
}

/* fp_, fp0_, fL0p_, fpT */
static void read_function_param(struct plain *r)
{
	plain_copy(r, 1);
	if (plain_peek(r, 0) == 'L') {
		plain_copy(r, 1);
		plain_read_digits(r);
	}
	plain_copy_one(r, 'p');
	if (plain_peek(r, 0) == 'T') {
		plain_copy(r, 1);
		return;
	}
	while (plain_is_in(r, 0, "rVK"))
		plain_copy(r, 1);
	plain_read_count(r);
}

/* How operators go on, a letter for each part: e expression, t type, n name, i identifier,
 * P parameter, a arguments up to E, * expressions up to E. */
static const struct {
	const char *parts, *codes;
} operators[] = {
	{ "ee", "aN aS aa an cm dV ds dv dx eO eo eq ge gt ix lS le ls lt mI mL mi ml ne oR oo or "
		"pL pl pm rM rS rm rs ss" },
	{ "e", "ad az co da de dl ng nt nx ps sp sz te tw" },
	{ "t", "at st ti" },
	{ "te", "cc dc rc sc" },
	{ "*", "cl il" },
	{ "eee", "dX qu" },
	{ "ie", "di" },
	{ "en", "dt pt" },
	{ "a", "sP" },
	{ "P", "sZ" },
	{ "t*", "tl" },
	{ "", "tr" },
};

static const char *operator_parts(const struct plain *r)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		for (const char *c = operators[i].codes; *c; c += 3) {
			if (c[0] == plain_peek(r, 0) && c[1] == plain_peek(r, 1))
				return operators[i].parts;
			if (!c[2])
				break;
		}
	return NULL;
}

static void read_part(struct plain *r, char part)
{
	switch (part) {
	case 'e':
		plain_read_expr(r);
		break;
	case 't':
		plain_read_type(r);
		break;
	case 'n':
		if (plain_next_is(r, "sr"))
			read_qualified(r);
		else
			read_base_name(r);
		break;
	case 'i':
		plain_read_source(r);
		break;
	case 'P':
		if (plain_peek(r, 0) == 'f')
			read_function_param(r);
		else
			plain_read_param(r);
		break;
	case 'a':
		while (plain_peek(r, 0) && plain_peek(r, 0) != 'E')
			plain_read_arg(r);
		plain_copy_one(r, 'E');
		break;
	default:
		read_exprs(r, "E");
		plain_copy_one(r, 'E');
	}
}

static void read_operation(struct plain *r)
{
	const char *parts;

	if (plain_next_is(r, "pp") || plain_next_is(r, "mm")) {
		plain_copy(r, plain_peek(r, 2) == '_' ? 3 : 2);
		plain_read_expr(r);
		return;
	}
	if (plain_next_is(r, "cv")) {
		plain_copy(r, 2);
		plain_read_type(r);
		if (plain_peek(r, 0) != '_') {
			plain_read_expr(r);
			return;
		}
		plain_copy(r, 1);
		read_part(r, '*');
		return;
	}
	parts = operator_parts(r);
	if (!parts) {
		plain_fail(r);
		return;
	}
	plain_copy(r, 2);
	for (; *parts; parts++)
		read_part(r, *parts);
}

void plain_read_expr(struct plain *r)
{
	if (!plain_enter(r))
		return;
	if (plain_next_is(r, "gs"))
		plain_copy(r, 2);
	if (plain_peek(r, 0) == 'L') {
		plain_read_primary(r);
	} else if (plain_peek(r, 0) == 'T') {
		plain_read_param(r);
	} else if (plain_is_in(r, 0, "f") && plain_is_in(r, 1, "lrLR") &&
		   !plain_is_digit(r, 2)) { /* folds */
		bool two = plain_is_in(r, 1, "LR");

		plain_copy(r, 4);
		plain_read_expr(r);
		if (two)
			plain_read_expr(r);
	} else if (plain_peek(r, 0) == 'f') {
		read_function_param(r);
	} else if (plain_next_is(r, "rq")) {
		plain_copy(r, 2);
		read_requirements(r);
	} else if (plain_next_is(r, "rQ")) {
		plain_copy(r, 2);
		while (plain_peek(r, 0) && plain_peek(r, 0) != '_')
			plain_read_type(r);
		plain_copy_one(r, '_');
		read_requirements(r);
	} else if (plain_peek(r, 0) == 'u') { /* __is_same(T, U) */
		plain_copy(r, 1);
		plain_read_source(r);
		read_part(r, 'a');
	} else if (plain_next_is(r, "sr")) {
		read_qualified(r);
	} else if (plain_is_digit(r, 0) || plain_next_is(r, "on") || plain_next_is(r, "dn")) {
		read_base_name(r);
	} else {
		read_operation(r);
	}
	r->depth--;
}
