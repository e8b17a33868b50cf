/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The document of an interval: a table for each kind of place, with a column for each metric;
 * unavailable metrics with reasons; states of counters.
 */
#include <math.h>
#include <string.h>

#include "monitor/monitor_int.h"

#define CPUS_SHOWN 16

/* ---- head ---- */

struct head {
	double time, interval;
	const char *model;
	uint64_t gone, never, held, cgroups;
};

#define HEAD(member) TABLE_FIELD(struct head, member)
static const struct table_column head_columns[] = {
	COLUMN("time", "time", T_SECONDS, C_DATA, "since the monitor began", HEAD(time)),
	COLUMN("interval", "interval", T_SECONDS, C_DATA, "that the figures are of",
	       HEAD(interval)),
	COLUMN("model", "model", T_TEXT, C_DATA, "of the CPU, whose events are counted",
	       HEAD(model)),
};
static const struct table_form head_form = { "head", NULL, TABLE_HEAD | TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };
static const struct table_column loss_columns[] = {
	COLUMN("gone", "gone", T_COUNT, C_LOSS, "counters of CPUs that went offline", HEAD(gone)),
	COLUMN("never", "never", T_COUNT, C_LOSS,
	       "counters without a turn in this interval: others hold them", HEAD(never)),
	COLUMN("held", "held", T_COUNT, C_LOSS,
	       "counters that other programs have, found by their registers (--backend msr)",
	       HEAD(held)),
	COLUMN("cgroups", "cgroups", T_COUNT, C_LOSS,
	       "cgroups that are not shown: too many, or paths too long", HEAD(cgroups)),
};
static const struct table_form loss_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(loss_columns) };

/* ---- places ---- */

static void put_id(struct table_cell *out, int32_t id)
{
	out->none = id < 0;
	out->n = id < 0 ? 0 : (uint64_t)id;
}

static const struct place *table_place_of(const struct table_row *r)
{
	return r->p;
}

TABLE_CELL(get_cpu, put_id(out, table_place_of(r)->cpu))
TABLE_CELL(get_core, put_id(out, table_place_of(r)->core))
TABLE_CELL(get_socket, put_id(out, table_place_of(r)->socket))
TABLE_CELL(get_die, put_id(out, table_place_of(r)->die))
TABLE_CELL(get_l3, put_id(out, table_place_of(r)->l3))

#define KEY_CPU	   COLUMN("cpu", "CPU", T_ID, C_KEY, "logical processor", .get = get_cpu)
#define KEY_CORE   COLUMN("core", "core", T_ID, C_KEY, "its core", .get = get_core)
#define KEY_SOCKET COLUMN("socket", "socket", T_ID, C_KEY, "processor package", .get = get_socket)
#define KEY_DIE	   COLUMN("die", "die", T_ID, C_KEY, "die of the package", .get = get_die)
#define KEY_L3 \
	COLUMN("l3", "L3", T_ID, C_KEY, "L3 cache, as the kernel numbers them", .get = get_l3)
#define KEY_CHANNEL                                                                 \
	COLUMN("channel", "channel", T_TEXT, C_KEY, "memory channel of the socket", \
	       TABLE_FIELD(struct place, instance))
#define KEY_LINK                                                                   \
	COLUMN("link", "link", T_TEXT, C_KEY, "link of the socket to another one", \
	       TABLE_FIELD(struct place, instance))

/* the last one of its table: see make_metric_columns() */
#define KEY_KIND                                                                   \
	COLUMN("kind", "kind", T_TEXT, C_KEY, "PMU of its cores, on a hybrid CPU", \
	       TABLE_FIELD(struct place, kind))

static const struct table_column cpu_keys[] = { KEY_CPU, KEY_CORE, KEY_SOCKET, KEY_KIND };
static const struct table_column l3_keys[] = { KEY_L3, KEY_SOCKET };
static const struct table_column channel_keys[] = { KEY_SOCKET, KEY_DIE, KEY_CHANNEL };
TABLE_CELL(get_unit, out->text = *table_place_of(r)->unit ? table_place_of(r)->unit : NULL)
TABLE_CELL(get_container,
	   out->text = *table_place_of(r)->container ? table_place_of(r)->container : NULL)
