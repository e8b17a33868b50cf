/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of a tree that was counted: the CPU and its model, formulas for --why, doubts, and
 * next commands.
 */
#include <math.h>
#include <string.h>

#include "analyse/again.h"
#include "base/num.h"
#include "base/text.h"
#include "measure/drill_latency.h"
#include "measure/validate_kept.h"
#include "model/groups.h"
#include "report/drill_report.h"
#include "report/models.h"

#define NOTES	    24
#define UNSEEN_TOLD 0.001 /* of the whole */

struct notes {
	struct arena *a;
	const char *v[NOTES];
	size_t n;
};

static void add_note(struct notes *l, const char *text)
{
	if (l->n < NOTES && text)
		l->v[l->n++] = text;
}

/* ---- views ------------------------------------------------------------------------------ */

static double metric_value(const struct tree *t, const char *name)
{
	uint32_t m = model_metric_find(t->model, name, strlen(name));

	return m != MODEL_NONE && t->node[m].value.why == VALUE_OK ? t->node[m].value.v : NAN;
}

static int add_view(struct drill_report *s, const struct drill_part *p, const struct drill_core *c,
		    struct tree_view *out, struct err *err)
{
	struct tree_source src = { .tree = &p->tree,
				   .label = p->label,
				   .wanted = c->plan.wanted,
				   .counted = p->counted,
				   .named = c->named,
				   .latency_why = c->latency_why,
				   .count = p->sum,
				   .share = p->share,
				   .level = s->k->opts->level,
				   .all = s->verbose || s->k->opts->level_said,
				   .rates = &p->rates,
				   .whole = metric_value(&p->tree, "SLOTS") };

	if (s->why && tree_formulas(&src.formula, s->a, &p->tree, &p->counts, err))
		return -1;
	return tree_view_make(out, s->a, &src, err);
}

static int make_views(struct drill_report *s, struct tree_report *r, struct err *err)
{
	struct tree_view *view = arena_alloc(s->a, (s->d->n_parts + 1) * sizeof(*view));

	if (!view)
		return err_nomem(err);
	for (size_t i = 0; i < s->d->n_parts; i++) {
		const struct drill_part *p = &s->d->part[i];
		const struct drill_core *c = &s->d->core[p->core];

		/* cores of a kind on which nothing ran have no tree */
		if (p->idle && s->d->n_cores > 1)
			continue;
		if (add_view(s, p, c, &view[r->n_views++], err))
			return -1;
	}
	r->view = view;
	return 0;
}

/* Returns the part with most slots. */
static const struct drill_part *main_part(const struct drill_report *s)
{
	const struct drill_part *best = &s->d->part[0];
	double most = -1;

	for (size_t i = 0; i < s->d->n_parts; i++) {
		double slots = metric_value(&s->d->part[i].tree, "SLOTS");

		if (!s->d->part[i].idle && (isnan(slots) ? 0 : slots) > most) {
			most = isnan(slots) ? 0 : slots;
			best = &s->d->part[i];
		}
	}
	return best;
}

static const char *cpu_line(struct drill_report *s)
{
	const struct drill_core *c = &s->d->core[0];
	struct buf rates = BUF_INIT;
	const char *line;

	/* of several trees each has its own, beside its label */
	if (!s->d->part[0].label)
		tree_view_rates(&rates, &s->d->part[0].rates);
	line = arena_printf(
		s->a, "%s%s%s; model %s%s%s%s%s, revision %u%s%s",
		s->k->machine.cpu_desc ? s->k->machine.cpu_desc : c->m->title,
		rates.len ? ", " : "", buf_str(&rates), c->m->id, s->d->n_cores > 1 ? " and " : "",
		s->d->n_cores > 1 ? s->d->core[1].m->id : "", *c->m->tma ? ", TMA " : "", c->m->tma,
		c->m->revision, *c->m->caution ? "; " : "", c->m->caution);
	line = rates.failed ? NULL : line;
	buf_free(&rates);
	return line;
}

/* ---- notes ------------------------------------------------------------------------------ */

