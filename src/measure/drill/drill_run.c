/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run: readings of the groups that count, and which of them count next (model/stages.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "collect/sysfs.h"
#include "plan/plan.h"
#include "measure/drill.h"
#include "measure/drill_latency.h"

#define MS	       1000000ull
#define TICK_ALONE     (500 * MS) /* groups that need not share: there is nothing to extrapolate */
#define SHORT	       (250 * MS) /* intervals: the reading of each is its only slice */
#define ERRORS_FROM    8	  /* short intervals, so many: how much neighbours differ */
#define DECISION_SHARE 50	  /* deciding may take a 50th of the time */

/* ---- parts ------------------------------------------------------------------------------ */

/* The CPUs of a kind of cores; NULL: all of them, or nobody knows. */
static const uint32_t *core_cpus(const struct drill *d, const struct counting *k, size_t core,
				 size_t *n)
{
	const char *list = NULL;
	const uint32_t *cpus;

	if (!k->setup->cpus || d->n_cores < 2)
		return NULL;
	for (size_t i = 0; i < k->machine.n_pmus; i++)
		if (!strcmp(k->machine.pmu[i].name, d->core[core].pmu))
			list = k->machine.pmu[i].cpus;
	return list && !cpu_list_parse(d->a, list, strlen(list), &cpus, n) ? cpus : NULL;
}

static size_t lps_of(const struct counting *k, const struct drill_part *p)
{
	return k->setup->cpus ? p->n : 1;
}

static int add_drill_part(struct drill *d, const struct counting *k, size_t core,
			  const struct counting_place *place, struct err *err)
{
	struct drill_part *p = &d->part[d->n_parts];
	uint32_t *target = arena_alloc(d->a, (place->n + 1) * sizeof(*target));
	uint32_t each = k->setup->n_cgroups > 1 ? (uint32_t)k->setup->n_cgroups : 1;
	size_t most = 1, n_cpus = 0;
	const uint32_t *cpus = core_cpus(d, k, core, &n_cpus);

	if (!target)
		return err_nomem(err);
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < place->n; i++)
		if (!cpus || cpu_list_has(cpus, n_cpus, k->setup->cpus[place->target[i] / each]))
			target[p->n++] = place->target[i];
	if (!p->n)
		return 0;
	assert(p->n <= place->n);
	p->core = core;
	p->target = target;
	p->label = place->label;
	if (d->n_cores > 1)
		p->label = place->label
				   ? arena_printf(d->a, "%s %s", place->label, d->core[core].pmu)
				   : d->core[core].pmu;
	/* tasks are one: the kernel adds up their children anyway */
	for (size_t g = 0; g < d->core[core].plan.n_groups; g++)
		if (d->core[core].plan.group[g].n > most)
			most = d->core[core].plan.group[g].n;
	p->r = arena_alloc(d->a, most * p->n * sizeof(*p->r));
	p->counted = arena_alloc(d->a, d->core[core].m->n_metrics + 1);
	p->sum = arena_alloc(d->a, (d->core[core].m->n_used + 1) * sizeof(*p->sum));
	if (!p->r || !p->counted || !p->sum)
		return err_nomem(err);
	for (size_t e = 0; e < d->core[core].m->n_used; e++)
		p->sum[e] = NAN;
	d->n_parts++;
	return drill_part_times(d, p, lps_of(k, p), err);
}

static int make_parts(struct drill *d, const struct counting *k, struct err *err)
{
	const struct counting_place *place;
	size_t n;

	if (counting_places(k, &place, &n, err))
		return -1;
	d->part = arena_alloc(d->a, (n * d->n_cores + 1) * sizeof(*d->part));
	if (!d->part)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < d->n_cores; c++)
			if (add_drill_part(d, k, c, &place[i], err))
				return -1;
	return 0;
}

static int new_slices(struct drill *d, const struct counting *k, struct err *err)
{
	for (size_t i = 0; i < d->n_parts; i++) {
		struct drill_part *p = &d->part[i];
		const struct drill_core *c = &d->core[p->core];
		size_t n = c->plan.n_groups;
		struct slices_group *g = arena_alloc(d->a, (n + 1) * sizeof(*g));
		struct slices_setup s = { .group = g,
					  .n_groups = n,
					  .n_events = c->m->n_used,
					  .n_targets = lps_of(k, p) };

		if (!g)
			return err_nomem(err);
		for (size_t j = 0; j < n; j++) {
			const struct plan_group *pg = &c->plan.group[j];
			bool *stepped = arena_alloc(d->a, pg->n + 1);

			if (!stepped)
				return err_nomem(err);
			for (size_t e = 0; e < pg->n; e++)
				stepped[e] = c->m->event[pg->event[e]].flags & EVENT_METRIC;
			g[j] = (struct slices_group){ pg->event, pg->n, stepped };
		}
		slices_free(p->slices);
		p->slices = NULL;
		if (slices_new(&p->slices, &s, err))
			return -1;
	}
	return 0;
}

