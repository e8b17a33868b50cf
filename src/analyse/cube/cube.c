/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of addresses become chains of functions, cells are put in order, then the cube is made
 * coarser until it is small enough.
 */
#include "analyse/cube.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "analyse/pass/pass.h"
#include "base/invariant.h"
#include "base/sort.h"

struct making {
	struct cube c; /* first: what the caller has */
	struct profile *p;
	const struct profile_stacks *s;
	struct chain_tree tree; /* of functions; node 0 is the root */
	struct u64map by_name;	/* name and dso -> frame */
	uint32_t *frame_of;	/* by frame of the profile; CUBE_NONE: not yet */
	uint32_t *node_of;	/* by node of the stacks: of the tree */
	struct making_cells {
		struct cube_cell *v;
		size_t n, cap;
	} cell, best;	 /* .node: as in `to`, until number_nodes() */
	struct itab at;	 /* into `cell` */
	uint32_t *to;	 /* by node of the tree: where its samples are told */
	uint64_t *total; /* samples there and below, by node of the tree */
	uint64_t least;	 /* nodes with fewer are folded; 0: `to` is not made yet */
	struct cube_frame *frame;
	struct cube_node *node;
	uint32_t *cpu;
};
#define FOLDED 0x80000000u /* of where samples are told: in the rest, of small nodes below */

void cube_free(struct cube *c)
{
	struct making *m = (struct making *)c; /* its first member */

	if (!m)
		return;
	chain_free(&m->tree);
	u64map_free(&m->by_name);
	free(m->frame_of);
	free(m->node_of);
	free(m->total);
	free(m->frame);
	free(m->node);
	free(m->to);
	vec_free(&m->cell);
	vec_free(&m->best);
	itab_free(&m->at);
	free(m->cpu);
	profile_free(m->p);
	free(m);
}

/* ---- when samples were taken ----------------------------------------------------------------- */

struct span {
	struct {
		uint64_t first, last;
		char pad[48]; /* another worker's is on another cache line */
	} * of;
};

static int see_time(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct span *x = ctx;

	(void)err;
	if (s->time < x->of[s->worker].first)
		x->of[s->worker].first = s->time;
	if (s->time > x->of[s->worker].last)
		x->of[s->worker].last = s->time;
	return 0;
}

