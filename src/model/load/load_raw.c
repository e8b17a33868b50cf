/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statements of a model's files, with those of its bases below them: strings, each with the
 * line that it comes from. A later statement about the same thing overrides an earlier one.
 */
#include <string.h>

#include "model/load/model_int.h"

static const char *const row_keys[KEY_COUNT] = {
#define KEY(id, text) [id] = text,
#include "model/load/row_key.def"
};

static const char *const account_keys[ACCOUNT_KEY_COUNT] = {
#define KEY(id, text) [id] = text,
#include "model/load/account_key.def"
};

/* Lower case on the stack: names are short. */
static size_t lower(char *out, size_t size, const char *s, size_t len)
{
	size_t n = len < size - 1 ? len : size - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') : s[i];
	out[n] = '\0';
	return n;
}

uint32_t raw_find(const struct strtab *t, const char *name, size_t len)
{
	char key[256];
	uint32_t id;

	if (len == 0 || len >= sizeof(key))
		return UINT32_MAX;
	lower(key, sizeof(key), name, len);
	id = strtab_find(t, key);
	return id == STR_NONE || id == 0 ? UINT32_MAX : id - 1;
}

/* The index of a name, made if it is new: then it is the table's last. */
static int name_id(struct strtab *t, const char *name, size_t len, uint32_t *out, struct err *err)
{
	char key[256];
	uint32_t id;

	lower(key, sizeof(key), name, len);
	if (t->n == 0 && strtab_add(t, "", 0) == STR_NONE)
		return err_nomem(err);
	id = strtab_adds(t, key);
	if (id == STR_NONE)
		return err_nomem(err);
	*out = id - 1;
	return 0;
}

static bool name_fits(const char *s, size_t len)
{
	if (!len || len > 200)
		return false;
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return true;
}

static int value_set(struct raw *r, struct raw_value *v, const struct source_text *t,
		     const struct line *l, struct err *err)
{
	v->s = arena_strndup(r->arena, l->value, l->len);
	v->file = t->file;
	v->line = l->number;
	return v->s ? 0 : err_nomem(err);
}

/* ---- nodes and metrics ---- */

struct rows_ctx {
	struct raw_row *row;
	bool perf; /* the file's language */
};

static void unlink_row(struct raw *r, uint32_t i)
{
	struct raw_row *v = r->rows.v;
	uint32_t prev = v[i].prev, next = v[i].next;

	*(prev == MODEL_NONE ? &r->first : &v[prev].next) = next;
	*(next == MODEL_NONE ? &r->last : &v[next].prev) = prev;
}

/* Behind `after`; MODEL_NONE: there is no row yet. */
static void link_row(struct raw *r, uint32_t i, uint32_t after)
{
	struct raw_row *v = r->rows.v;
	uint32_t next = after == MODEL_NONE ? MODEL_NONE : v[after].next;

	v[i].prev = after;
	v[i].next = next;
	*(after == MODEL_NONE ? &r->first : &v[after].next) = i;
	*(next == MODEL_NONE ? &r->last : &v[next].prev) = i;
}

static int row_open(struct raw *r, struct rows_ctx *c, const struct source_text *t,
		    const struct line *l, struct err *err)
{
	size_t len = l->len;
	uint32_t i;

	if (!name_fits(l->value, len))
		return line_fail(t, l, l->value, err, "expected a name");
	if (name_id(&r->row_name, l->value, len, &i, err))
		return -1;
	if (i == r->rows.n) {
		struct raw_row row = { .file = t->file, .line = l->number };

		row.name = arena_strndup(r->arena, l->value, len);
		row.absent = true;
		if (!row.name || vec_push(&r->rows, row))
			return err_nomem(err);
		if (r->rows.n > ROW_LIMIT)
			return line_fail(t, l, l->key, err, "more than %u nodes and metrics",
					 ROW_LIMIT);
		link_row(r, i, r->last);
	}
	c->row = &r->rows.v[i];
	if (c->row->absent) { /* new, or defined again after it was removed */
		memset(c->row->value, 0, sizeof(c->row->value));
		unlink_row(r, i);
		link_row(r, i, r->last);
		c->row->file = t->file;
		c->row->line = l->number;
	}
	c->row->absent = false;
	c->row->node = line_is(l, "node");
	return 0;
}

static int row_after(struct raw *r, struct rows_ctx *c, const struct source_text *t,
		     const struct line *l, struct err *err)
{
	uint32_t self = (uint32_t)(c->row - r->rows.v), i;
	const char *up = c->row->value[KEY_PARENT].s;

	if (l->len == 1 && *l->value == '-') {
		i = up ? raw_find(&r->row_name, up, strlen(up)) : MODEL_NONE;
		if (i == MODEL_NONE)
			return line_fail(t, l, l->value, err, "`after -` needs a parent before it");
	} else {
		i = raw_find(&r->row_name, l->value, l->len);
	}
	if (i == MODEL_NONE || i >= r->rows.n || i == self)
		return line_fail(t, l, l->value, err, "there is no other row of this name above");
	unlink_row(r, self);
	link_row(r, self, i);
	return 0;
}

