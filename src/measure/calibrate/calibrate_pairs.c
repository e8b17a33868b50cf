/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that go from one CPU to another, for each pair of them in both directions.
 */
#include <math.h>

#include "measure/calibrate/calibrate_int.h"

#define CPUS_MOST	48u
#define CPUS_MOST_QUICK 4u
#define REPEATS		24u
#define REPEATS_QUICK	9u
#define TRIES		4u

static int transfer(struct calibrating *g, struct calibrate_pair *p)
{
	size_t wanted = g->o->quick ? REPEATS_QUICK : REPEATS, n = 0;
	struct err why = ERR_INIT;
	double v[REPEATS];

	for (size_t i = 0; i < TRIES * wanted && n < wanted; i++) {
		struct calibrate_time t;
		unsigned lines;

		if (g->b->transfer(g->b->ctx, p->from, p->to, p->modified, &t, &lines, &why)) {
			p->ns = ESTIMATE_NONE(arena_strdup(g->a, why.what));
			return p->ns.why ? 0 : err_nomem(g->err);
		}
		g->wall += t.wall;
		if (calibrate_interrupted(&t))
			g->c->dropped++;
		else
			v[n++] = 1e9 * t.wall / lines;
	}
	g->c->repeats += n;
	if (calibrate_estimate(g, v, n, 0, &p->ns))
		return -1;
	p->ns.half += calibrate_stolen(g) * p->ns.v;
	return 0;
}

int calibrate_pairs(struct calibrating *g)
{
	const struct calibrate_opts *o = g->o;
	size_t most = o->quick ? CPUS_MOST_QUICK : CPUS_MOST;
	size_t n = o->n_cpus < most ? o->n_cpus : most;

	if (o->n_cpus < 2)
		g->c->no_pairs = "this process may use one CPU only (or -C says so)";
	g->c->pairs_left_out = o->n_cpus * (o->n_cpus - (o->n_cpus > 0)) - n * (n - (n > 0));
	g->c->pair = arena_alloc(g->a, (2 * n * n + 1) * sizeof(*g->c->pair));
	if (!g->c->pair)
		return err_nomem(g->err);
	for (size_t i = 0; i < 2 * n * n; i++) {
		struct calibrate_pair *p = &g->c->pair[g->c->n_pairs];

		*p = (struct calibrate_pair){ .from = o->cpus[i / 2 / n],
					      .to = o->cpus[i / 2 % n],
					      .modified = i % 2 };
		if (p->from == p->to)
			continue;
		g->c->n_pairs++;
		if (transfer(g, p))
			return -1;
		if (g->o->news && !g->o->news(g->o->news_ctx, 1))
			return g->c->stopped = true, 0;
	}
	return 0;
}
