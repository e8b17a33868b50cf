/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a cause is: the function and the line with most of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define FUNCTIONS 20 /* with most samples: one of them has most of a cause */

static void sum_function(struct tally *by_event, size_t n_events, const struct profile *p,
			 const struct spot *x)
{
	const struct profile_opts *o = profile_options(p);
	int sym = profile_key_at(o, KEY_SYM), dso = profile_key_at(o, KEY_DSO);
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	memset(by_event, 0, n_events * sizeof(*by_event));
	for (size_t i = 0; i < n; i++)
		if (r[i].key[sym] == x->row->key[sym] && r[i].key[dso] == x->row->key[dso])
			profile_tallies(&r[i], n_events, by_event);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct lined {
	struct source_line at;
	const struct profile_row *row;
};

static int by_line(const void *va, const void *vb)
{
	const struct lined *a = va, *b = vb;

	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return strcmp(a->at.file, b->at.file);
}

struct measured finding_hottest_line(struct finding *f, const struct finding_work *w,
				     const struct spot *x, finding_measure *measure,
				     const void *ctx)
{
	const struct profile *p = w->in->lines;
	struct measured most = { NAN, NAN };
	VEC(struct lined) lined = { 0 };
	struct tally *by_event;
	size_t n, n_events;
	const struct profile_row *r;
	int addr;

	if (!p || !x->row->symbol)
		return most;
	r = profile_rows(p, &n);
	addr = profile_key_at(profile_options(p), KEY_ADDR);
	for (size_t i = 0; i < n; i++) {
		struct lined l = { .row = &r[i] };

		if (r[i].symbol == x->row->symbol &&
		    finding_line_at(&l.at, w, r[i].image, r[i].key[addr]))
			vec_xpush(&lined, l);
	}
	vec_sort(&lined, by_line);
	(void)pd_events(w->in->rec, &n_events);
	by_event = xcalloc(n_events + 1, sizeof(*by_event));
	for (size_t i = 0, k; i < lined.n; i = k) {
		struct measured m;

		memset(by_event, 0, n_events * sizeof(*by_event));
		for (k = i; k < lined.n && !by_line(&lined.v[i], &lined.v[k]); k++)
			profile_tallies(lined.v[k].row, n_events, by_event);
		m = measure(ctx, by_event);
		if (!(m.v > 0) || m.v <= most.v)
			continue;
		most = m;
		f->file = lined.v[i].at.file;
		f->line = lined.v[i].at.line;
	}
	if (f->file && most.v > 0)
		f->file = arena_xstrdup(&w->out->a, f->file);
	free(by_event);
	vec_free(&lined);
	return most;
}

/* ---- functions ------------------------------------------------------------------------------- */

void finding_hottest_place(struct finding *f, const struct finding_work *w, const struct spots *s,
			   finding_measure *measure, const void *ctx, double whole)
{
	struct measured most = { 0, NAN }, line;
	const struct spot *top = NULL;
	struct tally *by_event;
	size_t n;

	(void)pd_events(w->in->rec, &n);
	by_event = xcalloc(n + 1, sizeof(*by_event));
	for (size_t i = 0; i < s->n && i < FUNCTIONS; i++) {
		struct measured m;

		sum_function(by_event, n, w->in->profile, &s->v[i]);
		m = measure(ctx, by_event);
		if (!(m.v > most.v))
			continue;
		most = m;
		top = &s->v[i];
	}
	free(by_event);
	if (!top)
		return;
	f->at = (struct finding_place){ top->function, top->dso, most.v / whole };
	line = finding_hottest_line(f, w, top, measure, ctx);
	if (!(line.v > 0) || isnan(line.half) || isnan(most.half))
		return;
	f->on_line = fmin(1, line.v / most.v);
	/* as if the line were not a part of the function: the bar is rather too wide */
	f->on_line_half = hypot(line.half, f->on_line * most.half) / most.v;
}
