/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * again - the command that repeats a recording, for hints and next commands: its program, processes
 * or CPUs, from its own command line, so that it can be pasted.
 *
 *	again_put(&b, pd_info(rec), "-g", true)	"cyclade record -g -e cycles -- ./prog 12"
 *
 * The file does not contain the end of the options: cyclade's and perf's that take a value are in a
 * table.
 */
#ifndef CYCLADE_ANALYSE_AGAIN_H
#define CYCLADE_ANALYSE_AGAIN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "perfdata/perfdata.h"

/* Stands for the program if none is known. */
#define AGAIN_PROGRAM "-- ./prog"

/* Puts the command with these options ("": none); `same`: and with the events, periods and
 * frequencies of the recording. False, and AGAIN_PROGRAM put, if the command line was not
 * recorded, names no program, process or CPU, is too long, or cannot be typed. */
bool again_put(struct buf *b, const struct pd_info *info, const char *options, bool same);
/* Returns true if the recording began with the program: it has the environment of the command. */
bool again_starts(const struct pd_info *info);
/* The same for a program and its arguments, with `verb` ("record -g"): the one that runs now. */
bool again_put_program(struct buf *b, const char *verb, const char *const *word, size_t n);
/* Sets the hint of a filled error: `lead`, the command. Returns -1. */
int again_hint(struct err *err, const struct pd_info *info, const char *lead, const char *options);

/* Options that record branches, all or returns alone, so that they are counted: each vendor has
 * its own event. "-b" if the recording does not hold the vendor. */
enum again_branches { AGAIN_TAKEN, AGAIN_RETURNS };
const char *again_branches(const struct pd_info *info, enum again_branches what);

#endif
