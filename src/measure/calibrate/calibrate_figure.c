/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One figure: kernels are opened, timed in turns beside the chain of additions, and closed.
 */
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/num.h"
#include "base/paired.h"
#include "measure/calibrate/calibrate_int.h"

#define SLOT_CLOCK    2u
#define CLOCK_CYCLES  16.0 /* of an iteration of "add" */
#define REPEATS_QUICK 15u
#define TRIES	      4u /* times as many before it gives up */
#define PLACINGS      3u /* times that memory is taken anew */
#define PLACINGS_MOST KERNEL_LAYOUTS
#define PLACED_MOST   (UINT64_C(16) << 20) /* larger memory is taken once */
#define TIME	      400e-6		   /* seconds of a repeat */
#define TIME_QUICK    150e-6

struct timing {
	struct calibrating *g;
	const struct job *j;
	uint64_t n[2], warm[2];
	double value[CALIBRATE_REPEATS], cycles[CALIBRATE_REPEATS];
	size_t got, dropped, wanted;
	double longest; /* of the kernel alone, in the unit: what a stolen share acts upon */
};

bool calibrate_interrupted(const struct calibrate_time *t)
{
	return t->wall - t->cpu > 0.02 * t->wall + 5e-6;
}

double calibrate_stolen(const struct calibrating *g)
{
	double stolen = g->b->stolen(g->b->ctx) - g->began;

	return isnan(stolen) || g->wall <= 0 ? 0 : fmin(stolen / g->wall, 1);
}

static struct calibrate_time timed(struct calibrating *g, unsigned slot, uint64_t n)
{
	struct calibrate_time t = g->b->run(g->b->ctx, slot, n);

	g->wall += t.wall;
	return t;
}

/* So many iterations that a repeat is long against the clock and short against interruptions. */
static uint64_t enough(struct calibrating *g, unsigned slot, uint64_t round)
{
	double want = g->o->quick ? TIME_QUICK : TIME;
	uint64_t n = round ? round : 1;

	while (n < UINT64_C(1) << 40 && timed(g, slot, n).wall < want)
		n *= 2;
	return n;
}

static struct calibrate_time warmed(struct timing *t, unsigned slot)
{
	if (t->warm[slot])
		(void)timed(t->g, slot, t->warm[slot]);
	return timed(t->g, slot, t->n[slot]);
}

/* One repeat, the two kernels in an order drawn by lot. False: it does not count. */
static bool repeat(struct timing *t)
{
	struct calibrating *g = t->g;
	const struct job *j = t->j;
	struct calibrate_time clock = timed(g, SLOT_CLOCK, g->clock_n), of[2] = { { 0, 0 } };
	unsigned first =
		j->kernel[1] ? (unsigned)(g->random = g->random * 6364136223846793005u + 1) >> 31
			     : 0;
	double hz, s;

	of[first] = warmed(t, first);
	if (j->kernel[1])
		of[!first] = warmed(t, !first);
	if (clock.wall <= 0 || calibrate_interrupted(&clock) || calibrate_interrupted(&of[0]) ||
	    calibrate_interrupted(&of[1]))
		return false;
	hz = CLOCK_CYCLES * (double)g->clock_n / clock.wall;
	of[0].wall /= (double)t->n[0];
	of[1].wall /= t->n[1] ? (double)t->n[1] : 1;
	s = j->own ? of[0].wall / j->per[0] - of[1].wall / j->per[1]
		   : (of[0].wall - of[1].wall) / j->per[0];
	t->cycles[t->got] = s * hz;
	t->value[t->got++] = j->unit == CALIBRATE_CYCLES ? s * hz
			     : j->unit == CALIBRATE_NS	 ? s * 1e9
							 : j->bytes / of[0].wall / 1e9;
	s = of[0].wall / j->per[0];
	t->longest = fmax(t->longest, j->unit == CALIBRATE_CYCLES ? s * hz
				      : j->unit == CALIBRATE_NS	  ? s * 1e9
								  : j->bytes / of[0].wall / 1e9);
	return true;
}

