/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - "schema": "cyclade.report/2". Numbers are numbers, shares and errors are fractions of the
 * event's selected period. What is not known is null, with a "why" beside it where that helps.
 * Trees are lists of rows that name their parent by id: they may be deeper than parsers nest.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/facts.h"
#include "report/json_more.h"
#include "report/losses.h"
#include "report/sink.h"
#include "report/tree_saved.h"

static void put_cell(struct json *j, enum column_id id, const struct cell *c)
{
	const char *key = column_table[id].name;
	char hex[24];

	switch (c->kind) {
	case CELL_NONE:
		json_null(j, key);
		break;
	case CELL_TEXT:
		json_str(j, key, c->text);
		break;
	case CELL_NUMBER:
	case CELL_COUNT:
		json_u64(j, key, c->number);
		break;
	case CELL_HEX:
		(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)c->number);
		json_str(j, key, hex);
		break;
	case CELL_SHARE:
	case CELL_ERROR:
		json_real(j, key, c->real);
		break;
	}
}

static void put_row(struct json *j, const struct view *v, const struct view_table *t,
		    const struct view_row *r)
{
	json_object(j, NULL);
	for (size_t i = 0; i < v->columns.n; i++) {
		struct cell c = column_get(v->columns.id[i], v, t, r, 0);

		put_cell(j, v->columns.id[i], &c);
	}
	if (r->folded) {
		json_u64(j, "folded", r->folded);
		json_bool(j, "left_out", r->left_out);
	}
	json_end_object(j);
}

/* What is counted are branches; of samples it is told how many had some. */
static void put_branches(struct json *j, const struct profile_sum *s)
{
	json_u64(j, "branches", s->selected.samples);
	json_u64(j, "branches_no_mapping", s->no_map.samples);
	json_u64(j, "branches_no_symbol", s->no_symbol.samples);
	json_u64(j, "branches_no_name", s->nameless.samples);
	json_u64(j, "samples_with_branches", s->stacks);
	json_u64(j, "samples_without_branches", s->no_stack);
	json_u64(j, "samples_not_selected", s->left_out.samples);
}

/* Rows whose parts of the slots contradict each other have null there. */
static void put_doubts(struct json *j, const struct view *v, const struct view_table *t)
{
	size_t trees, doubtful = facts_doubtful_trees(v, t, &trees);

	if (!trees)
		return;
	json_object(j, "topdown");
	json_u64(j, "rows", trees);
	json_u64(j, "rows_in_doubt", doubtful);
	json_end_object(j);
}

static void put_table(struct json *j, const struct view *v, const struct view_table *t)
{
	const struct profile_sum *s = t->sum[0];

	json_object(j, NULL);
	json_str(j, "event", v->source.event[t->event[0]].name);
	if (profile_options(v->profile)->branches) {
		put_branches(j, s);
	} else {
		json_tally(j, "total", &s->selected);
		json_tally(j, "not_selected", &s->left_out);
		json_tally(j, "no_mapping", &s->no_map);
		json_tally(j, "no_symbol", &s->no_symbol);
		json_tally(j, "no_name", &s->nameless);
		json_tally(j, "not_listed", t->unlisted);
	}
	json_u64(j, "not_readable", s->bad);
	put_doubts(j, v, t);
	json_array(j, "rows");
	for (size_t i = 0; i < t->n_rows && !j->out->failed; i++)
		put_row(j, v, t, &t->row[i]);
	json_end_array(j);
	json_end_object(j);
}

static void put_recording(struct json *j, const struct view *v)
{
	const struct pd_info *i = v->source.info;
	const uint64_t first = v->source.time_first, last = v->source.time_last;

	json_object(j, "recording");
	json_strings(j, "command", i->cmdline, i->n_cmdline);
	json_str(j, "host", i->hostname);
	json_str(j, "arch", i->arch);
	json_str(j, "os_release", i->os_release);
	json_str(j, "cpu", i->cpu_desc);
	if (last > first) {
		json_real(j, "seconds", (double)(last - first) / 1e9);
	} else {
		json_null(j, "seconds");
		json_str(j, "why", "time span not recorded");
	}
	json_end_object(j);
}

/* What `run` counted beside the samples; always of the whole run. */
static void put_tree(struct json *j, const struct pd_info *i)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tree_saved t;

	if (i->tree && !tree_saved_read(&t, &a, i->tree, i->tree_len, &err)) {
		tree_saved_json(j, "tree", &t);
	} else {
		json_null(j, "tree");
		json_str(j, "no_tree", i->tree ? err.what : "the recording has none");
	}
	arena_free(&a);
}

int sink_json(struct buf *out, const struct view *v, const struct sink_opts *o, struct err *err)
{
	static const char *const shapes[] = { "table", "functions", "callees", "callers" };
	struct json j;

	(void)o;
	json_init(&j, out, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.report/2");
	json_str(&j, "version", v->source.version);
	json_str(&j, "shape", shapes[v->opts.shape]);
	put_recording(&j, v);
	put_tree(&j, v->source.info);
	json_array(&j, "tables");
	for (size_t i = 0; i < v->n_tables; i++)
		put_table(&j, v, &v->table[i]);
	json_end_array(&j);
	losses_json(&j, v->source.losses);
	json_strings(&j, "notes", v->source.notes, v->source.n_notes);
	json_end_object(&j);
	buf_putc(out, '\n');
	return buf_error(out, err);
}
