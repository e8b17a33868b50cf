/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One figure: in each round kernels are opened, timed in turns beside the chain of additions, and
 * closed.
 */
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/paired.h"
#include "measure/calibrate/calibrate_int.h"

#define SLOT_CLOCK    2u
#define CLOCK_CYCLES  16.0 /* of an iteration of "add" */
#define REPEATS_QUICK 16u
#define TRIES	      4u /* times as many before it gives up, in all rounds so far */
#define TAKEN_ONCE    (UINT64_C(16) << 20) /* bytes from which memory is not taken anew */
#define TIME	      400e-6		   /* seconds of a repeat */
#define TIME_QUICK    150e-6
#define PIECE	      40e-6 /* of a piece, if caches hold a lap's memory; else as a repeat */
#define PIECES_LEAST  4u

bool calibrate_interrupted(const struct calibrate_time *t)
{
	return t->wall - t->cpu > 0.02 * t->wall + 5e-6;
}

double calibrate_stolen(const struct calibrating *g)
{
	double stolen = g->b->stolen(g->b->ctx) - g->began;

	return isnan(stolen) || g->wall <= 0 ? 0 : fmin(stolen / g->wall, 1);
}

static struct calibrate_time time_figure(struct calibrating *g, unsigned slot, uint64_t n)
{
	struct calibrate_time t = g->b->run(g->b->ctx, slot, n);

	g->wall += t.wall;
	return t;
}

/* So many iterations that a piece is long against the clock, and short against interruptions and
 * against the time until a neighbour takes lines out of a cache again. A piece has whole laps of a
 * list: all of them do the same. The faster of two runs decides if it was long enough. */
static void enough_rounds(struct calibrating *g, struct calibrate_sampled *s, unsigned slot,
			  const struct calibrate_opened *o)
{
	double repeat = g->o->quick ? TIME_QUICK : TIME, want = repeat, t;
	uint64_t n = o->round ? o->round : 1;

	if (o->warm || !s->j->setup[slot].bytes) {
		want = PIECE;
		n = n > o->warm ? n : (o->warm + n - 1) / n * n;
	}
	for (;; n *= 2) {
		t = time_figure(g, slot, n).wall;
		if (t >= want)
			t = fmin(t, time_figure(g, slot, n).wall);
		if (t >= want || n >= UINT64_C(1) << 40)
			break;
	}
	s->n[slot] = n;
	s->pieces[slot] = (unsigned)fmin(fmax(repeat / t, PIECES_LEAST), CALIBRATE_PIECES);
}

/* A kernel's part of a repeat. False: half of its pieces were interrupted, or more. */
static bool in_pieces(struct calibrating *g, struct calibrate_sampled *s, unsigned slot)
{
	const struct job *j = s->j;
	double v[CALIBRATE_PIECES], per = j->own ? j->per[slot] : j->per[0];
	size_t n = 0;

	if (s->warm[slot])
		(void)time_figure(g, slot, s->warm[slot]);
	for (unsigned i = 0; i < s->pieces[slot]; i++) {
		struct calibrate_time t = time_figure(g, slot, s->n[slot]);

		if (!calibrate_interrupted(&t))
			v[n++] = t.wall / (double)s->n[slot] / per;
	}
	if (2 * n <= s->pieces[slot])
		return false;
	s->time[slot][s->got] = calibrate_quantile(v, n, 0.1);
	s->middle[slot][s->got] = calibrate_quantile(v, n, 0.5);
	return true;
}

static double in_unit(const struct job *j, double t, double hz)
{
	return j->unit == CALIBRATE_CYCLES ? t * hz
	       : j->unit == CALIBRATE_NS   ? t * 1e9
					   : j->bytes / (t * j->per[0]) / 1e9;
}

/* One repeat, the two kernels in an order drawn by lot. False: it does not count. Also the chain of
 * additions can only be slowed down: the faster one of those before and behind is the clock. */
