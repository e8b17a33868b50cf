/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' chains of sites become chains of frames (functions or lines rather than addresses),
 * are put in order on all cores, and are laid out as a tree, one behind the other. Its numbers are
 * those of a walk in depth, whichever worker saw a chain first.
 */
#include "analyse/profile/profile_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"

static uint64_t frame_hash(uint32_t name, uint32_t dso, uint32_t srcline, bool inlined)
{
	return hash_pair((uint64_t)name << 32 | dso, (uint64_t)srcline << 1 | inlined);
}

static uint32_t frame_add(struct profile *p, const struct profile_frame *f)
{
	uint64_t h = frame_hash(f->name, f->dso, f->srcline, f->inlined);
	uint32_t idx;

	for (size_t i = itab_first(&p->frame_at, h); itab_at(&p->frame_at, &i, h, &idx);) {
		const struct profile_frame *o = &p->frames[idx];

		if (o->name == f->name && o->dso == f->dso && o->srcline == f->srcline &&
		    o->inlined == f->inlined)
			return idx;
	}
	if (p->chains.n_frames == p->cap_frames) {
		size_t cap = p->cap_frames ? p->cap_frames * 2 : 256;
		struct profile_frame *v = realloc(p->frames, cap * sizeof(*v));

		if (!v)
			return ITAB_NONE;
		p->frames = v;
		p->cap_frames = cap;
	}
	if (itab_put(&p->frame_at, h, p->chains.n_frames))
		return ITAB_NONE;
	p->frames[p->chains.n_frames] = *f;
	return (uint32_t)p->chains.n_frames++;
}

static int push_id(struct profile *p, struct named_site *pl, const struct profile_frame *f)
{
	uint32_t id = frame_add(p, f);

	if (id == ITAB_NONE)
		return -1;
	if (p->n_frame_ids == p->cap_frame_ids) {
		size_t cap = p->cap_frame_ids ? p->cap_frame_ids * 2 : 1024;
		uint32_t *v = realloc(p->frame_ids, cap * sizeof(*v));

		if (!v)
			return -1;
		p->frame_ids = v;
		p->cap_frame_ids = cap;
	}
	p->frame_ids[p->n_frame_ids++] = id;
	pl->n_frames++;
	return 0;
}

static uint32_t frame_line(struct profile *p, const struct source_line *l)
{
	return p->opts.chain_lines && l->file && l->line ? profile_line_string(p, l) : 0;
}

static int site_frames(struct profile *p, const struct site *s, struct named_site *pl)
{
	uint32_t n_inl = p->opts.chain_inline ? pl->n_inl : 0;
	struct profile_frame f = { .name = pl->name,
				   .dso = pl->dso,
				   .image = s->image,
				   .symbol = pl->symbol,
				   .space = s->kind,
				   .line = n_inl ? pl->inl[0].at : pl->line,
				   .linkage = pl->symbol ? pl->symbol->linkage : NULL };

	pl->frame_first = (uint32_t)p->n_frame_ids;
	f.srcline = frame_line(p, &f.line);
	if (f.srcline == STR_NONE || push_id(p, pl, &f))
		return -1;
	f.inlined = true;
	for (uint32_t i = 0; i < n_inl; i++) {
		f.name = strtab_adds(&p->strings, pl->inl[i].name ? pl->inl[i].name : "[unknown]");
		f.line = i + 1 < n_inl ? pl->inl[i + 1].at : pl->line;
		f.linkage = pl->inl[i].linkage;
		f.srcline = frame_line(p, &f.line);
		if (f.name == STR_NONE || f.srcline == STR_NONE || push_id(p, pl, &f))
			return -1;
	}
	return 0;
}

/* Sites without a symbol are a frame each. */
static size_t few_frames(const struct profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->sites.n; i++)
		n += !p->place[i].symbol;
	return n;
}

/* Asks for the slot of a frame that comes a little later (place_ahead() has asked for the
 * place). */
static void frame_ahead(const struct profile *p, size_t i)
{
	const struct named_site *pl;

	if (i + 4 >= p->sites.n)
		return;
	pl = &p->place[p->order[i + 4]];
	itab_ahead(&p->frame_at, frame_hash(pl->name, pl->dso, 0, false));
}

