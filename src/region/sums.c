/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/estimate.h"

/* A run that is not so many times longer than begin and end measures mostly these. */
#define SHORT	 10
#define HOPELESS 0.5
#define ALWAYS	 0.999

#define USUAL_TURN_NS 4e6 /* perf_event_mux_interval_ms of most kernels */

/* ---- the table -------------------------------------------------------------------------- */

static struct region_sums *find_region(struct report *r, const char *name)
{
	for (size_t i = 0; i < r->region.n; i++)
		if (!strcmp(r->region.v[i].s.name, name))
			return &r->region.v[i];
	return NULL;
}

static int add_region(struct report *r, const struct region_sums *one, struct err *err)
{
	struct region_sums *all = find_region(r, one->s.name);

	if (vec_push(&r->thread, *one))
		return err_nomem(err);
	if (all) {
		table_add(&all->s, &one->s);
		return 0;
	}
	if (r->region.n >= TABLE_REGIONS)
		return err_set(err, ERR_LIMIT, "more than %d regions", TABLE_REGIONS);
	return vec_push(&r->region, *one) ? err_nomem(err) : 0;
}

/* Not every thread has the first one's means: descriptors and locked memory have limits. */
static void gather_modes(struct report *r)
{
	uint32_t best = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t b = 0; b < r->v->n_blocks; b++) {
			struct table_block block;

			table_block(r->v, b, &block);
			best = block.mode > best ? block.mode : best;
			r->blind += pass && best && !block.mode;
			r->slower += pass && block.mode && block.mode < best;
		}
}

static int gather_slots(struct report *r, struct err *err)
{
	gather_modes(r);
	for (size_t b = 0; b < r->v->n_blocks; b++) {
		struct table_block block;

		table_block(r->v, b, &block);
		r->resets += block.resets;
		for (size_t i = 0; i < block.regions; i++) {
			struct region_sums one = { .tid = block.tid };

			memcpy(one.comm, block.comm, sizeof(one.comm));
			table_sums(r->v, b, i, &one.s);
			if (add_region(r, &one, err))
				return -1;
		}
	}
	return 0;
}

/* A model that is not known here any more leaves events without their metrics. */
static int load_models(struct report *r, struct err *err)
{
	struct model_sources none = { .n_dirs = 0 };

	r->own_models = true;
	for (size_t i = 0; i < r->v->head.n_parts; i++) {
		struct err why = ERR_INIT;

		if (*r->v->head.part[i].model &&
		    model_load(&r->model[i], &none, r->v->head.part[i].model, r->v->head.facts,
			       &why) &&
		    why.code == ERR_NOMEM)
			return err_nomem(err);
	}
	return 0;
}

static int mark_wanted(struct report *r, size_t part, struct err *err)
{
	const struct model *m = r->model[part];

	if (!m)
		return 0;
	r->wanted[part] = arena_alloc(&r->arena, m->n_metrics + 1);
	if (!r->wanted[part])
		return err_nomem(err);
	for (size_t i = 0; i < r->n_wishes; i++) {
		const struct wish *w = &r->wish[i];

		if (w->kind == WISH_METRIC && w->metric[part] != MODEL_NONE)
			r->wanted[part][w->metric[part]] = true;
		for (uint32_t k = 0; w->kind == WISH_TREE && k < m->n_metrics; k++)
			if (m->metric[k].level && m->metric[k].level <= w->level)
				r->wanted[part][k] = true;
	}
	return 0;
}

int report_open(struct report *r, const struct table_view *v, struct model *const *models,
		struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->v = v;
	if (models)
		memcpy(r->model, models, v->head.n_parts * sizeof(*models));
	else if (load_models(r, err))
		goto fail;
	if (wishes_read(&r->wish, &r->n_wishes, &r->arena, v->head.metrics, r->model,
			v->head.n_parts, err))
		goto fail;
	for (size_t i = 0; i < v->head.n_parts; i++)
		if (mark_wanted(r, i, err))
			goto fail;
	if (gather_slots(r, err))
		goto fail;
	return 0;
fail:
	report_close(r);
	return -1;
}

void report_close(struct report *r)
{
	for (size_t i = 0; r->own_models && i < TABLE_PARTS; i++)
		model_free(r->model[i]);
	vec_free(&r->region);
	vec_free(&r->thread);
	arena_free(&r->arena);
	memset(r, 0, sizeof(*r));
}

/* ---- counts ----------------------------------------------------------------------------- */

/* Time on a CPU of the threads that have counters. */
static double on_cpu_ns(const struct report *r, const struct table_sums *s)
{
	return fmax(0, s->tsc - s->blind_tsc - s->slow_tsc) / r->v->head.tsc_hz * 1e9 + s->slow_ns;
}

static double on_ns(const struct table_head *h, const struct table_sums *s, double cpu,
		    size_t event)
{
	return fmax(0, cpu - s->off_ns[h->event[event].group]);
}

