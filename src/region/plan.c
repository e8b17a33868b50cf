/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From names to events in groups: metrics and nodes by this CPU's model and the planner, everything
 * else as an event. On a hybrid there is a part for each kind of core.
 */
#include "model/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/machine.h"
#include "collect/sysfs.h"
#include "plan/plan.h"
#include "region/region_int.h"
#include "region/sums.h"

struct part_wish {
	const char *pmu;
	struct model *m;
	uint32_t *metric;
	size_t n;
	unsigned level; /* of the tree, 0: none */
	struct schedule_limits limits;
};

struct namer {
	struct cyclade_set *s;
	const char *root;
	const struct cyclade_open_opts *o;
	struct machine machine;
	struct part_wish part[TABLE_PARTS];
	uint32_t group; /* the next one */
	struct err *err;
};

_Static_assert((int)SYSTEM_COUNT <= (int)TABLE_FACTS, "all facts have room");

/* ---- models ----------------------------------------------------------------------------- */

static double turn_ns(const char *root, const char *pmu)
{
	int64_t ms;

	return sys_number(&ms, root, "sys/bus/event_source/devices/%s/perf_event_mux_interval_ms",
			  pmu) &&
			       ms > 0 && ms < 1000000
		       ? (double)ms * 1e6
		       : 0;
}

/* A thread on one kind of a hybrid's cores must not move to another kind to find free counters. */
static struct plan_scope region_scope(const struct namer *k)
{
	return (struct plan_scope){ .root = k->root,
				    .machine = &k->machine,
				    .user_only = !k->s->kernel,
				    .tries = !k->s->hybrid };
}

/* A CPU without a model is no error: events can be counted all the same. All threads that share the
 * table load models by its facts. */
static int add_core_part(struct namer *k, const char *pmu)
{
	struct cyclade_set *s = k->s;
	struct part_wish *p = &k->part[s->n_parts];
	const struct model_choice choice = { .a = &s->arena,
					     .named = k->o->model,
					     .root = k->root };
	const struct plan_scope scope = region_scope(k);
	struct err none = ERR_INIT;

	p->pmu = arena_strdup(&s->arena, pmu);
	if (!p->pmu)
		return err_nomem(k->err);
	if (plan_model(&p->m, &p->limits, &choice, &scope, pmu, s->head->facts,
		       k->o->model ? k->err : &none)) {
		if (k->o->model)
			return -1;
		p->m = NULL;
	}
	s->model[s->n_parts] = p->m; /* the set frees it */
	if (p->m) {
		p->metric = arena_alloc(&s->arena, (p->m->n_metrics + 1) * sizeof(*p->metric));
		if (!p->metric)
			return err_nomem(k->err);
	}
	(void)snprintf(s->head->part[s->n_parts].pmu, sizeof(s->head->part[0].pmu), "%s", pmu);
	s->head->turn_ns[s->n_parts] = turn_ns(k->root, pmu);
	(void)snprintf(s->head->part[s->n_parts].model, sizeof(s->head->part[0].model), "%s",
		       p->m ? p->m->id : "");
	s->n_parts++;
	return 0;
}

static int find_core_parts(struct namer *k)
{
	const char *pmu[TABLE_PARTS];
	size_t n = 0;

	for (size_t i = 0; i < k->machine.n_pmus && n < TABLE_PARTS; i++)
		if (sys_core_pmu(k->root, k->machine.pmu[i].name))
			pmu[n++] = k->machine.pmu[i].name;
	k->s->hybrid = n > 1;
	if (!n) /* without a PMU the model still resolves the names */
		pmu[n++] = "cpu";
	for (size_t i = 0; i < n; i++)
		if (add_core_part(k, pmu[i]))
			return -1;
	return 0;
}

/* ---- names ------------------------------------------------------------------------------ */

