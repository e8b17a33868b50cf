/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/cube/cube_int.h"

#include <stdlib.h>

/* ---- cells ----------------------------------------------------------------------------------- */

static int by_number(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return a < b ? -1 : a > b;
}

/* The CPUs that samples were on; places are then on cube.cpu's. */
static int list_cpus(struct making *m, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < m->s->n_parts; i++)
		n += m->s->part[i].n_places;
	m->cpu = malloc((n + 1) * sizeof(*m->cpu));
	if (!m->cpu)
		return err_nomem(err);
	n = 0;
	for (size_t i = 0; i < m->s->n_parts; i++)
		for (size_t k = 0; k < m->s->part[i].n_places; k++)
			if (m->s->part[i].place[k].cpu != CUBE_NONE)
				m->cpu[n++] = m->s->part[i].place[k].cpu;
	if (n > 1)
		qsort(m->cpu, n, sizeof(*m->cpu), by_number);
	for (size_t i = 0; i < n; i++)
		if (!m->c.n_cpus || m->cpu[m->c.n_cpus - 1] != m->cpu[i])
			m->cpu[m->c.n_cpus++] = m->cpu[i];
	m->n_all_cpus = m->c.n_cpus;
	for (size_t i = 0; i < m->s->n_parts; i++)
		for (size_t k = 0; k < m->s->part[i].n_places; k++) {
			uint32_t *cpu = &m->s->part[i].place[k].cpu;
			const uint32_t *at = *cpu == CUBE_NONE
						     ? NULL
						     : bsearch(cpu, m->cpu, m->c.n_cpus,
							       sizeof(*m->cpu), by_number);

			*cpu = at ? (uint32_t)(at - m->cpu) : CUBE_NONE;
		}
	return 0;
}

/* The samples of each node and below. */
static int weigh(struct making *m, struct err *err)
{
	m->total = calloc(m->all.n + 1, sizeof(*m->total));
	m->to = malloc((m->all.n + 1) * sizeof(*m->to));
	if (!m->total || !m->to)
		return err_nomem(err);
	for (size_t i = 0; i < m->s->n_parts; i++)
		for (size_t k = 0; k < m->s->part[i].n_cells; k++) {
			const struct stack_cell *x = &m->s->part[i].cell[k];

			m->total[x->callers] += m->by_time ? x->period : x->n;
			m->c.samples += x->n;
			m->c.period += x->period;
		}
	m->weight = m->by_time ? m->c.period : m->c.samples;
	for (size_t i = m->all.n; i > 1; i--)
		m->total[m->all.v[i - 1].parent] += m->total[i - 1];
	return list_cpus(m, err);
}

/* How much of the detail is given up. */
struct coarse {
	uint64_t least;	 /* samples of a node in it and below; nodes with fewer are folded */
	unsigned halved; /* so often two bins became one */
	bool cpus;	 /* are kept apart */
};

/* Sets the node that gets the samples of each node: itself, or the rest of the first above that is
 * not folded; of code that is inlined there, that one itself. */
static void fold_nodes(struct making *m, uint64_t least)
{
	if (m->least == least)
		return;
	m->least = least;
	for (size_t i = 0; i < m->all.n; i++)
		m->to[i] = !i || m->total[i] >= least ? (uint32_t)i
			   : m->frame[m->all.v[i].frame].inlined
				   ? m->to[m->all.v[i].parent]
				   : (m->to[m->all.v[i].parent] | FOLDED);
}

static bool same_place(const struct cube_cell *a, const struct cube_cell *b)
{
	return a->node == b->node && a->thread == b->thread && a->cpu == b->cpu && a->bin == b->bin;
}

/* Returns 1 if there are more cells than `most`. */
static int add_cell(struct making *m, const struct cube_cell *x, size_t most)
{
	uint64_t h =
		hash_pair((uint64_t)x->node << 32 | x->thread, (uint64_t)x->cpu << 32 | x->bin);
	uint32_t idx;

	for (size_t i = itab_first(&m->at, h); itab_at(&m->at, &i, h, &idx);) {
		struct cube_cell *o = &m->cell.v[idx];

		if (!same_place(o, x))
			continue;
		o->samples += x->samples;
		o->period += x->period;
		return 0;
	}
	if (m->cell.n >= most)
		return 1;
	return vec_push(&m->cell, *x) || itab_put(&m->at, h, m->cell.n - 1) ? -1 : 0;
}

