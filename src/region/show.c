/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions and their counts, as tables: values, runs, losses.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "region/sums.h"

#define NO_ERROR "extrapolated from the part of the time that it was counted"

static const char *const whys[] = {
	[CYCLADE_OK] = NULL,
	[CYCLADE_NOT_MEASURED] = "not measured",
	[CYCLADE_NOT_RUN] = "not run",
	[CYCLADE_TOO_SHORT] = "too short",
	[CYCLADE_DOUBTFUL] = "counters disagree",
};

/* A region, of all threads or of one. */
struct shown_region {
	struct region_sums sums;
	uint32_t pid;
	bool thread, too_short;
	double wall;
};

struct shown_value {
	size_t region; /* in `region` */
	const char *cores, *name, *unit;
	unsigned depth;
	double scale;
	struct cyclade_value v;
};

struct shown {
	const struct report *r;
	struct document *d; /* its arena keeps names */
	VEC(struct shown_region) region;
	VEC(struct shown_value) value;
	const char *cores; /* of the values that come; NULL: there is one kind */
	bool failed;
};

/* ---- values, in the order of the words that asked for them ----------------------------------- */

static void show_value(struct shown *s, const char *name, unsigned depth, const char *unit,
		       double scale, const struct cyclade_value *v)
{
	const struct shown_value x = { .region = s->region.n - 1,
				       .cores = s->cores,
				       .name = name,
				       .unit = unit,
				       .depth = depth,
				       .scale = scale,
				       .v = *v };

	s->failed |= !name || vec_push(&s->value, x);
}

static void show_metric(struct shown *s, const struct region_values *v, size_t part, uint32_t i,
			const char *name, unsigned depth)
{
	const struct model_metric *m = &s->r->model[part]->metric[i];
	struct cyclade_value value = metric_value(v, part, i);

	show_value(s, name, depth, m->unit, m->scale, &value);
}

/* Children behind their parent, in the model's order. */
static void add_tree(struct shown *s, const struct region_values *v, size_t part, uint32_t parent,
		     unsigned level, unsigned deepest)
{
	const struct model *m = s->r->model[part];
	int64_t last = -1;

	for (;;) {
		uint32_t next = MODEL_NONE;

		for (uint32_t i = 0; i < m->n_metrics; i++)
			if (m->metric[i].level == level && m->metric[i].parent == parent &&
			    (int64_t)m->metric[i].order > last &&
			    (next == MODEL_NONE || m->metric[i].order < m->metric[next].order))
				next = i;
		if (next == MODEL_NONE)
			return;
		last = m->metric[next].order;
		show_metric(s, v, part, next,
			    arena_strdup(&s->d->a, model_last_part(m->metric[next].path)),
			    level - 1);
		if (level < deepest)
			add_tree(s, v, part, next, level + 1, deepest);
	}
}

static const struct cyclade_value not_measured = { sizeof(not_measured), NAN, NAN, NAN,
						   CYCLADE_NOT_MEASURED };

static void add_wish(struct shown *s, const struct region_values *v, const struct wish *w,
		     size_t part)
{
	if (w->kind == WISH_TREE && v->has_tree[part])
		add_tree(s, v, part, MODEL_NONE, 1, w->level);
	else if (w->kind == WISH_METRIC && v->has_tree[part] && w->metric[part] != MODEL_NONE)
		show_metric(s, v, part, w->metric[part], w->name, 0);
	else
		show_value(s, w->name, 0, "", 1, &not_measured);
}

static void show_event(struct shown *s, const struct region_values *v,
		       const struct table_sums *sums, const struct wish *w)
{
	const struct table_head *h = &s->r->v->head;
	bool any = false;

	for (size_t e = 0; e < h->n_events; e++) {
		struct cyclade_value value;

		if (!h->event[e].asked || strcmp(h->event[e].name, w->name) != 0)
			continue;
		value = event_value(s->r, v, sums, e);
		s->cores = h->n_parts > 1 ? h->part[h->event[e].part].pmu : NULL;
		show_value(s, w->name, 0, "", 1, &value);
		any = true;
	}
	s->cores = NULL;
	if (!any)
		show_value(s, w->name, 0, "", 1, &not_measured);
}

