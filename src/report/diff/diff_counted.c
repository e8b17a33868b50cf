/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/counts.h"
#include "report/diff/diff_counted_int.h"
#include "report/run.h"
#include "report/tree_view.h"

const struct document_form *const diff_counted_forms[] = { &counts_document, &tree_document,
							   &run_document };

/* ---- the tables of a run --------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct counted_run, member)
static const struct table_column recording_columns[] = {
	COLUMN("command", "command", T_TEXT, 0, "", OF(command)),
	COLUMN("seconds", "seconds", T_SECONDS, 0, "", OF(seconds)),
};
#undef OF
#define OF(member) TABLE_FIELD(struct event_row, member)
static const struct table_column event_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "", OF(event)),
	COLUMN("period", "period", T_AMOUNT, 0, "", OF(period)),
	COLUMN("samples", "samples", T_AMOUNT, 0, "", OF(samples)),
};
#undef OF
#define OF(member) TABLE_FIELD(struct node_row, member)
static const struct table_column node_columns[] = {
	COLUMN("where", "where", T_TEXT, C_KEY, "", OF(where)),
	COLUMN("id", "id", T_ID, C_KEY, "", OF(id)),
	COLUMN("parent", "parent", T_ID, 0, "", OF(parent)),
	COLUMN("node", "node", T_TEXT, 0, "", OF(node)),
	COLUMN("unit", "unit", T_TEXT, 0, "", OF(unit)),
	COLUMN("value", "value", T_SHARE, C_ERROR, "", OF(value)),
	COLUMN("slots", "slots", T_AMOUNT, 0, "", OF(slots)),
};
#undef OF
#define OF(member) TABLE_FIELD(struct function_row, member)
static const struct table_column function_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "", OF(event)),
	COLUMN("dso", "dso", T_TEXT, C_KEY, "", OF(dso)),
	COLUMN("function", "function", T_TEXT, C_KEY, "", OF(function)),
	COLUMN("period", "period", T_AMOUNT, 0, "", OF(period)),
	COLUMN("samples", "samples", T_AMOUNT, 0, "", OF(samples)),
	COLUMN("share", "share", T_SHARE, C_ERROR, "", OF(share)),
};
#undef OF
static const struct table_form recording_form = { "recording", NULL, 0,
						  TABLE_COLUMNS(recording_columns) };
static const struct table_form events_form = { "events", NULL, 0, TABLE_COLUMNS(event_columns) };
static const struct table_form tree_form = { "tree", NULL, 0, TABLE_COLUMNS(node_columns) };
static const struct table_form rows_form = { "rows", NULL, TABLE_MAIN,
					     TABLE_COLUMNS(function_columns) };
static const struct table_form *const forms[] = { &recording_form, &events_form, &tree_form,
						  &rows_form };
static const struct document_form run_form = { "counted", 1, forms, sizeof(forms) / sizeof(*forms),
					       NULL,	  0 };

static void add_counted_table(struct counted_run *r, const struct table_form *f, const void *v,
			      size_t stride, size_t n)
{
	const struct table t = { .form = f, .array = v, .stride = stride, .n = n };

	document_table(&r->d, &t);
}

static void put_counted_run(struct counted_run *r)
{
	add_counted_table(r, &recording_form, r, sizeof(*r), 1);
	add_counted_table(r, &events_form, r->event.v, sizeof(*r->event.v), r->event.n);
	add_counted_table(r, &tree_form, r->node.v, sizeof(*r->node.v), r->node.n);
	add_counted_table(r, &rows_form, r->function.v, sizeof(*r->function.v), r->function.n);
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct table *counted_table(const struct diff_counted *c, const char *name)
{
	const struct diff_run r = { c->input, &c->of, 1, NULL };

	return diff_find(&r, name);
}

const char *counted_text(struct diff_counted *c, const struct table *t, const char *key,
			 const struct table_row *r)
{
	return diff_text(&c->a, t, diff_column(t, key), r);
}

const char *counted_word(struct diff_counted *c, const struct table *t, const char *key,
			 const struct table_row *r)
{
	const char *s = counted_text(c, t, key, r);

	return s && *s ? s : NULL;
}

struct estimate counted_number(const struct table *t, const char *key, const struct table_row *r)
{
	return diff_number(t, diff_column(t, key), r);
}

/* "cycles", "cycles on CPU 3". */
static const char *counted_event_name(struct diff_counted *c, const struct table *t,
				      const struct table_row *r)
{
	const char *event = counted_text(c, t, "event", r), *where = counted_text(c, t, "where", r);

	if (!event)
		event = "";
	if (where && *where)
		return arena_xprintf(&c->a, "%s on %s", event, where);
	return event;
}

