/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places of waits, and wakers, as tables: functions, stacks, wakers.
 */
#include <inttypes.h>

#include "base/vec.h"
#include "base/text.h"
#include "symbol/source.h"
#include "report/wait/wait_int.h"
#include "show/fold.h"

/* c->which: offset of the place in a row. */
static const struct wait_place *wait_place_of(const struct table *t, const struct table_column *c,
					      const struct table_row *r)
{
	return &wait_view_of(t)->w->place[*(const uint32_t *)(const void *)((const char *)r->p +
									    c->which)];
}

TABLE_CELL(place_function, put_wait_function(out, wait_place_of(t, c, r)))
TABLE_CELL(wait_place_dso, put_wait_dso(out, wait_view_of(t)->images, wait_place_of(t, c, r)))

#define AT(member) .which = offsetof(struct wait_at, member)
static const struct table_column function_columns[] = {
	WAIT_TIME(offsetof(struct wait_at, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "for what", .get = wait_cell_reason, AT(reason)),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX,
	       "the innermost of the program; of kernel threads the one that waits",
	       .get = place_function, AT(place)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = wait_place_dso, AT(place)),
};
const struct table_form wait_functions_form = { "functions", NULL, 0,
						TABLE_COLUMNS(function_columns),
						.rest = "function" };

/* ---- what was waited for --------------------------------------------------------------------- */

TABLE_ROW_AS(thing_of, struct wait_thing)

TABLE_CELL(thing_waits, out->none = thing_of(r)->looks; out->n = thing_of(r)->t.n)
TABLE_GET(thing_most)
{
	out->none = thing_of(r)->looks;
	out->e.v = wait_seconds_of(thing_of(r)->t.most);
	(void)t, (void)c;
}

TABLE_GET(thing_object)
{
	const char *name = strtab_get(&wait_view_of(t)->w->object, thing_of(r)->object);

	(void)c;
	out->text = *name ? name : NULL;
	out->says = "not known";
}

static const struct wait_line *thing_line_of(const struct table *t, const struct table_row *r)
{
	return &wait_view_of(t)->w->line[thing_of(r)->line];
}

TABLE_GET(thing_caller)
{
	const struct wait *w = wait_view_of(t)->w;
	const struct wait_place *p = &w->place[thing_line_of(t, r)->place];

	(void)c;
	out->text = thing_of(r)->line && p->symbol ? p->symbol->name : NULL;
}

TABLE_GET(thing_srcline)
{
	const struct wait_line *l = thing_line_of(t, r);
	struct images *set = wait_view_of(t)->images;
	struct err why = ERR_INIT;
	const struct source *src;
	struct source_line at;
	uint64_t vaddr;

	(void)c;
	if (!thing_of(r)->line || l->image == IMAGE_NONE ||
	    !image_to_vaddr(set, l->image, l->addr, &vaddr))
		return;
	src = source_of(set, l->image, &why);
	if (!src)
		return;
	at = source_line(src, vaddr);
	if (!at.file || !at.line)
		return;
	buf_printf(out->scratch, "%s:%" PRIu32, at.file, at.line);
	out->text = buf_str(out->scratch);
}