static int add_region(struct shown *s, const struct region_sums *one, bool thread, struct err *err)
{
	const struct report *r = s->r;
	size_t parts = r->v->head.n_parts ? r->v->head.n_parts : 1;
	struct shown_region x = { .sums = *one, .thread = thread, .pid = r->v->head.pid };
	struct region_values v;

	if (values_make(&v, r, &one->s, err))
		return -1;
	x.wall = v.wall;
	x.too_short = v.too_short;
	s->failed |= vec_push(&s->region, x);
	for (size_t part = 0; part < parts && !s->failed; part++) {
		s->cores = parts > 1 ? r->v->head.part[part].pmu : NULL;
		for (size_t i = 0; i < r->n_wishes; i++)
			if (r->wish[i].kind != WISH_EVENT)
				add_wish(s, &v, &r->wish[i], part);
	}
	for (size_t i = 0; i < r->n_wishes && !s->failed; i++)
		if (r->wish[i].kind == WISH_EVENT)
			show_event(s, &v, &one->s, &r->wish[i]);
	values_free(&v);
	return s->failed ? err_nomem(err) : 0;
}

/* ---- the table "values" ---------------------------------------------------------------------- */

static const struct shown_region *region_of(const struct table *t, const struct table_row *r)
{
	const struct shown_region *all = t->ctx;

	return t->form->flags & TABLE_MAIN ? &all[((const struct shown_value *)r->p)->region]
					   : r->p;
}

TABLE_CELL(region, out->text = region_of(t, r)->sums.s.name)
TABLE_CELL(pid, out->n = region_of(t, r)->pid)

TABLE_GET(tid)
{
	out->n = region_of(t, r)->sums.tid;
	out->none = !region_of(t, r)->thread;
}

/* num_seconds, and shorter times. */
static const char *duration(char out[NUM_MAX], double s)
{
	if (s >= 1e-5 || s <= 0)
		return num_seconds(out, s);
	(void)snprintf(out, NUM_MAX, "%.0f ns", s * 1e9);
	return out;
}

/* "work in worker (123)  200 runs  1.2 s in 4 threads" */
TABLE_GET(heading)
{
	const struct shown_region *x = region_of(t, r);
	const struct table_sums *s = &x->sums.s;
	char text[NUM_MAX];

	buf_puts(out->scratch, s->name);
	if (x->thread)
		buf_printf(out->scratch, " in %s (%u)", x->sums.comm, x->sums.tid);
	buf_printf(out->scratch, "  %s runs", num_exact(text, s->runs));
	buf_printf(out->scratch, "  %s", duration(text, x->wall));
	if (!x->thread && s->threads > 1)
		buf_printf(out->scratch, " in %s threads", num_exact(text, s->threads));
	out->text = buf_str(out->scratch);
}

TABLE_GET(unit)
{
	const struct shown_value *x = r->p;
	bool percent = !strcmp(x->unit, "%");

	/* people see it behind a value, and % in the value */
	if (*x->unit && (!(c->flags & C_PEOPLE) || (!percent && !isnan(x->v.value))))
		out->text = x->unit;
}

TABLE_GET(name)
{
	const struct shown_value *v = r->p;

	out->text = v->name;
	out->indent = v->depth;
}

static struct estimate scaled(const struct shown_value *x, double by)
{
	const struct cyclade_value *v = &x->v;

	return (struct estimate){ v->value * by, v->error * by,
				  !isnan(v->value) && isnan(v->error) ? NO_ERROR : whys[v->why] };
}

TABLE_CELL(value, out->e = scaled(r->p, ((const struct shown_value *)r->p)->scale))

/* For people: shares as such, large numbers with a unit. */
TABLE_GET(shown_value)
{
	const struct shown_value *x = r->p;
	bool share = !strcmp(x->unit, "%");

	out->kind = share ? T_SHARE : fabs(x->v.value * x->scale) >= 1000 ? T_AMOUNT : T_REAL;
	out->e = scaled(x, share ? x->scale / 100 : x->scale);
	out->says = whys[x->v.why];
}

