/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells: instance after instance, its events in groups, repeats until the bars are small; then
 * those that look wrong again.
 */
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/paired.h"
#include "measure/validate/validate_int.h"

#define MOST	   64u	  /* repeats of a cell */
#define TIME	   500e-6 /* seconds of a repeat */
#define TIME_QUICK 150e-6
#define ITERATIONS 4096u /* of a repeat, at least: counts of a call are no fault */
#define SHARED	   5u	 /* repeats without the counters: they are taken for longer */
#define SLOW	   400u	 /* the same of kernels that wait for the operating system */
#define ROUNDS	   4u	 /* the same of lines that another CPU has before: whole lists */
#define LOOKS	   0.8	 /* of the tolerance: looks wrong */

/* Events of an instance that are counted together. */
struct together {
	size_t cell[VALIDATE_GROUP], n;
	double value[VALIDATE_GROUP][MOST];
	double busy[MOST];
	size_t got, shared, alone;
};

static const struct validate_rule *rule_of(const struct validating *g, size_t cell)
{
	return g->v->row[g->v->cell[cell].event].rule;
}

int validate_beyond(const struct validate_cell *c, const struct validate_rule *r, double v,
		    double part)
{
	double below = c->expected - c->least, above = c->most - c->expected;

	(void)r;
	if (isnan(c->expected))
		return v < c->least ? -1 : v > c->most;
	if (c->expected <= 0)
		return v > part * fmax(c->floor, c->slack) ? 1 : 0;
	if (v < c->expected - part * below)
		return -1;
	return v > c->expected + part * (above + c->slack) ? 1 : 0;
}

/* ---- one instance ---------------------------------------------------------------------------- */

static bool waits(const struct kernel *k)
{
	return k->each[Q_SWITCHES] > 0 || k->each[Q_MIGRATIONS] > 0;
}

/* Enough iterations for a repeat. Another CPU that has to have the lines before each round takes
 * longer than the round. */
static bool enough(const struct validating *g, const struct validate_instance *in, uint64_t round,
		   double seconds)
{
	if (in->other)
		return in->n >= ROUNDS * round;
	return seconds >= (g->o->quick ? TIME_QUICK : TIME) &&
	       (in->n >= (waits(in->kernel) ? SLOW : ITERATIONS) || in->kernel->unit);
}

static int open_instance(struct validating *g, struct validate_instance *in)
{
	static const struct kernel_setup usual;
	const struct kernel *empty = kernel_find("loop");
	const struct validate_bench *b = g->b;
	struct validate_counts t = { .wall = 0 };
	struct err err = ERR_INIT;
	uint64_t round = 1, other;
	bool fits;

	if (b->count(b->ctx, NULL, 0, &fits, NULL, g->err))
		return -1;
	if (b->open(b->ctx, SLOT_KERNEL, in->kernel, &in->setup, &round, &err) ||
	    b->open(b->ctx, SLOT_EMPTY, in->whole ? in->kernel : empty,
		    in->whole ? &in->setup : &usual, &other, &err) ||
	    (in->busy && b->open(b->ctx, SLOT_BUSY, in->busy, &in->busy_setup, &other, &err))) {
		in->why = arena_strdup(g->a, err.what);
		return in->why ? 0 : err_nomem(g->err);
	}
	in->n = round ? round : 1;
	while (in->n < UINT64_C(1) << 40) {
		if (b->run(b->ctx, SLOT_KERNEL, in->n, false, &t, g->err))
			return -1;
		if (enough(g, in, round, t.wall))
			break;
		in->n *= 2;
	}
	return 0;
}

static int repeat(struct validating *g, const struct validate_instance *in, struct together *t)
{
	const struct validate_bench *b = g->b;
	bool busy = in->busy != NULL;
	struct validate_counts base, run;
	double n = (double)in->n;

	if (b->run(b->ctx, SLOT_EMPTY, in->n, false, &base, g->err) ||
	    b->run(b->ctx, SLOT_KERNEL, in->whole ? 2 * in->n : in->n, busy, &run, g->err))
		return -1;
	if (base.shared || run.shared || run.alone) {
		t->shared += base.shared || run.shared;
		t->alone += run.alone;
		return 0;
	}
	for (size_t i = 0; i < t->n; i++) {
		double more = run.count[i] - base.count[i];

		t->value[i][t->got] = rule_of(g, t->cell[i])->kind == COUNTS_NS
					      ? more / (1e9 * (run.cpu - base.cpu))
					      : more / n;
	}
	t->busy[t->got++] = run.busy / n;
	return 0;
}