#define THING(member) .which = offsetof(struct wait_thing, member)
static const struct table_column thing_columns[] = {
	WAIT_HOW_LONG(offsetof(struct wait_thing, t)),
	COLUMN("waits", "times", T_COUNT, C_SPARSE, "how often", .get = thing_waits),
	COLUMN("most_seconds", "longest", T_SECONDS, C_SPARSE, "the longest", .get = thing_most),
	COLUMN("looks", "looks", T_COUNT, C_SPARSE | C_0_IS_NONE,
	       "how often a thread was seen waiting for it; the time is an estimate from that. "
	       "Null: the time is exact",
	       TABLE_FIELD(struct wait_thing, looks)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "for what kind", .get = wait_cell_reason,
	       THING(reason)),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX,
	       "a variable, an allocation, a file, a socket, a process, a cgroup; null: not known",
	       .get = thing_object),
	COLUMN("caller", "in", T_TEXT, C_KEY | C_FLEX | C_SPARSE,
	       "the innermost function outside of the C library, if no frame is missing",
	       .get = thing_caller),
	COLUMN("srcline", "line", T_TEXT, C_KEY | C_FLEX | C_KEEP_END | C_SPARSE, "where it waits",
	       .get = thing_srcline),
	COLUMN("function", "by", T_TEXT, C_KEY | C_FLEX | C_SPARSE,
	       "the innermost function of the program", .get = place_function, THING(place)),
};
#undef THING
const struct table_form wait_things_form = { "objects", "waited for", 0,
					     TABLE_COLUMNS(thing_columns), .rest = "object" };

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Frames are separated by ';'. */
static void put_wait_place_frame(struct buf *b, const struct wait_view *v, uint32_t place)
{
	const struct wait_place *p = &v->w->place[place];
	size_t from = b->len;

	buf_puts(b, p->symbol		     ? p->symbol->name
		    : p->image != IMAGE_NONE ? image_name(v->images, p->image)
					     : "[unknown]");
	for (size_t i = from; i < b->len; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
}

/* Outermost first. */
TABLE_GET(stack)
{
	const struct wait_at *a = r->p;
	chain_frames_vec frame = VEC_INIT;

	chain_list(&wait_view_of(t)->w->chain, a->chain, &frame);
	for (size_t n = frame.n; n;) {
		put_wait_place_frame(out->scratch, wait_view_of(t), (uint32_t)frame.v[--n]);
		if (n)
			buf_putc(out->scratch, ';');
	}
	vec_free(&frame);
	out->text = a->chain ? buf_str(out->scratch) : NULL;
}

/* For people: the function that waits and its callers, then what it called: if there is no room,
 * the outermost and the kernel's are missing. */
TABLE_GET(stack_shown)
{
	const struct wait_view *v = wait_view_of(t);
	const struct wait_at *a = r->p;
	chain_frames_vec frame = VEC_INIT;
	size_t n, waits = 0;

	(void)c;
	chain_list(&v->w->chain, a->chain, &frame);
	n = frame.n;
	while (waits < n && frame.v[waits] != v->w->chain_place[a->chain])
		waits++;
	waits = waits < n ? waits : 0;
	for (size_t i = waits; i < n; i++) {
		buf_puts(out->scratch, i > waits ? FOLD_CALLER : "");
		put_wait_place_frame(out->scratch, v, (uint32_t)frame.v[i]);
	}
	for (size_t i = waits; i-- > 0;) {
		buf_puts(out->scratch, i + 1 == waits ? FOLD_INNER : " > ");
		put_wait_place_frame(out->scratch, v, (uint32_t)frame.v[i]);
	}
	vec_free(&frame);
	out->text = n ? buf_str(out->scratch) : NULL;
}

/* For flame graphs: a line per chain and reason, which is its innermost frame, and ns. */
int wait_folded(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct wait_view *v = d->ctx;
	const struct table t = { .ctx = v };
	struct buf scratch = BUF_INIT;

	(void)s;
	for (size_t i = 0; i < v->w->n_chain_sums; i++) {
		const struct wait_at *a = &v->w->chain_sum[i];
		const struct table_row r = { .p = a };
		struct table_cell x = { .scratch = &scratch };

		buf_reset(&scratch);
		stack(&t, NULL, &r, &x);
		if (x.text) {
			text_put_safe(out, x.text, false);
			buf_putc(out, ';');
		}
		buf_printf(out, "[%s] %" PRIu64 "\n", wait_reasons[a->reason].name, a->t.time);
	}
	buf_free(&scratch);
	return buf_error(out, err);
}

static const struct table_column stack_columns[] = {
	WAIT_TIME(offsetof(struct wait_at, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "for what", .get = wait_cell_reason, AT(reason)),
	COLUMN("stack", "stack", T_TEXT, C_KEY | C_DATA, "outermost first", .get = stack),
	COLUMN("stack_shown", "stack", T_TEXT, C_PEOPLE | C_FLEX,
	       "the function that waits < its callers | what it called", .get = stack_shown),
};
#undef AT
const struct table_form wait_stacks_form = { "stacks", NULL, 0, TABLE_COLUMNS(stack_columns),
					     .rest = "stack" };

/* ---- wakers ---------------------------------------------------------------------------------- */

static const struct wait_thread *waker_thread(const struct table *t, const struct table_column *c,
					      const struct table_row *r)
{
	uint32_t i = *(const uint32_t *)(const void *)((const char *)r->p + c->which);

	return i < wait_view_of(t)->w->n_threads ? &wait_view_of(t)->w->thread[i] : NULL;
}

TABLE_GET(waker_comm)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->text = x ? x->comm : "[interrupt]";
}

TABLE_GET(waker_pid)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->none = !x;
	out->n = x ? x->pid : 0;
}

TABLE_GET(waker_tid)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->none = !x;
	out->n = x ? x->tid : 0;
}

#define AT(member) .which = offsetof(struct wait_waker, member)
static const struct table_column waker_columns[] = {
	WAIT_HOW_LONG(offsetof(struct wait_waker, t)),
	WAIT_HOW_OFTEN(offsetof(struct wait_waker, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what was waited for", .get = wait_cell_reason,
	       AT(reason)),
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "who waited", .get = waker_comm,
	       AT(thread)),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = waker_pid, AT(thread)),
	COLUMN("tid", "tid", T_ID, C_KEY | C_DROP, "its number", .get = waker_tid, AT(thread)),
	COLUMN("waker", "woken by", T_TEXT, C_KEY | C_FLEX, "who ended that", .get = waker_comm,
	       AT(waker)),
	COLUMN("waker_pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = waker_pid,
	       AT(waker)),
	COLUMN("waker_tid", "tid", T_ID, C_KEY | C_DROP, "its number", .get = waker_tid, AT(waker)),
	COLUMN("function", "in", T_TEXT, C_KEY | C_FLEX, "where it did", .get = place_function,
	       AT(place)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the function's file", .get = wait_place_dso,
	       AT(place)),
};
#undef AT
const struct table_form wait_wakers_form = { "wakers", NULL, 0, TABLE_COLUMNS(waker_columns),
					     .rest = "waker" };