static void add_counted_event(struct diff_counted *c, struct counted_run *to, const struct table *t,
			      const struct table_row *r)
{
	struct event_row row = { counted_event_name(c, t, r), counted_number(t, "value", r).v,
				 NAN };

	vec_xpush(&to->event, row);
}

/* ---- rows of the result ---------------------------------------------------------------------- */

static void add_counted_rows(struct diff_counted *c, struct counted_run *to, const char *table,
			     const char *key)
{
	const struct table *t = counted_table(c, table);
	struct table_row r = { 0 };

	while (t && table_next(t, &r))
		if (key)
			counted_node(c, to, t, key, &r);
		else
			add_counted_event(c, to, t, &r);
}

/* Samples of `run`: not a count. */
static void add_counted_samples(struct diff_counted *c, struct counted_run *to)
{
	const struct table *t = counted_table(c, "events");
	struct table_row r = { 0 };

	while (t && table_next(t, &r)) {
		struct event_row row = { counted_text(c, t, "event", &r),
					 counted_number(t, "period", &r).v,
					 counted_number(t, "samples", &r).v };

		if (row.event)
			vec_xpush(&to->event, row);
	}
	t = counted_table(c, "functions");
	r = (struct table_row){ 0 };
	while (t && table_next(t, &r)) {
		struct function_row row = {
			counted_text(c, t, "event", &r),    counted_text(c, t, "dso", &r),
			counted_text(c, t, "function", &r), counted_number(t, "period", &r).v,
			counted_number(t, "samples", &r).v, counted_number(t, "share", &r)
		};

		/* several that --limit folded have no name */
		if (row.event && row.dso && row.function)
			vec_xpush(&to->function, row);
	}
}

/* Rows of "repeats" into the run that each is of. */
static void add_repeats(struct diff_counted *c)
{
	const struct table *t = counted_table(c, "repeats");
	bool nodes = t && diff_column(t, "node") != SIZE_MAX;
	struct table_row r = { 0 };

	while (t && table_next(t, &r)) {
		double run = counted_number(t, "run", &r).v;
		struct counted_run *to =
			run >= 1 && run <= (double)c->n ? &c->run[(size_t)run - 1] : NULL;

		if (to && nodes)
			counted_node(c, to, t, "node", &r);
		else if (to)
			add_counted_event(c, to, t, &r);
	}
}

static void add_to_event(struct counted_run *to, const char *event, double period, double samples)
{
	const struct event_row row = { event, period, samples };

	vec_each (&to->event, struct event_row *, had)
		if (!strcmp(had->event, event)) {
			had->period += period;
			had->samples += samples;
			return;
		}
	vec_xpush(&to->event, row);
}

/* Functions of each run (run -r), which add up to its events. */
static void add_function_repeats(struct diff_counted *c)
{
	const struct table *t = counted_table(c, "function_repeats");
	struct table_row r = { 0 };

	while (t && table_next(t, &r)) {
		double run = counted_number(t, "run", &r).v;
		struct function_row row = {
			counted_text(c, t, "event", &r),    counted_text(c, t, "dso", &r),
			counted_text(c, t, "function", &r), counted_number(t, "period", &r).v,
			counted_number(t, "samples", &r).v, { NAN, NAN, NULL }
		};
		struct counted_run *to =
			run >= 1 && run <= (double)c->n ? &c->run[(size_t)run - 1] : NULL;

		if (to && row.event && row.dso && row.function && row.samples > 0) {
			vec_xpush(&to->function, row);
			add_to_event(to, row.event, row.period, row.samples);
		}
	}
}

