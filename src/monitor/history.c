/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/hash.h"
#include "monitor/monitor_int.h"

struct series {
	uint64_t hash; /* of place, metric and line */
	const char *place;
	char metric[64], line[96], unit[24], means[128];
	bool share;
	uint64_t last; /* the interval of its last figure */
	float v[HISTORY_INTERVALS];
};

struct history {
	char host[sizeof(((struct utsname *)NULL)->nodename)];
	struct series *series[HISTORY_SERIES];
	size_t n, guess; /* guess: where the next figure's line is, if the order is as before */
	uint64_t n_intervals;
	double time[HISTORY_INTERVALS], interval;
	uint64_t left_out; /* lines of the last interval that had no room */
	size_t most;	   /* intervals of the document */
	char text[HISTORY_INTERVALS][16];
	const char *list[HISTORY_INTERVALS];
};

int history_new(struct history **out, struct err *err)
{
	struct utsname u;

	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(err);
	if (!uname(&u))
		(void)snprintf((*out)->host, sizeof((*out)->host), "%s", u.nodename);
	return 0;
}

void history_free(struct history *h)
{
	for (size_t i = 0; h && i < h->n; i++)
		free(h->series[i]);
	free(h);
}

/* ---- figures --------------------------------------------------------------------------------- */

static bool line_is_old(const struct history *h, const struct series *s)
{
	return s->last + HISTORY_INTERVALS <= h->n_intervals;
}

/* A new line, or one that nothing is left of; NULL: there is no room. */
static struct series *room_for_line(struct history *h)
{
	for (size_t i = 0; h->n == HISTORY_SERIES && i < h->n; i++)
		if (line_is_old(h, h->series[i]))
			return h->series[i];
	if (h->n == HISTORY_SERIES)
		return NULL;
	h->series[h->n] = malloc(sizeof(struct series));
	return h->series[h->n] ? h->series[h->n++] : NULL;
}

static struct series *line_of(struct history *h, const char *place, const char *line,
			      const struct table_column *c)
{
	uint64_t hash = hash_pair(
		hash_bytes(line, strlen(line)),
		hash_pair(hash_bytes(c->head, strlen(c->head)), hash_bytes(place, strlen(place))));
	struct series *s;

	for (size_t i = 0; i < h->n; i++) {
		size_t at = (h->guess + i) % h->n;

		if (h->series[at]->hash != hash)
			continue;
		h->guess = at + 1;
		return h->series[at];
	}
	s = room_for_line(h);
	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->hash = hash;
	s->place = place;
	(void)snprintf(s->metric, sizeof(s->metric), "%s", c->head);
	(void)snprintf(s->line, sizeof(s->line), "%s", line);
	(void)snprintf(s->unit, sizeof(s->unit), "%s", c->unit ? c->unit : "");
	(void)snprintf(s->means, sizeof(s->means), "%s", c->means ? c->means : "");
	s->share = c->kind == T_SHARE;
	for (size_t i = 0; i < HISTORY_INTERVALS; i++)
		s->v[i] = NAN;
	return s;
}

/* A CPU, a cache, a cgroup are named by their first key; others need all of them. */
static void put_line_name(struct buf *b, const struct table *t, const struct table_row *r,
			  struct buf *scratch)
{
	const char *form = t->form->name;
	bool one = !strcmp(form, "cpu") || !strcmp(form, "l3") || !strcmp(form, "cgroup");
	struct table_cell x;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	buf_reset(b);
	for (size_t i = 0; i < n && (!one || !b->len); i++) {
		if (!(c[i].flags & C_KEY) || c[i].flags & C_DATA)
			continue;
		table_cell(&x, t, &c[i], r, scratch);
		if (x.none || (c[i].kind == T_TEXT && !x.text))
			continue;
		if (b->len)
			buf_puts(b, ", ");
		if (c[i].kind != T_TEXT)
			buf_printf(b, "%s ", c[i].head);
		cell_put(b, &x);
	}
}

/* `room`: false for a row whose figures get no lines. */
static void add_row(struct history *h, const struct table *t, const struct table_row *r, bool room,
		    struct buf *name, struct buf *scratch)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	struct table_cell x;

	put_line_name(name, t, r, scratch);
	for (size_t i = 0; i < n; i++) {
		struct series *s;

		if (!(c[i].flags & C_PEOPLE))
			continue;
		table_cell(&x, t, &c[i], r, scratch);
		if (isnan(x.e.v))
			continue;
		s = room ? line_of(h, t->form->name, buf_str(name), &c[i]) : NULL;
		h->left_out += !s;
		if (!s)
			continue;
		s->v[h->n_intervals % HISTORY_INTERVALS] = (float)x.e.v;
		s->last = h->n_intervals;
	}
}

static bool is_of_places(const struct table *t)
{
	static const char *const names[] = {
#define PLACE(id, name, title) #name,
#include "monitor/place.def"
#undef PLACE
	};

	for (size_t i = 0; i < PLACES; i++)
		if (!strcmp(t->form->name, names[i]))
			return true;
	return false;
}

/* The time and length of the interval, from the document's head. */
static void add_interval(struct history *h, const struct table *t, struct buf *scratch)
{
	struct table_row r = { 0 };
	struct table_cell x;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	if (!table_next(t, &r))
		return;
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, t, &c[i], &r, scratch);
		if (!strcmp(c[i].key, "time"))
			h->time[h->n_intervals % HISTORY_INTERVALS] = x.e.v;
		else if (!strcmp(c[i].key, "interval"))
			h->interval = x.e.v;
	}
}

