/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call trees of a view. All walks go over node numbers: a node's is greater than its parent's,
 * so that sums up the tree and answers down the tree need one loop each. Only the order of printing
 * needs a stack, and that is an array of ours.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "report/profile/view_parts.h"

/* ---- weights under --focus and --hide ----------------------------------------------------------
 */

/* The tree as shown before folding: filtered weights by node; the profile's own if nothing is
 * filtered. Used for functions and trees. */
struct weights {
	const struct tally *self, *total;
	struct tally *own[2]; /* the same two, to be freed, or NULL */
	struct tally left_out;
	uint64_t n_left_out;
};

static void sum_view_up(const struct chain_tree *t, struct tally *total)
{
	for (size_t i = t->n; i-- > 1;)
		tally_add(&total[t->node[i].parent], &total[i]);
}

static void free_weights(struct weights *w)
{
	free(w->own[0]);
	free(w->own[1]);
	*w = (struct weights){ 0 };
}

static void filter_weights(const struct profile_chains *c, size_t event, struct filter *f,
			   struct weights *w)
{
	size_t n = c->tree.n;
	uint8_t *bits = xcalloc(n, 1);
	struct tally *self = xcalloc(n + 1, sizeof(*self)), *total = xcalloc(n + 1, sizeof(*total));

	w->self = w->own[0] = self;
	w->total = w->own[1] = total;
	for (size_t i = 0; i < n; i++) {
		if (i) {
			const struct profile_frame *fr = &c->frame[c->tree.node[i].frame];

			bits[i] = bits[c->tree.node[i].parent];
			if (!fr->thread)
				bits[i] |= (uint8_t)(filter_string(f, fr->name) |
						     filter_string(f, fr->dso));
		}
		if (filter_keeps(f, bits[i])) {
			self[i] = total[i] = c->self[event][i];
		} else if (c->self[event][i].samples) {
			tally_add(&w->left_out, &c->self[event][i]);
			w->n_left_out++;
		}
	}
	sum_view_up(&c->tree, total);
	free(bits);
}

static struct weights weights_of(const struct view *v, size_t event, struct filter *f)
{
	const struct profile_chains *c = profile_chains(v->profile);
	struct weights w = { .self = c->self[event], .total = c->total[event] };

	if (f->has_focus || f->has_hide)
		filter_weights(c, event, f, &w);
	return w;
}

/* ---- functions ---------------------------------------------------------------------------------
 */

/* Function numbers by frame, (dso, name) being one function. */
struct functions {
	uint32_t *of_frame, *on_path;
	struct view_row *row;
	size_t n;
};

static void number_view_functions(struct functions *fn, struct view *v)
{
	const struct profile_chains *c = profile_chains(v->profile);
	struct u64map at = U64MAP_INIT;

	fn->of_frame = xcalloc(c->n_frames, sizeof(*fn->of_frame));
	fn->on_path = xcalloc(c->n_frames, sizeof(*fn->on_path));
	fn->row = xcalloc(c->n_frames, sizeof(*fn->row));
	for (size_t i = 0; i < c->n_frames; i++) {
		uint64_t key = (uint64_t)c->frame[i].name << 32 | c->frame[i].dso;
		bool fresh;
		uint64_t *slot = u64map_xat(&at, key, &fresh);

		if (fresh) {
			struct tally *w = arena_xalloc(&v->arena, 2 * sizeof(*w));

			*slot = fn->n;
			fn->row[fn->n++] = (struct view_row){
				.frame = (uint32_t)i, .levels = 1, .self = w, .total = w + 1
			};
		}
		fn->of_frame[i] = (uint32_t)*slot;
	}
	u64map_free(&at);
}

/* Depth first by the tree's own links: a function's total is added when its name is met first on
 * the way down, so that recursion counts once. */
static void sum_view_functions(const struct chain_tree *t, struct functions *fn,
			       const struct weights *w)
{
	uint32_t node = t->n ? t->node[0].child : 0;

	while (node) {
		uint32_t k = fn->of_frame[t->node[node].frame];

		tally_add(fn->row[k].self, &w->self[node]);
		if (!fn->on_path[k]++)
			tally_add(fn->row[k].total, &w->total[node]);
		if (t->node[node].child) {
			node = t->node[node].child;
			continue;
		}
		for (;;) {
			fn->on_path[fn->of_frame[t->node[node].frame]]--;
			if (t->node[node].sibling || !t->node[node].parent)
				break;
			node = t->node[node].parent;
		}
		node = t->node[node].sibling;
	}
}

void view_functions_fill(struct view *v, struct view_table *t, struct filter *f)
{
	struct functions fn = { 0 };
	struct weights w = weights_of(v, t->event[0], f);
	row_vec rows = VEC_INIT;

	number_view_functions(&fn, v);
	sum_view_functions(&profile_chains(v->profile)->tree, &fn, &w);
	for (size_t i = 0; i < fn.n; i++)
		if (fn.row[i].total->samples)
			vec_xpush(&rows, fn.row[i]);
	if (w.self[0].samples) { /* samples without any frame are the root's own */
		tally_add(&w.left_out, &w.self[0]);
		w.n_left_out++;
	}
	view_fold(v, t, &rows, &w.left_out, w.n_left_out);
	free(fn.of_frame);
	free(fn.on_path);
	free(fn.row);
	free_weights(&w);
}

