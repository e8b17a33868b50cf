/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/column.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "base/text.h"
#include "report/profile/facts.h"
#include "report/view.h"
#include "report/view_latency.h"

/* ---- getters --------------------------------------------------------------------------------- */

struct at { /* the position of a cell */
	const struct view *v;
	const struct view_table *t;
	const struct view_row *r;
	size_t event;
};

static struct at at_of(const struct table *t, const struct table_column *c,
		       const struct table_row *r)
{
	const struct view *v = t->ctx;

	return (struct at){ v, &v->table[r->at[0]], r->p, c->nth };
}

enum { OF_SELF, OF_TOTAL };

static const struct tally *column_weight_of(const struct at *a, const struct table_column *c)
{
	return c->which == OF_TOTAL ? &a->r->total[a->event] : &a->r->self[a->event];
}

/* Functions' totals hold each other: summed in a fold they would mean nothing. */
static bool overlaps(const struct at *a, const struct table_column *c)
{
	return c->which == OF_TOTAL && a->v->opts.shape == VIEW_FUNCTIONS && a->r->folded;
}

/* People read "11.9 G". */
static void put_column_count(const struct at *a, uint64_t n, struct table_cell *out)
{
	out->n = n;
	if (a->v->opts.machine)
		return;
	out->kind = T_AMOUNT;
	out->e.v = (double)n;
}

static void put_column_share(double share, double half, struct table_cell *out)
{
	out->e = (struct estimate){ share, half, NULL };
	out->says = "?";
}

static void put_column_string(const struct at *a, uint64_t id, struct table_cell *out)
{
	out->text = profile_text(a->v->profile, (uint32_t)id);
}

TABLE_GET(get_column_event)
{
	const struct at a = at_of(t, c, r);

	out->text = a.v->source.event[a.t->event[a.event]].name;
}

TABLE_GET(get_samples)
{
	const struct at a = at_of(t, c, r);

	out->none = overlaps(&a, c);
	put_column_count(&a, column_weight_of(&a, c)->samples, out);
}

TABLE_GET(get_period)
{
	const struct at a = at_of(t, c, r);

	out->none = overlaps(&a, c);
	put_column_count(&a, column_weight_of(&a, c)->period, out);
}

TABLE_GET(get_column_share)
{
	const struct at a = at_of(t, c, r);
	const struct tally *w = column_weight_of(&a, c), *all = &a.t->sum[a.event]->selected;
	struct error_bar e =
		error_bar_share((double)w->period, (double)all->period, all->period_sq);
	struct tally cut;
	/* a fold of a tree stands for whole subtrees */
	bool subtrees = c->which == OF_SELF && a.r->id && a.r->folded && !a.v->opts.machine;

	out->dim = a.r->folded && !a.v->opts.machine;
	if (overlaps(&a, c) || subtrees)
		out->says = "";
	else
		put_column_share(all->period ? (double)w->period / (double)all->period : NAN,
				 isnan(e.share) ? NAN : e.half, out);
	/* callers that chains were cut off from have more samples than were seen */
	if (c->which == OF_TOTAL && a.v->opts.shape != VIEW_CALLERS && !a.r->folded && w->samples &&
	    fact_cut(a.v, a.t, a.event, &cut) && cut.samples && w->period < all->period)
		out->mark = '+';
}

/* The error of another column, if that stands elsewhere or not at all. */
TABLE_GET(get_bar)
{
	struct table_column of = column_table[c->which].show;

	of.nth = c->nth;
	of.get(t, &of, r, out);
	out->e.v = out->e.half;
}

/* A key of a table's row. */
TABLE_GET(get_key)
{
	const struct at a = at_of(t, c, r);
	const struct profile_opts *o = profile_options(a.v->profile);
	size_t i = 0;

	while (i < o->n_keys && (size_t)o->key[i] != c->which)
		i++;
	out->none = !a.r->row || i == o->n_keys;
	if (out->none)
		return;
	out->n = a.r->row->key[i];
	if (c->kind == T_TEXT)
		put_column_string(&a, out->n, out);
	else
		out->none = out->n == UINT64_MAX;
}

static const struct profile_frame *column_frame_of(const struct at *a)
{
	return a->r->frame == UINT32_MAX ? NULL
					 : &profile_chains(a->v->profile)->frame[a->r->frame];
}

/* Keys that frames have as well. */
#define FRAME_GETTER(name, ...)                                      \
	TABLE_GET(name)                                              \
	{                                                            \
		const struct at a = at_of(t, c, r);                  \
		const struct profile_frame *f = column_frame_of(&a); \
                                                                     \
		if (!f)                                              \
			get_key(t, c, r, out);                       \
		else                                                 \
			__VA_ARGS__;                                 \
	}