int make_frame_ids(struct profile *p, struct err *err)
{
	itab_reserve(&p->frame_at, few_frames(p));
	for (size_t i = 0; i < p->sites.n; i++) {
		place_ahead(p, i);
		frame_ahead(p, i);
		if (site_frames(p, &p->sites.v[p->order[i]], &p->place[p->order[i]]))
			return err_nomem(err);
	}
	return 0;
}

/* ---- chains of sites to chains of frames -------------------------------------------------------
 */

#define SLICE	   8192u
#define MANY	   0x80000000u /* a site, not a frame: it has more than one */
#define CHAINS_MAX ((size_t)UINT32_MAX)

struct framing {
	struct profile *p;
	const struct scan *sc;
	size_t first[64 + 1]; /* of each worker's chains among all */
	size_t n;
	uint32_t **slice; /* the frames of SLICE chains */
	size_t n_slices;
	struct chain_ref *ref;
	uint32_t **party; /* by worker: the frames of its parties; opts.chain_comm */
};

/* The worker's map from its sites becomes one to frames. */
static int map_frames(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct framing *f = ctx;
	const struct profile *p = f->p;
	uint32_t *map = p->site_map[i];

	(void)worker;
	(void)err;
	for (size_t k = 0; k < p->n_site_map[i]; k++) {
		const struct named_site *pl = &p->place[map[k]];

		map[k] = pl->n_frames == 1 ? p->frame_ids[pl->frame_first] : map[k] | MANY;
	}
	return 0;
}

static size_t count_frames(const struct profile *p, const uint32_t *map, const struct walk_chain *c)
{
	size_t n = c->n_at;

	for (uint32_t i = p->opts.chain_comm; i < c->n_at; i++)
		if (map[c->at[i]] & MANY)
			n += p->place[map[c->at[i]] & ~MANY].n_frames - 1;
	return n;
}

static uint32_t *put_frames(const struct framing *f, unsigned worker, struct walk_chain *c,
			    uint32_t *to)
{
	const struct profile *p = f->p;
	const uint32_t *map = p->site_map[worker];
	uint32_t *begin = to;

	if (p->opts.chain_comm)
		*to++ = f->party[worker][c->at[0]];
	for (uint32_t i = p->opts.chain_comm; i < c->n_at; i++) {
		uint32_t m = map[c->at[i]];
		const struct named_site *pl = &p->place[m & ~MANY];

		if (!(m & MANY)) {
			*to++ = m;
			continue;
		}
		memcpy(to, p->frame_ids + pl->frame_first, pl->n_frames * sizeof(*to));
		to += pl->n_frames;
	}
	c->at = begin;
	c->n_at = (uint32_t)(to - begin);
	return to;
}

static unsigned worker_of(const struct framing *f, size_t chain)
{
	unsigned w = 0;

	while (f->first[w + 1] <= chain)
		w++;
	return w;
}

static int frame_slice(void *ctx, unsigned worker, size_t slice, struct err *err)
{
	struct framing *f = ctx;
	size_t first = slice * SLICE, end = first + SLICE < f->n ? first + SLICE : f->n, n = 0;
	uint32_t *to;

	(void)worker;
	for (size_t i = first; i < end; i++) {
		unsigned w = worker_of(f, i);

		f->ref[i].c = walk_chain_at(f->sc->worker[w].walk, i - f->first[w]);
		f->ref[i].c->lo = w;
		n += count_frames(f->p, f->p->site_map[w], f->ref[i].c);
	}
	to = f->slice[slice] = malloc((n + 1) * sizeof(*to));
	if (!to)
		return err_nomem(err);
	for (size_t i = first; i < end; i++)
		to = put_frames(f, worker_of(f, i), f->ref[i].c, to);
	return 0;
}