TABLE_CELL(get_pod, out->text = *table_place_of(r)->pod ? table_place_of(r)->pod : NULL)
static const struct table_column cgroup_keys[] = {
	COLUMN("cgroup", "cgroup", T_TEXT, C_KEY | C_FLEX | C_CUT, "path below the hierarchy",
	       TABLE_FIELD(struct place, cgroup)),
	COLUMN("unit", "unit", T_TEXT, C_KEY | C_DATA, "of systemd that it is, or is in",
	       .get = get_unit),
	COLUMN("container", "container", T_TEXT, C_KEY | C_SPARSE, "that it is, or is in",
	       .get = get_container),
	COLUMN("pod", "pod", T_TEXT, C_KEY | C_SPARSE, "of Kubernetes that it is, or is in",
	       .get = get_pod),
};
static const struct table_column link_keys[] = { KEY_SOCKET, KEY_DIE, KEY_LINK };
static const struct table_column core_keys[] = { KEY_SOCKET, KEY_DIE, KEY_CORE, KEY_KIND };
static const struct table_column kind_keys[] = { KEY_KIND };
static const struct table_column socket_keys[] = { KEY_SOCKET, KEY_DIE };
static const struct table_form host_form = { "host", "machine", TABLE_ONE | TABLE_DATA, NULL, 0,
					     NULL,   NULL };
static const struct table_form socket_form = { "socket", "by socket", TABLE_GROWS,
					       TABLE_COLUMNS(socket_keys) };
static const struct table_form kind_form = { "kind", "by kind of core", TABLE_GROWS,
					     TABLE_COLUMNS(kind_keys) };
static const struct table_form channel_form = { "channel", "by memory channel", TABLE_GROWS,
						TABLE_COLUMNS(channel_keys) };
static const struct table_form link_form = { "link", "by link between sockets", TABLE_GROWS,
					     TABLE_COLUMNS(link_keys) };
static const struct table_form core_form = { "core", "by core", TABLE_GROWS,
					     TABLE_COLUMNS(core_keys), .rest = "core" };
static const struct table_form l3_form = { "l3", "by L3 cache", TABLE_GROWS,
					   TABLE_COLUMNS(l3_keys) };
static const struct table_form cpu_form = { "cpu", "by CPU", TABLE_MAIN | TABLE_GROWS,
					    TABLE_COLUMNS(cpu_keys), .rest = "CPU" };

static const struct table_form cgroup_form = { "cgroup", "by cgroup", TABLE_GROWS,
					       TABLE_COLUMNS(cgroup_keys) };

static const struct table_form *const place_forms[] = {
#define PLACE(id, name, title) &name##_form,
#include "monitor/place.def"
#undef PLACE
};

static const struct cell *cell_at(const struct table *t, const struct table_column *c,
				  const struct table_row *r)
{
	const struct places *of = t->ctx;

	return &of->cell[r->i * of->column.n + c->which];
}

TABLE_CELL(get_total, cell_estimate(out, cell_at(t, c, r)->total))
TABLE_CELL(get_now, cell_estimate(out, cell_at(t, c, r)->now))
TABLE_GET(get_rate)
{
	const struct places *of = t->ctx;
	struct estimate e = cell_at(t, c, r)->now;

	e.v /= of->seconds;
	e.half /= of->seconds;
	cell_estimate(out, e);
}

static enum table_kind gauge_kind(const char *unit)
{
	if (!strcmp(unit, "ratio"))
		return T_SHARE;
	if (!strcmp(unit, "seconds"))
		return T_SECONDS;
	return *unit ? T_AMOUNT : T_REAL;
}

/* A counter's total; its rate, or a gauge; the same for people, without error bars of exact
 * values. */
static size_t put_metric(struct monitor *m, struct table_column *c, const struct set_row *row,
			 size_t which)
{
	struct table_column *at = c;

	*at = (struct table_column){ .key = row->name,
				     .kind = row->counter ? T_AMOUNT : gauge_kind(row->unit),
				     .flags = C_DATA | C_TOTAL,
				     .unit = row->unit,
				     .means = row->help,
				     .head = row->name,
				     .get = row->counter ? get_total : get_now,
				     .which = which };
	if (row->counter) {
		at[1] = at[0];
		at++;
		at->key = arena_printf(m->a, "%s_rate", row->name);
		at->kind = strcmp(row->unit, "seconds") ? T_AMOUNT : T_SHARE;
		at->get = get_rate;
		if (at->kind != T_SHARE)
			at->head = arena_printf(m->a, "%s/s", row->name);
	}
	at->flags = C_DATA | C_ERROR | C_WHY | (row->counter ? C_RATE : 0);
	at[1] = at[0];
	at++;
	at->key = arena_printf(m->a, "%s_shown", row->name);
	return at->key && at->head && at[-1].key ? (size_t)(at - c) + 1 : 0;
}

