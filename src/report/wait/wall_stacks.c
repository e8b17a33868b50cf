/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of all threads' time on and off the CPU: a table, and lines for flame graphs.
 */
#include <inttypes.h>
#include <math.h>

#include "base/vec.h"
#include "base/xalloc.h"
#include "base/text.h"
#include "report/parallel_view.h"

#define LEAST 0.005 /* of all time: people are not shown less */
#define ROWS  60

TABLE_CTX_AS(wall_stack_view_of, struct parallel_view)
TABLE_ROW_AS(wall_stack_node_of, struct wall_node)

static double wall_stack_all_of(const struct wall_tree *t)
{
	return t->n ? t->node[0].on + t->node[0].off : 0;
}

void wall_put_name(struct buf *b, const struct parallel_view *v, const struct wall_node *x)
{
	switch ((enum wall_kind)x->kind) {
	case WALL_ALL:
		buf_puts(b, "all");
		return;
	case WALL_COMM:
		buf_puts(b, *x->comm ? x->comm : "[no name]");
		return;
	case WALL_REASON:
		buf_printf(b, "[%s]", wait_reasons[x->reason].name);
		return;
	case WALL_FUNCTION:
		break;
	}
	buf_puts(b, x->place.symbol		   ? x->place.symbol->name
		    : x->place.image != IMAGE_NONE ? image_name(v->images, x->place.image)
						   : "[unknown]");
}

/* ---- the table ------------------------------------------------------------------------------- */

TABLE_CELL(wall_stack_id,
	   out->n = (uint64_t)(wall_stack_node_of(r) - wall_stack_view_of(t)->tree->node) + 1)
TABLE_CELL(wall_stack_parent, out->n = wall_stack_node_of(r)->kind == WALL_ALL
					       ? 0
					       : wall_stack_node_of(r)->parent + 1u)
TABLE_CELL(wall_stack_share, out->e.v = (wall_stack_node_of(r)->on + wall_stack_node_of(r)->off) /
					wall_stack_all_of(wall_stack_view_of(t)->tree))
TABLE_CELL(wall_stack_seconds,
	   out->e.v = (wall_stack_node_of(r)->on + wall_stack_node_of(r)->off) / 1e9)
TABLE_CELL(on, out->e.v = wall_stack_node_of(r)->on / 1e9)
TABLE_CELL(wall_stack_off, out->e.v = wall_stack_node_of(r)->off / 1e9)
TABLE_CELL(self_on, out->e.v = wall_stack_node_of(r)->self_on / 1e9)
TABLE_CELL(wall_stack_comm, out->text = wall_stack_node_of(r)->kind == WALL_COMM
						? wall_stack_node_of(r)->comm
						: NULL)
TABLE_CELL(wall_stack_reason, out->text = wall_stack_node_of(r)->kind == WALL_REASON
						  ? wait_reasons[wall_stack_node_of(r)->reason].name
						  : NULL)

TABLE_GET(wall_stack_function)
{
	const struct wall_node *x = wall_stack_node_of(r);

	(void)t, (void)c;
	out->text = x->kind == WALL_FUNCTION && x->place.symbol ? x->place.symbol->name : NULL;
}

TABLE_GET(wall_stack_dso)
{
	const struct wall_node *x = wall_stack_node_of(r);

	out->text = x->kind == WALL_FUNCTION && x->place.image != IMAGE_NONE
			    ? image_name(wall_stack_view_of(t)->images, x->place.image)
			    : NULL;
}

TABLE_GET(name_wall_stack)
{
	const struct wall_node *node = wall_stack_view_of(t)->tree->node;

	wall_put_name(out->scratch, wall_stack_view_of(t), wall_stack_node_of(r));
	out->text = buf_str(out->scratch);
	/* a node with nearly all of its parent's time is not indented under it */
	for (const struct wall_node *x = wall_stack_node_of(r); x->kind != WALL_ALL;
	     x = &node[x->parent])
		out->indent += x->on + x->off < 0.99 * (node[x->parent].on + node[x->parent].off);
}

