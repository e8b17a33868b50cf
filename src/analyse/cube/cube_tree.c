/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/cube/cube_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t frame_at(const struct making *m, const struct stack_site *site, uint32_t k)
{
	return m->frame_of[m->s->frame_id[site->first + k]];
}

/* In the order of the first addresses that they are met at. */
static int list_frames(struct making *m, struct err *err)
{
	const struct profile_stacks *s = m->s;
	const struct strtab *strings = profile_strings(m->p);

	m->frame = malloc((s->n_frames + 1) * sizeof(*m->frame));
	m->frame_of = malloc((s->n_frames + 1) * sizeof(*m->frame_of));
	m->leaf_of = malloc((s->n_sites + 1) * sizeof(*m->leaf_of));
	if (!m->frame || !m->frame_of || !m->leaf_of)
		return err_nomem(err);
	memset(m->frame_of, 0xff, (s->n_frames + 1) * sizeof(*m->frame_of));
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct stack_site *site = &s->site[i];

		for (uint32_t k = 0; k < site->n; k++) {
			const uint32_t id = s->frame_id[site->first + k];
			const struct profile_frame *f = &s->frame[id];

			if (m->frame_of[id] != CUBE_NONE)
				continue;
			m->frame_of[id] = (uint32_t)m->c.n_frames;
			m->frame[m->c.n_frames++] =
				(struct cube_frame){ .function = strtab_get(strings, f->name),
						     .dso = strtab_get(strings, f->dso),
						     .inlined = f->inlined };
		}
		m->leaf_of[i] = frame_at(m, site, site->n - 1);
	}
	return 0;
}

/* The first `n` frames of a site below a node of the tree; UINT32_MAX: out of memory. */
static uint32_t add_frames(struct making *m, uint32_t below, const struct stack_site *site,
			   uint32_t n)
{
	for (uint32_t k = 0; k < n && below != UINT32_MAX; k++)
		below = chain_add(&m->tree, below, frame_at(m, site, k));
	return below;
}

/* Each chain of callers leads to one of functions. */
static int make_callers(struct making *m)
{
	const struct profile_stacks *s = m->s;

	m->node_of = calloc(s->n_nodes + 1, sizeof(*m->node_of));
	if (!m->node_of)
		return -1;
	for (size_t i = 1; i < s->n_nodes; i++) {
		const struct stack_site *site = &s->site[s->node[i].site];

		m->node_of[i] = add_frames(m, m->node_of[s->node[i].parent], site, site->n);
		if (m->node_of[i] == UINT32_MAX)
			return -1;
	}
	return 0;
}

/* From then on cells have nodes of the tree as their callers: of a leaf that is inlined, what it is
 * inlined into, too. */
static int make_outer(struct making *m)
{
	for (size_t i = 0; i < m->s->n_parts; i++) {
		struct stack_part *p = &m->s->part[i];

		for (size_t k = 0; k < p->n_chains; k++)
			p->node[k] = m->node_of[p->node[k]];
		for (size_t k = 0; k < p->n_cells; k++) {
			struct stack_cell *x = &p->cell[k];
			const struct stack_site *site = &m->s->site[p->site[x->leaf]];

			x->callers = p->node[x->callers];
			if (!m->frame[m->leaf_of[p->site[x->leaf]]].inlined)
				continue;
			x->callers = add_frames(m, x->callers, site, site->n - 1);
			if (x->callers == UINT32_MAX)
				return -1;
		}
	}
	return 0;
}

static int make_tree(struct making *m, struct err *err)
{
	if (make_callers(m) || make_outer(m) ||
	    vec_push(&m->all, ((struct cube_node){ CUBE_NONE, CUBE_NONE })))
		return err_nomem(err);
	for (size_t i = 1; i < m->tree.n; i++)
		if (vec_push(&m->all, ((struct cube_node){ m->tree.node[i].parent,
							   (uint32_t)m->tree.node[i].frame })))
			return err_nomem(err);
	return 0;
}

/* ---- leaves ----------------------------------------------------------------------------------
 *
 * There may be millions of different innermost frames below callers. So that none needs a search,
 * cells are taken up caller by caller; a table by function has the leaves of the one at hand.
 */