/* For people, notes on a value that they see. */
TABLE_GET(remark)
{
	const struct cyclade_value *v = &((const struct shown_value *)r->p)->v;
	char text[NUM_MAX];

	if (isnan(v->value))
		return;
	if (v->counted < 0.995)
		buf_printf(out->scratch, "counted %s", num_percent(text, v->counted));
	if (v->why == CYCLADE_TOO_SHORT)
		buf_printf(out->scratch, "%s%s", out->scratch->len ? ", " : "", whys[v->why]);
	if (out->scratch->len)
		out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct shown_value, member)
static const struct table_column value_columns[] = {
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "the process", .get = pid),
	COLUMN("region", "region", T_TEXT, C_KEY | C_DATA, "its name", .get = region),
	COLUMN("tid", "tid", T_ID, C_KEY | C_DATA, "the thread; null: all of them", .get = tid),
	COLUMN("heading", "", T_TEXT, C_PEOPLE | C_GROUP, "", .get = heading),
	COLUMN("cores", "cores", T_TEXT, C_KEY | C_SPARSE,
	       "PMU of the kind of core, if there are several", OF(cores)),
	COLUMN("metric", "", T_TEXT, C_KEY | C_FLEX, "metric, node or event", .get = name),
	COLUMN("depth", "depth", T_ID, C_DATA, "of a node in the tree", OF(depth)),
	COLUMN("value", "value", T_REAL, C_ERROR | C_WHY | C_DATA, "in `unit`", .get = value),
	COLUMN("value_shown", "value", T_REAL, C_PEOPLE | C_ERROR, "", .get = shown_value),
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of the value and its error", .get = unit),
	COLUMN("unit_shown", "", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = unit),
	COLUMN("counted", "counted", T_SHARE, C_DATA,
	       "of the time: the value is extrapolated from it", OF(v.counted)),
	COLUMN("remark", "", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = remark),
};
#undef OF
static const struct table_form values_form = { "values", NULL, TABLE_MAIN,
					       TABLE_COLUMNS(value_columns), .rest = "value" };

/* ---- the table "regions" --------------------------------------------------------------------- */

TABLE_GET(comm)
{
	if (region_of(t, r)->thread)
		out->text = region_of(t, r)->sums.comm;
}

TABLE_CELL(threads, out->n = region_of(t, r)->thread ? 1 : region_of(t, r)->sums.s.threads)

#define OF(member) TABLE_FIELD(struct shown_region, member)
static const struct table_column region_columns[] = {
	COLUMN("pid", "pid", T_ID, C_KEY, "the process", .get = pid),
	COLUMN("region", "region", T_TEXT, C_KEY, "its name", .get = region),
	COLUMN("tid", "tid", T_ID, C_KEY, "the thread; null: all of them", .get = tid),
	COLUMN("comm", "comm", T_TEXT, 0, "the thread's name", .get = comm),
	COLUMN("threads", "threads", T_COUNT, 0, "that ran it", .get = threads),
	COLUMN("runs", "runs", T_COUNT, 0, "from a begin to its end", OF(sums.s.runs)),
	COLUMN("wall_s", "wall", T_SECONDS, 0, "in it, of all threads", OF(wall)),
	COLUMN("tsc", "tsc", T_REAL, 0, "the same in ticks of the time-stamp counter",
	       OF(sums.s.tsc)),
	COLUMN("lost", "lost", T_COUNT, 0, "runs that could not be counted", OF(sums.s.lost)),
	COLUMN("nested", "nested", T_COUNT, 0, "begins before it had ended", OF(sums.s.nested)),
	COLUMN("unmatched", "unmatched", T_COUNT, 0, "ends without a begin", OF(sums.s.unmatched)),
	COLUMN("foreign", "foreign", T_COUNT, 0, "begins and ends by another thread",
	       OF(sums.s.foreign)),
	COLUMN("slow", "slow", T_COUNT, 0, "begins and ends that entered the kernel",
	       OF(sums.s.slow)),
	COLUMN("too_short", "short", T_FLAG, 0, "begin and end take too large a part of a run",
	       OF(too_short)),
	COLUMN("torn", "torn", T_FLAG, 0, "the process ended while a run was added",
	       OF(sums.s.torn)),
};
#undef OF
static const struct table_form regions_form = { "regions", NULL, TABLE_DATA,
						TABLE_COLUMNS(region_columns) };

