/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All latencies of memory operations, by source, function and instruction, and their histograms.
 */
#include <math.h>
#include <string.h>

#include "report/memory/memory_int.h"

#define BAR 24 /* characters of a histogram's longest bar */

TABLE_CTX_AS(latency_view_of, struct memory_view)
TABLE_ROW_AS(row_spread, struct memory_spread)

static const struct memory_group *spreads_group(const struct table *t, const struct table_row *r)
{
	return &latency_view_of(t)->m->group[row_spread(r)->group];
}

TABLE_CELL(of_spread, memory_cell_figure(latency_view_of(t)->m, r->p, c->which, out))
TABLE_CELL(spread_kind, {
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, spreads_group(t, r));
	memory_cell_text(out, memop_set_text(text, MEMOP_KIND, op.set[MEMOP_KIND]));
})
TABLE_CELL(spread_source, memory_cell_source(spreads_group(t, r), out))
TABLE_CELL(spread_function, memory_cell_function(spreads_group(t, r), out))
TABLE_CELL(spread_dso, memory_cell_dso(t, spreads_group(t, r), out))
TABLE_CELL(spread_address, memory_cell_address(t, spreads_group(t, r), out))

#define OF_SPREAD(...) TABLE_FIELD(struct memory_spread, __VA_ARGS__)
#define LATENCY                                                                  \
	COLUMN("latency", "latency", T_TEXT, C_KEY, "which", OF_SPREAD(latency), \
	       .name_of = memop_latency_key)
static const struct table_column latency_columns[] = {
	LATENCY,
	MEMORY_SPREAD(of_spread),
	COLUMN("means", "", T_TEXT, C_FLEX | C_CUT, "what it is", OF_SPREAD(latency),
	       .name_of = memop_latency_means),
};
static const struct table_column source_latency_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, ...", .get = spread_kind),
	COLUMN("source", "source", T_TEXT, C_KEY, "of the data", .get = spread_source),
	LATENCY,
	MEMORY_SPREAD(of_spread),
};
/* of functions and of instructions */
static const struct table_column code_latency_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY, "its name", .get = spread_function),
	COLUMN("dso", "of", T_TEXT, C_KEY, "its file", .get = spread_dso),
	COLUMN("address", "address", T_ADDRESS, C_KEY,
	       "of the function's start, or the instruction", .get = spread_address),
	LATENCY,
	MEMORY_SPREAD(of_spread),
};

/* ---- histograms: at[0] a spread, at[1] its bin, 1 + log2 ------------------------------------- */

static double low_of(const struct table_row *r)
{
	return r->at[1] ? ldexp(1, (int)r->at[1] - 1) : 0;
}

static double high_of(const struct table_row *r)
{
	return ldexp(1, (int)r->at[1]);
}

static uint64_t latency_count_of(const struct table *t, const struct table_row *r)
{
	return memory_count_in(latency_view_of(t)->m, row_spread(r), (int)r->at[1] - 1);
}

/* From the first bin with samples to the last one; r->p is the spread. */
static bool bin_next(const struct table *t, struct table_row *r)
{
	const struct memory_spread *s = t->array;
	size_t n;

	if (r->p)
		r->at[1]++;
	for (; r->at[0] < t->n; r->at[0]++, r->at[1] = 0) {
		r->p = &s[r->at[0]];
		while (high_of(r) <= memory_bins(latency_view_of(t)->m, r->p, &n)[0].cycles)
			r->at[1]++;
		if (low_of(r) <= (double)s[r->at[0]].most)
			return true;
	}
	return false;
}

TABLE_CELL(latency_low, out->n = (uint64_t)low_of(r))
TABLE_CELL(bin_high, out->n = (uint64_t)high_of(r))
TABLE_CELL(bin_samples, out->n = latency_count_of(t, r))
TABLE_CELL(bin_share, cell_estimate(out, memory_part(latency_count_of(t, r), row_spread(r)->n)))

