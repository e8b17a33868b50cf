/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/pgo/layout_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define NONE	 UINT32_MAX
#define LESS_MAX 8 /* times less dense that a caller's cluster may become */

struct node {
	const struct symbol *symbol;
	uint64_t start, end;
	double weight;	     /* bytes that ran */
	uint32_t cluster;    /* by union, to the one that stands first */
	uint32_t next, last; /* in the cluster; `last` of the first one */
	double sum;	     /* of the cluster, by the first one */
	uint64_t size;
};

struct ordering {
	const struct flow *f;
	uint32_t image;
	VEC(struct node) v; /* by address */
	double *calls;	    /* by node: into the one at hand */
	uint32_t *touched;
};

static int add_laid_function_node(struct ordering *x, struct layout_whole *w,
				  const struct symbol *s, double weight, uint64_t end)
{
	struct node n = { s,	s->start,	  end,	  weight,	 (uint32_t)x->v.n,
			  NONE, (uint32_t)x->v.n, weight, end - s->start };
	size_t len = strlen(s->linkage);

	if (*s->linkage == '.' || (len > 4 && !strcmp(s->linkage + len - 4, "@plt")))
		return 0; /* the linker's own */
	if (!layout_name_fits(s->linkage)) {
		w->l.strange++;
		return 0;
	}
	if (x->v.n >= NONE)
		return -1;
	vec_xpush(&x->v, n);
	return 0;
}

/* Functions in which spans begin. */
static int list_nodes(struct ordering *x, struct layout_whole *w, struct images *images,
		      struct err *err)
{
	size_t n_all, first;
	const struct flow_span *s = flow_spans(x->f, &n_all);
	size_t n = flow_spans_of(x->f, x->image, 0, UINT64_MAX, &first);
	const struct symbol **sym = xcalloc(n + 1, sizeof(*sym));
	uint64_t *addr = xmalloc((n + 1) * sizeof(*addr));
	int ret = -1;

	s += first;
	for (size_t i = 0; i < n; i++)
		addr[i] = s[i].start;
	image_resolve(images, x->image, addr, n, sym);
	for (size_t i = 0, k; i < n; i = k) {
		uint64_t end = sym[i] ? sym[i]->start + sym[i]->size : 0;
		double weight = 0;

		for (k = i; k < n && sym[k] == sym[i]; k++) {
			weight += flow_sum(&s[k].w) * (double)(s[k].end - s[k].start + 1);
			if (sym[i] && s[k].end >= end)
				end = s[k].end + 1;
		}
		if (symbol_has_name(sym[i]) && weight > 0 &&
		    add_laid_function_node(x, w, sym[i], weight, end)) {
			(void)err_nomem(err);
			goto out;
		}
	}
	ret = 0;
out:
	free((void *)sym);
	free(addr);
	return ret;
}

static uint32_t node_at(const struct ordering *x, uint64_t addr)
{
	uint32_t lo = 0, n = (uint32_t)x->v.n;

	if (!n || addr < x->v.v[0].start)
		return NONE;
	while (n > 1) {
		uint32_t half = n / 2;

		if (x->v.v[lo + half].start <= addr)
			lo += half;
		n -= half;
	}
	return addr < x->v.v[lo].end ? lo : NONE;
}

static uint32_t cluster_of(struct ordering *x, uint32_t i)
{
	struct node *v = x->v.v;

	while (v[i].cluster != i)
		i = v[i].cluster = v[v[i].cluster].cluster;
	return i;
}

