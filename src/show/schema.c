/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema - JSON Schema (draft 2020-12) of what format_json.c writes, from the same forms.
 *
 * A cell without a value is null. A column may be missing in all rows: the result then has nothing
 * for it. Tables whose columns depend on the recording (events, counters) have more members than
 * their form.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/document.h"

#define SCHEMA_TEXT 256

static const char *type_of(enum table_kind kind)
{
	switch (kind) {
	case T_ID:
	case T_COUNT:
	case T_BYTES:
	case T_SIGNED:
		return "integer";
	case T_FLAG:
		return "boolean";
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		return "number";
	case T_LIST:
		return "array";
	case T_TEXT:
	case T_ADDRESS:
		break;
	}
	return "string";
}

static void put_type(struct json *j, const char *type)
{
	const char *const or_null[] = { type, "null" };

	json_strings(j, "type", or_null, 2);
}

static void put_property(struct json *j, const char *key, const char *end, const char *type,
			 const char *means)
{
	char name[SCHEMA_TEXT];

	(void)snprintf(name, sizeof(name), "%s%s", key, end);
	json_object(j, name);
	put_type(j, type);
	if (means)
		json_str(j, "description", means);
	json_end_object(j);
}

static void put_column(struct json *j, const struct table_column *c)
{
	char means[SCHEMA_TEXT];

	(void)snprintf(means, sizeof(means), "%s%s%s%s", c->means ? c->means : "",
		       c->unit ? " (" : "", c->unit ? c->unit : "", c->unit ? ")" : "");
	json_object(j, c->key);
	put_type(j, type_of(c->kind));
	if (c->kind == T_LIST) {
		json_object(j, "items");
		json_str(j, "type", "string");
		json_end_object(j);
	}
	if (c->kind == T_ADDRESS)
		json_str(j, "pattern", "^0x[0-9a-f]+$");
	if (*means)
		json_str(j, "description", means);
	json_end_object(j);
	if (c->flags & C_ERROR)
		put_property(j, c->key, "_error", "number", "half of the 95 % interval");
	if (c->flags & C_WHY)
		put_property(j, c->key, "_why", "string", "why there is no value, or no error");
}

static void put_columns(struct json *j, const struct table_form *f)
{
	for (size_t i = 0; i < f->n_columns; i++)
		if (!(f->column[i].flags & C_PEOPLE))
			put_column(j, &f->column[i]);
}

/* Its columns are not known before the result. */
static bool grows(const struct table_form *f)
{
	return f->flags & TABLE_GROWS || !f->n_columns;
}

static void put_row(struct json *j, const struct table_form *f)
{
	json_str(j, "type", "object");
	json_object(j, "properties");
	put_columns(j, f);
	json_end_object(j);
	json_bool(j, "additionalProperties", grows(f));
}

/* A table of one row is an object; without that row it is an empty array. */
static void put_table(struct json *j, const struct table_form *f)
{
	json_object(j, f->name);
	if (f->title)
		json_str(j, "title", f->title);
	if (f->flags & TABLE_LINES) {
		json_str(j, "type", "array");
		json_object(j, "items");
		put_type(j, type_of(f->column->kind));
		json_end_object(j);
	} else if (f->flags & TABLE_ONE) {
		json_array(j, "anyOf");
		if (!(f->flags & TABLE_HEAD)) { /* else its members are the document's */
			json_object(j, NULL);
			put_row(j, f);
			json_end_object(j);
		}
		json_object(j, NULL);
		json_str(j, "type", "array");
		json_u64(j, "maxItems", 0);
		json_end_object(j);
		json_end_array(j);
	} else {
		json_str(j, "type", "array");
		json_object(j, "items");
		put_row(j, f);
		json_end_object(j);
	}
	json_end_object(j);
}

/* A member of the head that is called as its table is. */
static bool has_column_of(const struct table_form *f, const char *name)
{
	bool found = false;

	for (size_t i = 0; f->flags & TABLE_HEAD && i < f->n_columns; i++)
		found |= !strcmp(f->column[i].key, name);
	return found;
}

void document_schema(struct buf *out, const struct document_form *f)
{
	const char *const needed[] = { "schema" };
	char name[SCHEMA_TEXT];
	struct json j;
	bool more = false, notes = false;

	(void)snprintf(name, sizeof(name), "cyclade.%s/%u", f->name, f->version);
	json_init(&j, out, true);
	json_object(&j, NULL);
	json_str(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_str(&j, "title", name);
	json_str(&j, "type", "object");
	json_object(&j, "properties");
	json_object(&j, "schema");
	json_str(&j, "const", name);
	json_end_object(&j);
	for (size_t i = 0; i < f->n_tables; i++) {
		if (f->table[i]->flags & TABLE_PEOPLE)
			continue;
		if (f->table[i]->flags & TABLE_HEAD)
			put_columns(&j, f->table[i]);
		more |= f->table[i]->flags & TABLE_HEAD && grows(f->table[i]);
		notes |= !strcmp(f->table[i]->name, document_notes_form.name);
		if (!has_column_of(f->table[i], f->table[i]->name))
			put_table(&j, f->table[i]);
	}
	if (!notes)
		put_table(&j, &document_notes_form);
	json_end_object(&j);
	json_strings(&j, "required", needed, 1);
	json_bool(&j, "additionalProperties", more);
	json_end_object(&j);
}
