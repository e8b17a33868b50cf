/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error bars and verdicts. Each item is tested alone; Holm's step-down procedure over the items of
 * a family then keeps the chance of any false report below the family's share of
 * DIFF_LEVEL_PER_MILLE.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/diff/diff_int.h"

struct sample { /* the recordings of a side */
	double mean, spread,
		var; /* variance of one by their spread (NAN: there is one), by sampling */
	double samples, worth; /* all of them, and of each sample */
	size_t n;
};

static struct sample gather_side(const struct diff_amount *run, size_t n)
{
	struct sample s = { .spread = NAN, .n = n };
	double squares = 0;

	for (size_t i = 0; i < n; i++) {
		s.mean += run[i].v / (double)n;
		s.var += run[i].var / (double)n;
		s.samples += run[i].samples;
	}
	for (size_t i = 0; i < n; i++)
		squares += (run[i].v - s.mean) * (run[i].v - s.mean);
	if (n > 1)
		s.spread = squares / (double)(n - 1);
	if (s.samples > 0)
		s.worth = s.mean * (double)n / s.samples;
	return s;
}

/* Returns the variance of one recording: the spread's or that of sampling, whichever is more; of a
 * side with one recording the spread is as large in relation as the other side's. */
static double judged_variance(const struct sample *s, const struct sample *other)
{
	double spread = s->spread, var = s->var;

	if (isnan(spread) && !isnan(other->spread) && other->mean != 0)
		spread = other->spread * (s->mean / other->mean) * (s->mean / other->mean);
	if (s->mean == 0 && isnan(var))
		var = other->worth * other->worth;
	return isnan(spread) ? var : isnan(var) || spread > var ? spread : var;
}

struct estimate diff_mean(const struct diff_amount *run, size_t n)
{
	struct sample s = gather_side(run, n);
	double sampling = Z95 * sqrt(s.var / (double)n);
	double half = n > 1 ? fmax(sampling, t95(n - 1) * sqrt(s.spread / (double)n)) : sampling;

	return (struct estimate){ s.mean, half, isnan(half) ? "one recording" : NULL };
}

/* Welch and Satterthwaite's degrees of freedom. A side without repeats has those of the other. */
static double freedom(const struct sample *a, double va, const struct sample *b, double vb)
{
	double ta = va / (double)a->n, tb = vb / (double)b->n, sum = 0;

	if (a->n == 1 || b->n == 1)
		return (double)((a->n > b->n ? a->n : b->n) - 1);
	sum = ta * ta / (double)(a->n - 1) + tb * tb / (double)(b->n - 1);
	return sum > 0 ? (ta + tb) * (ta + tb) / sum : (double)(a->n + b->n - 2);
}

static const char *judged_why_not(const struct diff_item *it, const struct sample *a,
				  const struct sample *b)
{
	if (it->why)
		return it->why;
	return a->n == 1 && b->n == 1
		       ? "one recording a side has no error bar for it; record several"
		       : "its error is not known";
}

/* Returns the chance of a difference like this one; fills the error bars. NAN: not known. */
static double test_difference(struct diff_item *it, struct sample a, struct sample b)
{
	bool repeats = a.n > 1 || b.n > 1;
	double va, vb, se, df = INFINITY, quantile = Z95;

	/* a side without any sample: each would have been worth as much as the other's */
	if (a.samples == 0 && b.samples > 0)
		a.worth = b.worth, a.var = b.worth * b.worth;
	if (b.samples == 0 && a.samples > 0)
		b.worth = a.worth, b.var = a.worth * a.worth;
	va = judged_variance(&a, &b);
	vb = judged_variance(&b, &a);
	if (repeats) {
		df = freedom(&a, va, &b, vb);
		/* a saved result may have inconsistent squares */
		quantile = t95(!(df >= 1) ? 1 : df < 1e9 ? (size_t)df : 1000000000);
	}
	it->base.half = quantile * sqrt(va / (double)a.n);
	it->new.half = quantile *sqrt(vb / (double)b.n);
	se = sqrt(va / (double)a.n + vb / (double)b.n);
	if (a.mean > 0) {
		double ratio = b.mean / a.mean, ra = it->base.half / a.mean;
		double rb = b.mean > 0 ? it->new.half / b.mean : 0;

		it->change.v = ratio - 1;
		it->change.half = b.mean > 0   ? ratio * sqrt(ra * ra + rb * rb)
				  : it->counts ? fmax(it->new.half, it->base.half) / a.mean
					       : it->new.half / a.mean;
	}
	if (isnan(se))
		return NAN;
	if (!repeats && a.worth > 0 && b.worth > 0)
		return chance_counts(a.samples, b.samples, b.worth / (a.worth + b.worth));
	if (se == 0)
		return it->difference != 0 ? 0 : 1;
	return repeats ? chance_t(it->difference / se, df < 1 ? 1 : df)
		       : erfc(fabs(it->difference) / se / sqrt(2));
}

static bool all_same(const struct diff_item *it, size_t n_base, size_t n_new)
{
	if (n_base != n_new)
		return false;
	for (size_t i = 0; i < n_base; i++)
		if (it->run[i].v != it->run[n_base + i].v) /* the same figures, not near ones */
			return false;
	return true;
}

