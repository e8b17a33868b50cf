/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/drill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/sysfs.h"
#include "measure/drill_latency.h"
#include "model/groups.h"
#include "plan/plan.h"

/* ---- the model and the plan ------------------------------------------------------------- */

static void list_once(struct drill_core *c, uint32_t metric, uint32_t *list, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == metric)
			return;
	if (*n < c->m->n_metrics)
		list[(*n)++] = metric;
}

/* With a node go those above it: a share means little without the whole. */
static void add_named(struct drill_core *c, uint32_t at, uint32_t *list, size_t *n)
{
	c->named[at] = true;
	for (; at != MODEL_NONE; at = c->m->metric[at].parent)
		list_once(c, at, list, n);
}

/* A metric, or all of a group; false: this model has neither. */
static bool named_metric(struct drill_core *c, const char *name, size_t len, uint32_t *list,
			 size_t *n)
{
	uint32_t at = model_metric_named(c->m, name, len);
	bool any = at != MODEL_NONE;

	if (any)
		add_named(c, at, list, n);
	for (uint32_t i = 0; at == MODEL_NONE && i < c->m->n_metrics; i++)
		if (model_group_has(c->m, i, name, len)) {
			add_named(c, i, list, n);
			any = true;
		}
	return any;
}

static int unknown_metric(const struct drill *d, const char *name, size_t len, struct err *err)
{
	const struct model *m = d->core[0].m;
	const struct model_group *group;
	size_t n = 0, n_groups = 0;
	const char **words, *near;
	char *word = arena_strndup(d->a, name, len);

	if (model_groups(&group, &n_groups, d->a, m, err))
		return -1;
	words = arena_alloc(d->a,
			    (2 * m->n_metrics + n_groups + MODEL_OTHER_NAMES + 1) * sizeof(*words));
	(void)err_set(err, ERR_USAGE, "model %s has no node, metric or group '%.*s'", m->id,
		      (int)(len > 60 ? 60 : len), name);
	/* of names as near the first is offered: nodes before groups */
	for (size_t i = 0; words && i < m->n_metrics; i++) {
		words[n++] = m->metric[i].name;
		words[n++] = model_last_part(m->metric[i].path);
	}
	for (size_t i = 0; words && i < n_groups; i++)
		words[n++] = group[i].name;
	if (words)
		n += model_other_names(m, words + n);
	near = words && word ? text_nearest(word, words) : NULL;
	if (near)
		return err_hint(err, "did you mean %s?", near);
	if (len == strlen(MODEL_BOTTLENECKS) && !strncasecmp(name, MODEL_BOTTLENECKS, len))
		return err_hint(err, "bottlenecks are published for Intel's large cores from "
				     "Skylake on; the tree (-l 3) is there for this CPU too");
	return err_hint(err, "cyclade list nodes, metrics or groups shows the names");
}

/* Names of --node and -M, lists by comma; each has to be known to a core at least. */
static int named_of(struct drill *d, const struct text_list *l, uint32_t **list, size_t *n,
		    struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *names = l->v[i], *name;
		size_t len;

		while (text_word(&names, &name, &len)) {
			bool known = false;

			for (size_t c = 0; c < d->n_cores && len; c++)
				known |= named_metric(&d->core[c], name, len, list[c], &n[c]);
			if (len && !known)
				return unknown_metric(d, name, len, err);
		}
	}
	return 0;
}

/* AMD's precise events are IBS, which needs no counter. */
static void hold_counter(struct drill_core *c, const struct counting *k, const struct drill_held *h)
{
	const struct perf_event_attr *a = h->attr;
	bool cycles =
		a->type == PERF_TYPE_HARDWARE && (uint32_t)a->config == PERF_COUNT_HW_CPU_CYCLES;

	if (a->precise_ip && k->machine.vendor && strstr(k->machine.vendor, "AMD"))
		return;
	if (cycles)
		schedule_limits_cycles(&c->limits, c->m, a->precise_ip);
	else
		schedule_limits_event(&c->limits);
}

/* Retire latencies: at first nothing is known of them. */
static int set_latencies(struct drill *d, struct drill_core *c, struct err *err)
{
	size_t n = c->m->n_events;

	c->latency = arena_alloc(d->a, (n + 1) * sizeof(*c->latency));
	c->latency_se = arena_alloc(d->a, (n + 1) * sizeof(*c->latency_se));
	if (!c->latency || !c->latency_se)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		c->latency[i] = c->latency_se[i] = NAN;
	return 0;
}

static int plan_core(struct drill *d, struct drill_core *c, const struct measure_opts *o,
		     const uint32_t *metric, size_t n, struct err *err)
{
	struct plan_wish w = { .level = o->level,
			       .all = o->level && !o->drilldown,
			       .metric = metric,
			       .n_metrics = n,
			       .no_tree = n && !o->level_said,
			       .thresholds = true,
			       /* --no-mux counts each group in a run of its own: in that, it has to
				* have all it needs */
			       .pin = !o->no_mux,
			       .system = c->system };

	if (plan_make(&c->plan, d->a, c->m, &c->limits, &w, err) ||
	    rounds_new(&c->rounds, d->a, &c->plan, counting_clock(), err))
		return -1;
	c->wants_turn = arena_alloc(d->a, c->plan.n_groups + 1);
	if (!c->wants_turn)
		return err_nomem(err);
	return stages_new(&c->stages, d->a, c->m, &c->plan, counting_clock(), err);
}