static int make_readings_room(struct drill *d, struct counting *k, struct err *err)
{
	d->targets = counters_targets(k->c);
	d->value = calloc(d->setup.n_groups + 1, sizeof(*d->value));
	if (!d->value)
		return err_nomem(err);
	for (size_t g = 0; g < d->setup.n_groups; g++) {
		d->value[g] = calloc(d->setup.group[g].n * d->targets + 1, sizeof(**d->value));
		if (!d->value[g])
			return err_nomem(err);
	}
	return 0;
}

/* ---- switching -------------------------------------------------------------------------- */

bool drill_wants(const struct drill *d, size_t core, size_t group)
{
	const struct drill_core *c = &d->core[core];

	if (d->mode == DRILL_EACH)
		return d->each_core == core && d->each_group == group;
	return stages_group(&c->stages, group) != SLICES_OFF;
}

/* Passes on to slices that a group is switched while a run lasts. */
static int tell_slices(struct drill *d, size_t core, size_t group, uint64_t t, struct err *err)
{
	struct drill_core *c = &d->core[core];
	struct drill_group *g = &c->group[group];
	enum slices_state to = stages_group(&c->stages, group);

	if (d->mode != DRILL_LIVE)
		return 0;
	for (size_t i = 0; i < d->n_parts; i++)
		if (d->part[i].core == core && slices_switch(d->part[i].slices, group, t, to, err))
			return -1;
	/* visits are over at once, and change nothing for decisions */
	if ((to == SLICES_ON) != (g->state == SLICES_ON)) {
		d->switched = t;
		d->switched_at = d->readings;
	}
	g->state = to;
	return 0;
}

/* A group is on while a stage that has it is open or visited. */
static int apply_stages(struct drill *d, struct counting *k, struct err *err)
{
	/* groups that count from the beginning do so from 0 */
	uint64_t t = d->readings ? k->now - k->start : 0;

	for (size_t i = 0; i < d->n_cores; i++) {
		struct drill_core *c = &d->core[i];

		for (size_t g = 0; g < c->plan.n_groups; g++) {
			bool on = drill_wants(d, i, g);

			if (tell_slices(d, i, g, t, err))
				return -1;
			if (on == c->group[g].on)
				continue;
			c->group[g].on = on;
			c->group[g].fresh = true;
		}
	}
	return drill_latency_apply(d, k, err);
}

/* Others hold counters that the plan of every kind of core needs. */
static bool none_free(const struct drill *d, const char **who)
{
	*who = NULL;
	for (size_t c = 0; c < d->n_cores; c++) {
		const struct drill_core *x = &d->core[c];

		for (size_t g = 0; g < x->plan.n_groups; g++)
			if (x->plan.group[g].core)
				return false;
		if (!*who && x->plan.n_impossible)
			*who = plan_limits_note(d->a, d->root, x->pmu, &x->limits);
	}
	return *who;
}

/* Fails if not one event counts. */
static int any_counts(const struct drill *d, const struct counting *k, struct err *err)
{
	size_t refused = 0, all = 0, outside = 0;
	const char *who;
	int number = 0;

	for (size_t g = 0; g < d->setup.n_groups; g++)
		for (size_t e = 0; g != d->clock && e < d->setup.group[g].n; e++, all++) {
			refused += counters_refused(k->c, g, e, &number) ? 1u : 0u;
			outside += d->setup.group[g].event[e].cpus ? 1u : 0u;
		}
	if (refused < all)
		return 0;
	if (none_free(d, &who)) {
		(void)err_set(err, ERR_UNSUPPORTED, "no counter is left: %s%s", who,
			      d->n_held ? ", and one samples" : "");
		return err_hint(err, d->n_held ? "`cyclade stat` counts without samples; `cyclade "
						 "doctor` tells who counts"
					       : "`cyclade doctor` tells who counts");
	}
	if (outside == all && !k->who.whole_cpus) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "what was asked for counts outside the cores, for whole CPUs and not "
			      "for a program");
		return err_hint(err, "add -a");
	}
	if (number == EACCES || number == EPERM) {
		(void)err_set(err, ERR_PERM, "counting is not permitted here");
		return err_hint(err,
				"sysctl kernel.perf_event_paranoid=%d, or root; `cyclade "
				"doctor` tells more",
				k->who.whole_cpus ? 0 : 2);
	}
	(void)err_set(err, ERR_UNSUPPORTED,
		      "none of the %zu events of model %s can be counted here", all,
		      d->core[0].m->id);
	return err_hint(err, "`cyclade doctor` tells what this machine has");
}