/* ---- the head, losses ------------------------------------------------------------------------ */

TABLE_CELL(program, out->text = ((const struct report *)r->p)->v->head.comm)
TABLE_CELL(head_pid, out->n = ((const struct report *)r->p)->v->head.pid)
TABLE_CELL(counted_by, out->text = ((const struct report *)r->p)->v->head.status)
TABLE_CELL(tsc_hz, out->e.v = ((const struct report *)r->p)->v->head.tsc_hz)
TABLE_CELL(lost_regions, out->n = ((const struct report *)r->p)->v->head.lost_regions)

TABLE_GET(cpu)
{
	const struct report *k = r->p;

	if (k->model[0])
		out->text = k->model[0]->title;
}

#define OF(member) TABLE_FIELD(struct report, member)
static const struct table_column head_columns[] = {
	COLUMN("program", "program", T_TEXT, 0, "its name", .get = program),
	COLUMN("pid", "pid", T_ID, 0, "its process", .get = head_pid),
	COLUMN("cpu", "cpu", T_TEXT, 0, "title of the model", .get = cpu),
	COLUMN("counted_by", "counted by", T_TEXT, 0, "how counters were read, and why not better",
	       .get = counted_by),
	{ "tsc_hz", "tsc", T_REAL, 0, "Hz", "of the time-stamp counter", .get = tsc_hz },
	COLUMN("resets", "resets", T_COUNT, 0, "of the metrics register", OF(resets)),
	COLUMN("threads_by_read", "by read", T_COUNT, 0,
	       "threads that had to read(2): no locked memory was left for pages", OF(slower)),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* A sum over all regions, of a uint64_t at c->which. */
TABLE_GET(sum)
{
	const struct report *k = r->p;

	for (size_t i = 0; i < k->region.n; i++) {
		uint64_t n;

		memcpy(&n, (const char *)&k->region.v[i].s + c->which, sizeof(n));
		out->n += n;
	}
}

/* clang-format off */
#define SUM(member, means) \
	COLUMN(#member, #member, T_COUNT, C_LOSS, means, .get = sum, \
	       .which = offsetof(struct table_sums, member))
/* clang-format on */
static const struct table_column loss_columns[] = {
	COLUMN("lost_regions", "regions", T_COUNT, C_LOSS,
	       "regions that found no room (cyclade_open_opts.max_regions)", .get = lost_regions),
	COLUMN("threads_without_counters", "threads", T_COUNT, C_LOSS,
	       "threads without counters: no descriptors were left", OF(blind)),
	SUM(lost, "runs that could not be counted"),
	SUM(unmatched, "ends without a begin"),
	SUM(foreign, "begins and ends by another thread than the handle's"),
};
#undef OF
static const struct table_form losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(loss_columns) };

/* ---- lines for people ------------------------------------------------------------------------ */

static void show_titles(struct document *d, const struct report *r)
{
	const struct table_head *h = &r->v->head;
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < h->n_parts; i++)
		if (r->model[i])
			buf_printf(&b, "%s%s", i ? "; " : ", ", r->model[i]->title);
	document_title(d, INK_BOLD, "regions of %s (%u)%s", h->comm, h->pid, buf_str(&b));
	document_title(d, INK_DIM, "%s%s", strncmp(h->status, "not ", 4) ? "counted by " : "",
		       h->status);
	d->failed |= b.failed;
	buf_free(&b);
}

