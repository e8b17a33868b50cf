/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From rows of text to counters: formulas, and the inputs that they name.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collect/sysfs.h"
#include "monitor/monitor_int.h"

/* ---- inputs ---- */

static int add_source(struct monitor *m, const struct source *s, struct err *err)
{
	struct source *to = vec_add(&m->source);

	if (!to)
		return err_nomem(err);
	*to = *s;
	to->at = arena_alloc(m->a, m->slots * sizeof(*to->at));
	if (!to->at)
		return err_nomem(err);
	memset(to->at, 0, m->slots * sizeof(*to->at));
	return 0;
}

/* Registers may have events that the kernel has no PMU for. */
static const char *missing(struct monitor *m, const char *what)
{
	static const char *const pmus[] = { "amd_df", "amd_l3" };
	bool msr = false;

	for (size_t i = 0; i < sizeof(pmus) / sizeof(*pmus); i++)
		msr |= !m->msr && strstr(what, pmus[i]) && m->k.machine.vendor &&
		       !strcmp(m->k.machine.vendor, "AuthenticAMD");
	return arena_printf(m->a, "%s%s", what,
			    msr ? " (root may count it with --backend msr)" : "");
}

static bool is_of_cores(const struct monitor *m, const struct event *e)
{
	return e->attr.type == PERF_TYPE_HARDWARE || e->attr.type == PERF_TYPE_HW_CACHE ||
	       e->attr.type == PERF_TYPE_RAW || (e->pmu && sys_core_pmu(m->k.root, e->pmu));
}

/* An event may be several counters: the boxes of an uncore unit. `text` is the machine's name of
 * it, if that differs (NULL: it does not). */
static int add_source_event(struct monitor *m, struct input *in, const char *text, struct err *err)
{
	struct err e = ERR_INIT;
	size_t from = m->list.ev.n;

	if (event_parse(&m->list, m->k.root, text ? text : in->name, &e)) {
		if (e.code == ERR_NOMEM)
			return err_nomem(err);
		in->why = missing(m, e.what);
		return in->why ? 0 : err_nomem(err);
	}
	for (size_t i = from; i < m->list.ev.n; i++) {
		const struct event *ev = &m->list.ev.v[i];

		if (m->opts->no_cores && is_of_cores(m, ev)) {
			in->why = "the tree and the samples have the counters of the cores";
			return 0;
		}
		struct source s = {
			.name = in->name, .pmu = ev->pmu, .event = i, .scale = ev->scale
		};

		if (add_source(m, &s, err))
			return -1;
		in->n_sources++;
	}
	return 0;
}

int monitor_input(struct monitor *m, struct input_name name, const char *text, uint32_t *out,
		  struct err *err)
{
	struct source proc = { .event = NO_COUNTER, .pmu = "proc" };
	enum place_kind of;
	struct input in = { .source = m->source.n, .event = MODEL_NONE, .of_kind = name.of_kind };

	*out = 0;
	while (*out < m->input.n && (m->input.v[*out].of_kind != name.of_kind ||
				     strlen(m->input.v[*out].name) != name.len ||
				     memcmp(m->input.v[*out].name, name.s, name.len) != 0))
		++*out;
	if (*out < m->input.n)
		return 0;
	in.name = proc.name = arena_strndup(m->a, name.s, name.len);
	if (!in.name)
		return err_nomem(err);
	if (!text && name.len > 5 && !memcmp(name.s, "proc.", 5) &&
	    monitor_proc(name.s + 5, name.len - 5, &proc.proc, &proc.level, &of)) {
		if (add_source(m, &proc, err))
			return -1;
		in.n_sources = 1;
	} else if (add_source_event(m, &in, text, err)) {
		return -1;
	}
	return vec_push(&m->input, in) ? err_nomem(err) : 0;
}

/* ---- formulas ---- */

struct names {
	struct monitor *m;
	size_t kind;
	struct err *err;
	bool failed;
};

/* On a hybrid, returns the event of this kind of cores, though another may have one of the same
 * name. */
static uint32_t of_model(const struct names *n, const char *name, size_t len)
{
	const struct model *model = n->m->rows->kind[n->kind].model;

	return model && n->m->rows->hybrid ? model_event_find(model, name, len) : MODEL_NONE;
}