int drill_begin(struct drill *d, struct counting *k, struct err *err)
{
	if (any_counts(d, k, err))
		return -1;
	if (!d->value && (make_readings_room(d, k, err) || make_parts(d, k, err)))
		return -1;
	if (!d->n_parts)
		return err_set(err, ERR_UNSUPPORTED, "none of these CPUs has a PMU of a core");
	if ((!d->part->slices || d->mode != DRILL_EACH) && new_slices(d, k, err))
		return -1;
	if (d->clock != DRILL_NO_CLOCK && counters_refused(k->c, d->clock, 0, NULL))
		d->clock = DRILL_NO_CLOCK; /* the kernel may let them take turns */
	for (size_t i = 0; i < d->n_cores; i++)
		for (size_t g = 0; g < d->core[i].plan.n_groups; g++) /* as new slices have it */
			d->core[i].group[g].state = SLICES_ON;
	for (size_t i = 0; i < d->n_parts; i++)
		drill_part_begin(&d->part[i], lps_of(k, &d->part[i]));
	d->intervals = 0;
	d->readings = d->switched_at = 0;
	d->last_decision = d->switched = 0;
	return apply_stages(d, k, err) || drill_latency_begin(d, k, err) ? -1 : 0;
}

/* ---- readings --------------------------------------------------------------------------- */

static struct slices_reading add_cells(const struct drill *d, const struct drill_group *g,
				       size_t event, const struct drill_part *p, size_t from,
				       size_t to)
{
	struct slices_reading r = { .missing = true };

	for (uint32_t i = g->first[event]; i < g->first[event + 1]; i++) {
		const struct counter_value *v =
			d->value[g->cell[i].group] + g->cell[i].index * d->targets;

		for (size_t t = from; t < to; t++) {
			const struct counter_value *one = &v[p->target[t]];

			assert(p->target[t] < d->targets);

			if (one->refused || one->absent)
				continue;
			r.missing = false;
			r.value += one->value;
			r.enabled += one->enabled;
			r.running += one->running;
		}
	}
	return r;
}

static int feed_part(struct drill *d, const struct counting *k, struct drill_part *p, size_t group,
		     uint64_t t, struct err *err)
{
	const struct drill_core *c = &d->core[p->core];
	const struct drill_group *g = &c->group[group];
	size_t lps = lps_of(k, p);

	for (size_t e = 0; e < c->plan.group[group].n; e++)
		for (size_t lp = 0; lp < lps; lp++)
			p->r[e * lps + lp] = lps > 1 ? add_cells(d, g, e, p, lp, lp + 1)
						     : add_cells(d, g, e, p, 0, p->n);
	drill_part_enabled(d, p, group, lps);
	for (size_t i = 0; i < c->plan.group[group].n * lps && g->core; i++)
		d->shared |= p->r[i].running < p->r[i].enabled;
	/* runs are laid over each other by how far the program was, not by the clock */
	if (d->mode == DRILL_EACH) {
		t = 0;
		for (size_t i = 0; i < c->plan.group[group].n * lps; i++)
			t = !p->r[i].missing && p->r[i].enabled > t ? p->r[i].enabled : t;
	}
	return slices_add(p->slices, group, t, p->r, err);
}

static int read_drill_group(struct drill *d, struct counting *k, size_t core, size_t group,
			    uint64_t t, struct err *err)
{
	struct drill_group *g = &d->core[core].group[group];

	for (size_t i = 0; i < g->n_counter_groups; i++)
		if (counters_read(k->c, g->counter_group[i], d->value[g->counter_group[i]], err))
			return -1;
	if (drill_see_pin(d, k, g, err) || drill_see_starved(d, k, core, group, err))
		return -1;
	for (size_t i = 0; i < d->n_parts; i++)
		if (d->part[i].core == core && feed_part(d, k, &d->part[i], group, t, err))
			return -1;
	return 0;
}

