/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived events of IBS as views. There are many, and most queries use none: a view is made when a
 * query has its name somewhere.
 */
#include "perfdata/ibs.h"
#include "store/ibs_event.h"
#include "store/sql_int.h"

static bool has_ibs_event(const char *query, const struct ibs_event *e)
{
	return e->name &&
	       (ibs_has_word(query, e->name) || (e->code && ibs_has_word(query, e->code)));
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

/* Columns of IBS that the text names and a CPU of the runs has not. */
static void note_ibs_missing(const struct sql *db, const char *whose, const char *text,
			     struct document *d)
{
	for (size_t i = 0; i < db->o.n_runs; i++) {
		const struct pd *rec = db->o.run[i].rec;
		enum ibs_part part = rec ? ibs_part_of(pd_info(rec)->cpuid) : IBS_PART_OTHER;
		struct buf b = BUF_INIT;

		if (rec && (ibs_recorded(rec, IBS_OP) || ibs_recorded(rec, IBS_FETCH)) &&
		    ibs_fields_missing(&b, text, part))
			document_note(d, arena_printf(&d->a,
						      "%s%s%s: null in each sample, IBS of this "
						      "CPU (AMD %s) does not report it",
						      whose, *whose ? ": " : "", buf_str(&b),
						      ibs_part_name(part)));
		buf_free(&b);
	}
}

void sql_ibs_doubts(const struct sql *db, const char *query, struct document *d)
{
	bool any = false, counters = false;

	for (size_t i = 0; i < n_ibs_events; i++)
		any |= has_ibs_event(query, &ibs_events[i]);
	note_ibs_missing(db, "", query, d);
	for (size_t i = 0; db->o.own && i < db->o.own->n; i++) {
		const struct ibs_event *e = &db->o.own->event[i];

		if (!has_ibs_event(query, e))
			continue;
		any = true;
		note_ibs_missing(db, e->name, e->predicate, d);
	}
	for (size_t i = 0; i < db->o.n_runs; i++)
		counters |= db->o.run[i].rec && samples_counters(db->o.run[i].rec);
	if (any && counters && (ibs_has_word(query, "samples") || ibs_has_word(query, "counts")))
		document_note(
			d, "derived events of IBS count samples of ops and fetches, each for its "
			   "period, counters count what happened: no ratio of the two is a rate");
}

int sql_ibs_exists(struct sql *db, const struct ibs_event *e, struct err *err)
{
	enum ibs_part *part = arena_alloc(&db->a, (db->o.n_runs + 1) * sizeof(*part));
	enum ibs_kind kind = strcmp(e->table, "ibs_op") ? IBS_FETCH : IBS_OP;

	if (!part)
		return err_nomem(err);
	for (size_t i = 0; i < db->o.n_runs; i++) {
		const struct pd *rec = db->o.run[i].rec;

		part[i] = rec && ibs_recorded(rec, kind) ? ibs_part_of(pd_info(rec)->cpuid)
							 : IBS_PARTS;
	}
	return ibs_event_exists(e, part, db->o.n_runs, err);
}

/* None of an event that does not exist: SQLite then finds no such table, if the query reads it. */
static int add_ibs_view(struct sql *db, const struct ibs_event *e, const char *name)
{
	struct err err = ERR_INIT;

	if (sql_ibs_exists(db, e, &err))
		return err.code == ERR_NOT_FOUND ? SQLITE_OK : SQLITE_NOMEM;
	return make_view(db, e, name);
}

int sql_ibs_views(struct sql *db, const char *query)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n_ibs_events; i++) {
		const struct ibs_event *e = &ibs_events[i];

		if (e->name && ibs_has_word(query, e->name))
			rc = add_ibs_view(db, e, e->name);
		if (e->name && rc == SQLITE_OK && ibs_has_word(query, e->code))
			rc = add_ibs_view(db, e, e->code);
	}
	for (size_t i = 0; db->o.own && rc == SQLITE_OK && i < db->o.own->n; i++)
		if (ibs_has_word(query, db->o.own->event[i].name))
			rc = add_ibs_view(db, &db->o.own->event[i], db->o.own->event[i].name);
	return rc;
}
