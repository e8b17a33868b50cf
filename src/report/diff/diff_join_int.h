/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the joins of the tables: a join_fn adds the amounts of a recording in the place `slot`
 * of its items.
 */
#ifndef CYCLADE_REPORT_DIFF_JOIN_INT_H
#define CYCLADE_REPORT_DIFF_JOIN_INT_H

#include "report/diff/diff_int.h"

struct joining {
	struct diff *x;
	diff_items *items;
	struct strtab keys; /* id k: item k - 1 of those that began at `first` */
	size_t first, side, n_runs;
	struct u64map builds;	   /* by the hash of a dso: 1 + whether the sides' files differ */
	struct u64map first_lines; /* by that of run, file, function: 1 + its first line */
};

typedef void join_fn(struct joining *j, const struct diff_run *r, size_t slot);

/* Returns the item of these keys (strings of the arena); a new one has no amounts. */
struct diff_item *diff_item_at(struct joining *j, const char *const key[DIFF_KEYS],
			       enum diff_alone alone);
/* Adds a run's amount of an event that both sides have; returns its item, NULL for other events. */
struct diff_item *diff_join_amount(struct joining *j, const struct diff_run *r, size_t slot,
				   const char *const key[DIFF_KEYS], enum diff_alone alone,
				   double period, double samples);
/* key[1], a file, and key[2], a function, of the base as the new side names the file. */
void diff_join_file(const struct joining *j, size_t slot, const char *key[DIFF_KEYS]);
/* Returns on which sides the function of a recording's place is what its name says: one named by an
 * address is of its own build only. */
enum diff_alone diff_alone_of(struct joining *j, const char *const key[DIFF_KEYS], size_t slot);
/* Returns the number of samples that a share is worth, by its error, which includes uneven
 * periods. */
double diff_worth(struct estimate share, double samples);

/* Joins of optional tables, from DIFF_SUMMED on (diff_more.c). */
extern join_fn *const diff_join_more[DIFF_TABLES - DIFF_SUMMED];

#endif
