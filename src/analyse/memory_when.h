/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_when - memory operations by class, thread, CPU and time: for a viewer that filters without
 * the recording, as it does with a cube.
 *
 *	memory_when_build(&w, m, rec, spaces, &selection, from, width, &err)
 *	memory_op(&op, &w->group[cell.group])
 *	memory_when_free(w)
 *
 * A cell counts the samples of a class (MEMORY_CLASS, of which sources, translations, snoops, locks
 * and blocks are parts) in a thread, on a CPU, in a bin of time. The sums over all cells are those
 * of memory.h. Bins are doubled until there are MEMORY_WHEN_CELLS at most. Classes and threads are
 * in the order of the file, so the same recording gives the same cells.
 *
 * Costs: a walk over the samples of memory's events, some 0.1 us each.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_WHEN_H
#define CYCLADE_ANALYSE_MEMORY_WHEN_H

#include "analyse/memory.h"

enum { MEMORY_WHEN_CELLS = 40000, MEMORY_WHEN_BINS = 512 };

struct memory_when_cell {
	uint32_t group, thread, bin;
	int32_t cpu; /* -1: not recorded */
	uint64_t samples, timed;
	double cycles, squares; /* of the timed ones' latency: memory_shown_latency() */
};
struct memory_when_thread {
	uint32_t pid, tid;
};

struct memory_when {
	uint64_t width;		    /* of a bin, ns; 0: all are in bin 0 */
	struct memory_group *group; /* class and key are set, no more */
	struct memory_when_thread *thread;
	struct memory_when_cell *cell; /* by group, thread, cpu, bin */
	size_t n_groups, n_threads, n_cells;
};

/* Of the events that `m` is of. Bin 0 begins at `from`, and has what came before; the last of the
 * MEMORY_WHEN_BINS has what came behind it. */
int memory_when_build(struct memory_when **out, const struct memory *m, const struct pd *rec,
		      struct spaces *sp, const struct selection *sel, uint64_t from, uint64_t width,
		      struct err *err) MUST_USE;
void memory_when_free(struct memory_when *w); /* NULL is fine */

#endif
