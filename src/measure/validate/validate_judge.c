/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict on an event from its cells, and the explanation of a fault: a factor, a quantity that
 * is counted as well or left out, another unit, the other thread of the core.
 */
#include <math.h>
#include <string.h>

#include "measure/validate/validate_int.h"

#define EXACT 1e-3 /* relative: as good as exact */
#define FIT   0.02 /* relative: an explanation holds */

#define V(id, key) key,
const char *const validate_verdict_key[] = { VALIDATE_VERDICTS };
#undef V
#define C(id, key) key,
const char *const validate_cause_key[] = { VALIDATE_CAUSES };
#undef C

bool validate_passed(enum validate_verdict v)
{
	return v == VALIDATE_EXACT || v == VALIDATE_WITHIN;
}

bool validate_failed(enum validate_verdict v)
{
	return v != VALIDATE_UNTESTED && !validate_passed(v);
}

struct judging {
	const struct validate *v;
	struct validated *row;
	const struct validate_cell *cell; /* of the event: they stand together */
	size_t n;
};

static bool is_count_known(const struct validate_cell *c)
{
	return !isnan(c->got.v);
}

/* A cell with an exact count of its own, and nothing on the other thread. */
static bool plain(const struct validate_cell *c)
{
	return is_count_known(c) && !isnan(c->expected) && !c->busy;
}

static double relative(const struct validate_cell *c)
{
	return c->expected > 0 ? c->got.v / c->expected - 1 : 0;
}

/* How much more of a quantity the kernel has than the empty one. */
static double more_of(const struct validate_cell *c, unsigned q)
{
	const struct kernel *k = c->kernel, *empty = kernel_find("loop");

	if (q >= Q_LINES_READ && q <= Q_PAGES && c->stay)
		return 0;
	return kernel_count(k, (enum kernel_quantity)q, k->usual.units) -
	       (k == empty ? 0 : empty->each[q]);
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Nothing in any kernel that should count. */
static bool is_dead(const struct judging *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct validate_cell *c = &j->cell[i];
		double nothing = isnan(c->expected) ? 0.01 * c->least : 0.01 * c->expected;

		if (is_count_known(c) && c->expected <= 0 && c->wrong)
			return false; /* it counts elsewhere */
		if (!is_count_known(c) || (!isnan(c->expected) && c->expected <= 0))
			continue;
		if (!c->wrong || c->got.v > nothing)
			return false;
		n++;
	}
	return n > 0;
}

/* How far a cell is from an explanation, in parts of the tolerance. */
static double miss(const struct validate_cell *c, double want)
{
	double kept = c->expected > 0 ? 1 - c->least / c->expected : 0; /* by the cache */

	return fabs(c->got.v - want) / (fmax(c->floor, fmax(FIT, kept) * fabs(want)) + c->got.half);
}

static bool fits_expectation(const struct validate_cell *c, double want)
{
	return miss(c, want) <= 1;
}

/* The same multiple of the expected count everywhere. */
static bool is_factor(const struct judging *j, double *factor)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i]) && j->cell[i].expected > 0) {
			sum += log(fmax(j->cell[i].got.v / j->cell[i].expected, 1e-9));
			n++;
		}
	*factor = n ? exp(sum / (double)n) : 1;
	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i]) &&
		    !fits_expectation(&j->cell[i], *factor * j->cell[i].expected))
			return false;
	return n > 0 && fabs(*factor - 1) > j->row->rule->within;
}

/* Fits a multiple of one quantity, regardless of the event's rule. Returns the largest miss. */
static double is_unit(const struct judging *j, unsigned q, double *weight)
{
	double up = 0, down = 0, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i])) {
			double x = more_of(&j->cell[i], q), w = 1 / fmax(1e-9, x * x + 0.01);

			up += w * x * j->cell[i].got.v;
			down += w * x * x;
			n += x > 0;
		}
	*weight = down > 0 ? up / down : 0;
	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i]))
			most = fmax(most, miss(&j->cell[i], *weight * more_of(&j->cell[i], q)));
	return n > 1 && *weight > 1e-3 ? most : INFINITY;
}

