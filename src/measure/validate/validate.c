/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events are tested in which kernels.
 */
#include "measure/validate.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"
#include "measure/bench.h"
#include "measure/validate/validate_int.h"

#define FLOOR	   0.01 /* counts for each iteration, or for 16 instructions, that are nothing */
#define FLOOR_MOST 0.05
#define TLB_LEAST  32u /* pages that every TLB holds */

static bool is_event_wanted(const struct validate_opts *o, const char *kernel)
{
	for (size_t i = 0; i < o->n_kernels; i++)
		if (text_glob(o->kernel[i], kernel))
			return true;
	return !o->n_kernels;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* Returns the bytes for each stream: a power of two. */
static uint64_t of_streams(uint64_t bytes, const struct validate_instance *in)
{
	double streams = kernel_lines(in->kernel) + in->kernel->each[Q_LINES_PAST], each = 4096;

	while (bytes && each * streams * (in->at == AT_L1 ? 2 : 1) <= (double)bytes - 1)
		each *= 2;
	return bytes ? (uint64_t)each : 0;
}

static bool place_in_group(struct validate_instance *in, const struct calibrate_sizes *s)
{
	in->setup = (struct kernel_setup){ .bytes = calibrate_bytes(s, in->at, &in->why),
					   .on_node = in->on_node,
					   .most = s->most ? s->most : 1,
					   .other = in->other };
	if (in->kernel->unit && in->setup.bytes)
		in->setup.units = (unsigned)(in->setup.bytes / 64);
	if (!in->kernel->usual.stride && in->kernel->usual.bytes)
		in->setup.bytes = of_streams(in->setup.bytes, in);
	return !in->why;
}

/* The instance, made if it is not there. */
static size_t instance_of(struct validating *g, const struct validate_instance *like)
{
	struct validate_instance *in = g->in;
	const struct kernel *k = like->kernel;

	for (size_t i = 0; i < g->n_in; i++)
		if (in[i].kernel == k && in[i].at == like->at && in[i].busy == like->busy &&
		    in[i].busy_at == like->busy_at && in[i].whole == like->whole &&
		    in[i].on_node == like->on_node && in[i].other == like->other)
			return i;
	in += g->n_in;
	*in = *like;
	in->busy_setup.bytes = calibrate_bytes(&g->o->sizes, in->busy_at, &in->why);
	in->busy_setup.most = g->o->sizes.most ? g->o->sizes.most : 1;
	if (in->why)
		return g->n_in++;
	if (place_in_group(in, &g->o->sizes) && g->b->no_other && k->each[Q_MIGRATIONS] > 0)
		in->why = g->b->no_other;
	return g->n_in++;
}

static size_t instance(struct validating *g, const struct kernel *k, enum calibrate_at at,
		       const struct kernel *busy, bool whole)
{
	const struct validate_instance like = {
		.kernel = k, .at = at, .busy = busy, .whole = whole
	};

	return instance_of(g, &like);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The most that passes. A wrong path is as long as a window is. */
static double highest(const struct validate_rule *r, const struct kernel *k, double expected)
{
	if (r->more)
		return INFINITY;
	if (r->kind == COUNTS_LEAST)
		return 1.5 * expected + 200 * k->each[Q_MISPREDICTS];
	return expected * (1 + r->within);
}

static void cell(struct validating *g, size_t event, size_t in, struct validate_cell c)
{
	const struct validate_rule *r = g->v->row[event].rule;
	const struct kernel *k = g->in[in].kernel;
	double size = kernel_count(k, Q_INSNS,
				   g->in[in].setup.units ? g->in[in].setup.units : k->usual.units) /
		      16;

	c.event = event;
	c.kernel = k;
	c.at = g->in[in].at;
	c.bytes = g->in[in].setup.bytes;
	c.busy = g->in[in].busy;
	c.on_node = g->in[in].on_node;
	c.other = g->in[in].other;
	c.pair = g->in[in].pair;
	c.floor = fmax(FLOOR, fmin(r->within, FLOOR_MOST)) * fmax(1, size);
	if (c.expected > 0) {
		c.least = (c.least > 0 ? c.least : c.expected) - c.expected * r->within;
		c.most = highest(r, k, c.expected);
	} else {
		c.most = r->most > 0 ? r->most * (1 + r->within) : INFINITY;
	}
	c.got = ESTIMATE_NONE(g->in[in].why ? g->in[in].why : "not measured");
	g->cell_in[g->v->n_cells] = in;
	g->v->cell[g->v->n_cells++] = c;
}

static void exact(struct validating *g, size_t event, const struct kernel *k,
		  const struct kernel *busy)
{
	const struct kernel *empty = kernel_find("loop");
	const struct validate_rule *r = g->v->row[event].rule;
	double least = k == empty ? 0 : validate_count(r, empty);

	cell(g, event, instance(g, k, AT_ANY, busy, k == empty),
	     (struct validate_cell){ .expected = validate_count(r, k) - least });
}

/* The other thread of the core runs a kernel that the event counts: once beside a kernel that it
 * counts, too, once beside one that it does not count. */
static void beside(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;
	const struct kernel *some = NULL, *none = NULL, *empty = kernel_find("loop");

	if (g->b->no_sibling || r->kernel)
		return;
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *k = &kernels[i];
		double e = validate_count(r, k) - validate_count(r, empty);

		if (k == empty || k->unit || !validate_rule_has(r, k->name) ||
		    !is_event_wanted(g->o, k->name) || k->each[Q_SYSCALLS] > 0)
			continue;
		some = !some && e > 0 ? k : some;
		none = !none && e <= 0 ? k : none;
	}
	if (some)
		exact(g, event, some, some);
	if (some && none)
		exact(g, event, none, some);
}

static void sums(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;

	for (size_t i = 0; i < n_kernels; i++)
		if (validate_rule_has(r, kernels[i].name) && is_event_wanted(g->o, kernels[i].name))
			exact(g, event, &kernels[i], NULL);
	beside(g, event);
}

/* The other thread provokes it, this one does nothing but add: no misses in shared structures. Code
 * on the other thread takes places of this one's in the core's caches of instructions. */
static void some_beside(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;
	const struct kernel *add = kernel_find("add"), *busy = kernel_find(r->in);
	const struct validate_instance like = { .kernel = add, .busy = busy, .busy_at = r->at };

	if (g->b->no_sibling || busy->unit || !strcmp(busy->name, "decoder") ||
	    !validate_rule_has(r, add->name) || !is_event_wanted(g->o, add->name) ||
	    !is_event_wanted(g->o, r->in))
		return;
	cell(g, event, instance_of(g, &like), (struct validate_cell){ .expected = 0 });
}

/* In memory of this node: something, or nothing. */
static void in_node(struct validating *g, size_t event, unsigned on_node, bool something)
{
	const struct validate_rule *r = g->v->row[event].rule;
	const struct validate_instance like = { .kernel = kernel_find(r->in),
						.at = r->at,
						.on_node = on_node };

	cell(g, event, instance_of(g, &like),
	     (struct validate_cell){ .expected = something ? NAN : 0, .least = r->least });
}

/* The CPU's own node, and those of other sockets. */
static void in_nodes(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;

	if (r->from == FROM_REMOTE && !g->o->n_remote) {
		g->v->row[event].why = g->o->no_remote ? g->o->no_remote : "no other NUMA node";
		return;
	}
	in_node(g, event, g->o->n_remote ? g->o->own_node : 0, r->from != FROM_REMOTE);
	for (size_t i = 0; i < g->o->n_remote; i++)
		in_node(g, event, g->o->remote[i], r->from == FROM_REMOTE);
}

/* A CPU of each kind had the lines: something in one kernel and of one kind, else nothing. */
static void in_pairs(struct validating *g, size_t event)
{
	static const char *const none[VALIDATE_PAIRS] = {
		[PAIR_CORE] = "no other thread of this core may be used",
		[PAIR_L3] = "no other core of this L3 cache may be used",
		[PAIR_SOCKET] = "no other L3 cache of this socket and NUMA node may be used",
		[PAIR_REMOTE] = "no CPU of another socket may be used",
	};
	const struct validate_rule *r = g->v->row[event].rule;

	if (!g->o->other[r->pair]) {
		g->v->row[event].why = g->o->no_other ? g->o->no_other : none[r->pair];
		return;
	}
	for (size_t i = 0; i < n_kernels * VALIDATE_PAIRS; i++) {
		const struct kernel *k = &kernels[i / VALIDATE_PAIRS];
		enum validate_pair pair = (enum validate_pair)(i % VALIDATE_PAIRS);
		const struct validate_instance like = { .kernel = k,
							.pair = pair,
							.other = g->o->other[pair] };
		bool in = !strcmp(k->name, r->in);

		if (k->before && like.other && (in || validate_rule_has(r, k->name)) &&
		    is_event_wanted(g->o, k->name))
			cell(g, event, instance_of(g, &like),
			     (struct validate_cell){ .expected = in && pair == r->pair ? NAN : 0,
						     .least = r->least });
	}
}

static void some(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;

	if (r->pair)
		in_pairs(g, event);
	else if (is_event_wanted(g->o, r->in) && r->from == FROM_ANY)
		in_node(g, event, 0, true);
	else if (is_event_wanted(g->o, r->in))
		in_nodes(g, event);
	if (g->v->row[event].why)
		return;
	for (size_t i = 0; i < n_kernels; i++)
		if (!kernels[i].before && validate_rule_has(r, kernels[i].name) &&
		    is_event_wanted(g->o, kernels[i].name))
			cell(g, event, instance(g, &kernels[i], AT_ANY, NULL, false),
			     (struct validate_cell){ .expected = 0 });
	if (!r->pair)
		some_beside(g, event);
}

/* Lines or pages that an iteration brings into the cache: false if that depends on its
 * replacement. */
static bool has_moved(const struct validating *g, const struct validate_rule *r,
		      const struct validate_instance *in, struct kernel_moved *sum)
{
	const struct calibrate_sizes *s = &g->o->sizes;
	uint64_t holds = r->into == INTO_L1   ? s->l1 / KERNEL_LINE
			 : r->into == INTO_L2 ? s->l2 / KERNEL_LINE
			 : r->into == INTO_L3 ? s->l3 / KERNEL_LINE
					      : CALIBRATE_TLB_MOST;

	*sum = (struct kernel_moved){ 0, 0 };
	for (unsigned q = 0; q < QUANTITIES; q++) {
		struct kernel_moved m, least;

		if (r->weight[q] <= 0)
			continue;
		if (!kernel_moved(&m, in->kernel, &in->setup, (enum kernel_quantity)q, holds) ||
		    (m.n == 0 && r->into == INTO_TLB &&
		     (!kernel_moved(&least, in->kernel, &in->setup, (enum kernel_quantity)q,
				    TLB_LEAST) ||
		      least.n > 0)))
			return false;
		sum->n += r->weight[q] * m.n;
		sum->low += r->weight[q] * m.low;
	}
	return true;
}

static void move(struct validating *g, size_t event, const struct kernel *k, enum calibrate_at at)
{
	const struct validate_rule *r = g->v->row[event].rule;
	struct validate_instance in = { .kernel = k, .at = at };
	struct kernel_moved m = { NAN, 0 };

	if (place_in_group(&in, &g->o->sizes) && !has_moved(g, r, &in, &m))
		return;
	if (m.n == 0 && at > AT_L1)
		return; /* nothing comes of any size: once is enough */
	cell(g, event, instance(g, k, at, NULL, false),
	     (struct validate_cell){ .expected = m.n, .least = m.low, .stay = m.n == 0 });
}

/* In memory of each size. */
static void moves(struct validating *g, size_t event)
{
	static const enum calibrate_at caches[] = { AT_L1, AT_L2, AT_L3, AT_MEMORY };
	const struct validate_rule *r = g->v->row[event].rule;

	if (r->into == INTO_TLB && sysconf(_SC_PAGESIZE) != KERNEL_PAGE) {
		g->v->row[event].why = "pages are not of 4 KB here";
		return;
	}
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *k = &kernels[i];

		if (!validate_rule_has(r, k->name) || !is_event_wanted(g->o, k->name))
			continue;
		if (r->into == INTO_TLB && k->each[Q_PAGES] == 1)
			move(g, event, k, AT_WALKS);
		else if (r->into == INTO_TLB || !k->usual.bytes)
			move(g, event, k, AT_ANY);
		else
			for (size_t at = 0; at < sizeof(caches) / sizeof(*caches); at++)
				move(g, event, k, caches[at]);
	}
}

