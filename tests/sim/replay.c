/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay - the drill-down's decisions and its figures over programs whose truth is known, without a
 * kernel and without waiting: 4 s of a program take some milliseconds.
 *
 *	replay MACHINE.tab TREE MODEL drill|oracle|all LEVEL RUNS SET [SET...]
 *	replay MACHINE.tab TREE MODEL phases LEVEL RUNS SEED PROGRAM MS [PROGRAM MS...]
 *	replay MACHINE.tab TREE MODEL truth PROGRAM MS [PROGRAM MS...]
 *
 * Each run is a sequence of phases, LEAST to MOST ms long, each of which is one of two to four
 * programs of the machine; `phases` names them, and opens as `drill` does. Groups of counters take
 * turns as the drill-down lets them (model/rounds.h). `drill` opens and closes
 * stages as `stat` does, `all` is -l LEVEL. `oracle` opens by what was true until a reading, on all
 * levels at once: nobody can sooner. A run is the same program whatever the mode. A SET is SEED
 * LENGTH_MS LEAST_MS MOST_MS; RUNS are done for each. Lines, tab-separated:
 *
 *	set NUMBER	the runs that follow are of this SET: 0 is the first
 *	node RUN LEVEL NAME ON_TRUE_PATH VALUE ERROR COUNTED TRUTH MARKED OVER
 *	sum RUN NODE EXCESS	children of one node, that divide it, are more than it
 *	leaf RUN NAME DEPTH FOUND	the end of the true path; FOUND: it is marked or over
 *	truth PATH VALUE	of the phases that are named: no counter is asked
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/event.h"
#include "context.h"
#include "machine.h"
#include "model/plan.h"
#include "model/rounds.h"
#include "model/slices.h"
#include "model/stages.h"
#include "model/tree.h"
#include "model/tree_whole.h"

#define MS	 1000000.0
#define PHASES	 512
#define PROGRAMS 4
#define VISITS	 1 /* seed of the moments of visits */
#define SET	 4 /* words: SEED LENGTH LEAST MOST */

struct counted { /* an event of the model */
	bool asked, known;
	struct sim_event sim;
	const struct sim_pmu *pmu;
	double truth, value;
};

struct replay {
	struct sim_machine machine;
	const char *tree_dir;
	struct model *m;
	struct arena a;
	double system[SYSTEM_COUNT];
	struct plan plan;
	struct counted *event; /* by event of the model */
	double *latency;
	bool drill, oracle;
	struct tree_maker *maker, *true_maker;
	struct tree_whole *whole;
	struct stages stages;
	/* a run */
	uint64_t random;
	double phase_end[PHASES];
	uint32_t phase_program[PHASES];
	size_t n_phases;
	double length, least,
		most; /* ns: of the run; of a phase that is drawn, 0: they are named */
	struct slices *slices;
	bool *on, *fresh, *running; /* by group of the plan */
	enum slices_state *state;
	double *enabled_ns, *running_ns, *value; /* value: [group * per + event of it] */
	size_t per;
	struct schedule_limits limits;
	struct rounds rounds; /* seeded as stages are */
	bool *wants_turn;
	double now;
	size_t phase;
	uint64_t readings, switched_at;
	double switched;
};