/* A frame for each thread's name. */
static int frame_parties(struct framing *f, struct err *err)
{
	struct profile *p = f->p;
	char text[COMM_TEXT];

	f->party = arena_alloc(&p->arena, f->sc->n_workers * sizeof(*f->party));
	for (unsigned w = 0; f->party && w < f->sc->n_workers; w++) {
		const struct worker *from = &f->sc->worker[w];

		f->party[w] = arena_alloc(&p->arena, (from->party.n + 1) * sizeof(**f->party));
		for (size_t i = 0; f->party[w] && i < from->party.n; i++) {
			struct profile_frame frame = { .image = IMAGE_NONE, .thread = true };

			frame.name = strtab_adds(
				&p->strings, pass_comm_text(p->sp, from->party.v[i].comm, text));
			frame.dso = strtab_adds(&p->strings, "");
			if (frame.name == STR_NONE || frame.dso == STR_NONE)
				return err_nomem(err);
			f->party[w][i] = frame_add(p, &frame);
			if (f->party[w][i] == ITAB_NONE)
				return err_nomem(err);
		}
		if (!f->party[w])
			return err_nomem(err);
	}
	return f->party ? 0 : err_nomem(err);
}

static int frame_chains(struct framing *f, struct err *err)
{
	unsigned n_workers = f->sc->n_workers, threads = f->p->opts.threads;

	for (unsigned i = 0; i < n_workers; i++)
		f->first[i + 1] = f->first[i] + walk_n_chains(f->sc->worker[i].walk);
	f->n = f->first[n_workers];
	f->n_slices = (f->n + SLICE - 1) / SLICE;
	if (f->n >= CHAINS_MAX || f->p->sites.n >= MANY || f->p->chains.n_frames >= MANY)
		return err_nomem(err);
	f->slice = calloc(f->n_slices + 1, sizeof(*f->slice));
	f->ref = malloc((f->n + 1) * sizeof(*f->ref));
	if (!f->slice || !f->ref)
		return err_nomem(err);
	if (task_for(n_workers, threads, map_frames, f, err) ||
	    task_for(f->n_slices, threads, frame_slice, f, err))
		return -1;
	for (unsigned i = 0; i < n_workers; i++)
		walk_drop_sites(f->sc->worker[i].walk);
	return 0;
}

/* ---- the tree ----------------------------------------------------------------------------------
 */

static int make_tallies(struct profile *p, size_t nodes, struct err *err)
{
	struct profile_chains *c = &p->chains;
	size_t used = 0;

	for (size_t e = 0; e < p->n_events; e++)
		used += p->sums[e].selected.samples > 0;
	if (used * nodes > PROFILE_CELLS_MAX)
		return profile_too_big(err);
	for (size_t e = 0; e < p->n_events; e++) {
		/* events without samples share one of zeros */
		bool any = p->sums[e].selected.samples > 0;

		if (!any && !p->zeros)
			p->zeros = calloc(nodes + 1, sizeof(*p->zeros));
		c->self[e] = any ? malloc((nodes + 1) * sizeof(**c->self)) : p->zeros;
		c->total[e] = any ? malloc((nodes + 1) * sizeof(**c->total)) : p->zeros;
		if (!c->self[e] || !c->total[e])
			return err_nomem(err);
		/* by hand: memory that is written soon need not be the kernel's page of zeros
		 * first */
		if (any)
			memset(c->self[e], 0, (nodes + 1) * sizeof(**c->self));
	}
	return 0;
}

/* Samples of equal chains, which follow each other, until the next is another. */
struct run {
	struct weight w;
	uint32_t node, event;
};

static void run_end(struct profile *p, struct run *r)
{
	if (r->w.samples)
		profile_tally_add(p, &p->chains.self[r->event][r->node], &r->w);
	r->w = (struct weight){ 0 };
}

static int grow_path(uint32_t **path, size_t *cap, size_t want)
{
	uint32_t *v;

	if (want <= *cap)
		return 0;
	v = realloc(*path, want * 2 * sizeof(*v));
	if (!v)
		return -1;
	*path = v;
	*cap = want * 2;
	return 0;
}