static int make_metric_columns(struct monitor *m, enum place_kind kind)
{
	struct places *of = &m->of[kind];
	const struct table_form *f = place_forms[kind];
	struct table_column *c = arena_alloc(m->a, (f->n_columns + 3 * of->column.n) * sizeof(*c));

	if (!c)
		return -1;
	if (f->n_columns)
		memcpy(c, f->column, f->n_columns * sizeof(*c));
	of->n_shown = f->n_columns;
	if (of->n_shown && !strcmp(c[of->n_shown - 1].key, "kind") && !m->rows->hybrid)
		of->n_shown--;
	of->n_keys = of->n_shown;
	for (size_t i = 0; i < of->column.n; i++) {
		size_t n = put_metric(m, &c[of->n_shown], of->column.v[i], i);

		if (!n)
			return -1;
		of->n_shown += n;
	}
	of->shown = c;
	return 0;
}

/* People's column of a metric stands behind its others. */
static void choose_errors(struct places *of, size_t first)
{
	for (size_t i = first; i < of->n_shown; i++) {
		struct table_column *c = &of->shown[i];
		bool exact = true;

		if (i + 1 < of->n_shown && of->shown[i + 1].which == c->which)
			continue;
		for (size_t p = 0; p < of->place.n; p++) {
			const struct estimate *e = &of->cell[p * of->column.n + c->which].now;

			exact &= isnan(e->v) || (!isnan(e->half) && e->half <= 0);
		}
		c->flags = C_PEOPLE | C_SPARSE | C_DROP | (exact ? 0 : C_ERROR);
	}
}

/* Writes the machine's table as lines, for people. */
static void put_host(struct document *d, const struct places *of, const struct table *t)
{
	struct table_row r = { 0 };
	struct buf text = BUF_INIT, scratch = BUF_INIT;
	struct table_cell x;

	if (table_next(t, &r))
		for (size_t i = 0; i < of->n_shown; i++) {
			if (!(of->shown[i].flags & C_PEOPLE))
				continue;
			table_cell(&x, t, &of->shown[i], &r, &scratch);
			if (!cell_has(&x))
				continue;
			buf_reset(&text);
			cell_put(&text, &x);
			document_head(d, of->shown[i].head, "%s", buf_str(&text));
		}
	d->failed |= text.failed | scratch.failed;
	buf_free(&text);
	buf_free(&scratch);
}

/* Without a value the table is a list of places: for programs only. */
static bool any_value(const struct places *of)
{
	for (size_t i = 0; i < of->place.n * of->column.n; i++)
		if (!isnan(of->cell[i].now.v))
			return true;
	return false;
}

static void put_places(struct document *d, struct monitor *m, enum place_kind kind)
{
	struct places *of = &m->of[kind];
	struct table t = { .form = place_forms[kind],
			   .ctx = of,
			   .array = of->place.v,
			   .stride = sizeof(struct place),
			   .n = of->place.n,
			   .people = kind == PLACE_CPU || kind == PLACE_CORE ? CPUS_SHOWN : 0 };

	of->seconds = m->seconds;
	if (!of->place.n || !of->column.n)
		return;
	if (!of->shown && make_metric_columns(m, kind)) {
		d->failed = true;
		return;
	}
	t.column = of->shown;
	t.n_columns = of->n_shown;
	choose_errors(of, of->n_keys);
	t.data_only = !any_value(of);
	if (kind == PLACE_HOST)
		put_host(d, of, &t);
	document_table(d, &t);
}

/* ---- metrics without values ---- */

static bool next_missing(const struct table *t, struct table_row *r)
{
	const struct monitor *m = t->ctx;

	for (r->at[0] = r->p ? r->at[0] + 1 : 0; r->at[0] < m->metric.n; r->at[0]++) {
		r->p = &m->metric.v[r->at[0]];
		if (m->metric.v[r->at[0]].why)
			return true;
	}
	return false;
}

#define METRIC(r) ((const struct metric *)(r)->p)
TABLE_CELL(get_place, out->text = METRIC(r)->row->place)
TABLE_CELL(get_metric, out->text = METRIC(r)->row->name)
TABLE_CELL(get_instance, out->text = *METRIC(r)->row->instance ? METRIC(r)->row->instance : NULL)
TABLE_CELL(get_why, out->text = METRIC(r)->why)

static const struct table_column missing_columns[] = {
	COLUMN("place", "place", T_TEXT, C_KEY, "what it is a metric of", .get = get_place),
	COLUMN("metric", "not available", T_TEXT, C_KEY, "its name", .get = get_metric),
	COLUMN("instance", "", T_TEXT, C_KEY | C_SPARSE, "channel that it is of",
	       .get = get_instance),
	COLUMN("why", "why", T_TEXT, C_FLEX | C_CUT, "why it has no value here", .get = get_why),
};
static const struct table_form missing_form = { "unavailable", NULL, 0,
						TABLE_COLUMNS(missing_columns), next_missing };