/* The expected count, and a multiple of another quantity; less than 0: without it. */
static double is_more(const struct judging *j, unsigned q, double *weight)
{
	double up = 0, down = 0, most = 0;

	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i])) {
			const struct validate_cell *c = &j->cell[i];
			double x = more_of(c, q), w = 1 / (c->expected * c->expected + 0.01);

			up += w * x * (c->got.v - c->expected);
			down += w * x * x;
		}
	*weight = down > 0 ? up / down : 0;
	for (size_t i = 0; i < j->n; i++)
		if (plain(&j->cell[i]))
			most = fmax(most,
				    miss(&j->cell[i],
					 j->cell[i].expected + *weight * more_of(&j->cell[i], q)));
	return fabs(*weight) > 1e-3 ? most : INFINITY;
}

/* The other thread's counts, too: without them most of the excess is gone. */
static bool is_core(const struct validate_cell *c)
{
	double excess = c->got.v - c->expected;

	/* if it has no exact count, a quarter of the other thread's is enough */
	return excess > 0 &&
	       ((c->slack > 0 && excess > c->slack) || fabs(c->alone - c->expected) < 0.3 * excess);
}

static void explain_by(struct judging *j, enum validate_cause cause, unsigned q, double weight)
{
	j->row->cause = cause;
	j->row->weight = weight;
	j->row->with = q < QUANTITIES ? kernel_quantity_key[q] : NULL;
}

/* The quantity that misses least. */
static bool best(const struct judging *j,
		 double (*misses)(const struct judging *, unsigned, double *), unsigned *q,
		 double *weight)
{
	double least = INFINITY, w;

	for (unsigned i = 0; i < QUANTITIES; i++) {
		double x = misses(j, i, &w);

		if (x < least) {
			least = x;
			*q = i;
			*weight = w;
		}
	}
	return least <= 1;
}

static bool explain_quantity(struct judging *j)
{
	unsigned q = 0;
	double w = 0;

	if (best(j, is_more, &q, &w))
		explain_by(j, q == Q_MISPREDICTS && w > 0 ? CAUSE_SPECULATION : CAUSE_QUANTITY, q,
			   w);
	else if (best(j, is_unit, &q, &w))
		explain_by(j, CAUSE_UNIT, q, w);
	else
		return false;
	return true;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static const struct validate_cell *worst(const struct judging *j, bool busy, bool zero)
{
	const struct validate_cell *found = NULL;
	double most = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct validate_cell *c = &j->cell[i];
		double x;

		if (!c->wrong || busy != (c->busy != NULL) || zero != (c->expected <= 0))
			continue;
		x = zero ? c->got.v : isnan(c->expected) ? INFINITY : fabs(relative(c));
		if (x > most || !found) {
			most = x;
			found = c;
		}
	}
	return found;
}

static void accuse(struct judging *j, enum validate_verdict v, const struct validate_cell *c)
{
	j->row->verdict = v;
	j->row->kernel = c->kernel->name;
	j->row->deviation = c->expected > 0 ? relative(c) : NAN;
	j->row->deviation_half = c->expected > 0 ? c->got.half / c->expected : NAN;
}

static void busy_fault(struct judging *j)
{
	const struct validate_cell *c = worst(j, true, false), *zero = worst(j, true, true);
	const struct validate_cell *at = zero ? zero : c;

	accuse(j, at->got.v > at->expected ? VALIDATE_OVER : VALIDATE_UNDER, c ? c : zero);
	if (is_core(at) && (!c || is_core(c)))
		explain_by(j, CAUSE_CORE, QUANTITIES, at->busy_rate);
	else
		explain_by(j, CAUSE_SMT, QUANTITIES, c ? c->got.v / c->expected : NAN);
}

