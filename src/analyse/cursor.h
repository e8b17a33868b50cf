/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cursor - the records of a recording one at a time, for a caller that asks for the next one: a
 * database. Engines that read all samples use the pass instead, which works on all cores.
 *
 *	cursor_new(&c, rec, spaces, &err)
 *	cursor_begin(c, &bounds, &err)		as often as needed
 *	while (cursor_next(c))
 *		... cursor_now(c), cursor_who(c, &who, &err) ...
 *	cursor_free(c)
 *
 * Records come in file order, on the caller's thread. Bounds are inclusive; a record without the
 * field is outside of any bound of it. A bound of `place` is found without reading the records
 * before it.
 *
 * Costs: some 10 ns a sample; a thread is looked up only by cursor_who(). The first bound of
 * `place` reads the headers of all records once.
 */
#ifndef CYCLADE_ANALYSE_CURSOR_H
#define CYCLADE_ANALYSE_CURSOR_H

#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

struct cursor_range {
	int64_t low, high;
};
#define CURSOR_ANY ((struct cursor_range){ INT64_MIN, INT64_MAX })

/* Numbers of 64 bits are compared as signed ones, as SQL has them. */
struct cursor_bounds {
	struct cursor_range place, time, cpu, pid, tid, ip;
	const bool *events; /* by event: only these; NULL: all */
	bool others;	    /* records that are no samples, too; then only `place` is a bound */
	/* Asked now and then: true ends the walk. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};

/* The position of the cursor. Records that are no samples have only `r`. */
struct cursor_row {
	struct pd_record r;
	const struct pd_event *ev; /* NULL: no sample, or one of no event */
	uint32_t event;
};

struct cursor_who {
	const struct process *proc; /* NULL: none known */
	uint32_t proc_index;	    /* UINT32_MAX: none known */
	uint64_t time;		    /* to ask the address spaces with */
	const char *comm;
	bool comm_stays; /* as long as the spaces; else until the next call */
};

struct cursor;

int cursor_new(struct cursor **out, const struct pd *rec, const struct spaces *spaces,
	       struct err *err) MUST_USE;
int cursor_begin(struct cursor *c, const struct cursor_bounds *b, struct err *err) MUST_USE;
bool cursor_next(struct cursor *c);
const struct cursor_row *cursor_now(const struct cursor *c);
/* Sets the thread of a sample, if its event records threads; -1: out of memory. */
int cursor_who(struct cursor *c, struct cursor_who *out, struct err *err) MUST_USE;
void cursor_free(struct cursor *c); /* NULL is fine */

#endif
