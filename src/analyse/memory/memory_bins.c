/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_bins - how many samples of a group took how many cycles.
 */
#include "analyse/memory/memory_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"

/* The bins of one spread at a time. */
struct memory_bins {
	const struct memory_spread *of;
	size_t n;
	uint64_t count[MEMORY_EXACT], used[MEMORY_EXACT / 64];
	uint32_t *large; /* bins beyond these */
	struct memory_bin *bin;
};

/* ---- spreads --------------------------------------------------------------------------------- */

static inline void add_sum(void *ctx, uint16_t value, uint64_t n)
{
	struct memory_sums *s = ctx;

	s->n += n;
	s->sum += n * value;
	s->squares += (double)n * value * value;
	s->most = s->most > value ? s->most : value;
}

/* Returns the sums of a latency that some sample had. */
static inline struct memory_sums *sums_of(const struct memory_work *w, size_t tally,
					  unsigned latency)
{
	return &w->sums[tally * w->latencies + w->latency_at[latency]];
}

static void number_latencies(struct memory_work *w)
{
	for (unsigned has = w->c.latencies; has; has &= has - 1)
		w->latency_at[__builtin_ctz(has)] = w->latencies++;
}

/* A column of a cell's rows: integers all, exact in 64 bits. */
static void sum_column(struct memory_sums *s, const uint16_t *at, size_t n, size_t step)
{
	uint64_t sum = 0, squares = 0;
	uint16_t most = 0;

	for (size_t i = 0; i < n; i++, at += step) {
		sum += *at;
		squares += (uint64_t)*at * *at;
		most = *at > most ? *at : most;
	}
	s->n += n;
	s->sum += sum;
	s->squares += (double)squares;
	s->most = s->most > most ? s->most : most;
}

/* Each cell is met once, as it is in no cache. */
static void sum_tally(const struct memory_work *w, size_t tally)
{
	const struct memory_tally *t = &w->c.v.v[tally];

	for (unsigned has = t->hist ? w->c.latencies : 0; has; has &= has - 1) {
		unsigned l = (unsigned)__builtin_ctz(has);

		hist_each(&t->hist[l], add_sum, sums_of(w, tally, l));
	}
	for (uint32_t i = t->cell; i != MEMORY_CELL_NONE; i = w->c.cells.v.v[i].next) {
		const struct memory_cell *x = &w->c.cells.v.v[i];
		const uint16_t *at = x->row;

		for (unsigned has = memory_cell_latencies(x); has && x->n; has &= has - 1)
			sum_column(sums_of(w, tally, (unsigned)__builtin_ctz(has)), at++, x->n,
				   x->numbers);
	}
}

#define SUM_STEP  4096u /* tallies of a worker at a time */
#define SUM_AHEAD 8u	/* tallies between the steps that ask for a tally's memory */
#define SUM_STEPS 4u

/* Asks for the rows of a tally's cell of this number, and for the next cell. */
static void sum_ahead(const struct memory_work *w, size_t tally, unsigned number)
{
	uint32_t i = w->c.v.v[tally].cell;

	for (unsigned k = 1; k < number && i != MEMORY_CELL_NONE; k++)
		i = w->c.cells.v.v[i].next;
	if (number && i != MEMORY_CELL_NONE) {
		__builtin_prefetch(w->c.cells.v.v[i].row);
		i = w->c.cells.v.v[i].next;
	}
	if (i != MEMORY_CELL_NONE)
		__builtin_prefetch(&w->c.cells.v.v[i]);
}

static int sum_some(void *ctx, unsigned worker, size_t step, struct err *err)
{
	const struct memory_work *w = ctx;
	size_t from = step * SUM_STEP, until = from + SUM_STEP;

	(void)worker;
	(void)err;
	until = until < w->c.v.n ? until : w->c.v.n;
	for (size_t i = from; i < until; i++) {
		for (unsigned k = 0; k < SUM_STEPS; k++)
			if (i + (SUM_STEPS - k) * SUM_AHEAD < until)
				sum_ahead(w, i + (SUM_STEPS - k) * SUM_AHEAD, k);
		sum_tally(w, i);
	}
	return 0;
}

