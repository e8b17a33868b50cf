/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts beside the values of imported counts: the machine, from options or from the counts, and
 * which privilege levels were counted.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "cli/counting/stat_import.h"
#include "plan/plan.h"

/* ---- the machine ------------------------------------------------------------------------ */

void import_facts(struct import *im)
{
	const struct options *o = &im->cli->opt;

	for (int i = 0; i < SYSTEM_COUNT; i++)
		im->system[i] = NAN;
	if (im->has_machine) {
		const struct plan_scope scope = counting_scope(&im->k);

		plan_facts(im->system, &scope);
	} else {
		im->system[SYSTEM_CORE_WIDE] = o->measure.all ? 1 : 0;
	}
	if (o->smt)
		im->system[SYSTEM_SMT_ON] = !strcmp(o->smt, "on");
	if (im->system[SYSTEM_SMT_ON] == 0) {
		im->system[SYSTEM_THREADS_PER_CORE] = 1;
		im->system[SYSTEM_CORE_WIDE] = 1;
	}
	if (o->measure.all)
		im->system[SYSTEM_CORE_WIDE] = 1;
	im->no_pmem = !o->pmem && !o->sysroot;
	if (o->pmem || im->no_pmem)
		im->system[SYSTEM_HAS_PMEM] = o->pmem && !strcmp(o->pmem, "on") ? 1 : 0;
}

enum { SLOTS_GENERAL = 1, SLOTS_FIXED = 2 };

unsigned import_slots_by(const char *event)
{
	const char *slash = strchr(event, '/'), *name = slash ? slash + 1 : event;

	if (strcasestr(name, "TOPDOWN.SLOTS_P"))
		return SLOTS_GENERAL;
	/* the kernel's names: slots, topdown-retiring, ... */
	return strcasestr(name, "TOPDOWN.SLOTS") || strcasestr(name, "PERF_METRICS") ||
			       strcasestr(name, "topdown-") ||
			       (!strncasecmp(name, "slots", 5) &&
				(!name[5] || strchr(":/,", name[5])))
		       ? SLOTS_FIXED
		       : 0;
}

void import_slots(struct import *im, unsigned by)
{
	if (by == SLOTS_GENERAL)
		im->system[SYSTEM_NO_SLOTS] = 1;
}

bool import_asks_pmem(const struct model *m)
{
	for (size_t i = 0; i < m->n_metrics; i++)
		if (m->metric[i].text && strstr(m->metric[i].text, "#has_pmem"))
			return true;
	return false;
}

/* `part` is less than `whole` only while another thread of the core is active, too. If they are
 * the same and `alone` is set, no other thread was: the formulas with SMT and without it give
 * the same. */
static const struct pair {
	const char *part, *whole;
	bool alone;
} pairs[] = {
	{ "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", "CPU_CLK_UNHALTED.REF_XCLK", true },
	{ "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", "CPU_CLK_UNHALTED.REF_DISTRIBUTED", true },
	{ "CPU_CLK_UNHALTED.DISTRIBUTED", "CPU_CLK_UNHALTED.THREAD", true },
	{ "CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.THREAD_ANY", false },
};

#define SAME	   0.005 /* of counts that differ only by the start of reading */
#define LESS	   0.02	 /* more than that */
#define LESS_TURNS 0.1	 /* of counts that took turns */

/* By counts: 1, 0, or NAN, and the pair that shows it. */
static double smt_by_counts(const struct model *m, const double *count, const double *share,
			    const struct pair **by)
{
	*by = NULL;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const struct pair *p = &pairs[i];
		uint32_t part = model_event_find(m, p->part, strlen(p->part));
		uint32_t whole = model_event_find(m, p->whole, strlen(p->whole));
		double less;

		if (part == MODEL_NONE || whole == MODEL_NONE || !(count[whole] > 0) ||
		    isnan(count[part]))
			continue;
		less = 1 - count[part] / count[whole];
		if (less > (fmin(share[part], share[whole]) < 0.99 ? LESS_TURNS : LESS)) {
			*by = p;
			return 1;
		}
		if (p->alone && fabs(less) < SAME)
			*by = p;
	}
	return *by ? 0 : NAN;
}

struct needed {
	bool *metric, *event;
};

static int need_fact(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct needed *n = ctx;

	if (kind == EXPR_METRIC)
		n->metric[index] = true;
	if (kind == EXPR_EVENT)
		n->event[index] = true;
	return 0;
}

