/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles for programs and spreadsheets. json: "schema": "cyclade.account/2", all of
 * it; each kind of cores is one of "accounts"; a row is a line, its "cells" those of the nodes that
 * have a value somewhere (what the others lack is told once, in "nodes"). csv: one table at a time,
 * by --fields: rows (each node and its error a column), tree, events; of a hybrid with a first
 * column pmu, and rows with the nodes of all trees. Values are cycles, or the node's unit; errors
 * half of the 95 % interval; what has no value is empty, or null with a "why".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "report/account/account_int.h"
#include "report/column.h"
#include "report/json_more.h"
#include "report/losses.h"

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

static uint32_t node_named(const struct account_view *v, const char *name)
{
	return account_find(acc_of(v), name, strlen(name));
}

/* The nodes of all trees, each name once; which node that is in the tree being written, or
 * MODEL_NONE. */
struct names {
	const char **v;
	uint32_t *node;
	size_t n;
};

static void names_free(struct names *names)
{
	free(names->node);
	free(names->v);
}

static int names_of(struct names *out, struct account_view *const *v, size_t n, struct err *err)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most += acc_of(v[i])->n;
	out->n = 0;
	out->v = calloc(most + 1, sizeof(*out->v));
	out->node = calloc(most + 1, sizeof(*out->node));
	if (!out->v || !out->node) {
		names_free(out);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < acc_of(v[i])->n; k++) {
			const char *name = acc_of(v[i])->node[k].name;
			bool had = false;

			for (size_t j = 0; j < i && !had; j++)
				had = node_named(v[j], name) != MODEL_NONE;
			if (!had)
				out->v[out->n++] = name;
		}
	return 0;
}

/* Once a tree: there may be a million rows. */
static void names_find(struct names *names, const struct account_view *v)
{
	for (size_t i = 0; i < names->n; i++)
		names->node[i] = node_named(v, names->v[i]);
}

/* Columns of recordings with branch records alone. */
static void csv_ran(struct buf *b, const struct account_view *v, const struct account_row *r,
		    char sep)
{
	const struct account_ran *x = r ? account_view_ran(v, r) : NULL;

	if (!v->source.rans)
		return;
	put_real(b, sep, x ? x->insns.v : NAN);
	put_real(b, sep, x ? x->insns.half : NAN);
	put_real(b, sep, x ? x->called.v : NAN);
	put_real(b, sep, x ? x->called.half : NAN);
	put_real(b, sep, x && x->has_calls ? (double)x->callers : NAN);
	put_real(b, sep, x && x->has_calls ? (double)x->callees : NAN);
	put_text(b, sep, x && v->source.rans->late ? flow_late : NULL);
}

static void csv_cells(struct buf *b, const struct account_cell *c, const struct names *names,
		      char sep)
{
	for (size_t i = 0; i < names->n; i++) {
		uint32_t node = names->node[i];

		put_real(b, sep, node == MODEL_NONE ? NAN : c[node].v);
		put_real(b, sep, node == MODEL_NONE ? NAN : c[node].half);
	}
}

static void csv_end(struct buf *b)
{
	buf_puts(b, "\r\n");
	buf_spill(b);
}

static void csv_pmu(struct buf *b, const struct account_view *v, char sep)
{
	if (!v->source.pmu)
		return;
	text_put_csv_safe(b, v->source.pmu, sep);
	buf_putc(b, sep);
}

static void csv_pmu_head(struct buf *b, const struct account_view *v, char sep)
{
	if (v->source.pmu)
		buf_printf(b, "pmu%c", sep);
}

static int csv_rows(struct buf *b, struct account_view *const *v, size_t n, char sep,
		    struct err *err)
{
	static const char *const ran_head[] = { "insns",	"insns_error", "called",
						"called_error", "callers",     "callees",
						"branches_why" };
	const struct profile_opts *o = profile_options(v[0]->source.profile);
	struct names names;

