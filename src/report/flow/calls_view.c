/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/calls_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *calls_dso(const struct calls_view *v, uint32_t f)
{
	uint32_t image = v->c->f[f].image;

	return image == IMAGE_NONE ? "[in no mapping]" : image_name(v->images, image);
}

const char *calls_name(const struct calls_view *v, uint32_t f)
{
	const struct symbol *s = v->c->f[f].symbol;

	return s ? s->name : "[no symbol]";
}

void calls_put_name(struct buf *b, const struct calls_view *v, uint32_t f)
{
	buf_puts(b, calls_name(v, f));
	if (!v->c->f[f].symbol)
		buf_printf(b, " of %s", calls_dso(v, f));
}

bool calls_vaddr(const struct calls_view *v, uint32_t f, uint64_t *out)
{
	const struct call_function *x = &v->c->f[f];

	if (!x->symbol || x->image == IMAGE_NONE)
		return false;
	if (!image_to_vaddr(v->images, x->image, x->symbol->start, out))
		*out = x->symbol->start;
	return true;
}

double calls_mispredicted(const struct branch_tally *t)
{
	uint64_t all = t->mispredicted + t->predicted;

	return all ? (double)t->mispredicted / (double)all : NAN;
}

const char *calls_how(const struct calls_view *v, const struct call_edge *e)
{
	if (e->tail)
		return "tail";
	if (e->caller == e->callee && v->c->f[e->caller].symbol)
		return "self";
	if (e->plt)
		return "PLT";
	if (!e->indirect)
		return "";
	return e->indirect == e->hits ? "indir" : "part";
}

double calls_share(const struct calls_view *v, double runs)
{
	return v->c->runs.v > 0 ? runs / v->c->runs.v : NAN;
}

static int calls_view_by_runs(const void *pa, const void *pb, void *edges)
{
	const struct call_edge *a = (const struct call_edge *)edges + *(const uint32_t *)pa;
	const struct call_edge *b = (const struct call_edge *)edges + *(const uint32_t *)pb;

	if (a->runs.v != b->runs.v)
		return a->runs.v < b->runs.v ? 1 : -1;
	return a < b ? -1 : a > b;
}

uint32_t *calls_by_runs(const struct calls *c)
{
	uint32_t *order = xmalloc((c->n_edges + 1) * sizeof(*order));

	for (size_t i = 0; i < c->n_edges; i++)
		order[i] = (uint32_t)i;
	if (c->n_edges > 1)
		qsort_r(order, c->n_edges, sizeof(*order), calls_view_by_runs, c->edge);
	return order;
}

const char *calls_by(const struct calls *c)
{
	return c->by_returns ? "returns" : "calls";
}
