/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived events of IBS as views. There are many, and most queries use none: a view is made when a
 * query has its name somewhere.
 */
#include <ctype.h>
#include <string.h>

#include "perfdata/ibs.h"
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

static bool has_event(const char *query, const struct ibs_event *e)
{
	return e->name && (has_word(query, e->name) || (e->code && has_word(query, e->code)));
}

static int make_view(struct sql *db, const struct ibs_event *e, const char *name)
{
	struct buf b = BUF_INIT;
	int rc = SQLITE_NOMEM;

	buf_printf(
		&b,
		"CREATE TEMP VIEW IF NOT EXISTS %s AS SELECT *, (%s) AS value FROM %s WHERE (%s)",
		name, e->value, e->table, e->predicate);
	if (!b.failed) {
		db->declaring = true;
		rc = sqlite.exec(db->db, buf_str(&b), NULL, NULL, NULL);
		db->declaring = false;
	}
	buf_free(&b);
	return rc;
}

static bool samples_counters(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	enum ibs_kind kind;

	for (size_t i = 0; i < n; i++)
		if (ev[i].samples && ev[i].attr.type != PERF_TYPE_SOFTWARE &&
		    !ibs_is_event(rec, &ev[i], &kind))
			return true;
	return false;
}

void sql_ibs_doubts(const struct sql *db, const char *query, struct document *d)
{
	bool any = false, counters = false;

	for (size_t i = 0; i < n_ibs_events; i++)
		any |= has_event(query, &ibs_events[i]);
	for (size_t i = 0; db->o.own && i < db->o.own->n; i++)
		any |= has_event(query, &db->o.own->event[i]);
	for (size_t i = 0; i < db->o.n_runs; i++)
		counters |= db->o.run[i].rec && samples_counters(db->o.run[i].rec);
	if (any && counters && (has_word(query, "samples") || has_word(query, "counts")))
		document_note(
			d, "derived events of IBS count samples of ops and fetches, each for its "
			   "period, counters count what happened: no ratio of the two is a rate");
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
	for (size_t i = 0; db->o.own && rc == SQLITE_OK && i < db->o.own->n; i++)
		if (has_word(query, db->o.own->event[i].name))
			rc = make_view(db, &db->o.own->event[i], db->o.own->event[i].name);
	return rc;
}