static int read_groups_on(struct drill *d, struct counting *k, bool everything, struct err *err)
{
	uint64_t t = k->now - k->start;

	if (d->clock != DRILL_NO_CLOCK && counters_read(k->c, d->clock, d->value[d->clock], err))
		return -1;
	for (size_t i = 0; i < d->n_parts; i++)
		drill_part_ran(d, &d->part[i], lps_of(k, &d->part[i]));
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++) {
			struct drill_group *dg = &d->core[c].group[g];
			bool mine =
				d->mode != DRILL_EACH || (d->each_core == c && d->each_group == g);

			if (mine && (everything || dg->on || dg->fresh) &&
			    read_drill_group(d, k, c, g, t, err))
				return -1;
			dg->fresh = false;
		}
	d->readings++;
	return 0;
}

/* ---- decisions -------------------------------------------------------------------------- */

/* The tree of a part by its counts in [from, to], as a decision needs it. */
static int window_tree(struct drill *d, struct drill_part *p, struct arena *a, uint64_t from,
		       uint64_t to, struct err *err)
{
	struct drill_core *c = &d->core[p->core];
	struct tree_counts counts = { .system = c->system,
				      .latency = c->latency,
				      .latency_se = c->latency_se };

	if (slices_counts(p->slices, a, from, to, &counts, err))
		return -1;
	if (!p->maker && tree_maker_new(&p->maker, c->m, c->plan.wanted, err))
		return -1;
	return tree_make(&p->tree, p->maker, &counts, err);
}

/* The counts of every part, and the stages that they ask for. */
static int find_counts(struct drill *d, const struct counting *k, uint64_t from, uint64_t to,
		       struct err *err)
{
	uint64_t end = to == UINT64_MAX ? k->now - k->start : to;
	struct arena a = ARENA_INIT;
	int rc = 0;

	drill_latency_values(d, k, from);
	for (size_t i = 0; i < d->n_parts && !rc; i++) {
		struct drill_part *p = &d->part[i];
		struct drill_core *c = &d->core[p->core];

		plan_times(c->system, (double)(end - from) / 1e9, lps_of(k, p));
		rc = window_tree(d, p, &a, from, to, err);
		if (!rc)
			stages_ask(&c->stages, &p->tree);
	}
	arena_free(&a);
	return rc;
}

static int decide(struct drill *d, struct counting *k, struct err *err)
{
	uint64_t now = k->now - k->start, before = drill_own_time();
	uint64_t from = stages_look_from(now, d->switched, d->readings - d->switched_at);

	if (find_counts(d, k, from, now, err))
		return -1;
	for (size_t c = 0; c < d->n_cores; c++)
		stages_decide(&d->core[c].stages, now);
	if (apply_stages(d, k, err))
		return -1;
	d->last_decision = now;
	d->decision_ns = drill_own_time() - before;
	return 0;
}

static bool end_visits(struct drill *d)
{
	bool any = false;

	for (size_t c = 0; c < d->n_cores; c++) {
		any |= d->core[c].stages.visiting;
		stages_end_visit(&d->core[c].stages);
	}
	return any;
}

/* A round is over: stages open or close, or not; then the next one begins. */
static int let_stage_go_on(struct drill *d, struct counting *k, struct err *err)
{
	uint64_t now = k->now - k->start;
	bool visited;

	if (d->mode != DRILL_LIVE)
		return drill_round(d, k, err);
	visited = end_visits(d);
	if (!d->last_decision || now - d->last_decision >= d->decision_ns * DECISION_SHARE) {
		if (decide(d, k, err))
			return -1;
	} else if (visited && apply_stages(d, k, err)) {
		return -1;
	}
	return drill_round(d, k, err);
}

int drill_read(struct drill *d, struct counting *k, struct err *err)
{
	bool last = k->stopped || (k->has_program && k->work.ended);

	if (read_groups_on(d, k, last, err) || (!last && drill_latency_follow(d, k, err)))
		return -1;
	if (last)
		return 0;
	return drill_last_turn(d) ? let_stage_go_on(d, k, err) : drill_next_turn(d, k, err);
}

