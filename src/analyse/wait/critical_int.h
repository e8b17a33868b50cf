/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critical_int - the pieces of critical.h: spans and samples into pieces (critical_pieces.c), the
 * path (critical.c), the replay (critical_replay.c).
 */
#ifndef CYCLADE_ANALYSE_WAIT_CRITICAL_INT_H
#define CYCLADE_ANALYSE_WAIT_CRITICAL_INT_H

#include "analyse/critical.h"
#include "analyse/wait/wait_int.h"
#include "base/sort.h"

#define NO_PIECE SIZE_MAX

/* A span, or the part of one in which one function ran. */
struct piece {
	uint64_t from, until;
	uint32_t row;
	uint32_t span;	/* of wait.span */
	uint32_t waker; /* that ended it: a thread that is known to have run then, or WAIT_NOBODY */
	uint8_t reason;
};

struct mark { /* a sample */
	uint64_t time;
	uint32_t thread, row;
};

struct marking;

struct critical_work {
	const struct pd *rec;
	const struct spaces *sp;
	const struct wait *w;
	struct critical_opts opts;
	struct marking *marking; /* until the walk is over */
	struct critical *out;
	VEC(struct critical_row) row;
	struct u64map row_at;
	VEC(struct piece) piece; /* by thread, in the order of time */
	size_t *first;		 /* of them, by thread; and one behind the last */
	VEC(struct mark) mark;	 /* the same */
	size_t *first_mark;
	struct keyed *exit; /* threads (a) by the time of their end */
	size_t n_exits;
	/* the same by the thread that they may keep waiting, then by time: key is exit_key() */
	struct keyed *exit_of;
	size_t n_exits_of;
};

struct pass;
/* Of the samples, in a walk; then the pieces. */
void critical_marks_begin(struct critical_work *k, struct pass *pass);
void critical_marks_free(struct critical_work *k);
int critical_pieces(struct critical_work *k, struct err *err) MUST_USE;
/* Returns the piece of a thread that has (from, until] around the time. */
size_t piece_at(const struct critical_work *k, uint32_t thread, uint64_t time);
/* Returns true if a thread ran then, so that it can have ended a wait or created a thread. */
bool piece_runs(const struct critical_work *k, uint32_t thread, uint64_t time);
/* Rows are in their order by then. */
void critical_replay(struct critical_work *k);

#endif