static bool repeat_rounds(struct calibrating *g, struct calibrate_sampled *s)
{
	const struct job *j = s->j;
	struct calibrate_time clock = s->clock;
	unsigned first = j->kernel[1] ? random_next(&g->random) & 1 : 0;
	bool counts = in_pieces(g, s, first);
	double hz;

	if (j->kernel[1])
		counts = in_pieces(g, s, !first) && counts;
	s->clock = time_figure(g, SLOT_CLOCK, g->clock_n);
	if (s->clock.wall < clock.wall)
		clock = s->clock;
	if (!counts || clock.wall <= 0 || calibrate_interrupted(&clock))
		return false;
	hz = CLOCK_CYCLES * (double)g->clock_n / clock.wall;
	s->longest = fmax(s->longest, in_unit(j, s->time[0][s->got], hz));
	s->hz[s->got++] = hz;
	return true;
}

static int open_both(struct calibrating *g, struct calibrate_sampled *s, struct err *err)
{
	struct calibrate_opened o;

	for (unsigned i = 0; i < 2 && s->j->kernel[i]; i++) {
		struct kernel_setup setup = s->j->setup[i];

		setup.layout = s->done % KERNEL_LAYOUTS;
		if (g->b->open(g->b->ctx, i, s->j->kernel[i], &setup, &o, err))
			return -1;
		s->warm[i] = o.warm;
		if (!s->n[i])
			enough_rounds(g, s, i, &o);
		if (!i)
			s->huge = o.huge;
	}
	return 0;
}

void calibrate_begin(const struct calibrating *g, struct calibrate_sampled *s, const struct job *j)
{
	*s = (struct calibrate_sampled){
		.j = j,
		.wanted = g->o->quick ? REPEATS_QUICK : CALIBRATE_REPEATS,
		.rounds = j->setup[0].bytes > TAKEN_ONCE ? 1 : CALIBRATE_ROUNDS,
	};
}