static void add_trouble(struct document *d, const struct report *r, const struct shown_region *x)
{
	const struct table_sums *s = &x->sums.s;
	const struct table_head *h = &r->v->head;
	const struct {
		uint64_t n;
		const char *label, *says;
	} of[] = {
		{ s->lost, "not counted", "runs (interrupted in the middle of a change)" },
		{ s->nested, "nested", "begins before it had ended: the outer run counts" },
		{ s->unmatched, "unmatched", "ends without a begin" },
		{ s->foreign, "other thread",
		  "begins and ends by another thread than the handle's: do not believe these "
		  "counts" },
	};
	char text[NUM_MAX], pair[NUM_MAX];

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].n)
			document_fact(d, of[i].label, true, "%s: %s %s", s->name,
				      num_exact(text, of[i].n), of[i].says);
	if (s->torn)
		document_fact(d, "torn", true,
			      "%s: its last run was being added when the process ended", s->name);
	if (x->too_short)
		document_fact(d, "too short", true,
			      "%s: a run takes %s, begin and end themselves %s", s->name,
			      duration(text, s->tsc / (double)s->runs / h->tsc_hz),
			      duration(pair, (double)h->pair_tsc / h->tsc_hz));
}

static bool any_turns(const struct report *r)
{
	for (size_t i = 0; i < r->region.n; i++)
		for (size_t g = 0; g < r->v->head.n_groups && r->v->head.n_groups > 1; g++)
			if (r->region.v[i].s.off_ns[g] > 0)
				return true;
	return false;
}

static void show_facts(struct document *d, const struct shown *s)
{
	const struct report *r = s->r;

	for (size_t i = 0; i < s->region.n; i++)
		if (!s->region.v[i].thread)
			add_trouble(d, r, &s->region.v[i]);
	if (!r->region.n)
		document_fact(d, "regions", true, "no region was begun");
	if (r->slower)
		document_fact(d, "by read(2)", false,
			      "%zu threads had to read(2): no locked memory was left for pages",
			      r->slower);
	if (r->blind)
		document_fact(d, "no counters", true,
			      "%zu threads have no counters: no descriptors were left", r->blind);
	if (any_turns(r))
		document_fact(
			d, "counted", false,
			"groups of counters took turns: the share of the time that a value is "
			"extrapolated from; \"+-?\" has no error bar");
	if (r->v->head.lost_regions)
		document_fact(d, "no room", true, "%u regions (cyclade_open_opts.max_regions)",
			      r->v->head.lost_regions);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct table_form *const forms[] = { &head_form, &regions_form, &values_form,
						  &losses_form };
const struct document_form regions_document = {
	.name = "regions", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

static const void *has_table_moved(struct document *d, const void *rows, size_t size)
{
	const void *p = size ? arena_memdup(&d->a, rows, size) : NULL;

	d->failed |= size && !p;
	return p;
}

/* Rows move to the document's arena. */
static void show_tables(struct document *d, const struct shown *s)
{
	const void *regions = has_table_moved(d, s->region.v, s->region.n * sizeof(*s->region.v));
	const void *values = has_table_moved(d, s->value.v, s->value.n * sizeof(*s->value.v));
	const struct table tables[] = {
		{ .form = &head_form, .array = s->r, .n = 1 },
		{ .form = &regions_form,
		  .ctx = regions,
		  .array = regions,
		  .stride = sizeof(*s->region.v),
		  .n = s->region.n },
		{ .form = &values_form,
		  .ctx = regions,
		  .array = values,
		  .stride = sizeof(*s->value.v),
		  .n = s->value.n },
		{ .form = &losses_form, .array = s->r, .n = 1 },
	};

	for (size_t i = 0; !d->failed && i < sizeof(tables) / sizeof(*tables); i++)
		document_table(d, &tables[i]);
}

int report_document(struct document *d, const struct report *r, bool per_thread, struct err *err)
{
	struct shown s = { .r = r, .d = d };
	int rc = -1;

	for (size_t i = 0; i < r->region.n; i++) {
		const struct region_sums *all = &r->region.v[i];

		if (add_region(&s, all, false, err))
			goto out;
		for (size_t t = 0; per_thread && t < r->thread.n; t++)
			if (!strcmp(r->thread.v[t].s.name, all->s.name) &&
			    add_region(&s, &r->thread.v[t], true, err))
				goto out;
	}
	show_titles(d, r);
	show_tables(d, &s);
	show_facts(d, &s);
	rc = 0;
out:
	vec_free(&s.region);
	vec_free(&s.value);
	return rc;
}