/* ---- trees -------------------------------------------------------------------------------------
 */

/* A tree with weights, ready to be shown. */
struct shown {
	const struct chain_tree *t;
	const struct tally *self, *total;
	bool *visible;
	uint32_t *order; /* visible nodes but the root, by (parent, weight) */
	size_t n;
	uint64_t all; /* the event's selected periods */
};

/* The tree whose first level are the sampled functions. */
static void invert_tree(struct chain_tree *out, struct weights *w, const struct profile_chains *c)
{
	struct tally *self = NULL, *total = NULL;
	size_t cap = 0;

	if (w->self[0].samples) { /* samples without any frame */
		tally_add(&w->left_out, &w->self[0]);
		w->n_left_out++;
	}
	for (uint32_t i = 1; i < c->tree.n; i++) {
		uint32_t at = 0;

		if (!w->self[i].samples)
			continue;
		for (uint32_t k = i; k; k = c->tree.node[k].parent) {
			at = chain_add(out, at, c->tree.node[k].frame);
			if (at == UINT32_MAX)
				nomem_die();
		}
		if (out->n > cap) {
			size_t want = out->n * 2;

			self = xreallocarray(self, want, sizeof(*self));
			memset(self + cap, 0, (want - cap) * sizeof(*self));
			cap = want;
		}
		tally_add(&self[at], &w->self[i]);
	}
	total = xcalloc(out->n + 1, sizeof(*total));
	if (!self)
		self = xcalloc(1, sizeof(*self));
	if (out->n)
		memcpy(total, self, out->n * sizeof(*total));
	sum_view_up(out, total);
	free(w->own[0]);
	free(w->own[1]);
	w->self = w->own[0] = self;
	w->total = w->own[1] = total;
}

static int by_view_total(const void *va, const void *vb, void *ctx)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct shown *s = ctx;

	if (s->total[a].period != s->total[b].period)
		return s->total[a].period < s->total[b].period ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int by_parent_total(const void *va, const void *vb, void *ctx)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct shown *s = ctx;
	uint32_t pa = s->t->node[a].parent, pb = s->t->node[b].parent;

	if (pa != pb)
		return pa < pb ? -1 : 1;
	return by_view_total(va, vb, ctx);
}

/* A parent weighs at least as much as its children and has the smaller number: so dropping nodes by
 * weight and then number leaves a tree. */
static void choose_nodes(struct shown *s, const struct view_opts *o)
{
	for (uint32_t i = 1; i < s->t->n; i++) {
		s->visible[i] = s->total[i].samples &&
				(double)s->total[i].period >= o->min * (double)s->all;
		s->n += s->visible[i];
	}
	s->order = xcalloc(s->n, sizeof(*s->order));
	s->n = 0;
	for (uint32_t i = 1; i < s->t->n; i++)
		if (s->visible[i])
			s->order[s->n++] = i;
	if (o->limit && o->limit < s->n) {
		qsort_r(s->order, s->n, sizeof(*s->order), by_view_total, s);
		for (size_t i = o->limit; i < s->n; i++)
			s->visible[s->order[i]] = false;
		s->n = o->limit;
	}
	if (s->n)
		qsort_r(s->order, s->n, sizeof(*s->order), by_parent_total, s);
}

/* Sets the range of the visible children of a node in `order`. */
static void children_of(const struct shown *s, uint32_t node, uint32_t *first, uint32_t *end)
{
	size_t low;

	bisect(low, s->n, i, s->t->node[s->order[i]].parent >= node);
	*first = (uint32_t)low;
	while (low < s->n && s->t->node[s->order[low]].parent == node)
		low++;
	*end = (uint32_t)low;
}

/* The children of a node: rows to show, and the sum of the others. */
struct below {
	uint32_t first, end; /* the rows' place in `order` */
	uint32_t n, n_folded;
	struct tally folded;
	bool fold_row; /* the fold weighs enough for a row */
};

static struct below look_below(const struct view *v, const struct shown *s, uint32_t node)
{
	struct below b = { 0 };

	children_of(s, node, &b.first, &b.end);
	b.n = b.end - b.first;
	for (uint32_t k = s->t->node[node].child; k; k = s->t->node[k].sibling) {
		if (!s->visible[k] && s->total[k].samples) {
			b.n_folded++;
			tally_add(&b.folded, &s->total[k]);
		}
	}
	b.fold_row =
		b.n_folded && (!node || (double)b.folded.period >= v->opts.min * (double)s->all);
	return b;
}

static bool same_function(const struct view *v, const struct chain_tree *t, uint32_t a, uint32_t b)
{
	const struct profile_frame *f = profile_chains(v->profile)->frame;
	const struct profile_frame *x = &f[t->node[a].frame], *y = &f[t->node[b].frame];

	return x->name == y->name && x->dso == y->dso && x->inlined == y->inlined;
}

