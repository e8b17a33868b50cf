/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ibs_event.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ANY                                          \
	{                                            \
		IBS_NEED_ANY, IBS_FIELDS, IBS_FIELDS \
	}
#define FIELD(a)                                    \
	{                                           \
		IBS_NEED_FIELD, IBS_##a, IBS_FIELDS \
	}
#define EITHER(a, b)                             \
	{                                        \
		IBS_NEED_FIELD, IBS_##a, IBS_##b \
	}
#define STATUS                                          \
	{                                               \
		IBS_NEED_STATUS, IBS_FIELDS, IBS_FIELDS \
	}
#define L3                                          \
	{                                           \
		IBS_NEED_L3, IBS_FIELDS, IBS_FIELDS \
	}
#define IBS_EVENT(code, name, table, needs, predicate, value, means) \
	{ #code, #name, #table, needs, predicate, value, means, NULL, NULL },
#define IBS_NO_EVENT(code, why) { #code, NULL, NULL, ANY, NULL, NULL, why, NULL, NULL },
const struct ibs_event ibs_events[] = {
#include "store/ibs_event.def"
};
#undef IBS_EVENT
#undef IBS_NO_EVENT
#undef ANY
#undef FIELD
#undef EITHER
#undef STATUS
#undef L3
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

/* ---- which CPUs have it ---------------------------------------------------------------------- */

static const char *ibs_lacks(const struct ibs_need *n, enum ibs_part part, char *room, size_t size)
{
	switch (n->kind) {
	case IBS_NEED_ANY:
		return NULL;
	case IBS_NEED_STATUS:
		return part == IBS_PART_LATER ? "the status of fetches without a physical address"
					      : NULL;
	case IBS_NEED_L3:
		return ibs_part_has_l3(part) ? NULL : "a data source that means L3";
	case IBS_NEED_FIELD:
		break;
	}
	if (ibs_part_has(part, n->either) || (n->or != IBS_FIELDS && ibs_part_has(part, n->or)))
		return NULL;
	(void)snprintf(room, size, "%s%s%s", ibs_key(n->either), n->or != IBS_FIELDS ? " or " : "",
		       n->or != IBS_FIELDS ? ibs_key(n->or) : "");
	return room;
}

int ibs_event_exists(const struct ibs_event *e, const enum ibs_part *part, size_t n,
		     struct err *err)
{
	const char *what = NULL;
	char room[80];

	for (size_t i = 0; i < n; i++) {
		if (part[i] == IBS_PARTS)
			continue;
		what = ibs_lacks(&e->needs, part[i], room, sizeof(room));
		if (!what)
			return 0;
	}
	if (!what) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: the recording has no samples of %s", e->name,
			      e->table);
		return err_hint(err, "cyclade record --ibs=both makes some, on AMD");
	}
	(void)err_set(err, ERR_NOT_FOUND,
		      "%s is not on this CPU (AMD %s): its IBS does not report %s", e->name,
		      ibs_part_name(part[n - 1]), what);
	return err_hint(err, "cyclade explain %s names the CPUs that have it", e->name);
}

static bool is_ibs_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool ibs_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *s = strcasestr(text, word); s; s = strcasestr(s + 1, word))
		if ((s == text || !is_ibs_word(s[-1])) && !is_ibs_word(s[len]))
			return true;
	return false;
}

size_t ibs_fields_missing(struct buf *b, const char *expression, enum ibs_part part)
{
	size_t n = 0;

	for (enum ibs_field f = 0; f < IBS_FIELDS; f++)
		if (!ibs_part_has(part, f) && ibs_has_word(expression, ibs_key(f)))
			buf_printf(b, "%s%s", n++ ? ", " : "", ibs_key(f));
	return n;
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
	COLUMN("cpus", "CPUs", T_TEXT, C_DROP, "AMD families that have it, with models; null: all",
	       OF(cpus)),
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

/* NULL: all; parts that share a family's models are named one by one. */
static const char *ibs_cpus_of(struct arena *a, const struct ibs_event *e)
{
	struct buf b = BUF_INIT;
	char room[80];
	const char *text;
	bool all = true;

	for (enum ibs_part p = IBS_PART_10H; p < IBS_PARTS; p++) {
		bool has = !ibs_lacks(&e->needs, p, room, sizeof(room));

		all &= has;
		if (has)
			buf_printf(&b, "%s%s", b.len ? "; " : "", ibs_part_name(p));
	}
	text = all ? NULL : arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return text;
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
	for (size_t i = 0; row && i < t.n; i++)
		row[i].cpus = ibs_cpus_of(&d->a, &row[i]);
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