FRAME_GETTER(get_dso, put_column_string(&a, f->dso, out))
FRAME_GETTER(get_function, put_column_string(&a, f->name, out))
FRAME_GETTER(get_srcline, if (f->srcline) put_column_string(&a, f->srcline, out))
FRAME_GETTER(get_inline, out->text = f->inlined ? "inlined" : NULL)
#undef FRAME_GETTER

/* For people: a frame, as deep as it is shown. */
TABLE_GET(get_frame)
{
	const struct at a = at_of(t, c, r);
	const struct profile_frame *f = column_frame_of(&a);

	get_function(t, c, r, out);
	out->indent = a.r->indent;
	out->branch = a.r->indent == (a.r->parent ? a.t->row[a.r->parent - 1].indent : 0)
			      ? BRANCH_ONLY
		      : a.r->last ? BRANCH_LAST
				  : BRANCH_MORE;
	if (f && f->inlined)
		buf_puts(out->scratch, " (inlined)");
	if (a.r->levels > 1)
		buf_printf(out->scratch, " (%u levels)", (unsigned)a.r->levels);
	out->tail = buf_str(out->scratch);
}

/* A number of a tree's row. */
TABLE_GET(get_node)
{
	const struct view_row *row = r->p;
	uint32_t n;

	memcpy(&n, (const char *)row + c->which, sizeof(n));
	out->n = n;
	out->none = !row->id;
}
#define NODE(member) offsetof(struct view_row, member)

/* Returns the tally of a row's branches; NULL if it is a fold. */
static const struct branch_tally *branch_of(const struct at *a)
{
	return a->r->row && a->r->row->branch ? &a->r->row->branch[a->t->event[a->event]] : NULL;
}

/* The share among branches with a recorded prediction. */
TABLE_GET(get_mispredicted)
{
	const struct at a = at_of(t, c, r);
	const struct branch_tally *b = branch_of(&a);
	uint64_t told = b ? b->mispredicted + b->predicted : 0;
	out->says = "";
	if (b)
		put_column_share(told ? (double)b->mispredicted / (double)told : NAN, NAN, out);
}

/* The mean over those with counted cycles. */
TABLE_GET(get_cycles)
{
	const struct at a = at_of(t, c, r);
	const struct branch_tally *b = branch_of(&a);
	out->none = !b || !b->timed;
	if (!out->none)
		put_column_count(&a, (b->cycles + b->timed / 2) / b->timed, out);
}

TABLE_GET(get_branches)
{
	const struct at a = at_of(t, c, r);
	const struct branch_tally *b = branch_of(&a);
	uint64_t n = 0;

	out->none = !b;
	if (b)
		memcpy(&n, (const char *)b + c->which, sizeof(n));
	put_column_count(&a, n, out);
}
#define BRANCH(member) offsetof(struct branch_tally, member)

/* ---- parts of the slots ---- */

static void put_column_part(const struct at *a, enum topdown_part part, struct table_cell *out)
{
	struct topdown_value v = topdown_share(&a->v->topdown, a->r->row, part);

	put_column_share(v.share, v.half, out);
}

TABLE_GET(get_part)
{
	const struct at a = at_of(t, c, r);

	out->says = "";
	if (a.r->row)
		put_column_part(&a, (enum topdown_part)c->which, out);
}

static enum topdown_part column_mostly(const struct at *a, struct topdown_value *v)
{
	return a->r->row ? topdown_mostly(&a->v->topdown, a->r->row, v) : TOPDOWN_PARTS;
}

TABLE_GET(get_mostly)
{
	const struct at a = at_of(t, c, r);
	struct topdown_value v;
	enum topdown_part part = column_mostly(&a, &v);
	out->text = part == TOPDOWN_PARTS ? NULL : topdown_names[part];
}

TABLE_GET(get_mostly_share)
{
	const struct at a = at_of(t, c, r);
	struct topdown_value v;
	out->says = "";
	if (column_mostly(&a, &v) != TOPDOWN_PARTS)
		put_column_share(v.share, v.half, out);
}

/* ---- latencies ---- */

enum { LATENCY_MEAN, LATENCY_TIMED, LATENCY_P50 = 50, LATENCY_P90 = 90, LATENCY_P99 = 99 };

