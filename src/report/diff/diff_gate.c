/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits: 'cycles > +2%', 'backend.memory > +5%', 'function:hash_probe > +10%'.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "report/diff/diff_int.h"

struct limit {
	char name[256];
	bool function, above;
	double value;
};

static int wrong(const char *expr, const char *at, const char *what, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "--fail-if: %s", what);
	return err_hint(err, "%.120s\n%*s^", expr, (int)(at - expr < 120 ? at - expr : 120), "");
}

static const char *blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static int parse_number(struct limit *l, const char *expr, const char *s, struct err *err)
{
	char digits[NUM_MAX];
	bool minus = *s == '-';
	const char *from = s += *s == '+' || *s == '-';
	size_t n = strspn(s, "0123456789.");

	if (!n || n >= sizeof(digits))
		return wrong(expr, s, "a number in per cent must stand here", err);
	memcpy(digits, s, n);
	digits[n] = 0;
	s = blanks(s + n);
	if (num_parse_double(&l->value, digits, NULL))
		return wrong(expr, from, "this is no number", err);
	if (*s != '%')
		return wrong(expr, s, "a % must stand here", err);
	s = blanks(s + 1);
	if (*s)
		return wrong(expr, s, "nothing may stand behind the %", err);
	l->value *= minus ? -0.01 : 0.01;
	return 0;
}

static int parse(struct limit *l, const char *expr, struct err *err)
{
	const char *s = blanks(expr), *op = s + strlen(s), *end;

	if (!strncmp(s, "function:", 9)) {
		l->function = true;
		s += 9;
	}
	/* the last one: operators of C++ have some in their names */
	while (op > s && *op != '<' && *op != '>')
		op--;
	if (*op != '<' && *op != '>')
		return wrong(expr, expr + strlen(expr), "a > or < is missing: 'cycles > +2%'", err);
	for (end = op; end > s && isspace((unsigned char)end[-1]);)
		end--;
	if (end > s && !l->function && (end[-1] == '<' || end[-1] == '>'))
		return wrong(expr, op, "one > or < is enough", err);
	if (end == s)
		return wrong(expr, s, "a name must stand here: an event, a node, function:NAME",
			     err);
	if ((size_t)(end - s) >= sizeof(l->name))
		return wrong(expr, s, "the name is too long", err);
	memcpy(l->name, s, (size_t)(end - s));
	l->name[end - s] = 0;
	l->above = *op == '>';
	return parse_number(l, expr, blanks(op + 1), err);
}

/* A function by any of its names. */
static bool names_function(const char *name, const struct diff_item *it)
{
	const struct diff_match *m = it->match && it->match->certain ? it->match : NULL;

	if (it->key[2] && !strcmp(it->key[2], name))
		return true;
	for (int s = 0; m && s < 2; s++)
		for (size_t i = 0; i < m->n[s]; i++)
			if (!strcmp(m->of[s][i], name))
				return true;
	return false;
}

static bool names(const struct limit *l, const struct diff_item *it, enum diff_table table)
{
	if (table == DIFF_ROWS)
		return l->function && names_function(l->name, it);
	return !l->function && it->key[table == DIFF_TREE] &&
	       !strcmp(it->key[table == DIFF_TREE], l->name);
}

/* By its verdict, or as one of the few that were named: more than chance. */
static bool is_sure(const struct diff *x, const struct diff_item *it)
{
	double gates = (double)(x->opts.gates ? x->opts.gates : 1) * (double)(x->n_sides - 1);

	return it->verdict == DIFF_MOVED || it->verdict == DIFF_NEW || it->verdict == DIFF_GONE ||
	       (it->verdict == DIFF_NOISE && it->chance < DIFF_LEVEL_PER_MILLE / 1000.0 / gates);
}

static bool beyond(const struct diff *x, const struct limit *l, const struct diff_item *it)
{
	double change = it->base.v == 0 && it->new.v > 0 ? INFINITY : it->change.v;

	if (!is_sure(x, it) || (isfinite(change) && !(fabs(change) > it->change.half)))
		return false;
	return l->above ? change > l->value : change < l->value;
}

static const char *in_words(const struct diff_item *it, bool over)
{
	return over				    ? "beyond the limit and the error bar"
	       : it->verdict == DIFF_NOISE	    ? "within the error bar"
	       : it->verdict == DIFF_SAME	    ? "the same"
	       : it->verdict == DIFF_NOT_COMPARABLE ? it->why
						    : "within the limit";
}

static int add(struct diff *x, const struct limit *l, const char *expr, const struct diff_item *it,
	       bool *exceeded)
{
	bool over = beyond(x, l, it);
	struct diff_limit row = { .expr = expr,
				  .side = x->side[it->side].name,
				  .what = in_words(it, over),
				  .exceeded = over,
				  .change = it->change };

	*exceeded |= over;
	return vec_push(&x->limit, row);
}

/* Adds those of the items that the limit names. */
static int add_named(struct diff *x, const struct limit *l, const char *expr,
		     const diff_items *items, enum diff_table t, bool *exceeded)
{
	for (size_t i = 0; i < items->n; i++)
		if (names(l, &items->v[i], t) && add(x, l, expr, &items->v[i], exceeded))
			return -1;
	return 0;
}

int diff_gate(bool *exceeded, struct diff *x, const char *expr, struct err *err)
{
	struct limit l = { .above = true };
	size_t had;

	if (parse(&l, expr, err))
		return -1;
	if (!x)
		return 0;
	had = x->limit.n;
	for (unsigned t = 0; t < DIFF_SUMMED; t++)
		if (add_named(x, &l, expr, &x->table[t], t, exceeded))
			return err_nomem(err);
	if (add_named(x, &l, expr, &x->same, DIFF_ROWS, exceeded))
		return err_nomem(err);
	if (x->limit.n > had)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "--fail-if: both sides together have no '%.80s'", l.name);
	return err_hint(err, "names are those of the tables totals and tree; functions: "
			     "function:NAME");
}
