/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings of perf stat: the tree, or the events if no model knows them, of all of it, by
 * interval (-I) and by place (--per). The machine's facts come from the recording's header, or
 * --sysroot.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/counting/stat_import.h"
#include "measure/counting_per.h"
#include "perfdata/stat_data.h"

#define CELLS_MAX  (1u << 22)  /* events times places */
#define NOWHERE	   "/dev/null" /* a root with nothing below: no fact of this machine is taken */
#define NO_PLACE   UINT32_MAX
#define INDEX_NONE SIZE_MAX

struct sum { /* of an event in a place */
	double value, scaled, enabled, running;
	size_t present, blind; /* blind: wanted to count there, never did */
};

struct place {
	const char *label;
	size_t n_cpus; /* 0: not of CPUs */
};

struct data {
	struct import *im;
	struct pd *rec;
	struct stat_data s;
	const struct pd_event *event;
	size_t n_events;
	struct place *place;
	size_t n_places;
	uint32_t *place_of; /* by CPU, or by thread */
	size_t n_place_of;
	bool by_thread;
	size_t *core_of; /* by event: of import.core, INDEX_NONE: of none */
	/* By event: the event of this name whose PMU is another box of the same unit. */
	uint32_t *first;
	struct import_known *known; /* by event: of that core's model */
	const char *no_model;	    /* why there is no tree */
	struct stat_cell *at;	    /* room for the cells of a span */
	struct sum *sum;	    /* [place * n_events + event] */
};

/* ---- the machine, by the header --------------------------------------------------------- */

static int cpu_by_id(struct machine *m, struct arena *a, const char *id)
{
	struct model_cpu cpu = { .vendor = NULL };

	if (model_cpu_id(&cpu, a, id))
		return -1;
	m->cpuid = id;
	m->vendor = cpu.vendor;
	m->family = cpu.family;
	m->model = cpu.model;
	m->stepping = cpu.stepping;
	return 0;
}

static int cpus_by_header(struct machine *m, struct arena *a, const struct pd_info *i)
{
	size_t n = i->n_cpu_place;
	struct machine_cpu *cpu = arena_alloc(a, (n + 1) * sizeof(*cpu));
	uint32_t *online = arena_alloc(a, (n + 1) * sizeof(*online));

	if (!cpu || !online)
		return -1;
	m->cpu = cpu;
	m->online = online;
	m->cpus_available = (uint32_t)n;
	for (uint32_t c = 0; c < n; c++) {
		const struct pd_cpu_place *p = &i->cpu_place[c];

		cpu[c] = (struct machine_cpu){ p->core, p->socket, p->die < 0 ? 0 : p->die };
		if (p->socket >= 0)
			online[m->cpus_online++] = c;
	}
	return 0;
}

static int machine_by_header(struct machine *m, struct arena *a, const struct pd_info *i)
{
	struct machine_node *node = arena_alloc(a, (i->n_nodes + 1) * sizeof(*node));

	memset(m, 0, sizeof(*m));
	m->cpu_desc = i->cpu_desc;
	m->arch = i->arch;
	if (!node || cpu_by_id(m, a, i->cpuid) || cpus_by_header(m, a, i))
		return -1;
	for (size_t n = 0; n < i->n_nodes; n++)
		node[n] = (struct machine_node){ .id = i->nodes[n].id, .cpus = i->nodes[n].cpus };
	m->node = node;
	m->n_nodes = i->n_nodes;
	return 0;
}

/* ---- which model, and which events are its ---------------------------------------------- */

static const char *pmu_of(const struct data *d, const struct pd_event *ev)
{
	const struct pd_info *i = pd_info(d->rec);
	uint32_t type = ev->attr.type;

	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		type = (uint32_t)(ev->attr.config >> 32);
	return pd_pmu_name(i, type);
}

static bool is_imported_core_pmu(const struct pd_info *i, const char *pmu)
{
	for (size_t n = 0; n < i->n_hybrid; n++)
		if (!strcmp(i->hybrid_name[n], pmu))
			return true;
	return false;
}

