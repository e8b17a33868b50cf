/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Totals of each event in each recording, read once: rows are many, and so may events be.
 */
#include <math.h>

#include "base/xalloc.h"
#include "report/diff/diff_int.h"

static uint64_t total_key_of(uint64_t number, uint32_t event)
{
	return number << 32 | event;
}

static enum diff_kind total_kind_of(const struct diff_total *t)
{
	return t->counted ? DIFF_COUNTED : t->samples > 0 ? DIFF_SAMPLED : DIFF_ABSENT;
}

static size_t total_number_of(const struct diff *x, size_t side, size_t run)
{
	for (size_t s = 0; s < side; s++)
		run += x->side[s].n;
	return run;
}

/* Rows of one name add up. */
static void add_total(struct diff *x, size_t number, uint32_t event, double period, double samples)
{
	uint64_t *at = u64map_xat(&x->total_at, total_key_of(number, event), NULL);
	struct diff_total *to, none = { 0 };

	if (!*at) {
		vec_xpush(&x->total, none);
		*at = x->total.n;
	}
	to = &x->total.v[*at - 1];
	to->period += period;
	to->counted = isnan(samples);
	to->samples += to->counted ? 0 : samples;
}

void diff_read_totals(struct diff *x)
{
	for (size_t s = 0; s < x->n_sides; s++)
		for (size_t i = 0; i < x->side[s].n; i++) {
			const struct table *t = diff_find(&x->side[s].run[i], "events");
			size_t event = t ? diff_column(t, "event") : 0,
			       period = t ? diff_column(t, "period") : 0;
			size_t samples = t ? diff_column(t, "samples") : 0,
			       number = total_number_of(x, s, i);
			struct table_row row = { 0 };
			struct arena a = ARENA_INIT;

			while (t && table_next(t, &row)) {
				const char *name = diff_text(&a, t, event, &row);

				if (name)
					add_total(x, number, strtab_xadds(&x->event, name),
						  diff_number(t, period, &row).v,
						  diff_number(t, samples, &row).v);
				arena_reset(&a);
			}
			arena_free(&a);
			/* The kind of an event on a side is that of the first recording that has
			 * it. */
			for (uint32_t id = 0; id < x->event.n; id++) {
				const uint64_t *at = u64map_find(
					&x->total_at, total_key_of(total_number_of(x, s, i), id));
				uint64_t *kind =
					at ? u64map_xat(&x->kind, total_key_of(s, id), NULL) : NULL;

				if (at && !*kind)
					*kind = total_kind_of(&x->total.v[*at - 1]);
			}
		}
}

struct diff_total diff_total(const struct diff *x, size_t side, size_t run, const char *event)
{
	uint32_t id = strtab_find(&x->event, event);
	const uint64_t *at = id == STR_NONE
				     ? NULL
				     : u64map_find(&x->total_at,
						   total_key_of(total_number_of(x, side, run), id));

	return at ? x->total.v[*at - 1] : (struct diff_total){ 0 };
}

enum diff_kind diff_kind(const struct diff *x, size_t side, const char *event)
{
	uint32_t id = strtab_find(&x->event, event);
	const uint64_t *kind =
		id == STR_NONE ? NULL : u64map_find(&x->kind, total_key_of(side, id));

	return kind ? (enum diff_kind) * kind : DIFF_ABSENT;
}