static int add_set_event(struct namer *k, const struct event *ev, const char *name, uint32_t group,
			 uint32_t part, bool extra)
{
	struct cyclade_set *s = k->s;
	struct set_event *e = &s->event[s->n_events];
	uint64_t code = ev->attr.config & 0xffff;
	bool core = ev->pmu && !strcmp(ev->pmu, k->part[part].pmu);

	if (s->n_events >= TABLE_EVENTS - 2 || group >= TABLE_GROUPS)
		return err_set(k->err, ERR_LIMIT,
			       "more than %d events, or %d groups: a region counts a few things",
			       TABLE_EVENTS - 2, TABLE_GROUPS);
	*e = (struct set_event){ .attr = ev->attr,
				 .name = name,
				 .group = group,
				 .part = part,
				 .extra = extra,
				 .core = core };
	if (core && code == 0x0400)
		e->kind = COUNTS_SLOTS;
	if (core && code >= 0x8000 && code <= 0x8700 && !(code & 0xff)) {
		e->kind = COUNTS_FIELD;
		e->field = (uint32_t)(code >> 8) - 0x80;
	}
	s->n_events++;
	return 0;
}

static int not_known(struct namer *k, const char *name, const struct err *why)
{
	const struct model *m = k->part[0].m;
	const char **words;
	size_t n = 0;

	(void)err_set(k->err, ERR_USAGE, "'%.60s' is neither a metric of %s nor an event: %s", name,
		      m ? m->title : "this CPU", why->what);
	words = m ? arena_alloc(&k->s->arena, (m->n_metrics + 1) * sizeof(*words)) : NULL;
	for (size_t i = 0; words && i < m->n_metrics; i++)
		words[n++] = m->metric[i].name;
	return text_suggest(k->err, name, words, "cyclade list metrics; cyclade list events");
}

static const char *model_text_of(struct namer *k, const struct part_wish *p,
				 const struct model_event *e)
{
	return model_event_text(&k->s->arena, e, p->pmu);
}

/* The kind of core whose PMU counts it; of any other PMU, the first. */
static uint32_t core_part_of(const struct namer *k, const struct event *ev)
{
	for (uint32_t i = 0; ev->pmu && i < k->s->n_parts; i++)
		if (!strcmp(ev->pmu, k->part[i].pmu))
			return i;
	return 0;
}

/* An event by its name: the model's, or the kernel's. */
static int extra_event(struct namer *k, const char *name)
{
	struct event_list *l = &k->s->list;
	size_t from = l->ev.n;
	struct err why = ERR_INIT;
	const char *text = name;
	uint32_t at = MODEL_NONE;

	if (k->part[0].m)
		at = model_event_find(k->part[0].m, name, strlen(name));
	if (at != MODEL_NONE)
		text = model_text_of(k, &k->part[0], &k->part[0].m->event[at]);
	if (!text)
		return err_nomem(k->err);
	if (event_parse(l, k->root, text, &why)) {
		/* a name of the model is right; that this machine has no PMU for it is no error */
		if (at != MODEL_NONE || !k->machine.n_pmus)
			return 0;
		return not_known(k, name, &why);
	}
	for (size_t i = from; i < l->ev.n; i++)
		if (add_set_event(k, &l->ev.v[i], name, 0, core_part_of(k, &l->ev.v[i]), true))
			return -1;
	return 0;
}

static int one_wish(struct namer *k, const struct wish *w)
{
	if (w->kind == WISH_EVENT)
		return extra_event(k, w->name);
	for (size_t i = 0; i < k->s->n_parts; i++) {
		struct part_wish *p = &k->part[i];

		if (w->kind == WISH_TREE && w->level > p->level)
			p->level = w->level;
		if (w->kind == WISH_METRIC && w->metric[i] != MODEL_NONE && p->n < p->m->n_metrics)
			p->metric[p->n++] = w->metric[i];
	}
	return 0;
}

static int all_names(struct namer *k, const char *names)
{
	struct wish *w;
	size_t n;

	if (wishes_read(&w, &n, &k->s->arena, names, k->s->model, k->s->n_parts, k->err))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (one_wish(k, &w[i]))
			return -1;
	return 0;
}

/* ---- groups ----------------------------------------------------------------------------- */

