/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sides of a diff as a whole: command, machine, duration; and comparisons that are not
 * possible.
 */
#include <math.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_int.h"
#include "report/recorded.h"

static void note_diff(struct diff *x, const char *text)
{
	vec_xpush(&x->note, text);
}

/* Returns a text of the table "recording" that all recordings of a side share; else "several". */
static const char *shared(struct diff *x, const struct diff_side *s, const char *key)
{
	const char *all = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct table *t = diff_find(&s->run[i], "recording");
		struct table_row row = { 0 };
		const char *one = t && table_next(t, &row)
					  ? diff_text(&x->a, t, diff_column(t, key), &row)
					  : NULL;

		if (i && strcmp(one ? one : "", all ? all : ""))
			return "several";
		all = one;
	}
	return all;
}

static struct estimate side_seconds(const struct diff_side *s)
{
	double sum = 0, squares = 0, n = (double)s->n;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->n; i++) {
			const struct table *t = diff_find(&s->run[i], "recording");
			struct table_row row = { 0 };
			double v = t && table_next(t, &row)
					   ? diff_number(t, diff_column(t, "seconds"), &row).v
					   : NAN;

			if (pass)
				squares += (v - sum / n) * (v - sum / n);
			else
				sum += v;
		}
	if (s->n < 2)
		return (struct estimate){ sum, NAN, "one recording" };
	return (struct estimate){ sum / n, t95(s->n - 1) * sqrt(squares / (n - 1) / n), NULL };
}

/* Returns true if it has no column for the machine: a saved result. */
static bool is_unknown(const struct diff_run *r)
{
	const struct table *t = diff_find(r, "recording");

	return t && diff_column(t, "host") == SIZE_MAX;
}

static void fill_side(struct diff *x, struct diff_side_sum *sum, const struct diff_side *s)
{
	const char *inputs = s->run[0].input;

	for (size_t i = 1; inputs && i < s->n; i++)
		inputs = arena_xprintf(&x->a, "%s, %s", inputs, s->run[i].input);
	*sum = (struct diff_side_sum){ .name = s->name,
				       .inputs = inputs,
				       .command = shared(x, s, "command"),
				       .host = shared(x, s, "host"),
				       .arch = shared(x, s, "arch"),
				       .os_release = shared(x, s, "os_release"),
				       .cpu = shared(x, s, "cpu"),
				       .recorder = shared(x, s, "recorder"),
				       .recordings = s->n,
				       .unknown = is_unknown(&s->run[0]),
				       .seconds = side_seconds(s) };
}

static bool texts_differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

/* Machines that differ: the comparisons that remain. */
static void note_machines(struct diff *x, const struct diff_side_sum *a,
			  const struct diff_side_sum *b)
{
	const struct {
		const char *a, *b, *what;
	} of[] = {
		{ a->arch, b->arch, "architectures differ: code and events are others" },
		{ a->cpu, b->cpu,
		  "CPUs differ: cycles, the tree and events are not the same thing on both" },
		{ a->host, b->host, "hosts differ: clock, memory and load may, too" },
		{ a->os_release, b->os_release, "kernels differ: so may the kernel's functions" },
		{ a->recorder, b->recorder, "recorders differ: so may defaults and call chains" },
	};

	if (a->unknown || b->unknown)
		return;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (texts_differ(of[i].a, of[i].b))
			note_diff(x, arena_xprintf(&x->a, "%s (%s; %s)", of[i].what,
						   of[i].a ? of[i].a : "not recorded",
						   of[i].b ? of[i].b : "not recorded"));
}

/* Events of side `s` that the other one has not. */
static void note_events(struct diff *x, size_t s, size_t other)
{
	const struct table *t = diff_find(&x->side[s].run[0], "events");
	size_t event = t ? diff_column(t, "event") : 0;
	struct table_row row = { 0 };
	struct buf all = BUF_INIT;
	bool counted = false;

	while (t && table_next(t, &row)) {
		const char *name = diff_text(&x->a, t, event, &row);
		enum diff_kind kind = name ? diff_kind(x, s, name) : DIFF_ABSENT;

		if (!kind || diff_kind(x, other, name) == kind)
			continue;
		counted |= kind == DIFF_COUNTED;
		buf_printf(&all, "%s%s", all.len ? ", " : "", name);
	}
	if (all.len)
		note_diff(x, arena_xprintf(&x->a,
					   "only %s has %s of these, which are not compared: %s",
					   x->side[s].name, counted ? "counts" : "samples",
					   buf_str(&all)));
	buf_free(&all);
}

static void add_side_losses(struct diff *x, const struct diff_run *r)
{
	const struct table *t = diff_find(r, recorded_losses_form.name);
	const struct pd_losses *l = t && t->form == &recorded_losses_form ? t->array : NULL;

	if (!l)
		return;
	pd_losses_add(&x->losses, l);
	if (l->partial)
		note_diff(x, arena_xprintf(&x->a, "%s: %s", r->input, l->ended));
}

void diff_sides(struct diff *x)
{
	bool single = true;

	x->sum = arena_xalloc(&x->a, x->n_sides * sizeof(*x->sum));
	for (size_t k = 0; k < x->n_sides; k++) {
		fill_side(x, &x->sum[k], &x->side[k]);
		single &= x->side[k].n == 1;
		for (size_t i = 0; i < x->side[k].n; i++)
			add_side_losses(x, &x->side[k].run[i]);
	}
	for (size_t k = 1; k < x->n_sides; k++) {
		note_machines(x, &x->sum[0], &x->sum[k]);
		note_events(x, 0, k);
		note_events(x, k, 0);
	}
	if (single)
		note_diff(x, "error bars are those of sampling: runs of a program vary by more. "
			     "Record both sides several times: cyclade diff A1,A2,A3 B1,B2,B3");
}

void diff_recordings(struct diff *x)
{
	const struct diff_side *all = x->side;

	x->sum = arena_xalloc(&x->a, all->n * sizeof(*x->sum));
	for (size_t i = 0; i < all->n; i++) {
		const struct diff_side one = { all->run[i].input, &all->run[i], 1 };

		fill_side(x, &x->sum[i], &one);
		if (i)
			note_machines(x, &x->sum[0], &x->sum[i]);
		x->sum[i].seconds.why = NULL;
		add_side_losses(x, &all->run[i]);
	}
	if (all->n == 1)
		note_diff(x, "one recording: error bars are those of sampling");
}
