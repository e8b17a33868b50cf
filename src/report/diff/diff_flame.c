/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of a differential flame graph: recording by recording, then without its rare nodes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/diff/diff_flame_int.h"
#include "report/diff/diff_join_int.h"

struct making_flame {
	struct diff_flame *f;
	struct joining j; /* for names of files */
	const struct diff_flame_run *run;
	struct strtab frames, rows; /* by their keys; rows: of a side each */
	VEC(size_t) row_at;	    /* by id of `rows`: an item of f->item */
	struct chain_tree all;
	VEC(struct diff_amount) amount; /* by node of `all`, and run */
	double *weight;			/* by node: there and below, of all runs */
};

static uint32_t grow_tree(struct chain_tree *t, uint32_t parent, uint64_t frame)
{
	uint32_t at = chain_add(t, parent, frame);

	if (at == UINT32_MAX)
		nomem_die();
	return at;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *key_of_row(struct buf *b, int side, const char *dso, const char *function)
{
	buf_reset(b);
	buf_printf(b, "%d%zu:%s%s", side, strlen(dso), dso, function);
	return buf_str(b);
}

static void name_row(struct making_flame *m, size_t item, int side, const char *dso,
		     const char *function)
{
	struct buf b = BUF_INIT;
	uint32_t id = strtab_xadds(&m->rows, key_of_row(&b, side, dso, function));

	while (m->row_at.n <= id)
		vec_xpush(&m->row_at, SIZE_MAX);
	m->row_at.v[id] = item;
	buf_free(&b);
}

/* The row of the event and its functions' names on both sides. */
static void add_flame_row(struct making_flame *m, const struct diff_item *it)
{
	const struct diff_match *match = it->match && it->match->certain ? it->match : NULL;
	const char *dso = it->key[1] ? it->key[1] : "", *function = it->key[2] ? it->key[2] : "";
	size_t item = m->f->item.n;

	vec_xpush(&m->f->item, it);
	for (int s = 0; s < 2; s++) {
		if (it->alone == (s ? DIFF_OF_BASE : DIFF_OF_NEW))
			continue;
		name_row(m, item, s, dso, function);
		for (size_t i = 0; match && i < match->n[s]; i++)
			name_row(m, item, s, dso, match->of[s][i]);
	}
}

static void list_flame_rows(struct making_flame *m)
{
	const diff_items *rows = &m->f->x->table[DIFF_ROWS];

	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].side == m->f->side && rows->v[i].key[0] &&
		    !strcmp(rows->v[i].key[0], m->f->event))
			add_flame_row(m, &rows->v[i]);
}

