/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/cube/cube_int.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/sort.h"
#include "base/invariant.h"

/* By node, thread, CPU, bin. */
static int order_cells(struct making *m, struct err *err)
{
	size_t n = m->cell.n;
	struct keyed *v = malloc((n + 1) * sizeof(*v)), *scratch = malloc((n + 1) * sizeof(*v));
	struct cube_cell *out = malloc((n + 1) * sizeof(*out));
	bool ok = v && scratch && out;

	for (size_t i = 0; ok && i < n; i++)
		v[i] = (struct keyed){ (uint64_t)m->cell.v[i].cpu << 32 | m->cell.v[i].bin,
				       (uint32_t)i, 0 };
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		v[i].key = (uint64_t)m->cell.v[v[i].a].node << 32 | m->cell.v[v[i].a].thread;
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		out[i] = m->cell.v[v[i].a];
	free(v);
	free(scratch);
	if (!ok) {
		free(out);
		return err_nomem(err);
	}
	free(m->cell.v);
	m->cell.v = out;
	return 0;
}

/* ---- nodes as they are handed out ------------------------------------------------------------ */

/* Returns the first of the sorted that is below `parent`, or its place if there is none. */
static size_t first_below(const struct keyed *v, size_t n, uint32_t parent)
{
	size_t low;

	bisect(low, n, i, v[i].key >> 32 >= parent);
	return low;
}

/* In the order of a walk in depth, children by their functions. v: nodes by parent and frame. */
static void walk_nodes(struct making *m, const struct keyed *v, size_t n, size_t *path,
		       uint32_t *number)
{
	size_t depth = 0;
	uint32_t above = 0;

	path[0] = 0;
	for (;;) {
		size_t at = path[depth];

		if (at < n && v[at].key >> 32 == above) {
			path[depth++]++;
			number[v[at].a] = (uint32_t)m->c.n_nodes;
			m->node[m->c.n_nodes++] =
				(struct cube_node){ above ? number[above] : CUBE_NONE,
						    m->all.v[v[at].a].frame };
			above = v[at].a;
			path[depth] = first_below(v, n, above);
		} else if (depth--) {
			above = m->all.v[above].parent;
		} else {
			return;
		}
	}
}

/* Cells have the numbers of nodes; of folded ones FOLDED and 1 + that of the node above, 0 if there
 * is none. */
static void renumber_cells(struct making *m, const uint32_t *number)
{
	for (size_t i = 0; i < m->cell.n; i++) {
		uint32_t *node = &m->cell.v[i].node, at = *node & ~FOLDED;

		*node = *node & FOLDED ? FOLDED | (at ? number[at] + 1 : 0) : number[at];
	}
}

/* Rests stand behind all other nodes, in the order of cells. */
static void number_rests(struct making *m)
{
	uint32_t rest = CUBE_NONE;

	for (size_t i = 0; i < m->cell.n; i++) {
		struct cube_cell *x = &m->cell.v[i];

		if (!(x->node & FOLDED))
			continue;
		if (x->node != rest) {
			rest = x->node;
			m->node[m->c.n_nodes++] =
				(struct cube_node){ (rest & ~FOLDED) - 1, CUBE_NONE };
		}
		x->node = (uint32_t)m->c.n_nodes - 1;
		m->c.folded += m->by_time ? x->period : x->samples;
	}
}

/* Drops frames that only folded nodes had. */
static int keep_frames(struct making *m, struct err *err)
{
	const size_t n = m->c.n_frames;
	uint32_t *number = calloc(n + 1, sizeof(*number));
	size_t k = 0;

	if (!number)
		return err_nomem(err);
	for (size_t i = 0; i < m->c.n_nodes; i++)
		if (m->node[i].frame < n)
			number[m->node[i].frame] = 1;
	for (size_t i = 0; i < n; i++) {
		if (!number[i])
			continue;
		m->frame[k] = m->frame[i];
		number[i] = (uint32_t)k++;
	}
	for (size_t i = 0; i < m->c.n_nodes; i++)
		if (m->node[i].frame < n)
			m->node[i].frame = number[m->node[i].frame];
	m->c.n_frames = k;
	free(number);
	return 0;
}

/* Those that have samples, and enough, in them or below. */
int cube_make_nodes(struct making *m, struct err *err)
{
	size_t n = cube_count_nodes(m, m->least), k = 0;
	struct keyed *v = malloc((n + 1) * sizeof(*v)), *scratch = malloc((n + 1) * sizeof(*v));
	uint32_t *number = malloc((m->all.n + 1) * sizeof(*number));
	size_t *path = malloc((n + 2) * sizeof(*path));
	int ret = -1;

	m->node = malloc((n + m->cell.n + 1) * sizeof(*m->node));
	if (!v || !scratch || !number || !path || !m->node) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 1; i < m->all.n; i++)
		if (m->total[i] >= m->least)
			v[k++] = (struct keyed){ (uint64_t)m->all.v[i].parent << 32 |
							 m->all.v[i].frame,
						 (uint32_t)i, 0 };
	keyed_sort(v, scratch, n);
	walk_nodes(m, v, n, path, number);
	assert(m->c.n_nodes == n);
	renumber_cells(m, number);
	ret = order_cells(m, err);
	if (ret)
		goto out;
	number_rests(m);
	ret = keep_frames(m, err);
	m->c.node = m->node;
	m->c.frame = m->frame;
out:
	free(v);
	free(scratch);
	m->number = number;
	free(path);
	return ret;
}
