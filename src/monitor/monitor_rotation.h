/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * monitor_rotation - groups of counters that take turns: their order and times, and the error of an
 * interval's value from the slices that a counter saw.
 *
 *	t.due = now + rotation_length(&t)		a slice begins: its length
 *	seen_add(&slot, counted, ns)		it ended
 *	g = rotation_next(&t, now)			the next group
 *
 *	pool_add(&pool, seen_spread(&slot), slot.n)	at the end of an interval, for each group
 *	half = seen_half(&slot, &pool, share)		in units of slot's rate (count per ns)
 *
 * Slices have random lengths and a random order (model/rounds.h): of equal ones those of a group
 * would come at equal distances, and a load with just that period would look steady to it.
 *
 * A group may have only two to four slices in an interval, too few to show how much the load
 * changes: two of them may well be alike by chance. So the spread is the larger one of the
 * counter's own slices and of those of all groups of the PMU (each by its event with the least
 * relative spread, so that a rare event does not speak for the others), each with Student's factor
 * for the number of slices that it is of. Slices count by their lengths.
 *
 * 95 % is kept for loads that change several times in an interval (replayed by
 * tests/unit/monitor/test_rotation.c), 94 % if bursts come as short turns do; a burst as long as a
 * third of the interval is either seen or not.
 */
#ifndef CYCLADE_MONITOR_MONITOR_ROTATION_H
#define CYCLADE_MONITOR_MONITOR_ROTATION_H

#include <stddef.h>
#include <stdint.h>

struct rotation { /* groups of a PMU that take turns; n 1: one that counts all the time */
	size_t first, n, now;
	uint64_t *spent;	  /* by group, ns that were its own */
	uint64_t since;		  /* of `now`'s turn */
	uint64_t step, due, read; /* mean turn; when this one ends; when it was read last */
	uint64_t chance;
};

struct seen { /* a counter's slices; begins as zeroes */
	size_t n;
	double sum, ns;			/* counted; time that it counted */
	double sums, products, squares; /* of count^2, count * ns, ns^2 */
};

struct pool { /* relative spread of all groups; begins as zeroes */
	double spread;
	size_t freedom;
};

uint64_t rotation_length(struct rotation *t);
/* The group that had least, up to chance: turns that became long on a busy machine are balanced,
 * and no group's turns come at equal distances. */
size_t rotation_next(struct rotation *t, uint64_t now);

void seen_add(struct seen *s, double counted, double ns);
/* Squares of the slices' relative distances from the mean; s->sum > 0. */
double seen_spread(const struct seen *s);
void pool_add(struct pool *p, double spread, size_t n);
/* `share` of the interval was seen. NAN: nobody has two slices. */
double seen_half(const struct seen *s, const struct pool *p, double share);

#endif
