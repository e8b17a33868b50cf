/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of counts, and means of figures, over intervals and places.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/invariant.h"
#include "perfdata/counts_file_int.h"

#define NO_GROUP UINT32_MAX

struct row { /* of a span, with the group it belongs to */
	uint32_t group;
	const struct counts_cell *c;
};

struct said {
	uint32_t group;
	const struct counts_figure *f;
};

static int by_event(const void *a, const void *b)
{
	const struct row *p = a, *q = b;
	const struct counts_cell *x = p->c, *y = q->c;

	if (p->group != q->group)
		return p->group < q->group ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1;
	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	if (x->never != y->never)
		return x->never ? 1 : -1;
	/* the one that was counted longest first */
	return (x->counted < y->counted) - (x->counted > y->counted);
}

static bool same_event(const struct row *x, const struct row *y)
{
	return x->group == y->group && x->c->event == y->c->event && x->c->pmu == y->c->pmu;
}

static uint32_t span_group(const struct counts_span *s, uint32_t place)
{
	return s->group ? s->group[place] : 0;
}

/* Rows without a time are of all of it: with intervals they repeat them. */
static void span_limits(const struct counts_file *f, const struct counts_span *s, uint32_t *from,
			uint32_t *to)
{
	bool all = !s->from && !s->to;

	*from = all && f->n_times > 1 ? 1 : (uint32_t)s->from;
	*to = all ? (uint32_t)f->n_times : (uint32_t)s->to;
}

static void sum_cell(struct counted_event *ev, const struct counts_cell *c)
{
	double noise = c->noise * c->value;

	if (c->never) {
		ev->blank++;
		return;
	}
	/* standard errors of independent counts; of each of them, or of none */
	if (!ev->pieces)
		ev->noise = c->noise < 0 ? (double)NAN : noise * noise;
	else
		ev->noise += c->noise < 0 ? (double)NAN : noise * noise;
	ev->value += c->value;
	if (c->counted >= 0)
		ev->counted = ev->pieces && !isnan(ev->counted) ? fmin(ev->counted, c->counted)
								: c->counted;
	ev->pieces++;
}

static void end_event(struct counted_event *ev)
{
	ev->noise = ev->value > 0 ? sqrt(ev->noise) / ev->value : (double)NAN;
}

/* Sums of one group: rows [from, n) up to the next group. Returns where that begins. */
static size_t sum_group(struct counts_sums *out, const struct counts_file *f, const struct row *row,
			size_t from, size_t n, struct counted_event *ev)
{
	size_t i = from;

	out->event = ev;
	for (; i < n && row[i].group == row[from].group; i++) {
		const struct row *x = &row[i], *before = i > from ? x - 1 : NULL;

		if (before && same_event(before, x) && before->c->piece == x->c->piece)
			continue;
		if (!before || !same_event(before, x)) {
			if (out->n)
				end_event(&ev[out->n - 1]);
			out->n += out->n && !ev[out->n - 1].pieces ? 0u : 1u; /* never counted */
			ev[out->n - 1] = (struct counted_event){ .name = f->name[x->c->event],
								 .pmu = f->name[x->c->pmu],
								 .unit = f->name[x->c->unit],
								 .counted = NAN,
								 .noise = NAN };
		}
		sum_cell(&ev[out->n - 1], x->c);
	}
	if (out->n)
		end_event(&ev[out->n - 1]);
	if (out->n && !ev[out->n - 1].pieces)
		out->n--;
	return i;
}

static int sum_events(struct counts_sums *out, struct arena *a, const struct counts_file *f,
		      const struct counts_span *s, struct err *err)
{
	uint32_t from, to;
	struct counted_event *ev;
	struct row *row;
	size_t first, end, n = 0, at = 0;

	span_limits(f, s, &from, &to);
	bisect(first, f->n_cells, i, f->cell[i].time >= from);
	bisect(end, f->n_cells, i, f->cell[i].time >= to);
	if (first == end && from == 1 && !s->from) { /* intervals are of figures alone */
		first = 0;
		bisect(end, f->n_cells, i, f->cell[i].time >= 1);
	}
	row = arena_alloc(a, (end - first + 1) * sizeof(*row));
	ev = arena_alloc(a, (end - first + 1) * sizeof(*ev));
	if (!row || !ev)
		return err_nomem(err);
	for (size_t i = first; i < end; i++) {
		uint32_t group = span_group(s, f->cell[i].place);

		if (group != NO_GROUP)
			row[n++] = (struct row){ group, &f->cell[i] };
	}
	if (n)
		qsort(row, n, sizeof(*row), by_event);
	while (at < n) {
		uint32_t group = row[at].group;
		size_t next = sum_group(&out[group], f, row, at, n, ev + at);

		assert(next > at);
		at = next;
	}
	return 0;
}

/* ---- figures ---------------------------------------------------------------------------- */

