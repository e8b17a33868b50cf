/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From rows of text to what is counted: formulas, the inputs they name, counters in groups.
 */
#include <stdio.h>
#include <string.h>

#include "collect/sysfs.h"
#include "monitor/monitor_int.h"

#define GENERAL 4 /* counters of a PMU about which nothing is known */

/* ---- inputs ---- */

static int add_source(struct monitor *m, const struct source *s, struct err *err)
{
	struct source *to = vec_add(&m->source);

	if (!to)
		return err_nomem(err);
	*to = *s;
	to->at = arena_alloc(m->a, m->targets * sizeof(*to->at));
	if (!to->at)
		return err_nomem(err);
	memset(to->at, 0, m->targets * sizeof(*to->at));
	return 0;
}

/* An event may be several counters: the boxes of an uncore unit. */
static int add_event(struct monitor *m, struct input *in, struct err *err)
{
	struct err e = ERR_INIT;
	size_t from = m->list.ev.n;

	if (event_parse(&m->list, m->k.root, in->name, &e)) {
		if (e.code == ERR_NOMEM)
			return err_nomem(err);
		in->why = arena_strdup(m->a, e.what);
		return in->why ? 0 : err_nomem(err);
	}
	for (size_t i = from; i < m->list.ev.n; i++) {
		const struct event *ev = &m->list.ev.v[i];

		if (add_source(m, &(struct source){ .name = ev->name, .pmu = ev->pmu, .event = i },
			       err))
			return -1;
		in->n_sources++;
	}
	return 0;
}

static int add_input(struct monitor *m, const char *name, size_t len, uint32_t *out,
		     struct err *err)
{
	struct source proc = { .event = NO_COUNTER, .pmu = "proc" };
	enum place_kind of;
	struct input in = { .source = m->source.n };

	*out = 0;
	while (*out < m->input.n && (strlen(m->input.v[*out].name) != len ||
				     memcmp(m->input.v[*out].name, name, len) != 0))
		++*out;
	if (*out < m->input.n)
		return 0;
	in.name = proc.name = arena_strndup(m->a, name, len);
	if (!in.name)
		return err_nomem(err);
	if (len > 5 && !memcmp(name, "proc.", 5) &&
	    monitor_proc(name + 5, len - 5, &proc.proc, &proc.level, &of)) {
		if (add_source(m, &proc, err))
			return -1;
		in.n_sources = 1;
	} else if (add_event(m, &in, err)) {
		return -1;
	}
	return vec_push(&m->input, in) ? err_nomem(err) : 0;
}

/* ---- formulas ---- */

struct names {
	struct monitor *m;
	struct err *err;
	bool failed;
};

static bool find(void *ctx, enum expr_ask ask, const char *name, size_t len, struct expr_ref *out)
{
	struct names *n = ctx;

	*out = (struct expr_ref){ .kind = EXPR_EVENT };
	if (ask != ASK_NAME || !len || *name == '#' ||
	    (len == strlen("duration_time") && !memcmp(name, "duration_time", len)))
		return false;
	n->failed = add_input(n->m, name, len, &out->index, n->err);
	return !n->failed;
}

struct needs {
	VEC(uint32_t) input;
};

static int note_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct needs *n = ctx;

	return kind == EXPR_EVENT ? vec_push(&n->input, index) : 0;
}

static int add_metric(struct monitor *m, const struct set_row *row, enum place_kind kind,
		      struct err *err)
{
	struct names names = { m, err, false };
	struct expr_scope scope = { find, NULL, &names };
	struct expr_text text = { row->formula, strlen(row->formula), EXPR_PERF, NULL, row->file,
				  row->line };
	struct metric x = { .row = row, .kind = kind };
	struct places *of = &m->of[kind];
	struct needs needs = { VEC_INIT };
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
	if (expr_needs(e, NULL, note_need, &needs)) {
		(void)err_nomem(err);
		goto out;
	}
	x.input = arena_memdup(m->a, needs.input.v, needs.input.n * sizeof(*needs.input.v));
	x.n_inputs = needs.input.n;
	if ((!x.input && x.n_inputs) || vec_push(&m->metric, x)) {
		(void)err_nomem(err);
		goto out;
	}
	ret = 0;
out:
	vec_free(&needs.input);
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
	return err_hint(err, "host, socket, channel, l3 or cpu");
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

/* A channel is one of each socket: those of a row, or the boxes that the row's first event has. */
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
			p.instance = boxes ? arena_printf(m->a, "%zu", b) : x->row->instance;
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

/* ---- groups ---- */

/* How many counters of a PMU the monitor may have. The NMI watchdog holds one of each core. */
static size_t room_of(const struct monitor *m, const char *pmu)
{
	size_t n = m->model ? m->model->counters : GENERAL;

	if (!strcmp(pmu, "amd_l3"))
		return 6;
	if (!strcmp(pmu, "msr") || !strcmp(pmu, "power") || !strcmp(pmu, "software"))
		return SIZE_MAX;
	if (strncmp(pmu, "cpu", 3) && strncmp(pmu, "armv", 4) && strcmp(pmu, "hardware"))
		return GENERAL;
	if (m->k.machine.nmi_watchdog == 1 && n > 1)
		n--;
	return n ? n : GENERAL;
}

static size_t weight_of(const struct monitor *m, const struct source *s)
{
	uint32_t e = m->model ? model_event_find(m->model, s->name, strlen(s->name)) : MODEL_NONE;

	return e != MODEL_NONE && m->model->event[e].flags & EVENT_PAIR ? 2 : 1;
}

static int close_group(struct monitor *m, struct counter_event *ev, size_t n, bool idle,
		       struct err *err)
{
	struct counter_group g = { .event = arena_memdup(m->a, ev, n * sizeof(*ev)),
				   .n = n,
				   .idle = idle };

