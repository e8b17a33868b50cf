/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/pgo/layout_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define NONE UINT32_MAX

struct jump {
	double w;
	uint32_t from, to;
};

struct chaining {
	const struct flow *f;
	const struct bbmap_block *block;
	uint32_t n;
	double *ran,
		*falls; /* by block: it ran; it ran on into the next one. Differences at first */
	int64_t *hits;	/* by block: spans seen of it */
	uint32_t *next, *prev, *chain, *tail; /* chain: by union, to its first block */
	double *heat;			      /* of a chain's hottest block, by its first */
	size_t cap;
	VEC(struct jump) jump;
};

struct layout_whole *layout_new(size_t n)
{
	struct layout_whole *w = xcalloc(1, sizeof(*w));

	w->l.f = arena_xalloc(&w->arena, (n + 1) * sizeof(*w->l.f));
	return w;
}

void layout_free(struct layout *l)
{
	struct layout_whole *w = (struct layout_whole *)(void *)l;

	if (!w)
		return;
	arena_free(&w->arena);
	free(w);
}

bool layout_name_fits(const char *name)
{
	if (!*name || *name == '#')
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 0x7f || strchr("/!", *name))
			return false;
	return true;
}

static void make_laid_block_room(struct chaining *x, size_t n)
{
	if (n <= x->cap)
		return;
	free(x->ran);
	free(x->falls);
	free(x->hits);
	free(x->next);
	free(x->prev);
	free(x->chain);
	free(x->tail);
	free(x->heat);
	x->cap = n * 2;
	x->ran = xmalloc((x->cap + 1) * sizeof(*x->ran));
	x->falls = xmalloc((x->cap + 1) * sizeof(*x->falls));
	x->hits = xmalloc((x->cap + 1) * sizeof(*x->hits));
	x->next = xmalloc(x->cap * sizeof(*x->next));
	x->prev = xmalloc(x->cap * sizeof(*x->prev));
	x->chain = xmalloc(x->cap * sizeof(*x->chain));
	x->tail = xmalloc(x->cap * sizeof(*x->tail));
	x->heat = xmalloc(x->cap * sizeof(*x->heat));
}

/* Returns the block that holds an offset, the last one that begins at or before it; NONE. */
static uint32_t laid_block_at(const struct chaining *x, uint64_t at)
{
	uint32_t lo = 0, n = x->n;

	if (at < x->block[0].at)
		return NONE;
	while (n > 1) {
		uint32_t half = n / 2;

		if (x->block[lo + half].at <= at)
			lo += half;
		n -= half;
	}
	/* an empty block stands before that which begins at its place */
	return at - x->block[lo].at < x->block[lo].size ? lo : NONE;
}

static void add_laid_block_spans(struct chaining *x, uint32_t image, uint64_t start, uint64_t end)
{
	size_t n_all, first;
	const struct flow_span *s = flow_spans(x->f, &n_all);
	size_t n = flow_spans_of(x->f, image, start, end, &first);
	double ran = 0, falls = 0;

	for (uint32_t i = 0; i <= x->n; i++) {
		x->ran[i] = x->falls[i] = 0;
		x->hits[i] = 0;
	}
	for (size_t i = first; i < first + n; i++) {
		uint32_t a = laid_block_at(x, s[i].start - start),
			 b = laid_block_at(x, s[i].end - start);
		double w = flow_sum(&s[i].w);

		if (a == NONE || b == NONE || b < a)
			continue;
		x->ran[a] += w;
		x->ran[b + 1] -= w;
		x->hits[a] += (int64_t)s[i].w.hits;
		x->hits[b + 1] -= (int64_t)s[i].w.hits;
		x->falls[a] += w;
		x->falls[b] -= w;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		x->ran[i] = ran += x->ran[i];
		x->falls[i] = falls += x->falls[i];
		x->hits[i] += i ? x->hits[i - 1] : 0;
		/* sums and differences of doubles leave a little over, even if nothing ran */
		if (!x->hits[i])
			x->ran[i] = ran = x->falls[i] = falls = 0;
	}
}

static void add_jumps(struct chaining *x, uint32_t image, uint64_t start, uint64_t end)
{
	size_t n_all, first;
	const struct flow_edge *e = flow_edges(x->f, &n_all);
	size_t n = flow_edges_from(x->f, image, start, end, &first);

	x->jump.n = 0;
	for (uint32_t i = 0; i + 1 < x->n; i++)
		if (x->falls[i] > 0)
			vec_xpush(&x->jump, ((struct jump){ x->falls[i], i, i + 1 }));
	for (size_t i = first; i < first + n; i++) {
		uint32_t a, b;

		if (e[i].to.image != image || e[i].to.addr < start || e[i].to.addr >= end)
			continue;
		a = laid_block_at(x, e[i].from.addr - start);
		b = laid_block_at(x, e[i].to.addr - start);
		/* calls that come back land inside of blocks */
		if (a != NONE && b != NONE && x->block[b].at == e[i].to.addr - start)
			vec_xpush(&x->jump, ((struct jump){ flow_sum(&e[i].w), a, b }));
	}
}