static double draw(struct replay *r)
{
	uint64_t z = (r->random += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static int fail(const struct err *err)
{
	fprintf(stderr, "%s\n%s\n", err->what, err->hint);
	return -1;
}

/* ---- the machine ------------------------------------------------------------------------ */

static double number_in(const struct replay *r, const char *path)
{
	char name[512];
	double v = NAN;
	FILE *f;

	(void)snprintf(name, sizeof(name), "%s/%s", r->tree_dir, path);
	f = fopen(name, "r");
	if (f && fscanf(f, "%lf", &v) != 1)
		v = strtod("nan", NULL);
	if (f)
		(void)fclose(f);
	return v;
}

static const char *core_pmu(const struct replay *r)
{
	return r->machine.pmu[0].name;
}

static double slots_cap(const struct replay *r)
{
	char path[256];
	double v;

	(void)snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/caps/slots",
		       core_pmu(r));
	v = number_in(r, path);
	if (!isnan(v)) {
		FILE *f;
		char name[768];
		unsigned hex = 0;

		(void)snprintf(name, sizeof(name), "%s/%s", r->tree_dir, path);
		f = fopen(name, "r");
		if (f && fscanf(f, "%x", &hex) == 1)
			v = hex;
		if (f)
			(void)fclose(f);
	}
	return v;
}

static void take_event(struct replay *r, uint32_t e)
{
	const struct model_event *me = &r->m->event[e];
	struct event_list list = EVENT_LIST_INIT;
	const char *pmu = *me->pmu ? me->pmu : core_pmu(r), *text;
	struct counted *c = &r->event[e];
	uint64_t own;
	bool unknown;

	if (c->asked) /* in another group */
		return;
	c->asked = true;
	list.counts = true;
	text = arena_printf(&r->a, "%s/%s/%s", pmu, me->code, me->modifiers ? me->modifiers : "");
	r->latency[e] = NAN;
	if (*me->code && text && !event_parse(&list, r->tree_dir, text, NULL) && list.ev.n) {
		const struct perf_event_attr *a = &list.ev.v[0].attr;

		c->pmu = sim_machine_pmu(&r->machine, a->type, a->config, &own, &unknown);
		if (c->pmu)
			c->known = sim_machine_event(&r->machine, c->pmu, own, a->config1, &c->sim);
		if (c->known && c->sim.latency > 0)
			r->latency[e] = c->sim.latency;
	}
	event_list_free(&list);
}

static int open_machine(struct replay *r, const char *model, unsigned level, struct err *err)
{
	struct model_sources none = { .n_dirs = 0 };
	struct schedule_machine at = { 0 };
	struct plan_wish w = { .level = level,
			       .all = !r->drill,
			       .thresholds = true,
			       .pin = true,
			       .system = r->system };

	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		r->system[i] = NAN;
	r->system[SYSTEM_SMT_ON] = 0;
	r->system[SYSTEM_CORE_WIDE] = 0;
	r->system[SYSTEM_THREADS_PER_CORE] = 1;
	r->system[SYSTEM_CPUS] = r->system[SYSTEM_CPUS_ONLINE] = r->system[SYSTEM_CORES] = 2;
	r->system[SYSTEM_DIES] = r->system[SYSTEM_PACKAGES] = 1;
	r->system[SYSTEM_TSC_FREQ] = 2.4e9;
	r->system[SYSTEM_SLOTS] = slots_cap(r);
	r->system[SYSTEM_HAS_PMEM] = 0;
	if (model_load(&r->m, &none, model, r->system, err))
		return -1;
	schedule_limits_of(&r->limits, r->m, &at);
	if (plan_make(&r->plan, &r->a, r->m, &r->limits, &w, err) ||
	    rounds_new(&r->rounds, &r->a, &r->plan, VISITS, err))
		return -1;
	r->event = calloc(r->m->n_events + 1, sizeof(*r->event));
	r->latency = calloc(r->m->n_events + 1, sizeof(*r->latency));
	if (!r->event || !r->latency)
		return err_nomem(err);
	for (size_t g = 0; g < r->plan.n_groups; g++) {
		r->per = r->plan.group[g].n > r->per ? r->plan.group[g].n : r->per;
		for (size_t i = 0; i < r->plan.group[g].n; i++)
			take_event(r, r->plan.group[g].event[i]);
	}
	r->on = calloc(r->plan.n_groups + 1, 1);
	r->state = calloc(r->plan.n_groups + 1, sizeof(*r->state));
	r->fresh = calloc(r->plan.n_groups + 1, 1);
	r->running = calloc(r->plan.n_groups + 1, 1);
	r->enabled_ns = calloc(r->plan.n_groups + 1, sizeof(double));
	r->running_ns = calloc(r->plan.n_groups + 1, sizeof(double));
	r->value = calloc(r->plan.n_groups * r->per + 1, sizeof(double));
	r->wants_turn = calloc(r->plan.n_groups + 1, sizeof(*r->wants_turn));
	if (!r->on || !r->state || !r->fresh || !r->running || !r->enabled_ns || !r->running_ns ||
	    !r->value || !r->wants_turn)
		return err_nomem(err);
	return tree_maker_new(&r->maker, r->m, r->plan.wanted, err) ||
			       tree_whole_new(&r->whole, r->m, &r->plan, err) ||
			       tree_maker_new(&r->true_maker, r->m, r->plan.wanted, err)
		       ? -1
		       : 0;
}

/* ---- the kernel ------------------------------------------------------------------------- */

static bool put_on(const struct replay *r, size_t group, const struct sim_event **on, size_t *n)
{
	const struct plan_group *g = &r->plan.group[group];
	size_t before = *n;

	for (size_t i = 0; i < g->n && *n < 60; i++)
		if (r->event[g->event[i]].known && r->event[g->event[i]].pmu == r->machine.pmu)
			on[(*n)++] = &r->event[g->event[i]].sim;
	if (sim_fit(r->machine.pmu, on, *n, false, 0))
		return true;
	*n = before;
	return false;
}

static bool takes_turns(const struct replay *r, size_t g)
{
	return r->plan.group[g].core && !r->plan.group[g].pinned;
}

static void who_is_on(struct replay *r)
{
	const struct sim_event *on[64];
	size_t n = 0;

	for (size_t g = 0; g < r->plan.n_groups; g++) {
		bool now = r->on[g] && (!takes_turns(r, g) || rounds_on(&r->rounds, g));

		r->running[g] = now && (!r->plan.group[g].core || put_on(r, g, on, &n));
	}
}

static void begin_round(struct replay *r)
{
	for (size_t g = 0; g < r->plan.n_groups; g++)
		r->wants_turn[g] = r->on[g] && takes_turns(r, g);
	rounds_begin(&r->rounds, &r->plan, r->m, &r->limits, r->wants_turn);
	who_is_on(r);
}

static void set_group(struct replay *r, size_t g, bool on)
{
	if (r->on[g] == on)
		return;
	r->on[g] = on;
	r->fresh[g] = true;
}

static void pass(struct replay *r, double dt)
{
	uint32_t program = r->phase_program[r->phase];

	for (uint32_t e = 0; e < r->m->n_events; e++)
		if (r->event[e].known)
			r->event[e].truth += r->event[e].sim.rate[program] * dt;
	for (size_t g = 0; g < r->plan.n_groups; g++) {
		const struct plan_group *pg = &r->plan.group[g];

		if (r->on[g])
			r->enabled_ns[g] += dt;
		if (!r->running[g])
			continue;
		r->running_ns[g] += dt;
		for (size_t i = 0; i < pg->n; i++)
			r->value[g * r->per + i] += r->event[pg->event[i]].sim.rate[program] * dt;
	}
	r->now += dt;
}

static void run_until(struct replay *r, double t)
{
	while (r->now < t) {
		double end = t;

		while (r->phase + 1 < r->n_phases && r->phase_end[r->phase] <= r->now)
			r->phase++;
		if (r->phase_end[r->phase] > r->now && r->phase_end[r->phase] < end)
			end = r->phase_end[r->phase];
		pass(r, end - r->now);
		r->now = r->now < end ? end : r->now;
	}
}

/* ---- a run ------------------------------------------------------------------------------ */

static void draw_phases(struct replay *r)
{
	uint32_t program[PROGRAMS];
	size_t n = 2 + (size_t)(draw(r) * (PROGRAMS - 1)), last = n;
	double at = 0;

	for (size_t i = 0; i < n; i++)
		program[i] = (uint32_t)(draw(r) * r->machine.n_programs);
	r->n_phases = 0;
	while (at < r->length && r->n_phases < PHASES) {
		size_t next = (size_t)(draw(r) * (double)n);

		next = next == last ? (next + 1) % n : next;
		last = next;
		at += r->least + draw(r) * (r->most - r->least);
		r->phase_program[r->n_phases] = program[next];
		r->phase_end[r->n_phases++] = at;
	}
	r->phase_end[r->n_phases - 1] = INFINITY;
}

static int new_slices(struct replay *r, struct err *err)
{
	struct slices_group *g = calloc(r->plan.n_groups + 1, sizeof(*g));
	struct slices_setup s = {
		.group = g, .n_groups = r->plan.n_groups, .n_events = r->m->n_used, .n_targets = 1
	};
	int rc;

	if (!g)
		return err_nomem(err);
	for (size_t i = 0; i < r->plan.n_groups; i++)
		g[i] = (struct slices_group){ r->plan.group[i].event, r->plan.group[i].n, NULL };
	slices_free(r->slices);
	r->slices = NULL;
	rc = slices_new(&r->slices, &s, err);
	free(g);
	return rc;
}

static int read_groups(struct replay *r, bool everything, struct err *err)
{
	struct slices_reading in[256];

	for (size_t g = 0; g < r->plan.n_groups; g++) {
		const struct plan_group *pg = &r->plan.group[g];

		if (!everything && !r->on[g] && !r->fresh[g])
			continue;
		r->fresh[g] = false;
		for (size_t i = 0; i < pg->n; i++)
			in[i] = (struct slices_reading){
				.value = (uint64_t)r->value[g * r->per + i],
				.enabled = (uint64_t)r->enabled_ns[g],
				.running = (uint64_t)r->running_ns[g],
				.missing = !r->event[pg->event[i]].known,
			};
		if (slices_add(r->slices, g, (uint64_t)r->now, in, err))
			return -1;
	}
	r->readings++;
	return 0;
}

static int measured_tree(struct replay *r, struct arena *a, uint64_t from, uint64_t to,
			 struct tree *t, struct err *err)
{
	struct tree_counts c = { 0 };

	r->system[SYSTEM_DURATION] = ((double)to - (double)from) / 1e9;
	r->system[SYSTEM_TSC] = r->system[SYSTEM_TSC_FREQ] * r->system[SYSTEM_DURATION];
	if (slices_counts(r->slices, a, from, to, &c, err))
		return -1;
	c.system = r->system;
	c.latency = r->latency;
	return tree_make(t, r->maker, &c, err);
}

static int whole_tree(struct replay *r, struct arena *a, struct tree *t, struct err *err)
{
	const struct tree_whole_ask ask = { a, 0, 0, (uint64_t)r->length };
	struct tree_counts c = { .system = r->system, .latency = r->latency };

	r->system[SYSTEM_DURATION] = r->length / 1e9;
	r->system[SYSTEM_TSC] = r->system[SYSTEM_TSC_FREQ] * r->system[SYSTEM_DURATION];
	return tree_whole_make(t, r->whole, r->slices, &ask, &c, err);
}

static int true_tree(struct replay *r, struct tree *t, struct err *err)
{
	static const uint32_t first[1] = { 0 };
	double *count = calloc(r->m->n_used + 1, sizeof(*count));
	struct tree_counts c = { .count = count,
				 .n_lps = 1,
				 .first = first,
				 .latency = r->latency,
				 .system = r->system };
	int rc;

	if (!count)
		return err_nomem(err);
	for (uint32_t e = 0; e < r->m->n_used; e++)
		count[e] = r->event[e].known ? r->event[e].truth : (double)NAN;
	rc = tree_make(t, r->true_maker, &c, err);
	free(count);
	return rc;
}

static int apply(struct replay *r, struct err *err)
{
	for (size_t g = 0; g < r->plan.n_groups; g++) {
		enum slices_state to = stages_group(&r->stages, g);

		if (slices_switch(r->slices, g, (uint64_t)r->now, to, err))
			return -1;
		if ((to == SLICES_ON) != (r->state[g] == SLICES_ON)) {
			r->switched = r->now;
			r->switched_at = r->readings;
		}
		r->state[g] = to;
		set_group(r, g, to != SLICES_OFF);
	}
	return 0;
}

static int decide(struct replay *r, struct err *err)
{
	struct arena a = ARENA_INIT;
	uint64_t now = (uint64_t)r->now;
	uint64_t from;
	struct tree t;
	int rc;

	stages_end_visit(&r->stages);
	from = stages_look_from(now, (uint64_t)r->switched, r->readings - r->switched_at);
	rc = r->oracle ? true_tree(r, &t, err) : measured_tree(r, &a, from, now, &t, err);

	if (!rc) {
		stages_ask(&r->stages, &t);
		stages_decide(&r->stages, now);
		rc = apply(r, err);
	}
	arena_free(&a);
	return rc;
}

/* The time of a round's turn. */
static double turn_length(struct replay *r)
{
	size_t n = r->rounds.n ? r->rounds.n : 1;
	double length;

	if (r->oracle && !r->readings) /* sooner a reading costs too much of the time */
		return MS / (double)n;
	length = (double)(r->stages.visiting ? stages_visit_slice(n)
					     : stages_slice(n, r->readings, STAGES_SLICE_MAX));
	if (n > 1)
		length = (double)rounds_length(&r->rounds.chance, (uint64_t)length / n);
	/* nobody wakes up in time */
	return length * (1 + 0.02 * draw(r));
}

static int run(struct replay *r, struct err *err)
{
	begin_round(r);
	while (r->now < r->length) {
		run_until(r, fmin(r->now + turn_length(r), r->length));
		if (r->now < r->length && rounds_next(&r->rounds)) {
			who_is_on(r);
			continue;
		}
		if (read_groups(r, !(r->now < r->length), err) ||
		    (r->drill && r->now < r->length && decide(r, err)))
			return -1;
		begin_round(r);
	}
	return 0;
}

static int begin(struct replay *r, struct err *err)
{
	memset(r->on, 0, r->plan.n_groups);
	memset(r->fresh, 0, r->plan.n_groups);
	memset(r->enabled_ns, 0, r->plan.n_groups * sizeof(double));
	memset(r->running_ns, 0, r->plan.n_groups * sizeof(double));
	memset(r->value, 0, r->plan.n_groups * r->per * sizeof(double));
	for (uint32_t e = 0; e < r->m->n_events; e++)
		r->event[e].truth = 0;
	r->phase = 0;
	r->now = r->switched = 0;
	r->readings = r->switched_at = 0;
	memset(r->state, 0, r->plan.n_groups * sizeof(*r->state));
	stages_begin(&r->stages, false);
	if (new_slices(r, err) || apply(r, err))
		return -1;
	memset(r->fresh, 0, r->plan.n_groups);
	return 0;
}

/* ---- against the truth ------------------------------------------------------------------ */

static void compare(const struct replay *r, const struct tree *t, const struct tree *truth,
		    unsigned number)
{
	uint32_t leaf = MODEL_NONE;

	for (uint32_t i = 0; i < r->m->n_metrics; i++) {
		const struct tree_node *x = &t->node[i], *y = &truth->node[i];
		const struct model_metric *m = &r->m->metric[i];

		if (!m->level || !r->plan.wanted[i] || y->value.why != VALUE_OK || y->doubt)
			continue;
		if (y->path && (leaf == MODEL_NONE || m->level > r->m->metric[leaf].level))
			leaf = i;
		if (x->value.why != VALUE_OK)
			continue;
		printf("node\t%u\t%u\t%s\t%d\t%.6f\t%.6f\t%.4f\t%.6f\t%d\t%d\n", number, m->level,
		       m->name, y->path, x->shown, x->error, x->counted, y->shown, x->path,
		       x->over);
	}
	for (uint32_t p = 0; p < r->m->n_metrics; p++) {
		double sum = 0;

		if (!(t->node[p].shown >= 0) || r->m->metric[p].domain != DOMAIN_SLOTS)
			continue;
		for (uint32_t i = 0; i < r->m->n_metrics; i++)
			if (r->m->metric[i].parent == p && r->m->metric[i].level &&
			    r->m->metric[i].domain == DOMAIN_SLOTS && !r->m->metric[i].overlap &&
			    t->node[i].shown > 0)
				sum += t->node[i].shown;
		if (sum > t->node[p].shown + TREE_SLACK)
			printf("sum\t%u\t%s\t%.6f\n", number, r->m->metric[p].name,
			       sum - t->node[p].shown);
	}
	if (leaf != MODEL_NONE)
		printf("leaf\t%u\t%s\t%u\t%d\n", number, r->m->metric[leaf].name,
		       r->m->metric[leaf].level, t->node[leaf].path || t->node[leaf].over);
}

static int one(struct replay *r, unsigned number, uint64_t seed, struct err *err)
{
	struct arena a = ARENA_INIT;
	struct tree t, truth;
	int rc;

	r->random = seed * 1000003 + number;
	if (r->most > 0)
		draw_phases(r);
	rc = begin(r, err) || run(r, err) || whole_tree(r, &a, &t, err) || true_tree(r, &truth, err)
		     ? -1
		     : 0;
	if (!rc)
		compare(r, &t, &truth, number);
	arena_free(&a);
	return rc;
}

/* Phases that are named: programs and their lengths, one after the other. */
static int take_phases(struct replay *r, char **word, struct err *err)
{
	for (; word[0] && word[1] && r->n_phases < PHASES; word += 2) {
		int program = sim_machine_program(&r->machine, word[0]);

		if (program < 0)
			return err_set(err, ERR_USAGE, "no program %s", word[0]);
		r->length += strtod(word[1], NULL) * MS;
		r->phase_program[r->n_phases] = (uint32_t)program;
		r->phase_end[r->n_phases++] = r->length;
	}
	return r->n_phases ? 0 : err_set(err, ERR_USAGE, "no phase");
}

static int tell_truth(struct replay *r, struct err *err)
{
	struct tree t;

	run_until(r, r->length);
	if (true_tree(r, &t, err))
		return -1;
	for (uint32_t i = 0; i < r->m->n_metrics; i++)
		if (r->m->metric[i].level && r->plan.wanted[i] && t.node[i].value.why == VALUE_OK &&
		    !t.node[i].doubt)
			printf("truth\t%s\t%.6f\n", r->m->metric[i].path, t.node[i].shown);
	return 0;
}

static int runs_of(struct replay *r, unsigned runs, const char *seed, struct err *err)
{
	for (unsigned i = 0; i < runs; i++)
		if (one(r, i, strtoull(seed, NULL, 10), err))
			return -1;
	return 0;
}

/* After MODEL: what to do, and its words. */
static int work(struct replay *r, int argc, char **argv, struct err *err)
{
	bool truth = !strcmp(argv[0], "truth"), named = truth || !strcmp(argv[0], "phases");
	unsigned runs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int rc = 0;

	if (named && take_phases(r, argv + (truth ? 1 : 4), err))
		return -1;
	if (truth)
		return tell_truth(r, err);
	if (named)
		return runs_of(r, runs, argv[3], err);
	for (int i = 0; !rc && 3 + SET * (i + 1) <= argc; i++) {
		char **word = argv + 3 + SET * i;

		r->length = strtod(word[1], NULL) * MS;
		r->least = strtod(word[2], NULL) * MS;
		r->most = strtod(word[3], NULL) * MS;
		printf("set\t%d\n", i);
		r->stages.random = r->rounds.chance = VISITS;
		rc = runs_of(r, runs, word[0], err);
	}
	return rc;
}

static bool is_usage(int argc, char **argv)
{
	if (argc < 7)
		return true;
	if (!strcmp(argv[4], "truth"))
		return false;
	return strcmp(argv[4], "phases") ? argc < 11 || (argc - 7) % SET : argc < 10;
}

int main(int argc, char **argv)
{
	static struct replay r;
	struct err err = ERR_INIT;
	unsigned level;

	if (is_usage(argc, argv))
		return 2;
	if (sim_machine_load(&r.machine, argv[1]))
		return 1;
	sim_machine_finish(&r.machine, false, 0);
	r.tree_dir = argv[2];
	r.drill = !!strcmp(argv[4], "all");
	r.oracle = !strcmp(argv[4], "oracle");
	level = strcmp(argv[4], "truth") ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
	if (open_machine(&r, argv[3], level, &err) ||
	    stages_new(&r.stages, &r.a, r.m, &r.plan, VISITS, &err) ||
	    work(&r, argc - 4, argv + 4, &err))
		return fail(&err) ? 1 : 0;
	return 0;
}