TABLE_GET(get_latency)
{
	const struct at a = at_of(t, c, r);
	size_t event = a.t->event[a.event];
	const char *why;
	const struct memory_spread *s = view_latency_of(a.v, event, a.r, &why);

	if (!s) {
		cell_none(out, why);
		out->says = "";
	} else if (c->which == LATENCY_TIMED) {
		put_column_count(&a, s->n, out);
	} else {
		cell_estimate(out, c->which == LATENCY_MEAN
					   ? memory_mean(s)
					   : memory_quantile(a.v->latency[event].memory, s,
							     (double)c->which / 100));
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

#define WEIGHT COLUMN_WEIGHT
#define BAR    COLUMN_BAR
#define FRAME  COLUMN_FRAME
const struct column column_table[COL_COUNT] = {
#define PROFILE_COLUMN(id, key_, words_, head_, width_, kind_, flags_, of_, get_, which_, means_) \
	[COL_##id] = { .show = { .key = key_,                                                     \
				 .head = head_,                                                   \
				 .kind = kind_,                                                   \
				 .flags = (flags_) & ~(unsigned)COLUMN_OWN,                       \
				 .means = means_,                                                 \
				 .get = get_,                                                     \
				 .which = which_ },                                               \
		       .words = key_ "\0" words_ "\0",                                            \
		       .width = width_,                                                           \
		       .flags = flags_,                                                           \
		       .of = COLUMN_OF_##of_ },
#include "report/profile/column.def"
#undef PROFILE_COLUMN
};
#undef WEIGHT
#undef BAR
#undef FRAME

struct table_cell column_cell(enum column_id id, const struct view *v, size_t table,
			      const struct view_row *r, struct buf *scratch)
{
	const struct table t = { .ctx = v };
	const struct table_row row = { .p = r, .at = { table } };
	struct table_cell x;

	table_cell(&x, &t, &column_table[id].show, &row, scratch);
	return x;
}

enum column_id column_of_key(enum profile_key key)
{
	int id = 0;

	while (id < COL_COUNT &&
	       !(column_table[id].flags & C_KEY && column_table[id].show.which == (size_t)key))
		id++;
	return (enum column_id)id;
}

/* ---- words of the user ----------------------------------------------------------------------- */

/* The column of samples, in SQL, that perf's sort key of a latency is; NULL: it is none. A key
 * without local_ is that times the samples of its row. */
static const char *latency_column(const char *key)
{
	static const char *const words[][2] = { { "weight", "weight" },
						{ "ins_lat", "weight2" },
						{ "retire_lat", "weight3" },
						{ "p_stage_cyc", "weight3" } };

	key += strncmp(key, "local_", 6) ? 0 : 6;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(key, words[i][0]))
			return words[i][1];
	return NULL;
}

static int refuse_latency(const char *key, struct err *err)
{
	const char *column = latency_column(key);
	bool local = !strncmp(key, "local_", 6);

	(void)err_set(err, ERR_USAGE,
		      "'%s' is no key to sort by: --fields +latencies, mem and annotate have means "
		      "and quantiles of latencies",
		      key);
	return err_hint(err,
			"perf's rows: cyclade sql 'SELECT event, %s%s AS %s, count(*) AS samples, "
			"sum(period) AS period FROM samples GROUP BY event, %s ORDER BY period "
			"DESC'",
			column, local ? "" : " * count(*)", key, column);
}

/* The column of a word whose flags include `flags`, or an error that names the nearest. */
static int find_column_column(enum column_id *out, const char *word, size_t len, unsigned flags,
			      const char *what, struct err *err)
{
	const char *names[2 * COL_COUNT + 1];
	char text[64];
	size_t n = 0;

	if (len >= sizeof(text))
		return err_set(err, ERR_USAGE, "'%.40s...' is no %s", word, what);
	memcpy(text, word, len);
	text[len] = '\0';
	for (int i = 0; i < COL_COUNT; i++) {
		const struct column *c = &column_table[i];

		if ((c->flags & flags) != flags)
			continue;
		*out = (enum column_id)i;
		for (const char *w = c->words; *w; w += strlen(w) + 1) {
			if (!strcmp(text, w))
				return 0;
			assert(n < 2 * COL_COUNT);
			names[n++] = w;
		}
	}
	names[n] = NULL;
	if (flags & C_KEY && latency_column(text))
		return refuse_latency(text, err);
	(void)err_set(err, ERR_USAGE, "'%s' is no %s", text, what);
	return text_suggest(
		err, text, names, "there are: %s",
		flags & C_KEY
			? "comm, pid, tid, cpu, socket, dso, function, srcline, inline, event, "
			  "cgroup, address"
			: "share, error, samples, period, total, self, latencies and the keys of "
			  "-s");
}

/* Branches have two ends, samples one place. */
static int column_fits(const struct profile_opts *o, enum column_id id, struct err *err)
{
	enum column_of of = column_table[id].of;

	if (of == COLUMN_OF_ALL || (of == COLUMN_OF_BRANCHES) == o->branches)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s rows have no '%s'",
		      o->branches ? "branches'" : "samples'", column_table[id].show.key);
	return err_hint(err, o->branches
				     ? "there are: comm, pid, tid, cpu, event and dso, function, "
				       "address, each with _from or _to"
				     : "it is one of branches: add -b");
}

