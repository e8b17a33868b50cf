/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repeats - recordings of several runs of a program under one name: NAME.1, NAME.2, ... (run -r).
 */
#ifndef CYCLADE_CLI_REPEATS_H
#define CYCLADE_CLI_REPEATS_H

#include "base/arena.h"
#include "base/err.h"

/* NAME.k, in the arena; NULL: no memory. */
const char *repeats_file(struct arena *a, const char *name, size_t k);
/* How many recordings there are under a name that is no file itself; 0: it is one, or there are
 * none. */
size_t repeats_count(const char *name);
/* Before the recordings of a new series get their names: NAME and NAME.2, NAME.3, ... become
 * FILE.old, as far as they are recordings. If one cannot be renamed, it stays. */
void repeats_move_old(const char *name);

/* After an error that NAME does not exist: adds the files of the series, if there is one. Returns
 * -1. */
int repeats_hint(const char *name, const char *command, struct err *err);

#endif
