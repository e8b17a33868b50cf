/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/trace_tables.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/vec.h"
#include "base/xalloc.h"

#define COLUMNS_MOST 900u /* SQLite takes 1,000 */

static const struct {
	const char *key;
	enum store_column_id id;
} fixed[] = {
	{ "run", C_samples_run },	   { "sample", C_samples_sample },
	{ "time", C_samples_time },	   { "common_cpu", C_samples_cpu },
	{ "common_comm", C_samples_comm }, { "common_tgid", C_samples_pid },
};
#define N_FIXED (sizeof(fixed) / sizeof(*fixed))

enum store_column_id trace_column_raw(const struct table_column *c)
{
	return (enum store_column_id)c->which;
}

/* ---- names of tables ------------------------------------------------------------------------- */

/* A name that needs no quotes, and none of SQLite's own functions. */
static bool is_plain_name(const char *s)
{
	static const char *const own[] = { "sqlite_", "pragma_", "json_", "jsonb_" };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncasecmp(s, own[i], strlen(own[i])))
			return false;
	if (!*s || isdigit((unsigned char)*s) || strlen(s) > 200)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

typedef VEC(struct trace_table) table_vec;

static bool is_taken(const char *const *taken, const table_vec *v, const char *name)
{
	for (; *taken; taken++)
		if (!strcasecmp(*taken, name))
			return true;
	for (size_t i = 0; i < v->n; i++)
		if (!strcasecmp(v->v[i].form.name, name))
			return true;
	return false;
}

/* ---- columns --------------------------------------------------------------------------------- */

static enum table_kind kind_of(const struct trace_field *f)
{
	switch ((enum trace_kind)f->kind) {
	case TRACE_SIGNED:
		return T_SIGNED;
	case TRACE_UNSIGNED:
		return T_ID;
	case TRACE_POINTER:
		return T_ADDRESS;
	case TRACE_TEXT:
	case TRACE_LIST:
		break;
	}
	return T_TEXT;
}

typedef VEC(struct table_column) column_vec;

static bool has_column(const column_vec *v, const char *key)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcasecmp(v->v[i].key, key))
			return true;
	return false;
}

/* Names that differ in case only would be one in SQL: the first is taken. */
static void add_fields(column_vec *v, struct arena *a, const struct trace_format *f)
{
	for (size_t i = 0; i < f->n && v->n < COLUMNS_MOST; i++) {
		const struct trace_field *x = &f->field[i];

		if (has_column(v, x->name) || !strcmp(x->name, "common_type"))
			continue;
		vec_xpush(v, ((struct table_column){
				     .key = x->name,
				     .head = x->name,
				     .kind = kind_of(x),
				     .means = arena_xprintf(a, "field \"%s%s\"", x->type,
							    x->kind == TRACE_LIST ? "[]" : ""),
				     .from = arena_xprintf(a, "%s:%s", f->system, f->name),
				     .which = STORE_COLUMNS }));
	}
}

static const struct trace_format *format_in(const struct raw_run *run, const char *event)
{
	size_t n, len = strcspn(event, ":");
	const struct trace_format *f = run->rec ? pd_trace_formats(run->rec, &n) : NULL;

	for (size_t i = 0; f && i < n; i++)
		if (strlen(f[i].system) == len && !memcmp(f[i].system, event, len) &&
		    !strcmp(f[i].name, event + len + 1))
			return &f[i];
	return NULL;
}

static void make_columns(struct trace_table *t, struct arena *a, const struct raw_run *run,
			 size_t n_runs)
{
	column_vec v = VEC_INIT;

	for (size_t i = 0; i < N_FIXED; i++) {
		struct table_column c = store_columns[fixed[i].id];

		c.key = c.head = fixed[i].key;
		c.which = fixed[i].id;
		vec_xpush(&v, c);
	}
	for (size_t r = 0; r < n_runs; r++) {
		const struct trace_format *f = format_in(&run[r], t->event);

		if (f)
			add_fields(&v, a, f);
	}
	t->form.n_columns = v.n;
	t->form.column = arena_xmemdup(a, v.v, v.n * sizeof(*v.v));
	t->field = arena_xalloc(a, (n_runs * v.n + 1) * sizeof(struct trace_field *));
	for (size_t r = 0; r < n_runs; r++) {
		const struct trace_format *f = format_in(&run[r], t->event);

		for (size_t i = 0; i < v.n; i++)
			t->field[r * v.n + i] =
				f && i >= N_FIXED ? trace_field_of(f, v.v[i].key) : NULL;
	}
	vec_free(&v);
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool has_table(const table_vec *v, const char *event)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->v[i].event, event))
			return true;
	return false;
}

static void add_table(table_vec *v, struct arena *a, const struct trace_format *f,
		      const char *const *taken)
{
	struct trace_table t = { .event = arena_xprintf(a, "%s:%s", f->system, f->name) };

	if (!is_plain_name(f->name) || strchr(f->system, ':') || has_table(v, t.event))
		return;
	t.form.name = f->name;
	if (is_taken(taken, v, f->name)) {
		t.form.name = arena_xprintf(a, "%s_%s", f->system, f->name);
		if (!is_plain_name(t.form.name) || is_taken(taken, v, t.form.name))
			return;
	}
	vec_xpush(v, t);
}

void trace_tables_make(struct trace_tables *out, struct arena *a, const struct raw_run *run,
		       size_t n_runs, const char *const *taken)
{
	table_vec v = VEC_INIT;

	for (size_t r = 0; r < n_runs; r++) {
		size_t n = 0;
		const struct pd_event *ev = run[r].rec ? pd_events(run[r].rec, &n) : NULL;

		for (size_t i = 0; i < n; i++) {
			const struct trace_format *f = pd_trace_of(run[r].rec, &ev[i]);

			if (f)
				add_table(&v, a, f, taken);
		}
	}
	for (size_t i = 0; i < v.n; i++)
		make_columns(&v.v[i], a, run, n_runs);
	out->n = v.n;
	out->v = v.n ? arena_xmemdup(a, v.v, v.n * sizeof(*v.v)) : NULL;
	vec_free(&v);
}