/* A node that a recording did not count is not 0 there. */
static void judge_lacking(struct diff_item *it, size_t n_base, size_t n_new)
{
	size_t base = 0, new = 0;

	for (size_t i = 0; i < n_base + n_new; i++)
		*(i < n_base ? &base : &new) += it->run[i].counted;
	if (base == n_base && new == n_new)
		return;
	it->why = "not counted in each of the recordings";
	it->change = ESTIMATE_NONE(it->why);
	if (base < n_base)
		it->base = it->change;
	if (new < n_new)
		it->new = it->change;
	it->difference = it->chance = NAN;
	it->verdict = DIFF_NOT_COMPARABLE;
}

/* Half a run has half of everything. */
static void judge_partial(struct diff_item *it)
{
	it->why = "incomplete"; /* the title has the full reason */
	it->base.why = it->new.why = it->change.why = it->why;
	it->chance = NAN;
	it->verdict = DIFF_NOT_COMPARABLE;
}

static void judge_item(struct diff *x, struct diff_item *it, bool node)
{
	size_t n_base = x->side[0].n, n_new = x->side[it->side].n;
	struct sample a = gather_side(it->run, n_base), b = gather_side(it->run + n_base, n_new);

	it->base = (struct estimate){ a.mean, NAN, NULL };
	it->new = (struct estimate){ b.mean, NAN, NULL };
	it->change = ESTIMATE_NONE("the base has none");
	it->difference = b.mean - a.mean;
	it->base_samples = a.samples;
	it->new_samples = b.samples;
	it->chance = test_difference(it, a, b);
	it->base.why = it->new.why = it->change.why =
		isnan(it->chance) ? judged_why_not(it, &a, &b) : NULL;
	if (isnan(it->change.v))
		it->change.why = "the base has none";
	if (all_same(it, n_base, n_new)) {
		it->verdict = DIFF_SAME;
		it->chance = NAN; /* not a comparison */
	} else if (isnan(it->chance)) {
		it->verdict = DIFF_NOT_COMPARABLE;
		it->why = judged_why_not(it, &a, &b);
	}
	if (node || it->counts)
		judge_lacking(it, n_base, n_new);
	if (diff_partial(x))
		judge_partial(it);
}

static int judged_by_chance(const void *a, const void *b)
{
	const struct diff_item *const *p = a, *const *q = b;

	return ((*p)->chance > (*q)->chance) - ((*p)->chance < (*q)->chance);
}

static enum diff_verdict judged_verdict_of(const struct diff_item *it)
{
	return it->base.v == 0 ? DIFF_NEW : it->new.v == 0 ? DIFF_GONE : DIFF_MOVED;
}

bool diff_reported(const struct diff_item *it)
{
	return it->verdict == DIFF_MOVED || it->verdict == DIFF_NEW || it->verdict == DIFF_GONE;
}

bool diff_outside(const struct diff_item *it)
{
	return fabs(it->change.v) > it->change.half; /* false: one is not known */
}

/* ---- many comparisons ------------------------------------------------------------------------ */

static int judged_family_of(const struct diff_item *it, int table)
{
	return it->named ? DIFF_NAMED : table == DIFF_TOTALS ? DIFF_OF_TOTALS : DIFF_OTHERS;
}

/* Holm: the k-th smallest chance of n must be below level / (n - k). */
static void correct_family(struct diff_family *f, struct diff_item **all)
{
	if (f->n)
		qsort(all, f->n, sizeof(struct diff_item *), judged_by_chance);
	for (f->changed = 0; f->changed < f->n; f->changed++) {
		f->needed = f->level / (double)(f->n - f->changed);
		if (!(all[f->changed]->chance < f->needed))
			break;
		all[f->changed]->verdict = judged_verdict_of(all[f->changed]);
	}
}

static void put_chance(char s[NUM_MAX], double chance)
{
	if (1 / chance < 1e6)
		(void)num_exact(s, (uint64_t)(1 / chance));
	else
		(void)num_count(s, chance > 0 ? 1 / chance : INFINITY);
}

/* Sets the reason why a row's verdict differs from its bar. */
static void explain_verdict(struct diff *x, struct diff_item *it, const struct diff_family *f)
{
	char chance[NUM_MAX], needed[NUM_MAX], n[NUM_MAX];

	if (isnan(it->change.v) || isnan(it->change.half))
		return;
	put_chance(chance, it->chance);
	put_chance(needed, f->needed);
	if (it->verdict == DIFF_NOISE && diff_outside(it))
		it->why = f->n == 1 ? arena_xprintf(&x->a, "chance 1 in %s; it takes 1 in %s",
						    chance, needed)
				    : arena_xprintf(&x->a,
						    "chance 1 in %s; %s figures together "
						    "take 1 in %s",
						    chance, num_exact(n, f->n), needed);
	else if (diff_reported(it) && !diff_outside(it))
		it->why = arena_xprintf(
			&x->a, "chance 1 in %s: the difference is surer than the ratio", chance);
}