static size_t row_named(const struct making_flame *m, int side, const char *dso,
			const char *function)
{
	struct buf b = BUF_INIT;
	uint32_t id = strtab_find(&m->rows, key_of_row(&b, side, dso, function));

	buf_free(&b);
	return id == STR_NONE ? SIZE_MAX : m->row_at.v[id];
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Functions that the diff made one are one frame if each side has one of them. */
static const char *joined_name(const struct diff_item *it, const char *function)
{
	const struct diff_match *match = it->match;

	return match && match->certain && match->n[0] == 1 && match->n[1] == 1 && it->key[2]
		       ? it->key[2]
		       : function;
}

static uint32_t add_flame_frame(struct making_flame *m, size_t slot, const struct profile_frame *pf)
{
	const struct profile *p = m->run[slot].profile;
	const char *dso = profile_text(p, pf->dso), *function = profile_text(p, pf->name);
	const char *key[DIFF_KEYS] = { m->f->event, dso ? dso : "", function ? function : "" };
	struct flame_frame frame = { .item = -1 };
	struct buf b = BUF_INIT;
	enum diff_alone alone;
	size_t row;
	size_t known = m->frames.n ? m->frames.n : 1;
	uint32_t id;

	diff_join_file(&m->j, slot, key);
	alone = diff_alone_of(&m->j, key, slot);
	row = row_named(m, slot >= m->f->n_base, key[1], key[2]);
	if (row != SIZE_MAX) {
		frame.item = (int64_t)row;
		key[2] = joined_name(m->f->item.v[row], key[2]);
	}
	buf_printf(&b, "%d%zu:%s%s", (int)alone, strlen(key[1]), key[1], key[2]);
	id = strtab_xadds(&m->frames, buf_str(&b));
	buf_free(&b);
	if (id >= known) {
		frame.function = arena_xstrdup(&m->f->x->a, key[2]);
		frame.dso = arena_xstrdup(&m->f->x->a, key[1]);
		vec_xpush(&m->f->frame, frame);
	}
	return id - 1;
}

/* ---- the tree of all recordings -------------------------------------------------------------- */

static uint32_t add_all_node(struct making_flame *m, uint32_t parent, uint32_t frame)
{
	uint32_t at = grow_tree(&m->all, parent, frame);
	const struct diff_amount none = { 0 };

	while (m->amount.n < m->all.n * m->f->n_runs)
		vec_xpush(&m->amount, none);
	return at;
}

/* What a period of the recording counts for, as the diff's total of the event has it. */
static double divide_periods(const struct making_flame *m, size_t slot)
{
	const struct diff *x = m->f->x;
	size_t n_base = m->f->n_base;
	double period = slot < n_base
				? diff_total(x, 0, slot, m->f->event).period
				: diff_total(x, m->f->side, slot - n_base, m->f->event).period;

	return period > 0 ? m->f->total->run[slot].v / period : 0;
}

static void add_flame_run(struct making_flame *m, size_t slot)
{
	const struct profile_chains *c = profile_chains(m->run[slot].profile);
	const struct tally *self = c->self[m->run[slot].event],
			   *total = c->total[m->run[slot].event];
	uint32_t *node = xcalloc(c->tree.n + 1, sizeof(*node));
	uint32_t *frame = xcalloc(c->n_frames + 1, sizeof(*frame)); /* 1 + ours */
	double by = divide_periods(m, slot);

	for (size_t i = 1; i < c->tree.n; i++) {
		const struct chain_node *n = &c->tree.node[i];
		struct diff_amount *to;

		if (!total[i].samples)
			continue;
		if (!frame[n->frame])
			frame[n->frame] = 1 + add_flame_frame(m, slot, &c->frame[n->frame]);
		node[i] = add_all_node(m, node[n->parent], frame[n->frame] - 1);
		to = &m->amount.v[node[i] * m->f->n_runs + slot];
		to->v += by * (double)self[i].period;
		to->var += by * by * self[i].period_sq;
		to->samples += (double)self[i].samples;
	}
	free(node);
	free(frame);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void weigh_nodes(struct making_flame *m)
{
	m->weight = xcalloc(m->all.n + 1, sizeof(*m->weight));
	for (size_t i = m->all.n; i-- > 1;) {
		for (size_t r = 0; r < m->f->n_runs; r++)
			m->weight[i] += m->amount.v[i * m->f->n_runs + r].v;
		m->weight[m->all.node[i].parent] += m->weight[i];
	}
}

static double least_weight(const struct making_flame *m)
{
	double least = m->weight[0] / (5.0 * FLAME_NODES);

	for (size_t n = SIZE_MAX; n > FLAME_NODES && least > 0; least *= 2) {
		n = 0;
		for (size_t i = 1; i < m->all.n; i++)
			n += m->weight[i] >= least;
		if (n <= FLAME_NODES)
			break;
	}
	return least;
}

static bool frame_changed(const struct making_flame *m, uint64_t frame)
{
	int64_t item = m->f->frame.v[frame].item;

	return item >= 0 && diff_reported(m->f->item.v[item]);
}

/* Returns the node of what is shown that has the samples of each. */
static void fold_flame(struct making_flame *m, struct chain_tree *out, struct diff_amount *sum)
{
	double least = least_weight(m);
	uint32_t *to = xcalloc(m->all.n + 1, sizeof(*to));     /* the node that is shown for it */
	uint32_t *kept = xcalloc(m->all.n + 1, sizeof(*kept)); /* ... or for its last caller */

	for (size_t i = 1; i < m->all.n; i++) {
		const struct chain_node *n = &m->all.node[i];
		bool keep = m->weight[i] >= least && kept[n->parent] == to[n->parent];

		to[i] = grow_tree(out, kept[n->parent],
				  keep || frame_changed(m, n->frame) ? n->frame : FLAME_FOLDED);
		kept[i] = keep ? to[i] : kept[n->parent];
		for (size_t r = 0; r < m->f->n_runs; r++) {
			const struct diff_amount *from = &m->amount.v[i * m->f->n_runs + r];
			struct diff_amount *s = &sum[to[i] * m->f->n_runs + r];

			s->v += from->v;
			s->var += from->var;
			s->samples += from->samples;
		}
	}
	free(to);
	free(kept);
}

static void put_flame_nodes(struct making_flame *m)
{
	struct diff_flame *f = m->f;
	struct chain_tree out = CHAIN_INIT;
	struct diff_amount *sum = xcalloc((m->all.n + 1) * f->n_runs, sizeof(*sum));

	fold_flame(m, &out, sum);
	for (size_t i = 1; i < out.n; i++) {
		const struct chain_node *n = &out.node[i];
		const struct diff_amount *run = &sum[i * f->n_runs];
		struct estimate base = diff_mean(run, f->n_base),
				new = diff_mean(run + f->n_base, f->n_runs - f->n_base);
		bool folded = n->frame == FLAME_FOLDED;
		struct flame_node node = { .parent = (int64_t)n->parent - 1,
					   .frame = folded ? -1 : (int64_t)n->frame,
					   .base = base.v,
					   .new = new.v,
					   .error = hypot(base.half, new.half) };

		if (folded)
			f->folded += base.v + new.v;
		vec_xpush(&f->node, node);
	}
	free(sum);
	chain_free(&out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct diff_item *total_of_flame(const struct diff *x, size_t side, const char *event)
{
	const diff_items *totals = &x->table[DIFF_TOTALS];

	for (size_t i = 0; i < totals->n; i++)
		if (totals->v[i].side == side && !strcmp(totals->v[i].key[0], event))
			return &totals->v[i];
	return NULL;
}

void diff_flame_build(struct diff_flame **out, struct diff *x, size_t side, const char *event,
		      const struct diff_flame_run *run)
{
	const struct diff_item *total = total_of_flame(x, side, event);
	struct making_flame m = { .run = run, .frames = STRTAB_INIT, .rows = STRTAB_INIT };

	*out = NULL;
	if (!total)
		return;
	m.f = xcalloc(1, sizeof(*m.f));
	*m.f = (struct diff_flame){ .x = x,
				    .side = side,
				    .event = event,
				    .total = total,
				    .n_base = x->side[0].n,
				    .n_runs = x->side[0].n + x->side[side].n };
	m.j = (struct joining){ .x = x, .side = side, .n_runs = m.f->n_runs };
	list_flame_rows(&m);
	for (size_t r = 0; r < m.f->n_runs; r++)
		if (run[r].profile)
			add_flame_run(&m, r);
	if (m.all.n) {
		weigh_nodes(&m);
		put_flame_nodes(&m);
	}
	strtab_free(&m.frames);
	strtab_free(&m.rows);
	u64map_free(&m.j.builds);
	vec_free(&m.row_at);
	vec_free(&m.amount);
	chain_free(&m.all);
	free(m.weight);
	*out = m.f;
}

void diff_flame_free(struct diff_flame *f)
{
	if (!f)
		return;
	vec_free(&f->item);
	vec_free(&f->frame);
	vec_free(&f->node);
	free(f);
}