static void note_splits(struct drill_report *s, struct notes *l)
{
	size_t split = 0, refused = 0, idle = 0;
	const char *name = NULL, *why = NULL;

	for (size_t g = 0; s->k->c && g < s->d->setup.n_groups; g++) {
		split += counters_split(s->k->c, g) > 1;
		for (size_t e = 0; e < s->d->setup.group[g].n; e++) {
			const char *reason = counters_refused(s->k->c, g, e, NULL);

			refused += reason ? 1u : 0u;
			name = reason && !name ? s->d->setup.group[g].event[e].name : name;
			why = reason && !why ? reason : why;
		}
	}
	for (size_t c = 0; c < s->d->n_cores; c++)
		idle += s->d->core[c].plan.n_impossible;
	if (split)
		add_note(l, arena_printf(l->a,
					 "the kernel refused %zu group%s as too big: counted "
					 "in pieces, at different times",
					 split, split == 1 ? "" : "s"));
	if (refused)
		add_note(l, arena_printf(l->a, "%zu event%s could not be opened: %s (%s)", refused,
					 refused == 1 ? "" : "s", name, why));
	if (idle)
		add_note(l,
			 arena_printf(l->a, "%zu events fit no counter that is free here", idle));
}

/* Events not counted, or not all of the time; each event in each part. */
static struct count_losses losses_of(const struct drill_report *s)
{
	struct count_losses l = { 0 };

	for (size_t g = 0; s->k->c && g < s->d->setup.n_groups; g++)
		for (size_t e = 0; e < s->d->setup.group[g].n; e++)
			l.refused += counters_refused(s->k->c, g, e, NULL) != NULL;
	for (size_t c = 0; c < s->d->n_cores; c++)
		l.not_counted += s->d->core[c].plan.n_impossible;
	l.counts = l.refused + l.not_counted;
	for (size_t i = 0; i < s->d->n_parts; i++) {
		const struct drill_part *p = &s->d->part[i];

		for (size_t e = 0; p->sum && e < s->d->core[p->core].m->n_used; e++) {
			l.counts += isfinite(p->sum[e]) != 0;
			l.multiplexed += isfinite(p->sum[e]) && p->share[e] < 0.9995;
		}
	}
	return l;
}

/* Returns true if the last reads of a counter that was not turned off were empty. */
static bool any_gone(const struct drill *d)
{
	for (size_t g = 0; d->value && g < d->setup.n_groups; g++)
		for (size_t t = 0; t < d->targets && !d->setup.group[g].pinned; t++)
			if (d->setup.group[g].n && d->value[g][t].gone)
				return true;
	return false;
}

/* Bars that cover more than the time counted. */
static void note_unseen(struct drill_report *s, struct notes *l)
{
	unsigned visits = 0;
	bool any = false;

	for (size_t c = 0; c < s->d->n_cores; c++)
		visits += s->d->core[c].stages.visits;
	for (size_t i = 0; i < s->d->n_parts; i++)
		for (size_t m = 0; m < s->d->part[i].tree.n; m++)
			any |= s->d->part[i].tree.node[m].unseen > UNSEEN_TOLD;
	if (!any || s->d->mode != DRILL_LIVE)
		return;
	if (visits)
		add_note(l, arena_printf(l->a,
					 "parts were counted while they mattered, and at %u random "
					 "moments; error bars cover the rest of the run",
					 visits));
	else
		add_note(l, "parts were counted while they mattered; error bars cover the rest of "
			    "the run");
}

static void note_validation(struct drill_report *s, struct notes *l)
{
	const struct validate_kept *verdicts = s->k->opts->verdicts;
	struct buf b = BUF_INIT;

	if (verdicts && verdicts->when) {
		buf_puts(&b, "events validated here ");
		validate_kept_day(&b, verdicts->when);
	} else {
		buf_puts(&b,
			 "events not validated here: `cyclade validate` tells which to believe");
	}
	add_note(l, arena_strdup(l->a, buf_str(&b)));
	buf_free(&b);
}