static bool find_input(void *ctx, enum expr_ask opts, const char *name, size_t len,
		       struct expr_ref *out)
{
	struct names *n = ctx;
	uint32_t event;
	int found;

	if (opts == ASK_NAME) {
		found = monitor_node(n->m, n->kind, name, len, out, n->err);
		n->failed = found < 0;
		if (found)
			return found > 0;
	}
	*out = (struct expr_ref){ .kind = EXPR_EVENT };
	if (opts != ASK_NAME || !len || *name == '#' ||
	    (len == strlen("duration_time") && !memcmp(name, "duration_time", len)))
		return false;
	event = of_model(n, name, len);
	n->failed = event != MODEL_NONE
			    ? monitor_model_input(n->m, n->kind, event, &out->index, n->err)
			    : monitor_input(n->m, (struct input_name){ name, len, ANY_KIND }, NULL,
					    &out->index, n->err);
	return !n->failed;
}

struct needs {
	struct monitor *m;
	size_t kind;
	struct err *err;
	VEC(uint32_t) input, node;
	bool failed;
};

static int note_once(struct needs *n, bool node, uint32_t index)
{
	const uint32_t *v = node ? n->node.v : n->input.v;
	size_t at = 0, have = node ? n->node.n : n->input.n;

	while (at < have && v[at] != index)
		at++;
	if (at < have)
		return 0;
	if (node ? vec_push(&n->node, index) : vec_push(&n->input, index)) {
		n->failed = true;
		return err_nomem(n->err);
	}
	return 1;
}

/* Handles a reference in a formula of the model: events become inputs, and a node's needs stand
 * before it. */
static int note_model(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct needs *n = ctx;
	const struct core_kind *k = &n->m->rows->kind[n->kind];
	uint32_t input;

	if (kind == EXPR_EVENT) {
		n->failed = monitor_model_input(n->m, n->kind, index, &input, n->err);
		return n->failed || note_once(n, false, input) < 0 ? -1 : 0;
	}
	if (kind != EXPR_METRIC)
		return 0;
	for (size_t i = 0; i < n->node.n; i++)
		if (n->node.v[i] == index)
			return 0;
	if (expr_needs(k->model->metric[index].expr, k->system, note_model, n))
		return -1;
	return note_once(n, true, index) < 0 ? -1 : 0;
}

static int note_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	if (kind == EXPR_EVENT)
		return note_once(ctx, false, index) < 0 ? -1 : 0;
	return note_model(ctx, kind, index);
}

/* It names nothing that another kind of cores has otherwise. */
static bool any_kind(const struct monitor *m, const struct needs *n)
{
	for (size_t i = 0; i < n->input.n; i++)
		if (m->input.v[n->input.v[i]].of_kind != ANY_KIND)
			return false;
	return !n->node.n || !m->rows->hybrid;
}

static int add_metric_column(struct monitor *m, size_t model, const struct set_row *row,
			     enum place_kind kind, struct err *err)
{
	struct names names = { m, model, err, false };
	struct expr_scope scope = { find_input, NULL, &names };
	struct expr_text text = { row->formula, strlen(row->formula), EXPR_PERF, NULL, row->file,
				  row->line };
	struct metric x = { .row = row, .kind = kind, .model = model };
	struct places *of = &m->of[kind];
	struct needs needs = { .m = m, .kind = model, .err = err };
	struct expr *e;
	int ret = -1;

	if (expr_compile(&e, m->a, &text, &scope, err))
		return -1;
	if (row->counter && !expr_extensive(e))
		return err_set(err, ERR_FORMAT, "%s:%u: %s: a counter is a sum of counts",
			       row->file, row->line, row->name);
	x.expr = e;
	while (x.column < of->column.n && strcmp(of->column.v[x.column]->name, row->name) != 0)
		x.column++;
	if (x.column == of->column.n && vec_push(&of->column, row))
		return err_nomem(err);
	if (expr_needs(e, m->rows->kind[model].system, note_need, &needs))
		goto out;
	x.input = arena_memdup(m->a, needs.input.v, needs.input.n * sizeof(*needs.input.v));
	x.n_inputs = needs.input.n;
	x.node = arena_memdup(m->a, needs.node.v, needs.node.n * sizeof(*needs.node.v));
	x.n_nodes = needs.node.n;
	x.any_kind = any_kind(m, &needs);
	if ((!x.input && x.n_inputs) || (!x.node && x.n_nodes) || vec_push(&m->metric, x)) {
		(void)err_nomem(err);
		goto out;
	}
	ret = 0;
out:
	vec_free(&needs.input);
	vec_free(&needs.node);
	return ret;
}