bool keys_of_branches(const char *list)
{
	struct err unused = ERR_INIT;
	enum column_id id;
	const char *word;
	size_t len;

	while (text_word(&list, &word, &len))
		if (!find_column_column(&id, word, len, C_KEY, "key", &unused) &&
		    column_table[id].of == COLUMN_OF_BRANCHES)
			return true;
	return false;
}

int keys_parse(struct profile_opts *opts, bool *by_event, const char *list, struct err *err)
{
	const char *word;
	size_t len;

	if (!list)
		list = opts->branches ? "dso_from,function_from,dso_to,function_to"
				      : "dso,function";
	opts->n_keys = 0;
	*by_event = false;
	while (text_word(&list, &word, &len)) {
		enum column_id id;
		bool twice = false;

		if (find_column_column(&id, word, len, C_KEY, "key to sort by", err) ||
		    column_fits(opts, id, err))
			return -1;
		for (size_t i = 0; i < opts->n_keys; i++)
			twice |= opts->key[i] == (enum profile_key)column_table[id].show.which;
		if (id == COL_EVENT)
			*by_event = true;
		else if (!twice)
			opts->key[opts->n_keys++] = (enum profile_key)column_table[id].show.which;
	}
	return 0;
}

#define SEVERAL "latencies"

/* Returns the columns of a word for several; NULL: it is none. */
static const char *several(const char *word, size_t len)
{
	return len == strlen(SEVERAL) && !memcmp(word, SEVERAL, len)
		       ? "timed,latency,latency_error,latency_p50,latency_p50_error,latency_p90,"
			 "latency_p90_error,latency_p99,latency_p99_error"
		       : NULL;
}

bool columns_want_latency(const char *fields)
{
	struct err unused = ERR_INIT;
	enum column_id id;
	const char *word;
	size_t len;

	while (text_word(&fields, &word, &len)) {
		bool less = *word == '-', more = *word == '+';
		const char *name = word + (less || more);
		size_t n = len - (less || more);

		if (!less &&
		    (several(name, n) || (!find_column_column(&id, name, n, 0, "column", &unused) &&
					  column_table[id].of == COLUMN_OF_MEMORY)))
			return true;
	}
	return false;
}

static void list_remove(struct column_list *l, enum column_id id)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->id[i] != id)
			l->id[n++] = l->id[i];
	l->n = n;
}

static int not_here(enum column_id id, const char *said, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "there is no column '%s' in this report", said);
	if (column_table[id].of == COLUMN_OF_TOPDOWN || column_table[id].of == COLUMN_OF_TOPDOWN_2)
		return err_hint(err, "it needs a sampled group of slots and metrics: record "
				     "-e '{slots,cycles,topdown-retiring,...}:S'");
	if (column_table[id].of == COLUMN_OF_BRANCHES && !(column_table[id].flags & C_KEY))
		return err_hint(err, "it is one of branches: add -b");
	return column_table[id].flags & C_KEY
		       ? err_hint(err, "rows are told apart by -s: add it there")
		       : err_hint(err, "it is one of call trees: add -g or --children");
}

/* `said`: another word for it, else NULL. */
static int edit(struct column_list *l, const char *word, size_t len, const char *said,
		bool (*allowed)(void *ctx, enum column_id id), void *ctx, struct err *err)
{
	bool less = *word == '-', more = *word == '+';
	enum column_id id;

	if (find_column_column(&id, word + (less || more), len - (less || more), 0, "column", err))
		return -1;
	if (!less && !allowed(ctx, id))
		return not_here(id, said ? said : column_table[id].show.key, err);
	list_remove(l, id);
	if (!less)
		l->id[l->n++] = id;
	return 0;
}

static int edit_word(struct column_list *l, const char *word, size_t len,
		     bool (*allowed)(void *ctx, enum column_id id), void *ctx, struct err *err)
{
	bool less = *word == '-', more = *word == '+';
	const char *all = several(word + (less || more), len - (less || more));

	if (!all)
		return edit(l, word, len, NULL, allowed, ctx, err);
	while (text_word(&all, &word, &len)) {
		char one[64];

		(void)snprintf(one, sizeof(one), "%s%.*s", less ? "-" : "+", (int)len, word);
		if (edit(l, one, strlen(one), SEVERAL, allowed, ctx, err))
			return -1;
	}
	return 0;
}

int columns_parse(struct column_list *list, const char *fields,
		  bool (*allowed)(void *ctx, enum column_id id), void *ctx, struct err *err)
{
	const char *word;
	size_t len;

	if (!fields)
		return 0;
	fields += strspn(fields, " ");
	if (*fields != '+' && *fields != '-')
		list->n = 0;
	while (text_word(&fields, &word, &len))
		if (edit_word(list, word, len, allowed, ctx, err))
			return -1;
	return list->n ? 0 : err_set(err, ERR_USAGE, "--fields leaves no column");
}