static int find_span(struct making *m, const struct pd *rec, const struct spaces *sp,
		     const struct profile_opts *opts, struct err *err)
{
	const struct pass_visitor v = { .sample = see_time };
	const struct pass_opts po = { .threads = opts->threads };
	struct span x = { NULL };
	uint64_t first = UINT64_MAX, last = 0;
	struct pass *pass;
	int ret = -1;

	if (pass_new(&pass, rec, sp, &opts->select, &po, err))
		return -1;
	x.of = calloc(pass_workers(pass), sizeof(*x.of));
	if (!x.of) {
		(void)err_nomem(err);
		goto out;
	}
	for (unsigned w = 0; w < pass_workers(pass); w++)
		x.of[w].first = UINT64_MAX;
	if (pass_each(pass, &v, &x, err))
		goto out;
	for (unsigned w = 0; w < pass_workers(pass); w++) {
		first = x.of[w].first < first ? x.of[w].first : first;
		last = x.of[w].last > last ? x.of[w].last : last;
	}
	if (first <= last) {
		m->c.from = first;
		m->c.width = (last - first) / CUBE_BINS + 1;
	}
	ret = 0;
out:
	free(x.of);
	pass_free(pass);
	return ret;
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t frame_of(struct making *m, uint32_t id)
{
	const struct profile_frame *f = &m->s->frame[id];
	const struct strtab *strings = profile_strings(m->p);
	uint64_t *at;
	bool fresh;

	if (m->frame_of[id] != CUBE_NONE)
		return m->frame_of[id];
	at = u64map_at(&m->by_name, (uint64_t)f->name << 32 | f->dso, &fresh);
	if (!at)
		return CUBE_NONE;
	if (fresh) {
		*at = m->c.n_frames;
		m->frame[m->c.n_frames++] = (struct cube_frame){ strtab_get(strings, f->name),
								 strtab_get(strings, f->dso) };
	}
	return m->frame_of[id] = (uint32_t)*at;
}

/* Each chain of addresses leads to one of functions. */
static int make_tree(struct making *m, struct err *err)
{
	const struct profile_stacks *s = m->s;

	m->frame = malloc((s->n_frames + 1) * sizeof(*m->frame));
	m->frame_of = malloc((s->n_frames + 1) * sizeof(*m->frame_of));
	m->node_of = calloc(s->n_nodes + 1, sizeof(*m->node_of));
	if (!m->frame || !m->frame_of || !m->node_of)
		return err_nomem(err);
	memset(m->frame_of, 0xff, (s->n_frames + 1) * sizeof(*m->frame_of));
	for (size_t i = 1; i < s->n_nodes; i++) {
		const struct stack_site *site = &s->site[s->node[i].site];
		uint32_t at = m->node_of[s->node[i].parent];

		for (uint32_t k = 0; k < site->n && at != CUBE_NONE; k++) {
			uint32_t f = frame_of(m, s->frame_id[site->first + k]);

			at = f == CUBE_NONE ? CUBE_NONE : chain_add(&m->tree, at, f);
		}
		if (at == CUBE_NONE)
			return err_nomem(err);
		m->node_of[i] = at;
	}
	return 0;
}

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

/* Chains lead to nodes of the tree of functions, and these have their samples. */
static int weigh(struct making *m, struct err *err)
{
	m->total = calloc(m->tree.n + 1, sizeof(*m->total));
	m->to = malloc((m->tree.n + 1) * sizeof(*m->to));
	if (!m->total || !m->to)
		return err_nomem(err);
	for (size_t i = 0; i < m->s->n_parts; i++) {
		const struct stack_part *p = &m->s->part[i];

		for (size_t k = 0; k < p->n_chains; k++)
			p->node[k] = m->node_of[p->node[k]];
		for (size_t k = 0; k < p->n_cells; k++) {
			m->total[p->node[p->cell[k].chain]] += p->cell[k].n;
			m->c.samples += p->cell[k].n;
			m->c.period += p->cell[k].period;
		}
	}
	for (size_t i = m->tree.n; i > 1; i--)
		m->total[m->tree.node[i - 1].parent] += m->total[i - 1];
	return list_cpus(m, err);
}

/* How much of the detail is given up. */
struct coarse {
	uint64_t least;	 /* samples of a node in it and below; what has fewer is folded */
	unsigned halved; /* so often two bins became one */
	bool cpus;	 /* are told apart */
};

/* Where the samples of each node go: itself, or the rest of the first above that is not folded. */
static void fold_nodes(struct making *m, uint64_t least)
{
	if (m->least == least)
		return;
	m->least = least;
	for (size_t i = 0; i < m->tree.n; i++)
		m->to[i] = !i || m->total[i] >= least ? (uint32_t)i
						      : (m->to[m->tree.node[i].parent] | FOLDED);
}

static bool same_place(const struct cube_cell *a, const struct cube_cell *b)
{
	return a->node == b->node && a->thread == b->thread && a->cpu == b->cpu && a->bin == b->bin;
}

/* 1: there are more cells than `most`. */
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
			const struct cube_cell cell = { m->to[p->node[x->chain]],
							at->thread,
							how->cpus ? at->cpu : CUBE_NONE,
							x->bin >> how->halved,
							x->n,
							x->period };

			ret = add_cell(m, &cell, most);
		}
	}
	return ret < 0 ? err_nomem(err) : ret;
}

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

/* ---- small enough ---------------------------------------------------------------------------- */

static size_t count_nodes(const struct making *m, uint64_t least)
{
	size_t n = 0;

	for (size_t i = 1; i < m->tree.n; i++)
		n += m->total[i] >= least;
	return n;
}

/* What is given up, in this order, until the cube is small enough: bins down to so many, nodes
 * below 1 / so many of all samples, CPUs. */
static const struct {
	enum { BINS, RARE, CPUS } what;
	unsigned least;
} steps[] = { { BINS, 32 },  { RARE, 20000 }, { CPUS, 0 }, { BINS, 8 },
	      { RARE, 500 }, { BINS, 1 },     { RARE, 1 } };
