/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/saved.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/xalloc.h"

#define FILE_MAX ((size_t)64 << 20)

typedef VEC(const cJSON *) rows;

struct saved {
	struct document d;
	VEC(cJSON *) text;
	rows *row; /* by table of the form */
};

bool saved_is(const char *path)
{
	char begin[64];
	size_t n = file_in_head(path, begin, sizeof(begin)), i = 0;

	while (i < n && strchr(" \t\r\n", begin[i]) && begin[i])
		i++;
	return i < n && begin[i] == '{';
}

/* ---- cells ----------------------------------------------------------------------------------- */

static const cJSON *member(const cJSON *object, const char *key, const char *tail)
{
	char name[128];

	if (snprintf(name, sizeof(name), "%s%s", key, tail) >= (int)sizeof(name))
		return NULL;
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* A number as one that counts; out->none if it is none. */
static void put_saved_count(struct table_cell *out, double x)
{
	out->none = !(x >= 0 && x < 0x1p64);
	out->n = out->none ? 0 : (uint64_t)x;
}

static void put_saved_number(struct table_cell *out, double x)
{
	switch (out->kind) {
	case T_ID:
	case T_COUNT:
	case T_BYTES:
	case T_ADDRESS:
		put_saved_count(out, x);
		break;
	case T_SIGNED:
		out->none = !(x >= -0x1p63 && x < 0x1p63);
		out->i = out->none ? 0 : (int64_t)x;
		break;
	case T_FLAG:
		out->n = x != 0;
		break;
	case T_TEXT:
	case T_LIST:
		out->kind = T_REAL;
		out->e.v = x;
		break;
	default:
		out->e.v = x;
		break;
	}
}

static void put_saved_list(struct table_cell *out, const cJSON *list)
{
	const cJSON *x;

	out->kind = T_TEXT;
	cJSON_ArrayForEach(x, list) if (cJSON_IsString(x))
		buf_printf(out->scratch, "%s%s", out->scratch->len ? "; " : "", x->valuestring);
	out->text = buf_str(out->scratch);
}

TABLE_GET(get_json_value)
{
	const cJSON *o = *(const cJSON *const *)r->p;
	const cJSON *x = cJSON_IsObject(o) ? member(o, c->key, "") : o;
	const cJSON *half = member(o, c->key, "_error"), *why = member(o, c->key, "_why");

	if (cJSON_IsString(why))
		out->e.why = why->valuestring;
	if (cJSON_IsNumber(half))
		out->e.half = half->valuedouble;
	if (cJSON_IsString(x) && out->kind == T_ADDRESS) {
		out->n = strtoull(x->valuestring, NULL, 0);
	} else if (cJSON_IsString(x)) {
		out->kind = T_TEXT;
		out->text = x->valuestring;
	} else if (cJSON_IsNumber(x)) {
		put_saved_number(out, x->valuedouble);
	} else if (cJSON_IsBool(x)) {
		put_saved_number(out, cJSON_IsTrue(x) ? 1 : 0);
	} else if (cJSON_IsArray(x)) {
		put_saved_list(out, x);
	} else {
		out->none = true;
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_saved_rows(rows *v, const struct table_form *f, const cJSON *doc)
{
	const cJSON *x =
		f->flags & TABLE_HEAD ? doc : cJSON_GetObjectItemCaseSensitive(doc, f->name);
	const cJSON *row;

	if (cJSON_IsObject(x))
		vec_xpush(v, x);
	if (cJSON_IsArray(x)) /* of objects, or of texts */
		cJSON_ArrayForEach(row, x) vec_xpush(v, row);
}

/* The form with values that are read from objects. */
static void add_saved_table(struct saved *s, const struct table_form *f, const rows *v)
{
	struct table_column *c = arena_xalloc(&s->d.a, (f->n_columns + 1) * sizeof(*c));
	struct table_form *own = arena_xmemdup(&s->d.a, f, sizeof(*f));
	struct table t = { .form = own, .array = v->v, .n = v->n, .stride = sizeof(*v->v) };

	own->column = c;
	own->next = NULL; /* rows are an array, whatever those of the result are */
	for (size_t i = 0; i < f->n_columns; i++) {
		c[i] = f->column[i];
		c[i].get = get_json_value;
		c[i].field = (struct table_field){ 0 };
	}
	vec_xpush(&s->d.table, t);
}

static void make_saved_tables(struct saved *s, const struct document_form *f)
{
	s->row = xcalloc(f->n_tables, sizeof(*s->row));
	for (size_t i = 0; i < f->n_tables; i++) {
		if (f->table[i]->flags & TABLE_PEOPLE)
			continue;
		for (size_t k = 0; k < s->text.n; k++)
			add_saved_rows(&s->row[i], f->table[i], s->text.v[k]);
		add_saved_table(s, f->table[i], &s->row[i]);
	}
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Returns true if the document is of a form: "cyclade.counts/2". */
static bool is_saved_of(const cJSON *doc, const struct document_form *f)
{
	const cJSON *schema = cJSON_GetObjectItemCaseSensitive(doc, "schema");
	const char *s = cJSON_IsString(schema) ? schema->valuestring : "";
	size_t len = strlen(f->name);

	return !strncmp(s, "cyclade.", 8) && !strncmp(s + 8, f->name, len) && s[8 + len] == '/' &&
	       strtoul(s + 9 + len, NULL, 10) == f->version;
}

static int parse_documents(struct saved *s, const char *text, size_t len, const char *path,
			   struct err *err)
{
	const char *end = text + len, *at = text;

	while (at < end) {
		const char *stop = NULL;
		cJSON *doc;

		at += strspn(at, " \t\r\n");
		if (at >= end || !*at)
			break;
		doc = cJSON_ParseWithLengthOpts(at, (size_t)(end - at) + 1, &stop, 0);
		if (!doc)
			return err_set(err, ERR_FORMAT, "%s: is no JSON at byte %zu", path,
				       (size_t)((stop ? stop : at) - text));
		vec_xpush(&s->text, doc);
		at = stop;
	}
	return s->text.n ? 0 : err_set(err, ERR_FORMAT, "%s: is empty", path);
}

static int read_saved_file(struct saved *s, const char *path, struct err *err)
{
	struct file_map map = { 0 };
	char *text;
	int ret;

	file_keep_path(path, FILE_SECRET);
	if (file_map_open(&map, path, err))
		return -1;
	if (map.len > FILE_MAX) {
		file_map_close(&map);
		return err_set(err, ERR_LIMIT, "%s: is larger than 64 MB", path);
	}
	text = xmalloc(map.len + 1); /* ended by 0, for strspn() */
	memcpy(text, map.p, map.len);
	text[map.len] = 0;
	ret = parse_documents(s, text, map.len, path, err);
	free(text);
	file_map_close(&map);
	return ret;
}

/* Which results can be. */
static int hint_forms(const struct document_form *const *forms, size_t n, struct err *err)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%scyclade.%s/%u", i ? ", " : "", forms[i]->name, forms[i]->version);
	(void)err_hint(err, "results (-j) of these schemas: %.200s", buf_str(&b));
	buf_free(&b);
	return -1;
}

static int choose_form(struct saved *s, const char *path, const struct document_form *const *forms,
		       size_t n, struct err *err)
{
	const struct document_form *f = NULL;

	for (size_t i = 0; i < n && !f; i++)
		f = is_saved_of(s->text.v[0], forms[i]) ? forms[i] : NULL;
	for (size_t i = 0; f && i < s->text.n; i++)
		if (!is_saved_of(s->text.v[i], f))
			return err_set(err, ERR_FORMAT, "%s: has results of different kinds", path);
	if (!f) {
		(void)err_set(err, ERR_FORMAT, "%s: is no result that can be read here", path);
		return hint_forms(forms, n, err);
	}
	document_open(&s->d, f, NULL);
	make_saved_tables(s, f);
	return 0;
}

int saved_open(struct saved **out, const char *path, const struct document_form *const *forms,
	       size_t n, struct err *err)
{
	struct saved *s = xcalloc(1, sizeof(*s));

	*out = NULL;
	document_open(&s->d, NULL, NULL);
	if (read_saved_file(s, path, err) || choose_form(s, path, forms, n, err)) {
		saved_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

const struct document *saved_document(const struct saved *s)
{
	return &s->d;
}

void saved_free(struct saved *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->row && i < s->d.form->n_tables; i++)
		vec_free(&s->row[i]);
	free(s->row);
	for (size_t i = 0; i < s->text.n; i++)
		cJSON_Delete(s->text.v[i]);
	vec_free(&s->text);
	document_close(&s->d);
	free(s);
}