/* The position of the walk at one level: the next child to show of a node. */
struct level {
	uint32_t next, end, n_left;
	uint32_t id; /* of the row that the children hang from */
	uint32_t indent;
	uint32_t depth;
	struct below below;
};
typedef VEC(struct level) level_vec;

struct walk {
	struct view *v;
	struct view_table *t;
	const struct shown *s;
	row_vec rows;
	level_vec levels;
	bool rest; /* a row of the filtered samples will follow */
};

static void open_level(struct walk *w, const struct below *b, uint32_t id, uint32_t indent,
		       uint32_t depth)
{
	struct level l = { .next = b->first,
			   .end = b->end,
			   .id = id,
			   .indent = indent,
			   .depth = depth,
			   .below = *b };

	l.n_left = l.below.n + l.below.fold_row;
	if (l.below.n_folded && !l.below.fold_row)
		tally_add(w->t->unlisted, &l.below.folded);
	vec_xpush(&w->levels, l);
}

static void push_row(struct walk *w, struct level *l, const struct view_row *how,
		     const struct tally *self, const struct tally *total)
{
	struct view_row r = *how;
	struct tally *copy = arena_xalloc(&w->v->arena, 2 * sizeof(*copy));

	copy[0] = *self;
	copy[1] = *total;
	r.self = copy;
	r.total = copy + 1;
	r.id = (uint32_t)w->rows.n + 1;
	r.parent = l->id;
	r.depth = l->depth;
	r.indent = l->indent;
	r.last = --l->n_left == 0;
	vec_xpush(&w->rows, r);
}

/* A node's row; direct recursion below it, with nothing beside it, is merged into it. */
static void show_view_node(struct walk *w, struct level *l, uint32_t node)
{
	const struct shown *s = w->s;
	struct view_row how = { .frame = (uint32_t)s->t->node[node].frame, .levels = 1 };
	struct tally self = s->self[node], total = s->total[node];
	struct below b = look_below(w->v, s, node);
	uint32_t depth = l->depth, indent = l->indent;

	while (!w->v->opts.machine && b.n == 1 && !b.n_folded &&
	       same_function(w->v, s->t, node, s->order[b.first])) {
		node = s->order[b.first];
		tally_add(&self, &s->self[node]);
		how.levels++;
		depth++;
		b = look_below(w->v, s, node);
	}
	push_row(w, l, &how, &self, &total);
	/* `l` is stale from here on */
	open_level(w, &b, (uint32_t)w->rows.n, indent + (b.n + b.fold_row > 1), depth + 1);
}

static void walk_down(struct walk *w)
{
	struct level *top;

	if (w->s->t->n) {
		struct below b = look_below(w->v, w->s, 0);

		open_level(w, &b, 0, 0, 1);
		top = vec_last(&w->levels);
		top->n_left += w->rest;
		top->indent = top->n_left > 1;
	}
	while (w->levels.n) {
		struct level *l = vec_last(&w->levels);

		if (l->next < l->end) {
			show_view_node(w, l, w->s->order[l->next++]);
			continue;
		}
		if (l->below.fold_row) {
			struct view_row how = { .frame = UINT32_MAX,
						.levels = 1,
						.folded = l->below.n_folded };

			/* it stands for whole subtrees: all of it is its own */
			push_row(w, l, &how, &l->below.folded, &l->below.folded);
		}
		w->levels.n--;
	}
}

/* The row of the filtered samples. */
static void push_rest(struct walk *w, const struct weights *wt)
{
	struct level top = { .n_left = 1, .depth = 1, .indent = w->rows.n > 0 };
	struct view_row how = {
		.frame = UINT32_MAX, .levels = 1, .folded = wt->n_left_out, .left_out = true
	};

	if (wt->n_left_out)
		push_row(w, &top, &how, &wt->left_out, &wt->left_out);
}

static void show_tree(struct view *v, struct view_table *t, const struct chain_tree *tree,
		      struct weights *wt)
{
	size_t n = tree->n;
	struct shown s = { .t = tree,
			   .self = wt->self,
			   .total = wt->total,
			   .all = t->sum[0]->selected.period,
			   .visible = xcalloc(n, sizeof(*s.visible)) };
	struct walk w = { .v = v, .t = t, .s = &s, .rest = wt->n_left_out > 0 };

	choose_nodes(&s, &v->opts);
	walk_down(&w);
	push_rest(&w, wt);
	assert(!n || wt->total[0].period + wt->left_out.period == s.all);
	view_keep(v, t, &w.rows);
	free(s.visible);
	free(s.order);
	vec_free(&w.rows);
	vec_free(&w.levels);
}

void view_tree_fill(struct view *v, struct view_table *t, struct filter *f)
{
	const struct profile_chains *c = profile_chains(v->profile);
	struct chain_tree inverted = CHAIN_INIT;
	struct weights w = weights_of(v, t->event[0], f);

	if (v->opts.shape == VIEW_CALLERS)
		invert_tree(&inverted, &w, c);
	show_tree(v, t, v->opts.shape == VIEW_CALLERS ? &inverted : &c->tree, &w);
	chain_free(&inverted);
	free_weights(&w);
}