/* Returns the function with most calls of another one; NONE. */
static uint32_t caller_of(struct ordering *x, uint32_t i)
{
	size_t n_all, first, n_touched = 0;
	const struct flow_edge *e = flow_edges(x->f, &n_all);
	const uint32_t *into = flow_edges_into(x->f);
	uint64_t start = x->v.v[i].start;
	size_t n = flow_edges_to(x->f, x->image, start, start + 1, &first);
	uint32_t best = NONE;

	for (size_t k = first; k < first + n; k++) {
		const struct flow_edge *o = &e[into[k]];
		uint32_t from = o->from.image == x->image ? node_at(x, o->from.addr) : NONE;

		if (from == NONE || from == i)
			continue;
		if (!(x->calls[from] > 0))
			x->touched[n_touched++] = from;
		x->calls[from] += flow_sum(&o->w);
	}
	for (size_t k = 0; k < n_touched; k++) {
		uint32_t from = x->touched[k];

		if (best == NONE || x->calls[from] > x->calls[best] ||
		    (x->calls[from] >= x->calls[best] && from < best))
			best = from;
	}
	for (size_t k = 0; k < n_touched; k++)
		x->calls[x->touched[k]] = 0;
	return best;
}

static double density(const struct node *n)
{
	return n->sum / (double)(n->size ? n->size : 1);
}

static void put_behind(struct ordering *x, uint32_t caller, uint32_t i)
{
	struct node *v = x->v.v;
	uint32_t a = cluster_of(x, caller), b = cluster_of(x, i);
	double together;

	/* only from its beginning on does a cluster follow its caller */
	if (a == b || b != i || v[a].size + v[b].size > LAYOUT_CLUSTER)
		return;
	together = (v[a].sum + v[b].sum) / (double)(v[a].size + v[b].size + 1);
	if (together * LESS_MAX < density(&v[a]))
		return;
	v[v[a].last].next = b;
	v[a].last = v[b].last;
	v[a].sum += v[b].sum;
	v[a].size += v[b].size;
	v[b].cluster = a;
}

struct ranked {
	double by;
	uint32_t i;
};

static int most_first(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->by > b->by || a->by < b->by)
		return a->by > b->by ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

static void list_clusters(struct ordering *x, struct layout_whole *w)
{
	VEC(struct ranked) r = VEC_INIT;

	w->l.f = arena_xalloc(&w->arena, (x->v.n + 1) * sizeof(*w->l.f));
	for (uint32_t i = 0; i < x->v.n; i++)
		if (x->v.v[i].cluster == i) {
			vec_xpush(&r, ((struct ranked){ density(&x->v.v[i]), i }));
		}
	vec_sort(&r, most_first);
	vec_each (&r, const struct ranked *, c)
		for (uint32_t i = c->i; i != NONE; i = x->v.v[i].next)
			w->l.f[w->l.n++] =
				(struct layout_function){ .name = x->v.v[i].symbol->linkage,
							  .weight = x->v.v[i].weight };
	vec_free(&r);
	assert(w->l.n == x->v.n); /* each is in one cluster */
}

int layout_functions(struct layout **out, const struct flow *f, struct images *images,
		     uint32_t image, struct err *err)
{
	struct layout_whole *w = layout_new(0);
	struct ordering x = { .f = f, .image = image };
	int ret = list_nodes(&x, w, images, err);

	*out = NULL;
	if (ret) {
		layout_free(&w->l);
	} else {
		size_t n = x.v.n;
		struct ranked *r = xmalloc((n + 1) * sizeof(*r));

		x.calls = xcalloc(n + 1, sizeof(*x.calls));
		x.touched = xmalloc((n + 1) * sizeof(*x.touched));
		for (size_t i = 0; i < n; i++)
			r[i] = (struct ranked){ x.v.v[i].weight, (uint32_t)i };
		if (n > 1)
			qsort(r, n, sizeof(*r), most_first);
		for (size_t i = 0; i < n; i++) {
			uint32_t caller = caller_of(&x, r[i].i);

			if (caller != NONE)
				put_behind(&x, caller, r[i].i);
		}
		free(r);
		list_clusters(&x, w);
		*out = &w->l;
	}
	vec_free(&x.v);
	free(x.calls);
	free(x.touched);
	return ret;
}