static const char *not_got(const struct together *t)
{
	return t->alone > t->shared ? "the other thread of the core got no CPU"
				    : "its counter was taken by others";
}

static int estimate(const struct validating *g, const struct together *t, size_t i,
		    struct estimate *out)
{
	struct paired p;

	*out = ESTIMATE_NONE(not_got(t));
	if (t->got < PAIRED_LEAST)
		return 0;
	if (paired_effect(&p, t->value[i], t->got, g->err))
		return -1;
	*out = (struct estimate){ p.effect, fmax(p.high - p.effect, p.effect - p.low), NULL };
	return 0;
}

/* The bar is small enough to see a fault of the tolerance's size. */
static bool fine(const struct validating *g, size_t cell, const struct estimate *e)
{
	const struct validate_cell *c = &g->v->cell[cell];

	return isnan(c->expected)
		       ? fabs(e->v - c->least) > e->half && fabs(e->v - c->most) > e->half
	       : c->expected <= 0 ? e->half < c->floor / 4
				  : e->half < c->expected * rule_of(g, cell)->within / 4;
}

/* Others may take the counters, or the CPU of the other thread, but not for ever. */
static bool may_repeat(const struct together *t)
{
	return t->shared < SHARED && t->alone < MOST;
}

static int repeats(struct validating *g, const struct validate_instance *in, struct together *t)
{
	bool all = false;

	while (!all && t->got < MOST / 2 && may_repeat(t)) {
		struct estimate e;

		if (repeat(g, in, t))
			return -1;
		all = t->got > PAIRED_LEAST && t->got % 4 == 3;
		for (size_t i = 0; all && i < t->n; i++) {
			if (estimate(g, t, i, &e))
				return -1;
			all = fine(g, t->cell[i], &e);
		}
	}
	return 0;
}

/* A whole-core event's count of an iteration of the other thread. It may be known only from this
 * thread's results. */
static double of_other(const struct validating *g, size_t cell)
{
	const struct validate_cell *c = &g->v->cell[cell];
	const struct validate_rule *r = rule_of(g, cell);
	double most = r->least;

	if (r->kind == COUNTS_CYCLES)
		return c->expected;
	if (r->kind != COUNTS_SOME)
		return validate_count(r, c->busy);
	for (const struct validate_cell *x = c; x >= g->v->cell && x->event == c->event; x--)
		if (isnan(x->expected) && x->got.v > most)
			most = x->got.v;
	return most;
}

/* The event's count without the other thread's iterations: repeat by repeat, since their number
 * varies. */
static int without_other(const struct validating *g, const struct together *t, size_t i,
			 struct validate_cell *c)
{
	const struct validate_rule *r = rule_of(g, t->cell[i]);
	double theirs = of_other(g, t->cell[i]), alone[MOST];
	struct paired p, rate;

	if (t->got < PAIRED_LEAST)
		return 0;
	for (size_t k = 0; k < t->got; k++)
		alone[k] = t->value[i][k] - theirs * t->busy[k];
	if (paired_effect(&p, alone, t->got, g->err) ||
	    paired_effect(&rate, t->busy, t->got, g->err))
		return -1;
	c->alone = p.effect;
	c->busy_rate = rate.effect;
	if (r->kind == COUNTS_SOME || r->kind == COUNTS_CYCLES)
		c->slack = 0.25 * theirs * rate.effect;
	return 0;
}

static int keep_cell(struct validating *g, struct together *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct validate_cell *c = &g->v->cell[t->cell[i]];

		if (estimate(g, t, i, &c->got) || (c->busy && without_other(g, t, i, c)))
			return -1;
		c->repeats = t->got;
		g->v->row[c->event].repeats += t->got;
		g->v->row[c->event].dropped += t->shared;
		g->v->dropped += t->shared;
	}
	return 0;
}

/* Counts the events together. False: they do not fit. */
static int begin(struct validating *g, struct together *t, bool *fits)
{
	const char *why[VALIDATE_GROUP] = { NULL };
	size_t event[VALIDATE_GROUP];

	for (size_t i = 0; i < t->n; i++)
		event[i] = g->v->cell[t->cell[i]].event;
	if (g->b->count(g->b->ctx, event, t->n, fits, why, g->err))
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (why[i]) {
			g->v->row[event[i]].why = why[i];
			*fits = false;
		}
	return 0;
}

static int group(struct validating *g, const struct validate_instance *in, const size_t *cell,
		 size_t n)
{
	struct together t = { .n = n };
	bool fits = true;

	memcpy(t.cell, cell, n * sizeof(*cell));
	if (begin(g, &t, &fits))
		return -1;
	if (fits && repeats(g, in, &t))
		return -1;
	/* each alone, unless it was the other thread that got no CPU: that has none then either */
	if (n > 1 && (!fits || (t.got < PAIRED_LEAST && t.shared >= t.alone)))
		return group(g, in, cell, n / 2) || group(g, in, cell + n / 2, n - n / 2) ? -1 : 0;
	g->v->groups++;
	return fits ? keep_cell(g, &t) : 0;
}