/* clang-format off */
#define TIMES \
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all threads' lives, with what is below", \
	       .get = wall_stack_share), \
	COLUMN("seconds", "time", T_SECONDS, C_DATA, "the same", .get = wall_stack_seconds), \
	COLUMN("on_seconds", "on CPU", T_SECONDS, 0, "of it: on a CPU", .get = on), \
	COLUMN("off_seconds", "off CPU", T_SECONDS, 0, "of it: not", .get = wall_stack_off)
/* clang-format on */
static const struct table_column columns[] = {
	COLUMN("id", "id", T_ID, C_KEY, "of the row", .get = wall_stack_id),
	COLUMN("parent", "parent", T_ID, 0, "the row that it is below; 0: none",
	       .get = wall_stack_parent),
	TIMES,
	COLUMN("self_on_seconds", "self", T_SECONDS, 0, "on a CPU, without what is below",
	       .get = self_on),
	COLUMN("comm", "thread", T_TEXT, 0, "the threads' name, in the first level",
	       .get = wall_stack_comm),
	COLUMN("function", "function", T_TEXT, 0, "its name", .get = wall_stack_function),
	COLUMN("dso", "of", T_TEXT, 0, "its file", .get = wall_stack_dso),
	COLUMN("reason", "reason", T_TEXT, 0, "why not on a CPU: the innermost level",
	       .get = wall_stack_reason),
};
const struct table_form wall_tree_form = { "tree", NULL, TABLE_DATA, TABLE_COLUMNS(columns) };

struct table wall_tree_table(const struct parallel_view *v)
{
	return (struct table){ .form = &wall_tree_form,
			       .ctx = v,
			       .array = v->tree->node,
			       .stride = sizeof(*v->tree->node),
			       .n = v->tree->n };
}

static const struct table_column shown_columns[] = {
	TIMES,
	COLUMN("name", "threads, functions, [reasons]", T_TEXT, C_FLEX, "what the row is of",
	       .get = name_wall_stack),
};

static bool wall_stack_shown_next(const struct table *t, struct table_row *r)
{
	const struct wall_tree *x = wall_stack_view_of(t)->tree;

	r->at[0] += r->p != NULL;
	while (r->at[0] < x->n &&
	       x->node[r->at[0]].on + x->node[r->at[0]].off < LEAST * wall_stack_all_of(x))
		r->at[0]++;
	if (r->at[0] >= x->n)
		return false;
	r->p = &x->node[r->at[0]];
	return true;
}

const struct table_form wall_shown_form = { "shown_tree",
					    NULL,
					    TABLE_PEOPLE,
					    TABLE_COLUMNS(shown_columns),
					    .next = wall_stack_shown_next,
					    .rest = "row" };

struct table wall_shown_table(const struct parallel_view *v)
{
	return (struct table){ .form = &wall_shown_form,
			       .ctx = v,
			       .people = v->limit ? v->limit : ROWS };
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Frames are separated by ';'. */
static void put_wall_stack_frame(struct buf *out, struct buf *scratch,
				 const struct parallel_view *v, const struct wall_node *x)
{
	size_t from = out->len;

	buf_reset(scratch);
	wall_put_name(scratch, v, x);
	text_put_safe(out, buf_str(scratch), false);
	for (size_t i = from; i < out->len; i++)
		if (out->s[i] == ';')
			out->s[i] = ':';
}

/* A line per stack: ns on the CPU, or with the reason as innermost frame ns off it. */
int wall_folded(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct parallel_view *v = d->ctx;
	const struct wall_node *node = v->tree->node;
	struct buf scratch = BUF_INIT;
	VEC(uint32_t) path = VEC_INIT;

	(void)s;
	for (size_t i = 1; i < v->tree->n; i++) {
		uint64_t ns = (uint64_t)llround(node[i].self_on + node[i].self_off);
		size_t n;

		path.n = 0;
		for (uint32_t k = (uint32_t)i; k && ns; k = node[k].parent)
			vec_xpush(&path, k);
		for (n = path.n; n;) {
			put_wall_stack_frame(out, &scratch, v, &node[path.v[--n]]);
			buf_putc(out, n ? ';' : ' ');
			if (!n)
				buf_printf(out, "%" PRIu64 "\n", ns);
		}
	}
	vec_free(&path);
	buf_free(&scratch);
	return buf_error(out, err);
}
