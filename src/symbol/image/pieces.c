/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/image/pieces.h"

/* A node of its own for the version being made: itself, or a copy. 0 when out of memory. */
static uint32_t own(struct pieces *p, uint32_t n)
{
	struct piece_node copy;

	if (p->node.v[n].made == p->seal)
		return n;
	copy = p->node.v[n];
	copy.made = p->seal;
	if (p->node.n >= UINT32_MAX || vec_push(&p->node, copy))
		return 0;
	return (uint32_t)p->node.n - 1;
}

static uint32_t make(struct pieces *p, uint64_t start, uint64_t end, uint32_t value)
{
	struct piece_node node = { .start = start, .end = end, .value = value, .made = p->seal };

	if (!p->node.n && vec_push(&p->node, (struct piece_node){ .made = 0 }))
		return 0;
	/* xorshift32 */
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	node.priority = p->random;
	if (p->node.n >= UINT32_MAX || vec_push(&p->node, node))
		return 0;
	return (uint32_t)p->node.n - 1;
}

/* Depth is logarithmic in the number of pieces (priorities are random), so recursion is bounded. */

/* Splits tree n into starts below `at` and the others. */
static int split(struct pieces *p, uint32_t n, uint64_t at, uint32_t *below, uint32_t *above)
{
	uint32_t sub;

	if (!n) {
		*below = *above = 0;
		return 0;
	}
	n = own(p, n);
	if (!n)
		return -1;
	if (p->node.v[n].start < at) {
		if (split(p, p->node.v[n].right, at, &sub, above))
			return -1;
		p->node.v[n].right = sub;
		*below = n;
	} else {
		if (split(p, p->node.v[n].left, at, below, &sub))
			return -1;
		p->node.v[n].left = sub;
		*above = n;
	}
	return 0;
}

/* Joins two trees, all starts of a before those of b. */
static int join(struct pieces *p, uint32_t a, uint32_t b, uint32_t *out)
{
	uint32_t sub;

	if (!a || !b) {
		*out = a ? a : b;
		return 0;
	}
	if (p->node.v[a].priority > p->node.v[b].priority) {
		a = own(p, a);
		if (!a || join(p, p->node.v[a].right, b, &sub))
			return -1;
		p->node.v[a].right = sub;
		*out = a;
	} else {
		b = own(p, b);
		if (!b || join(p, a, p->node.v[b].left, &sub))
			return -1;
		p->node.v[b].left = sub;
		*out = b;
	}
	return 0;
}

/* Ends the last piece of tree n at `at`: the tree's new root, 0 when out of memory. */
static uint32_t shorten(struct pieces *p, uint32_t n, uint64_t at)
{
	n = own(p, n);
	if (!n)
		return 0;
	if (p->node.v[n].right) {
		uint32_t sub = shorten(p, p->node.v[n].right, at);

		if (!sub)
			return 0;
		p->node.v[n].right = sub;
	} else {
		p->node.v[n].end = at;
	}
	return n;
}

/* Cuts what reaches past `at` off the last piece of tree *n; what was cut is [at, *end), *end = at
 * if none. */
static int cut_last(struct pieces *p, uint32_t *n, uint64_t at, uint64_t *end, uint32_t *value)
{
	uint32_t last = *n;

	*end = at;
	*value = PIECE_HOLE;
	while (last && p->node.v[last].right)
		last = p->node.v[last].right;
	if (!last || p->node.v[last].end <= at)
		return 0;
	*end = p->node.v[last].end;
	*value = p->node.v[last].value;
	*n = shorten(p, *n, at);
	return *n ? 0 : -1;
}

static int append(struct pieces *p, uint32_t *root, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t n;

	if (start >= end || value == PIECE_HOLE)
		return 0;
	n = make(p, start, end, value);
	return n ? join(p, *root, n, root) : -1;
}

int pieces_paint(struct pieces *p, uint32_t *root, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t left, middle, right, under, last;
	uint64_t reach, reach2;

	if (start >= end)
		return 0;
	if (split(p, *root, start, &left, &right) || cut_last(p, &left, start, &reach, &under) ||
	    split(p, right, end, &middle, &right) || cut_last(p, &middle, end, &reach2, &last))
		return -1;
	/* whichever piece stood at `end` goes on behind it */
	if (reach2 > end) {
		reach = reach2;
		under = last;
	}
	if (append(p, &left, start, end, value) ||
	    (reach > end && append(p, &left, end, reach, under)))
		return -1;
	return join(p, left, right, root);
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