int memory_sum(struct memory_work *w)
{
	struct err err = ERR_INIT;

	number_latencies(w);
	w->sums = calloc(w->c.v.n * w->latencies + 1, sizeof(*w->sums));
	if (!w->sums || task_for((w->c.v.n + SUM_STEP - 1) / SUM_STEP, 0, sum_some, w, &err))
		return -1;
	vec_each (&w->c.large, const struct memory_large *, x) {
		struct memory_sums *s = sums_of(w, x->tally, x->latency);

		s->n++;
		s->sum += x->cycles;
		s->most = s->most > x->cycles ? s->most : x->cycles;
		s->large = true;
	}
	return 0;
}

/* Adds the sums of all latencies, from the tallies of the group at `place`. */
static void add_sums(struct memory_sums *s, const struct memory_work *w, uint32_t place)
{
	const struct memory_sums *x =
		place < w->c.v.n ? &w->sums[(size_t)place * w->latencies] : NULL;

	for (unsigned i = 0; x && i < w->latencies; i++) {
		s[i].n += x[i].n;
		s[i].sum += x[i].sum;
		s[i].squares += x[i].squares;
		s[i].most = s[i].most > x[i].most ? s[i].most : x[i].most;
		s[i].large |= x[i].large;
	}
	for (uint32_t i = w->first.v[place]; i != MEMORY_NONE; i = w->part.v[i].next)
		add_sums(s, w, w->part.v[i].group);
}

/* ---- bins ------------------------------------------------------------------------------------ */

/* Below MEMORY_EXACT each value has a bin, above 1,024 share an octave. */
static uint32_t bin_of(uint32_t cycles)
{
	unsigned octave = 31 - (unsigned)__builtin_clz(cycles | 1);

	if (cycles < MEMORY_EXACT)
		return cycles;
	return MEMORY_EXACT + (octave - 16) * 1024 + (cycles >> (octave - 10) & 1023);
}

struct filling {
	struct memory_bins *bins;
	size_t n_large;
};

static void add_count(void *ctx, uint16_t value, uint64_t n)
{
	struct memory_bins *b = ctx;

	b->count[value] += n;
	b->used[value / 64] |= UINT64_C(1) << value % 64;
}

static void add_bins(struct filling *f, const struct memory_work *w, uint32_t tally,
		     unsigned latency)
{
	size_t low = 0, high = w->c.large.n;

	memory_tally_each(&w->c, tally, latency, add_count, f->bins);
	if (!sums_of(w, tally, latency)->large)
		return;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct memory_large *x = &w->c.large.v[mid];

		if (x->tally < tally || (x->tally == tally && x->latency < latency))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->c.large.n && w->c.large.v[low].tally == tally &&
	       w->c.large.v[low].latency == latency;
	     low++)
		f->bins->large[f->n_large++] = w->c.large.v[low].cycles;
}

