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
	uint64_t *total;	/* samples there and below, by node of the tree */
	uint64_t least;		/* nodes with fewer are folded */
	struct cube_frame *frame;
	struct cube_node *node;
	struct cube_cell *cell; /* .node: of the tree, until number_nodes() */
	uint32_t *cpu;
};
#define FOLDED 0x80000000u /* of a cell's node: not there, but in small ones below */

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
	free(m->cell);
	free(m->cpu);
	profile_free(m->p);
	free(m);
}

/* ---- when samples were taken ----------------------------------------------------------------- */

struct span {
	size_t event;
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
	struct span x = { .event = m->c.event };
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

/* The CPUs that samples were on. */
static int list_cpus(struct making *m, struct err *err)
{
	size_t n = 0;

	m->cpu = malloc((m->c.n_cells + 1) * sizeof(*m->cpu));
	if (!m->cpu)
		return err_nomem(err);
	for (size_t i = 0; i < m->c.n_cells; i++)
		if (m->cell[i].cpu != CUBE_NONE && (!n || m->cpu[n - 1] != m->cell[i].cpu))
			m->cpu[n++] = m->cell[i].cpu;
	if (n > 1)
		qsort(m->cpu, n, sizeof(*m->cpu), by_number);
	for (size_t i = 0; i < n; i++)
		if (!m->c.n_cpus || m->cpu[m->c.n_cpus - 1] != m->cpu[i])
			m->cpu[m->c.n_cpus++] = m->cpu[i];
	for (size_t i = 0; i < m->c.n_cells; i++) {
		const uint32_t *at =
			bsearch(&m->cell[i].cpu, m->cpu, m->c.n_cpus, sizeof(*m->cpu), by_number);

		m->cell[i].cpu = at ? (uint32_t)(at - m->cpu) : CUBE_NONE;
	}
	return 0;
}

static int list_cells(struct making *m, struct err *err)
{
	const struct profile_stacks *s = m->s;

	m->cell = malloc((s->n_samples + 1) * sizeof(*m->cell));
	m->total = calloc(m->tree.n + 1, sizeof(*m->total));
	if (!m->cell || !m->total)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_samples; i++) {
		const struct stack_sample *x = &s->sample[i];
		uint32_t node = m->node_of[x->node];

		if (x->event != m->c.event)
			continue;
		m->cell[m->c.n_cells++] = (struct cube_cell){ node,	    x->thread, stack_cpu(x),
							      stack_bin(x), x->n,      x->period };
		m->total[node] += x->n;
		m->c.samples += x->n;
		m->c.period += x->period;
	}
	for (size_t i = m->tree.n; i > 1; i--)
		m->total[m->tree.node[i - 1].parent] += m->total[i - 1];
	return list_cpus(m, err);
}

static bool same_place(const struct cube_cell *a, const struct cube_cell *b)
{
	return a->node == b->node && a->thread == b->thread && a->cpu == b->cpu && a->bin == b->bin;
}

/* Cells that are in order and have the same place become one. */
static void join_cells(struct making *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->c.n_cells; i++) {
		if (n && same_place(&m->cell[n - 1], &m->cell[i])) {
			m->cell[n - 1].samples += m->cell[i].samples;
			m->cell[n - 1].period += m->cell[i].period;
		} else {
			m->cell[n++] = m->cell[i];
		}
	}
	m->c.n_cells = n;
}

/* By node, thread, CPU, bin. */
static int order_cells(struct making *m, struct err *err)
{
	size_t n = m->c.n_cells;
	struct keyed *v = malloc((n + 1) * sizeof(*v)), *scratch = malloc((n + 1) * sizeof(*v));
	struct cube_cell *out = malloc((n + 1) * sizeof(*out));
	bool ok = v && scratch && out;

	for (size_t i = 0; ok && i < n; i++)
		v[i] = (struct keyed){ (uint64_t)m->cell[i].cpu << 32 | m->cell[i].bin, (uint32_t)i,
				       0 };
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		v[i].key = (uint64_t)m->cell[v[i].a].node << 32 | m->cell[v[i].a].thread;
	if (ok)
		keyed_sort(v, scratch, n);
	for (size_t i = 0; ok && i < n; i++)
		out[i] = m->cell[v[i].a];
	free(v);
	free(scratch);
	if (!ok) {
		free(out);
		return err_nomem(err);
	}
	free(m->cell);
	m->cell = out;
	join_cells(m);
	return 0;
}

