/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Self and total per function from the tree of chains. One walk down the tree in depth, with a
 * counter per function of how often it is on the path: a node adds its total only if its function
 * is met for the first time, so recursion counts once. The path is the tree's own parent links.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>

struct functions {
	const struct profile_chains *c;
	uint32_t *of_frame; /* frame -> function */
	uint32_t *depth;    /* function -> times on the path */
	struct profile_function *v;
	size_t n;
};

static int number_functions(struct functions *f)
{
	struct itab at = ITAB_INIT;

	for (size_t i = 0; i < f->c->n_frames; i++) {
		const struct profile_frame *fr = &f->c->frame[i];
		uint64_t h = hash_pair(fr->name, fr->dso);
		uint32_t idx, found = ITAB_NONE;

		for (size_t k = itab_first(&at, h);
		     found == ITAB_NONE && itab_at(&at, &k, h, &idx);) {
			const struct profile_frame *o = &f->c->frame[f->v[idx].frame];

			if (o->name == fr->name && o->dso == fr->dso)
				found = idx;
		}
		if (found == ITAB_NONE) {
			if (itab_put(&at, h, f->n)) {
				itab_free(&at);
				return -1;
			}
			found = (uint32_t)f->n++;
			f->v[found].frame = (uint32_t)i;
		}
		f->of_frame[i] = found;
	}
	itab_free(&at);
	return 0;
}

static void enter(struct functions *f, size_t event, uint32_t node)
{
	uint32_t fn = f->of_frame[f->c->tree.node[node].frame];

	tally_add(&f->v[fn].self, &f->c->self[event][node]);
	if (!f->depth[fn]++)
		tally_add(&f->v[fn].total, &f->c->total[event][node]);
}

static void leave(struct functions *f, uint32_t node)
{
	f->depth[f->of_frame[f->c->tree.node[node].frame]]--;
}

static void walk_tree_down(struct functions *f, size_t event)
{
	const struct chain_node *t = f->c->tree.node;
	uint32_t node = t[0].child;

	while (node) {
		enter(f, event, node);
		if (t[node].child) {
			node = t[node].child;
			continue;
		}
		leave(f, node);
		while (!t[node].sibling && t[node].parent) {
			node = t[node].parent;
			leave(f, node);
		}
		node = t[node].sibling;
	}
}

int profile_functions(const struct profile *p, size_t event, struct profile_function **out,
		      size_t *n, struct err *err)
{
	struct functions f = { .c = profile_chains(p) };
	int ret = -1;

	*out = NULL;
	*n = 0;
	if (!f.c)
		return err_set(err, ERR_USAGE, "functions need chains, and none were built");
	f.of_frame = calloc(f.c->n_frames + 1, sizeof(*f.of_frame));
	f.depth = calloc(f.c->n_frames + 1, sizeof(*f.depth));
	f.v = calloc(f.c->n_frames + 1, sizeof(*f.v));
	if (!f.of_frame || !f.depth || !f.v || number_functions(&f)) {
		(void)err_nomem(err);
		goto out;
	}
	if (f.c->tree.n && event < p->n_events)
		walk_tree_down(&f, event);
	*out = f.v;
	*n = f.n;
	f.v = NULL;
	ret = 0;
out:
	free(f.of_frame);
	free(f.depth);
	free(f.v);
	return ret;
}