/* Adds the bins of the tallies of the group at `place`. */
static void add_all_bins(struct filling *f, const struct memory_work *w, uint32_t place,
			 unsigned latency)
{
	if (place < w->c.v.n)
		add_bins(f, w, place, latency);
	for (uint32_t i = w->first.v[place]; i != MEMORY_NONE; i = w->part.v[i].next)
		add_all_bins(f, w, w->part.v[i].group, latency);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static size_t put_bins(struct memory_bins *b)
{
	size_t n = 0;

	for (size_t i = 0; i < MEMORY_EXACT / 64; i++) {
		for (; b->used[i]; b->used[i] &= b->used[i] - 1) {
			size_t value = i * 64 + (size_t)__builtin_ctzll(b->used[i]);

			b->bin[n++] = (struct memory_bin){ b->count[value], (double)value };
			b->count[value] = 0;
		}
	}
	return n;
}

static size_t put_large(struct memory_bins *b, size_t n, size_t n_large)
{
	qsort(b->large, n_large, sizeof(*b->large), by_value);
	for (size_t i = 0, k; i < n_large; i = k) {
		uint64_t sum = b->large[i];

		for (k = i + 1; k < n_large && bin_of(b->large[k]) == bin_of(b->large[i]); k++)
			sum += b->large[k];
		b->bin[n++] = (struct memory_bin){ k - i, (double)sum / (double)(k - i) };
	}
	return n;
}

const struct memory_bin *memory_bins(const struct memory *m, const struct memory_spread *s,
				     size_t *n)
{
	struct memory_work *w = m->work;
	struct filling f = { .bins = w->bins };

	if (w->bins->of != s) {
		add_all_bins(&f, w, m->group[s->group].place, s->latency);
		w->bins->n = put_bins(w->bins);
		if (f.n_large)
			w->bins->n = put_large(w->bins, w->bins->n, f.n_large);
		w->bins->of = s;
	}
	*n = w->bins->n;
	return w->bins->bin;
}

static int make_room(struct memory_work *w)
{
	size_t large = w->c.large.n;
	const size_t most = 16 * 1024; /* bins of large ones */

	w->bins = calloc(1, sizeof(*w->bins));
	if (!w->bins)
		return -1;
	w->bins->large = malloc((large + 1) * sizeof(*w->bins->large));
	w->bins->bin =
		malloc((MEMORY_EXACT + (large < most ? large : most)) * sizeof(*w->bins->bin));
	return w->bins->large && w->bins->bin ? 0 : -1;
}

/* CPUs that do not measure the retire latency leave 0. */
static bool has_retire(const struct memory_work *w)
{
	bool any = w->c.latencies >> MEMOP_LATENCY_RETIRE & 1;

	for (size_t i = 0; any && i < w->c.v.n; i++)
		if (sums_of(w, i, MEMOP_LATENCY_RETIRE)->most)
			return true;
	return false;
}

#define SUMS_AHEAD 8u /* groups */

/* Groups are in another order than tallies: asks for the sums of one. */
static void sums_ahead(const struct memory_work *w, uint32_t place)
{
	for (unsigned i = 0; place < w->c.v.n && i < w->latencies; i++)
		__builtin_prefetch(&w->sums[(size_t)place * w->latencies + i]);
}

int memory_make_spreads(struct memory *m, struct memory_work *w)
{
	bool retire = has_retire(w);

	/* room for all that can be: empty room takes no memory, and moving would */
	if (make_room(w) || vec_reserve(&w->spread, w->group.n * w->latencies))
		return -1;
	for (size_t i = 0; i < w->group.n; i++) {
		struct memory_group *g = &m->group[i];
		struct memory_sums sums[MEMOP_LATENCIES];

		g->first_spread = w->spread.n;
		g->n_spreads = 0;
		if (g->by == MEMORY_ACCESS) /* by far the most, and never shown */
			continue;
		memset(sums, 0, w->latencies * sizeof(*sums));
		if (i + SUMS_AHEAD < w->group.n)
			sums_ahead(w, m->group[i + SUMS_AHEAD].place);
		add_sums(sums, w, g->place);
		for (unsigned has = w->c.latencies; has; has &= has - 1) {
			unsigned l = (unsigned)__builtin_ctz(has);
			const struct memory_sums *x = &sums[w->latency_at[l]];

			if (x->n && (l != MEMOP_LATENCY_RETIRE || retire) &&
			    vec_push(&w->spread,
				     ((struct memory_spread){ (uint32_t)i, (enum memop_latency)l,
							      x->n, x->most, (double)x->sum,
							      x->large ? NAN : x->squares })))
				return -1;
		}
		g->n_spreads = w->spread.n - g->first_spread;
	}
	m->spread = w->spread.v;
	vec_each (&w->spread, struct memory_spread *, s) {
		size_t n;
		const struct memory_bin *b;

		if (!isnan(s->squares))
			continue;
		s->squares = 0;
		b = memory_bins(m, s, &n);
		for (size_t k = 0; k < n; k++)
			s->squares += (double)b[k].n * b[k].cycles * b[k].cycles;
	}
	return 0;
}

const struct memory_spread *memory_spread(const struct memory *m, const struct memory_group *g,
					  enum memop_latency l)
{
	for (size_t i = 0; i < g->n_spreads; i++)
		if (m->spread[g->first_spread + i].latency == l)
			return &m->spread[g->first_spread + i];
	return NULL;
}

void memory_bins_free(struct memory_bins *b)
{
	if (!b)
		return;
	free(b->large);
	free(b->bin);
	free(b);
}
