/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folded - a line per stack, "comm;frame;frame period", as flame graphs are drawn from. Without
 * chains the row's keys are the stack. The thread's name is a frame of chains that were built with
 * it (chain_comm). Several events: the event's name comes first. Frames are separated by ';', so
 * that becomes ':' inside names; control characters are written as in the terminal's tables (\xNN).
 */
#include "base/text.h"
#include "base/vec.h"
#include "report/rows.h"

static void put_folded_name(struct buf *b, const char *s)
{
	size_t from = b->len;

	text_put_safe(b, s, false);
	for (size_t i = from; i < b->len; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
}

/* State of making folded stacks. */
struct folding {
	struct buf *out, scratch;
	const struct view *v;
	size_t table;
	VEC(const struct view_row *) path;
};

static struct table_cell folded_cell_of(struct folding *f, enum column_id id,
					const struct view_row *r)
{
	return column_cell(id, f->v, f->table, r, &f->scratch);
}

static const struct profile_frame *folded_frame_of(const struct folding *f,
						   const struct view_row *r)
{
	return r->frame == UINT32_MAX ? NULL : &profile_chains(f->v->profile)->frame[r->frame];
}

static void put_folded_frame(struct folding *f, const struct view_row *r)
{
	struct table_cell c = folded_cell_of(f, COL_SYM, r);

	if (cell_has(&c))
		put_folded_name(f->out, c.text);
	else
		rows_fold_name(f->out, r);
}

/* The thread's name comes first, also if it is the last of the callers. */
static int put_folded_path(struct folding *f, const struct view_row *r)
{
	const struct view_table *t = &f->v->table[f->table];
	bool any = false;

	f->path.n = 0;
	for (;; r = &t->row[r->parent - 1]) {
		const struct profile_frame *frame = folded_frame_of(f, r);

		if (frame && frame->thread) {
			put_folded_frame(f, r);
			any = true;
		} else if (vec_push(&f->path, r)) {
			return -1;
		}
		if (!r->parent)
			break;
	}
	for (size_t i = f->path.n; i--; any = true) {
		if (any)
			buf_putc(f->out, ';');
		put_folded_frame(f, f->path.v[i]);
	}
	return 0;
}

static void put_folded_keys(struct folding *f, const struct view_row *r)
{
	const struct column_list *l = &f->v->columns;
	bool any = false;

	for (size_t i = 0; i < l->n; i++) {
		struct table_cell c;

		if (l->id[i] == COL_EVENT || !(column_table[l->id[i]].flags & C_KEY))
			continue;
		c = folded_cell_of(f, l->id[i], r);
		if (!cell_has(&c))
			continue;
		if (any)
			buf_putc(f->out, ';');
		any = true;
		if (c.kind == T_TEXT)
			put_folded_name(f->out, c.text);
		else
			cell_put(f->out, &c);
	}
	if (!any)
		rows_fold_name(f->out, r);
}

static bool many_events(const struct view *v)
{
	size_t n = 0, n_events;
	const struct profile_sum *sum = profile_sums(v->profile, &n_events);

	for (size_t e = 0; e < n_events; e++)
		n += sum[e].selected.samples + sum[e].left_out.samples != 0;
	return n > 1;
}

static int put_folded_row(struct folding *f, const struct view_row *r, bool by_event)
{
	const struct view *v = f->v;
	const struct tally *w = r->id && r->folded ? r->total : r->self;
	int ret = 0;

	if (!w->samples)
		return 0;
	if (by_event) {
		put_folded_name(f->out, v->source.event[v->table[f->table].event[0]].name);
		buf_putc(f->out, ';');
	}
	if (r->id)
		ret = put_folded_path(f, r);
	else
		put_folded_keys(f, r);
	buf_printf(f->out, " %llu\n", (unsigned long long)w->period);
	buf_spill(f->out);
	return ret;
}

int rows_folded(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct folding f = { .out = out, .v = d->ctx, .path = VEC_INIT };
	bool by_event = many_events(f.v);
	int ret = 0;

	(void)s;
	for (; !ret && f.table < f.v->n_tables; f.table++) {
		const struct view_table *t = &f.v->table[f.table];

		for (size_t i = 0; !ret && !out->failed && i < t->n_rows; i++)
			ret = put_folded_row(&f, &t->row[i], by_event);
	}
	out->failed |= f.scratch.failed;
	buf_free(&f.scratch);
	vec_free(&f.path);
	return ret ? err_nomem(err) : 0;
}