/* The kinds of cores that the recording has events of; with --model the one whose model that is. */
static int choose_models(struct data *d, struct err *err)
{
	struct import *im = d->im;
	const struct pd_info *i = pd_info(d->rec);
	const char *wanted = im->cli->opt.model;
	struct model_sources src = cli_model_sources(im->cli);
	size_t n = i->n_hybrid ? i->n_hybrid : 1;

	for (size_t k = 0; k < n && im->n_cores < IMPORT_CORES; k++) {
		struct import_core *c = &im->core[im->n_cores];
		struct model_cpu cpu;
		const char *id, *named = NULL;

		c->pmu = i->n_hybrid ? i->hybrid_name[k] : NULL;
		cpu = model_choice_cpu(&im->k.machine, c->pmu);
		if (wanted && model_named(&named, im->a, &src, wanted, c->pmu, err))
			return -1;
		if (wanted && !i->n_hybrid)
			id = named;
		else if (model_select(&id, im->a, &src, &cpu, err))
			return -1;
		if (wanted && strcmp(named, id) != 0)
			continue;
		if (model_load(&c->m, &src, id, im->system, err))
			return -1;
		im->n_cores++;
	}
	if (im->n_cores)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "%s: no cores of it have the model %s",
		      im->cli->opt.import, wanted ? wanted : "?");
	return err_hint(err, "leave out --model: the recording says which CPU it was");
}

/* A unit outside the cores has boxes, each a PMU: perf opens an event on each and gives them one
 * name. The n-th of a name on one PMU belongs to the n-th on another. */
static int find_boxes(struct data *d, struct err *err)
{
	bool apart = d->no_model && d->im->cli->opt.measure.no_merge;
	struct u64map nth = U64MAP_INIT, first = U64MAP_INIT;
	int rc = -1;

	for (uint32_t e = 0; e < d->n_events; e++) {
		uint64_t name = hash_bytes(d->event[e].name, strlen(d->event[e].name));
		uint64_t *n = u64map_at(&nth, hash_pair(name, d->event[e].attr.type), NULL), *at;
		bool fresh;

		if (!n)
			goto out;
		at = u64map_at(&first, hash_pair(name, (*n)++), &fresh);
		if (!at)
			goto out;
		if (fresh)
			*at = e;
		/* kinds of cores are no boxes */
		d->first[e] = apart || d->core_of[*at] != d->core_of[e] ? e : (uint32_t)*at;
	}
	rc = 0;
out:
	u64map_free(&nth);
	u64map_free(&first);
	return rc ? err_nomem(err) : 0;
}

/* To which kind of cores each event belongs. True if one of them is an event of a model's that does
 * not count anywhere. */
static bool match_events(struct data *d)
{
	const struct import *im = d->im;
	const struct pd_info *i = pd_info(d->rec);
	bool any = false;

	for (size_t e = 0; e < d->n_events; e++) {
		const char *pmu = pmu_of(d, &d->event[e]);

		d->core_of[e] = INDEX_NONE;
		d->known[e] = (struct import_known){ .event = MODEL_NONE, .own = MODEL_NONE };
		for (size_t c = 0; c < im->n_cores; c++) {
			struct import_known known;

			if (im->core[c].pmu && is_imported_core_pmu(i, pmu) &&
			    strcmp(im->core[c].pmu, pmu) != 0)
				continue;
			d->core_of[e] = c;
			known = import_event(im->core[c].m, d->event[e].name);
			d->known[e] = known;
			any |= known.event != MODEL_NONE &&
			       !(im->core[c].m->event[known.event].flags & EVENT_SOFTWARE);
		}
	}
	return any;
}

/* The model that was asked for has to be there; the one that the header's CPU would have need
 * not. */
static int find_models(struct data *d, struct err *err)
{
	struct import *im = d->im;
	struct err why = ERR_INIT;
	bool tree = false;
	unsigned slots = 0;

	for (size_t e = 0; e < d->n_events; e++)
		slots |= import_slots_by(d->event[e].name);
	import_slots(im, slots);
	if (choose_models(d, &why)) {
		if (im->cli->opt.model || why.code == ERR_NOMEM)
			return err_set(err, why.code, "%s", why.what) |
			       err_hint(err, "%s", why.hint);
		d->no_model = arena_strdup(im->a, why.what);
	}
	tree = match_events(d);
	if (tree)
		return 0;
	if (im->n_cores)
		d->no_model = arena_printf(im->a, "none of the events are of the model %s: no tree",
					   im->core[0].m->id);
	return d->no_model ? 0 : err_nomem(err);
}

/* ---- places ----------------------------------------------------------------------------- */

