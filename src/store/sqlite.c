/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/sqlite_int.h"

#include "config.h"

struct sqlite_calls sqlite;

static const char *const names[] = {
#define CALL(name) LIBRARY_NAME(sqlite3_, name)
#include "store/sqlite.def"
#undef CALL
};
static struct library library =
	LIBRARY("SQL", SQLITE_SO, names, sqlite, "install SQLite (Debian: libsqlite3-0)");

int sqlite_open(struct err *err)
{
	return library_open(&library, err);
}
