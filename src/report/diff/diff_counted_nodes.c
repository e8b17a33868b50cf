/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/xalloc.h"
#include "report/diff/diff_counted_int.h"

/* ---- nodes of a result ----------------------------------------------------------------------- */

static int counted_by_node(const void *a, const void *b)
{
	return strcmp(((const struct known_node *)a)->node, ((const struct known_node *)b)->node);
}

void counted_known(struct diff_counted *c)
{
	const struct table *t = counted_table(c, "nodes");
	struct table_row r = { 0 };

	while (t && table_next(t, &r)) {
		struct known_node n = { counted_text(c, t, "node", &r),
					counted_word(c, t, "unit", &r),
					counted_word(c, t, "parent", &r) };

		if (n.unit && !strcasecmp(n.unit, "slots"))
			n.unit = NULL;
		if (n.node)
			vec_xpush(&c->node, n);
	}
	vec_sort(&c->node, counted_by_node);
	t = counted_table(c, "trees");
	r = (struct table_row){ 0 };
	while (t && table_next(t, &r)) {
		struct known_tree x = { counted_word(c, t, "where", &r),
					counted_number(t, "slots", &r).v };

		vec_xpush(&c->tree, x);
	}
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Returns the slots that a place's tree divides; NAN: not known. */
static double counted_slots_of(const struct diff_counted *c, const char *where)
{
	vec_each (&c->tree, const struct known_tree *, x)
		if (same_text(x->where, where))
			return x->slots;
	return NAN;
}

/* The whole of its share, and the node above; from its own path if there is no other source. */
static void add_known(struct diff_counted *c, struct node_row *row)
{
	const struct known_node key = { .node = row->node }, *n;
	const char *dot = strrchr(row->node, '.');

	n = c->node.n ? bsearch(&key, c->node.v, c->node.n, sizeof(*c->node.v), counted_by_node)
		      : NULL;
	if (n) {
		row->unit = n->unit;
		row->above = n->above;
	} else if (dot && dot > row->node) {
		row->above = arena_xstrndup(&c->a, row->node, (size_t)(dot - row->node));
	}
}

void counted_node(struct diff_counted *c, struct counted_run *to, const struct table *t,
		  const char *key, const struct table_row *r)
{
	struct node_row row = { .where = counted_word(c, t, "where", r),
				.node = counted_word(c, t, key, r),
				.unit = counted_word(c, t, "unit", r),
				.value = counted_number(t, "value", r) };

	if (!row.node)
		return;
	add_known(c, &row);
	row.slots = counted_slots_of(c, row.where);
	vec_xpush(&to->node, row);
}

/* ---- the order of nodes: each behind the one above ------------------------------------------- */

#define NOWHERE UINT32_MAX
#define DEEPEST 16

struct family {
	uint32_t above, child, last, next; /* next: of its siblings */
	bool placed;
};

static uint32_t counted_name_id(struct strtab *names, const char *where, const char *node)
{
	struct buf b = BUF_INIT;
	uint32_t id;

	buf_printf(&b, "%zu:%s%s", where ? strlen(where) : 0, where ? where : "", node);
	id = strtab_xadds(names, buf_str(&b));
	buf_free(&b);
	return id;
}

/* Nodes know the one above by its name; of several of a name the first counts. */
static void find_families(struct family *f, const struct counted_run *r)
{
	struct strtab names = STRTAB_INIT;
	VEC(uint32_t) row = VEC_INIT; /* by id */

	for (size_t i = 0; i < r->node.n; i++) {
		uint32_t id = counted_name_id(&names, r->node.v[i].where, r->node.v[i].node);

		f[i] = (struct family){ NOWHERE, NOWHERE, NOWHERE, NOWHERE, false };
		while (row.n <= id)
			vec_xpush(&row, NOWHERE);
		if (row.v[id] == NOWHERE)
			row.v[id] = (uint32_t)i;
	}
	for (size_t i = 0; i < r->node.n; i++) {
		const struct node_row *n = &r->node.v[i];
		uint32_t id = n->above ? counted_name_id(&names, n->where, n->above) : 0;

		if (!n->above || id >= row.n || row.v[id] == NOWHERE || row.v[id] == i)
			continue;
		f[i].above = row.v[id];
		if (f[f[i].above].child == NOWHERE)
			f[f[i].above].child = (uint32_t)i;
		else
			f[f[f[i].above].last].next = (uint32_t)i;
		f[f[i].above].last = (uint32_t)i;
	}
	strtab_free(&names);
	vec_free(&row);
}

/* The row and its descendants, `depth` deep at most. */
static void place_counted_node(struct node_row *to, size_t *n, const struct counted_run *r,
			       struct family *f, uint32_t i, uint64_t parent, unsigned depth)
{
	uint64_t id = *n + 1;

	f[i].placed = true;
	to[*n] = r->node.v[i];
	to[*n].id = id;
	to[*n].parent = parent;
	(*n)++;
	for (uint32_t c = f[i].child; c != NOWHERE && depth < DEEPEST; c = f[c].next)
		if (!f[c].placed)
			place_counted_node(to, n, r, f, c, id, depth + 1);
}

void counted_order(struct diff_counted *c, struct counted_run *r)
{
	struct node_row *to = arena_xalloc(&c->a, (r->node.n + 1) * sizeof(*to));
	struct family *f = xcalloc(r->node.n + 1, sizeof(*f));
	size_t n = 0;

	find_families(f, r);
	for (int rest = 0; rest < 2; rest++) /* at last those of a circle */
		for (size_t i = 0; i < r->node.n; i++)
			if (!f[i].placed && (rest || f[i].above == NOWHERE))
				place_counted_node(to, &n, r, f, (uint32_t)i, 0, 0);
	memcpy(r->node.v, to, r->node.n * sizeof(*to));
	free(f);
}