/* ---- small enough ---------------------------------------------------------------------------- */

/* Two bins become one, which leaves cells in order. */
static void halve_bins(struct making *m)
{
	m->c.width *= 2;
	for (size_t i = 0; i < m->c.n_cells; i++)
		m->cell[i].bin /= 2;
	join_cells(m);
}

/* Samples of nodes with fewer than `least` go to the rest of the first above that has as many. */
static int fold_nodes(struct making *m, uint64_t least, struct err *err)
{
	for (size_t i = 0; i < m->c.n_cells; i++) {
		uint32_t node = m->cell[i].node, at = node & ~FOLDED;

		while (at && m->total[at] < least)
			at = m->tree.node[at].parent;
		if (at != (node & ~FOLDED))
			m->cell[i].node = at | FOLDED;
	}
	m->least = least;
	return order_cells(m, err);
}

static int drop_cpus(struct making *m, struct err *err)
{
	for (size_t i = 0; i < m->c.n_cells; i++)
		m->cell[i].cpu = CUBE_NONE;
	m->c.n_cpus = 0;
	return order_cells(m, err);
}

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

/* 1: nothing is left of the step. */
static int give_up(struct making *m, size_t step, unsigned *bins, struct err *err)
{
	switch (steps[step].what) {
	case BINS:
		if (*bins <= steps[step].least)
			return 1;
		*bins = (*bins + 1) / 2;
		halve_bins(m);
		return 0;
	case RARE:
		if (m->least * 2 > m->c.samples / steps[step].least)
			return 1;
		return fold_nodes(m, m->least * 2, err);
	default:
		return m->c.n_cpus ? drop_cpus(m, err) : 1;
	}
}

static int make_small(struct making *m, struct err *err)
{
	unsigned bins = CUBE_BINS;
	uint64_t least = 1;

	while (count_nodes(m, least) > CUBE_NODES)
		least *= 2;
	if (least > 1 && fold_nodes(m, least, err))
		return -1;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		while (m->c.n_cells > CUBE_CELLS) {
			int ret = give_up(m, i, &bins, err);

			if (ret < 0)
				return -1;
			if (ret)
				break;
		}
	return 0;
}

/* ---- nodes as they are handed out ------------------------------------------------------------ */

/* Those that have cells, and what is above them; rests behind all others, in the order of cells. */
static int number_nodes(struct making *m, struct err *err)
{
	uint32_t *number = malloc((m->tree.n + 1) * sizeof(*number));
	uint32_t rest = CUBE_NONE;

	m->node = malloc((m->tree.n + m->c.n_cells + 1) * sizeof(*m->node));
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
	for (size_t i = 0; i < m->c.n_cells; i++) {
		struct cube_cell *x = &m->cell[i];

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
	c->cell = m->cell;
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
				   .stacks = STACKS_BINNED,
				   .max_stack = opts->max_stack,
				   .mux = opts->mux,
				   .select = opts->select,
				   .machine = opts->machine,
				   .progress = opts->progress,
				   .progress_ctx = opts->progress_ctx };

	if (pd_has_time(rec) && find_span(m, rec, sp, opts, err))
		return -1;
	po.bin = (struct profile_bin){ m->c.from, m->c.width };
	if (profile_build(&m->p, rec, sp, &po, err))
		return -1;
	m->s = profile_stacks(m->p);
	m->least = 1;
	if (make_tree(m, err) || list_cells(m, err) || order_cells(m, err) || make_small(m, err) ||
	    number_nodes(m, err))
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