static int open_both(struct timing *t, unsigned layout, struct figure *out, struct err *err)
{
	struct calibrate_opened o;

	for (unsigned i = 0; i < 2 && t->j->kernel[i]; i++) {
		struct kernel_setup s = t->j->setup[i];

		s.layout = layout;
		if (t->g->b->open(t->g->b->ctx, i, t->j->kernel[i], &s, &o, err))
			return -1;
		t->warm[i] = o.warm;
		if (!t->n[i])
			t->n[i] = enough(t->g, i, o.round);
		if (!i)
			out->huge = o.huge;
	}
	return 0;
}

/* Repeats in memory that was just taken, and with this layout of the code, up to `until`. */
static int placing(struct timing *t, unsigned layout, size_t until, struct figure *out,
		   struct err *err)
{
	int rc = open_both(t, layout, out, err);

	for (size_t tries = 0; !rc && t->got < until && tries < TRIES * t->wanted; tries++)
		t->dropped += !repeat(t);
	t->g->b->close(t->g->b->ctx, 0);
	t->g->b->close(t->g->b->ctx, 1);
	return rc;
}

double calibrate_quantile(const double *v, size_t n, double q)
{
	double s[CALIBRATE_REPEATS];

	assert(n > 0 && n <= CALIBRATE_REPEATS);
	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), num_order);
	return (s[(size_t)(q * (double)(n - 1))] + s[(size_t)ceil(q * (double)(n - 1))]) / 2;
}

int calibrate_estimate(struct calibrating *g, const double *v, size_t n, double least,
		       struct estimate *out)
{
	struct paired p;

	*out = ESTIMATE_NONE("the thread was interrupted in too many repeats");
	if (n < PAIRED_LEAST)
		return 0;
	if (paired_effect(&p, v, n, g->err))
		return -1;
	out->v = p.effect;
	out->half = fmax(fmax(p.high - p.effect, p.effect - p.low), least);
	out->why = NULL;
	return 0;
}

/* Half of what a bar has at least: of the distance between placings; to the fastest tenth; if a
 * second kernel may have been slowed down instead, to the slowest, too. */
static double least(const struct timing *t, const double *v, const size_t *end, size_t n)
{
	double low = INFINITY, high = -INFINITY, middle, half;

	if (!t->got)
		return 0;
	for (size_t i = 0, at = 0; i < n; at = end[i++]) {
		if (end[i] == at)
			continue;
		middle = calibrate_quantile(v + at, end[i] - at, 0.5);
		low = fmin(low, middle);
		high = fmax(high, middle);
	}
	middle = calibrate_quantile(v, t->got, 0.5);
	half = fmax((high - low) / 2, middle - calibrate_quantile(v, t->got, 0.1));
	if (t->j->kernel[1] || t->j->unit == CALIBRATE_GBS)
		half = fmax(half, calibrate_quantile(v, t->got, 0.9) - middle);
	return half;
}

int calibrate_figure(struct calibrating *g, const struct job *j, struct figure *out)
{
	struct timing t = { .g = g, .j = j };
	unsigned placings = j->layouts			      ? KERNEL_LAYOUTS
			    : j->setup[0].bytes > PLACED_MOST ? 1
							      : PLACINGS;
	size_t end[PLACINGS_MOST];
	double stolen;

	*out = (struct figure){ .e = ESTIMATE_NONE(NULL) };
	t.wanted = g->o->quick ? REPEATS_QUICK : CALIBRATE_REPEATS;
	for (unsigned i = 0; i < placings; i++) {
		struct err why = ERR_INIT;

		if (placing(&t, i, t.wanted * (i + 1) / placings, out, &why)) {
			out->e = ESTIMATE_NONE(arena_strdup(g->a, why.what));
			out->cycles = out->e;
			return out->e.why ? 0 : err_nomem(g->err);
		}
		end[i] = t.got;
	}
	out->repeats = t.got;
	out->dropped = t.dropped;
	stolen = calibrate_stolen(g) * t.longest;
	if (calibrate_estimate(g, t.value, t.got, least(&t, t.value, end, placings), &out->e) ||
	    calibrate_estimate(g, t.cycles, t.got, least(&t, t.cycles, end, placings),
			       &out->cycles))
		return -1;
	out->e.half += stolen;
	if (!isnan(out->e.v) && j->unit == CALIBRATE_NS)
		out->cycles.half += stolen * out->cycles.v / out->e.v;
	return 0;
}
