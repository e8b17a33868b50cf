/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/trace_filter.h"
#include "measure/counting_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "collect/alive.h"

/* ---- from -e to groups ------------------------------------------------------------------ */

static void fill_event(struct counter_event *out, const struct event *ev, struct arena *a)
{
	*out = (struct counter_event){ .attr = ev->attr, .name = ev->name, .filter = ev->filter };
	out->with_leader = ev->topdown == TOPDOWN_METRIC;
	event_cpus(&out->cpus, &out->n_cpus, ev, a);
}

/* The leader of the group that each event is counted in. Software events without a group count
 * together: they always count, so a group changes none of them; but it is read at once on each CPU,
 * and the cost of a reading is that of reaching the CPU. */
static size_t *find_leaders(const struct counting_events *s, struct arena *a)
{
	size_t n = s->list.ev.n, first = n;
	size_t *leader = arena_alloc(a, (n + 1) * sizeof(*leader));
	bool *leads = arena_alloc(a, n + 1);

	if (!leader || !leads)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (s->list.ev.v[i].group != (int)i)
			leads[s->list.ev.v[i].group] = true;
	for (size_t i = 0; i < n; i++) {
		const struct event *ev = &s->list.ev.v[i];

		leader[i] = (size_t)ev->group;
		if (leader[i] != i || leads[i] || ev->attr.type != PERF_TYPE_SOFTWARE ||
		    ev->attr.pinned || ev->attr.exclusive || ev->cpus)
			continue;
		if (first == n)
			first = i;
		leader[i] = first;
	}
	return leader;
}

static int build_groups(struct counting_events *s, struct err *err)
{
	size_t n = s->list.ev.n, n_groups = 0, k = 0;
	struct arena *a = &s->list.arena;
	struct counter_event *ev = arena_alloc(a, (n + 1) * sizeof(*ev));
	struct counter_group *group = arena_alloc(a, (n + 1) * sizeof(*group));
	const size_t *leader = find_leaders(s, a);

	s->at = arena_alloc(a, (n + 1) * sizeof(*s->at));
	if (!ev || !group || !leader || !s->at)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct counter_group *g = &group[n_groups];

		if (leader[i] != i)
			continue;
		g->event = &ev[k];
		g->pinned = s->list.ev.v[i].attr.pinned;
		for (size_t j = i; j < n; j++) {
			if (leader[j] != i)
				continue;
			s->at[j] = (struct event_place){ n_groups, g->n++ };
			fill_event(&ev[k++], &s->list.ev.v[j], a);
		}
		n_groups++;
	}
	s->setup.group = group;
	s->setup.n_groups = n_groups;
	return 0;
}

static int list_shown(struct counting_events *s, struct err *err)
{
	uint32_t *shown = arena_alloc(&s->list.arena, (s->n_asked + 1) * sizeof(*shown));

	if (!shown)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_asked; i++)
		if (s->list.ev.v[i].box_of == (int)i)
			shown[s->n_shown++] = (uint32_t)i;
	s->shown = shown;
	return 0;
}

/* Looks up the missing events of the first PMU that lists its events. */
static void find_missing(struct counting_events *s, const struct counting *k)
{
	for (size_t i = 0; i < s->list.ev.n && !s->missing; i++) {
		const char *pmu = s->list.ev.v[i].pmu;

		if (!pmu || (s->missing_of && !strcmp(pmu, s->missing_of)))
			continue;
		s->missing_of = pmu;
		s->missing = alive_missing(&s->list.arena, k->root, pmu);
	}
}

int counting_events_parse(struct counting_events *s, const struct counting *k, struct err *err)
{
	const struct text_list *l = &k->opts->event;
	size_t *first;

	memset(s, 0, sizeof(*s));
	s->list.counts = true;
	s->list.more = event_more(&s->more, &k->opts->model);
	first = arena_alloc(&s->list.arena, (l->n + 1) * sizeof(*first));
	if (!first)
		return err_nomem(err);
	for (size_t i = 0; i < l->n; i++) {
		first[i] = s->list.ev.n;
		if (event_parse(&s->list, k->root, l->v[i], err))
			return -1;
	}
	first[l->n] = s->list.ev.n;
	if (trace_filters_set(&s->list, first, k->root, k->opts, err))
		return -1;
	if (event_topdown_check(&s->list, err))
		return -1;
	if (k->opts->no_merge)
		for (size_t i = 0; i < s->list.ev.n; i++) {
			s->list.ev.v[i].box_of = (int)i;
			s->list.ev.v[i].boxes = NULL;
		}
	find_missing(s, k);
	s->n_asked = s->list.ev.n;
	return counting_kinds_watch(s, k, err) || build_groups(s, err) || list_shown(s, err) ||
			       counting_kinds_find(s, k, err) ||
			       counting_places(k, &s->place, &s->n_places, err)
		       ? -1
		       : 0;
}