/* A result of one run, or one that did not keep its runs. */
static void add_one(struct diff_counted *c)
{
	struct counted_run *r = &c->run[0];

	if (c->of->form == &counts_document) {
		add_counted_rows(c, r, "counts", NULL);
		return;
	}
	add_counted_rows(c, r, "nodes", "node");
	add_counted_rows(c, r, "metrics", "metric");
	if (c->of->form == &run_document)
		add_counted_samples(c, r);
}

/* Words of a command: a list, which is read as one text. */
static const char *command_of(struct diff_counted *c, const struct table *head,
			      const struct table_row *r)
{
	const char *list = counted_text(c, head, "command", r);
	struct buf b = BUF_INIT;
	const char *all;

	for (; list && *list; list++)
		if (strncmp(list, "; ", 2) != 0)
			buf_putc(&b, *list);
	all = b.len ? arena_xstrdup(&c->a, buf_str(&b)) : NULL;
	buf_free(&b);
	return all;
}

static void counted_open_runs(struct diff_counted *c, const struct table *head,
			      const struct table_row *r)
{
	const struct table *times = counted_table(c, "times");
	const char *command = command_of(c, head, r);
	struct table_row row = { 0 };
	size_t n = times ? table_rows(times) : 0;

	c->run = xcalloc(n ? n : 1, sizeof(*c->run));
	for (c->n = 0; c->n < (n ? n : 1); c->n++) {
		struct counted_run *to = &c->run[c->n];

		document_open(&to->d, &run_form, NULL);
		to->doc = &to->d;
		to->command = command;
		to->seconds = !n			? counted_number(head, "seconds", r).v
			      : table_next(times, &row) ? counted_number(times, "seconds", &row).v
							: NAN;
	}
	counted_known(c);
	if (n) {
		add_repeats(c);
		add_function_repeats(c);
	} else {
		add_one(c);
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->run[i].node.n)
			counted_order(c, &c->run[i]);
}

static int check_counted(struct diff_counted *c, const struct table *head, struct table_row *r,
			 struct err *err)
{
	struct table_row next;

	if (!head || !table_next(head, r))
		return err_set(err, ERR_FORMAT, "%s: the result is empty", c->input);
	next = *r;
	if (table_next(head, &next)) {
		(void)err_set(err, ERR_UNSUPPORTED, "%s: several results (-I, --append)", c->input);
		return err_hint(err, "stat -r N keeps runs of a program");
	}
	return 0;
}

int diff_counted_open(struct diff_counted **out, diff_run_list *list, const struct document *of,
		      const char *input, struct err *err)
{
	struct diff_counted *c = xcalloc(1, sizeof(*c));
	struct table_row r = { 0 };
	const struct table *head;

	*out = c;
	c->of = of;
	c->input = input;
	head = counted_table(c, "summary");
	if (check_counted(c, head, &r, err))
		return -1;
	counted_open_runs(c, head, &r);
	c->of = NULL;
	for (size_t i = 0; i < c->n; i++) {
		struct diff_run run = { .input = input, .doc = &c->run[i].doc, .n_docs = 1 };

		put_counted_run(&c->run[i]);
		vec_xpush(list, run);
	}
	return 0;
}

void diff_counted_free(struct diff_counted *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		vec_free(&c->run[i].event);
		vec_free(&c->run[i].node);
		vec_free(&c->run[i].function);
		document_close(&c->run[i].d);
	}
	free(c->run);
	vec_free(&c->node);
	vec_free(&c->tree);
	arena_free(&c->a);
	free(c);
}