/* Every stage counts all the time, and intervals are short: between their readings nothing is to be
 * found out that would be worth the way to the counters of every CPU. The first slices are cut
 * shorter, so that the first interval has an error bar. */
static bool intervals_will_do(const struct drill *d)
{
	return d->mode == DRILL_ALL && d->interval_ns && d->interval_ns <= SHORT &&
	       d->readings > SLICES_FEWEST;
}

uint64_t drill_slice(const struct drill *d, size_t turns)
{
	for (size_t c = 0; c < d->n_cores; c++)
		if (d->core[c].stages.visiting)
			return stages_visit_slice(turns);
	return stages_slice(turns, d->readings,
			    d->mode == DRILL_ALL && d->readings && !d->shared ? TICK_ALONE
									      : STAGES_SLICE_MAX);
}

static uint64_t drill_ns_to_tick(void *ctx)
{
	const struct drill *d = ctx;
	size_t most = 1;

	if (drill_in_rounds(d))
		return d->turn_ns;
	if (intervals_will_do(d))
		return 0;
	for (size_t c = 0; c < d->n_cores; c++) {
		size_t n = 0;

		for (size_t g = 0; g < d->core[c].plan.n_groups; g++)
			n += drill_takes_turns(&d->core[c].group[g]) && d->core[c].group[g].on;
		most = n > most ? n : most;
	}
	return drill_slice(d, most);
}

/* Whether counting's loop, which goes by the same times, is about to end an interval. */
static bool interval_is_over(struct drill *d, const struct counting *k)
{
	uint64_t n = d->interval_ns ? (k->now - k->start) / d->interval_ns : 0;
	bool over = n > d->intervals;

	d->intervals = n;
	return over;
}

/* At each tick: the next turn, or a reading if a round is over, or an interval is. */
static int on_tick(void *ctx, struct counting *k, struct err *err)
{
	struct drill *d = ctx;
	bool last = k->stopped || (k->has_program && k->work.ended);

	if (interval_is_over(d, k) || last || !drill_in_rounds(d))
		return drill_read(d, k, err);
	if (!drill_last_turn(d))
		return drill_next_turn(d, k, err);
	return intervals_will_do(d) ? drill_round(d, k, err) : drill_read(d, k, err);
}

/* ---- trees ------------------------------------------------------------------------------ */

/* Metrics that could have been measured: of stages that were open at some time. */
static void mark_counted(const struct drill_core *c, bool *counted)
{
	memset(counted, 0, c->m->n_metrics);
	for (size_t s = 0; s < c->plan.n_stages; s++)
		for (size_t i = 0; stages_was_open(&c->stages, s) && i < c->plan.stage[s].n_metrics;
		     i++)
			counted[c->plan.stage[s].metric[i]] = true;
}

/* Only the events of groups are ever counted. */
static void take_sums(struct drill_part *p)
{
	const struct tree_counts *c = &p->counts;

	p->share = c->counted;
	p->idle = true;
	for (uint32_t i = 0; i < c->first[c->n_groups]; i++) {
		uint32_t e = c->member[i];
		const double *row = c->count + e * c->n_lps;
		double sum = NAN;

		for (size_t lp = 0; lp < c->n_lps; lp++)
			if (!isnan(row[lp]))
				sum = isnan(sum) ? row[lp] : sum + row[lp];
		/* CPUs on which nothing ran count 0, although others have no count */
		p->sum[e] = p->share[e] > 0 ? sum : (double)NAN;
		p->idle &= !(sum > 0);
	}
}

/* False if the time is of no use: on whole CPUs it includes idleness, on hybrids that on the other
 * kind of cores. */
static bool timed(const struct drill *d, const struct counting *k)
{
	return !k->who.whole_cpus && !k->setup->cpus && d->n_cores == 1 && !k->setup->user_only &&
	       !k->setup->kernel_only && !counters_without_kernel(k->c);
}

static uint64_t errors_since(const struct drill *d, uint64_t from, uint64_t end)
{
	uint64_t back = ERRORS_FROM * d->interval_ns, since = end > back ? end - back : 0;

	if (d->mode != DRILL_ALL || !d->interval_ns || d->interval_ns > SHORT || end - from > SHORT)
		return from;
	return since < from ? since : from;
}