static bool step(struct validating *g)
{
	g->done++;
	if (g->o->news && !g->o->news(g->o->ctx, (double)g->done / (double)g->steps))
		g->v->stopped = true;
	return !g->v->stopped;
}

/* Cells of the instance that can be measured, from *at on, VALIDATE_GROUP of them at most. */
static size_t next_cells(const struct validating *g, size_t in, size_t *at, size_t *cell)
{
	size_t n = 0;

	for (; *at < g->v->n_cells && n < VALIDATE_GROUP; ++*at)
		if (g->cell_in[*at] == in && !g->v->row[g->v->cell[*at].event].why)
			cell[n++] = *at;
	return n;
}

static int measure_instance(struct validating *g, size_t i)
{
	struct validate_instance *in = &g->in[i];
	size_t cell[VALIDATE_GROUP], at = 0, n;

	if (!in->why && open_instance(g, in))
		return -1;
	while ((n = next_cells(g, i, &at, cell)) > 0) {
		for (size_t k = 0; in->why && k < n; k++) {
			g->v->cell[cell[k]].got = ESTIMATE_NONE(in->why);
			g->v->cell[cell[k]].left = in->why;
		}
		if (!in->why && group(g, in, cell, n))
			return -1;
		if (!step(g))
			return 0;
	}
	return 0;
}

/* ---- suspicious cells, again ----------------------------------------------------------------- */

/* The least t of n tosses of a coin that come so with a chance of at most `alpha`. */
static size_t tosses(size_t n, double alpha)
{
	double p = pow(0.5, (double)n), tail = 0;
	size_t t = n + 1;

	while (t > 0 && tail + p <= alpha) {
		tail += p;
		t--;
		p *= (double)t / (double)(n - t + 1);
	}
	return t;
}

static int confirm(struct validating *g, size_t cell, double alpha)
{
	struct validate_cell *c = &g->v->cell[cell];
	const struct validate_rule *r = rule_of(g, cell);
	struct validate_instance *in = &g->in[g->cell_in[cell]];
	struct together t = { .cell = { cell }, .n = 1 };
	int side = validate_beyond(c, r, c->got.v, LOOKS);
	size_t n = (size_t)(3 * log2(1 / alpha)) + 4, beyond = 0;
	bool fits;

	n = n < MOST ? n : MOST;
	if (open_instance(g, in) || begin(g, &t, &fits))
		return -1;
	if (!fits || in->why)
		return 0;
	while (t.got < n && may_repeat(&t))
		if (repeat(g, in, &t))
			return -1;
	for (size_t i = 0; i < t.got; i++)
		beyond += validate_beyond(c, r, t.value[0][i], 1) == side;
	c->wrong = t.got == n && beyond >= tosses(n, alpha);
	if (keep_cell(g, &t))
		return -1;
	if (t.got < n) /* neither right nor wrong */
		c->got = ESTIMATE_NONE(not_got(&t));
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void announce(struct validating *g)
{
	double of_group = (g->o->quick ? TIME_QUICK : TIME) * 2.5 * 9 + 20e-3, seconds = 0;
	size_t events = 0, at, n, cell[VALIDATE_GROUP];

	for (size_t i = 0; i < g->v->n_rows; i++)
		events += !g->v->row[i].why;
	for (size_t i = 0; i < g->n_in; i++)
		for (at = 0; (n = next_cells(g, i, &at, cell)) > 0; g->steps++)
			seconds += of_group + (waits(g->in[i].kernel) ? 0.8 : 0);
	if (g->o->plan)
		g->o->plan(g->o->ctx, events, g->n_in, seconds);
	g->steps += g->v->n_cells / 50 + 1;
}

int validate_measure(struct validating *g)
{
	announce(g);
	for (size_t i = 0; i < g->n_in && !g->v->stopped; i++)
		if (measure_instance(g, i))
			return -1;
	for (size_t i = 0; i < g->v->n_cells && !g->v->stopped; i++) {
		const struct validate_cell *c = &g->v->cell[i];

		if (isnan(c->got.v) || !validate_beyond(c, rule_of(g, i), c->got.v, LOOKS))
			continue;
		if (confirm(g, i, VALIDATE_CHANCE / (double)g->v->n_cells))
			return -1;
		(void)step(g);
	}
	return 0;
}
