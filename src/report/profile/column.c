/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/column.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "report/view.h"

/* ---- getters --------------------------------------------------------------------------------- */

struct at { /* where a cell is */
	const struct view *v;
	const struct view_table *t;
	const struct view_row *r;
	size_t event;
};

static struct cell none(void)
{
	return (struct cell){ .kind = CELL_NONE };
}

static struct cell text_cell(const char *s)
{
	return (struct cell){ .kind = CELL_TEXT, .text = s };
}

static struct cell number_cell(enum cell_kind kind, uint64_t n)
{
	return (struct cell){ .kind = kind, .number = n };
}

static struct cell share_cell(const struct at *a, const struct tally *w)
{
	const struct tally *all = &a->t->sum[a->event]->selected;
	double share = all->period ? (double)w->period / (double)all->period : NAN;

	return (struct cell){ .kind = CELL_SHARE, .real = share };
}

static struct cell error_cell(const struct at *a, const struct tally *w)
{
	const struct tally *all = &a->t->sum[a->event]->selected;
	struct error_bar e =
		error_bar_share((double)w->period, (double)all->period, all->period_sq);

	return (struct cell){ .kind = CELL_ERROR, .real = isnan(e.share) ? NAN : e.half };
}

static const char *strings_get(const struct at *a, uint64_t id)
{
	return strtab_get(profile_strings(a->v->profile), (uint32_t)id);
}

static const struct profile_frame *frame_of(const struct at *a)
{
	return a->r->frame == UINT32_MAX ? NULL
					 : &profile_chains(a->v->profile)->frame[a->r->frame];
}

/* A key of a table's row. */
static struct cell key_cell(const struct at *a, enum profile_key key, enum cell_kind kind)
{
	const struct profile_opts *o = profile_options(a->v->profile);

	for (size_t i = 0; a->r->row && i < o->n_keys; i++) {
		uint64_t v = a->r->row->key[i];

		if (o->key[i] != key)
			continue;
		if (kind == CELL_TEXT)
			return text_cell(strings_get(a, v));
		return v == UINT64_MAX ? none() : number_cell(kind, v);
	}
	return none();
}

static struct cell get_event(const struct at *a)
{
	return text_cell(a->v->source.event[a->t->event[a->event]].name);
}

static struct cell get_samples(const struct at *a)
{
	return number_cell(CELL_COUNT, a->r->self[a->event].samples);
}

static struct cell get_period(const struct at *a)
{
	return number_cell(CELL_COUNT, a->r->self[a->event].period);
}

static struct cell get_share(const struct at *a)
{
	return share_cell(a, &a->r->self[a->event]);
}

static struct cell get_error(const struct at *a)
{
	return error_cell(a, &a->r->self[a->event]);
}

/* Functions' totals hold each other: summed in a fold they would mean nothing. */
static bool overlaps(const struct at *a)
{
	return a->v->opts.shape == VIEW_FUNCTIONS && a->r->folded;
}

static struct cell get_total_samples(const struct at *a)
{
	return overlaps(a) ? none() : number_cell(CELL_COUNT, a->r->total[a->event].samples);
}

static struct cell get_total_period(const struct at *a)
{
	return overlaps(a) ? none() : number_cell(CELL_COUNT, a->r->total[a->event].period);
}

static struct cell get_total(const struct at *a)
{
	return overlaps(a) ? none() : share_cell(a, &a->r->total[a->event]);
}

static struct cell get_total_error(const struct at *a)
{
	return overlaps(a) ? none() : error_cell(a, &a->r->total[a->event]);
}

static struct cell get_comm(const struct at *a)
{
	return key_cell(a, KEY_COMM, CELL_TEXT);
}

static struct cell get_pid(const struct at *a)
{
	return key_cell(a, KEY_PID, CELL_NUMBER);
}

static struct cell get_tid(const struct at *a)
{
	return key_cell(a, KEY_TID, CELL_NUMBER);
}

static struct cell get_cpu(const struct at *a)
{
	return key_cell(a, KEY_CPU, CELL_NUMBER);
}

static struct cell get_socket(const struct at *a)
{
	return key_cell(a, KEY_SOCKET, CELL_NUMBER);
}

static struct cell get_dso(const struct at *a)
{
	const struct profile_frame *f = frame_of(a);

	return f ? text_cell(strings_get(a, f->dso)) : key_cell(a, KEY_DSO, CELL_TEXT);
}