static void note_tie(struct drill_report *s, struct notes *l)
{
	const struct drill_part *p = main_part(s);
	const struct model *m = s->d->core[p->core].m;
	uint32_t tie[2];
	bool known;

	if (!p->tree.n || !tree_view_tie(&p->tree, tie, &known))
		return;
	add_note(l,
		 arena_printf(l->a, "%s and %s %s", model_last_part(m->metric[tie[0]].path),
			      model_last_part(m->metric[tie[1]].path),
			      known ? "are as large as each other, within the error bars: both are "
				      "worth a look"
				    : "were counted for too little of the run to say which is "
				      "larger: a longer run does, or -l"));
}

/* For readers who look for the names that other tools have. */
static void note_names(struct drill_report *s, struct notes *l)
{
	const struct drill_core *c = &s->d->core[main_part(s)->core];
	const struct tree *t = &main_part(s)->tree;

	if (!t->n)
		return;
	for (uint32_t i = 0, at = tree_view_deepest(t); i < t->n; i++) {
		const char *theirs = model_other_name(&c->m->metric[i]);
		uint32_t on = at;

		if (!theirs || t->node[i].value.why != VALUE_OK)
			continue;
		while (on != MODEL_NONE && on != i)
			on = c->m->metric[on].parent;
		if (on == i || c->named[i])
			add_note(l, arena_printf(l->a, "%s is %s in other tools",
						 model_last_part(c->m->metric[i].path), theirs));
	}
}

static void note_facts(struct drill_report *s, struct notes *l)
{
	const struct drill_core *c = &s->d->core[0];
	bool tasks = !s->k->who.whole_cpus;

	if (s->k->c && counters_without_kernel(s->k->c))
		add_note(l, "user space only: the kernel may not be counted here "
			    "(perf_event_paranoid; `cyclade doctor`)");
	if (c->m->per_core && c->system[SYSTEM_SMT_ON] > 0 && tasks)
		add_note(
			l,
			"SMT is on, and this CPU's counters are the core's: the tree is estimated, "
			"-a would be exact");
	if (any_gone(s->d))
		add_note(l, tasks ? "a counter went away meanwhile: it is counted until then"
				  : "a CPU went offline meanwhile: it is counted until then");
	if (s->k->machine.nmi_watchdog > 0)
		add_note(l, "the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0 gives "
			    "it back");
	if (s->d->mode == DRILL_LIVE && !s->d->last_decision)
		add_note(l, "it ended before parts could be opened: --drilldown=rerun, or -l 2");
	for (size_t i = 0; i < s->d->n_parts && s->d->n_cores > 1; i++)
		if (s->d->part[i].idle)
			add_note(l, arena_printf(l->a, "nothing ran on %s", s->d->part[i].label));
	if (s->d->passes)
		add_note(l,
			 arena_printf(l->a, "the program ran %llu times: %s",
				      (unsigned long long)s->d->passes + 1,
				      s->d->mode == DRILL_EACH ? "once for each group of counters"
							       : "once more for each step down"));
}

int drill_report_notes(struct drill_report *s, struct tree_report *r, struct err *err)
{
	struct notes l = { .a = s->a };

	l.n = drill_turn_notes(s->d, s->a, l.v);
	note_splits(s, &l);
	note_unseen(s, &l);
	note_facts(s, &l);
	note_tie(s, &l);
	note_names(s, &l);
	note_validation(s, &l);
	add_note(&l, drill_latency_note(s->d, s->a));
	if (!s->verbose && !s->why) /* then it stands below the table */
		add_note(&l, drill_latency_why(s->d, s->a));
	if (drill_latency_rows(s->d, s->a, &r->latency, &r->n_latency, err))
		return -1;
	r->head.lost = losses_of(s);
	r->head.notes = arena_memdup(s->a, l.v, sizeof(l.v));
	r->head.n_notes = l.n;
	return r->head.notes ? 0 : err_nomem(err);
}

/* ---- next commands ---------------------------------------------------------------------- */

static const char *locate_event(struct drill_report *s, const struct drill_core *c,
				const struct model_metric *m)
{
	uint32_t e = m->locate ? model_event_find(c->m, m->locate, strlen(m->locate)) : MODEL_NONE;
	struct buf text = BUF_INIT;
	const char *option;

	if (e == MODEL_NONE)
		return NULL;
	put_event_option(&text, &c->m->event[e], c->pmu);
	option = arena_strdup(s->a, buf_str(&text));
	buf_free(&text);
	return option;
}