static int load_core(struct drill *d, const struct counting *k, const char *pmu, struct err *err)
{
	const struct plan_scope scope = counting_scope(k);
	struct drill_core *c = &d->core[d->n_cores];

	c->pmu = pmu;
	plan_facts(c->system, &scope);
	if (plan_model(&c->m, &c->limits, &k->opts->model, &scope, pmu, c->system, err))
		return -1;
	for (size_t i = 0; i < d->n_held; i++)
		if (!strcmp(d->held[i].pmu, pmu))
			hold_counter(c, k, &d->held[i]);
	d->n_cores++;
	return drill_wrong(d, c, k->opts->verdicts, err) || set_latencies(d, c, err) ? -1 : 0;
}

int drill_names(struct drill *d, const struct measure_opts *o, uint32_t **list, size_t *n,
		struct err *err)
{
	for (size_t c = 0; c < d->n_cores; c++) {
		struct drill_core *x = &d->core[c];

		n[c] = 0;
		list[c] = arena_alloc(d->a, (x->m->n_metrics + 1) * sizeof(*list[c]));
		x->named = arena_alloc(d->a, x->m->n_metrics + 1);
		if (!list[c] || !x->named)
			return err_nomem(err);
	}
	return named_of(d, &o->node, list, n, err) || named_of(d, &o->metric, list, n, err) ? -1
											    : 0;
}

int drill_fits_beside(struct drill *d, bool *fits, struct err *err)
{
	const struct plan_wish level_1 = { .level = 1, .all = true };
	struct plan p;

	*fits = true;
	for (size_t i = 0; i < d->n_cores && *fits; i++) {
		const struct drill_core *c = &d->core[i];

		if (!c->limits.tried || !(c->limits.general_held || c->limits.fixed_taken))
			continue;
		for (unsigned h = 0; h < c->limits.n_held; h++)
			*fits &= (c->limits.held[h] & schedule_limits_avail(&c->limits)) != 0;
		if (plan_make(&p, d->a, c->m, &c->limits, &level_1, err))
			return -1;
		*fits &= !p.n_impossible;
	}
	return 0;
}

static int plan_all(struct drill *d, const struct counting *k, struct err *err)
{
	uint32_t *list[DRILL_CORES];
	size_t n[DRILL_CORES];

	if (drill_names(d, k->opts, list, n, err))
		return -1;
	for (size_t c = 0; c < d->n_cores; c++)
		if (plan_core(d, &d->core[c], k->opts, list[c], n[c], err))
			return -1;
	return 0;
}

static enum drill_mode mode_of(const struct drill *d, const struct measure_opts *o)
{
	bool staged = false;

	if (o->no_mux)
		return DRILL_EACH;
	for (size_t c = 0; c < d->n_cores; c++)
		staged |= d->core[c].plan.n_stages > 1;
	if (!staged)
		return DRILL_ALL;
	return o->drilldown && !strcmp(o->drilldown, "rerun") ? DRILL_RERUN : DRILL_LIVE;
}

int drill_open(struct drill *d, const struct counting *k, const struct drill_held *held, size_t n,
	       struct err *err)
{
	memset(d, 0, sizeof(*d));
	d->a = k->opts->a;
	d->root = k->root;
	d->held = held;
	d->n_held = n;
	d->list = (struct event_list)EVENT_LIST_INIT;
	d->clock = DRILL_NO_CLOCK;
	for (size_t i = 0; i < k->machine.n_pmus && d->n_cores < 4; i++)
		if (sys_core_pmu(d->root, k->machine.pmu[i].name) &&
		    load_core(d, k, k->machine.pmu[i].name, err))
			return -1;
	if (!d->n_cores)
		return err_set(err, ERR_UNSUPPORTED, "no PMU of a core was found");
	if (plan_all(d, k, err))
		return -1;
	d->mode = mode_of(d, k->opts);
	d->interval_ns = k->opts->interval;
	return drill_first(d, err) || drill_events(d, k, err) || drill_latency_plan(d, k, err) ? -1
											       : 0;
}

void drill_prepare(struct drill *d)
{
	for (size_t c = 0; c < d->n_cores; c++) {
		stages_begin(&d->core[c].stages, d->mode != DRILL_LIVE);
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++) {
			struct drill_group *dg = &d->core[c].group[g];

			dg->on = drill_wants(d, c, g);
			/* every run has counters of its own */
			dg->lost = dg->pinned && dg->lost;
			dg->came = dg->wanted = dg->there = 0;
		}
	}
	d->readings = 0;
	drill_round_prepare(d);
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++) {
			struct drill_group *dg = &d->core[c].group[g];
			bool on = drill_counts_now(d, c, g);

			for (size_t i = 0; i < dg->n_counter_groups; i++)
				d->counter_group[dg->counter_group[i]].idle =
					!on || !drill_in_use(dg, i);
		}
}

void drill_free(struct drill *d)
{
	drill_latency_free(d);
	for (size_t i = 0; i < d->n_parts; i++) {
		tree_maker_free(d->part[i].maker);
		tree_whole_free(d->part[i].whole);
		slices_free(d->part[i].slices);
	}
	for (size_t g = 0; d->value && g < d->setup.n_groups; g++)
		free(d->value[g]);
	free(d->value);
	for (size_t c = 0; c < d->n_cores; c++)
		model_free(d->core[c].m);
	event_list_free(&d->list);
}