/* Cycles of a chain of 16 additions; an emulator has no chains. */
static void cycles(struct validating *g, size_t event)
{
	static const struct validate_rule *insns;

	if (!insns)
		insns = validate_rule_of("instructions");
	if (g->v->emulated) {
		g->v->row[event].rule = insns;
		sums(g, event);
		return;
	}
	for (unsigned i = 0; is_event_wanted(g->o, "add") && i < (g->b->no_sibling ? 1 : 2); i++)
		cell(g, event,
		     instance(g, kernel_find("add"), AT_ANY, i ? kernel_find("add") : NULL, true),
		     (struct validate_cell){ .expected = 16 });
}

static void times(struct validating *g, size_t event)
{
	const struct validate_rule *r = g->v->row[event].rule;

	for (size_t i = 0; i < n_kernels; i++)
		if (validate_rule_has(r, kernels[i].name) && is_event_wanted(g->o, kernels[i].name))
			cell(g, event, instance(g, &kernels[i], AT_ANY, NULL, true),
			     (struct validate_cell){ .expected = 1 });
}

static void cells_of(struct validating *g, size_t event)
{
	struct validated *v = &g->v->row[event];

	*v = (struct validated){ .event = &g->o->event[event],
				 .verdict = VALIDATE_UNTESTED,
				 .deviation = NAN,
				 .deviation_half = NAN,
				 .limit = NAN,
				 .why = g->o->event[event].absent };
	v->rule = validate_rule_of(v->event->name);
	if (!v->rule && !v->why)
		v->why = "no kernel has a known count of it";
	if (v->why)
		return;
	switch (v->rule->kind) {
	case COUNTS_SUM:
	case COUNTS_LEAST:
		sums(g, event);
		break;
	case COUNTS_CYCLES:
		cycles(g, event);
		break;
	case COUNTS_NS:
		times(g, event);
		break;
	case COUNTS_SOME:
		some(g, event);
		break;
	case COUNTS_MOVES:
		moves(g, event);
		break;
	}
}