static int heaviest_first(const void *va, const void *vb)
{
	const struct jump *a = va, *b = vb;

	if (a->w > b->w || a->w < b->w)
		return a->w > b->w ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static uint32_t laid_block_chain_of(struct chaining *x, uint32_t i)
{
	while (x->chain[i] != i)
		i = x->chain[i] = x->chain[x->chain[i]];
	return i;
}

struct ranked {
	double heat;
	uint32_t first;
};

static int by_heat(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (!a->first || !b->first) /* the entry's */
		return a->first ? 1 : -1;
	if (a->heat > b->heat || a->heat < b->heat)
		return a->heat > b->heat ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Returns the blocks that ran, chain by chain; the entry first, which a list has to begin with. */
static uint32_t *list_blocks(struct chaining *x, struct arena *arena, size_t *n)
{
	VEC(struct ranked) v = VEC_INIT;
	uint32_t *id = arena_xalloc(arena, x->n * sizeof(*id));
	bool failed = !id;

	*n = 0;
	for (uint32_t i = 0; i < x->n && !failed; i++)
		if (x->prev[i] == NONE && (!i || x->hits[i])) {
			vec_xpush(&v, ((struct ranked){ x->heat[laid_block_chain_of(x, i)], i }));
			failed = 0;
		}
	vec_sort(&v, by_heat);
	assert(pairs_hold(v.n, i, by_heat(&v.v[i], &v.v[i + 1]) <= 0));
	vec_each (&v, const struct ranked *, r)
		for (uint32_t i = r->first; i != NONE && !failed; i = x->next[i])
			id[(*n)++] = x->block[i].id;
	vec_free(&v);
	assert(*n <= x->n);
	return failed ? NULL : id;
}

static int add_laid_block_function(struct chaining *x, struct layout_whole *w,
				   struct images *images, uint32_t image, const struct bbmap *map,
				   const struct bbmap_function *fn, struct err *err)
{
	const struct bbmap_block *last = &map->block.v[fn->first + fn->n - 1];
	struct layout_function *f = &w->l.f[w->l.n];
	const struct symbol *sym;
	uint64_t start, end;
	if (fn->n >= NONE || !image_from_vaddr(images, image, fn->vaddr, &start))
		return 0;
	x->block = &map->block.v[fn->first];
	x->n = (uint32_t)fn->n;
	end = start + last->at + last->size;
	make_laid_block_room(x, fn->n);
	add_laid_block_spans(x, image, start, end);
	f->weight = 0;
	for (uint32_t i = 0; i < x->n; i++)
		f->weight += x->ran[i] * x->block[i].size;
	if (!(f->weight > 0))
		return 0;
	image_resolve(images, image, &start, 1, &sym);
	if (!symbol_has_name(sym) || sym->start != start || !layout_name_fits(sym->linkage)) {
		w->l.strange++;
		return 0;
	}
	add_jumps(x, image, start, end);
	for (uint32_t i = 0; i < x->n; i++) {
		x->next[i] = x->prev[i] = NONE;
		x->chain[i] = x->tail[i] = i;
		x->heat[i] = x->ran[i];
	}
	vec_sort(&x->jump, heaviest_first);
	vec_each (&x->jump, const struct jump *, j) {
		uint32_t a, b;

		if (!j->to || !x->hits[j->from] || !x->hits[j->to] || x->next[j->from] != NONE ||
		    x->prev[j->to] != NONE)
			continue;
		a = laid_block_chain_of(x, j->from);
		b = laid_block_chain_of(x, j->to);
		if (a == b)
			continue;
		x->next[j->from] = j->to;
		x->prev[j->to] = j->from;
		x->chain[b] = a;
		x->heat[a] = x->heat[b] > x->heat[a] ? x->heat[b] : x->heat[a];
	}
	f->name = sym->linkage;
	f->id = list_blocks(x, &w->arena, &f->n);
	if (!f->id)
		return err_nomem(err);
	w->l.n++;
	return 0;
}

static int laid_block_by_weight(const void *va, const void *vb)
{
	const struct layout_function *a = va, *b = vb;

	if (a->weight > b->weight || a->weight < b->weight)
		return a->weight > b->weight ? -1 : 1;
	return strcmp(a->name, b->name);
}

int layout_blocks(struct layout **out, const struct flow *f, struct images *images, uint32_t image,
		  const struct bbmap *map, struct err *err)
{
	struct layout_whole *w = layout_new(map->function.n);
	struct chaining x = { .f = f };
	int ret = 0;

	*out = NULL;
	for (size_t i = 0; !ret && i < map->function.n; i++)
		ret = add_laid_block_function(&x, w, images, image, map, &map->function.v[i], err);
	if (!ret) {
		if (w->l.n > 1)
			qsort(w->l.f, w->l.n, sizeof(*w->l.f), laid_block_by_weight);
		*out = &w->l;
	} else {
		layout_free(w ? &w->l : NULL);
	}
	free(x.ran);
	free(x.falls);
	free(x.hits);
	free(x.next);
	free(x.prev);
	free(x.chain);
	free(x.tail);
	free(x.heat);
	vec_free(&x.jump);
	return ret;
}