/* ---- counters ---- */

static bool next_counter(const struct table *t, struct table_row *r)
{
	const struct monitor *m = t->ctx;

	for (r->at[0] = r->p ? r->at[0] + 1 : 0; r->at[0] < m->source.n; r->at[0]++) {
		r->p = &m->source.v[r->at[0]];
		if (m->source.v[r->at[0]].event != NO_COUNTER)
			return true;
	}
	return false;
}

#define SOURCE(r) ((const struct source *)(r)->p)
TABLE_CELL(get_event, out->text = SOURCE(r)->name)
TABLE_CELL(get_pmu, out->text = SOURCE(r)->pmu)
TABLE_CELL(get_config,
	   out->n = ((const struct monitor *)t->ctx)->list.ev.v[SOURCE(r)->event].attr.config)
TABLE_CELL(get_share, out->e = (struct estimate){ SOURCE(r)->share, 0, SOURCE(r)->why })

static const struct table_column counter_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY | C_FLEX, "as models name it", .get = get_event),
	COLUMN("pmu", "PMU", T_TEXT, C_KEY, "that counts it", .get = get_pmu),
	COLUMN("config", "config", T_ADDRESS, 0, "what the kernel is asked for", .get = get_config),
	COLUMN("share", "share", T_SHARE, C_WHY, "time that it was on a counter", .get = get_share),
};
static const struct table_form counter_form = { "counters", "counters", TABLE_DATA,
						TABLE_COLUMNS(counter_columns), next_counter };

static const struct table_form *const forms[] = {
	&head_form,
#define PLACE(id, name, title) &name##_form,
#include "monitor/place.def"
#undef PLACE
	&missing_form,
	&counter_form,
	&loss_form,
};
const struct document_form monitor_document = { "monitor", 1, forms, sizeof(forms) / sizeof(*forms),
						NULL,	   0 };

/* PMUs whose events are not always on counters, for people. */
static void put_turns(struct document *d, const struct monitor *m)
{
	for (size_t i = 0; i < m->source.n; i++) {
		const struct source *s = &m->source.v[i];
		bool first = s->event != NO_COUNTER && s->share < 0.99;

		for (size_t k = 0; k < i && first; k++)
			first = m->source.v[k].event == NO_COUNTER ||
				strcmp(m->source.v[k].pmu, s->pmu) != 0 ||
				!(m->source.v[k].share < 0.99);
		if (first)
			document_fact(d, s->pmu, false,
				      "events take turns, each %.1f %% of the time on a counter",
				      s->share * 100);
	}
}

/* Returns all ids of a hybrid, the large cores' first. */
static const char *model_ids(const struct monitor *m, struct arena *a)
{
	const char *ids = NULL;

	for (size_t i = 0; i < m->rows->n_kinds; i++) {
		const struct model *model = m->rows->kind[i].model;

		if (model)
			ids = ids ? arena_printf(a, "%s, %s", ids, model->id) : model->id;
	}
	return ids;
}

void monitor_put(struct document *d, struct monitor *m)
{
	struct head *h = arena_alloc(&d->a, sizeof(*h));
	struct table t = { .form = &head_form, .stride = sizeof(*h), .n = 1, .array = h };

	if (!h) {
		d->failed = true;
		return;
	}
	*h = (struct head){ .time = (double)(m->k.now - m->rows->born) / 1e9,
			    .interval = m->seconds,
			    .model = model_ids(m, &d->a),
			    .gone = m->gone,
			    .never = m->never,
			    .cgroups = monitor_cgroups_left(m),
			    .held = m->msr ? msr_held(m->msr) : 0 };
	document_table(d, &t);
	for (size_t i = 0; i < PLACES; i++)
		put_places(d, m, (enum place_kind)i);
	document_table(d, &(struct table){ .form = &missing_form, .ctx = m });
	document_table(d, &(struct table){ .form = &counter_form, .ctx = m });
	t.form = &loss_form;
	document_table(d, &t);
	put_turns(d, m);
	if (m->msr && msr_no_plan(m->msr))
		document_note(d, msr_no_plan(m->msr));
	for (size_t i = 0; i < m->renamed.n && !m->rows->introduced; i++)
		document_note(d, m->renamed.v[i]);
	m->rows->introduced = true;
	for (size_t i = 0; i < m->rows->n_kinds; i++)
		if (m->rows->kind[i].why)
			document_note(d, m->rows->kind[i].why);
}