int calibrate_round(struct calibrating *g, struct calibrate_sampled *s)
{
	size_t until = s->wanted * (s->done + 1) / s->rounds;
	struct err why = ERR_INIT;

	if (!open_both(g, s, &why)) {
		s->clock = time_figure(g, SLOT_CLOCK, g->clock_n);
		while (s->got < until && s->got + s->dropped < TRIES * until)
			s->dropped += !repeat_rounds(g, s);
	} else if (!(s->why = arena_strdup(g->a, why.what)))
		return err_nomem(g->err);
	g->b->close(g->b->ctx, 0);
	g->b->close(g->b->ctx, 1);
	s->end[s->done++] = s->got;
	if (s->why)
		s->rounds = s->done;
	return 0;
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

int calibrate_doubt(struct arena *a, struct estimate *e, const char *unit, bool *doubt,
		    struct err *err)
{
	*doubt = e->v + e->half < 0;
	if (!*doubt)
		return 0;
	*e = ESTIMATE_NONE(arena_printf(a,
					"%.3g +-%.2g %s: what does more was faster, so that the "
					"difference is no cost",
					e->v, e->half, unit));
	return e->why ? 0 : err_nomem(err);
}

/* Half of a bar, at least: to the fastest and the slowest tenth of these. */
static double figure_spread(const double *v, size_t n)
{
	double middle = calibrate_quantile(v, n, 0.5);

	return fmax(calibrate_quantile(v, n, 0.9) - middle, middle - calibrate_quantile(v, n, 0.1));
}

/* One kernel can only be slowed down: the fastest tenth, with a bar that reaches to the end of the
 * interval of the middle. */
static int fast(struct calibrating *g, const double *v, const double *middles, size_t n,
		double tenth, struct estimate *e)
{
	double middle;

	if (calibrate_estimate(g, middles, n, 0, e))
		return -1;
	if (isnan(e->v))
		return 0;
	middle = e->v;
	e->v = calibrate_quantile(v, n, tenth);
	e->half += fabs(e->v - middle);
	return 0;
}

/* Returns the fastest repeat of the rounds with this layout; INFINITY: they have none. */
static double fastest_round(const struct calibrate_sampled *s, const double *v, unsigned layout)
{
	double x = INFINITY;

	for (size_t r = layout; r < s->done; r += KERNEL_LAYOUTS)
		for (size_t i = r ? s->end[r - 1] : 0; i < s->end[r]; i++)
			x = fmin(x, v[i]);
	return x;
}

/* Other work only slows a kernel down, and one by more than the other: so the fastest of each, for
 * each layout. The median of layouts does not follow a few that are expensive; the bar has their
 * spread, and reaches to the middle of pairs. */
static int difference(struct calibrating *g, const struct calibrate_sampled *s,
		      double (*of_kernel)[CALIBRATE_REPEATS], double (*middles)[CALIBRATE_REPEATS],
		      struct estimate *e)
{
	const double *a = of_kernel[0], *b = of_kernel[1];
	double v[CALIBRATE_REPEATS], of[KERNEL_LAYOUTS], middle, average;
	size_t n = 0;

	for (size_t i = 0; i < s->got; i++)
		v[i] = middles[0][i] - middles[1][i];
	if (calibrate_estimate(g, v, s->got, s->got ? figure_spread(v, s->got) : 0, e))
		return -1;
	for (unsigned i = 0; i < KERNEL_LAYOUTS; i++)
		if (isfinite(fastest_round(s, a, i)))
			of[n++] = fastest_round(s, a, i) - fastest_round(s, b, i);
	if (isnan(e->v) || n < PAIRED_LEAST)
		return 0;
	middle = e->v;
	if (calibrate_estimate(g, of, n, figure_spread(of, n), e))
		return -1;
	average = e->v;
	e->v = calibrate_quantile(of, n, 0.5);
	e->half += fmax(fabs(e->v - middle), fabs(e->v - average));
	return 0;
}

static void in_units(double *out, const struct calibrate_sampled *s, const double *t, bool cycles)
{
	for (size_t i = 0; i < s->got; i++)
		out[i] = cycles ? t[i] * s->hz[i] : in_unit(s->j, t[i], s->hz[i]);
}

static int estimated(struct calibrating *g, const struct calibrate_sampled *s, bool cycles,
		     struct estimate *e)
{
	double v[2][CALIBRATE_REPEATS], middle[2][CALIBRATE_REPEATS];
	bool rate = !cycles && s->j->unit == CALIBRATE_GBS;

	for (unsigned k = 0; k < 2 && s->j->kernel[k]; k++) {
		in_units(v[k], s, s->time[k], cycles);
		in_units(middle[k], s, s->middle[k], cycles);
	}
	return s->j->kernel[1] ? difference(g, s, v, middle, e)
			       : fast(g, v[0], middle[0], s->got, rate ? 0.9 : 0.1, e);
}

int calibrate_settle(struct calibrating *g, const struct calibrate_sampled *s, struct figure *out)
{
	double stolen = calibrate_stolen(g) * s->longest;

	*out = (struct figure){ .e = ESTIMATE_NONE(s->why),
				.cycles = ESTIMATE_NONE(s->why),
				.huge = s->huge,
				.repeats = s->got,
				.dropped = s->dropped };
	if (s->why)
		return 0;
	if (estimated(g, s, false, &out->e) || estimated(g, s, true, &out->cycles))
		return -1;
	if (isnan(out->e.v) && s->done < s->rounds)
		out->e.why = out->cycles.why = "it was stopped before there were enough repeats";
	out->e.half += stolen;
	if (!isnan(out->e.v) && s->j->unit == CALIBRATE_NS)
		out->cycles.half += stolen * out->cycles.v / out->e.v;
	return 0;
}

int calibrate_figure(struct calibrating *g, const struct job *j, struct figure *out)
{
	struct calibrate_sampled s;

	for (calibrate_begin(g, &s, j); s.done < s.rounds;)
		if (calibrate_round(g, &s))
			return -1;
	return calibrate_settle(g, &s, out);
}