/* ---- values ----------------------------------------------------------------------------- */

static int make_values_room(struct counting_events *s, size_t targets, struct err *err)
{
	size_t n = s->setup.n_groups;

	s->targets = targets;
	s->now = calloc(n + 1, sizeof(*s->now));
	s->mark = calloc(n + 1, sizeof(*s->mark));
	if (!s->now || !s->mark)
		return err_nomem(err);
	for (size_t g = 0; g < n; g++) {
		s->now[g] = calloc(s->setup.group[g].n * targets, sizeof(**s->now));
		s->mark[g] = calloc(s->setup.group[g].n * targets, sizeof(**s->mark));
		if (!s->now[g] || !s->mark[g])
			return err_nomem(err);
	}
	return 0;
}

int counting_events_take(struct counting_events *s, struct counting *k, struct err *err)
{
	for (size_t g = 0; g < s->setup.n_groups; g++)
		if (counters_read(k->c, g, s->now[g], err))
			return -1;
	return 0;
}

static int read_events(void *ctx, struct counting *k, struct err *err)
{
	return counting_events_take(ctx, k, err);
}

int counting_events_start(struct counting_events *s, struct counting *k, struct err *err)
{
	const struct counting_reader reader = { .read = read_events, .ctx = s };

	if (counting_prepare(k, &s->setup, &reader, err) ||
	    (!s->now && make_values_room(s, k->c ? counters_targets(k->c) : 1, err)))
		return -1;
	counting_events_mark(s, true);
	return 0;
}

void counting_events_mark(struct counting_events *s, bool clear)
{
	for (size_t g = 0; g < s->setup.n_groups; g++) {
		size_t bytes = s->setup.group[g].n * s->targets * sizeof(**s->now);

		if (clear)
			memset(s->mark[g], 0, bytes);
		else
			memcpy(s->mark[g], s->now[g], bytes);
	}
}

struct sum {
	double value, scaled, enabled, running;
	double elsewhere;		      /* ns that a hybrid's task was on other cores */
	size_t present, refused, blind;	      /* blind: wanted to count there, never did */
	size_t boxes, refused_boxes, targets; /* targets: on which it counts */
	bool gone;
};

/* One event on all targets of a place, added to the sum. */
static void add_target_sums(struct sum *to, const struct counting_events *s, size_t event,
			    const struct counting_place *p)
{
	const struct event_place at = s->at[event];
	struct sum sum = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		size_t cell = at.index * s->targets + p->target[i];
		const struct counter_value *now = &s->now[at.group][cell];
		const struct counter_value *mark = &s->mark[at.group][cell];
		double value = (double)(now->value - mark->value);
		double all = (double)(now->enabled - mark->enabled), enabled;
		double running = (double)(now->running - mark->running);

		enabled = counting_kinds_wanted(s, event, p->target[i], all, true);
		sum.refused += now->refused;
		sum.gone |= now->gone;
		if (now->absent)
			continue;
		sum.present++;
		sum.value += value;
		sum.enabled += enabled;
		sum.elsewhere += all - enabled;
		sum.running += running;
		sum.blind += enabled > 0 && running <= 0 ? 1 : 0;
		if (running > 0)
			sum.scaled += value * (enabled / running);
	}
	/* if one was never counted, the others have to stand for it */
	if (sum.blind && sum.running > 0)
		sum.scaled = sum.value * (sum.enabled / sum.running);
	to->value += sum.value;
	to->scaled += sum.scaled;
	to->enabled += sum.enabled;
	to->elsewhere += sum.elsewhere;
	to->running += sum.running;
	to->present += sum.present;
	to->refused_boxes += sum.refused ? 1 : 0;
	to->boxes++;
	to->targets = sum.present > to->targets ? sum.present : to->targets;
	to->gone |= sum.gone;
}

static struct sum sum_up_place(const struct counting_events *s, size_t event,
			       const struct counting_place *p)
{
	struct sum sum = { 0 };

	for (size_t i = event; i < s->list.ev.n; i++)
		if (s->list.ev.v[i].box_of == (int)event)
			add_target_sums(&sum, s, i, p);
	sum.refused = sum.refused_boxes == sum.boxes;
	return sum;
}

