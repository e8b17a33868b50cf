/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles for programs and spreadsheets. json: "schema": "cyclade.account/1", all of it.
 * csv: one table at a time, by --fields: rows (each node and its error a column), tree, events.
 * Values are cycles, or the node's unit; errors half of the 95 % interval; what has no value is empty,
 * or null with a "why".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "report/account_int.h"
#include "report/column.h"

static const struct account *acc_of(const struct account_view *v)
{
	return v->source.bound->acc;
}

/* ---- csv ---- */

static void put_real(struct buf *b, char sep, double x)
{
	buf_putc(b, sep);
	text_put_csv_real(b, x);
}

static void put_text(struct buf *b, char sep, const char *s)
{
	buf_putc(b, sep);
	text_put_csv_safe(b, s, sep);
}

static void put_head(struct buf *b, char sep, const char *s)
{
	if (sep)
		buf_putc(b, sep);
	buf_puts(b, s);
}

static void csv_keys(struct buf *b, const struct account_view *v, const struct account_row *r,
		     char sep)
{
	const struct profile_opts *o = profile_options(v->source.profile);
	struct buf key = BUF_INIT;

	for (size_t k = 0; k < o->n_keys; k++) {
		buf_reset(&key);
		if (r)
			account_put_key(&key, v, r, k);
		if (k + 1 == o->n_keys && (!r || !r->row))
			buf_puts(&key, !r ? "(all)" : r->left_out ? "(left out)" : "(more)");
		if (k)
			buf_putc(b, sep);
		text_put_csv_safe(b, buf_str(&key), sep);
	}
	b->failed |= key.failed;
	buf_free(&key);
}

static void csv_cells(struct buf *b, const struct account_view *v, const struct account_cell *c,
		      char sep)
{
	for (size_t i = 0; i < acc_of(v)->n; i++) {
		put_real(b, sep, c[i].v);
		put_real(b, sep, c[i].half);
	}
	buf_puts(b, "\r\n");
}

static void csv_rows(struct buf *b, struct account_view *v, char sep)
{
	const struct profile_opts *o = profile_options(v->source.profile);
	const struct account *acc = acc_of(v);

	for (size_t k = 0; k < o->n_keys; k++)
		put_head(b, k ? sep : 0, column_table[column_of_key(o->key[k])].name);
	for (size_t i = 0; i < acc->n; i++) {
		put_text(b, sep, acc->node[i].name);
		buf_printf(b, "%c%s_error", sep, acc->node[i].name);
	}
	buf_puts(b, "\r\n");
	csv_keys(b, v, NULL, sep);
	csv_cells(b, v, v->source.bound->whole, sep);
	for (size_t i = 0; i < v->n_rows; i++) {
		csv_keys(b, v, &v->row[i], sep);
		csv_cells(b, v, account_view_cells(v, &v->row[i]), sep);
	}
}

/* "Load_Latency.DTLB" */
static void put_path(struct buf *b, const struct account *acc, uint32_t node)
{
	if (acc->node[node].parent != MODEL_NONE) {
		put_path(b, acc, acc->node[node].parent); /* the loader bounds the depth */
		buf_putc(b, '.');
	}
	buf_puts(b, acc->node[node].name);
}

static void csv_tree(struct buf *b, const struct account_view *v, char sep)
{
	static const char *const head[] = { "node",	   "part",    "cover",	   "event",
					    "recorded",	   "penalty", "reference", "unit",
					    "value",	   "error",   "share",	   "samples",
					    "significant", "overlap", "disagrees", "why" };
	const struct account_bound *bd = v->source.bound;

	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		put_head(b, i ? sep : 0, head[i]);
	buf_puts(b, "\r\n");
	for (uint32_t i = 0; i < bd->acc->n; i++) {
		const struct account_node *t = &bd->acc->node[i];
		const struct account_cell *c = &bd->whole[i];
		int32_t e = t->event == MODEL_NONE ? -1 : bd->event[t->event];

		put_path(b, bd->acc, i);
		put_text(b, sep, account_part_text(t->part));
		put_text(b, sep, account_cover_text(t->cover));
		put_text(b, sep, account_event_name(v, t->event));
		put_text(b, sep, e < 0 ? "" : v->source.view->event[e].name);
		put_real(b, sep, t->event == MODEL_NONE ? NAN : t->penalty);
		buf_printf(b, "%c%d", sep, t->reference);
		put_text(b, sep, t->cycles ? "cycles" : t->unit);
		put_real(b, sep, c->v);
		put_real(b, sep, c->half);
		put_real(b, sep, t->cycles ? c->v / bd->whole[0].v : NAN);
		buf_printf(b, "%c%llu%c%d%c%d%c%d", sep, (unsigned long long)c->samples, sep,
			   c->significant, sep, c->overlap, sep, c->disagrees);
		put_text(b, sep, account_why_text(c->why));
		buf_puts(b, "\r\n");
	}
}