	if (names_of(&names, v, n, err))
		return -1;
	csv_pmu_head(b, v[0], sep);
	for (size_t k = 0; k < o->n_keys; k++)
		put_head(b, k ? sep : 0, column_table[column_of_key(o->key[k])].name);
	for (size_t i = 0; i < names.n; i++) {
		put_text(b, sep, names.v[i]);
		buf_printf(b, "%c%s_error", sep, names.v[i]);
	}
	for (size_t i = 0; v[0]->source.rans && i < sizeof(ran_head) / sizeof(*ran_head); i++)
		put_head(b, sep, ran_head[i]);
	buf_puts(b, "\r\n");
	for (size_t k = 0; k < n; k++) {
		names_find(&names, v[k]);
		csv_pmu(b, v[k], sep);
		csv_keys(b, v[k], NULL, sep);
		csv_cells(b, v[k]->source.bound->whole, &names, sep);
		csv_ran(b, v[k], NULL, sep);
		csv_end(b);
		for (size_t i = 0; i < v[k]->n_rows && !b->failed; i++) {
			csv_pmu(b, v[k], sep);
			csv_keys(b, v[k], &v[k]->row[i], sep);
			csv_cells(b, account_view_cells(v[k], &v[k]->row[i]), &names, sep);
			csv_ran(b, v[k], &v[k]->row[i], sep);
			csv_end(b);
		}
	}
	names_free(&names);
	return 0;
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

static void csv_nodes(struct buf *b, const struct account_view *v, char sep)
{
	const struct account_bound *bd = v->source.bound;

	for (uint32_t i = 0; i < bd->acc->n; i++) {
		const struct account_node *t = &bd->acc->node[i];
		const struct account_cell *c = &bd->whole[i];
		int32_t e = t->event == MODEL_NONE ? -1 : bd->event[t->event];

		csv_pmu(b, v, sep);
		put_path(b, bd->acc, i);
		put_text(b, sep, account_part_text(t->part));
		put_text(b, sep, account_cover_text(t->cover));
		put_text(b, sep, account_event_name(v, t->event));
		put_text(b, sep, e < 0 ? "" : v->source.view->event[e].name);
		put_real(b, sep, t->event == MODEL_NONE ? NAN : t->penalty);
		buf_printf(b, "%c%d%c%d", sep, t->reference, sep, t->ns);
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

static void csv_tree(struct buf *b, struct account_view *const *v, size_t n, char sep)
{
	static const char *const head[] = { "node",	"part",	       "cover",	    "event",
					    "recorded", "penalty",     "reference", "ns",
					    "unit",	"value",       "error",	    "share",
					    "samples",	"significant", "overlap",   "disagrees",
					    "why" };

	csv_pmu_head(b, v[0], sep);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		put_head(b, i ? sep : 0, head[i]);
	buf_puts(b, "\r\n");
	for (size_t k = 0; k < n; k++)
		csv_nodes(b, v[k], sep);
}

/* The kind of cores whose tree has the event; NULL: none has. */
static const struct account_view *view_using(struct account_view *const *v, size_t n, size_t event)
{
	for (size_t k = 0; k < n; k++)
		if (account_uses(v[k]->source.bound, event))
			return v[k];
	return NULL;
}

static void csv_events(struct buf *b, struct account_view *const *views, size_t n_views, char sep)
{
	const struct account_view *v = views[0], *by;
	static const char *const head[] = { "event",  "samples", "occurrences", "used",
					    "factor", "least",	 "most" };
	const struct mux_event *m = NULL;
	size_t n = 0;

	if (v->source.mux)
		m = mux_events(v->source.mux, &n);
	csv_pmu_head(b, v, sep);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		put_head(b, i ? sep : 0, head[i]);
	buf_puts(b, "\r\n");
	for (size_t e = 0; e < v->n_events; e++) {
		by = view_using(views, n_views, e);
		if (by)
			csv_pmu(b, by, sep);
		else if (v->source.pmu)
			buf_putc(b, sep);
		text_put_csv_safe(b, v->source.view->event[e].name, sep);
		buf_printf(b, "%c%llu%c%llu%c%d", sep, (unsigned long long)v->whole[e].samples, sep,
			   (unsigned long long)v->whole[e].period, sep, by != NULL);
		put_real(b, sep, m && m[e].told ? m[e].mean : NAN);
		put_real(b, sep, m && m[e].told ? m[e].least : NAN);
		put_real(b, sep, m && m[e].told ? m[e].most : NAN);
		buf_puts(b, "\r\n");
	}
}

int account_csv(struct buf *b, struct account_view *const *v, size_t n, struct err *err)
{
	const char *table = v[0]->opts.table ? v[0]->opts.table : "rows";
	char sep = v[0]->opts.separator ? v[0]->opts.separator : ',';

	if (!strcmp(table, "rows")) {
		if (csv_rows(b, v, n, sep, err))
			return -1;
	} else if (!strcmp(table, "tree")) {
		csv_tree(b, v, n, sep);
	} else if (!strcmp(table, "events")) {
		csv_events(b, v, n, sep);
	} else {
		(void)err_set(err, ERR_USAGE, "an account has no table '%.40s'", table);
		return err_hint(err, "--fields rows, tree or events");
	}
	return buf_error(b, err);
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
		json_bool(j, "ns", t->ns);
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

/* Not in this row, as not in any, and for the same reason: the list of nodes tells it once. */
static bool nowhere(const struct account_cell *c, const struct account_cell *whole)
{
	return isnan(c->v) && isnan(whole->v) && c->why == whole->why && c->which == whole->which;
}

/* By branch records; nothing where nothing is known. */
static void put_ran(struct json *j, const struct account_ran *x)
{
	if (!x)
		return;
	json_object(j, "branches");
	json_flow(j, "insns", x->insns);
	json_flow(j, "called", x->called);
	if (x->has_calls) {
		json_u64(j, "callers", x->callers);
		json_u64(j, "callees", x->callees);
	}
	json_end_object(j);
}

static void put_row(struct json *j, struct account_view *v, const struct account_row *r)
{
	const struct profile_opts *o = profile_options(v->source.profile);
	const struct account_cell *c = account_view_cells(v, r);
	const struct account *acc = acc_of(v);
	struct buf key = BUF_INIT;
	bool pretty;

	json_object(j, NULL);
	pretty = json_pretty(j, false);
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
	put_ran(j, account_view_ran(v, r));
	json_object(j, "cells");
	for (size_t i = 0; i < acc->n; i++)
		if (!nowhere(&c[i], &v->source.bound->whole[i]))
			put_cell(j, v, acc->node[i].name, &c[i]);
	json_end_object(j);
	json_end_object(j);
	(void)json_pretty(j, pretty);
	j->out->failed |= key.failed;
	buf_free(&key);
}

static void put_events(struct json *j, struct account_view *const *views, size_t n_views)
{
	const struct account_view *v = views[0], *by;
	const struct mux_event *m = NULL;
	size_t n = 0;

	if (v->source.mux)
		m = mux_events(v->source.mux, &n);
	json_array(j, "events");
	for (size_t e = 0; e < v->n_events; e++) {
		by = view_using(views, n_views, e);
		json_object(j, NULL);
		json_str(j, "name", v->source.view->event[e].name);
		json_u64(j, "samples", v->whole[e].samples);
		json_u64(j, "occurrences", v->whole[e].period);
		json_bool(j, "used", by != NULL);
		if (by && by->source.pmu)
			json_str(j, "pmu", by->source.pmu);
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

static void put_account(struct json *j, struct account_view *v)
{
	const struct account_bound *bd = v->source.bound;

	json_object(j, NULL);
	json_str(j, "model", bd->acc->model->id);
	json_str(j, "title", bd->acc->model->title);
	json_str(j, "from", bd->acc->from);
	json_str(j, "pmu", v->source.pmu);
	json_real(j, "clock_ratio", bd->clock_ratio);
	json_real(j, "ghz", bd->ghz);
	if (bd->nominal)
		json_str(j, "ghz_why",
			 "nominal, not measured: the recording has neither reference "
			 "cycles nor the time of CPUs");
	json_real(j, "halted", bd->halted);
	json_array(j, "nodes");
	for (uint32_t i = 0; i < bd->acc->n; i++)
		put_node(j, v, i);
	json_end_array(j);
	json_array(j, "rows");
	for (size_t i = 0; i < v->n_rows && !j->out->failed; i++)
		put_row(j, v, &v->row[i]);
	json_end_array(j);
	put_missing(j, v);
	json_end_object(j);
}

void account_json(struct buf *b, struct account_view *const *v, size_t n)
{
	const struct account_source *s = &v[0]->source;
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.account/2");
	json_str(&j, "version", s->view->version);
	json_array(&j, "accounts");
	for (size_t i = 0; i < n; i++)
		put_account(&j, v[i]);
	json_end_array(&j);
	put_events(&j, v, n);
	losses_json(&j, s->view->losses);
	json_strings(&j, "notes", s->notes, s->n_notes);
	json_strings(&j, "recording_notes", s->view->notes, s->view->n_notes);
	json_end_object(&j);
	buf_putc(b, '\n');
}