static void correct_all(struct diff *x)
{
	static const char *const name[] = { "named by limits", "totals", "others" };
	static const double share[DIFF_FAMILIES] = { [DIFF_NAMED] = 0.5, [DIFF_OF_TOTALS] = 0.25 };
	const double level = DIFF_LEVEL_PER_MILLE / 1000.0;
	struct diff_item **of[DIFF_FAMILIES] = { NULL };
	double left = level;
	size_t all = 1;
	int last = 0;

	for (int t = 0; t < DIFF_TABLES; t++)
		all += x->table[t].n;
	for (int k = 0; k < DIFF_FAMILIES; k++) {
		x->family[k] = (struct diff_family){ .name = name[k] };
		of[k] = arena_xalloc(&x->a, all * sizeof(struct diff_item *));
	}
	for (int t = 0; t < DIFF_TABLES; t++)
		for (size_t i = 0; i < x->table[t].n; i++) {
			struct diff_item *it = &x->table[t].v[i];
			int k = judged_family_of(it, t);

			if (!isnan(it->chance))
				of[k][x->family[k].n++] = it;
		}
	for (int k = 0; k < DIFF_FAMILIES; k++)
		last = x->family[k].n ? k : last;
	for (int k = 0; k < DIFF_FAMILIES; k++) {
		struct diff_family *f = &x->family[k];

		f->level = k == last ? left : f->n ? share[k] * level : 0;
		correct_family(f, of[k]);
		if (f->changed <
		    f->n) /* else the next one may have it, too: all of these changed */
			left -= f->level;
		for (size_t i = 0; i < f->n; i++)
			explain_verdict(x, of[k][i], f);
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

int diff_by_keys(const struct diff_item *p, const struct diff_item *q, int n)
{
	int c = 0;

	for (int k = 0; !c && k < n; k++)
		c = strcmp(p->key[k] ? p->key[k] : "", q->key[k] ? q->key[k] : "");
	return c;
}

void diff_number_events(struct diff *x, enum diff_table t)
{
	const diff_items *totals = &x->table[DIFF_TOTALS];
	diff_items *rows = &x->table[t];
	size_t *number = xcalloc(x->event.n + 1, sizeof(*number)); /* by event; 0: none */
	size_t n = 1;
	uint32_t id;

	while (n < rows->n && !diff_by_keys(&rows->v[0], &rows->v[n], 1))
		n++;
	for (size_t i = totals->n; i-- > 0;) {
		id = strtab_find(&x->event, totals->v[i].key[0]);
		if (id != STR_NONE)
			number[id] = i + 1;
	}
	for (size_t i = 0; n < rows->n && i < rows->n; i++) {
		id = strtab_find(&x->event, rows->v[i].key[0]);
		rows->v[i].event = id != STR_NONE ? number[id] : totals->n + 1;
	}
	free(number);
}

static int judged_rank_of(const struct diff_item *it)
{
	return diff_reported(it) ? 0 : it->verdict != DIFF_SAME ? 1 : 2;
}

/* Side by side; of each those that are reported, then those that differ, event by event, the
 * largest difference first. */
static int judged_by_weight(const void *a, const void *b)
{
	const struct diff_item *p = a, *q = b;
	double pw = diff_reported(p) ? fabs(p->difference) : p->base.v + p->new.v;
	double qw = diff_reported(q) ? fabs(q->difference) : q->base.v + q->new.v;

	if (p->side != q->side)
		return (p->side > q->side) - (p->side < q->side);
	if (judged_rank_of(p) != judged_rank_of(q))
		return judged_rank_of(p) - judged_rank_of(q);
	if (p->event != q->event)
		return (p->event > q->event) - (p->event < q->event);
	if (pw != qw)
		return (pw < qw) - (pw > qw);
	return diff_by_keys(p, q, DIFF_KEYS);
}

static int reported_first(const void *a, const void *b)
{
	const struct diff_match *const *p = a, *const *q = b;

	if ((*p)->side != (*q)->side)
		return ((*p)->side > (*q)->side) - ((*p)->side < (*q)->side);
	if ((*p)->reported != (*q)->reported)
		return (*q)->reported - (*p)->reported;
	return strcmp((*p)->of[1][0], (*q)->of[1][0]);
}

static void order_matches(struct diff *x)
{
	const diff_items *rows = &x->table[DIFF_ROWS];

	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].match && diff_reported(&rows->v[i]))
			rows->v[i].match->reported = true;
	vec_sort(&x->match, reported_first);
}

void diff_judge(struct diff *x)
{
	for (int t = 0; t < DIFF_TABLES; t++)
		for (size_t i = 0; i < x->table[t].n; i++)
			judge_item(x, &x->table[t].v[i],
				   t == DIFF_TREE || t == DIFF_BLOCKS || t == DIFF_MEMORY);
	correct_all(x);
	diff_number_events(x, DIFF_ROWS);
	diff_number_events(x, DIFF_LINES);
	for (int t = DIFF_ROWS; t < DIFF_TABLES; t++)
		vec_sort(&x->table[t], judged_by_weight);
	order_matches(x);
}
