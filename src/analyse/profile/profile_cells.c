/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of many events. A function may have samples of all of them, an address of two or three: a
 * row keeps only its own cells, 28 bytes each, so that sixty events do not cost sixty times the
 * memory of one. Hits are laid out by row; each row's are summed by event.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile/profile_int.h"

struct cells {
	struct profile *p;
	const uint32_t *row_of, *order;
	size_t n_rows, n_events;
	size_t *start;	  /* by row as it was met, n + 1: its hits in `hit` */
	uint32_t *hit;	  /* by row */
	uint32_t *seen;	  /* by event: 1 + the row that had it last */
	struct weight *w; /* by event: of the row at hand */
};

static void lay_out(struct cells *c)
{
	size_t n = c->p->n_hits, sum = 0;

	for (size_t i = 0; i < n; i++)
		c->start[c->row_of[i]]++;
	for (size_t r = 0; r <= c->n_rows; r++) {
		size_t here = c->start[r];

		c->start[r] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		c->hit[c->start[c->row_of[i]]++] = (uint32_t)i;
	/* now each has the begin of the next one */
	memmove(c->start + 1, c->start, c->n_rows * sizeof(*c->start));
	c->start[0] = 0;
}

static uint32_t event_of(const struct cells *c, size_t i)
{
	return c->p->group[c->p->hits[c->hit[i]].group].event;
}

/* Returns how many events a row has samples of. */
static uint32_t count(struct cells *c, size_t row)
{
	uint32_t n = 0;

	for (size_t i = c->start[row]; i < c->start[row + 1]; i++) {
		uint32_t e = event_of(c, i);

		n += c->seen[e] != row + 1;
		c->seen[e] = (uint32_t)row + 1;
	}
	return n;
}

static int by_number(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

static void fill(struct cells *c, size_t row, struct profile_row *out, size_t at)
{
	uint32_t *event = c->p->cell_events + at;
	struct weight all = { 0, 0, 0 };
	uint32_t n = 0;

	for (size_t i = c->start[row]; i < c->start[row + 1]; i++) {
		const struct hit *h = &c->p->hits[c->hit[i]];
		uint32_t e = event_of(c, i);

		if (c->seen[e] != row + 1) {
			c->seen[e] = (uint32_t)row + 1;
			c->w[e] = (struct weight){ 0, 0, 0 };
			event[n++] = e;
		}
		weight_sum(&c->w[e], &h->w);
		weight_sum(&all, &h->w);
	}
	if (n > 1)
		qsort(event, n, sizeof(*event), by_number);
	out->tally = c->p->tallies + at;
	out->event = event;
	out->n_cells = n;
	for (uint32_t i = 0; i < n; i++)
		profile_tally_add(c->p, &out->tally[i], &c->w[event[i]]);
	profile_tally_add(c->p, &out->all, &all);
}

static int make(struct cells *c, struct err *err)
{
	struct profile *p = c->p;
	size_t n = 0, at = 0;

	lay_out(c);
	for (size_t r = 0; r < c->n_rows; r++)
		n += count(c, r);
	memset(c->seen, 0, c->n_events * sizeof(*c->seen));
	p->tallies = calloc(n + 1, sizeof(*p->tallies));
	p->cell_events = malloc((n + 1) * sizeof(*p->cell_events));
	if (!p->tallies || !p->cell_events)
		return err_nomem(err);
	for (size_t k = 0; k < c->n_rows; k++) {
		fill(c, c->order[k], &p->rows[k], at);
		at += p->rows[k].n_cells;
	}
	return 0;
}

int make_cells(struct profile *p, const uint32_t *row_of, const uint32_t *order, size_t n_rows,
	       size_t n_events, struct err *err)
{
	struct cells c = { p, row_of, order, n_rows, n_events, NULL, NULL, NULL, NULL };
	int ret = -1;

	c.start = calloc(n_rows + 2, sizeof(*c.start));
	c.hit = malloc((p->n_hits + 1) * sizeof(*c.hit));
	c.seen = calloc(n_events + 1, sizeof(*c.seen));
	c.w = malloc((n_events + 1) * sizeof(*c.w));
	if (c.start && c.hit && c.seen && c.w)
		ret = make(&c, err);
	else
		(void)err_nomem(err);
	free(c.start);
	free(c.hit);
	free(c.seen);
	free(c.w);
	return ret;
}