static int by_place_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The CPUs that were counted. */
static int find_cpus(struct data *d, struct err *err)
{
	struct targets *who = &d->im->k.who;
	struct u64map seen = U64MAP_INIT;
	int rc = -1;

	for (size_t i = 0; i < d->s.n_cells; i++) {
		int32_t cpu = d->s.cell[i].cpu;
		bool fresh = false;

		if (cpu < 0)
			continue;
		if (!u64map_at(&seen, (uint64_t)cpu, &fresh) ||
		    (fresh && vec_push(&who->cpus, (uint32_t)cpu))) {
			(void)err_nomem(err);
			goto out;
		}
	}
	vec_sort(&who->cpus, by_place_number);
	who->whole_cpus = d->s.cpus;
	rc = 0;
out:
	u64map_free(&seen);
	return rc;
}

static int thread_places(struct data *d, struct err *err)
{
	struct import *im = d->im;

	if (!d->s.n_threads || d->s.thread[0].pid < 0) {
		(void)err_set(err, ERR_UNSUPPORTED, "%s was not recorded by thread",
			      im->cli->opt.import);
		return err_hint(err, "perf stat record --per-thread tells threads apart");
	}
	d->by_thread = true;
	d->n_places = d->n_place_of = d->s.n_threads;
	d->place = arena_alloc(im->a, (d->n_places + 1) * sizeof(*d->place));
	d->place_of = arena_alloc(im->a, (d->n_place_of + 1) * sizeof(*d->place_of));
	if (!d->place || !d->place_of)
		return err_nomem(err);
	for (uint32_t t = 0; t < d->n_places; t++) {
		d->place_of[t] = t;
		d->place[t].label =
			arena_printf(im->a, "%s-%d", d->s.thread[t].comm, (int)d->s.thread[t].pid);
		if (!d->place[t].label)
			return err_nomem(err);
	}
	return 0;
}

static int cpu_places(struct data *d, struct err *err)
{
	struct import *im = d->im;
	const struct targets *who = &im->k.who;
	const struct counting_place *p;
	uint32_t most = who->cpus.n ? *vec_last(&who->cpus) : 0;

	if (counting_places(&im->k, &p, &d->n_places, err))
		return -1;
	d->n_place_of = (size_t)most + 1;
	d->place = arena_alloc(im->a, (d->n_places + 1) * sizeof(*d->place));
	d->place_of = arena_alloc(im->a, d->n_place_of * sizeof(*d->place_of));
	if (!d->place || !d->place_of)
		return err_nomem(err);
	for (uint32_t i = 0; i < d->n_places; i++) {
		d->place[i] = (struct place){ p[i].label, p[i].n_cpus };
		for (size_t t = 0; t < p[i].n; t++)
			d->place_of[who->cpus.v[p[i].target[t]]] = i;
	}
	return 0;
}

static int find_data_places(struct data *d, struct err *err)
{
	struct import *im = d->im;
	const char *per = im->cli->opt.measure.per;

	if (!per) {
		d->place = arena_alloc(im->a, sizeof(*d->place));
		d->n_places = 1;
		return d->place ? 0 : err_nomem(err);
	}
	if (!strcmp(per, "thread"))
		return thread_places(d, err);
	if (!d->s.cpus) {
		(void)err_set(err, ERR_UNSUPPORTED, "%s was not recorded by CPU",
			      im->cli->opt.import);
		return err_hint(err, "perf stat record -a counts whole CPUs");
	}
	if (!strcmp(per, "cgroup"))
		return err_set(err, ERR_UNSUPPORTED, "recordings' counts do not tell cgroups");
	if (!strcmp(per, "cluster") && !im->cli->opt.sysroot) {
		(void)err_set(err, ERR_UNSUPPORTED, "recordings do not tell clusters of cores");
		return err_hint(err, "--per core; or --sysroot DIR, a capture of that machine");
	}
	return cpu_places(d, err);
}

static uint32_t place_of_cell(const struct data *d, const struct stat_cell *c)
{
	size_t i = d->by_thread ? c->thread : c->cpu < 0 ? INDEX_NONE : (size_t)c->cpu;

	if (!d->place_of)
		return 0;
	return i < d->n_place_of ? d->place_of[i] : NO_PLACE;
}

/* ---- a span of time --------------------------------------------------------------------- */