/* The time that counts stand for: all of it; of a hybrid's kinds of cores, the time there, which is
 * at least that of the group that was on the longest. */
static double whole_ns(const struct table_head *h, const struct table_sums *s, double cpu,
		       size_t event)
{
	double most = 0;

	if (h->n_parts < 2)
		return cpu;
	for (size_t e = 0; e < h->n_events; e++)
		if (h->event[e].part == h->event[event].part && !h->event[e].refused)
			most = fmax(most, on_ns(h, s, cpu, e));
	return most;
}

/* It was off its counters while the region ran where it counts. */
static bool took_turns(const struct report *r, const struct table_sums *s, size_t event)
{
	double cpu = on_cpu_ns(r, s);

	return s->off_ns[r->v->head.event[event].group] > 0 &&
	       on_ns(&r->v->head, s, cpu, event) < ALWAYS * whole_ns(&r->v->head, s, cpu, event);
}

static void fill_counts(struct region_values *out, const struct report *r,
			const struct table_sums *s)
{
	const struct table_head *h = &r->v->head;
	double cpu = on_cpu_ns(r, s), blind = s->blind_tsc / h->tsc_hz * 1e9;

	out->cpu_ns = cpu + blind;
	for (size_t i = 0; i < TABLE_PARTS; i++)
		out->turn_ns[i] = h->turn_ns[i] > 0 ? h->turn_ns[i] : USUAL_TURN_NS;
	for (size_t e = 0; e < h->n_events; e++) {
		double on = on_ns(h, s, cpu, e);

		out->count[e] = NAN;
		out->share[e] = cpu + blind > 0 ? fmin(1, on / (cpu + blind)) : 0;
		out->part_share[h->event[e].part] =
			cpu + blind > 0 ? whole_ns(h, s, cpu, e) / (cpu + blind) : 0;
		if (h->event[e].refused || !s->runs || !(on > 0))
			continue;
		out->count[e] = table_count(r->v, s, e);
		if (s->off_ns[h->event[e].group] > 0)
			out->count[e] *= whole_ns(h, s, cpu, e) / on;
	}
}

struct part_counts {
	double *count, *counted, *quantum;
	uint32_t *member, *first;
	size_t n_groups;
	double system[SYSTEM_COUNT];
};

static const char *const extrapolated[1] = {
	"the region was off the counters for a part of its time"
};

static const double *const no_matrix[1] = { NULL };

static int part_room(struct part_counts *c, struct arena *a, const struct model *m, struct err *err)
{
	c->count = arena_alloc(a, (m->n_events + 1) * sizeof(*c->count));
	c->counted = arena_alloc(a, (m->n_events + 1) * sizeof(*c->counted));
	c->quantum = arena_alloc(a, (m->n_events + 1) * sizeof(*c->quantum));
	c->member = arena_alloc(a, (m->n_events + 1) * sizeof(*c->member));
	c->first = arena_alloc(a, 2 * sizeof(*c->first));
	if (!c->count || !c->counted || !c->quantum || !c->member || !c->first)
		return err_nomem(err);
	for (size_t i = 0; i < m->n_events; i++)
		c->count[i] = NAN;
	return 0;
}

/* Slots of the group that a field of PERF_METRICS is in; 0: not known. */
static double table_slots_of(const struct report *r, const double *count, size_t field)
{
	const struct table_event *e = r->v->head.event;

	for (size_t i = 0; i < r->v->head.n_events; i++)
		if (e[i].kind == COUNTS_SLOTS && e[i].group == e[field].group && count[i] > 0)
			return count[i];
	return 0;
}

/* Half width of the error from the steps of a field, 255ths. Readings that differ are rounded
 * independently: `scale` times their squares' sum. A fraction that stays as it is is rounded alike
 * by each, and so is off by up to half a step of all slots. */
static double half_step(const struct report *r, const struct table_sums *s, const double *count,
			size_t field, double scale)
{
	return fmax(scale * sqrt(fmax(0, s->err2)), table_slots_of(r, count, field)) / 510;
}

static void part_events(struct part_counts *c, const struct region_values *out,
			const struct report *r, const struct table_sums *s, size_t part)
{
	const struct table_head *h = &r->v->head;

	for (size_t e = 0; e < h->n_events; e++) {
		uint32_t at = h->event[e].part == part
				      ? model_event_find(r->model[part], h->event[e].name,
							 strlen(h->event[e].name))
				      : MODEL_NONE;

		if (at == MODEL_NONE || !isnan(c->count[at]))
			continue;
		c->count[at] = out->count[e];
		c->counted[at] = out->share[e];
		if (h->event[e].kind == COUNTS_FIELD)
			c->quantum[at] = half_step(r, s, out->count, e, 1);
		if (took_turns(r, s, e))
			c->member[c->first[1]++] = at;
	}
	c->n_groups = c->first[1] ? 1 : 0;
}

