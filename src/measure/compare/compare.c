/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "base/num.h"

void compare_begin(struct compare *c, struct arena *a, uint32_t pairs, uint64_t seed)
{
	*c = (struct compare){ .a = a, .pairs = pairs, .seed = seed, .aim = 0.02 };
}

void compare_free(struct compare *c)
{
	vec_free(&c->run);
}

int compare_metrics(struct compare *c, size_t n, struct err *err)
{
	static const char *const times[] = { "time", "user", "system" };

	assert(n >= COMPARE_TIMES && !c->n_metrics);
	c->metric = arena_alloc(c->a, n * sizeof(*c->metric));
	if (!c->metric)
		return err_nomem(err);
	for (size_t i = 0; i < COMPARE_TIMES; i++)
		c->metric[i] = (struct compare_metric){ .name = times[i], .unit = "s" };
	c->metric[COMPARE_TIME].decides = c->metric[COMPARE_TIME].main = true;
	c->metric[COMPARE_USER].decides = c->metric[COMPARE_USER].main = true;
	c->n_metrics = n;
	return 0;
}

int compare_more(struct compare *c, size_t n, struct err *err)
{
	struct compare_metric *all = arena_alloc(c->a, (COMPARE_TIMES + n) * sizeof(*all));

	assert(c->n_metrics >= COMPARE_TIMES);
	if (!all)
		return err_nomem(err);
	memcpy(all, c->metric, COMPARE_TIMES * sizeof(*all));
	c->metric = all;
	c->n_metrics = COMPARE_TIMES + n;
	vec_each (&c->run, struct compare_one *, one) {
		double *value = arena_alloc(c->a, c->n_metrics * sizeof(*value));

		if (!value)
			return err_nomem(err);
		for (size_t i = 0; i < c->n_metrics; i++)
			value[i] = i < COMPARE_TIMES ? one->value[i] : NAN;
		one->value = value;
	}
	return 0;
}

bool compare_named(const struct compare_metric *m, const char *name)
{
	size_t n = strlen(m->name), k = strlen(name);

	return !strcmp(m->name, name) ||
	       (n > k && m->name[n - k - 1] == '.' && !strcmp(m->name + n - k, name));
}

/* In half of the pairs B comes first, rounded by lot. */
static bool *draw_order(const struct compare *c, struct err *err)
{
	uint64_t state = c->seed + c->n_series;
	bool *first = arena_alloc(c->a, c->pairs + 1);
	size_t n = c->pairs / 2 + (c->pairs % 2 && random_next(&state) & 1);

	if (!first) {
		(void)err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < c->pairs; i++)
		first[i] = i < n;
	for (size_t i = c->pairs; i > 1; i--) {
		size_t k = random_next(&state) % i;
		bool other = first[k];

		first[k] = first[i - 1];
		first[i - 1] = other;
	}
	return first;
}

/* A run that was interrupted is left out, with its pair. */
static int keep_pairs(struct compare *c, const struct err *cause, struct err *err)
{
	if (c->run.n % 2)
		c->failed -= c->run.v[--c->run.n].status != 0;
	if (!c->interrupted || !c->run.n) {
		*err = *cause;
		return -1;
	}
	c->n_series = vec_last(&c->run)->series + 1;
	return 0;
}

int compare_series(struct compare *c, const struct compare_runner *r, struct err *err)
{
	const bool *b_first = draw_order(c, err);
	size_t of = (size_t)c->pairs * 2;

	if (!b_first)
		return -1;
	for (size_t i = 0; i < of; i++) {
		bool second = i % 2;
		struct err cause = ERR_INIT;
		struct compare_one one = { .series = c->n_series,
					   .pair = (uint32_t)(i / 2),
					   .side = second != b_first[i / 2],
					   .second = second };

		if (r->run(r->ctx, c, &one, &cause))
			return keep_pairs(c, &cause, err);
		if (vec_push(&c->run, one))
			return err_nomem(err);
		c->failed += one.status != 0;
		if (c->news)
			c->news(c->news_ctx, (double)(i + 1) / (double)of);
	}
	c->n_series++;
	return 0;
}

enum { MAIN, FUNCTIONS, OTHERS, FAMILIES };

static int metric_family_of(const struct compare_metric *m)
{
	return m->many ? FUNCTIONS : m->decides ? MAIN : OTHERS;
}

size_t compare_family(const struct compare *c, const struct compare_metric *m)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_metrics; i++)
		n += metric_family_of(&c->metric[i]) == metric_family_of(m) &&
		     !isnan(c->metric[i].effect.chance);
	return n;
}