/* Adds up the cells that there are then; 1 and not all of them: they are more than `most`. */
static int gather(struct making *m, const struct coarse *how, size_t most, struct err *err)
{
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < m->s->n_parts; i++)
		n += m->s->part[i].n_cells;
	m->cell.n = 0;
	itab_free(&m->at);
	itab_reserve(&m->at, n < CUBE_CELLS ? n : CUBE_CELLS);
	fold_nodes(m, how->least);
	for (size_t i = 0; i < m->s->n_parts && !ret; i++) {
		const struct stack_part *p = &m->s->part[i];

		for (size_t k = 0; k < p->n_cells && !ret; k++) {
			const struct stack_cell *x = &p->cell[k];
			const struct stack_place *at = &p->place[x->place];
			const struct cube_cell cell = { m->to[x->callers],
							at->thread,
							how->cpus ? at->cpu : CUBE_NONE,
							x->bin >> (how->halved - m->halved +
								   m->finer),
							x->n,
							x->period };

			ret = add_cell(m, &cell, most);
		}
	}
	return ret < 0 ? err_nomem(err) : ret;
}

/* ---- small enough ---------------------------------------------------------------------------- */

size_t cube_count_nodes(const struct making *m, uint64_t least)
{
	size_t n = 0;

	for (size_t i = 1; i < m->all.n; i++)
		n += m->total[i] >= least;
	return n;
}

/* Detail is given up in this order until the cube is small enough: bins down to so many, nodes
 * below 1 / so many of all samples, CPUs. */
static const struct {
	enum { BINS, RARE, CPUS } what;
	unsigned least;
} steps[] = { { BINS, CUBE_BINS_LEAST },
	      { RARE, 20000 },
	      { CPUS, 0 },
	      { RARE, 100 },
	      { BINS, 1 },
	      { RARE, 1 } };
enum { N_STEPS = sizeof(steps) / sizeof(*steps), COARSE_MAX = 128 };

/* Returns false if nothing is left of the step. */
static bool give_up(const struct making *m, size_t step, struct coarse *c)
{
	unsigned bins = ((CUBE_BINS - 1u) >> c->halved) + 1;

	switch (steps[step].what) {
	case BINS:
		if (bins <= steps[step].least)
			return false;
		c->halved++;
		return true;
	case RARE:
		if (c->least * 2 > m->weight / steps[step].least)
			return false;
		c->least *= 2;
		return true;
	default:
		if (!c->cpus || !m->c.n_cpus)
			return false;
		c->cpus = false;
		return true;
	}
}

/* Lists all ways to be small, each less detailed than the one before; returns how many. */
static size_t list_coarse(const struct making *m, struct coarse *v)
{
	struct coarse c = { .least = 1, .halved = m->halved, .cpus = true };
	size_t n = 0;

	while (cube_count_nodes(m, c.least) > CUBE_NODES)
		c.least *= 2;
	v[n++] = c;
	for (size_t i = 0; i < N_STEPS; i++)
		while (n < COARSE_MAX && give_up(m, i, &c))
			v[n++] = c;
	return n;
}

static void swap_cells(struct making *m)
{
	struct making_cells t = m->cell;

	m->cell = m->best;
	m->best = t;
}

/* The most detailed that is small enough. The more detailed, the more cells; and that there are too
 * many is known as soon as one is. */
static int make_small(struct making *m, struct err *err)
{
	struct coarse way[COARSE_MAX];
	size_t n = list_coarse(m, way), low = 0, high = n - 1;
	int ret = gather(m, &way[0], n > 1 ? CUBE_CELLS : SIZE_MAX, err);

	if (!ret)
		high = 0;
	while (ret >= 0 && low + 1 < high) {
		size_t mid = low + (high - low) / 2;

		ret = gather(m, &way[mid], CUBE_CELLS, err);
		if (ret == 1)
			low = mid;
		else if (!ret)
			high = mid;
		if (!ret)
			swap_cells(m);
	}
	if (ret < 0)
		return -1;
	if (high && m->best.n)
		swap_cells(m);
	else if (high && gather(m, &way[high], SIZE_MAX, err))
		return -1;
	fold_nodes(m, way[high].least);
	m->c.width <<= way[high].halved;
	if (!way[high].cpus)
		m->c.n_cpus = 0;
	return 0;
}

int cube_make_cells(struct making *m, struct err *err)
{
	return weigh(m, err) || make_small(m, err) ? -1 : 0;
}
