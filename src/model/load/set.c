/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of `monitor`: PLACE[:INSTANCE] NAME[=ALIAS,...] counter|gauge UNIT FORMULA ; HELP, or
 * PLACE[:INSTANCE] NAME absent
 */
#include "model/set.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/load/model_int.h"

#define FILE_NAME "monitor"

struct reading {
	struct arena *a;
	const struct model_sources *sources;
	VEC(struct set_row) row;
	struct err *err;
};

/* The next word of a line; "" at its end. */
static const char *word(struct reading *r, const struct line *l, size_t *at)
{
	size_t from = *at, end;

	while (from < l->len && (l->value[from] == ' ' || l->value[from] == '\t'))
		from++;
	for (end = from; end < l->len && l->value[end] != ' ' && l->value[end] != '\t'; end++)
		;
	*at = end;
	return arena_strndup(r->a, l->value + from, end - from);
}

/* Cuts NAME=ALIAS,ALIAS at its signs. */
static int split_names(struct reading *r, struct set_row *row, char *names)
{
	char *at = strchr(names, '=');
	const char **alias;
	size_t n = 0;

	row->name = names;
	if (!at)
		return 0;
	*at++ = '\0';
	for (const char *s = at; *s; s++)
		n += *s == ',';
	row->alias = alias = arena_alloc(r->a, (n + 1) * sizeof(*alias));
	if (!alias)
		return err_nomem(r->err);
	for (; at; row->n_alias++) {
		char *comma = strchr(at, ',');

		if (comma)
			*comma++ = '\0';
		alias[row->n_alias] = at;
		at = comma;
	}
	return 0;
}

/* Names become parts of other programs' names: OpenMetrics', SQL's. */
static bool name_fits(const char *s)
{
	if (!*s || (*s >= '0' && *s <= '9'))
		return false;
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool same_set_row(const struct set_row *a, const struct set_row *b)
{
	return !strcmp(a->place, b->place) && !strcmp(a->instance, b->instance) &&
	       !strcmp(a->name, b->name);
}

static int keep_set_row(struct reading *r, const struct set_row *row)
{
	vec_each (&r->row, struct set_row *, old) {
		if (!same_set_row(old, row))
			continue;
		*old = *row;
		return 0;
	}
	if (r->row.n >= ROW_LIMIT)
		return err_set(r->err, ERR_LIMIT, "%s: more than %u rows", row->file, ROW_LIMIT);
	return vec_push(&r->row, *row) ? err_nomem(r->err) : 0;
}

static int drop(struct reading *r, const struct set_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < r->row.n; i++)
		if (!same_set_row(&r->row.v[i], row))
			r->row.v[n++] = r->row.v[i];
	r->row.n = n;
	return 0;
}

static int read_row(struct reading *r, const struct source_text *t, const struct line *l)
{
	struct set_row row = { .file = t->file, .line = l->number, .instance = "" };
	char *place = arena_strndup(r->a, l->key, l->key_len), *colon;
	size_t at = 0;
	const char *names = word(r, l, &at), *kind = word(r, l, &at), *unit = word(r, l, &at);
	const char *rest = l->value + at, *help = memchr(rest, ';', l->len - at);
	size_t n = help ? (size_t)(help - rest) : l->len - at;
	char *own = names ? arena_strdup(r->a, names) : NULL;

	if (!place || !own || !kind || !unit)
		return err_nomem(r->err);
	colon = strchr(place, ':');
	if (colon) {
		*colon = '\0';
		row.instance = colon + 1;
	}
	row.place = place;
	if (split_names(r, &row, own))
		return -1;
	if (!name_fits(row.name) || !name_fits(row.place))
		return line_fail(
			t, l, l->key, r->err,
			"places and names are of a-z, 0-9 and _, none begins with a digit");
	if (!strcmp(kind, "absent"))
		return drop(r, &row);
	row.counter = !strcmp(kind, "counter");
	if (!row.counter && strcmp(kind, "gauge") != 0)
		return line_fail(t, l, l->value, r->err, "expected NAME counter or NAME gauge");
	while (n && (*rest == ' ' || *rest == '\t'))
		rest++, n--;
	if (!*unit || !n)
		return line_fail(t, l, l->value + at, r->err, "expected a unit and a formula");
	while (n > 1 && (rest[n - 1] == ' ' || rest[n - 1] == '\t'))
		n--;
	row.unit = strcmp(unit, "-") ? unit : "";
	row.formula = arena_strndup(r->a, rest, n);
	row.help = help ? arena_strndup(r->a, help + 1, (size_t)(l->value + l->len - help - 1))
			: arena_strdup(r->a, "");
	if (!row.formula || !row.help)
		return err_nomem(r->err);
	row.help += strspn(row.help, " \t");
	return keep_set_row(r, &row);
}

static int read_set(struct reading *r, const char *id, size_t below, unsigned nest)
{
	struct source_text t;
	struct line l;
	size_t at = 0;
	unsigned number = 0;
	bool first = true;
	int found = source_read(&t, r->a, r->sources, id, FILE_NAME, below, r->err);

	if (found <= 0)
		return found;
	for (; line_next(&t, &at, &number, &l); first = false) {
		char base[BASE_TEXT];
		bool own;

		if (!line_is(&l, "base")) {
			if (read_row(r, &t, &l))
				return -1;
			continue;
		}
		if (line_base(base, &t, &l, first ? nest : BASE_LIMIT, r->err))
			return -1;
		own = !strcmp(base, id);
		if (read_set(r, own ? id : base, own ? t.depth : SIZE_MAX, nest + 1))
			return -1;
	}
	return 0;
}

int set_load(struct set *s, struct arena *a, const struct model_sources *sources, const char *id,
	     struct err *err)
{
	struct reading r = { .a = a, .sources = sources, .err = err };
	int ret = -1;

	*s = (struct set){ 0 };
	if (read_set(&r, "", SIZE_MAX, 0) || (id && read_set(&r, id, SIZE_MAX, 0)))
		goto out;
	s->row = arena_memdup(a, r.row.v, r.row.n * sizeof(*r.row.v));
	s->n = r.row.n;
	ret = s->row || !s->n ? 0 : err_nomem(err);
out:
	vec_free(&r.row);
	return ret;
}

static bool by_set_name(const struct set_row *row, const char *said)
{
	char full[200];

	(void)snprintf(full, sizeof(full), "%s.%s", row->place, row->name);
	return text_means(said, row->name) || text_means(said, full) || !strcmp(said, row->place);
}

static bool by_alias(const struct set_row *row, const char *said)
{
	for (size_t i = 0; i < row->n_alias; i++)
		if (text_means(said, row->alias[i]))
			return true;
	return false;
}

bool set_means(const struct set_row *row, const char *said)
{
	return by_set_name(row, said) || by_alias(row, said);
}

bool set_means_alias(const struct set_row *row, const char *said)
{
	return !by_set_name(row, said) && by_alias(row, said);
}
