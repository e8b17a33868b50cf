/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/num.h"

/* splitmix64: any seed is good. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

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
	c->metric[COMPARE_TIME].decides = true;
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
	size_t n = c->pairs / 2 + (c->pairs % 2 && draw(&state) & 1);

	if (!first) {
		(void)err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < c->pairs; i++)
		first[i] = i < n;
	for (size_t i = c->pairs; i > 1; i--) {
		size_t k = draw(&state) % i;
		bool other = first[k];

		first[k] = first[i - 1];
		first[i - 1] = other;
	}
	return first;
}

int compare_series(struct compare *c, const struct compare_runner *r, struct err *err)
{
	const bool *b_first = draw_order(c, err);
	size_t of = (size_t)c->pairs * 2;

	if (!b_first)
		return -1;
	for (size_t i = 0; i < of; i++) {
		bool second = i % 2;
		struct compare_one one = { .series = c->n_series,
					   .pair = (uint32_t)(i / 2),
					   .side = second != b_first[i / 2],
					   .second = second };

		if (r->run(r->ctx, c, &one, err))
			return -1;
		if (vec_push(&c->run, one))
			return err_nomem(err);
		c->failed += one.status != 0;
		if (c->news)
			c->news(c->news_ctx, (double)(i + 1) / (double)of);
	}
	c->n_series++;
	return 0;
}

bool compare_wants_more(const struct compare *c)
{
	for (size_t i = 0; c->n_series < COMPARE_SERIES && i < c->n_metrics; i++)
		if (c->metric[i].decides && c->metric[i].effect.found[0])
			return true;
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

static double figure_of(const struct judging *j, size_t run)
{
	return j->c->run.v[run].value[j->metric];
}

/* Of a side, over all series. */
static double median(struct judging *j, uint8_t side, double *mean)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->c->run.n; i++)
		if (j->c->run.v[i].side == side && !isnan(figure_of(j, i))) {
			j->figure[n++] = figure_of(j, i);
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
		d = difference(j, figure_of(j, a), figure_of(j, b));
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
			d = difference(j, figure_of(j, before), figure_of(j, i));
			before = SIZE_MAX;
			if (draw(&state) & 1)
				d = -d;
			if (!isnan(d) && n < PAIRED_MOST)
				j->difference[n++] = d;
		}
	}
	return paired_effect(out, j->difference, n, err);
}

static bool first_differs(const struct compare_metric *m, const struct paired *one)
{
	return m->many ? one->differs_99 : one->differs;
}

static bool confirmed(const struct compare_metric *m, const struct paired *one, uint32_t n_series)
{
	return n_series == COMPARE_SERIES && first_differs(m, &one[0]) && one[1].differs &&
	       (one[0].effect > 0) == (one[1].effect > 0);
}

static enum compare_verdict verdict_of(const struct compare *c, const struct compare_metric *m,
				       const struct paired *one, const struct paired *all,
				       const struct paired *control)
{
	if (!all->n)
		return COMPARE_UNKNOWN;
	if (one[0].n < PAIRED_LEAST)
		return COMPARE_FEW;
	if (!first_differs(m, &one[0]) && !all->differs)
		return COMPARE_NOISE;
	if (!confirmed(m, one, c->n_series))
		return COMPARE_UNCONFIRMED;
	if (control->differs_99)
		return COMPARE_DOUBTFUL;
	return one[0].effect > 0 ? COMPARE_MORE : COMPARE_LESS;
}

static void fill_effect(const struct judging *j, struct compare_effect *e, const struct paired *one,
			const struct paired *all, const struct paired *control)
{
	struct paired plan = *all;

	e->pairs = all->n;
	e->change = as_change(j, all->effect);
	e->low = as_change(j, all->low);
	e->high = as_change(j, all->high);
	for (uint32_t s = 0; s < COMPARE_SERIES; s++) {
		e->series[s] = s < j->c->n_series ? as_change(j, one[s].effect) : NAN;
		e->found[s] = s < j->c->n_series && one[s].differs;
	}
	e->control_pairs = control->n;
	e->control = as_change(j, control->effect);
	e->control_low = as_change(j, control->low);
	e->control_high = as_change(j, control->high);
	e->least = as_change(j, paired_found(&plan) *
					sqrt((double)all->n / (double)(one[0].n ? one[0].n : 1)));
	e->wanted = paired_wanted(&plan, j->relative ? log1p(j->c->aim) : j->c->aim);
}

/* Where a figure may be 0 there are no factors: differences are then parts of the mean of A. */
static void find_scale(struct judging *j, double mean)
{
	j->relative = true;
	for (size_t i = 0; i < j->c->run.n; i++)
		j->relative &= !(figure_of(j, i) <= 0);
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
	e->found[0] = j->c->n_series && first_differs(m, &one[0]);
	e->verdict = verdict_of(j->c, m, one, &all, &control);
	if (mean <= 0 && mean_b > 0) { /* a part of nothing */
		e->change = e->low = e->high = NAN;
		e->why = "A has none of it";
	}
	return 0;
}

int compare_judge(struct compare *c, struct err *err)
{
	double *room = calloc(2 * c->run.n + 1, sizeof(*room));
	int rc = 0;

	if (!room)
		return err_nomem(err);
	for (size_t i = 0; i < c->n_metrics && !rc; i++) {
		struct judging j = { c, i, room, room + c->run.n, true, 1 };

		rc = judge_metric(&j, &c->metric[i], err);
	}
	free(room);
	return rc;
}
