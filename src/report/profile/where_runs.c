/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "base/estimate.h"
#include "report/where.h"

int where_runs_open(struct where_runs *r, struct arena *a, size_t most, struct err *err)
{
	*r = (struct where_runs){ .a = a, .most = most, .keys = STRTAB_INIT };
	r->whole = arena_alloc(a, (most + 1) * sizeof(*r->whole));
	return r->whole ? 0 : err_nomem(err);
}

void where_runs_free(struct where_runs *r)
{
	strtab_free(&r->keys);
	vec_free(&r->spot);
}

/* ---- a run ------------------------------------------------------------------------------ */

/* NULL: no memory. */
static struct where_spot *spot_of(struct where_runs *r, const struct where_row *row)
{
	struct where_spot spot = { .row = { .named = row->named } };
	struct buf b = BUF_INIT;
	uint32_t id;

	buf_printf(&b, "%zu:%s%s", strlen(row->sym), row->sym, row->dso);
	id = b.failed ? STR_NONE : strtab_adds(&r->keys, buf_str(&b));
	buf_free(&b);
	if (id == STR_NONE)
		return NULL;
	if (id <= r->spot.n)
		return &r->spot.v[id - 1];
	spot.row.sym = arena_strdup(r->a, row->sym);
	spot.row.dso = arena_strdup(r->a, row->dso);
	spot.period = arena_alloc(r->a, r->most * sizeof(*spot.period));
	spot.samples = arena_alloc(r->a, r->most * sizeof(*spot.samples));
	if (!spot.row.sym || !spot.row.dso || !spot.period || !spot.samples ||
	    vec_push(&r->spot, spot))
		return NULL;
	return vec_last(&r->spot);
}

static int add_row(struct where_runs *r, const struct where_row *row, struct err *err)
{
	struct where_spot *spot = spot_of(r, row);

	if (!spot)
		return err_nomem(err);
	spot->period[r->n] += (double)row->w.period;
	spot->samples[r->n] += row->w.samples;
	tally_add(&spot->row.w, &row->w);
	if (row->srcline && row->w.period > spot->line_period) {
		spot->line_period = row->w.period;
		spot->row.srcline = arena_strdup(r->a, row->srcline);
		if (!spot->row.srcline)
			return err_nomem(err);
	}
	return 0;
}

static void add_sum(struct profile_sum *to, const struct profile_sum *more)
{
	tally_add(&to->selected, &more->selected);
	tally_add(&to->left_out, &more->left_out);
	tally_add(&to->no_map, &more->no_map);
	tally_add(&to->no_symbol, &more->no_symbol);
	tally_add(&to->nameless, &more->nameless);
	to->bad += more->bad;
}

int where_runs_add(struct where_runs *r, const struct where *w, struct err *err)
{
	if (r->n == r->most)
		return err_set(err, ERR_USAGE, "more than %zu runs", r->most);
	for (size_t i = 0; i < w->n; i++)
		if (add_row(r, &w->row[i], err))
			return -1;
	r->whole[r->n++] = (double)w->sum->selected.period;
	add_sum(&r->sum, w->sum);
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------ */

/* Half of the 95 % interval of the parts' sum as a share of the wholes', from the spread of the
 * runs (a ratio estimate); NAN: there is none. */
static double spread_of(const double *part, const double *whole, size_t runs)
{
	double p = 0, w = 0, squares = 0, n = 0;

	for (size_t i = 0; i < runs; i++) {
		p += part[i];
		w += whole[i];
		n += whole[i] > 0;
	}
	if (n < 2)
		return NAN;
	for (size_t i = 0; i < runs; i++) {
		double off = part[i] - p / w * whole[i];

		squares += off * off;
	}
	return t95((size_t)n - 1) * sqrt(squares * n / (n - 1)) / w;
}

static void set_share(struct where_spot *s, const struct where_runs *r)
{
	const struct tally *all = &r->sum.selected;
	struct error_bar e =
		error_bar_share((double)s->row.w.period, (double)all->period, all->period_sq);
	double half = spread_of(s->period, r->whole, r->n);

	if (half > e.half) {
		e.half = half;
		e.low = fmax(0, e.share - half);
		e.high = fmin(1, e.share + half);
	}
	s->row.share = e;
}

static int by_period(const void *va, const void *vb)
{
	const struct where_spot *a = va, *b = vb;
	int c = (a->row.w.period < b->row.w.period) - (a->row.w.period > b->row.w.period);

	c = c ? c : strcmp(a->row.sym, b->row.sym);
	return c ? c : strcmp(a->row.dso, b->row.dso);
}

/* What stands from `from` on as one row without a name. */
static int fold(struct where_runs *r, size_t from, struct where_row *out, struct err *err)
{
	struct where_spot all = { .row = { .sym = "", .dso = "", .folded = r->spot.n - from },
				  .period = arena_alloc(r->a, r->most * sizeof(*all.period)) };

	if (!all.period)
		return err_nomem(err);
	for (size_t i = from; i < r->spot.n; i++) {
		tally_add(&all.row.w, &r->spot.v[i].row.w);
		for (size_t k = 0; k < r->n; k++)
			all.period[k] += r->spot.v[i].period[k];
	}
	set_share(&all, r);
	*out = all.row;
	return 0;
}

int where_runs_make(struct where *out, struct where_runs *r, size_t limit, struct err *err)
{
	/* a fold of one row would only hide its name */
	size_t shown = limit && r->spot.n > limit + 1 ? limit : r->spot.n;
	struct where_row *row = arena_alloc(r->a, (shown + 1) * sizeof(*row));

	*out = (struct where){ .sum = &r->sum, .row = row, .top = "" };
	if (!row)
		return err_nomem(err);
	vec_sort(&r->spot, by_period);
	for (size_t i = 0; i < shown; i++) {
		set_share(&r->spot.v[i], r);
		row[i] = r->spot.v[i].row;
		if (!*out->top && row[i].named)
			out->top = row[i].sym;
	}
	out->n = shown + (shown < r->spot.n);
	return out->n > shown ? fold(r, shown, &row[shown], err) : 0;
}