/* Returns the node to look at next: the largest named bottleneck that is over its threshold; else
 * the deepest node of the path. */
static uint32_t worth_a_look(const struct drill_core *c, const struct tree *t)
{
	uint32_t best = MODEL_NONE;

	for (uint32_t i = 0; i < t->n; i++)
		if (c->named[i] && t->node[i].over && model_bottleneck_is_loss(&c->m->metric[i]) &&
		    (best == MODEL_NONE || t->node[i].shown > t->node[best].shown))
			best = i;
	return best != MODEL_NONE ? best : tree_view_deepest(t);
}

/* Returns true for a bottleneck that was asked for. */
static bool asked_for(const struct drill_core *c, uint32_t metric)
{
	return metric != MODEL_NONE && c->named[metric];
}

/* "cyclade explain NAME": of a CPU that was named, not of this one. */
static const char *explain(const struct drill_report *s, const char *metric)
{
	struct buf b = BUF_INIT;
	const char *out;

	buf_puts(&b, "cyclade explain ");
	if (s->k->opts->model.named) {
		buf_puts(&b, "--model ");
		(void)text_put_word(&b, s->k->opts->model.named);
		buf_putc(&b, ' ');
	}
	model_choice_put(&b, &s->k->opts->model);
	(void)text_put_word(&b, model_last_part(metric));
	out = b.failed ? NULL : arena_strdup(s->a, buf_str(&b));
	buf_free(&b);
	return out;
}

/* Samples the program by the event of a node. */
static const char *record_event(const struct drill_report *s, const char *event)
{
	const struct text_list *program = &s->k->opts->program;
	struct buf verb = BUF_INIT, b = BUF_INIT;
	const char *out;

	buf_puts(&verb, "record ");
	model_choice_put(&verb, &s->k->opts->model);
	buf_puts(&verb, "-e ");
	(void)text_put_word(&verb, event);
	(void)again_put_program(&b, buf_str(&verb), program->v, program->n);
	out = verb.failed || b.failed ? NULL : arena_strdup(s->a, buf_str(&b));
	buf_free(&verb);
	buf_free(&b);
	return out;
}

static int next_commands(struct drill_report *s, struct tree_report *r, struct err *err)
{
	const struct drill_part *p = main_part(s);
	const struct drill_core *c = &s->d->core[p->core];
	uint32_t look = worth_a_look(c, &p->tree), tie[2];
	bool known, tied = tree_view_tie(&p->tree, tie, &known) && known && !asked_for(c, look);
	struct next *line = arena_alloc(s->a, 4 * sizeof(*line));
	const struct model_metric *m;
	const char *event;

	if (!line)
		return err_nomem(err);
	r->next = line;
	if (look == MODEL_NONE && !tied)
		return 0;
	if (tied && look != tie[0]) {
		look = tie[0];
		line[r->n_next++] = (struct next){
			explain(s, c->m->metric[tie[1]].path),
			"as large, within the error bars: what it means, what helps"
		};
	}
	m = &c->m->metric[look];
	line[r->n_next++] = (struct next){ explain(s, m->path), "what it means, what helps" };
	event = locate_event(s, c, m);
	if (event && s->k->has_program)
		line[r->n_next++] = (struct next){ record_event(s, event), "which code" };
	for (size_t i = 0; i < r->n_next; i++)
		if (!line[i].command)
			return err_nomem(err);
	return 0;
}

int drill_report_interval(struct drill_report *s, struct tree_report *r, struct err *err)
{
	r->head.lost = losses_of(s);
	return make_views(s, r, err) ||
			       drill_latency_rows(s->d, s->a, &r->latency, &r->n_latency, err)
		       ? -1
		       : 0;
}

int drill_report_make(struct drill_report *s, struct tree_report *r, struct err *err)
{
	r->cpu = cpu_line(s);
	if (!r->cpu)
		return err_nomem(err);
	return make_views(s, r, err) || drill_report_notes(s, r, err) || next_commands(s, r, err)
		       ? -1
		       : 0;
}