static int part_values(struct region_values *out, const struct report *r,
		       const struct table_sums *s, size_t part, struct err *err)
{
	const struct model *m = r->model[part];
	struct part_counts c = { .n_groups = 0 };
	struct tree_counts counts;

	if (!m || part_room(&c, &out->arena, m, err))
		return m ? -1 : 0;
	part_events(&c, out, r, s, part);
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		c.system[i] = r->v->head.facts[i];
	c.system[SYSTEM_DURATION] = out->wall;
	c.system[SYSTEM_TSC] = s->tsc;
	c.system[SYSTEM_TSC_FREQ] = r->v->head.tsc_hz;
	counts = (struct tree_counts){ .count = c.count,
				       .n_lps = 1,
				       .counted = c.counted,
				       .member = c.member,
				       .first = c.first,
				       .cov = no_matrix,
				       .no_error = extrapolated,
				       .n_groups = c.n_groups,
				       .quantum = c.quantum,
				       .system = c.system };
	if (tree_eval(&out->tree[part], &out->arena, m, &counts, r->wanted[part], err) ||
	    tree_doubt_zeros(&out->tree[part], &out->arena, &counts, r->wanted[part], err))
		return -1;
	out->has_tree[part] = true;
	return 0;
}

int values_make(struct region_values *out, const struct report *r, const struct table_sums *s,
		struct err *err)
{
	memset(out, 0, sizeof(*out));
	out->wall = s->tsc / r->v->head.tsc_hz;
	out->too_short = s->runs && s->tsc / (double)s->runs < SHORT * (double)r->v->head.pair_tsc;
	fill_counts(out, r, s);
	for (size_t i = 0; i < r->v->head.n_parts; i++)
		if (part_values(out, r, s, i, err)) {
			values_free(out);
			return -1;
		}
	return 0;
}

void values_free(struct region_values *v)
{
	arena_free(&v->arena);
}

/* ---- values ----------------------------------------------------------------------------- */

/* The half width for a share that was seen in a part `c` of the time, turn by turn. The other turns
 * may have had anything from 0 to 1. A quantity that is always 0 or 1 varies most for its mean, so
 * the bar is that of a proportion (Agresti and Coull, 1998) for the part not seen, and at most that
 * part. It does not hold if the program's phases last as long as all turns together. */
static double share_error(double v, double c, double turns)
{
	double n = turns + 4, p = (v * turns + 2) / n;
	double half = (1 - c) * fabs(p - v) + Z95 * sqrt((1 - c) * p * (1 - p) / n);

	return fmin(half, (1 - c) * fmax(v, 1 - v));
}

static double extrapolated_error(const struct region_values *v, size_t part, uint32_t metric)
{
	const struct tree_node *n = &v->tree[part].node[metric];

	if (n->no_error != extrapolated[0] || v->tree[part].model->metric[metric].scale != 100 ||
	    !(n->counted > 0) || n->shown < 0 || n->shown > 1)
		return n->error;
	return share_error(n->shown, fmin(1, n->counted / v->part_share[part]),
			   n->counted * v->cpu_ns / v->turn_ns[part]);
}

struct cyclade_value metric_value(const struct region_values *v, size_t part, uint32_t metric)
{
	struct cyclade_value out = { sizeof(out), NAN, NAN, NAN, CYCLADE_NOT_MEASURED };
	const struct tree_node *n = &v->tree[part].node[metric];

	if (n->value.why != VALUE_OK)
		return out;
	out.counted = n->counted;
	if (n->doubt != DOUBT_NONE || isnan(n->shown)) {
		out.why = CYCLADE_DOUBTFUL;
		return out;
	}
	out.why = v->too_short ? CYCLADE_TOO_SHORT : CYCLADE_OK;
	out.error = extrapolated_error(v, part, metric);
	/* a share that could as well be another is none */
	if (v->tree[part].model->metric[metric].scale == 100 && out.error > HOPELESS) {
		out.error = NAN;
		out.why = CYCLADE_TOO_SHORT;
		return out;
	}
	out.value = n->shown;
	return out;
}

struct cyclade_value event_value(const struct report *r, const struct region_values *v,
				 const struct table_sums *s, size_t event)
{
	struct cyclade_value out = { sizeof(out), v->count[event], 0, v->share[event], CYCLADE_OK };
	const struct table_event *e = &r->v->head.event[event];

	if (e->kind == COUNTS_FIELD)
		out.error = half_step(r, s, v->count, event, 1.959964 / sqrt(3));
	if (took_turns(r, s, event))
		out.error = NAN;
	if (isnan(out.value)) {
		out.error = NAN;
		out.why = CYCLADE_NOT_MEASURED;
	} else if (v->too_short) {
		out.why = CYCLADE_TOO_SHORT;
	}
	return out;
}