	return !g.event || vec_push(&m->group, g) ? err_nomem(err) : 0;
}

/* The counters of one PMU in groups that fit it; several take turns. */
static int group_pmu(struct monitor *m, const char *pmu, struct counter_event *ev, struct err *err)
{
	size_t room = room_of(m, pmu), used = 0, n = 0;
	struct turns turns = { .first = m->group.n };

	for (size_t i = 0; i < m->source.n; i++) {
		struct source *s = &m->source.v[i];
		const struct event *e;
		size_t w;

		if (s->event == NO_COUNTER || strcmp(s->pmu, pmu) != 0)
			continue;
		w = weight_of(m, s);
		if (n && used + w > room) {
			if (close_group(m, ev, n, m->group.n > turns.first, err))
				return -1;
			n = used = 0;
		}
		e = &m->list.ev.v[s->event];
		s->group = m->group.n;
		s->index = n;
		ev[n] = (struct counter_event){ .attr = e->attr,
						.name = e->name,
						.typed = e->name };
		event_cpus(&ev[n].cpus, &ev[n].n_cpus, e, m->a);
		used += w;
		n++;
	}
	if (n && close_group(m, ev, n, m->group.n > turns.first, err))
		return -1;
	turns.n = m->group.n - turns.first;
	turns.spent = arena_alloc(m->a, (turns.n + 1) * sizeof(*turns.spent));
	if (!turns.spent)
		return err_nomem(err);
	memset(turns.spent, 0, turns.n * sizeof(*turns.spent));
	return turns.n && vec_push(&m->turns, turns) ? err_nomem(err) : 0;
}

static int group_all(struct monitor *m, struct err *err)
{
	struct counter_event *ev = arena_alloc(m->a, (m->source.n + 1) * sizeof(*ev));
	size_t most = 0;

	if (!ev)
		return err_nomem(err);
	for (size_t i = 0; i < m->source.n; i++) {
		bool before = m->source.v[i].event == NO_COUNTER;

		for (size_t k = 0; k < i && !before; k++)
			before = m->source.v[k].event != NO_COUNTER &&
				 !strcmp(m->source.v[k].pmu, m->source.v[i].pmu);
		if (!before && group_pmu(m, m->source.v[i].pmu, ev, err))
			return -1;
	}
	for (size_t g = 0; g < m->group.n; g++)
		most = m->group.v[g].n > most ? m->group.v[g].n : most;
	m->setup.group = m->group.v;
	m->setup.n_groups = m->group.n;
	m->value = arena_alloc(m->a, (most * m->targets + 1) * sizeof(*m->value));
	return m->value ? 0 : err_nomem(err);
}

/* ---- all of it ---- */

static bool wanted(const struct text_list *said, const struct set_row *row, bool *used)
{
	bool found = !said->n;

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

int monitor_set(struct monitor *m, struct err *err)
{
	const struct text_list *said = &m->ask->metrics;
	bool *used = arena_alloc(m->a, said->n + 1);

	if (!used)
		return err_nomem(err);
	memset(used, 0, said->n + 1);
	for (size_t i = 0; i < m->set.n; i++) {
		const struct set_row *row = &m->set.row[i];
		enum place_kind kind;

		if (!wanted(said, row, used))
			continue;
		if (place_kind(row, &kind, err) || add_metric(m, row, kind, err))
			return -1;
		if (kind == PLACE_CHANNEL && add_channels(m, vec_last(&m->metric), err))
			return -1;
	}
	if (refuse_unknown(said, used, err))
		return -1;
	for (size_t i = 0; i < PLACES; i++) {
		struct places *of = &m->of[i];
		size_t bytes = (of->place.n * of->column.n + 1) * sizeof(*of->cell);

		of->cell = arena_alloc(m->a, bytes);
		if (!of->cell)
			return err_nomem(err);
		memset(of->cell, 0, bytes);
	}
	m->now = arena_alloc(m->a, 3 * (m->input.n + 1) * sizeof(*m->now));
	if (!m->now)
		return err_nomem(err);
	m->total = m->now + m->input.n + 1;
	m->half = m->total + m->input.n + 1;
	return group_all(m, err);
}