static struct cell get_sym(const struct at *a)
{
	const struct profile_frame *f = frame_of(a);

	return f ? text_cell(strings_get(a, f->name)) : key_cell(a, KEY_SYM, CELL_TEXT);
}

static struct cell get_srcline(const struct at *a)
{
	const struct profile_frame *f = frame_of(a);

	if (f)
		return f->srcline ? text_cell(strings_get(a, f->srcline)) : none();
	return key_cell(a, KEY_SRCLINE, CELL_TEXT);
}

static struct cell get_inline(const struct at *a)
{
	const struct profile_frame *f = frame_of(a);

	if (f)
		return f->inlined ? text_cell("inlined") : none();
	return key_cell(a, KEY_INLINE, CELL_TEXT);
}

static struct cell get_cgroup(const struct at *a)
{
	return key_cell(a, KEY_CGROUP, CELL_TEXT);
}

static struct cell get_addr(const struct at *a)
{
	return key_cell(a, KEY_ADDR, CELL_HEX);
}

static struct cell get_dso_from(const struct at *a)
{
	return key_cell(a, KEY_DSO_FROM, CELL_TEXT);
}

static struct cell get_sym_from(const struct at *a)
{
	return key_cell(a, KEY_SYM_FROM, CELL_TEXT);
}

static struct cell get_addr_from(const struct at *a)
{
	return key_cell(a, KEY_ADDR_FROM, CELL_HEX);
}

static struct cell get_dso_to(const struct at *a)
{
	return key_cell(a, KEY_DSO_TO, CELL_TEXT);
}

static struct cell get_sym_to(const struct at *a)
{
	return key_cell(a, KEY_SYM_TO, CELL_TEXT);
}

static struct cell get_addr_to(const struct at *a)
{
	return key_cell(a, KEY_ADDR_TO, CELL_HEX);
}

/* What the processor said of a row's branches; NULL where it is a fold. */
static const struct branch_tally *branch_of(const struct at *a)
{
	return a->r->row && a->r->row->branch ? &a->r->row->branch[a->t->event[a->event]] : NULL;
}

/* Of those that the processor told of. */
static struct cell get_mispredicted(const struct at *a)
{
	const struct branch_tally *b = branch_of(a);
	uint64_t told = b ? b->mispredicted + b->predicted : 0;

	if (!b)
		return none();
	return (struct cell){ .kind = CELL_SHARE,
			      .real = told ? (double)b->mispredicted / (double)told : NAN };
}

/* The mean over those whose cycles were counted. */
static struct cell get_cycles(const struct at *a)
{
	const struct branch_tally *b = branch_of(a);

	if (!b || !b->timed)
		return none();
	return number_cell(CELL_COUNT, (b->cycles + b->timed / 2) / b->timed);
}

#define BRANCH_GETTER(name, field)                                     \
	static struct cell get_##name(const struct at *a)              \
	{                                                              \
		const struct branch_tally *b = branch_of(a);           \
                                                                       \
		return b ? number_cell(CELL_COUNT, b->field) : none(); \
	}
BRANCH_GETTER(mispredicts, mispredicted)
BRANCH_GETTER(predicts, predicted)
BRANCH_GETTER(in_tx, in_tx)
BRANCH_GETTER(aborts, aborts)
#undef BRANCH_GETTER

static struct cell get_id(const struct at *a)
{
	return a->r->id ? number_cell(CELL_NUMBER, a->r->id) : none();
}

static struct cell get_parent(const struct at *a)
{
	return a->r->id ? number_cell(CELL_NUMBER, a->r->parent) : none();
}

static struct cell get_depth(const struct at *a)
{
	return a->r->id ? number_cell(CELL_NUMBER, a->r->depth) : none();
}

static struct cell get_frame(const struct at *a)
{
	return get_sym(a);
}

static struct topdown_value part_of(const struct at *a, enum topdown_part part)
{
	return topdown_share(&a->v->topdown, a->r->row, part);
}

static struct cell part_share(const struct at *a, enum topdown_part part)
{
	return a->r->row ? (struct cell){ .kind = CELL_SHARE, .real = part_of(a, part).share }
			 : none();
}

static struct cell part_error(const struct at *a, enum topdown_part part)
{
	return a->r->row ? (struct cell){ .kind = CELL_ERROR, .real = part_of(a, part).half }
			 : none();
}