TABLE_GET(latency_bar)
{
	uint64_t most = 1, n = latency_count_of(t, r);
	char hashes[BAR + 1];

	for (int log2 = -1; log2 < 32; log2++) {
		uint64_t x = memory_count_in(latency_view_of(t)->m, row_spread(r), log2);

		most = x > most ? x : most;
	}
	memset(hashes, '#', BAR);
	hashes[(n * BAR + most - 1) / most] = 0;
	cell_printf(out, "%s", hashes);
}

TABLE_CELL(latency_heading,
	   cell_printf(out, "%s latency, %s", memop_latency_head(row_spread(r)->latency),
		       memop_latency_means(row_spread(r)->latency)))

/* clang-format off */
#define BINS \
	COLUMN("low", "cycles", T_COUNT, C_KEY, "the least of the bin", .get = latency_low), \
	COLUMN("high", "to below", T_COUNT, C_DROP, "the first of the next bin", \
	       .get = bin_high), \
	COLUMN("samples", "samples", T_COUNT, 0, "in the bin", .get = bin_samples), \
	COLUMN("share", "share", T_SHARE, C_ERROR, "of the samples with this latency", \
	       .get = bin_share)
/* clang-format on */
static const struct table_column histogram_columns[] = {
	COLUMN("latency", "latency", T_TEXT, C_KEY | C_DATA, "which", OF_SPREAD(latency),
	       .name_of = memop_latency_key),
	COLUMN("heading", "", T_TEXT, C_PEOPLE | C_GROUP, "", .get = latency_heading),
	BINS,
	COLUMN("bar", "", T_TEXT, C_PEOPLE, "", .get = latency_bar, .least = BAR),
};
static const struct table_column source_histogram_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, ...", .get = spread_kind),
	COLUMN("source", "source", T_TEXT, C_KEY, "of the data", .get = spread_source),
	COLUMN("latency", "latency", T_TEXT, C_KEY, "which", OF_SPREAD(latency),
	       .name_of = memop_latency_key),
	BINS,
};

/* clang-format off */
#define FORM(name_, flags_, columns_, next_) \
	const struct table_form memory_##name_##_form = { \
		#name_, NULL, flags_, TABLE_COLUMNS(columns_), .next = next_ \
	}
FORM(latencies, 0, latency_columns, NULL);
FORM(source_latencies, TABLE_DATA, source_latency_columns, NULL);
FORM(function_latencies, TABLE_DATA, code_latency_columns, NULL);
FORM(instruction_latencies, TABLE_DATA, code_latency_columns, NULL);
FORM(histogram, 0, histogram_columns, bin_next);
FORM(source_histogram, TABLE_DATA, source_histogram_columns, bin_next);
/* clang-format on */

/* The spreads of groups of `by`. */
static void add_spreads(struct document *d, const struct memory_view *v,
			const struct table_form *form, enum memory_by by, size_t least)
{
	const struct memory *m = v->m;
	size_t from = m->first[by], until = m->first[by + 1];
	struct table t = { .form = form, .ctx = v, .stride = sizeof(*m->spread) };

	if (from < until) {
		const struct memory_group *last = &m->group[until - 1];

		t.n = last->first_spread + last->n_spreads - m->group[from].first_spread;
		if (t.n)
			t.array = &m->spread[m->group[from].first_spread];
	}
	t.data_only = t.n < least;
	document_table(d, &t);
}

void memory_put_latencies(struct document *d, const struct memory_view *v)
{
	add_spreads(d, v, &memory_latencies_form, MEMORY_ALL, 2);
	add_spreads(d, v, &memory_source_latencies_form, MEMORY_SOURCE, 0);
	add_spreads(d, v, &memory_function_latencies_form, MEMORY_FUNCTION, 0);
	add_spreads(d, v, &memory_instruction_latencies_form, MEMORY_INSTRUCTION, 0);
	add_spreads(d, v, &memory_histogram_form, MEMORY_ALL, v->is_linear ? SIZE_MAX : 1);
	add_spreads(d, v, &memory_source_histogram_form, MEMORY_SOURCE, 0);
}
