/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/image/pieces.h"

#include "base/xalloc.h"

/* A node of its own for the version being made: itself, or a copy. */
static uint32_t own_node(struct pieces *p, uint32_t n)
{
	struct piece_node copy;

	if (p->node.v[n].made == p->seal)
		return n;
	copy = p->node.v[n];
	copy.made = p->seal;
	vec_xpush(&p->node, copy);
	if (p->node.n > UINT32_MAX)
		nomem_die();
	return (uint32_t)p->node.n - 1;
}

/* Depth is logarithmic in the number of pieces (priorities are random), so recursion is bounded. */

/* Splits tree n into starts below `at` and the others. */
static void split_tree(struct pieces *p, uint32_t n, uint64_t at, uint32_t *below, uint32_t *above)
{
	uint32_t sub;

	*below = *above = 0;
	if (!n)
		return;
	n = own_node(p, n);
	if (p->node.v[n].start < at) {
		split_tree(p, p->node.v[n].right, at, &sub, above);
		p->node.v[n].right = sub;
		*below = n;
	} else {
		split_tree(p, p->node.v[n].left, at, below, &sub);
		p->node.v[n].left = sub;
		*above = n;
	}
}

/* Joins two trees, all starts of a before those of b. */
static uint32_t join_trees(struct pieces *p, uint32_t a, uint32_t b)
{
	uint32_t sub;

	if (!a || !b)
		return a ? a : b;
	if (p->node.v[a].priority > p->node.v[b].priority) {
		a = own_node(p, a);
		sub = join_trees(p, p->node.v[a].right, b);
		p->node.v[a].right = sub;
		return a;
	}
	b = own_node(p, b);
	sub = join_trees(p, a, p->node.v[b].left);
	p->node.v[b].left = sub;
	return b;
}

/* Ends the last piece of tree n at `at`: the tree's new root. */
static uint32_t shorten_last(struct pieces *p, uint32_t n, uint64_t at)
{
	uint32_t sub;

	n = own_node(p, n);
	if (p->node.v[n].right) {
		sub = shorten_last(p, p->node.v[n].right, at);
		p->node.v[n].right = sub;
	} else {
		p->node.v[n].end = at;
	}
	return n;
}

/* Cuts the part past `at` off the last piece of tree *n; that part is [at, *end), *end = at
 * if none. */
static void cut_last(struct pieces *p, uint32_t *n, uint64_t at, uint64_t *end, uint32_t *value)
{
	uint32_t last = *n;

	*end = at;
	*value = PIECE_HOLE;
	while (last && p->node.v[last].right)
		last = p->node.v[last].right;
	if (!last || p->node.v[last].end <= at)
		return;
	*end = p->node.v[last].end;
	*value = p->node.v[last].value;
	*n = shorten_last(p, *n, at);
}

static void append_piece(struct pieces *p, uint32_t *root, uint64_t start, uint64_t end,
			 uint32_t value)
{
	struct piece_node node = { .start = start, .end = end, .value = value, .made = p->seal };

	if (start >= end || value == PIECE_HOLE)
		return;
	if (!p->node.n)
		vec_xpush(&p->node, (struct piece_node){ .made = 0 });
	/* xorshift32 */
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	node.priority = p->random;
	vec_xpush(&p->node, node);
	*root = join_trees(p, *root, (uint32_t)p->node.n - 1);
}

void pieces_paint(struct pieces *p, uint32_t *root, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t left, middle, right, under, last;
	uint64_t reach, reach2;

	if (start >= end)
		return;
	split_tree(p, *root, start, &left, &right);
	cut_last(p, &left, start, &reach, &under);
	split_tree(p, right, end, &middle, &right);
	cut_last(p, &middle, end, &reach2, &last);
	/* whichever piece stood at `end` goes on behind it */
	if (reach2 > end) {
		reach = reach2;
		under = last;
	}
	append_piece(p, &left, start, end, value);
	if (reach > end)
		append_piece(p, &left, end, reach, under);
	*root = join_trees(p, left, right);
}

void pieces_seal(struct pieces *p)
{
	p->seal++;
}

uint32_t pieces_find(const struct pieces *p, uint32_t root, uint64_t at)
{
	while (root) {
		const struct piece_node *n = &p->node.v[root];

		if (at < n->start)
			root = n->left;
		else if (at < n->end)
			return n->value;
		else
			root = n->right;
	}
	return PIECE_HOLE;
}

uint32_t pieces_span(const struct pieces *p, uint32_t root, uint64_t at, uint64_t *start,
		     uint64_t *end)
{
	uint64_t low = *start, high = *end;
	uint32_t value = PIECE_HOLE;

	while (root) {
		const struct piece_node *n = &p->node.v[root];

		if (at < n->start) {
			high = n->start < high ? n->start : high;
			root = n->left;
		} else if (at >= n->end) {
			low = n->end > low ? n->end : low;
			root = n->right;
		} else {
			low = n->start > low ? n->start : low;
			high = n->end < high ? n->end : high;
			value = n->value;
			break;
		}
	}
	*start = low;
	*end = high;
	return value;
}

const struct piece_node *pieces_next(const struct pieces *p, uint32_t root, uint64_t at)
{
	const struct piece_node *best = NULL;

	while (root) {
		const struct piece_node *n = &p->node.v[root];

		if (n->start >= at) {
			best = n;
			root = n->left;
		} else {
			root = n->right;
		}
	}
	return best;
}

void pieces_free(struct pieces *p)
{
	vec_free(&p->node);
}