/* Chains in order give the nodes of the tree in the order of a walk in depth. */
static int grow_tree(struct framing *f, struct err *err)
{
	struct profile *p = f->p;
	struct chain_tree *t = &p->chains.tree;
	struct run run = { 0 };
	uint32_t *path = NULL; /* the last chain's node at each depth */
	size_t cap = 0, n_last = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct chain_ref *r = &f->ref[i];
		const struct walk_chain *c = r->c;
		size_t d = r->key;
		uint32_t after = d < n_last ? path[d] : 0, node = d ? path[d - 1] : 0;
		struct weight w;

		if (i + 8 < f->n)
			__builtin_prefetch(f->ref[i + 8].c);
		if (i + 4 < f->n)
			__builtin_prefetch(f->ref[i + 4].c->at + f->ref[i + 4].key);
		if (grow_path(&path, &cap, (size_t)c->n_at + 1)) {
			free(path);
			return err_nomem(err);
		}
		for (; d < c->n_at; d++, after = 0)
			path[d] = node = chain_append(t, node, after, c->at[d]);
		n_last = c->n_at;
		if (node != run.node || c->event != run.event)
			run_end(p, &run);
		run.node = node;
		run.event = c->event;
		w = walk_weight(f->sc->worker[c->lo].walk, c);
		weight_sum(&run.w, &w);
	}
	run_end(p, &run);
	free(path);
	return 0;
}

static void sum_up(struct profile *p)
{
	const struct chain_tree *t = &p->chains.tree;

	for (size_t e = 0; e < p->n_events; e++) {
		struct tally *total = p->chains.total[e];

		if (total == p->zeros)
			continue;
		memcpy(total, p->chains.self[e], t->n * sizeof(*total));
		for (size_t i = t->n; i-- > 1;)
			tally_add(&total[t->node[i].parent], &total[i]);
		assert(total[0].samples == p->sums[e].selected.samples);
	}
}

static int make_tree(struct framing *f, struct err *err)
{
	size_t nodes = 1;

	for (size_t i = 0; i < f->n; i++)
		nodes += f->ref[i].c->n_at - f->ref[i].key;
	if (make_tallies(f->p, nodes, err))
		return -1;
	if (!f->n)
		return 0;
	if (chain_reserve(&f->p->chains.tree, nodes))
		return err_nomem(err);
	if (grow_tree(f, err))
		return -1;
	assert(f->p->chains.tree.n == nodes);
	sum_up(f->p);
	return 0;
}

int make_frames(struct profile *p, const struct scan *sc, struct err *err)
{
	struct profile_chains *c = &p->chains;
	struct framing f = { .p = p, .sc = sc };
	int ret = -1;

	if (p->opts.chain_comm && frame_parties(&f, err))
		goto out;
	c->frame = p->frames;
	c->self = arena_alloc(&p->arena, (p->n_events + 1) * sizeof(*c->self));
	c->total = arena_alloc(&p->arena, (p->n_events + 1) * sizeof(*c->total));
	for (unsigned k = 0; k < CHAIN_CUTS; k++) {
		c->cut[k] = arena_alloc(&p->arena, (p->n_events + 1) * sizeof(*c->cut[k]));
		if (c->cut[k])
			memset(c->cut[k], 0, (p->n_events + 1) * sizeof(*c->cut[k]));
	}
	if (!c->self || !c->total || !c->cut[CUT_BY_KERNEL] || !c->cut[CUT_BY_LIMIT]) {
		(void)err_nomem(err);
		goto out;
	}
	for (unsigned i = 0; i < sc->n_workers; i++)
		for (unsigned k = 0; k < 8; k++)
			c->broken[k] += walk_broken(sc->worker[i].walk)[k];
	for (unsigned i = 0; i < sc->n_workers; i++)
		for (size_t e = 0; e < CHAIN_CUTS * p->n_events; e++)
			tally_add(&c->cut[e % CHAIN_CUTS][e / CHAIN_CUTS],
				  &walk_cut(sc->worker[i].walk)[e]);
	if (frame_chains(&f, err))
		goto out;
	profile_drop_names(p);
	if (!chains_sort(f.ref, f.n, p->opts.threads, err))
		ret = make_tree(&f, err);
out:
	for (size_t i = 0; f.slice && i < f.n_slices; i++)
		free(f.slice[i]);
	free(f.slice);
	free(f.ref);
	return ret;
}