static void fault(struct judging *j)
{
	const struct validate_cell *c = worst(j, false, false), *zero = worst(j, false, true);
	double factor;

	if (is_dead(j)) {
		accuse(j, VALIDATE_DEAD, c);
		j->row->deviation = NAN;
	} else if (!c && !zero) {
		busy_fault(j);
	} else if (!c) {
		accuse(j, VALIDATE_LEAKS, zero);
		(void)explain_quantity(j);
	} else {
		accuse(j, c->got.v > c->expected ? VALIDATE_OVER : VALIDATE_UNDER, c);
		if (isnan(c->expected))
			j->row->verdict = c->got.v > c->most ? VALIDATE_OVER : VALIDATE_UNDER;
		else if (is_factor(j, &factor))
			explain_by(j, CAUSE_FACTOR, QUANTITIES, factor);
		else
			(void)explain_quantity(j);
	}
}

/* A cell beside a busy thread that neither holds nor is confirmed to be wrong. */
static const char *undecided(const struct judging *j, const struct validate_cell *c)
{
	if (!c->busy)
		return NULL;
	if (!is_count_known(c))
		return c->got.why;
	return validate_beyond(c, j->row->rule, c->got.v, 1) ? "repeats differ too much" : NULL;
}

/* All cells hold: how well. `why`: why some were not measured. */
static void pass(struct judging *j, const char *why)
{
	double most = 0, half = NAN;
	bool only_zero = true;

	for (size_t i = 0; i < j->n; i++) {
		const struct validate_cell *c = &j->cell[i];

		if (!j->row->not_beside)
			j->row->not_beside = undecided(j, c);
		if (!is_count_known(c) || (!isnan(c->expected) && c->expected <= 0))
			continue;
		only_zero = false;
		if (c->slack > 0)
			continue; /* two threads share the core: no measure of the event */
		if (isnan(c->expected) || validate_rule_bounds(j->row->rule))
			j->row->kernel = c->kernel->name; /* it counts, but how well is not known */
		else if (c->got.half < c->expected * j->row->rule->within &&
			 fabs(relative(c)) + c->got.half / c->expected >= most) {
			half = c->got.half / c->expected;
			most = fabs(relative(c)) + half;
		}
	}
	if (only_zero) {
		j->row->why = why ? why : "none of the kernels that ran provokes it";
		return;
	}
	if (validate_rule_bounds(j->row->rule)) {
		j->row->verdict = VALIDATE_WITHIN;
		return;
	}
	j->row->verdict = most <= EXACT ? VALIDATE_EXACT : VALIDATE_WITHIN;
	j->row->deviation = most;
	j->row->deviation_half = half;
}

/* The smallest factor that some kernel would have shown. */
static double tolerance_of(const struct judging *j)
{
	double least = INFINITY;

	for (size_t i = 0; i < j->n; i++) {
		const struct validate_cell *c = &j->cell[i];

		if (plain(c) && c->expected > 0)
			least = fmin(least, fmax(c->expected - c->least, c->most - c->expected) /
							    c->expected +
						    2 * c->got.half / c->expected);
	}
	return isfinite(least) ? least : NAN;
}

static void judge_event(struct judging *j)
{
	size_t measured = 0, wrong = 0;
	const char *why = NULL;

	for (size_t i = 0; i < j->n; i++) {
		measured += is_count_known(&j->cell[i]);
		wrong += j->cell[i].wrong;
		if (!is_count_known(&j->cell[i]))
			why = j->cell[i].got.why;
	}
	if (j->row->why)
		return;
	if (!measured) {
		j->row->why = why ? why : "none of the kernels that ran provokes it";
		return;
	}
	if (!validate_rule_bounds(j->row->rule))
		j->row->limit = tolerance_of(j);
	if (wrong)
		fault(j);
	else
		pass(j, why);
}

void validate_judge(struct validating *g)
{
	size_t at = 0;

	for (size_t i = 0; i < g->v->n_rows; i++) {
		struct judging j = { .v = g->v, .row = &g->v->row[i], .cell = &g->v->cell[at] };

		while (at + j.n < g->v->n_cells && g->v->cell[at + j.n].event == i)
			j.n++;
		at += j.n;
		judge_event(&j);
	}
}
