/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view_parts - the parts of the view.
 */
#ifndef CYCLADE_REPORT_PROFILE_VIEW_PARTS_H
#define CYCLADE_REPORT_PROFILE_VIEW_PARTS_H

#include <regex.h>

#include "base/vec.h"
#include "report/view.h"

/* --focus and --hide. Answers per string are remembered: a name is matched once. */
struct filter {
	regex_t focus, hide;
	bool has_focus, has_hide;
	uint8_t *seen; /* by string: 1 asked, 2 focus matches, 4 hide matches */
	size_t n_strings;
	const struct profile *profile;
};

enum { FILTER_FOCUS = 2, FILTER_HIDE = 4 };

int filter_init(struct filter *f, const struct view *v, struct err *err) MUST_USE;
void filter_free(struct filter *f);
/* Returns the FILTER_* bits that match. */
unsigned filter_string(struct filter *f, uint32_t id);
unsigned filter_text(const struct filter *f, const char *s);
/* Returns true if a row or chain is shown, from the bits of all its names. */
static inline bool filter_keeps(const struct filter *f, unsigned bits)
{
	return (!f->has_focus || (bits & FILTER_FOCUS)) && !(f->has_hide && (bits & FILTER_HIDE));
}

/* Returns the FILTER_* bits of a row's keys. */
unsigned view_row_bits(const struct view *v, const struct profile_row *r, struct filter *f);

typedef VEC(struct view_row) row_vec;

/* Fill t->row from the profile's functions or its chains. */
void view_functions_fill(struct view *v, struct view_table *t, struct filter *f);
void view_tree_fill(struct view *v, struct view_table *t, struct filter *f);
/* Sorts `rows` by weight, folds by --min and --limit, appends the row of samples left out, moves
 * all to *t.
 */
void view_fold(struct view *v, struct view_table *t, row_vec *rows, const struct tally *left_out,
	       uint64_t n_left_out);
/* Copies finished rows into the table. */
void view_keep(struct view *v, struct view_table *t, const row_vec *rows);

#endif
