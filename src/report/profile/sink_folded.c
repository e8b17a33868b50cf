/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folded - a line per stack, "comm;frame;frame period", as flame graphs are drawn from. Without
 * chains the row's keys are the stack. Chains do not know their threads' names: the first frame is
 * the name where all rows of the profile share one, and is left out where they do not. Several
 * events: the event's name comes first. Frames
 * are told apart by ';', so that becomes ':' inside names; control characters are written as in the
 * terminal's tables (\xNN).
 */
#include "base/text.h"
#include "base/vec.h"
#include "report/sink.h"

static void put_name(struct buf *b, const char *s)
{
	size_t from = b->len;

	text_put_safe(b, s, false);
	for (size_t i = from; i < b->len; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
}

typedef VEC(const struct view_row *) path_vec;

static int put_path(struct buf *b, path_vec *path, const struct view *v, const struct view_table *t,
		    const struct view_row *r)
{
	path->n = 0;
	for (;; r = &t->row[r->parent - 1]) {
		if (vec_push(path, r))
			return -1;
		if (!r->parent)
			break;
	}
	for (size_t i = path->n; i--;) {
		struct cell c = column_get(COL_SYM, v, t, path->v[i], 0);

		if (c.kind == CELL_TEXT)
			put_name(b, c.text);
		else
			sink_fold_name(b, path->v[i]);
		if (i)
			buf_putc(b, ';');
	}
	return 0;
}

static void put_keys(struct buf *b, const struct view *v, const struct view_table *t,
		     const struct view_row *r)
{
	bool any = false;

	for (size_t i = 0; i < v->columns.n; i++) {
		enum column_id id = v->columns.id[i];
		struct cell c = column_get(id, v, t, r, 0);

		if (id == COL_EVENT || !(column_table[id].flags & COLUMN_KEY) ||
		    c.kind == CELL_NONE)
			continue;
		if (any)
			buf_putc(b, ';');
		any = true;
		if (c.kind == CELL_TEXT)
			put_name(b, c.text);
		else
			sink_put_cell(b, &c, true);
	}
	if (!any)
		sink_fold_name(b, r);
}

/* The thread's name that all samples share, or NULL. */
static const char *only_comm(const struct view *v)
{
	const struct profile_opts *o = profile_options(v->profile);
	const char *comm = NULL;
	size_t n, k = 0;
	const struct profile_row *r = profile_rows(v->profile, &n);

	while (k < o->n_keys && o->key[k] != KEY_COMM)
		k++;
	for (size_t i = 0; k < o->n_keys && i < n; i++) {
		if (r[i].key[k] != r[0].key[k])
			return NULL;
		comm = strtab_get(profile_strings(v->profile), (uint32_t)r[i].key[k]);
	}
	return comm;
}

static bool many_events(const struct view *v)
{
	size_t n = 0, n_events;
	const struct profile_sum *sum = profile_sums(v->profile, &n_events);

	for (size_t e = 0; e < n_events; e++)
		n += sum[e].selected.samples + sum[e].left_out.samples != 0;
	return n > 1;
}

int sink_folded(struct buf *out, const struct view *v, const struct sink_opts *o, struct err *err)
{
	path_vec path = VEC_INIT;
	const char *comm = only_comm(v);
	bool by_event = many_events(v);
	int ret = 0;

	(void)o;
	for (size_t k = 0; !ret && k < v->n_tables; k++) {
		const struct view_table *t = &v->table[k];

		for (size_t i = 0; !ret && !out->failed && i < t->n_rows; i++) {
			const struct view_row *r = &t->row[i];
			bool fold_of_tree = r->id && r->folded;
			const struct tally *w = fold_of_tree ? r->total : r->self;

			if (!w->samples)
				continue;
			if (by_event) {
				put_name(out, v->source.event[t->event[0]].name);
				buf_putc(out, ';');
			}
			if (r->id && comm) {
				put_name(out, comm);
				buf_putc(out, ';');
			}
			if (r->id)
				ret = put_path(out, &path, v, t, r);
			else
				put_keys(out, v, t, r);
			buf_printf(out, " %llu\n", (unsigned long long)w->period);
			buf_spill(out);
		}
	}
	vec_free(&path);
	return ret ? err_nomem(err) : buf_error(out, err);
}