int drill_trees(struct drill *d, const struct counting *k, struct arena *a, uint64_t from,
		uint64_t to, struct err *err)
{
	uint64_t end = to == UINT64_MAX ? k->now - k->start : to;
	double seconds = (double)(end - from) / 1e9;
	const struct tree_whole_ask what = { a, errors_since(d, from, end), from, to };

	drill_latency_values(d, k, from);
	for (size_t i = 0; i < d->n_parts; i++) {
		struct drill_part *p = &d->part[i];
		struct drill_core *c = &d->core[p->core];

		memset(&p->counts, 0, sizeof(p->counts));
		plan_times(c->system, seconds, lps_of(k, p));
		p->counts.system = c->system;
		p->counts.latency = c->latency;
		p->counts.latency_se = c->latency_se;
		p->counts.dead = c->dead;
		p->counts.wrong = c->wrong;
		mark_counted(c, p->counted);
		if ((!p->whole && tree_whole_new(&p->whole, c->m, &c->plan, err)) ||
		    tree_whole_make(&p->tree, p->whole, p->slices, &what, &p->counts, err))
			return -1;
		take_sums(p);
		tree_rates(&p->rates, c->m, &p->counts,
			   &(struct tree_rates_ask){ &c->plan, p->slices, from, to, timed(d, k) });
	}
	return 0;
}

/* ---- runs ------------------------------------------------------------------------------- */

/* The next group that an open stage has and that was not counted yet. */
static bool next_each(struct drill *d)
{
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t s = 0; s < d->core[c].plan.n_stages; s++)
			for (size_t j = 0; stages_is_open(&d->core[c].stages, s) &&
					   j < d->core[c].plan.stage[s].n_groups;
			     j++) {
				uint32_t g = d->core[c].plan.stage[s].group[j];

				if (d->each_done[c][g])
					continue;
				d->each_done[c][g] = true;
				d->each_core = c;
				d->each_group = g;
				return true;
			}
	return false;
}

/* Samplers would take turns with the groups: they have runs of their own. */
static bool next_sampler(struct drill *d)
{
	d->each_core = d->each_group = SIZE_MAX;
	return drill_latency_next(d);
}

static bool **alloc_done(struct drill *d)
{
	bool **done = arena_alloc(d->a, (d->n_cores + 1) * sizeof(*done));

	for (size_t c = 0; done && c < d->n_cores; c++) {
		done[c] = arena_alloc(d->a, d->core[c].plan.n_groups + 1);
		if (!done[c])
			return NULL;
	}
	return done;
}

int drill_first(struct drill *d, struct err *err)
{
	if (d->mode != DRILL_EACH)
		return 0;
	d->each_done = alloc_done(d);
	if (!d->each_done)
		return err_nomem(err);
	(void)next_each(d);
	return 0;
}

/* After a run: whether another one is wanted. */
static int is_again(struct drill *d, const struct counting *k, bool *again, struct err *err)
{
	*again = false;
	if (d->mode == DRILL_EACH && next_each(d)) {
		*again = true;
		return 0;
	}
	if (d->mode != DRILL_EACH && d->mode != DRILL_RERUN)
		return 0;
	if (find_counts(d, k, 0, UINT64_MAX, err))
		return -1;
	for (size_t c = 0; c < d->n_cores; c++)
		if (stages_open_asked(&d->core[c].stages))
			*again |= d->mode == DRILL_RERUN;
	if (d->mode == DRILL_EACH)
		*again = next_each(d) || next_sampler(d);
	return 0;
}

static int on_switch(void *ctx, struct counting *k, bool on, struct err *err)
{
	(void)k;
	return drill_latency_switched(ctx, on, err);
}

struct counting_reader drill_reader(struct drill *d)
{
	return (struct counting_reader){
		.read = on_tick, .tick = drill_ns_to_tick, .switched = on_switch, .ctx = d
	};
}

int drill_start(struct drill *d, struct counting *k, struct err *err)
{
	const struct counting_reader reader = drill_reader(d);

	drill_prepare(d);
	return counting_prepare(k, &d->setup, &reader, err) || drill_begin(d, k, err) ? -1 : 0;
}

int drill_next(struct drill *d, struct counting *k, enum counting_event *what, struct err *err)
{
	bool again = true;

	while (!counting_next(k, what, err)) {
		if (*what != COUNTING_OVER || k->result.interrupted)
			return 0;
		if (is_again(d, k, &again, err))
			return -1;
		if (!again)
			return 0;
		d->passes++;
		if (counting_finish(k, 0, err) || drill_start(d, k, err))
			return -1;
	}
	return -1;
}
