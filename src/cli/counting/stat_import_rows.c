/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Imported counts and figures as rows: all of them if there is no tree; else those that are not in
 * the tree.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/estimate.h"
#include "cli/counting/stat_import.h"

static struct counts_row printed_row_of(const struct counted_event *c, const struct import_set *set,
					const char *where)
{
	struct counts_row r = { .where = where,
				.event = c->name,
				.unit = c->unit,
				.value = c->blank ? (double)NAN : c->value,
				.counted = c->counted,
				.error = NAN,
				.stddev = NAN,
				.runs = 1,
				.supported = true };

	if (!strcmp(c->name, "duration_time"))
		r.unit = "ns";
	if (c->blank)
		r.why = "not counted in some of the intervals or places";
	r.whole = !*r.unit && !(c->counted < 1) && c->value == floor(c->value);
	if (isnan(c->noise))
		return r;
	r.whole = false;
	if (set->repeats >= 2) { /* the printed error is the standard error of the mean */
		r.runs = set->repeats;
		r.error = t95(r.runs - 1) * c->noise * c->value;
		r.stddev = c->noise * c->value * sqrt((double)r.runs);
	}
	return r;
}

/* Programs' own counts: no event of a core, and of no other unit. */
static bool is_beside(const struct import *im, const struct import_set *set, size_t i)
{
	struct import_known k = set->known[i];
	const struct model *m = im->core[set->core].m;

	/* a row that belongs to no kind of cores is shown once */
	if (k.event == MODEL_NONE)
		return *set->sums.event[i].pmu || set->first;
	return k.event >= m->n_used || k.levels != im->levels;
}

int import_rows(struct counts_row **out, size_t *n, struct import *im, const struct import_set *set,
		bool beside, struct err *err)
{
	size_t all = set->sums.n;
	struct counts_row *row = arena_alloc(&im->once, (all + 1) * sizeof(*row));
	struct counts_kind *kind = arena_alloc(&im->once, (all + 1) * sizeof(*kind));
	const char *where = import_label(im, set);

	if (!row || !kind)
		return err_nomem(err);
	for (size_t i = 0; i < all; i++) {
		const struct counted_event *c = &set->sums.event[i];

		row[i] = printed_row_of(c, set, where);
		kind[i] = import_kind(c->name, c->pmu);
	}
	counts_rows_mean(row, kind, all, &im->once, set->seconds);
	*n = 0;
	for (size_t i = 0; i < all; i++)
		if (!beside || is_beside(im, set, i))
			row[(*n)++] = row[i];
	*out = row;
	return 0;
}

int import_printed_rows(struct counts_printed **out, size_t *n, struct import *im,
			const struct import_set *set, const struct model *m, struct err *err)
{
	struct counts_printed *p = arena_alloc(&im->once, (set->sums.n_figures + 1) * sizeof(*p));

	if (!p)
		return err_nomem(err);
	*n = 0;
	*out = p;
	for (size_t i = 0; i < set->sums.n_figures; i++) {
		const struct counted_figure *f = &set->sums.figure[i];
		uint32_t metric = m ? import_metric(m, f->name) : MODEL_NONE;

		p[(*n)++] = (struct counts_printed){
			.where = import_label(im, set),
			.name = f->name,
			.unit = *f->unit ? f->unit : NULL,
			.event = *f->event ? f->event : NULL,
			.value = f->value,
			.error = f->error,
			.pieces = f->pieces,
			.node = metric == MODEL_NONE ? NULL : m->metric[metric].path,
		};
	}
	return 0;
}

/* ---- without a tree --------------------------------------------------------------------- */

int import_put_events(struct import *im, struct counts *c, bool last, struct err *err)
{
	struct document d;
	bool gone;
	int rc;

	document_open(&d, &counts_document, c);
	counts_put(&d, c);
	rc = counting_out_document(&im->out, &d, -1, last, &gone, err);
	document_close(&d);
	return rc;
}

int import_counted(struct import *im, const struct import_set *set, size_t n,
		   const struct count_head *head, struct err *err)
{
	struct counts c = { .head = *head };
	struct counts_row *row;
	struct counts_printed *said;
	size_t events = 0, figures = 0;

	for (size_t i = 0; i < n; i++) {
		events += set[i].sums.n;
		figures += set[i].sums.n_figures;
	}
	row = arena_alloc(&im->once, (events + 1) * sizeof(*row));
	said = arena_alloc(&im->once, (figures + 1) * sizeof(*said));
	if (!row || !said)
		return err_nomem(err);
	c.row = row;
	c.printed = said;
	for (size_t i = 0; i < n; i++) {
		struct counts_row *r;
		struct counts_printed *p;
		size_t n_rows, n_printed;

		if (import_rows(&r, &n_rows, im, &set[i], false, err) ||
		    import_printed_rows(&p, &n_printed, im, &set[i], NULL, err))
			return -1;
		memcpy(row + c.n, r, n_rows * sizeof(*row));
		memcpy(said + c.n_printed, p, n_printed * sizeof(*said));
		c.n += n_rows;
		c.n_printed += n_printed;
	}
	return import_put_events(im, &c, isnan(head->time), err);
}