static void csv_events(struct buf *b, const struct account_view *v, char sep)
{
	static const char *const head[] = { "event",  "samples", "occurrences", "used",
					    "factor", "least",	 "most" };
	const struct mux_event *m = NULL;
	size_t n = 0;

	if (v->source.mux)
		m = mux_events(v->source.mux, &n);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		put_head(b, i ? sep : 0, head[i]);
	buf_puts(b, "\r\n");
	for (size_t e = 0; e < v->n_events; e++) {
		text_put_csv_safe(b, v->source.view->event[e].name, sep);
		buf_printf(b, "%c%llu%c%llu%c%d", sep, (unsigned long long)v->whole[e].samples, sep,
			   (unsigned long long)v->whole[e].period, sep,
			   account_uses(v->source.bound, e));
		put_real(b, sep, m && m[e].told ? m[e].mean : NAN);
		put_real(b, sep, m && m[e].told ? m[e].least : NAN);
		put_real(b, sep, m && m[e].told ? m[e].most : NAN);
		buf_puts(b, "\r\n");
	}
}

int account_csv(struct buf *b, struct account_view *v, struct err *err)
{
	const char *table = v->opts.table ? v->opts.table : "rows";
	char sep = v->opts.separator ? v->opts.separator : ',';

	if (!strcmp(table, "rows"))
		csv_rows(b, v, sep);
	else if (!strcmp(table, "tree"))
		csv_tree(b, v, sep);
	else if (!strcmp(table, "events"))
		csv_events(b, v, sep);
	else {
		(void)err_set(err, ERR_USAGE, "an account has no table '%.40s'", table);
		return err_hint(err, "--fields rows, tree or events");
	}
	return b->failed ? err_nomem(err) : 0;
}

/* ---- json ---- */

static void put_cell(struct json *j, const struct account_view *v, const char *key,
		     const struct account_cell *c)
{
	json_object(j, key);
	if (isnan(c->v))
		json_null(j, "value");
	else
		json_real(j, "value", c->v);
	json_real(j, "error", c->half);
	json_u64(j, "samples", c->samples);
	json_bool(j, "significant", c->significant);
	if (c->overlap)
		json_bool(j, "overlap", true);
	if (c->disagrees)
		json_bool(j, "disagrees", true);
	if (c->why) {
		json_str(j, "why", account_why_text(c->why));
		if (c->which != MODEL_NONE)
			json_str(j, "which", account_event_name(v, c->which));
	}
	json_end_object(j);
}

static void put_node(struct json *j, const struct account_view *v, uint32_t node)
{
	const struct account_bound *bd = v->source.bound;
	const struct account_node *t = &bd->acc->node[node];
	int32_t e = t->event == MODEL_NONE ? -1 : bd->event[t->event];

	json_object(j, NULL);
	json_str(j, "name", t->name);
	json_str(j, "parent", t->parent == MODEL_NONE ? NULL : bd->acc->node[t->parent].name);
	json_u64(j, "depth", t->depth);
	json_str(j, "part", account_part_text(t->part));
	json_str(j, "cover", account_cover_text(t->cover));
	json_str(j, "unit", t->cycles ? "cycles" : t->unit);
	json_bool(j, "adds", t->adds);
	json_bool(j, "whole", t->whole);
	if (t->event != MODEL_NONE) {
		json_str(j, "event", account_event_name(v, t->event));
		json_str(j, "recorded", e < 0 ? NULL : v->source.view->event[e].name);
		json_real(j, "penalty", t->penalty);
		json_bool(j, "reference", t->reference);
	}
	if (t->expr)
		json_str(j, "formula", t->text);
	if (t->within != MODEL_NONE)
		json_str(j, "within", bd->acc->node[t->within].name);
	if (t->same != MODEL_NONE)
		json_str(j, "same", bd->acc->node[t->same].name);
	put_cell(j, v, "all", &bd->whole[node]);
	json_end_object(j);
}

