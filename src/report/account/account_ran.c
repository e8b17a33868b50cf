/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/account_ran.h"

#include <math.h>
#include <stdlib.h>

static int ran_by_place(const void *x, const void *y)
{
	const struct account_ran *a = x, *b = y;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void add_ran(struct account_rans *r, uint32_t image, const struct symbol *s,
		    const struct account_ran *what)
{
	struct account_ran *o = &r->v[r->n++];

	*o = *what;
	o->image = image;
	o->start = s->start;
}

/* One of each function: of those with the same place the first gets the facts of the others. */
static void join_ran(struct account_rans *r)
{
	size_t kept = 0;

	if (r->n > 1)
		qsort(r->v, r->n, sizeof(*r->v), ran_by_place);
	for (size_t i = 0; i < r->n; i++) {
		struct account_ran *o = kept ? &r->v[kept - 1] : NULL, *x = &r->v[i];

		if (!o || ran_by_place(o, x)) {
			r->v[kept++] = *x;
			continue;
		}
		if (isnan(o->insns.v))
			o->insns = x->insns;
		if (isnan(o->called.v))
			o->called = x->called;
		o->callers += x->callers;
		o->callees += x->callees;
		o->has_calls |= x->has_calls;
	}
	r->n = kept;
}

static struct account_ran *find_ran(const struct account_rans *r, const struct profile_row *row)
{
	const struct account_ran key = { .image = row->image,
					 .start = row->symbol ? row->symbol->start : 0 };

	return row->symbol && r->n ? bsearch(&key, r->v, r->n, sizeof(*r->v), ran_by_place) : NULL;
}

void account_rans_make(struct account_rans *out, struct arena *a, const struct blocks *blocks,
		       const struct calls *calls, const struct profile *p)
{
	const struct profile_row *row;
	size_t n;

	*out = (struct account_rans){ NULL, 0, false };
	out->v = arena_xalloc(a, ((blocks ? blocks->n : 0) + calls->n + 1) * sizeof(*out->v));
	for (size_t i = 0; blocks && i < blocks->n; i++) {
		const struct block_function *f = &blocks->f[i];
		const struct account_ran x = { .insns = f->insns, .called = FLOW_UNKNOWN };

		if (blocks->scaled && f->symbol && f->code)
			add_ran(out, f->image, f->symbol, &x);
	}
	for (size_t i = 0; i < calls->n; i++) {
		const struct call_function *f = &calls->f[i];
		const struct account_ran x = { .insns = FLOW_UNKNOWN,
					       .called = calls->scaled ? f->called : FLOW_UNKNOWN,
					       .callers = f->n_callers,
					       .callees = f->n_callees,
					       .has_calls = true };

		if (f->symbol)
			add_ran(out, f->image, f->symbol, &x);
	}
	join_ran(out);
	row = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++) {
		struct account_ran *x = find_ran(out, &row[i]);

		if (x)
			x->rows++;
	}
}

const struct account_ran *account_ran_of(const struct account_rans *r,
					 const struct profile_row *row)
{
	const struct account_ran *x = r ? find_ran(r, row) : NULL;

	return x && x->rows == 1 ? x : NULL;
}
