/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times, as tables: blocks that ran alone, iterations of loops, intervals between two branches;
 * their distributions and modes; visits of loops by trips.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/estimate.h"
#include "report/flow/blocks_int.h"

enum { INTERVALS = 8 }; /* shown to people without --limit */

#define ALONE 0.25 /* of a block's runs, to show their times */

bool blocks_is_alone(const struct block *k)
{
	return k->timed && (double)k->timed >= ALONE * (double)k->hits;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool shape_of_times(const struct blocks_view *v, uint32_t times, uint64_t cycles,
			   uint64_t stacks, struct flow_shape *out)
{
	size_t n;
	const struct flow_times *t = flow_times(v->b->flow, &n);

	if (times >= n)
		return false;
	flow_shape(out, &t[times], cycles, stacks);
	return true;
}

static bool shape_of_block(const struct blocks_view *v, const struct block *k,
			   struct flow_shape *out)
{
	return k->timed &&
	       shape_of_times(v, k->times, (uint64_t)llround(k->cycles * (double)k->timed),
			      k->time_stacks, out);
}

static bool shape_of_loop(const struct block_loop *l, struct flow_shape *out)
{
	if (!l->iteration)
		return false;
	flow_shape(out, &l->iteration->times, l->iteration->cycles, l->iteration->stacks);
	return true;
}

static const struct flow_span *block_time_span_of(const struct table_row *r)
{
	return ((const struct blocks_interval *)r->p)->span;
}

static bool block_time_shape_of(const struct table *t, const struct table_row *r,
				struct flow_shape *out)
{
	const struct flow_span *s;

	if (t->form == &blocks_iterations_form || t->form == &blocks_rounds_form)
		return shape_of_loop(loop_of(r), out);
	if (t->form != &blocks_intervals_form)
		return shape_of_block(blocks_view_of(t), block_of(r), out);
	s = block_time_span_of(r);
	return s->timed &&
	       shape_of_times(blocks_view_of(t), s->times, s->cycles, s->time_stacks, out);
}

/* Returns true if people see its distribution: not if a block mostly runs together with others. */
static bool seen_shape(const struct table *t, const struct table_row *r, struct flow_shape *out)
{
	return (t->form != &blocks_blocks_form || blocks_is_alone(block_of(r))) &&
	       block_time_shape_of(t, r, out);
}

BLOCKS_GET(blocks_get_figure)
{
	struct flow_shape s;

	if (block_time_shape_of(t, r, &s))
		memcpy(&out->e.v, (const char *)&s + c->which, sizeof(out->e.v));
}

BLOCKS_GET(blocks_get_modes)
{
	struct flow_shape s;

	(void)c;
	out->none = !block_time_shape_of(t, r, &s);
	out->n = out->none ? 0 : s.modes;
}

/* "14", or "?" if too few stacks bound it. */
static bool put_quantile(const struct table *t, const struct table_column *c,
			 const struct table_row *r, struct table_cell *out, struct flow_quantile *q)
{
	struct flow_shape s;

	if (!seen_shape(t, r, &s))
		return false;
	memcpy(q, (const char *)&s + c->which, sizeof(*q));
	out->kind = T_TEXT;
	if (isnan(q->v) || isnan(q->high))
		cell_printf(out, "?");
	else
		cell_printf(out, "%.0f", q->v);
	return true;
}

BLOCKS_GET(blocks_get_quantile)
{
	struct flow_quantile q;

	(void)put_quantile(t, c, r, out, &q);
}

BLOCKS_GET(blocks_get_bounds)
{
	struct flow_quantile q;

	if (!put_quantile(t, c, r, out, &q))
		return;
	if (!isnan(q.high) && q.high > q.low)
		buf_printf(out->scratch, " (%.0f-%.0f)", q.low, q.high);
	else if (isnan(q.high) && !isnan(q.low))
		buf_printf(out->scratch, " (%.0f+)", q.low);
	out->text = buf_str(out->scratch);
}

BLOCKS_GET(blocks_get_mark)
{
	struct flow_shape s;

	(void)c;
	if (seen_shape(t, r, &s) && (s.several || s.heavy))
		cell_printf(out, "%s%s", s.several ? "m" : " ", s.heavy ? "t" : "");
}

BLOCKS_GET(blocks_get_shape)
{
	struct flow_shape s;
	struct buf *b = out->scratch;

	(void)c;
	if (!seen_shape(t, r, &s) || (!s.several && !s.heavy))
		return;
	for (unsigned i = 0; s.several && i < s.modes; i++)
		buf_printf(b, "%s%.0f (%.0f %%)", i ? ", " : "", s.mode[i].at,
			   100 * s.mode[i].share);
	if (s.heavy)
		buf_printf(b, "%stail %.0f %%", s.several ? "; " : "", 100 * s.tail);
	out->text = buf_str(b);
}

/* ---- loops: iterations, trips, visits -------------------------------------------------------- */

TABLE_GET(iteration)
{
	const struct block_times *x = loop_of(r)->iteration;
	double n;

	out->e = ESTIMATE_NONE("in no stack two branches to one place, an iteration apart");
	out->says = "?";
	if (!x)
		return;
	n = (double)x->n;
	out->e = (struct estimate){ (double)x->cycles / n, NAN, "fewer than two stacks have any" };
	if (flow_sums(blocks_view_of(t)->b->flow)->late) { /* those that wait are seen more often */
		out->e.why = flow_late;
		out->mark = '~';
	} else if (x->stacks > 1) { /* times of one stack are not independent */
		out->e.half = Z95 * sqrt(fmax(x->cycles_sq - (double)x->cycles * out->e.v, 0) /
					 (n - 1) / (double)x->stacks);
		out->e.why = NULL;
	}
}

TABLE_GET(iteration_sd)
{
	const struct block_times *x = loop_of(r)->iteration;

	if (x && x->n > 1)
		out->e.v = sqrt(
			fmax(x->cycles_sq - (double)x->cycles * ((double)x->cycles / (double)x->n),
			     0) /
			(double)(x->n - 1));
}

TABLE_CELL(iteration_timed, out->n = loop_of(r)->iteration ? loop_of(r)->iteration->n : 0)
TABLE_CELL(iteration_stacks, out->n = loop_of(r)->iteration ? loop_of(r)->iteration->stacks : 0)

static const struct table_column iteration_columns[] = {
	BLOCKS_FUNCTION,
	BLOCKS_NUMBER("loop"),
	COLUMN("timed", "times", T_COUNT, 0, "iterations that were timed", .get = iteration_timed),
	COLUMN("stacks", "stacks", T_COUNT, C_DATA, "that have any", .get = iteration_stacks),
	COLUMN("cycles", "cycles", T_REAL, C_ERROR | C_WHY, "of an iteration, in the mean",
	       .get = iteration),
	COLUMN("cycles_sd", "sd", T_REAL, 0, "their standard deviation", .get = iteration_sd),
	BLOCKS_SHAPE,
	BLOCKS_QUANTILES(blocks_get_bounds),
	COLUMN("shape", "modes", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX | C_CUT, "",
	       .get = blocks_get_shape),
	BLOCKS_NAME("iteration of"),
};
const struct table_form blocks_iterations_form = {
	"iterations", NULL, 0, TABLE_COLUMNS(iteration_columns), .next = blocks_next, .rest = "loop"
};

TABLE_CELL(trips, out->n = r->at[1])
TABLE_CELL(or_more, out->n = r->at[1] + 1 == BLOCK_TRIPS)
TABLE_CELL(trips_visits, out->n = loop_of(r)->trip[r->at[1]])

static const struct table_column trips_columns[] = {
	BLOCKS_FUNCTION,
	BLOCKS_NUMBER("loop"),
	COLUMN("trips", "trips", T_ID, C_KEY, "how often its head ran", .get = trips),
	COLUMN("or_more", "or more", T_FLAG, 0, "or more often", .get = or_more),
	COLUMN("visits", "visits", T_COUNT, 0, "seen whole, with so many trips",
	       .get = trips_visits),
};
const struct table_form blocks_trips_form = { "trips",
					      "visits of loops that stacks show whole, by trips",
					      TABLE_DATA, TABLE_COLUMNS(trips_columns),
					      .next = blocks_next };

/* "1 (40 %), 2 (31 %), 32 or more (9 %)": the three most frequent. */
TABLE_GET(frequent_trips)
{
	const struct block_loop *l = loop_of(r);
	uint64_t all = 0;

	for (size_t i = 0; i < BLOCK_TRIPS; i++)
		all += l->trip[i];
	for (unsigned shown = 0; shown < 3; shown++)
		for (size_t i = 0; i < BLOCK_TRIPS; i++) {
			unsigned before = 0; /* in order of how often, then of trips */

			for (size_t k = 0; k < BLOCK_TRIPS; k++)
				before += l->trip[k] > l->trip[i] ||
					  (l->trip[k] == l->trip[i] && k < i);
			if (before == shown && l->trip[i])
				buf_printf(out->scratch, "%s%zu%s (%.0f %%)", shown ? ", " : "", i,
					   i + 1 == BLOCK_TRIPS ? " or more" : "",
					   100.0 * l->trip[i] / (double)all);
		}
	out->text = buf_str(out->scratch);
}

static const struct table_column visits_columns[] = {
	COLUMN("whole", "whole visits", T_COUNT, 0, "", TABLE_FIELD(struct block_loop, visits)),
	COLUMN("cut", "cut off", T_COUNT, 0, "", TABLE_FIELD(struct block_loop, cut)),
	COLUMN("trips", "trips", T_TEXT, C_FLEX, "", .get = frequent_trips),
	BLOCKS_NAME("of loop"),
};
const struct table_form blocks_visits_form = {
	"visits",      NULL, TABLE_PEOPLE, TABLE_COLUMNS(visits_columns), .next = blocks_next,
	.rest = "loop"
};

/* ---- blocks: times, modes -------------------------------------------------------------------- */

/* The blocks of a function, by address. */
static const struct table_column alone_columns[] = {
	COLUMN("timed", "times", T_COUNT, 0, "", TABLE_FIELD(struct block, timed)),
	COLUMN("cycles", "cycles", T_REAL, 0, "", TABLE_FIELD(struct block, cycles)),
	COLUMN("cycles_sd", "sd", T_REAL, 0, "", TABLE_FIELD(struct block, cycles_sd)),
	BLOCKS_QUANTILES(blocks_get_bounds),
	COLUMN("shape", "modes", T_TEXT, C_SPARSE | C_FLEX | C_CUT, "", .get = blocks_get_shape),
	BLOCKS_NAME("of block"),
};
const struct table_form blocks_alone_form = { "alone", NULL, TABLE_PEOPLE,
					      TABLE_COLUMNS(alone_columns), .next = blocks_next };

static const struct flow_times *block_time_times_of(const struct table *t,
						    const struct table_row *r)
{
	size_t n;
	const struct flow_times *x = flow_times(blocks_view_of(t)->b->flow, &n);

	if (t->form == &blocks_rounds_times_form)
		return loop_of(r)->iteration ? &loop_of(r)->iteration->times : NULL;
	return block_of(r)->timed && block_of(r)->times < n ? &x[block_of(r)->times] : NULL;
}

TABLE_CELL(times_from, out->n = flow_time_from((unsigned)r->at[1]))
TABLE_CELL(times_count, out->n = block_time_times_of(t, r)->n[r->at[1]])

#define TIMES                                                                                      \
	COLUMN("cycles", "cycles", T_ID, C_KEY, "at least; 16 and more in four classes an octave", \
	       .get = times_from),                                                                 \
		COLUMN("times", "times", T_COUNT, 0, "how many took so many", .get = times_count)
static const struct table_column times_columns[] = { BLOCKS_FUNCTION, BLOCKS_NUMBER("block"),
						     TIMES };
static const struct table_column rounds_times_columns[] = { BLOCKS_FUNCTION, BLOCKS_NUMBER("loop"),
							    TIMES };
const struct table_form blocks_times_form = { "times", "times of blocks that ran alone", TABLE_DATA,
					      TABLE_COLUMNS(times_columns), .next = blocks_next };
const struct table_form blocks_rounds_times_form = { "iteration_times",
						     "times of iterations of loops", TABLE_DATA,
						     TABLE_COLUMNS(rounds_times_columns),
						     .next = blocks_next };

TABLE_CELL(mode_cycles, struct flow_shape s;
	   if (block_time_shape_of(t, r, &s)) out->e.v = s.mode[r->at[1]].at)
TABLE_CELL(mode_share, struct flow_shape s;
	   if (block_time_shape_of(t, r, &s)) out->e.v = s.mode[r->at[1]].share)

#define MODE                                                                          \
	COLUMN("cycles", "cycles", T_REAL, C_KEY, "at the peak", .get = mode_cycles), \
		COLUMN("share", "share", T_SHARE, 0, "of the times", .get = mode_share)
static const struct table_column modes_columns[] = { BLOCKS_FUNCTION, BLOCKS_NUMBER("block"),
						     MODE };
static const struct table_column rounds_columns[] = { BLOCKS_FUNCTION, BLOCKS_NUMBER("loop"),
						      MODE };
const struct table_form blocks_modes_form = { "modes", "peaks of the times of blocks", TABLE_DATA,
					      TABLE_COLUMNS(modes_columns), .next = blocks_next };
const struct table_form blocks_rounds_form = { "iteration_modes",
					       "peaks of the times of iterations", TABLE_DATA,
					       TABLE_COLUMNS(rounds_columns), .next = blocks_next };

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_of_block(const struct table_form *f)
{
	return f == &blocks_blocks_form || f == &blocks_alone_form || f == &blocks_times_form ||
	       f == &blocks_modes_form;
}

/* Distributions have a row for each class that is not empty. */
static size_t classes(const struct table_form *f)
{
	return f == &blocks_trips_form					   ? BLOCK_TRIPS
	       : f == &blocks_times_form || f == &blocks_rounds_times_form ? FLOW_TIME_BUCKETS
	       : f == &blocks_modes_form || f == &blocks_rounds_form	   ? FLOW_MODES
									   : 1;
}

static bool is_row(const struct table *t, const struct table_row *r)
{
	const struct table_form *f = t->form;
	struct flow_shape s;

	if (f == &blocks_trips_form)
		return loop_of(r)->trip[r->at[1]];
	if (f == &blocks_times_form || f == &blocks_rounds_times_form)
		return block_time_times_of(t, r) && block_time_times_of(t, r)->n[r->at[1]];
	if (f == &blocks_modes_form || f == &blocks_rounds_form)
		return block_time_shape_of(t, r, &s) && r->at[1] < s.modes;
	if (f == &blocks_alone_form)
		return blocks_is_alone(block_of(r)) && block_time_shape_of(t, r, &s);
	if (f == &blocks_visits_form)
		return loop_of(r)->visits;
	if (f == &blocks_iterations_form) /* of a function those without a time, too: why */
		return loop_of(r)->iteration ||
		       (blocks_view_of(t)->timed && blocks_view_of(t)->opts.function);
	return true;
}

bool blocks_next(const struct table *t, struct table_row *r)
{
	for (r->at[1] += r->p != NULL;; r->at[1]++) {
		const struct blocks_row *x;

		if (r->at[1] >= classes(t->form)) {
			r->at[0]++;
			r->at[1] = 0;
		}
		if (r->at[0] >= t->n)
			return false;
		x = blocks_row_of(t, r);
		if (t->form == &blocks_edges_form)
			r->p = &x->f->edge[x->block];
		else if (is_of_block(t->form))
			r->p = &x->f->block[x->block];
		else
			r->p = &x->f->loop[x->block];
		if (is_row(t, r))
			return true;
	}
}

/* ---- intervals ------------------------------------------------------------------------------- */

#define INTERVAL ((const struct blocks_interval *)r->p)

TABLE_CELL(of_time,
	   if (INTERVAL->cycles > 0) out->e.v = INTERVAL->cycles / blocks_view_of(t)->cycles)
TABLE_CELL(block_time_weight,
	   cell_flow(out, flow_ratio(block_time_span_of(r)->w.group, blocks_view_of(t)->group)))

TABLE_CELL(seen, out->n = block_time_span_of(r)->w.hits)

/* For people, if times do not have more. */
static bool block_time_is_counted(const struct table *t, struct table_cell *out)
{
	out->says = "";
	out->none = blocks_view_of(t)->cycles > 0 && blocks_view_of(t)->b->used;
	return !out->none;
}

TABLE_CELL(counted_weight, if (block_time_is_counted(t, out)) block_time_weight(t, c, r, out))
TABLE_CELL(counted_seen, if (block_time_is_counted(t, out)) seen(t, c, r, out))
TABLE_CELL(block_time_cycles,
	   if (block_time_span_of(r)->timed) out->e.v = (double)block_time_span_of(r)->cycles /
							(double)block_time_span_of(r)->timed)

static const struct symbol *symbol_of(const struct table *t, const struct table_row *r,
				      const char **dso)
{
	const struct flow_place at = { block_time_span_of(r)->image, block_time_span_of(r)->start,
				       block_time_span_of(r)->kind };

	return blocks_symbol(blocks_view_of(t), &at, dso);
}

TABLE_GET(interval_function)
{
	const char *dso;
	const struct symbol *s = symbol_of(t, r, &dso);

	out->text = s ? s->name : NULL;
}

TABLE_CELL(interval_dso, (void)symbol_of(t, r, &out->text); out->says = "[in no mapping]")
TABLE_CELL(interval_start, out->n = blocks_vaddr(blocks_view_of(t), block_time_span_of(r)->image,
						 block_time_span_of(r)->start))
TABLE_CELL(block_time_interval_end,
	   out->n = blocks_vaddr(blocks_view_of(t), block_time_span_of(r)->image,
				 block_time_span_of(r)->end))

TABLE_CELL(counted_dso, if (block_time_is_counted(t, out)) interval_dso(t, c, r, out))

/* "f+0x5..+0x9"; if there is no symbol, its addresses. */
TABLE_GET(interval_name)
{
	const char *dso;
	const struct symbol *s = symbol_of(t, r, &dso);

	if (s) {
		out->text = s->name;
		buf_printf(out->scratch, "+0x%" PRIx64 "..+0x%" PRIx64,
			   block_time_span_of(r)->start - s->start,
			   block_time_span_of(r)->end - s->start);
		out->tail = buf_str(out->scratch);
		return;
	}
	cell_printf(out, "%" PRIx64 "..%" PRIx64,
		    blocks_vaddr(blocks_view_of(t), block_time_span_of(r)->image,
				 block_time_span_of(r)->start),
		    blocks_vaddr(blocks_view_of(t), block_time_span_of(r)->image,
				 block_time_span_of(r)->end));
}

static const struct table_column interval_columns[] = {
	COLUMN("of_time", "of time", T_SHARE, C_HEAT | C_SPARSE, "of the cycles of all intervals",
	       .get = of_time),
	COLUMN("part", "share", T_SHARE, C_PEOPLE | C_ERROR | C_HEAT | C_SPARSE, "",
	       .get = counted_weight),
	COLUMN("count", "seen", T_COUNT, C_PEOPLE | C_SPARSE, "", .get = counted_seen),
	COLUMN("share", "share", T_SHARE, C_DATA | C_ERROR | C_WHY, "of the runs of all intervals",
	       .get = block_time_weight),
	COLUMN("hits", "seen", T_COUNT, C_DATA, "as seen in stacks", .get = seen),
	COLUMN("timed", "times", T_COUNT, C_SPARSE | C_0_IS_NONE, "times that were measured",
	       TABLE_FIELD(struct blocks_interval, span, timed)),
	COLUMN("cycles", "cycles", T_REAL, C_SPARSE, "of one run, in the mean",
	       .get = block_time_cycles),
	BLOCKS_SHAPE,
	BLOCKS_QUANTILES(blocks_get_quantile),
	COLUMN("shape", "modes", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX | C_CUT, "",
	       .get = blocks_get_shape),
	COLUMN("name", "function", T_TEXT, C_PEOPLE | C_FLEX, "", .get = interval_name),
	COLUMN("of", "of", T_TEXT, C_PEOPLE | C_FLEX | C_SPARSE, "", .get = counted_dso),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file", .get = interval_dso),
	COLUMN("function", "function", T_TEXT, C_DATA, "that it begins in",
	       .get = interval_function),
	COLUMN("address", "address", T_ADDRESS, C_KEY | C_DATA, "where a branch led",
	       .get = interval_start),
	COLUMN("end", "end", T_ADDRESS, C_KEY | C_DATA, "of the next branch",
	       .get = block_time_interval_end),
};
const struct table_form blocks_intervals_form = { "intervals",
						  "code that ran from one branch to the next", 0,
						  TABLE_COLUMNS(interval_columns),
						  .rest = "interval" };

void blocks_put_intervals(struct document *d, const struct blocks_view *v)
{
	const struct table t = TABLE_OF(blocks_intervals_form, v, v->interval.v, v->interval.n,
					.people = v->opts.limit ? v->opts.limit : INTERVALS,
					.data_only = v->b->used && !v->timed);

	document_table(d, &t);
}