bool compare_wants_more(const struct compare *c)
{
	for (size_t i = 0; !c->interrupted && c->n_series < COMPARE_SERIES && i < c->n_metrics;
	     i++) {
		const struct compare_metric *m = &c->metric[i];

		/* false: there is none */
		if (m->decides && m->effect.pairs >= PAIRED_LEAST &&
		    m->effect.chance_first < COMPARE_GO / (double)compare_family(c, m))
			return true;
	}
	return false;
}

int compare_run(struct compare *c, const struct compare_runner *r, struct err *err)
{
	do
		if (compare_series(c, r, err) || (r->series && r->series(r->ctx, c, err)) ||
		    compare_judge(c, err))
			return -1;
	while (compare_wants_more(c));
	return 0;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

struct judging {
	const struct compare *c;
	size_t metric;
	double *difference, *figure; /* room */
	bool relative;		     /* all figures are above 0: differences are of logarithms */
	double whole;		     /* else parts of this */
};

static double metric_figure_of(const struct judging *j, size_t run)
{
	return j->c->run.v[run].value[j->metric];
}

/* Returns the median of a side, over all series. */
static double median(struct judging *j, uint8_t side, double *mean)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->c->run.n; i++)
		if (j->c->run.v[i].side == side && !isnan(metric_figure_of(j, i))) {
			j->figure[n++] = metric_figure_of(j, i);
			sum += j->figure[n - 1];
		}
	*mean = n ? sum / (double)n : NAN;
	if (!n)
		return NAN;
	qsort(j->figure, n, sizeof(*j->figure), num_order);
	return (j->figure[(n - 1) / 2] + j->figure[n / 2]) / 2;
}

static double difference(const struct judging *j, double from, double to)
{
	return j->relative ? log(to / from) : (to - from) / j->whole;
}

static double as_change(const struct judging *j, double difference)
{
	return j->relative ? expm1(difference) : difference;
}

/* B against A, of one series, or of all (series COMPARE_SERIES). */
static int judge_series(struct judging *j, uint32_t series, struct paired *out, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < j->c->run.n; i += 2) {
		const struct compare_one *one = &j->c->run.v[i];
		size_t a = one->side ? i + 1 : i, b = one->side ? i : i + 1;
		double d;

		if (series != COMPARE_SERIES && one->series != series)
			continue;
		d = difference(j, metric_figure_of(j, a), metric_figure_of(j, b));
		if (!isnan(d) && n < PAIRED_MOST)
			j->difference[n++] = d;
	}
	return paired_effect(out, j->difference, n, err);
}

/* Each program against itself: neighbours among its runs, taken in an order that is drawn. */
static int judge_control(struct judging *j, struct paired *out, struct err *err)
{
	uint64_t state = ~j->c->seed;
	size_t n = 0;

	for (uint8_t side = 0; side < COMPARE_SIDES; side++) {
		size_t before = SIZE_MAX;

		for (size_t i = 0; i < j->c->run.n; i++) {
			const struct compare_one *one = &j->c->run.v[i];
			double d;

			if (one->side != side)
				continue;
			if (before == SIZE_MAX || j->c->run.v[before].series != one->series) {
				before = i;
				continue;
			}
			d = difference(j, metric_figure_of(j, before), metric_figure_of(j, i));
			before = SIZE_MAX;
			if (random_next(&state) & 1)
				d = -d;
			if (!isnan(d) && n < PAIRED_MOST)
				j->difference[n++] = d;
		}
	}
	return paired_effect(out, j->difference, n, err);
}

static bool found_at(const struct paired *p, double chance)
{
	return p->n >= PAIRED_LEAST && p->chance < chance; /* false: no pairs */
}

static enum compare_verdict metric_verdict_of(const struct compare *c,
					      const struct compare_metric *m)
{
	const struct compare_effect *e = &m->effect;
	bool last = c->n_series == COMPARE_SERIES || c->interrupted;
	bool alike = isnan(e->series[1]) || (e->series[0] > 0) == (e->series[1] > 0);

	if (!e->pairs)
		return COMPARE_UNKNOWN;
	if (isnan(e->low))
		return COMPARE_FEW;
	if (last && e->sure && alike)
		return e->control_differs && fabs(e->control) > fabs(e->change) / 10
			       ? COMPARE_DOUBTFUL
		       : e->change > 0 ? COMPARE_MORE
				       : COMPARE_LESS;
	return e->found[0] || e->chance < 0.05 ? COMPARE_UNCONFIRMED : COMPARE_NOISE;
}

