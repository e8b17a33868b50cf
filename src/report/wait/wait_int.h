/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_int - the tables of wait_document, in the order of wait_tables.c: threads and processes
 * (wait_thread_tables.c), reasons (wait_reason_tables.c), functions, stacks and wakers
 * (wait_place_tables.c). And values that tables of parallel and critical have, too.
 */
#ifndef CYCLADE_REPORT_WAIT_WAIT_INT_H
#define CYCLADE_REPORT_WAIT_WAIT_INT_H

#include <math.h>

#include "report/wait_view.h"

extern const struct table_form wait_all_threads_form, wait_parts_form, wait_processes_form,
	wait_reasons_form, wait_histogram_form, wait_functions_form, wait_stacks_form,
	wait_things_form, wait_wakers_form;

/* wait_place_tables.c: for flame graphs. */
document_write_fn wait_folded, wait_svg;

static inline const struct wait_view *wait_view_of(const struct table *t)
{
	return t->ctx;
}

static inline double wait_seconds_of(uint64_t ns)
{
	return (double)ns / 1e9;
}

static inline double wait_share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : NAN;
}

/* Puts a place's function, or its file. */
static inline void put_wait_function(struct table_cell *out, const struct wait_place *p)
{
	out->text = p->symbol ? p->symbol->name : NULL;
}

static inline void put_wait_dso(struct table_cell *out, const struct images *images,
				const struct wait_place *p)
{
	out->text = p->image != IMAGE_NONE ? image_name(images, p->image) : NULL;
}

/* Facts on what is not known: wake-ups, lost records, contradictions. */
void wait_put_doubts(struct document *d, const struct wait_view *v);
/* Returns the time of all wanted threads. */
uint64_t wait_all_time(const struct wait_view *v, enum wait_state s);

/* ---- cells that several tables have ---------------------------------------------------------- */

/* c->which: offset of struct wait_time in the row; for the reason, of a byte. */
table_get wait_cell_time_seconds, wait_cell_time_bar, wait_cell_time_share, wait_cell_time_n,
	wait_cell_time_mean, wait_cell_time_most, wait_cell_reason;

/* clang-format off */
#define WAIT_HOW_LONG(member) \
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all threads' lives", \
	       .get = wait_cell_time_share, .which = member), \
	COLUMN("seconds", "time", T_SECONDS, 0, "in all", .get = wait_cell_time_seconds, \
	       .which = member)
#define WAIT_HOW_OFTEN(member) \
	COLUMN("waits", "times", T_COUNT, 0, "how often", .get = wait_cell_time_n, \
	       .which = member), \
	COLUMN("mean_seconds", "mean", T_SECONDS, C_DROP, "of one", .get = wait_cell_time_mean, \
	       .which = member), \
	COLUMN("most_seconds", "longest", T_SECONDS, 0, "the longest", .get = wait_cell_time_most, \
	       .which = member)
#define WAIT_TIME(member) \
	WAIT_HOW_LONG(member), \
	COLUMN("seconds_error", "+-", T_SECONDS, C_SPARSE, \
	       "half the 95 % interval of the time, where waits have the chain of another", \
	       .get = wait_cell_time_bar, .which = member), \
	WAIT_HOW_OFTEN(member)

#define WAIT_STATE_(key, head, means, get_, state) \
	COLUMN(key "seconds", head, T_SECONDS, 0, means, .get = get_, .which = state)
#define WAIT_STATES_OF(get_) \
	WAIT_STATE_("", "wall", "its life: the sum of the next four", get_, WAIT_STATES), \
	WAIT_STATE_("running_", "running", "on a CPU", get_, WAIT_RUNNING), \
	WAIT_STATE_("runnable_", "runnable", "waiting for a CPU", get_, WAIT_RUNNABLE), \
	WAIT_STATE_("blocked_", "blocked", "waiting for something else", get_, WAIT_BLOCKED), \
	WAIT_STATE_("unknown_", "unknown", "records were lost", get_, WAIT_UNKNOWN)
/* clang-format on */

#endif