static double tool_value(const struct counting *k, enum event_tool tool, double seconds)
{
	bool over = k->work.ended || k->result.wall_s > 0;

	if (tool == TOOL_DURATION)
		return seconds * 1e9;
	if (!k->has_program || !over)
		return NAN;
	return (tool == TOOL_USER ? k->result.user_s : k->result.sys_s) * 1e9;
}

/* Why reads are empty. */
#define GONE(k) ((k)->setup->cpus ? "its CPU went offline" : "its counter went away")

static const char *why_not(const struct counting_events *s, const struct counting *k, size_t event,
			   const struct sum *sum)
{
	const struct event_place at = s->at[event];

	if (sum->refused)
		return counters_refused(k->c, at.group, at.index, NULL);
	if (!sum->present)
		return "it counts on other CPUs than these";
	if (sum->gone)
		return GONE(k);
	if (sum->enabled <= 0)
		return "counting had not begun";
	if (s->setup.group[at.group].pinned)
		return "pinned, and no counter was free";
	if (s->kind[event])
		return "no counter was free, or nothing ran on its kind of core";
	return "never on a counter: they were taken all the time";
}

static bool is_clock_row(const struct event *ev)
{
	return ev->attr.type == PERF_TYPE_SOFTWARE && (ev->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						       ev->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Switches and moves are the kernel's doing, and of some events the kernel's are all that is asked
 * for: with the kernel left out they count 0, whatever happened. */
static bool is_blind(const struct counting *k, const struct event *ev)
{
	bool switches = ev->attr.type == PERF_TYPE_SOFTWARE &&
			(ev->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
			 ev->attr.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
			 ev->attr.config == PERF_COUNT_SW_CGROUP_SWITCHES);

	return (switches || ev->attr.exclude_user || k->opts->kernel_only) &&
	       (ev->attr.exclude_kernel || k->opts->user_only ||
		(k->c && counters_without_kernel(k->c)));
}

/* The kernel counts 0 for codes that this CPU does not have. */
static bool is_missing(const struct counting_events *s, const struct event *ev,
		       const struct sum *sum)
{
	uint32_t type = ev->attr.type;

	return sum->value == 0 && sum->running > 0 && type != PERF_TYPE_HARDWARE &&
	       type != PERF_TYPE_HW_CACHE && type != PERF_TYPE_SOFTWARE && ev->pmu &&
	       s->missing_of && !strcmp(ev->pmu, s->missing_of) && ev->attr.config < 64 &&
	       s->missing >> ev->attr.config & 1;
}

static struct counts_row counts_row_of(const struct counting_events *s, const struct counting *k,
				       struct arena *a, size_t event,
				       const struct counting_place *p, double seconds)
{
	const struct event *ev = &s->list.ev.v[event];
	struct sum sum = sum_up_place(s, event, p);
	struct counts_row r = { .where = p->label,
				.n_cpus = ev->cpus && sum.targets && sum.targets < p->n_cpus
						  ? sum.targets
						  : p->n_cpus,
				.event = ev->boxes ? ev->boxes : ev->name,
				.unit = ev->unit	   ? ev->unit
					: is_clock_row(ev) ? "ns"
							   : "",
				.value = NAN,
				.counted = NAN,
				.error = NAN,
				.stddev = NAN,
				.supported = !sum.refused };

	if (ev->tool) {
		r.unit = "ns";
		r.value = tool_value(k, ev->tool, seconds);
		r.why = isnan(r.value) ? "of a program that has ended only" : NULL;
		r.whole = true;
		r.value = floor(r.value + 0.5);
	} else if (!sum.refused && is_blind(k, ev)) {
		r.why = "it happens in the kernel, which is left out";
	} else if (!sum.refused && !sum.gone && sum.present && sum.enabled <= 0 && k->began &&
		   !k->who.whole_cpus) {
		/* a task's events happen while it runs, and it did not */
		r.value = 0;
		r.whole = true;
		r.note = sum.elsewhere > 0 ? "nothing ran on its kind of core" : "it did not run";
	} else if (sum.refused || !sum.present || sum.running <= 0) {
		r.why = why_not(s, k, event, &sum);
	} else if (is_missing(s, ev, &sum)) {
		r.why = "this CPU does not implement it (its PMU's events in sysfs lack it)";
		r.supported = false;
	} else {
		r.value = sum.scaled * ev->scale;
		r.counted = sum.running / sum.enabled;
		if (r.counted > 1 - 1e-12) /* sums of shares round */
			r.counted = 1;
		r.whole = r.counted >= 1 && ev->scale == 1;
		if (r.whole)
			r.value = sum.value;
	}
	if (sum.refused_boxes && !sum.refused && !isnan(r.value))
		r.note = arena_printf(a, "%zu of %zu boxes", sum.boxes - sum.refused_boxes,
				      sum.boxes);
	else if (sum.gone && !isnan(r.value))
		r.note = k->setup->cpus ? "until its CPU went offline" : NULL;
	assert(is_share_or_unknown(r.counted));
	assert(!isnan(r.value) || r.why || !r.supported); /* no value without a reason */
	r.runs = isnan(r.value) ? 0u : 1u;
	return r;
}

int counting_events_rows(const struct counting_events *s, const struct counting *k, struct arena *a,
			 double seconds, struct counts_row **out, size_t *n, struct err *err)
{
	size_t events = s->n_shown;
	struct counts_row *row = arena_alloc(a, (s->n_places * events + 1) * sizeof(*row));

	if (!row)
		return err_nomem(err);
	for (size_t p = 0; p < s->n_places; p++)
		for (size_t e = 0; e < events; e++)
			row[p * events + e] =
				counts_row_of(s, k, a, s->shown[e], &s->place[p], seconds);
	*out = row;
	*n = s->n_places * events;
	return 0;
}

/* ---- notes ------------------------------------------------------------------------------ */

static bool took_turns(const struct counting_events *s, size_t g, size_t target)
{
	size_t event = 0;

	while (s->at[event].group != g || s->at[event].index)
		event++;
	return event < s->n_asked && counting_kinds_turns(s, event, target);
}

static size_t multiplexed(const struct counting_events *s)
{
	size_t n = 0;

	for (size_t g = 0; g < s->setup.n_groups; g++)
		for (size_t t = 0; t < s->targets; t++)
			if (s->now[g][t].running && took_turns(s, g, t)) {
				n++;
				break;
			}
	return n;
}

static bool any_target_gone(const struct counting_events *s)
{
	for (size_t g = 0; g < s->setup.n_groups; g++)
		for (size_t t = 0; t < s->targets; t++)
			if (s->now[g][t].gone && !s->setup.group[g].pinned)
				return true;
	return false;
}

int counting_events_notes(const struct counting_events *s, const struct counting *k,
			  struct arena *a, const char *const **out, size_t *n, struct err *err)
{
	const char **note = arena_alloc(a, (s->setup.n_groups + 5) * sizeof(*note));
	size_t groups = multiplexed(s);

	*n = 0;
	if (!note)
		return err_nomem(err);
	for (size_t g = 0; g < s->setup.n_groups; g++)
		if (counters_split(k->c, g) > 1)
			note[(*n)++] = arena_printf(
				a,
				"the group of %.60s was too big for the counters: it was "
				"counted in %zu pieces, not at the same times",
				s->setup.group[g].event[0].name, counters_split(k->c, g));
	if (groups && counting_kinds_blind(s, k))
		note[(*n)++] = arena_printf(
			a,
			"%zu group%s took turns on the counters, or the tasks were on another kind "
			"of core, where no counter was free: values are extrapolated",
			groups, groups == 1 ? "" : "s");
	else if (groups)
		note[(*n)++] = arena_printf(a,
					    "%zu group%s took turns on the counters: values are "
					    "extrapolated from the time shown",
					    groups, groups == 1 ? "" : "s");
	if (any_target_gone(s))
		note[(*n)++] = k->setup->cpus
				       ? "a CPU went offline meanwhile: it is counted until then"
				       : "a counter went away meanwhile: it is counted until then";
	if (s->cut_short)
		note[(*n)++] = "the run that was interrupted is not among them";
	if (counters_without_kernel(k->c))
		note[(*n)++] = "user space only: the kernel may not be counted here "
			       "(perf_event_paranoid; `cyclade doctor`)";
	for (size_t i = 0; i < *n; i++)
		if (!note[i])
			return err_nomem(err);
	*out = note;
	return 0;
}

void counting_events_free(struct counting_events *s)
{
	for (size_t g = 0; s->now && s->mark && g < s->setup.n_groups; g++) {
		free(s->now[g]);
		free(s->mark[g]);
	}
	free(s->now);
	free(s->mark);
	event_list_free(&s->list);
	event_more_free(&s->more);
}
