/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sqlite_int - SQLite, opened at the first need (base/library.h): sqlite.step() is sqlite3_step().
 * Call sqlite_open() before the first of them.
 */
#ifndef CYCLADE_STORE_SQLITE_INT_H
#define CYCLADE_STORE_SQLITE_INT_H

#include <sqlite3.h>

#include "base/library.h"

struct sqlite_calls {
#define CALL(name) LIBRARY_POINTER(sqlite3_, name)
#include "store/sqlite.def"
#undef CALL
};
extern struct sqlite_calls sqlite;

int sqlite_open(struct err *err) MUST_USE;

#endif
