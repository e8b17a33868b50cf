/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"

static int make_root(struct chain_tree *t)
{
	t->node = calloc(64, sizeof(*t->node));
	if (!t->node)
		return -1;
	t->cap = 64;
	t->n = 1;
	return 0;
}

static int add_node(struct chain_tree *t, uint32_t parent, uint64_t frame, uint64_t hash)
{
	struct chain_node *node;

	if (t->n == t->cap) {
		node = realloc(t->node, t->cap * 2 * sizeof(*node));
		if (!node)
			return -1;
		t->node = node;
		t->cap *= 2;
	}
	if (itab_put(&t->at, hash, t->n))
		return -1;
	node = &t->node[t->n];
	node->frame = frame;
	node->parent = parent;
	node->child = 0;
	node->sibling = t->node[parent].child;
	t->node[parent].child = (uint32_t)t->n++;
	return 0;
}

uint32_t chain_add(struct chain_tree *t, uint32_t parent, uint64_t frame)
{
	uint64_t hash = hash_u64(frame * 0x9e3779b97f4a7c15ULL + parent);
	uint32_t idx;

	if (!t->n && make_root(t))
		return UINT32_MAX;
	if (parent >= t->n)
		return UINT32_MAX;
	/* the child made last lies next to its parent as a rule */
	idx = t->node[parent].child;
	if (idx && t->node[idx].frame == frame)
		return idx;
	for (size_t i = itab_first(&t->at, hash); itab_at(&t->at, &i, hash, &idx);)
		if (t->node[idx].parent == parent && t->node[idx].frame == frame)
			return idx;
	if (add_node(t, parent, frame, hash))
		return UINT32_MAX;
	return (uint32_t)(t->n - 1);
}

int chain_reserve(struct chain_tree *t, size_t n)
{
	if (t->n || n >= UINT32_MAX)
		return -1;
	t->node = malloc((n + 1) * sizeof(*t->node));
	if (!t->node)
		return -1;
	t->node[0] = (struct chain_node){ 0 };
	t->cap = n + 1;
	t->n = 1;
	return 0;
}

void chain_list(const struct chain_tree *t, uint32_t node, chain_frames_vec *out)
{
	out->n = 0;
	for (; node; node = t->node[node].parent)
		vec_xpush(out, t->node[node].frame);
}

void chain_free(struct chain_tree *t)
{
	free(t->node);
	itab_free(&t->at);
	memset(t, 0, sizeof(*t));
}