/* The events that the tree asks for, by event. NULL: no memory. */
static const bool *events_with(const struct model *m, double smt, struct arena *a)
{
	struct needed n = { arena_alloc(a, m->n_metrics + 1), arena_alloc(a, m->n_events + 1) };
	double system[SYSTEM_COUNT];

	if (!n.metric || !n.event)
		return NULL;
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = smt;
	for (size_t i = m->n_metrics; i-- > 0;) /* each needs only those before it */
		if (m->metric[i].expr && (m->metric[i].level || n.metric[i]))
			(void)expr_needs(m->metric[i].expr, system, need_fact, &n);
	return n.event;
}

/* By the events that were chosen: formulas with SMT ask for others than those without. */
static double smt_by_events(const struct model *m, const double *count, const bool *with,
			    const bool *without)
{
	bool on = false, off = false;

	for (size_t e = 0; e < m->n_used; e++) {
		on |= !isnan(count[e]) && with[e] && !without[e];
		off |= !isnan(count[e]) && without[e] && !with[e];
	}
	return on == off ? NAN : on;
}

int import_smt(struct import_smt *out, struct arena *a, const struct model *m, const double *count,
	       const double *share, struct err *err)
{
	const struct pair *by;
	const bool *with = events_with(m, 1, a), *without = events_with(m, 0, a);
	double events;

	if (!with || !without)
		return err_nomem(err);
	*out = (struct import_smt){ .on = smt_by_counts(m, count, share, &by) };
	events = smt_by_events(m, count, with, without);
	if (out->on == 1) {
		out->why =
			arena_printf(a, "SMT was on: %s counted less than %s", by->part, by->whole);
	} else if (!isnan(events)) {
		out->on = events;
		out->why = events > 0 ? "SMT was on, by the events that were counted"
				      : "SMT was off, by the events that were counted";
	} else if (by) {
		out->why = arena_printf(a, "evaluated as without SMT: %s counted as much as %s",
					by->part, by->whole);
	}
	return isnan(out->on) || out->why ? 0 : err_nomem(err);
}

/* ---- privilege levels ------------------------------------------------------------------- */

const char *import_levels_text(unsigned levels)
{
	switch (levels) {
	case 0:
		return "all privilege levels";
	case IMPORT_USER:
		return "user space alone (:u)";
	case IMPORT_KERNEL:
		return "the kernel alone (:k)";
	case IMPORT_HYPERVISOR:
		return "the hypervisor alone (:h)";
	default:
		return levels & IMPORT_GUEST ? "guests (:G)" : "some privilege levels";
	}
}

int import_levels(struct import *im, const struct import_set *set, size_t n, struct err *err)
{
	const struct options *o = &im->cli->opt;
	const char *other = NULL, *first = NULL;
	bool all = false, wanted = false, any = false;
	unsigned said = o->measure.user_only ? IMPORT_USER : IMPORT_KERNEL, found = 0;

	if (im->levels_known)
		return 0;
	for (size_t s = 0; s < n; s++)
		for (size_t i = 0; i < set[s].sums.n; i++) {
			const struct import_known k = set[s].known[i];

			if (k.event == MODEL_NONE ||
			    im->core[set[s].core].m->event[k.event].flags & EVENT_SOFTWARE)
				continue;
			all |= !k.levels;
			wanted |= k.levels == said;
			if (k.levels && any && k.levels != found)
				other = set[s].sums.event[i].name;
			if (k.levels && !any)
				first = set[s].sums.event[i].name;
			found = k.levels && !any ? k.levels : found;
			any |= k.levels != 0;
		}
	if (o->measure.user_only || o->measure.kernel_only) {
		if (!wanted) {
			(void)err_set(err, ERR_USAGE, "%s: no event counted %s", o->import,
				      import_levels_text(said));
			return err_hint(err, "without --user and --kernel it takes what is there");
		}
		im->levels = said;
	} else if (!all && other) {
		(void)err_set(err, ERR_USAGE,
			      "%s: its events counted different privilege levels: %.60s, %.60s",
			      o->import, first, other);
		return err_hint(err, "--user takes those of user space, --kernel the kernel's");
	} else {
		im->levels = all ? 0 : found;
	}
	/* an interval in which nothing counted does not decide */
	im->levels_known = all || any;
	return 0;
}