#define TOPDOWN_GETTER(name, part)                                \
	static struct cell get_##name(const struct at *a)         \
	{                                                         \
		return part_share(a, TOPDOWN_##part);             \
	}                                                         \
	static struct cell get_##name##_error(const struct at *a) \
	{                                                         \
		return part_error(a, TOPDOWN_##part);             \
	}
TOPDOWN_GETTER(retiring, RETIRING)
TOPDOWN_GETTER(bad_speculation, BAD_SPECULATION)
TOPDOWN_GETTER(frontend_bound, FRONTEND_BOUND)
TOPDOWN_GETTER(backend_bound, BACKEND_BOUND)
TOPDOWN_GETTER(heavy_operations, HEAVY_OPERATIONS)
TOPDOWN_GETTER(light_operations, LIGHT_OPERATIONS)
TOPDOWN_GETTER(branch_mispredicts, BRANCH_MISPREDICTS)
TOPDOWN_GETTER(machine_clears, MACHINE_CLEARS)
TOPDOWN_GETTER(fetch_latency, FETCH_LATENCY)
TOPDOWN_GETTER(fetch_bandwidth, FETCH_BANDWIDTH)
TOPDOWN_GETTER(memory_bound, MEMORY_BOUND)
TOPDOWN_GETTER(core_bound, CORE_BOUND)
#undef TOPDOWN_GETTER

static enum topdown_part mostly(const struct at *a, struct topdown_value *v)
{
	return a->r->row ? topdown_mostly(&a->v->topdown, a->r->row, v) : TOPDOWN_PARTS;
}

static struct cell get_mostly(const struct at *a)
{
	struct topdown_value v;
	enum topdown_part part = mostly(a, &v);

	return part == TOPDOWN_PARTS ? none() : text_cell(topdown_names[part]);
}

static struct cell get_mostly_share(const struct at *a)
{
	struct topdown_value v;

	return mostly(a, &v) == TOPDOWN_PARTS
		       ? none()
		       : (struct cell){ .kind = CELL_SHARE, .real = v.share };
}

static struct cell get_mostly_error(const struct at *a)
{
	struct topdown_value v;

	return mostly(a, &v) == TOPDOWN_PARTS ? none()
					      : (struct cell){ .kind = CELL_ERROR, .real = v.half };
}

/* ---- the table ------------------------------------------------------------------------------- */

#define LEFT  TEXT_LEFT
#define RIGHT TEXT_RIGHT
const struct column column_table[COL_COUNT] = {
#define PROFILE_COLUMN(id, name, alias, header, align, width, flags, get) \
	[COL_##id] = { name, name "\0" alias "\0", header, align, width, flags },
#include "report/profile/column.def"
#undef PROFILE_COLUMN
};

static struct cell (*const getters[COL_COUNT])(const struct at *) = {
#define PROFILE_COLUMN(id, name, alias, header, align, width, flags, get) [COL_##id] = get,
#include "report/profile/column.def"
#undef PROFILE_COLUMN
};
#undef LEFT
#undef RIGHT

struct cell column_get(enum column_id id, const struct view *v, const struct view_table *t,
		       const struct view_row *r, size_t event)
{
	const struct at a = { v, t, r, event };

	return getters[id](&a);
}

/* The key behind each column that is one. */
static const struct {
	enum column_id column;
	enum profile_key key;
} key_columns[] = {
	{ COL_COMM, KEY_COMM },
	{ COL_PID, KEY_PID },
	{ COL_TID, KEY_TID },
	{ COL_CPU, KEY_CPU },
	{ COL_SOCKET, KEY_SOCKET },
	{ COL_DSO, KEY_DSO },
	{ COL_SYM, KEY_SYM },
	{ COL_SRCLINE, KEY_SRCLINE },
	{ COL_INLINE, KEY_INLINE },
	{ COL_EVENT, KEY_EVENT },
	{ COL_CGROUP, KEY_CGROUP },
	{ COL_ADDR, KEY_ADDR },
	{ COL_DSO_FROM, KEY_DSO_FROM },
	{ COL_SYM_FROM, KEY_SYM_FROM },
	{ COL_ADDR_FROM, KEY_ADDR_FROM },
	{ COL_DSO_TO, KEY_DSO_TO },
	{ COL_SYM_TO, KEY_SYM_TO },
	{ COL_ADDR_TO, KEY_ADDR_TO },
};

enum column_id column_of_key(enum profile_key key)
{
	for (size_t i = 0; i < sizeof(key_columns) / sizeof(*key_columns); i++)
		if (key_columns[i].key == key)
			return key_columns[i].column;
	return COL_COUNT;
}

static enum profile_key key_of_column(enum column_id id)
{
	for (size_t i = 0; i < sizeof(key_columns) / sizeof(*key_columns); i++)
		if (key_columns[i].column == id)
			return key_columns[i].key;
	return KEY_COUNT;
}

/* ---- what the user typed --------------------------------------------------------------------- */

/* The column of a word whose flags include `flags`, or an error that names the nearest. */
static int find_column(enum column_id *out, const char *word, size_t len, unsigned flags,
		       const char *what, struct err *err)
{
	const char *names[2 * COL_COUNT + 1], *near;
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
	near = text_nearest(text, names);
	(void)err_set(err, ERR_USAGE, "'%s' is no %s", text, what);
	if (near)
		return err_hint(err, "did you mean %s?", near);
	return err_hint(
		err, "there are: %s",
		flags & COLUMN_KEY
			? "comm, pid, tid, cpu, socket, dso, function, srcline, inline, event, "
			  "cgroup, address"
			: "share, error, samples, period, total, self and the keys of -s");
}

/* Branches have two ends, samples one place. */
static int fits(const struct profile_opts *o, enum column_id id, struct err *err)
{
	bool of_branch = id >= COL_DSO_FROM && id <= COL_ADDR_TO;
	bool of_any = id == COL_COMM || id == COL_PID || id == COL_TID || id == COL_CPU ||
		      id == COL_EVENT;

	if (of_any || of_branch == o->branches)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s rows have no '%s'",
		      o->branches ? "branches'" : "samples'", column_table[id].name);
	return err_hint(err, o->branches
				     ? "there are: comm, pid, tid, cpu, event and dso, function, "
				       "address, each with _from or _to"
				     : "it is one of branches: add -b");
}

int keys_parse(struct profile_opts *opts, bool *by_event, const char *list, struct err *err)
{
	const char *s = list		 ? list
			: opts->branches ? "comm,dso_from,function_from,dso_to,function_to"
					 : "comm,dso,function";

	opts->n_keys = 0;
	*by_event = false;
	for (;;) {
		size_t len = strcspn(s, ",");
		enum column_id id;
		bool twice = false;

		if (find_column(&id, s, len, COLUMN_KEY, "key to sort by", err) ||
		    fits(opts, id, err))
			return -1;
		for (size_t i = 0; i < opts->n_keys; i++)
			twice |= opts->key[i] == key_of_column(id);
		if (id == COL_EVENT)
			*by_event = true;
		else if (!twice)
			opts->key[opts->n_keys++] = key_of_column(id);
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

static void list_remove(struct column_list *l, enum column_id id)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->id[i] != id)
			l->id[n++] = l->id[i];
	l->n = n;
}

static int edit(struct column_list *l, const char *word, size_t len,
		bool (*allowed)(void *ctx, enum column_id id), void *ctx, struct err *err)
{
	bool less = *word == '-', more = *word == '+';
	enum column_id id;

	if (find_column(&id, word + (less || more), len - (less || more), 0, "column", err))
		return -1;
	if (!less && !allowed(ctx, id)) {
		(void)err_set(err, ERR_USAGE, "there is no column '%s' in this report",
			      column_table[id].name);
		if (id >= COL_MOSTLY && id <= COL_CORE_BOUND_ERROR)
			return err_hint(err,
					"it needs a sampled group of slots and metrics: record "
					"-e '{slots,cycles,topdown-retiring,...}:S'");
		if (id >= COL_BRANCHES && id <= COL_CYCLES)
			return err_hint(err, "it is one of branches: add -b");
		return column_table[id].flags & COLUMN_KEY
			       ? err_hint(err, "rows are told apart by -s: add it there")
			       : err_hint(err, "it is one of call trees: add -g or --children");
	}
	list_remove(l, id);
	if (!less)
		l->id[l->n++] = id;
	return 0;
}

int columns_parse(struct column_list *list, const char *fields,
		  bool (*allowed)(void *ctx, enum column_id id), void *ctx, struct err *err)
{
	if (!fields)
		return 0;
	if (*fields != '+' && *fields != '-')
		list->n = 0;
	for (;;) {
		size_t len = strcspn(fields, ",");

		if (edit(list, fields, len, allowed, ctx, err))
			return -1;
		if (!fields[len])
			break;
		fields += len + 1;
	}
	return list->n ? 0 : err_set(err, ERR_USAGE, "--fields leaves no column");
}