int validate_plan(struct validating *g)
{
	size_t per_event = 2 * n_kernels + 4 * VALIDATE_PAIRS + 3 + g->o->n_remote,
	       n = g->o->n_events;

	g->v->row = arena_alloc(g->a, (n + 1) * sizeof(*g->v->row));
	g->v->cell = arena_alloc(g->a, (n + 1) * per_event * sizeof(*g->v->cell));
	g->cell_in = arena_alloc(g->a, (n + 1) * per_event * sizeof(*g->cell_in));
	g->in = arena_alloc(g->a, (n + 1) * per_event * sizeof(*g->in));
	if (!g->v->row || !g->v->cell || !g->cell_in || !g->in)
		return err_nomem(g->err);
	g->v->n_rows = n;
	for (size_t i = 0; i < n; i++)
		cells_of(g, i);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

#define LOOKS 13u /* at how much longer one loop takes than another, */
#define ASIDE 3u  /* but not at so many of the least and of the most: others had the CPU */

/* If 9 times the instructions take 9 times as long, although each waits for the one before in one
 * loop and for nothing in the other, time is instructions. */
static int see_emulator(struct validating *g)
{
	const struct kernel_setup usual = { .bytes = 0 };
	struct validate_counts add, empty;
	uint64_t round, n = 200000; /* so many that the cost of a call is negligible */
	double longer[LOOKS];
	bool fits;

	if (g->b->count(g->b->ctx, NULL, 0, &fits, NULL, g->err) ||
	    g->b->open(g->b->ctx, SLOT_KERNEL, kernel_find("add"), &usual, &round, g->err) ||
	    g->b->open(g->b->ctx, SLOT_EMPTY, kernel_find("loop"), &usual, &round, g->err))
		return -1;
	for (unsigned i = 0; i < LOOKS; i++) {
		if (g->b->run(g->b->ctx, SLOT_KERNEL, n, false, &add, g->err) ||
		    g->b->run(g->b->ctx, SLOT_EMPTY, n, false, &empty, g->err))
			return -1;
		longer[i] = add.wall / empty.wall;
	}
	qsort(longer, LOOKS, sizeof(*longer), num_order);
	g->v->emulated = longer[ASIDE] > 8.5 && longer[LOOKS - 1 - ASIDE] < 9.5;
	g->b->close(g->b->ctx, SLOT_KERNEL);
	return 0;
}

int validate_run(struct validate *out, struct arena *a, const struct validate_opts *o,
		 const struct validate_bench *b, struct err *err)
{
	struct validating g = { .v = out, .a = a, .o = o, .b = b, .err = err };
	int rc;

	*out = (struct validate){ .no_sibling = b->no_sibling, .no_other = b->no_other };
	rc = see_emulator(&g);
	if (!rc)
		rc = validate_plan(&g);
	if (!rc)
		rc = validate_measure(&g);
	for (unsigned i = 0; i < VALIDATE_SLOTS; i++)
		b->close(b->ctx, i);
	if (!rc)
		validate_judge(&g);
	return rc;
}

int validate_join(struct validate *v, const char *prefetchers, const struct validate *more,
		  struct arena *a, struct err *err)
{
	static const struct validate none;
	const struct bench_rows rows = { v->row, v->n_rows, sizeof(*v->row),
					 offsetof(struct validated, prefetchers) };
	const struct bench_rows cells = { v->cell, v->n_cells, sizeof(*v->cell),
					  offsetof(struct validate_cell, prefetchers) };

	more = more ? more : &none;
	v->row = bench_join(a, &rows, prefetchers, more->row, more->n_rows);
	v->cell = bench_join(a, &cells, prefetchers, more->cell, more->n_cells);
	if (!v->row || !v->cell)
		return err_nomem(err);
	for (size_t i = 0; i < more->n_cells; i++)
		v->cell[cells.n + i].event += rows.n;
	v->n_rows += more->n_rows;
	v->n_cells += more->n_cells;
	v->groups += more->groups;
	v->dropped += more->dropped;
	v->stopped |= more->stopped;
	return 0;
}