static void put_row(struct json *j, struct account_view *v, const struct account_row *r)
{
	const struct profile_opts *o = profile_options(v->source.profile);
	const struct account_cell *c = account_view_cells(v, r);
	const struct account *acc = acc_of(v);
	struct buf key = BUF_INIT;

	json_object(j, NULL);
	for (size_t k = 0; r->row && k < o->n_keys; k++) {
		const char *name = column_table[column_of_key(o->key[k])].name;
		bool number = o->key[k] == KEY_PID || o->key[k] == KEY_TID ||
			      o->key[k] == KEY_CPU || o->key[k] == KEY_SOCKET;

		buf_reset(&key);
		account_put_key(&key, v, r, k);
		if (number && key.len)
			json_u64(j, name, r->row->key[k]);
		else
			json_str(j, name, number ? NULL : buf_str(&key));
	}
	if (!r->row) {
		json_u64(j, "folded", r->folded);
		json_bool(j, "left_out", r->left_out);
	}
	json_object(j, "cells");
	for (size_t i = 0; i < acc->n; i++)
		put_cell(j, v, acc->node[i].name, &c[i]);
	json_end_object(j);
	json_end_object(j);
	j->out->failed |= key.failed;
	buf_free(&key);
}

static void put_events(struct json *j, const struct account_view *v)
{
	const struct mux_event *m = NULL;
	size_t n = 0;

	if (v->source.mux)
		m = mux_events(v->source.mux, &n);
	json_array(j, "events");
	for (size_t e = 0; e < v->n_events; e++) {
		json_object(j, NULL);
		json_str(j, "name", v->source.view->event[e].name);
		json_u64(j, "samples", v->whole[e].samples);
		json_u64(j, "occurrences", v->whole[e].period);
		json_bool(j, "used", account_uses(v->source.bound, e));
		if (m && m[e].told) {
			json_real(j, "factor", m[e].mean);
			json_real(j, "least", m[e].least);
			json_real(j, "most", m[e].most);
			json_u64(j, "windows", m[e].windows);
		} else {
			json_null(j, "factor");
			json_str(j, "why", "the recording does not tell how long it had a counter");
		}
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_missing(struct json *j, const struct account_view *v)
{
	const struct account_bound *bd = v->source.bound;

	json_array(j, "not_recorded");
	for (uint32_t e = 0; e < bd->acc->model->n_events; e++) {
		bool used = false;

		for (size_t i = 0; bd->event[e] < 0 && i < bd->acc->n; i++)
			used |= bd->acc->node[i].event == e;
		if (used)
			json_str(j, NULL, bd->acc->model->event[e].name);
	}
	json_end_array(j);
}

void account_json(struct buf *b, struct account_view *v)
{
	const struct account_bound *bd = v->source.bound;
	const struct pd_losses *l = v->source.view->losses;
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.account/1");
	json_str(&j, "version", v->source.view->version);
	json_str(&j, "model", bd->acc->model->id);
	json_str(&j, "title", bd->acc->model->title);
	json_str(&j, "from", bd->acc->from);
	json_str(&j, "pmu", v->source.pmu);
	json_real(&j, "clock_ratio", bd->clock_ratio);
	json_real(&j, "halted", bd->halted);
	json_array(&j, "nodes");
	for (uint32_t i = 0; i < bd->acc->n; i++)
		put_node(&j, v, i);
	json_end_array(&j);
	json_array(&j, "rows");
	for (size_t i = 0; i < v->n_rows; i++)
		put_row(&j, v, &v->row[i]);
	json_end_array(&j);
	put_events(&j, v);
	put_missing(&j, v);
	json_object(&j, "losses");
	json_u64(&j, "lost_records", l->lost_records);
	json_u64(&j, "lost", l->lost);
	json_u64(&j, "lost_samples", l->lost_samples);
	json_u64(&j, "read_lost", l->read_lost);
	json_u64(&j, "throttles", l->throttles);
	json_u64(&j, "unattributed", l->unattributed);
	json_end_object(&j);
	json_strings(&j, "notes", v->source.notes, v->source.n_notes);
	json_strings(&j, "recording_notes", v->source.view->notes, v->source.view->n_notes);
	json_end_object(&j);
	buf_putc(b, '\n');
}