/* Events that are not the thread's own (memory controllers), or no counters, are left out. */
static int group_events(struct namer *k, uint32_t part, const struct plan_group *g)
{
	struct event_list *l = &k->s->list;
	const struct part_wish *p = &k->part[part];
	bool any = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct model_event *e = &p->m->event[g->event[i]];
		size_t from = l->ev.n;
		const char *text;

		if (e->flags & (EVENT_UNCORE | EVENT_SOFTWARE))
			continue;
		text = model_text_of(k, p, e);
		if (!text)
			return err_nomem(k->err);
		if (event_parse(l, k->root, text, NULL) || l->ev.n != from + 1)
			continue;
		if (add_set_event(k, &l->ev.v[from], e->name, k->group, part, false))
			return -1;
		k->s->event[k->s->n_events - 1].pinned = g->pinned;
		k->s->event[k->s->n_events - 1].attr.pinned = g->pinned && !any;
		any = true;
	}
	k->group += any;
	return 0;
}

static int part_groups(struct namer *k, uint32_t part)
{
	struct part_wish *p = &k->part[part];
	struct plan_wish w = { .level = p->level,
			       .all = p->level > 0,
			       .metric = p->metric,
			       .n_metrics = p->n,
			       .no_tree = !p->level,
			       .loose = true,
			       .pin = true,
			       .pin_fixed = true,
			       .system = k->s->head->facts };
	struct plan *plan;

	if (!p->m || (!p->level && !p->n))
		return 0;
	plan = arena_alloc(&k->s->arena, sizeof(*plan));
	if (!plan)
		return err_nomem(k->err);
	if (plan_make(plan, &k->s->arena, p->m, &p->limits, &w, k->err))
		return -1;
	k->s->plan[part] = plan;
	for (size_t i = 0; i < plan->n_groups; i++)
		if (group_events(k, part, &plan->group[i]))
			return -1;
	return 0;
}

/* The code of a generic event on a vendor's cores; 0: not known. */
static uint64_t generic_code(const struct machine *m, uint64_t generic)
{
	static const struct {
		const char *vendor;
		uint64_t code[PERF_COUNT_HW_MAX];
	} rows[] = {
		{ "GenuineIntel",
		  { [PERF_COUNT_HW_CPU_CYCLES] = 0x3c,
		    [PERF_COUNT_HW_INSTRUCTIONS] = 0xc0,
		    [PERF_COUNT_HW_REF_CPU_CYCLES] = 0x300 } },
		{ "AuthenticAMD",
		  { [PERF_COUNT_HW_CPU_CYCLES] = 0x76, [PERF_COUNT_HW_INSTRUCTIONS] = 0xc0 } },
		{ "ARM",
		  { [PERF_COUNT_HW_CPU_CYCLES] = 0x11, [PERF_COUNT_HW_INSTRUCTIONS] = 0x08 } },
	};

	for (size_t i = 0; m->vendor && i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].vendor, m->vendor) && generic < PERF_COUNT_HW_MAX)
			return rows[i].code[generic];
	return 0;
}

static uint64_t event_code_of(const struct namer *k, const struct set_event *e)
{
	uint64_t config = e->attr.config;

	/* a hybrid's PMU is in the upper half */
	return e->attr.type == PERF_TYPE_HARDWARE ? generic_code(&k->machine, config & UINT32_MAX)
						  : config;
}

static bool same_set_counter(const struct namer *k, const struct set_event *a,
			     const struct set_event *b)
{
	return a->core && b->core && a->part == b->part && event_code_of(k, a) &&
	       event_code_of(k, a) == event_code_of(k, b) && a->attr.config1 == b->attr.config1 &&
	       a->attr.config2 == b->attr.config2 && a->attr.exclude_user == b->attr.exclude_user &&
	       a->attr.exclude_kernel == b->attr.exclude_kernel;
}

