/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of latencies with bins of equal width. Above the 99th percentile there is one bin, to
 * the longest: a few samples that took very long would make all others one bin.
 */
#include <math.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/memory/memory_int.h"

#define BAR	  24 /* characters of the longest bar */
#define BINS	  20 /* up to p99, at most, if no width was asked for */
#define BINS_MAX  1000
#define WIDTH_MAX (UINT64_C(1) << 32)

static uint64_t linear_samples_of(const struct memory_bin *b, size_t n, uint64_t low, uint64_t high)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (b[i].cycles >= (double)low && b[i].cycles < (double)high)
			sum += b[i].n;
	return sum;
}

/* Returns the least value that 99 % of the samples do not exceed. */
static uint64_t p99_of(const struct memory_bin *b, size_t n, uint64_t samples)
{
	uint64_t rest = samples / 100;

	while (n > 1 && b[n - 1].n <= rest) {
		rest -= b[n - 1].n;
		n--;
	}
	return n ? (uint64_t)b[n - 1].cycles : 0;
}

/* 1, 2, 5, 10, 20, ... */
static uint64_t width_for(uint64_t range)
{
	static const uint64_t steps[] = { 1, 2, 5 };

	for (uint64_t tens = 1; tens < WIDTH_MAX; tens *= 10)
		for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
			if (range / (tens * steps[i]) < BINS)
				return tens * steps[i];
	return WIDTH_MAX;
}

size_t memory_linear_bins(const struct memory_view *v, const struct memory_spread *s,
			  struct memory_linear_bin out[MEMORY_LINEAR_BINS])
{
	size_t n, k = 0;
	const struct memory_bin *b = memory_bins(v->m, s, &n);
	uint64_t p99 = p99_of(b, n, s->n), width = v->linear, low;

	if (!n)
		return 0;
	low = (uint64_t)b[0].cycles;
	if (!width)
		width = width_for(p99 - low);
	for (low -= low % width; low <= p99 && k < BINS_MAX; low += width, k++)
		out[k] = (struct memory_linear_bin){ s, low, low + width,
						     linear_samples_of(b, n, low, low + width) };
	if (low <= s->most)
		out[k++] = (struct memory_linear_bin){ s, low, s->most + 1,
						       linear_samples_of(b, n, low, UINT64_MAX) };
	return k;
}

/* ---- as tables ------------------------------------------------------------------------------- */

TABLE_ROW_AS(linear_bin_of, struct memory_linear_bin)

static const struct memory_group *bin_group(const struct table *t, const struct table_row *r)
{
	return &((const struct memory_view *)t->ctx)->m->group[linear_bin_of(r)->s->group];
}

TABLE_CELL(linear_share,
	   cell_estimate(out, memory_part(linear_bin_of(r)->n, linear_bin_of(r)->s->n)))
TABLE_CELL(linear_source, memory_cell_source(bin_group(t, r), out))
TABLE_CELL(linear_heading,
	   cell_printf(out, "%s latency, %s", memop_latency_head(linear_bin_of(r)->s->latency),
		       memop_latency_means(linear_bin_of(r)->s->latency)))
TABLE_CELL(linear_kind, {
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, bin_group(t, r));
	memory_cell_text(out, memop_set_text(text, MEMOP_KIND, op.set[MEMOP_KIND]));
})

TABLE_GET(linear_bar)
{
	const struct memory_linear_bin *b = t->array, *own = linear_bin_of(r);
	uint64_t most = 1;
	char hashes[BAR + 1];

	for (size_t i = 0; i < t->n; i++)
		if (b[i].s == own->s && b[i].n > most)
			most = b[i].n;
	memset(hashes, '#', BAR);
	hashes[(own->n * BAR + most - 1) / most] = 0;
	cell_printf(out, "%s", hashes);
}

#define OF(...) TABLE_FIELD(struct memory_linear_bin, __VA_ARGS__)
/* clang-format off */
#define COLUMNS \
	COLUMN("low", "cycles", T_COUNT, C_KEY, "the least of the bin", OF(low)), \
	COLUMN("high", "to below", T_COUNT, C_DROP, "the first of the next bin", OF(high)), \
	COLUMN("samples", "samples", T_COUNT, 0, "in the bin", OF(n)), \
	COLUMN("share", "share", T_SHARE, C_ERROR, "of the samples with this latency", \
	       .get = linear_share)
/* clang-format on */
static const struct table_column columns[] = {
	COLUMN("latency", "latency", T_TEXT, C_KEY | C_DATA, "which", OF(s, latency),
	       .name_of = memop_latency_key),
	COLUMN("heading", "", T_TEXT, C_PEOPLE | C_GROUP, "", .get = linear_heading),
	COLUMNS,
	COLUMN("bar", "", T_TEXT, C_PEOPLE, "", .get = linear_bar, .least = BAR),
};
static const struct table_column source_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, ...", .get = linear_kind),
	COLUMN("source", "source", T_TEXT, C_KEY, "of the data", .get = linear_source),
	COLUMN("latency", "latency", T_TEXT, C_KEY, "which", OF(s, latency),
	       .name_of = memop_latency_key),
	COLUMNS,
};
#undef OF

const struct table_form memory_linear_form = { "linear", NULL, 0, TABLE_COLUMNS(columns) };
const struct table_form memory_source_linear_form = { "source_linear", NULL, TABLE_DATA,
						      TABLE_COLUMNS(source_columns) };

/* Adds the bins of the groups of `by`. */
static bool add_linear_bins(struct document *d, const struct memory_view *v,
			    const struct table_form *form, enum memory_by by)
{
	const struct memory *m = v->m;
	struct memory_linear_bin *bin = arena_xalloc(&d->a, MEMORY_LINEAR_BINS * sizeof(*bin)),
				 *all;
	struct table t = { .form = form, .ctx = v, .stride = sizeof(*bin) };
	size_t spreads = 0, cap = 0;

	t.data_only = !v->is_linear;
	for (size_t i = m->first[by]; i < m->first[by + 1]; i++)
		spreads += m->group[i].n_spreads;
	cap = v->linear ? MEMORY_LINEAR_BINS : BINS + 3;
	all = arena_xalloc(&d->a, (spreads * cap + 1) * sizeof(*all));
	for (size_t i = m->first[by]; i < m->first[by + 1]; i++)
		for (size_t k = 0; k < m->group[i].n_spreads; k++) {
			size_t n = memory_linear_bins(v, &m->spread[m->group[i].first_spread + k],
						      bin);

			memcpy(&all[t.n], bin, n * sizeof(*bin));
			t.n += n;
		}
	t.array = all;
	document_table(d, &t);
	return true;
}

void memory_put_linear(struct document *d, const struct memory_view *v)
{
	if (!add_linear_bins(d, v, &memory_linear_form, MEMORY_ALL) ||
	    !add_linear_bins(d, v, &memory_source_linear_form, MEMORY_SOURCE))
		d->failed = true;
}
