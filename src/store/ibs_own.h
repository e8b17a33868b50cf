/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs_own - users' own derived events of IBS, read from a text file:
 *
 *	# comments and blank lines go where you like
 *	event SLOW_LOCK ibs_op
 *	where load AND locked AND miss_latency > 200
 *	value miss_latency
 *	says  locked loads of more than 200 cycles
 *
 * `event NAME TABLE` begins one, TABLE being ibs_op or ibs_fetch. `where` is an SQL predicate over
 * the table's columns. `value` (what each row counts; 1 if it is left out) and `says` are optional.
 * A name is of letters, digits and _, and is no event, table or code of the built-in ones.
 *
 *	ibs_own_parse(&own, &arena, path, text, len, &err)	errors begin with FILE:LINE
 *	ibs_own_check(&own, &err)	errors of SQLite in the expressions
 *
 * An expression may hold anything but ; and comments, so that it stays one expression wherever it
 * is put. Without SQLite ibs_own_check() accepts all, since nothing can use them then.
 */
#ifndef CYCLADE_STORE_IBS_OWN_H
#define CYCLADE_STORE_IBS_OWN_H

#include "base/arena.h"
#include "base/err.h"
#include "store/ibs_event.h"

#define IBS_OWN_SIZE_MAX ((size_t)1 << 20)
#define IBS_OWN_NAME_MAX 64u

/* Adds the file's events to *own. All is in the arena. */
int ibs_own_parse(struct ibs_own *own, struct arena *a, const char *path, const char *text,
		  size_t len, struct err *err) MUST_USE;
int ibs_own_check(const struct ibs_own *own, struct err *err) MUST_USE;

#endif