static int by_figure(const void *a, const void *b)
{
	const struct said *p = a, *q = b;
	const struct counts_figure *x = p->f, *y = q->f;

	if (p->group != q->group)
		return p->group < q->group ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return (x->summary < y->summary) - (x->summary > y->summary);
}

static bool same_figure(const struct said *x, const struct said *y)
{
	return x->group == y->group && x->f->name == y->f->name && x->f->event == y->f->event &&
	       x->f->nth == y->f->nth;
}

static void add_figure(struct counted_figure *to, const struct said *x, size_t n)
{
	double sum = 0, errors = 0;
	size_t used = 0;

	/* a summary alone, if the tool made one */
	while (used < n && x[used].f->summary == x->f->summary)
		used++;
	for (size_t i = 0; i < used; i++) {
		sum += x[i].f->value;
		errors += x[i].f->error < 0 ? (double)NAN : x[i].f->error * x[i].f->error;
	}
	to->value = sum / (double)used;
	to->error = sqrt(errors) / (double)used;
	to->pieces = (uint32_t)used;
}

static int mean_figures(struct counts_sums *out, struct arena *a, const struct counts_file *f,
			const struct counts_span *s, struct err *err)
{
	struct counted_figure *to_put;
	struct said *x;
	uint32_t from, to;
	size_t first, end, n = 0, made = 0;

	span_limits(f, s, &from, &to);
	from = !s->from && !s->to ? 0 : from;
	bisect(first, f->n_figures, i, f->figure[i].time >= from);
	bisect(end, f->n_figures, i, f->figure[i].time >= to);
	x = arena_alloc(a, (end - first + 1) * sizeof(*x));
	to_put = arena_alloc(a, (end - first + 1) * sizeof(*to_put));
	if (!x || !to_put)
		return err_nomem(err);
	for (size_t i = first; i < end; i++) {
		uint32_t group = span_group(s, f->figure[i].place);

		if (group != NO_GROUP)
			x[n++] = (struct said){ group, &f->figure[i] };
	}
	if (n)
		qsort(x, n, sizeof(*x), by_figure);
	for (size_t i = 0, next; i < n; i = next) {
		struct counts_sums *o = &out[x[i].group];

		for (next = i + 1; next < n && same_figure(&x[i], &x[next]);)
			next++;
		if (!o->n_figures)
			o->figure = &to_put[made];
		o->n_figures++;
		to_put[made] = (struct counted_figure){ .name = f->name[x[i].f->name],
							.unit = f->name[x[i].f->unit],
							.event = f->name[x[i].f->event] };
		add_figure(&to_put[made++], &x[i], next - i);
	}
	return 0;
}

int counts_file_sums(struct counts_sums **out, struct arena *a, const struct counts_file *f,
		     const struct counts_span *span, struct err *err)
{
	size_t n = span->group ? span->n_groups : 1;

	*out = arena_alloc(a, (n + 1) * sizeof(**out));
	if (!*out)
		return err_nomem(err);
	return sum_events(*out, a, f, span, err) || mean_figures(*out, a, f, span, err) ? -1 : 0;
}

/* ---- runs ------------------------------------------------------------------------------- */

bool counts_any(const struct counts_file *f)
{
	bool any = f->n_figures > 0;

	for (size_t i = 0; i < f->n_cells && !any; i++)
		any = !f->cell[i].never;
	return any;
}

static int cells_by_name(const void *a, const void *b)
{
	const struct counts_cell *x = *(const struct counts_cell *const *)a;
	const struct counts_cell *y = *(const struct counts_cell *const *)b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->pmu > y->pmu) - (x->pmu < y->pmu);
}

int counts_check_runs(const struct counts_file *f, const char *name, struct err *err)
{
	const struct counts_cell **c;
	uint64_t all = 0, mine = 0;
	int rc = 0;

	if (f->runs < 2 || !f->n_cells)
		return 0;
	c = malloc(f->n_cells * sizeof(*c));
	if (!c)
		return err_nomem(err);
	for (size_t i = 0; i < f->n_cells; i++) {
		c[i] = &f->cell[i];
		all |= UINT64_C(1) << f->cell[i].run;
	}
	qsort(c, f->n_cells, sizeof(*c), cells_by_name);
	for (size_t i = 0; i < f->n_cells && !rc; i++) {
		mine |= UINT64_C(1) << c[i]->run;
		if (i + 1 < f->n_cells && !cells_by_name(&c[i], &c[i + 1]))
			continue;
		if (mine != all) {
			rc = err_set(err, ERR_FORMAT,
				     "%s: %u runs are in it (perf stat --append), and not all of "
				     "them counted %.60s",
				     name, f->runs, f->name[c[i]->event]);
			(void)err_hint(err, "import the runs one by one, each from a file of its "
					    "own");
		}
		mine = 0;
	}
	free(c);
	return rc;
}
