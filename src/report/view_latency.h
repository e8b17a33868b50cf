/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view_latency - latencies of the memory operations of a report's rows: columns of --fields.
 *
 *	view_latency_check(v, &err)		rows of this view can have them
 *	view_wants_latency(v)			a column of it was asked for
 *	view_latency_by(&opts) == MEMORY_BYS	rows that memory (analyse/memory.h) has no
 *						groups for
 *	view_latency_add(v, event, memory, &err)	of an event; `memory` must outlive the view
 *
 * Costs: memory_build() of each event, and a search in a map for each cell.
 *
 * The groups are those of `mem`: functions, lines, files or threads. A row that is not one of them
 * as a whole (functions of one name, a thread that changed its name) has no latency, with a reason.
 */
#ifndef CYCLADE_REPORT_VIEW_LATENCY_H
#define CYCLADE_REPORT_VIEW_LATENCY_H

#include "analyse/memory.h"
#include "base/hash.h"
#include "report/view.h"

struct view_latency {
	const struct memory *memory; /* NULL: the event has none */
	enum memop_latency shown;
	enum memory_by by;
	struct u64map at; /* key of a row -> 1 + group; 0: of several */
};

/* Returns the kind of groups that rows with these keys are; MEMORY_BYS: none. */
enum memory_by view_latency_by(const struct profile_opts *o);
/* ERR_USAGE, ERR_NOT_FOUND: why rows of this view have no latencies. */
int view_latency_check(const struct view *v, struct err *err) MUST_USE;
bool view_wants_latency(const struct view *v);
int view_latency_add(struct view *v, size_t event, const struct memory *m,
		     struct err *err) MUST_USE;
/* NULL: *why. `event`: of the source. */
const struct memory_spread *view_latency_of(const struct view *v, size_t event,
					    const struct view_row *r, const char **why);
struct view_latency_lack {
	const char *why;
	size_t rows;
};
enum { VIEW_LATENCY_LACKS = 4 };
/* Sets the reasons why rows of a table's event have none, most rows first; returns how many
 * reasons. */
size_t view_latency_lacks(const struct view *v, const struct view_table *t, size_t event,
			  struct view_latency_lack out[VIEW_LATENCY_LACKS]);
void view_latency_free(struct view *v);

#endif
