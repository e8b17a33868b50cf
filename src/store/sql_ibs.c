/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived events of IBS as views. There are many, and most queries use none: a view is made when a
 * query has its name somewhere.
 */
#include <ctype.h>
#include <string.h>

#include "store/ibs_event.h"
#include "store/sql_int.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *s = strcasestr(text, word); s; s = strcasestr(s + 1, word))
		if ((s == text || !is_word(s[-1])) && !is_word(s[len]))
			return true;
	return false;
}

static int make_view(struct sql *db, const struct ibs_event *e, const char *name)
{
	struct buf b = BUF_INIT;
	int rc = SQLITE_NOMEM;

	buf_printf(&b,
		   "CREATE TEMP VIEW IF NOT EXISTS %s AS SELECT *, %s AS value FROM %s WHERE %s",
		   name, e->value, e->table, e->predicate);
	if (!b.failed) {
		db->declaring = true;
		rc = sqlite.exec(db->db, buf_str(&b), NULL, NULL, NULL);
		db->declaring = false;
	}
	buf_free(&b);
	return rc;
}

int sql_ibs_views(struct sql *db, const char *query)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n_ibs_events; i++) {
		const struct ibs_event *e = &ibs_events[i];

		if (e->name && has_word(query, e->name))
			rc = make_view(db, e, e->name);
		if (e->name && rc == SQLITE_OK && has_word(query, e->code))
			rc = make_view(db, e, e->code);
	}
	return rc;
}