static void fill_effect(const struct judging *j, struct compare_effect *e, const struct paired *one,
			const struct paired *all, const struct paired *control)
{
	e->pairs = all->n;
	e->change = as_change(j, all->effect);
	e->low = as_change(j, all->low);
	e->high = as_change(j, all->high);
	for (uint32_t s = 0; s < COMPARE_SERIES; s++) {
		e->series[s] = s < j->c->n_series ? as_change(j, one[s].effect) : NAN;
		e->found[s] = s < j->c->n_series && found_at(&one[s], 0.05);
	}
	e->chance = all->chance;
	e->chance_first = one[0].n ? one[0].chance : NAN;
	e->chance_needed = NAN;
	e->control_differs = found_at(control, 0.01);
	e->control_pairs = control->n;
	e->control = as_change(j, control->effect);
	e->control_low = as_change(j, control->low);
	e->control_high = as_change(j, control->high);
}

/* The difference that a family's figures would show in 9 of 10 cases; NAN: none has figures. */
static double needs_of(const struct compare *c, int family)
{
	for (size_t i = 0; i < c->n_metrics; i++) {
		double n = (double)compare_family(c, &c->metric[i]);

		if (metric_family_of(&c->metric[i]) == family && n > 0)
			return paired_needs(COMPARE_GO / n, COMPARE_LEVEL / n);
	}
	return NAN;
}

static void fill_power(const struct compare *c, struct compare_effect *e, double needs)
{
	double least = paired_found(&e->all, needs) * sqrt((double)e->pairs / (double)c->pairs);

	e->least = e->relative ? expm1(least) : least;
	e->wanted = paired_wanted(&e->all, e->relative ? log1p(c->aim) : c->aim, needs);
}

/* If a figure may be 0 there are no factors: differences are then parts of the mean of A. */
static void find_scale(struct judging *j, double mean)
{
	j->relative = true;
	for (size_t i = 0; i < j->c->run.n; i++)
		j->relative &= !(metric_figure_of(j, i) <= 0);
	j->whole = mean > 0 ? mean : 1;
}

static int judge_metric(struct judging *j, struct compare_metric *m, struct err *err)
{
	struct paired one[COMPARE_SERIES] = { { 0 } }, all, control;
	struct compare_effect *e = &m->effect;
	double mean, mean_b;

	*e = (struct compare_effect){ .why = m->why };
	e->base = median(j, 0, &mean);
	e->fresh = median(j, 1, &mean_b);
	find_scale(j, mean);
	for (uint32_t s = 0; s < j->c->n_series && s < COMPARE_SERIES; s++)
		if (judge_series(j, s, &one[s], err))
			return -1;
	if (judge_series(j, COMPARE_SERIES, &all, err) || judge_control(j, &control, err))
		return -1;
	fill_effect(j, e, one, &all, &control);
	e->all = all;
	e->relative = j->relative;
	e->nothing = mean <= 0 && mean_b > 0;
	return 0;
}

static int by_chance(const void *a, const void *b)
{
	const struct compare_metric *const *p = a, *const *q = b;

	return ((*p)->effect.chance > (*q)->effect.chance) -
	       ((*p)->effect.chance < (*q)->effect.chance);
}

/* Holm, over the figures of a family. */
static int correct_family(struct compare *c, int family, struct err *err)
{
	struct compare_metric **of = calloc(c->n_metrics + 1, sizeof(struct compare_metric *));
	size_t n = 0;
	bool sure = true;
	double needed = 0;

	if (!of)
		return err_nomem(err);
	for (size_t i = 0; i < c->n_metrics; i++)
		if (metric_family_of(&c->metric[i]) == family && !isnan(c->metric[i].effect.chance))
			of[n++] = &c->metric[i];
	qsort(of, n, sizeof(struct compare_metric *), by_chance);
	for (size_t k = 0; k < n; k++) {
		struct compare_effect *e = &of[k]->effect;

		needed = sure ? COMPARE_LEVEL / (double)(n - k) : needed;
		sure = sure && e->chance < needed;
		e->sure = sure;
		e->chance_needed = needed;
	}
	free(of);
	return 0;
}

int compare_judge(struct compare *c, struct err *err)
{
	double *room = calloc(2 * c->run.n + 1, sizeof(*room)), needs[FAMILIES];
	int rc = 0;

	if (!room)
		return err_nomem(err);
	for (size_t i = 0; i < c->n_metrics && !rc; i++) {
		struct judging j = { c, i, room, room + c->run.n, true, 1 };

		rc = judge_metric(&j, &c->metric[i], err);
	}
	for (int f = 0; f < FAMILIES && !rc; f++) {
		rc = correct_family(c, f, err);
		needs[f] = needs_of(c, f);
	}
	for (size_t i = 0; i < c->n_metrics && !rc; i++) {
		struct compare_metric *m = &c->metric[i];
		struct compare_effect *e = &m->effect;

		fill_power(c, e, needs[metric_family_of(m)]);
		e->verdict = metric_verdict_of(c, m);
		if (e->nothing) { /* a part of nothing */
			e->change = e->low = e->high = NAN;
			e->why = "A has none of it";
		}
	}
	free(room);
	return rc;
}