void history_add(struct history *h, const struct document *d)
{
	size_t at = h->n_intervals % HISTORY_INTERVALS;
	struct buf name = BUF_INIT, scratch = BUF_INIT;

	h->guess = 0;
	h->left_out = 0;
	for (size_t i = 0; i < h->n; i++)
		h->series[i]->v[at] = NAN;
	for (size_t i = 0; i < d->table.n; i++) {
		const struct table *t = &d->table.v[i];
		struct table_row r = { 0 };

		if (!strcmp(t->form->name, "head"))
			add_interval(h, t, &scratch);
		for (size_t k = 0; is_of_places(t) && table_next(t, &r); k++)
			add_row(h, t, &r, k < HISTORY_LINES, &name, &scratch);
	}
	h->n_intervals++;
	buf_free(&name);
	buf_free(&scratch);
}

/* ---- the document ---------------------------------------------------------------------------- */

static size_t shown_intervals(const struct history *h)
{
	size_t n = h->n_intervals < HISTORY_INTERVALS ? (size_t)h->n_intervals : HISTORY_INTERVALS;

	return n < h->most ? n : h->most;
}

/* Returns the place of the i-th of the intervals that are shown. */
static size_t interval_at(const struct history *h, size_t i)
{
	return (size_t)((h->n_intervals - shown_intervals(h) + i) % HISTORY_INTERVALS);
}

TABLE_CELL(get_history_time, out->e.v = *(const double *)r->p)
TABLE_CELL(get_share_flag, out->n = ((const struct series *)r->p)->share)

/* The figures, oldest first; "": not measured. */
TABLE_GET(get_figures)
{
	/* the texts are the history's own, and one row is read at a time */
	struct history *h = (struct history *)(uintptr_t)t->ctx;
	const struct series *s = r->p;
	size_t n = shown_intervals(h);

	(void)c;
	for (size_t i = 0; i < n; i++) {
		float v = s->v[interval_at(h, i)];

		h->list[i] = h->text[i];
		if (isnan(v))
			h->text[i][0] = '\0';
		else
			(void)snprintf(h->text[i], sizeof(h->text[i]), "%.4g", (double)v);
	}
	out->list = h->list;
	out->n_list = n;
}

static bool next_interval(const struct table *t, struct table_row *r)
{
	const struct history *h = t->ctx;

	if (r->p)
		r->at[0]++;
	if (r->at[0] >= shown_intervals(h))
		return false;
	r->p = &h->time[interval_at(h, r->at[0])];
	return true;
}

static bool next_line(const struct table *t, struct table_row *r)
{
	const struct history *h = t->ctx;

	for (r->at[0] = r->p ? r->at[0] + 1 : 0; r->at[0] < h->n; r->at[0]++) {
		r->p = h->series[r->at[0]];
		if (!line_is_old(h, h->series[r->at[0]]))
			return true;
	}
	return false;
}

static const struct table_column history_head_columns[] = {
	COLUMN("host", "host", T_TEXT, 0, "name of the machine", TABLE_FIELD(struct history, host)),
	COLUMN("interval", "interval", T_SECONDS, 0, "of the last figures",
	       TABLE_FIELD(struct history, interval)),
	COLUMN("left_out", "left out", T_COUNT, 0, "lines without room",
	       TABLE_FIELD(struct history, left_out)),
};
static const struct table_form history_head = { "head", NULL, TABLE_HEAD | TABLE_ONE,
						TABLE_COLUMNS(history_head_columns) };
static const struct table_column interval_columns[] = {
	COLUMN("time", "time", T_SECONDS, 0, "end of the interval, since the monitor began",
	       .get = get_history_time),
};
static const struct table_form intervals_form = { "intervals", NULL, 0,
						  TABLE_COLUMNS(interval_columns), next_interval };
static const struct table_column line_columns[] = {
	COLUMN("place", "place", T_TEXT, C_KEY, "kind of place, as tables of monitor",
	       TABLE_FIELD(struct series, place)),
	COLUMN("metric", "metric", T_TEXT, C_KEY, "its name", TABLE_FIELD(struct series, metric)),
	COLUMN("line", "line", T_TEXT, C_KEY, "the place", TABLE_FIELD(struct series, line)),
	COLUMN("unit", "unit", T_TEXT, 0, "of the figures", TABLE_FIELD(struct series, unit)),
	COLUMN("share", "share", T_FLAG, 0, "the figures are parts of 1", .get = get_share_flag),
	COLUMN("means", "meaning", T_TEXT, 0, "of the metric", TABLE_FIELD(struct series, means)),
	COLUMN("figures", "figures", T_LIST, C_FLEX, "one of each interval, or an empty text",
	       .get = get_figures),
};
static const struct table_form lines_form = { "lines", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(line_columns), next_line };
static const struct table_form *const history_tables[] = { &history_head, &intervals_form,
							   &lines_form };
const struct document_form history_form = { "history", 1, history_tables, 3, NULL, 0 };

void history_document(struct document *out, struct history *h, size_t intervals)
{
	h->most = intervals;
	document_open(out, &history_form, h);
	document_table(
		out,
		&(struct table){ .form = &history_head, .stride = sizeof(*h), .n = 1, .array = h });
	document_table(out, &(struct table){ .form = &intervals_form, .ctx = h });
	document_table(out, &(struct table){ .form = &lines_form, .ctx = h });
}
