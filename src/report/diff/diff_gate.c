/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits: 'cycles > +2%', 'backend.memory > +5%', 'function:hash_probe > +10%'. The named items are
 * marked before any verdict; a limit then reads the verdict that all others read.
 */
#include <math.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_int.h"

/* Returns true if `name` is any of a function's names. */
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

static bool gate_names(const struct limit *l, const struct diff_item *it, enum diff_table table)
{
	size_t prefix = strlen(LIMIT_FUNCTION);
	bool function = !strncmp(l->name, LIMIT_FUNCTION, prefix);

	if (table == DIFF_ROWS)
		return function && names_function(l->name + prefix, it);
	return !function && it->key[table == DIFF_TREE] &&
	       !strcmp(it->key[table == DIFF_TREE], l->name);
}

static const char *gate_in_words(const struct diff_item *it, bool over)
{
	return over			   ? "beyond the limit, and more than chance"
	       : it->why		   ? it->why
	       : it->verdict == DIFF_NOISE ? "within the error bar"
	       : it->verdict == DIFF_SAME  ? "the same"
					   : "within the limit";
}

static void add_gate_row(struct diff *x, const struct limit *l, struct diff_item *it)
{
	double change = it->base.v == 0 && it->new.v > 0 ? INFINITY : it->change.v;
	bool over = limit_broken(l, change, diff_reported(it));
	struct diff_limit row = { .expr = l->text,
				  .side = x->side[it->side].name,
				  .what = gate_in_words(it, over),
				  .exceeded = over,
				  .change = it->change };

	x->exceeded |= over;
	vec_xpush(&x->limit, row);
}

/* Calls `fn` for each item that a limit names. ERR_NOT_FOUND: there is none. */
static int each_named(struct diff *x, const struct limit *l,
		      void (*fn)(struct diff *x, const struct limit *l, struct diff_item *it),
		      struct err *err)
{
	bool found = false;

	for (int t = 0; t < DIFF_SUMMED; t++)
		for (size_t i = 0; i < x->table[t].n; i++) {
			struct diff_item *it = &x->table[t].v[i];

			if (!gate_names(l, it, (enum diff_table)t))
				continue;
			found = true;
			fn(x, l, it);
		}
	if (found)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "--fail-if: both sides together have no '%.80s'",
		      l->name);
	return err_hint(err, "names are those of the tables totals and tree; functions: "
			     "function:NAME");
}

static void mark_named(struct diff *x, const struct limit *l, struct diff_item *it)
{
	(void)x;
	(void)l;
	it->named = true;
}

int diff_mark_named(struct diff *x, struct err *err)
{
	for (size_t i = 0; i < x->opts.n_gates; i++)
		if (each_named(x, &x->opts.gate[i], mark_named, err))
			return -1;
	return 0;
}

int diff_gates(struct diff *x, struct err *err)
{
	for (size_t i = 0; i < x->opts.n_gates; i++)
		if (each_named(x, &x->opts.gate[i], add_gate_row, err))
			return -1;
	return 0;
}

bool diff_partial(const struct diff *x)
{
	return x->losses.partial && !x->opts.partial_ok;
}

bool diff_exceeded(const struct diff *x)
{
	return x->exceeded;
}