struct leaves {
	size_t *first; /* by caller and part, one more: its cells in `order` */
	uint32_t *order;
	struct leaf {
		uint32_t parent, node;
	} * of; /* by frame: a child of `parent` */
};

static size_t run_of(const struct making *m, size_t part, const struct stack_cell *x)
{
	return x->callers * m->s->n_parts + part;
}

/* Counting sort. */
static void order_leaves(struct making *m, struct leaves *l, size_t n_runs)
{
	size_t sum = 0;

	for (size_t i = 0; i < m->s->n_parts; i++)
		for (size_t k = 0; k < m->s->part[i].n_cells; k++)
			l->first[run_of(m, i, &m->s->part[i].cell[k])]++;
	for (size_t r = 0; r <= n_runs; r++) {
		size_t here = l->first[r];

		l->first[r] = sum;
		sum += here;
	}
	for (size_t i = 0; i < m->s->n_parts; i++)
		for (size_t k = 0; k < m->s->part[i].n_cells; k++)
			l->order[l->first[run_of(m, i, &m->s->part[i].cell[k])]++] = (uint32_t)k;
	/* now each has the begin of the next one */
	memmove(l->first + 1, l->first, n_runs * sizeof(*l->first));
	l->first[0] = 0;
}

/* Returns the node of a leaf below `parent`; CUBE_NONE: out of memory. */
static uint32_t leaf_below(struct making *m, struct leaves *l, uint32_t parent, uint32_t frame)
{
	struct leaf *o = &l->of[frame];

	if (o->parent == parent)
		return o->node;
	if (m->all.n >= FOLDED - 1 || vec_push(&m->all, ((struct cube_node){ parent, frame })))
		return CUBE_NONE;
	*o = (struct leaf){ parent, (uint32_t)m->all.n - 1 };
	return o->node;
}

/* Cells of a part below a caller: instead of their callers they have their node. */
static int find_run(struct making *m, struct leaves *l, uint32_t parent, size_t part)
{
	size_t run = parent * m->s->n_parts + part;
	struct stack_part *p = &m->s->part[part];

	for (size_t i = l->first[run]; i < l->first[run + 1]; i++) {
		struct stack_cell *x = &p->cell[l->order[i]];

		if (i + 16 < l->first[run + 1])
			__builtin_prefetch(&p->cell[l->order[i + 16]], 1);
		x->callers = leaf_below(m, l, parent, m->leaf_of[p->site[x->leaf]]);
		if (x->callers == CUBE_NONE)
			return -1;
	}
	return 0;
}

static int find_leaves(struct making *m, struct err *err)
{
	size_t n_callers = m->all.n, n_runs = n_callers * m->s->n_parts, n = 0;
	struct leaves l = { NULL, NULL, NULL };
	int ret = -1;

	for (size_t i = 0; i < m->s->n_parts; i++) {
		n += m->s->part[i].n_cells;
		if (m->s->part[i].n_cells > UINT32_MAX)
			return err_set(err, ERR_LIMIT, "more than 4 G different samples");
	}
	l.first = calloc(n_runs + 2, sizeof(*l.first));
	l.order = malloc((n + 1) * sizeof(*l.order));
	l.of = malloc((m->c.n_frames + 1) * sizeof(*l.of));
	if (!l.first || !l.order || !l.of)
		goto out;
	memset(l.of, 0xff, (m->c.n_frames + 1) * sizeof(*l.of));
	order_leaves(m, &l, n_runs);
	for (size_t c = 0; c < n_callers; c++) {
		/* callers of others are among the children */
		for (uint32_t k = c < m->tree.n ? m->tree.node[c].child : 0; k;
		     k = m->tree.node[k].sibling)
			l.of[m->tree.node[k].frame] = (struct leaf){ (uint32_t)c, k };
		for (size_t i = 0; i < m->s->n_parts; i++)
			if (find_run(m, &l, (uint32_t)c, i))
				goto out;
	}
	ret = 0;
out:
	free(l.first);
	free(l.order);
	free(l.of);
	return ret ? err_nomem(err) : 0;
}

int cube_make_tree(struct making *m, struct err *err)
{
	return list_frames(m, err) || make_tree(m, err) || find_leaves(m, err) ? -1 : 0;
}
