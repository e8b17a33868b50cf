/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ibs_event.h"

#include <strings.h>

#include "base/text.h"

#define IBS_EVENT(code, name, table, predicate, value, means) \
	{ #code, #name, #table, predicate, value, means, NULL },
#define IBS_NO_EVENT(code, why) { #code, NULL, NULL, NULL, NULL, why, NULL },
const struct ibs_event ibs_events[] = {
#include "store/ibs_event.def"
};
#undef IBS_EVENT
#undef IBS_NO_EVENT
const size_t n_ibs_events = sizeof(ibs_events) / sizeof(*ibs_events);

static bool has_name(const struct ibs_event *e, const char *word)
{
	return (e->code && !strcasecmp(word, e->code)) || (e->name && !strcasecmp(word, e->name));
}

const struct ibs_event *ibs_event_find(const struct ibs_own *own, const char *word)
{
	for (size_t i = 0; i < n_ibs_events; i++)
		if (has_name(&ibs_events[i], word))
			return &ibs_events[i];
	for (size_t i = 0; own && i < own->n; i++)
		if (has_name(&own->event[i], word))
			return &own->event[i];
	return NULL;
}

/* ---- as a table ------------------------------------------------------------------------------ */

#define OF(member) TABLE_FIELD(struct ibs_event, member)
static const struct table_column columns[] = {
	COLUMN("name", "event", T_TEXT, C_KEY, "name of the event, and of its view in SQL",
	       OF(name)),
	COLUMN("code", "code", T_TEXT, 0, "number that OProfile has for it", OF(code)),
	COLUMN("table", "table", T_TEXT, 0, "whose rows it is made of", OF(table)),
	COLUMN("value", "counts", T_TEXT, 0, "what each row counts: 1, or cycles", OF(value)),
	COLUMN("means", "meaning", T_TEXT, C_FLEX | C_CUT, "what it is", OF(means)),
	COLUMN("predicate", "predicate", T_TEXT, C_DROP, "the rows that it is made of, in SQL",
	       OF(predicate)),
	COLUMN("from", "from", T_TEXT, C_SPARSE, "file and line of your own", OF(from)),
};
#undef OF
static const struct table_form form = { "ibs", NULL, TABLE_MAIN, TABLE_COLUMNS(columns),
					.rest = "event" };
static const struct table_form *const forms[] = { &form };
const struct document_form ibs_events_document = { "ibs", 1, forms, 1, NULL, 0 };

static bool is_meant(const char *pattern, const struct ibs_event *e)
{
	return e->name && (!pattern || text_means(pattern, e->name) || has_name(e, pattern));
}

size_t ibs_events_put(struct document *d, const struct ibs_own *own, const char *pattern)
{
	struct ibs_event *row = arena_alloc(&d->a, sizeof(ibs_events) + own->n * sizeof(*row));
	struct table t = { .form = &form, .array = row, .stride = sizeof(*row) };

	for (size_t i = 0; row && i < n_ibs_events; i++)
		if (is_meant(pattern, &ibs_events[i]))
			row[t.n++] = ibs_events[i];
	for (size_t i = 0; row && i < own->n; i++)
		if (is_meant(pattern, &own->event[i]))
			row[t.n++] = own->event[i];
	if (!row) {
		d->failed = true;
		return 0;
	}
	document_table(d, &t);
	if (t.n == 1)
		document_fact(d, "in SQL", false, "SELECT *, %s AS value FROM %s WHERE %s",
			      row->value, row->table, row->predicate);
	return t.n;
}