enum { N_STEPS = sizeof(steps) / sizeof(*steps), COARSE_MAX = 128 };

/* False: nothing is left of the step. */
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
		if (c->least * 2 > m->c.samples / steps[step].least)
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

/* All ways to be small, each less detailed than the one before; how many. */
static size_t list_coarse(const struct making *m, struct coarse *v)
{
	struct coarse c = { .least = 1, .cpus = true };
	size_t n = 0;

	while (count_nodes(m, c.least) > CUBE_NODES)
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
	return order_cells(m, err);
}

/* ---- nodes as they are handed out ------------------------------------------------------------ */

/* Those that have cells, and what is above them; rests behind all others, in the order of cells. */
static int number_nodes(struct making *m, struct err *err)
{
	uint32_t *number = malloc((m->tree.n + 1) * sizeof(*number));
	uint32_t rest = CUBE_NONE;

	m->node = malloc((m->tree.n + m->cell.n + 1) * sizeof(*m->node));
	if (!number || !m->node) {
		free(number);
		return err_nomem(err);
	}
	number[0] = CUBE_NONE;
	for (size_t i = 1; i < m->tree.n; i++) {
		const struct chain_node *t = &m->tree.node[i];

		if (!m->total[i] || m->total[i] < m->least)
			continue;
		number[i] = (uint32_t)m->c.n_nodes;
		m->node[m->c.n_nodes++] =
			(struct cube_node){ number[t->parent], (uint32_t)t->frame };
	}
	for (size_t i = 0; i < m->cell.n; i++) {
		struct cube_cell *x = &m->cell.v[i];

		if (!(x->node & FOLDED)) {
			x->node = number[x->node];
			continue;
		}
		if (x->node != rest) {
			rest = x->node;
			m->node[m->c.n_nodes++] =
				(struct cube_node){ number[rest & ~FOLDED], CUBE_NONE };
		}
		x->node = (uint32_t)m->c.n_nodes - 1;
		m->c.folded += x->samples;
	}
	free(number);
	return 0;
}

static void hand_out(struct making *m)
{
	struct cube *c = &m->c;

	c->thread = m->s->thread;
	c->n_threads = m->s->n_threads;
	c->frame = m->frame;
	c->cpu = m->cpu;
	c->node = m->node;
	c->n_chains = m->tree.n ? m->tree.n - 1 : 0;
	c->cell = m->cell.v;
	c->n_cells = m->cell.n;
	for (size_t i = 0; i < c->n_cells; i++)
		if (c->cell[i].bin >= c->n_bins)
			c->n_bins = c->cell[i].bin + 1;
	assert(c->n_bins <= CUBE_BINS);
}

static int make(struct making *m, const struct pd *rec, struct spaces *sp,
		const struct profile_opts *opts, struct err *err)
{
	struct profile_opts po = { .key = { KEY_COMM, KEY_PID, KEY_TID },
				   .n_keys = 3,
				   .chains = true,
				   .stacks = STACKS_CELLS,
				   .max_stack = opts->max_stack,
				   .mux = opts->mux,
				   .select = opts->select,
				   .machine = opts->machine,
				   .progress = opts->progress,
				   .progress_ctx = opts->progress_ctx };

	if (pd_has_time(rec) && find_span(m, rec, sp, opts, err))
		return -1;
	po.bin = (struct profile_bin){ m->c.from, m->c.width, m->c.event };
	if (profile_build(&m->p, rec, sp, &po, err))
		return -1;
	m->s = profile_stacks(m->p);
	if (make_tree(m, err) || weigh(m, err) || make_small(m, err) || number_nodes(m, err))
		return -1;
	hand_out(m);
	return 0;
}

int cube_build(struct cube **out, const struct pd *rec, struct spaces *sp,
	       const struct profile_opts *opts, size_t event, struct err *err)
{
	struct making *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return err_nomem(err);
	m->c.event = (uint32_t)event;
	if (make(m, rec, sp, opts, err)) {
		cube_free(&m->c);
		return -1;
	}
	*out = &m->c;
	return 0;
}
