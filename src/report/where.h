/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where - the short table of `run`: the functions that took most, with shares and error bars.
 */
#ifndef CYCLADE_REPORT_WHERE_H
#define CYCLADE_REPORT_WHERE_H

#include "analyse/profile.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/style.h"

/* A profile built with KEY_SYM and KEY_DSO (and KEY_SRCLINE for places). At most `limit` rows, what
 * is left folded into "(41 more functions)"; the table closes at 100 %. *top, if not NULL, is given
 * the hottest function's plain name for "next:" lines ("" if none). */
int where_print(struct buf *out, const struct profile *p, size_t event, size_t limit,
		const struct style *st, const char **top, struct err *err) MUST_USE;

#endif
