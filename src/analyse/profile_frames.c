/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' trees of sites become one tree of frames: functions (or lines) rather than
 * addresses, so that it is much smaller, and each node of the old ones is visited once.
 */
#include "analyse/profile_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint32_t frame_add(struct profile *p, const struct profile_frame *f)
{
	uint64_t h =
		hash_pair((uint64_t)f->name << 32 | f->dso, (uint64_t)f->srcline << 1 | f->inlined);
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

static int push_id(struct profile *p, struct place *pl, const struct profile_frame *f)
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

static int site_frames(struct profile *p, const struct site *s, struct place *pl)
{
	uint32_t n_inl = p->opts.chain_inline ? pl->n_inl : 0;
	struct profile_frame f = { .name = pl->name,
				   .dso = pl->dso,
				   .image = s->image,
				   .symbol = pl->symbol,
				   .space = s->kind };

	pl->frame_first = (uint32_t)p->n_frame_ids;
	f.srcline = frame_line(p, n_inl ? &pl->inl[0].at : &pl->line);
	if (f.srcline == STR_NONE || push_id(p, pl, &f))
		return -1;
	f.inlined = true;
	for (uint32_t i = 0; i < n_inl; i++) {
		f.name = strtab_adds(&p->strings, pl->inl[i].name ? pl->inl[i].name : "[unknown]");
		f.srcline = frame_line(p, i + 1 < n_inl ? &pl->inl[i + 1].at : &pl->line);
		if (f.name == STR_NONE || f.srcline == STR_NONE || push_id(p, pl, &f))
			return -1;
	}
	return 0;
}

int make_frame_ids(struct profile *p, struct err *err)
{
	for (size_t i = 0; i < p->sites.n; i++)
		if (site_frames(p, &p->sites.v[p->order[i]], &p->place[p->order[i]]))
			return err_nomem(err);
	return 0;
}

/* ---- the tree ----------------------------------------------------------------------------------
 */

/* map[i]: the node of the common tree that node i of the worker's became. */
static int rebuild(struct profile *p, const struct chain_tree *t, const uint32_t *site_map,
		   uint32_t *map)
{
	if (t->n)
		map[0] = 0;
	for (size_t i = 1; i < t->n; i++) {
		const struct place *pl = &p->place[site_map[t->node[i].frame]];
		uint32_t node = map[t->node[i].parent];

		for (uint32_t k = 0; k < pl->n_frames; k++) {
			node = chain_add(&p->chains.tree, node, p->frame_ids[pl->frame_first + k]);
			if (node == UINT32_MAX)
				return -1;
		}
		map[i] = node;
	}
	return 0;
}

/* self and total of one event from the weights of its nodes. */
static void sum_up(const struct chain_tree *t, struct weight *w, struct tally *self,
		   struct tally *total)
{
	for (size_t i = 0; i < t->n; i++)
		weight_to_tally(&self[i], &w[i]);
	for (size_t i = t->n; i-- > 1;)
		weight_sum(&w[t->node[i].parent], &w[i]);
	for (size_t i = 0; i < t->n; i++)
		weight_to_tally(&total[i], &w[i]);
}

static int sum_events(struct profile *p, const struct scan *sc, uint32_t *const *map,
		      struct weight *w, struct err *err)
{
	struct profile_chains *c = &p->chains;
	size_t nodes = c->tree.n;

	for (size_t e = 0; e < sc->n_events; e++) {
		bool any = false;

		memset(w, 0, (nodes + 1) * sizeof(*w));
		for (unsigned i = 0; i < sc->n_workers; i++) {
			size_t n;
			const struct walk_leaf *l = walk_leaves(sc->worker[i].walk, &n);

			for (size_t k = 0; k < n; k++) {
				if (l[k].event != e)
					continue;
				weight_sum(&w[map[i][l[k].node]], &l[k].w);
				any = true;
			}
		}
		if (!any) /* all of these share the zeros in front */
			continue;
		c->self[e] = calloc(nodes + 1, sizeof(**c->self));
		c->total[e] = calloc(nodes + 1, sizeof(**c->total));
		if (!c->self[e] || !c->total[e])
			return err_nomem(err);
		sum_up(&c->tree, w, c->self[e], c->total[e]);
		assert(!nodes || c->total[e][0].samples == p->sums[e].selected.samples);
	}
	return 0;
}

static size_t events_used(const struct profile *p)
{
	size_t n = 0;

	for (size_t e = 0; e < p->n_events; e++)
		n += p->sums[e].selected.samples > 0;
	return n;
}

/* Events without samples have their tallies too: all zero. */
static int zero_events(struct profile *p, struct err *err)
{
	struct profile_chains *c = &p->chains;

	p->zeros = calloc(c->tree.n + 1, sizeof(*p->zeros));
	if (!p->zeros)
		return err_nomem(err);
	for (size_t e = 0; e < p->n_events; e++) {
		if (!c->self[e])
			c->self[e] = p->zeros;
		if (!c->total[e])
			c->total[e] = p->zeros;
	}
	return 0;
}

int make_frames(struct profile *p, const struct scan *sc, struct err *err)
{
	struct profile_chains *c = &p->chains;
	uint32_t **map = calloc(sc->n_workers + 1, sizeof(*map));
	struct weight *w = NULL;
	int ret = -1;

	c->frame = p->frames;
	c->self = arena_alloc(&p->arena, (p->n_events + 1) * sizeof(*c->self));
	c->total = arena_alloc(&p->arena, (p->n_events + 1) * sizeof(*c->total));
	if (!map || !c->self || !c->total) {
		(void)err_nomem(err);
		goto out;
	}
	for (unsigned i = 0; i < sc->n_workers; i++) {
		const struct chain_tree *t = walk_tree(sc->worker[i].walk);

		map[i] = malloc((t->n + 1) * sizeof(**map));
		if (!map[i] || rebuild(p, t, p->site_map[i], map[i])) {
			(void)err_nomem(err);
			goto out;
		}
		for (unsigned k = 0; k < 8; k++)
			c->broken[k] += walk_broken(sc->worker[i].walk)[k];
	}
	if (events_used(p) * c->tree.n > PROFILE_CELLS_MAX) {
		(void)profile_too_big(err);
		goto out;
	}
	w = malloc((c->tree.n + 1) * sizeof(*w));
	if (!w) {
		(void)err_nomem(err);
		goto out;
	}
	ret = sum_events(p, sc, map, w, err);
	if (!ret)
		ret = zero_events(p, err);
out:
	for (unsigned i = 0; map && i < sc->n_workers; i++)
		free(map[i]);
	free(map);
	free(w);
	return ret;
}