static int language(const struct source_text *t, const struct line *l, bool *perf, struct err *err)
{
	*perf = l->len == 4 && !memcmp(l->value, "perf", 4);
	if (*perf || (l->len == 5 && !memcmp(l->value, "sheet", 5)))
		return 0;
	return line_fail(t, l, l->value, err, "expected language sheet or perf");
}

static int row_statement(struct raw *r, struct rows_ctx *c, const struct source_text *t,
			 const struct line *l, struct err *err)
{
	const char *const *keys = r->account ? account_keys : row_keys;
	int n_keys = r->account ? (int)ACCOUNT_KEY_COUNT : (int)KEY_COUNT;

	if (line_is(l, "node") || (!r->account && line_is(l, "metric")))
		return row_open(r, c, t, l, err);
	if (line_is(l, "language"))
		return language(t, l, &c->perf, err);
	if (r->account && line_is(l, "reference")) {
		bool none = l->len == 1 && *l->value == '-';

		if (!none)
			return value_set(r, &r->reference, t, l, err);
		r->reference.s = NULL;
		return 0;
	}
	if (r->account && line_is(l, "from"))
		return value_set(r, &r->from, t, l, err);
	if (!c->row)
		return line_fail(t, l, l->key, err, "expected `node NAME`%s first",
				 r->account ? "" : " or `metric NAME`");
	if (line_is(l, "absent")) {
		c->row->absent = true;
		return 0;
	}
	if (line_is(l, "after"))
		return row_after(r, c, t, l, err);
	for (int k = 0; k < n_keys; k++) {
		if (!line_is(l, keys[k]))
			continue;
		if (l->len == 1 && *l->value == '-') {
			c->row->value[k].s = NULL;
			return 0;
		}
		if (line_is(l, "expr"))
			c->row->perf = c->perf;
		return value_set(r, &c->row->value[k], t, l, err);
	}
	return line_fail(t, l, l->key, err, "there is no keyword %.*s here",
			 l->key_len > 40 ? 40 : (int)l->key_len, l->key);
}

static int rows_text(struct raw *r, const struct source_text *t, size_t at, unsigned number,
		     struct err *err)
{
	struct rows_ctx c = { NULL, r->perf };
	struct line l;

	while (line_next(t, &at, &number, &l))
		if (row_statement(r, &c, t, &l, err))
			return -1;
	return 0;
}

/* ---- events ---- */

static int events_text(struct raw *r, const struct source_text *t, size_t at, unsigned number,
		       struct err *err)
{
	struct line l;

	while (line_next(t, &at, &number, &l)) {
		bool absent = line_is(&l, "absent");
		const char *name = absent ? l.value : l.key;
		size_t len = absent ? l.len : l.key_len;
		struct raw_event *e;
		uint32_t i;

		if (!name_fits(name, len))
			return line_fail(t, &l, name, err, "expected an event's name");
		if (!absent && !l.len)
			return line_fail(t, &l, l.value, err, "expected terms behind the name");
		if (name_id(&r->event_name, name, len, &i, err))
			return -1;
		if (i >= ROW_LIMIT)
			return line_fail(t, &l, l.key, err, "more than %u events", ROW_LIMIT);
		if (i == r->events.n) {
			struct raw_event fresh = { .name = arena_strndup(r->arena, name, len) };

			if (!fresh.name || vec_push(&r->events, fresh))
				return err_nomem(err);
		}
		e = &r->events.v[i];
		e->absent = absent;
		e->rest = l.value; /* in the text, which is in the arena */
		e->rest_len = l.len;
		e->start = l.start;
		e->whole = l.whole;
		e->file = t->file;
		e->line = l.number;
	}
	return 0;
}

/* ---- facts and words ---- */

static int facts_text(struct raw *r, const struct source_text *t, size_t at, unsigned number,
		      struct err *err)
{
	const struct {
		const char *key;
		struct raw_value *v;
	} keys[] = {
		{ "title", &r->title },	      { "vendor", &r->vendor },
		{ "language", &r->language }, { "from", &r->from },
		{ "revision", &r->revision }, { "counters", &r->counters },
		{ "fixed", &r->fixed },	      { "width", &r->width },
		{ "per_core", &r->per_core }, { "perf_metrics", &r->perf_metrics },
		{ "tma", &r->tma },	      { "latency_from", &r->latency_from },
		{ "caution", &r->caution },
	};
	struct line l;

