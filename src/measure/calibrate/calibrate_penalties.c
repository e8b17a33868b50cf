/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures as penalties of an account's nodes, and the file that report --penalties reads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/calibrate/calibrate_int.h"

static const struct {
	const char *node, *measure, *minus;
} rows[] = {
#define PENALTY(node, measure, minus) { node, measure, minus },
#include "measure/calibrate/penalty.def"
#undef PENALTY
};
#define ROWS (sizeof(rows) / sizeof(*rows))

struct found {
	struct estimate e;
	bool ns;
};

static int by_penalty(const void *a, const void *b)
{
	const struct estimate *x = a, *y = b;

	return (x->v > y->v) - (x->v < y->v);
}

/* The median of the pairs, with its own bar. */
static struct estimate of_pairs(const struct calibrate *c, bool modified)
{
	struct estimate *v = calloc(c->n_pairs + 1, sizeof(*v)), e = ESTIMATE_NONE("not measured");
	size_t n = 0;

	for (size_t i = 0; v && i < c->n_pairs; i++)
		if (c->pair[i].modified == modified && !isnan(c->pair[i].ns.v))
			v[n++] = c->pair[i].ns;
	if (n) {
		qsort(v, n, sizeof(*v), by_penalty);
		e = v[n / 2];
	}
	free(v);
	return e;
}

static struct found find_penalty(const struct calibrate *c, const char *key)
{
	if (!strncmp(key, "transfer_", 9))
		return (struct found){ of_pairs(c, !strcmp(key, "transfer_modified")), true };
	for (size_t i = 0; i < c->n_rows; i++)
		if (!strcmp(c->row[i].m->key, key))
			return (struct found){ c->row[i].e, c->row[i].m->unit == CALIBRATE_NS };
	return (struct found){ ESTIMATE_NONE("not measured"), false };
}

/* Converts cycles to nanoseconds, or the other way round. */
static void convert(struct found *f, bool ns, double hz)
{
	double by = ns ? 1e9 / hz : hz / 1e9;

	if (f->ns == ns)
		return;
	f->e.v *= by;
	f->e.half *= by;
	f->ns = ns;
}

static struct found penalty_value_of(const struct calibrate *c, size_t i)
{
	struct found f = find_penalty(c, rows[i].measure), minus;

	if (!rows[i].minus)
		return f;
	minus = find_penalty(c, rows[i].minus);
	convert(&minus, f.ns, c->hz.v);
	f.e.v -= minus.e.v;
	f.e.half = hypot(f.e.half, minus.e.half);
	if (!f.e.why)
		f.e.why = minus.e.why;
	return f;
}

/* The model's figure in ns or cycles. */
static double in_unit(const struct account_node *t, bool ns, double hz, double reference_hz)
{
	double seconds =
		t->ns ? t->penalty * 1e-9 : t->penalty / (t->reference ? reference_hz : hz);

	if (t->ns == ns && (ns || !t->reference))
		return t->penalty; /* whether the clock is known or not */
	return ns ? seconds * 1e9 : seconds * hz;
}

int calibrate_penalties(struct calibrate_penalty **out, size_t *n, struct arena *a,
			const struct calibrate *c, const struct account *acc, double reference_hz,
			struct err *err)
{
	*n = 0;
	*out = arena_alloc(a, ROWS * sizeof(**out));
	if (!*out)
		return err_nomem(err);
	for (size_t i = 0; i < ROWS; i++) {
		struct found f = penalty_value_of(c, i);
		uint32_t node =
			acc ? account_find(acc, rows[i].node, strlen(rows[i].node)) : MODEL_NONE;
		struct calibrate_penalty *p = &(*out)[*n];

		if (acc && (node == MODEL_NONE || acc->node[node].event == MODEL_NONE ||
			    acc->node[node].penalty <= 0))
			continue; /* none, a sum, or one that is only counted */
		*p = (struct calibrate_penalty){ .node = rows[i].node,
						 .e = f.e,
						 .ns = f.ns,
						 .from = rows[i].measure,
						 .model_here = NAN };
		if (rows[i].minus &&
		    calibrate_doubt(a, &p->e, f.ns ? "ns" : "cycles", &p->doubt, err))
			return -1;
		if (rows[i].minus)
			p->from = arena_printf(a, "%s - %s", rows[i].measure, rows[i].minus);
		if (!p->from)
			return err_nomem(err);
		if (acc) {
			p->model = &acc->node[node];
			p->model_here = in_unit(p->model, p->ns, c->hz.v, reference_hz);
			p->differs = fabs(p->e.v - p->model_here) > p->e.half;
		}
		(*n)++;
	}
	return 0;
}

/* Lines for model/core.h. */
static void put_latencies(struct buf *b, const struct calibrate *c)
{
	static const struct {
		const char *op, *measure, *plus;
	} all[] = {
#define LATENCY(op, measure, plus) { op, measure, plus },
#include "measure/calibrate/latency.def"
#undef LATENCY
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct estimate e = find_penalty(c, all[i].measure).e, plus;

		if (all[i].plus) {
			plus = find_penalty(c, all[i].plus).e;
			e.v += plus.v;
			e.half = hypot(e.half, plus.half);
			e.why = e.why ? e.why : plus.why;
		}
		if (isnan(e.v))
			buf_printf(b, "# latency of %s: not known: %s\n", all[i].op,
				   e.why ? e.why : "-");
		else if (isnan(e.half) || e.v <= e.half)
			buf_printf(b, "# latency of %s: %.3g +-%.2g: not more than its error\n",
				   all[i].op, e.v, e.half);
		else
			buf_printf(b, "latency %s %.2f %.2f\n", all[i].op, e.v, e.half);
	}
}

void calibrate_put_penalties(struct buf *b, const struct calibrate *c,
			     const struct calibrate_penalty *p, size_t n)
{
	buf_printf(b, "# measured by cyclade calibrate on CPU %u at %.3f GHz\n", c->cpu,
		   c->hz.v / 1e9);
	for (size_t i = 0; i < n; i++) {
		const struct estimate *e = &p[i].e;
		const char *unit = p[i].ns ? " ns" : "";

		if (isnan(e->v))
			buf_printf(b, "# %s: not known: %s\n", p[i].node, e->why ? e->why : "-");
		else if (isnan(e->half) || e->v <= e->half)
			buf_printf(b, "# %s: %.3g%s +-%.2g: not more than its error\n", p[i].node,
				   e->v, unit, e->half);
		else
			buf_printf(b, "# %s, +-%.2g\n%s %.4g%s\n", p[i].from, e->half, p[i].node,
				   e->v, unit);
	}
	put_latencies(b, c);
}