static int place_kind(const struct set_row *row, enum place_kind *out, struct err *err)
{
	static const char *const names[] = {
#define PLACE(id, name, title) #name,
#include "monitor/place.def"
#undef PLACE
	};

	for (size_t i = 0; i < PLACES; i++) {
		*out = (enum place_kind)i;
		if (!strcmp(names[i], row->place))
			return 0;
	}
	(void)err_set(err, ERR_FORMAT, "%s:%u: there is no place %.40s", row->file, row->line,
		      row->place);
	return err_hint(err, "host, socket, kind, channel, link, l3, core, cpu or cgroup");
}

/* ---- places that metrics bring ---- */

static bool has_box(struct monitor *m, const struct source *s, const struct place *p)
{
	const uint32_t *cpus;
	size_t n;

	event_cpus(&cpus, &n, &m->list.ev.v[s->event], m->a);
	for (size_t i = 0; i < p->n_targets; i++)
		if (!cpus || cpu_list_has(cpus, n, m->k.who.cpus.v[p->target[i]]))
			return true;
	return false;
}

/* The number that the kernel gave a box: uncore_imc_3; else which of them it is. */
static const char *box_name(struct monitor *m, const struct source *s, size_t box)
{
	const char *end = s->pmu + strlen(s->pmu), *at = end;

	while (at > s->pmu && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at < end ? at : arena_printf(m->a, "%zu", box);
}

/* A channel or link is one of each socket: those of a row, or the boxes that the row's first event
 * has. */
static int add_channels(struct monitor *m, const struct metric *x, struct err *err)
{
	struct places *to = &m->of[x->kind];
	bool boxes = !strcmp(x->row->instance, "*");
	const struct input *in = x->n_inputs ? &m->input.v[x->input[0]] : NULL;
	size_t n = !boxes ? 1 : in ? in->n_sources : 0;

	for (size_t s = 0; s < m->of[PLACE_SOCKET].place.n; s++)
		for (size_t b = 0; b < n; b++) {
			struct place p = m->of[PLACE_SOCKET].place.v[s];
			bool known = false;

			p.box = boxes ? b : SIZE_MAX;
			p.instance = boxes ? box_name(m, &m->source.v[in->source + b], b)
					   : x->row->instance;
			if (!p.instance)
				return err_nomem(err);
			for (size_t i = 0; i < to->place.n; i++)
				known |= to->place.v[i].socket == p.socket &&
					 to->place.v[i].die == p.die &&
					 !strcmp(to->place.v[i].instance, p.instance);
			if (known || (boxes && !has_box(m, &m->source.v[in->source + b], &p)))
				continue;
			if (vec_push(&to->place, p))
				return err_nomem(err);
		}
	return 0;
}

/* ---- all of it ---- */

/* Counters of cgroups are switched whenever one begins to run: only metrics asked for by name have
 * them. */
static bool counts_cgroups(const struct set_row *row)
{
	return !strcmp(row->place, "cgroup") && !strstr(row->formula, "proc.");
}

static bool is_row_wanted(const struct text_list *said, const struct set_row *row, bool *used)
{
	bool found = !said->n && !counts_cgroups(row);

	for (size_t i = 0; i < said->n; i++)
		if (set_means(row, said->v[i]))
			found = used[i] = true;
	return found;
}

static int refuse_unknown(const struct text_list *said, const bool *used, struct err *err)
{
	for (size_t i = 0; i < said->n; i++) {
		if (used[i])
			continue;
		(void)err_set(err, ERR_USAGE, "there is no metric %.80s", said->v[i]);
		return err_hint(err, "cyclade monitor --once shows them all; doc/model-format.md "
				     "has how to add one");
	}
	return 0;
}

/* A hybrid has no tree of a socket, but one of each kind of its cores. */
static const struct set_row *placed(struct monitor *m, const struct set_row *row)
{
	struct set_row *of_kind;

	if (!m->rows->hybrid || strcmp(row->place, "socket") != 0 || !strstr(row->formula, "tree."))
		return row;
	of_kind = arena_memdup(m->a, row, sizeof(*row));
	if (of_kind)
		of_kind->place = "kind";
	return of_kind;
}

/* Rows that are not of cores, or alike for all kinds, are read from the first kind. */
static bool has_it(const struct monitor *m, const struct set_row *row, enum place_kind kind)
{
	if (kind != PLACE_KIND && kind != PLACE_CORE && kind != PLACE_CPU)
		return true;
	for (size_t i = 0; i < m->metric.n; i++) {
		const struct metric *x = &m->metric.v[i];

		if (x->any_kind && x->kind == kind && !strcmp(x->row->name, row->name) &&
		    !strcmp(x->row->formula, row->formula))
			return true;
	}
	return false;
}

/* "DF_CH0_RD_BW_GB is channel.bytes here: bytes read and written ...": once for each name that the
 * user gave. */
static int note_names(struct monitor *m, const struct set_row *row, struct text_list *left,
		      struct err *err)
{
	for (size_t i = 0; i < left->n; i++) {
		const char *text;

		if (!left->v[i] || !set_means_alias(row, left->v[i]))
			continue;
		text = arena_printf(m->a, "%s is %s.%s here: %s", left->v[i], row->place, row->name,
				    row->help);
		left->v[i] = NULL;
		if (!text || vec_push(&m->renamed, text))
			return err_nomem(err);
	}
	return 0;
}

static int set_of(struct monitor *m, size_t model, bool *used, struct text_list *left,
		  struct err *err)
{
	const struct set *s = &m->rows->kind[model].set;

	for (size_t i = 0; i < s->n; i++) {
		const struct set_row *row = placed(m, &s->row[i]);
		enum place_kind kind;

		if (!row)
			return err_nomem(err);
		if (!is_row_wanted(&m->opts->metrics, row, used))
			continue;
		if (place_kind(row, &kind, err))
			return -1;
		if ((kind == PLACE_CGROUP && !m->cgroups) || (model && has_it(m, row, kind)))
			continue;
		if (add_metric_column(m, model, row, kind, err) || note_names(m, row, left, err))
			return -1;
		if ((kind == PLACE_CHANNEL || kind == PLACE_LINK) &&
		    add_channels(m, vec_last(&m->metric), err))
			return -1;
	}
	return 0;
}

/* A column that this place's kind of cores has no metric for. */
static int make_cells(struct monitor *m, struct places *of, struct err *err)
{
	const struct cell none = { { NAN, NAN, "the CPU's model does not have it" },
				   { NAN, NAN, "the CPU's model does not have it" } };
	size_t n = of->place.n * of->column.n;

	of->cell = arena_alloc(m->a, (n + 1) * sizeof(*of->cell));
	if (!of->cell)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		of->cell[i] = none;
	return 0;
}

int monitor_set(struct monitor *m, struct err *err)
{
	const struct text_list *said = &m->opts->metrics;
	struct text_list left = { .v = arena_memdup(m->a, said->v, said->n * sizeof(*said->v)),
				  .n = said->n };
	bool *used = arena_alloc(m->a, said->n + 1);

	if (!used || (!left.v && said->n))
		return err_nomem(err);
	memset(used, 0, said->n + 1);
	for (size_t k = 0; k < m->rows->n_kinds; k++)
		if (set_of(m, k, used, &left, err))
			return -1;
	if (refuse_unknown(said, used, err))
		return -1;
	if (said->n && !m->metric.n) {
		(void)err_set(err, ERR_USAGE, "metrics of cgroups, but of no cgroup");
		return err_hint(err, "name cgroups: --cgroup 'system.slice/*'");
	}
	for (size_t i = 0; i < PLACES; i++)
		if (make_cells(m, &m->of[i], err))
			return -1;
	if (monitor_cgroup_events(m, err))
		return -1;
	m->now = arena_alloc(m->a, 3 * (m->input.n + 1) * sizeof(*m->now));
	if (!m->now)
		return err_nomem(err);
	m->total = m->now + m->input.n + 1;
	m->half = m->total + m->input.n + 1;
	return monitor_groups(m, err);
}