	while (line_next(t, &at, &number, &l)) {
		size_t k = 0, n = sizeof(keys) / sizeof(keys[0]);

		while (k < n && !line_is(&l, keys[k].key))
			k++;
		if (k == n)
			return line_fail(t, &l, l.key, err, "there is no keyword %.*s here",
					 l.key_len > 40 ? 40 : (int)l.key_len, l.key);
		if (value_set(r, keys[k].v, t, &l, err) ||
		    (keys[k].v == &r->language && language(t, &l, &r->perf, err)))
			return -1;
	}
	return 0;
}

static int words_text(struct raw *r, const struct source_text *t, size_t at, unsigned number,
		      struct err *err)
{
	struct raw_words *w = NULL;
	struct line l;

	while (line_next(t, &at, &number, &l)) {
		if (line_is(&l, "name")) {
			uint32_t i;

			if (!name_fits(l.value, l.len))
				return line_fail(t, &l, l.value, err, "expected a name");
			if (name_id(&r->word_name, l.value, l.len, &i, err))
				return -1;
			if (i >= ROW_LIMIT)
				return line_fail(t, &l, l.key, err, "more than %u names",
						 ROW_LIMIT);
			if (i == r->words.n &&
			    vec_push(&r->words, ((struct raw_words){ .says = { NULL, NULL, 0 } })))
				return err_nomem(err);
			w = &r->words.v[i];
		} else if (!w || !(line_is(&l, "says") || line_is(&l, "try"))) {
			return line_fail(t, &l, l.key, err, "expected name, says or try");
		} else if (value_set(r, line_is(&l, "says") ? &w->says : &w->try_, t, &l, err)) {
			return -1;
		}
	}
	return 0;
}

/* ---- files and their bases ---- */

typedef int text_fn(struct raw *r, const struct source_text *t, size_t at, unsigned number,
		    struct err *err);

/* The file `name` of `id`, that of its base first. A model in a directory may have itself as its
 * base: then the one below it is meant. */
static int load_file(struct raw *r, const char *id, const char *name, size_t below, unsigned nest,
		     text_fn *each, struct err *err)
{
	struct source_text t;
	size_t at = 0, before;
	unsigned number = 0;
	struct line l;
	int got = source_read(&t, r->arena, r->sources, id, name, below, err);

	if (got <= 0)
		return got;
	before = at;
	if (line_next(&t, &at, &number, &l) && line_is(&l, "base")) {
		char *base = arena_strndup(r->arena, l.value, l.len);
		bool self;
		int ret;

		if (!base)
			return err_nomem(err);
		self = !strcmp(base, id);
		if (nest == BASE_LIMIT)
			return line_fail(&t, &l, l.value, err,
					 "a chain of more than %d bases: does it go in a circle?",
					 BASE_LIMIT);
		ret = load_file(r, base, name, self ? t.depth : SIZE_MAX, nest + 1, each, err);
		if (ret < 0)
			return -1;
		if (ret == 0)
			return line_fail(&t, &l, l.value, err, "there is no %s of a model %.60s",
					 name, base);
	} else {
		at = before;
		number = 0;
	}
	return each(r, &t, at, number, err) ? -1 : 1;
}

struct raw_file {
	const char *name;
	text_fn *each;
	bool shared;
};

static int no_model(const struct raw *r, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "there is no model %.60s", r->id);
	return err_hint(err, "cyclade list models shows those there are");
}

int raw_load(struct raw *r, struct err *err)
{
	static const struct raw_file files[] = {
		{ "model", facts_text, false },	  { "words", words_text, true },
		{ "tree", rows_text, false },	  { "metrics", rows_text, false },
		{ "events", events_text, false },
	};

	r->first = r->last = MODEL_NONE;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int got = load_file(r, files[i].shared ? "" : r->id, files[i].name, SIZE_MAX, 0,
				    files[i].each, err);

		if (got < 0)
			return -1;
		if (got == 0 && i == 0)
			return no_model(r, err);
	}
	return 0;
}

int raw_account(struct raw *r, bool words, struct err *err)
{
	static const struct raw_file files[] = { { "model", facts_text, false },
						 { "words", words_text, true },
						 { "account", rows_text, false } };
	int got = 0;

	r->account = true;
	r->first = r->last = MODEL_NONE;
	for (size_t i = words ? 0 : 2; i < sizeof(files) / sizeof(files[0]); i++) {
		r->from.s = NULL; /* of the account, not of the model's facts */
		got = load_file(r, files[i].shared ? "" : r->id, files[i].name, SIZE_MAX, 0,
				files[i].each, err);
		if (got < 0)
			return -1;
		if (got == 0 && i == 0)
			return no_model(r, err);
	}
	return got;
}

void raw_free(struct raw *r)
{
	strtab_free(&r->row_name);
	strtab_free(&r->event_name);
	strtab_free(&r->word_name);
	vec_free(&r->rows);
	vec_free(&r->events);
	vec_free(&r->words);
}