/* Is it that event of the model? */
static bool is_event(struct namer *k, const struct set_event *e, const struct model_event *me)
{
	struct event_list *l = &k->s->list;
	const char *text = model_text_of(k, &k->part[e->part], me);
	struct set_event as = *e;
	size_t from = l->ev.n;
	bool is = false;

	if (text && !event_parse(l, k->root, text, NULL) && l->ev.n == from + 1) {
		as.attr = l->ev.v[from].attr;
		is = same_set_counter(k, e, &as);
	}
	l->ev.n = from;
	return is;
}

/* An event of the model's that is on a fixed counter here. */
static bool on_fixed(struct namer *k, const struct set_event *e)
{
	const struct part_wish *p = &k->part[e->part];
	uint32_t fixed;

	if (!p->m || !e->core)
		return false;
	fixed = schedule_limits_fixed(&p->limits);
	for (size_t i = 0; i < p->m->n_events; i++)
		if (p->m->event[i].fixed & fixed && is_event(k, e, &p->m->event[i]))
			return true;
	return false;
}

/* Shares the counter of an event that is there, or goes to the pinned group of its cores. */
static void place_extra(struct namer *k, uint32_t extra)
{
	struct cyclade_set *s = k->s;
	struct set_event *e = &s->event[extra];

	for (uint32_t i = 0; i < extra; i++)
		if (s->event[i].same == i && same_set_counter(k, &s->event[i], e)) {
			e->same = i;
			e->group = s->event[i].group;
			return;
		}
	for (uint32_t i = 0; i < extra && on_fixed(k, e); i++)
		if (s->event[i].pinned && s->event[i].part == e->part) {
			e->pinned = true;
			e->group = s->event[i].group;
			return;
		}
}

/* Events that were asked for by themselves come behind the plan's groups: if they are there by
 * another name or on a fixed counter, with these, else in a group for each kind of core. */
static void extras_last(struct namer *k, uint32_t n_extra)
{
	struct cyclade_set *s = k->s;
	struct set_event extra[TABLE_EVENTS];

	memcpy(extra, s->event, n_extra * sizeof(*extra));
	memmove(s->event, s->event + n_extra, (s->n_events - n_extra) * sizeof(*extra));
	memcpy(s->event + s->n_events - n_extra, extra, n_extra * sizeof(*extra));
	for (uint32_t i = 0; i < s->n_events; i++) {
		s->event[i].same = i;
		if (s->event[i].extra) {
			s->event[i].group = MODEL_NONE;
			place_extra(k, i);
		}
	}
	for (uint32_t part = 0; part < s->n_parts; part++) {
		bool any = false;

		for (uint32_t i = s->n_events - n_extra; i < s->n_events; i++) {
			if (s->event[i].part != part || s->event[i].group != MODEL_NONE)
				continue;
			s->event[i].group = k->group;
			any = true;
		}
		k->group += any;
	}
}

int plan_names(struct cyclade_set *s, const struct cyclade_open_opts *o, struct err *err)
{
	struct namer k = { .s = s, .root = o->sysroot ? o->sysroot : "", .o = o, .err = err };
	const char *names = o->metrics && *o->metrics ? o->metrics : "ipc,topdown";
	struct err unknown = ERR_INIT;
	struct plan_scope scope;
	uint32_t n_extra;

	/* nothing is known of this machine: then nothing is counted */
	if (machine_read(&k.machine, &s->arena, k.root, &unknown)) {
		if (unknown.code == ERR_NOMEM)
			return err_nomem(err);
		memset(&k.machine, 0, sizeof(k.machine));
	}
	scope = region_scope(&k);
	for (size_t i = 0; i < TABLE_FACTS; i++)
		s->head->facts[i] = NAN;
	plan_facts(s->head->facts, &scope);
	(void)snprintf(s->head->metrics, sizeof(s->head->metrics), "%s", names);
	s->list.counts = true;
	if (find_core_parts(&k) || all_names(&k, names))
		return -1;
	n_extra = s->n_events;
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (part_groups(&k, i))
			return -1;
	extras_last(&k, n_extra);
	s->n_groups = k.group;
	if (s->n_groups > TABLE_GROUPS)
		return err_set(err, ERR_LIMIT, "more than %d groups of counters", TABLE_GROUPS);
	return 0;
}