static int by_counter(const void *a, const void *b)
{
	const struct stat_cell *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static void add_counter(struct data *d, const struct stat_cell *c)
{
	uint32_t place = place_of_cell(d, c);
	struct sum *s;

	if (place == NO_PLACE)
		return;
	s = &d->sum[(size_t)place * d->n_events + c->event];
	s->present++;
	s->value += (double)c->value;
	s->enabled += (double)c->enabled;
	s->running += (double)c->running;
	s->blind += c->enabled && !c->running;
	if (c->running)
		s->scaled += (double)c->value * ((double)c->enabled / (double)c->running);
}

static void merge_places(struct sum *to, const struct sum *from)
{
	to->value += from->value;
	to->scaled += from->scaled;
	to->enabled += from->enabled;
	to->running += from->running;
	to->present += from->present;
}

/* Sums of the rounds [from, to). A counter is extrapolated over all of the span. */
static void sum_span(struct data *d, size_t from, size_t to)
{
	size_t first = d->s.round[from].first, n = 0;
	size_t end = d->s.round[to - 1].first + d->s.round[to - 1].n;

	memset(d->sum, 0, d->n_places * d->n_events * sizeof(*d->sum));
	memcpy(d->at, &d->s.cell[first], (end - first) * sizeof(*d->at));
	if (end - first > 1)
		qsort(d->at, end - first, sizeof(*d->at), by_counter);
	for (size_t i = 0; i < end - first; i++) {
		struct stat_cell *c = &d->at[i];

		if (n && !by_counter(&d->at[n - 1], c)) {
			d->at[n - 1].value += c->value;
			d->at[n - 1].enabled += c->enabled;
			d->at[n - 1].running += c->running;
		} else {
			d->at[n++] = *c;
		}
	}
	for (size_t i = 0; i < n; i++)
		add_counter(d, &d->at[i]);
	for (size_t i = 0; i < d->n_places * d->n_events; i++)
		if (d->sum[i].blind && d->sum[i].running > 0) /* the others stand for it */
			d->sum[i].scaled =
				d->sum[i].value * (d->sum[i].enabled / d->sum[i].running);
	for (size_t i = 0; i < d->n_places * d->n_events; i++) {
		size_t event = i % d->n_events;

		if (d->first[event] != event)
			merge_places(&d->sum[i - event + d->first[event]], &d->sum[i]);
	}
}

/* When the last round ended is not always written: then it is the longest time that a counter was
 * enabled. */
static double span_end(const struct data *d, size_t round)
{
	const struct stat_round *r = &d->s.round[round];
	uint64_t most = 0;

	for (size_t i = r->first; r->untold && i < r->first + r->n; i++)
		most = d->s.cell[i].enabled > most ? d->s.cell[i].enabled : most;
	return (double)r->time / 1e9 + (double)most / 1e9;
}

/* ---- as a tree -------------------------------------------------------------------------- */

static bool is_imported_clock(const struct pd_event *ev)
{
	return ev->attr.type == PERF_TYPE_SOFTWARE && (ev->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						       ev->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

static int fill_data_set(const struct data *d, struct import_set *set, size_t place, size_t core,
			 double seconds, struct err *err)
{
	struct counted_event *ev = arena_alloc(&d->im->once, (d->n_events + 1) * sizeof(*ev));
	struct import_known *known = arena_alloc(&d->im->once, (d->n_events + 1) * sizeof(*known));

	if (!ev || !known)
		return err_nomem(err);
	*set = (struct import_set){ .label = d->place[place].label,
				    .core = core,
				    .seconds = seconds,
				    .known = known,
				    .first = !core };
	set->sums.event = ev;
	set->lps = d->place[place].n_cpus;
	if (!set->lps)
		set->lps = d->s.cpus && !d->by_thread ? d->im->k.who.cpus.n : 1;
	for (size_t e = 0; e < d->n_events; e++) {
		const struct sum *s = &d->sum[place * d->n_events + e];

		if (d->core_of[e] != core || d->first[e] != e || s->running <= 0)
			continue;
		known[set->sums.n] = d->known[e];
		ev[set->sums.n++] = (struct counted_event){
			.name = d->event[e].name,
			.pmu = "",
			.unit = is_imported_clock(&d->event[e]) ? "ns"
				: d->event[e].unit		? d->event[e].unit
								: "",
			.noise = NAN,
			.pieces = 1,
			.value = (d->s.unscaled ? s->value : s->scaled) *
				 (is_imported_clock(&d->event[e]) ? 1 : d->event[e].scale),
			.counted = s->running >= s->enabled ? 1 : s->running / s->enabled,
		};
	}
	return 0;
}

static int print_trees(struct data *d, double time, double seconds, const char *const *notes,
		       size_t n_notes, struct err *err)
{
	struct import *im = d->im;
	struct import_set *set =
		arena_alloc(&im->once, (d->n_places * im->n_cores + 1) * sizeof(*set));
	struct count_head head;
	size_t n = 0;

	if (!set)
		return err_nomem(err);
	for (size_t p = 0; p < d->n_places; p++)
		for (size_t c = 0; c < im->n_cores; c++) {
			if (fill_data_set(d, &set[n], p, c, seconds, err))
				return -1;
			/* cores of a kind on which nothing was counted have no tree */
			n += set[n].sums.n || im->n_cores == 1;
		}
	head = import_head(im, time, seconds);
	head.notes = notes;
	head.n_notes = n_notes;
	return import_trees(im, set, n, &head, err);
}

/* ---- as events -------------------------------------------------------------------------- */

static struct counts_row imported_row_of(const struct data *d, size_t place, size_t event)
{
	const struct pd_event *ev = &d->event[event];
	const struct sum *s = &d->sum[place * d->n_events + event];
	double scale = is_imported_clock(ev) ? 1 : ev->scale;
	struct counts_row r = { .where = d->place[place].label,
				.n_cpus = d->place[place].n_cpus,
				.event = ev->name,
				.unit = is_imported_clock(ev) ? "ns"
					: ev->unit	      ? ev->unit
							      : "",
				.value = NAN,
				.counted = NAN,
				.error = NAN,
				.stddev = NAN,
				.supported = true };

	if (!s->present) {
		r.why = "no count of it was recorded";
	} else if (s->running <= 0) {
		r.why = s->enabled > 0 ? "never on a counter: they were taken all the time"
				       : "it was never enabled: refused, or nothing ran";
	} else {
		r.whole = s->running >= s->enabled && scale == 1;
		r.value = r.whole || d->s.unscaled ? s->value * scale : s->scaled * scale;
		r.counted = s->running >= s->enabled ? 1 : s->running / s->enabled;
		r.runs = 1;
	}
	return r;
}

static struct counts_kind kind_of_imported(const struct data *d, size_t event)
{
	const struct perf_event_attr *attr = &d->event[event].attr;

	return (struct counts_kind){ .type = attr->type,
				     .config = attr->config,
				     .levels = (attr->exclude_user ? 1u : 0u) |
					       (attr->exclude_kernel ? 2u : 0u) };
}

static int print_events(struct data *d, double time, double seconds, const char *const *notes,
			size_t n_notes, struct err *err)
{
	struct import *im = d->im;
	struct counts c = { .head = import_head(im, time, seconds) };
	struct counts_row *row =
		arena_alloc(&im->once, (d->n_places * d->n_events + 1) * sizeof(*row));
	struct counts_kind *kind = arena_alloc(&im->once, (d->n_events + 1) * sizeof(*kind));

	if (!row || !kind)
		return err_nomem(err);
	for (size_t p = 0; p < d->n_places; p++) {
		size_t before = c.n;

		for (size_t e = 0; e < d->n_events; e++)
			if (d->first[e] == e) {
				kind[c.n - before] = kind_of_imported(d, e);
				row[c.n++] = imported_row_of(d, p, e);
			}
		counts_rows_mean(&row[before], kind, c.n - before, &im->once, seconds);
	}
	c.row = row;
	c.head.notes = notes;
	c.head.n_notes = n_notes;
	return import_put_events(d->im, &c, isnan(time), err);
}

/* ---- all of it -------------------------------------------------------------------------- */

static int data_notes_of(struct data *d, const char **note, size_t *n, struct err *err)
{
	struct arena *a = d->im->a;
	size_t made = 0;

	if (d->no_model)
		note[made++] = d->no_model;
	if (d->s.unscaled)
		note[made++] = "recorded with --no-scale: nothing is extrapolated";
	if (d->s.strange)
		note[made++] =
			arena_printf(a, "%llu counts of unknown events or places are left out",
				     (unsigned long long)d->s.strange);
	if (d->s.backwards)
		note[made++] = arena_printf(a,
					    "%llu counts fell from one round to the next, and "
					    "are left out",
					    (unsigned long long)d->s.backwards);
	for (size_t i = 0; i < made; i++)
		if (!note[i])
			return err_nomem(err);
	*n = made;
	return 0;
}

static int print_data_span(struct data *d, size_t from, size_t to, double time, double seconds,
			   const char *const *notes, size_t n_notes, struct err *err)
{
	int rc;

	sum_span(d, from, to);
	rc = d->no_model ? print_events(d, time, seconds, notes, n_notes, err)
			 : print_trees(d, time, seconds, notes, n_notes, err);
	arena_free(&d->im->once);
	return rc;
}

/* Rounds joined to pieces of the interval that was asked for; the last is as long as it is. */
static int print_data_intervals(struct data *d, const char *const *notes, size_t n_notes,
				struct err *err)
{
	double least = (double)d->im->cli->opt.measure.interval / 1e9 * 0.98, began = 0;
	struct counts c = { .head = import_head(d->im, NAN, 0) };
	struct tree_report r = { 0 };
	size_t from = 0;

	for (size_t i = 0; i < d->s.n_rounds; i++) {
		double now = span_end(d, i);

		if (now - began < least && i + 1 < d->s.n_rounds)
			continue;
		if (print_data_span(d, from, i + 1, now, now - began, NULL, 0, err))
			return -1;
		from = i + 1;
		began = now;
	}
	c.head.seconds = began;
	c.head.notes = notes;
	c.head.n_notes = n_notes;
	c.head.end = true;
	if (d->no_model)
		return import_put_events(d->im, &c, true, err);
	r.head = c.head;
	return import_report(d->im, &r, err);
}

static int places_room(struct data *d, struct err *err)
{
	size_t cells = d->n_places * d->n_events;

	if (cells > CELLS_MAX)
		return err_set(err, ERR_LIMIT, "%s: %zu events in %zu places are too many",
			       d->im->cli->opt.import, d->n_events, d->n_places);
	d->sum = arena_alloc(d->im->a, (cells + 1) * sizeof(*d->sum));
	d->at = arena_alloc(d->im->a, (d->s.n_cells + 1) * sizeof(*d->at));
	return d->sum && d->at ? 0 : err_nomem(err);
}

static int read_all_counts(struct data *d, struct err *err)
{
	struct import *im = d->im;

	if (pd_open(&d->rec, im->cli->opt.import, err) || stat_data_read(&d->s, im->a, d->rec, err))
		return -1;
	d->event = pd_events(d->rec, &d->n_events);
	d->core_of = arena_alloc(im->a, (d->n_events + 1) * sizeof(*d->core_of));
	d->known = arena_alloc(im->a, (d->n_events + 1) * sizeof(*d->known));
	d->first = arena_alloc(im->a, (d->n_events + 1) * sizeof(*d->first));
	if (!d->core_of || !d->known || !d->first)
		return err_nomem(err);
	if (!im->has_machine) {
		if (machine_by_header(&im->k.machine, im->a, pd_info(d->rec)))
			return err_nomem(err);
		im->k.root = NOWHERE;
		im->has_machine = true;
	}
	if (find_cpus(d, err))
		return -1;
	import_facts(im);
	return find_models(d, err) || find_boxes(d, err) || find_data_places(d, err) ||
			       places_room(d, err)
		       ? -1
		       : 0;
}

static int print_all(struct data *d, struct err *err)
{
	const char *note[8];
	size_t n = 0;

	if (data_notes_of(d, note, &n, err) ||
	    counting_out_open(&d->im->out, d->im->cli,
			      d->no_model ? &counts_document : &tree_document, err))
		return -1;
	if (d->im->cli->opt.measure.interval)
		return print_data_intervals(d, note, n, err);
	return print_data_span(d, 0, d->s.n_rounds, NAN, span_end(d, d->s.n_rounds - 1), note, n,
			       err);
}

int import_recording(struct import *im, struct err *err)
{
	struct data d = { .im = im };
	int rc = -1;

	if (read_all_counts(&d, err))
		goto out;
	if (im->cli->opt.measure.interval && !d.s.interval_ms) {
		(void)err_set(err, ERR_USAGE, "%s was recorded without intervals",
			      im->cli->opt.import);
		(void)err_hint(err, "perf stat record -I 1000 has them");
		goto out;
	}
	rc = print_all(&d, err);
out:
	vec_free(&im->k.who.cpus);
	pd_close(d.rec);
	return rc;
}
