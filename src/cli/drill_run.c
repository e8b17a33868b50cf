/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run: readings of the groups that count, and which of them count next.
 *
 * A stage opens as soon as its node is over its threshold in the last half second, or too unsure to
 * say no PATIENCE times in a row (at first every bar is wide, and a stage that is opened for
 * nothing takes its groups' time from those that make the bars narrow), and closes when it was
 * neither CLOSE_AFTER times in a row: groups that are not needed leave their time on the counters
 * to the others.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/counting_int.h"
#include "cli/drill.h"
#include "cli/drill_latency.h"
#include "collect/sysfs.h"

#define MS	       1000000ull
#define TURN	       (4 * MS) /* the kernel's rotation, as long as nobody set another */
#define TICK_MIN       (5 * MS)
#define TICK_MAX       (50 * MS)
#define TICK_ALONE     (500 * MS) /* groups that need not share: there is nothing to extrapolate */
#define WINDOW	       (500 * MS)
#define SHORT	       (250 * MS) /* intervals: the reading of each is its only slice */
#define ERRORS_FROM    8	  /* short intervals, so many: how much neighbours differ */
#define CLOSE_AFTER    4
#define PATIENCE       3
#define DECISION_SHARE 50 /* deciding may take a 50th of the time */

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

static int add_part(struct drill *d, const struct counting *k, size_t core,
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
	p->core = core;
	p->target = target;
	p->label = place->label;
	if (d->n_cores > 1)
		p->label = place->label
				   ? arena_printf(d->a, "%s %s", place->label, d->core[core].pmu)
				   : d->core[core].pmu;
	/* tasks are one: the kernel has summed up what they started anyway */
	for (size_t g = 0; g < d->core[core].plan.n_groups; g++)
		if (d->core[core].plan.group[g].n > most)
			most = d->core[core].plan.group[g].n;
	p->r = arena_alloc(d->a, most * p->n * sizeof(*p->r));
	p->counted = arena_alloc(d->a, d->core[core].m->n_metrics + 1);
	p->sum = arena_alloc(d->a, (d->core[core].m->n_used + 1) * sizeof(*p->sum));
	if (!p->r || !p->counted || !p->sum)
		return err_nomem(err);
	for (size_t e = 0; e < d->core[core].m->n_used && lps_of(k, p) == 1; e++)
		p->sum[e] = NAN;
	d->n_parts++;
	return 0;
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
			if (add_part(d, k, c, &place[i], err))
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

static int make_room(struct drill *d, struct counting *k, struct err *err)
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

static int switch_group(struct drill *d, struct counting *k, struct drill_core *c, size_t group,
			bool on, struct err *err)
{
	struct drill_group *g = &c->group[group];

	(void)d;
	for (size_t i = 0; i < g->n_counter_groups; i++)
		if (counting_switch(k, g->counter_group[i], on && drill_in_use(g, i), err))
			return -1;
	g->fresh = true;
	return 0;
}

bool drill_wants(const struct drill *d, size_t core, size_t group)
{
	const struct drill_core *c = &d->core[core];

	if (d->mode == DRILL_EACH)
		return d->each_core == core && d->each_group == group;
	for (size_t s = 0; s < c->plan.n_stages; s++)
		for (size_t j = 0; c->stage_on[s] && j < c->plan.stage[s].n_groups; j++)
			if (c->plan.stage[s].group[j] == group)
				return true;
	return false;
}

/* A group counts while a stage that has it is open. */
static int apply_stages(struct drill *d, struct counting *k, struct err *err)
{
	for (size_t i = 0; i < d->n_cores; i++) {
		struct drill_core *c = &d->core[i];

		for (size_t g = 0; g < c->plan.n_groups; g++) {
			bool on = drill_wants(d, i, g);

			if (on == c->group[g].on)
				continue;
			if (switch_group(d, k, c, g, on, err))
				return -1;
			c->group[g].on = on;
			d->switched = k->now - k->start;
			d->switched_at = d->readings;
		}
	}
	return drill_latency_apply(d, k, err);
}

static bool counter_group_on(const struct counting *k, const struct drill_group *g)
{
	for (size_t i = 0; i < g->n_counter_groups; i++)
		if (k->on[g->counter_group[i]])
			return true;
	return false;
}

/* Fails where not one event counts. */
static int any_counts(const struct drill *d, const struct counting *k, struct err *err)
{
	size_t refused = 0, all = 0, outside = 0;
	int number = 0;

	for (size_t g = 0; g < d->setup.n_groups; g++)
		for (size_t e = 0; e < d->setup.group[g].n; e++, all++) {
			refused += counters_refused(k->c, g, e, &number) ? 1u : 0u;
			outside += d->setup.group[g].event[e].cpus ? 1u : 0u;
		}
	if (refused < all)
		return 0;
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
	if (!d->value && (make_room(d, k, err) || make_parts(d, k, err)))
		return -1;
	if (!d->n_parts)
		return err_set(err, ERR_UNSUPPORTED, "none of these CPUs has a PMU of a core");
	if ((!d->part->slices || d->mode != DRILL_EACH) && new_slices(d, k, err))
		return -1;
	for (size_t i = 0; i < d->n_cores; i++) {
		struct drill_core *c = &d->core[i];

		if (d->mode == DRILL_LIVE)
			memset(c->stage_on + 1, 0, c->plan.n_stages - 1);
		for (size_t s = 0; s < c->plan.n_stages; s++) {
			c->stage_idle[s] = c->stage_unsure[s] = 0;
			c->seen[s] = c->stage_on[s];
		}
		/* as counting has them at first */
		for (size_t g = 0; g < c->plan.n_groups; g++)
			c->group[g].on = counter_group_on(k, &c->group[g]);
	}
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

static int read_group(struct drill *d, struct counting *k, size_t core, size_t group, uint64_t t,
		      struct err *err)
{
	struct drill_group *g = &d->core[core].group[group];

	for (size_t i = 0; i < g->n_counter_groups; i++)
		if (counters_read(k->c, g->counter_group[i], d->value[g->counter_group[i]], err))
			return -1;
	if (drill_see_pin(d, k, g, err))
		return -1;
	for (size_t i = 0; i < d->n_parts; i++)
		if (d->part[i].core == core && feed_part(d, k, &d->part[i], group, t, err))
			return -1;
	return 0;
}

static int read_all(struct drill *d, struct counting *k, bool everything, struct err *err)
{
	uint64_t t = k->now - k->start;

	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++) {
			struct drill_group *dg = &d->core[c].group[g];
			bool mine =
				d->mode != DRILL_EACH || (d->each_core == c && d->each_group == g);

			if (mine && (everything || dg->on || dg->fresh) &&
			    read_group(d, k, c, g, t, err))
				return -1;
			dg->fresh = false;
		}
	d->readings++;
	return 0;
}

/* ---- decisions -------------------------------------------------------------------------- */

enum wish { NOT_WANTED, UNSURE, WANTED };

/* How much the stage under a node is wanted that tree_open() says may matter. A node without a
 * threshold has nothing that could make it surer. */
static enum wish wish_of(const struct drill_part *p, const struct model *m, uint32_t under)
{
	return p->tree.node[under].over || !m->metric[under].threshold ? WANTED : UNSURE;
}

/* Marks the stages that any part of a core wants open. */
static int wanted_stages(struct drill *d, const struct counting *k, uint64_t from, uint64_t to,
			 enum wish **want, struct err *err)
{
	struct arena a = ARENA_INIT;
	int rc = -1;

	if (drill_trees(d, k, &a, from, to, err))
		goto out;
	for (size_t i = 0; i < d->n_parts; i++) {
		const struct drill_core *c = &d->core[d->part[i].core];
		bool *open = arena_alloc(&a, c->m->n_metrics + 1);

		if (!open) {
			(void)err_nomem(err);
			goto out;
		}
		tree_open(&d->part[i].tree, open);
		for (size_t s = 1; s < c->plan.n_stages; s++) {
			enum wish *w = &want[d->part[i].core][s];
			uint32_t under = c->plan.stage[s].under;

			if (under != MODEL_NONE && open[under] && *w != WANTED)
				*w = wish_of(&d->part[i], c->m, under);
		}
	}
	rc = 0;
out:
	arena_free(&a);
	return rc;
}

static enum wish **alloc_want(struct drill *d, struct arena *a)
{
	enum wish **want = arena_alloc(a, (d->n_cores + 1) * sizeof(*want));

	for (size_t c = 0; want && c < d->n_cores; c++) {
		want[c] = arena_alloc(a, (d->core[c].plan.n_stages + 1) * sizeof(**want));
		if (!want[c])
			return NULL;
	}
	return want;
}

static void take_wish(struct drill_core *c, const enum wish *want)
{
	for (size_t s = 1; s < c->plan.n_stages; s++) {
		c->stage_idle[s] = want[s] ? 0 : c->stage_idle[s] + 1;
		c->stage_unsure[s] = want[s] == UNSURE ? c->stage_unsure[s] + 1 : 0;
		if (want[s] == WANTED || c->stage_unsure[s] >= PATIENCE)
			c->stage_on[s] = c->seen[s] = true;
		else if (c->stage_idle[s] >= CLOSE_AFTER)
			c->stage_on[s] = false;
	}
}

/* What was not counted before the last switch makes bars wide for no reason that still holds: once
 * there are slices enough for a bar, decisions look no further back than that. */
static uint64_t decide_from(const struct drill *d, uint64_t now)
{
	uint64_t from = now > WINDOW ? now - WINDOW : 0;

	if (d->readings - d->switched_at > SLICES_FEWEST && d->switched > from)
		from = d->switched;
	return from;
}

static int decide(struct drill *d, struct counting *k, struct err *err)
{
	uint64_t now = k->now - k->start, before = counting_clock();
	struct arena a = ARENA_INIT;
	enum wish **want = alloc_want(d, &a);
	int rc = -1;

	if (!want) {
		(void)err_nomem(err);
		goto out;
	}
	if (wanted_stages(d, k, decide_from(d, now), now, want, err))
		goto out;
	for (size_t c = 0; c < d->n_cores; c++)
		take_wish(&d->core[c], want[c]);
	rc = apply_stages(d, k, err);
	d->last_decision = now;
	d->decision_ns = counting_clock() - before;
out:
	arena_free(&a);
	return rc;
}

int drill_read(struct drill *d, struct counting *k, struct err *err)
{
	bool last = k->stopped || (k->has_program && k->work.ended);
	uint64_t now = k->now - k->start;

	if (read_all(d, k, last, err) || (!last && drill_latency_follow(d, k, err)))
		return -1;
	if (d->mode != DRILL_LIVE || last ||
	    (d->last_decision && now - d->last_decision < d->decision_ns * DECISION_SHARE))
		return 0;
	return decide(d, k, err);
}

/* Every stage counts all the time, and intervals are short: between their readings nothing is to be
 * found out that would be worth the way to the counters of every CPU. The first slices are cut
 * shorter, so that the first interval has an error bar. */
static bool intervals_will_do(const struct drill *d)
{
	return d->mode == DRILL_ALL && d->interval_ns && d->interval_ns <= SHORT &&
	       d->readings > SLICES_FEWEST;
}

uint64_t drill_tick(const struct drill *d)
{
	size_t most = 1;
	uint64_t turn, longest;

	if (intervals_will_do(d))
		return 0;

	for (size_t c = 0; c < d->n_cores; c++) {
		size_t n = 0;

		for (size_t g = 0; g < d->core[c].plan.n_groups; g++)
			n += drill_takes_turns(&d->core[c].group[g]) && d->core[c].group[g].on;
		most = n > most ? n : most;
	}
	/* a slice should hold every group's turn; slices grow with the run */
	turn = most * TURN + TURN / 2;
	turn = turn > TICK_MIN ? turn : TICK_MIN;
	longest = turn > TICK_MAX ? turn : TICK_MAX;
	if (d->mode == DRILL_ALL && d->readings && !d->shared)
		longest = TICK_ALONE;
	turn += turn * d->readings / 30;
	return turn < longest ? turn : longest;
}

/* ---- trees ------------------------------------------------------------------------------ */

/* What could have been measured: the metrics of the stages that were open at some time. */
static void mark_counted(const struct drill_core *c, bool *counted)
{
	memset(counted, 0, c->m->n_metrics);
	for (size_t s = 0; s < c->plan.n_stages; s++)
		for (size_t i = 0; c->seen[s] && i < c->plan.stage[s].n_metrics; i++)
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
		double sum = 0;

		for (size_t lp = 0; lp < c->n_lps; lp++)
			if (!isnan(row[lp]) || c->n_lps == 1)
				sum += row[lp];
		p->sum[e] = sum;
		p->idle &= !(sum > 0);
	}
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
	uint64_t since = errors_since(d, from, end);

	drill_latency_values(d, k, from);
	for (size_t i = 0; i < d->n_parts; i++) {
		struct drill_part *p = &d->part[i];
		struct drill_core *c = &d->core[p->core];

		memset(&p->counts, 0, sizeof(p->counts));
		if (slices_counts_since(p->slices, a, since, from, to, &p->counts, err))
			return -1;
		drill_times(c->system, d, seconds, lps_of(k, p));
		p->counts.system = c->system;
		p->counts.latency = c->latency;
		p->counts.latency_se = c->latency_se;
		mark_counted(c, p->counted);
		if ((!p->maker && tree_maker_new(&p->maker, c->m, c->plan.wanted, err)) ||
		    tree_make(&p->tree, p->maker, &p->counts, err))
			return -1;
		take_sums(p);
	}
	return 0;
}

/* ---- runs ------------------------------------------------------------------------------- */

/* The next group that an open stage has and that was not counted yet. */
static bool next_each(struct drill *d)
{
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t s = 0; s < d->core[c].plan.n_stages; s++)
			for (size_t j = 0;
			     d->core[c].stage_on[s] && j < d->core[c].plan.stage[s].n_groups; j++) {
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

/* Samplers would take turns with what counts: they have runs of their own. */
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

int drill_again(struct drill *d, const struct counting *k, bool *again, struct err *err)
{
	struct arena a = ARENA_INIT;
	enum wish **want = alloc_want(d, &a);
	int rc = -1;

	*again = false;
	if (!want) {
		(void)err_nomem(err);
		goto out;
	}
	rc = 0;
	if (d->mode == DRILL_EACH && next_each(d)) {
		*again = true;
		goto out;
	}
	if (d->mode != DRILL_EACH && d->mode != DRILL_RERUN)
		goto out;
	rc = wanted_stages(d, k, 0, UINT64_MAX, want, err);
	for (size_t c = 0; !rc && c < d->n_cores; c++)
		for (size_t s = 1; s < d->core[c].plan.n_stages; s++)
			if (want[c][s] && !d->core[c].stage_on[s]) {
				d->core[c].stage_on[s] = d->core[c].seen[s] = true;
				*again |= d->mode == DRILL_RERUN;
			}
	if (!rc && d->mode == DRILL_EACH)
		*again = next_each(d) || next_sampler(d);
out:
	arena_free(&a);
	return rc;
}
