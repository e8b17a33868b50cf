/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explanations of names: the parts of each, the events that it needs, its users, its place in the
 * model.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "report/models/models_int.h"

/* The search of one name at a time. */
struct search {
	struct explain *x;
	struct explained *e;
	double system[SYSTEM_COUNT]; /* not known: only events that no machine has are left out */
	bool *seen;		     /* by metric, or node of the account */
	bool *needed, *latency;	     /* by event */
	struct group_row *group;     /* rows of LIST_GROUPS */
	struct err *err;
};

/* ---- the events that a name needs ------------------------------------------------------------ */

static int need_event(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct search *s = ctx;

	if (kind == EXPR_LATENCY)
		s->latency[index] = true;
	if (kind != EXPR_METRIC) {
		s->needed[index] = true;
	} else if (!s->seen[index]) {
		s->seen[index] = true;
		return expr_needs(s->x->m->metric[index].expr, s->system, need_event, s);
	}
	return 0;
}

static int need_of_account(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct search *s = ctx;
	const struct account *acc = s->x->account;
	const struct account_node *t;

	if (kind != EXPR_METRIC) {
		s->needed[index] = true;
		return 0;
	}
	t = &acc->node[index];
	if (t->event != MODEL_NONE)
		s->needed[t->event] = true;
	if (t->expr)
		return expr_needs(t->expr, s->system, need_of_account, s);
	for (uint32_t i = 0; i < acc->n; i++)
		if (acc->node[i].parent == index && acc->node[i].adds)
			(void)need_of_account(s, EXPR_METRIC, i);
	return 0;
}

static void reserve(struct list *l, struct arena *a, size_t more, bool needs)
{
	size_t cap = 2 * l->cap + more;
	uint32_t *index;
	struct list_need *need_of;

	if (l->n + more <= l->cap)
		return;
	index = arena_xalloc(a, cap * sizeof(*index));
	need_of = arena_xalloc(a, needs ? cap * sizeof(*need_of) : 1);
	if (l->n)
		memcpy(index, l->index, l->n * sizeof(*index));
	if (l->n && needs)
		memcpy(need_of, l->need, l->n * sizeof(*need_of));
	l->index = index;
	l->need = needs ? need_of : NULL;
	l->cap = cap;
}

/* Keeps the events of the search's name: rows of the table of events. */
static void keep_needs(struct search *s)
{
	struct list *l = &s->x->part[LIST_EVENTS];
	size_t n = 0;

	for (uint32_t i = 0; i < s->x->m->n_events; i++)
		n += s->needed[i];
	reserve(l, s->x->a, n + 1, true);
	s->e->need = l->n;
	s->e->n_needs = n;
	for (uint32_t i = 0; i < s->x->m->n_events; i++) {
		if (!s->needed[i])
			continue;
		l->need[l->n] = (struct list_need){ s->e->name, s->latency[i] };
		l->index[l->n++] = i;
	}
}

/* ---- other names ----------------------------------------------------------------------------- */

/* Returns true if `word` is one of the words of `list`. */
static bool explained_has_word(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

static bool one_issue_shared(const char *a, const char *b)
{
	while (*a) {
		size_t n = strcspn(a, " ");

		if (n && explained_has_word(b, a, n))
			return true;
		a += n;
		a += strspn(a, " ");
	}
	return false;
}

static int uses(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const uint32_t *event = ctx;

	return kind != EXPR_METRIC && index == *event;
}

static bool explained_is_child(const struct search *s, uint32_t i)
{
	return i != s->e->index && s->x->m->metric[i].parent == s->e->index;
}

static bool is_related(const struct search *s, uint32_t i)
{
	const struct model_metric *v = s->x->m->metric;

	return i != s->e->index && one_issue_shared(v[s->e->index].issues, v[i].issues);
}

static bool metric_uses(const struct search *s, uint32_t i)
{
	uint32_t event = s->e->index;

	return expr_needs(s->x->m->metric[i].expr, s->system, uses, &event);
}

static bool is_account_child(const struct search *s, uint32_t i)
{
	return s->x->account->node[i].parent == s->e->index;
}

static bool account_uses(const struct search *s, uint32_t i)
{
	const struct account_node *t = &s->x->account->node[i];
	uint32_t event = s->e->index;

	return t->event == event || (t->expr && expr_needs(t->expr, s->system, uses, &event));
}

struct named {
	uint32_t order;
	const char *name;
};

static int explained_by_order(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Adds the metrics for which `fits` holds, as they are read, or the nodes of the account. */
static void add_names(struct search *s, struct explain_names *out, bool of_account,
		      bool (*fits)(const struct search *s, uint32_t i))
{
	const struct account *acc = s->x->account;
	const struct model *m = s->x->m;
	size_t all = !of_account ? m->n_metrics : acc ? acc->n : 0, n = 0;
	struct named *v = arena_xalloc(s->x->a, (all + 1) * sizeof(*v));
	const char **name = arena_xalloc(s->x->a, (all + out->n + 1) * sizeof(*name));

	for (uint32_t i = 0; i < all; i++)
		if (fits(s, i))
			v[n++] = of_account
					 ? (struct named){ i, acc->node[i].name }
					 : (struct named){ m->metric[i].order, m->metric[i].name };
	if (n)
		qsort(v, n, sizeof(*v), explained_by_order);
	if (out->n)
		memcpy(name, out->v, out->n * sizeof(*name));
	for (size_t i = 0; i < n; i++)
		name[out->n++] = v[i].name;
	out->v = name;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

/* A text made by put_account_cost() and its like, in the arena. */
static void keep_text(struct search *s, struct buf *b, const char **out)
{
	*out = arena_xstrdup(s->x->a, buf_str(b));
	buf_free(b);
}

static void find_account(struct search *s)
{
	const struct account_node *t = &s->x->account->node[s->e->index];
	struct buf b = BUF_INIT;

	s->e->name = t->name;
	s->e->says = or_null(t->says);
	s->e->advice = or_null(t->try_);
	put_account_cost(&b, s->x->account, s->e->index);
	keep_text(s, &b, &s->e->formula);
	(void)need_of_account(s, EXPR_METRIC, s->e->index);
	add_names(s, &s->e->children, true, is_account_child);
}

static int find_explained_group(struct search *s, const char *name)
{
	struct list *l = &s->x->part[LIST_GROUPS];
	struct group_row row;

	s->e->name = name;
	if (!strcasecmp(name, MODEL_BOTTLENECKS))
		s->e->says = "The slots by cause: each bottleneck gathers what one cause costs in "
			     "all branches of the tree, useful work included. Together they are "
			     "100 %.";
	if (group_row_fill(&row, s->x->a, s->x->m, name, s->err))
		return -1;
	s->e->index = (uint32_t)l->n;
	s->group[l->n] = row;
	s->e->children = (struct explain_names){ row.member, row.n };
	return 0;
}

/* ---- rows of monitor ------------------------------------------------------------------------- */

/* Returns the next row from `at` on that a name, PLACE.NAME or a name of another tool means; a
 * place alone means none. */
static uint32_t row_from(const struct set *s, uint32_t at, const char *name)
{
	for (; s && at < s->n; at++)
		if (strcmp(s->row[at].place, name) != 0 && set_means(&s->row[at], name))
			return at;
	return MODEL_NONE;
}

/* Events of the model that a formula names; a node of the tree has its own page. */
static void need_of_row(struct search *s, const char *formula)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	while (*formula) {
		size_t n = strspn(formula, letters);
		uint32_t e = n ? model_event_find(s->x->m, formula, n) : MODEL_NONE;

		if (e != MODEL_NONE)
			s->needed[e] = true;
		formula += n ? n : 1;
	}
}

static void find_explained_row(struct search *s, const char *name)
{
	const struct set *set = s->x->monitor;
	const struct set_row *row = &set->row[s->e->index];
	uint32_t at = s->e->index + 1;
	size_t n = 0;

	s->e->name = arena_xprintf(s->x->a, "%s.%s", row->place, row->name);
	s->e->says = row->help;
	s->e->formula = row->formula;
	s->e->related.v = arena_xalloc(s->x->a, (set->n + 1) * sizeof(*s->e->related.v));
	/* the same of other places; channels have a row each */
	for (; (at = row_from(set, at, name)) != MODEL_NONE; at++) {
		const struct set_row *other = &set->row[at];

		if (strcmp(other->place, row->place) != 0 || strcmp(other->name, row->name) != 0)
			s->e->related.v[n++] =
				arena_xprintf(s->x->a, "%s.%s", other->place, other->name);
	}
	s->e->related.n = n;
	need_of_row(s, row->formula);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool meant_by(struct explained *out, const struct explain_from *from, const char *name)
{
	const struct account *acc = from->account;
	const struct model *m = from->m;
	size_t n = strlen(name);

	out->index = model_metric_named(m, name, n);
	out->kind = EXPLAIN_METRIC;
	if (out->index != MODEL_NONE) {
		if (m->metric[out->index].level)
			out->kind = EXPLAIN_NODE;
		return true;
	}
	out->index = acc ? account_find(acc, name, n) : MODEL_NONE;
	out->kind = EXPLAIN_ACCOUNT;
	if (out->index != MODEL_NONE)
		return true;
	out->index = model_event_find(m, name, n);
	out->kind = EXPLAIN_EVENT;
	if (out->index != MODEL_NONE)
		return true;
	out->kind = EXPLAIN_GROUP;
	if (model_group_count(m, name, n))
		return true;
	out->kind = EXPLAIN_MONITOR;
	out->index = row_from(from->monitor, 0, name);
	return out->index != MODEL_NONE;
}

bool explain_knows(const struct explain_from *from, const char *name)
{
	struct explained e;

	return meant_by(&e, from, name);
}

static int unknown_name(const struct explain *x, const char *name, struct err *err)
{
	const struct model *m = x->m;
	size_t n = m->n_metrics + m->n_events + (x->account ? x->account->n : 0);
	const char **words = arena_xalloc(x->a, (n + MODEL_OTHER_NAMES + 1) * sizeof(*words));
	size_t k = 0;

	for (size_t i = 0; i < m->n_metrics; i++)
		words[k++] = m->metric[i].name;
	for (size_t i = 0; x->account && i < x->account->n; i++)
		words[k++] = x->account->node[i].name;
	for (size_t i = 0; i < m->n_events; i++)
		words[k++] = m->event[i].name;
	k += model_other_names(m, words + k);
	words[k] = NULL;
	(void)err_set(err, ERR_NOT_FOUND, "%s has no node, metric, group or event '%.100s'", m->id,
		      name);
	if (*x->all)
		return text_suggest(
			err, name, words,
			"cyclade list nodes %sshows the nodes; account, metrics, groups "
			"and events are lists, too",
			x->all);
	return text_suggest(err, name, words,
			    "cyclade list nodes, account, metrics, groups or events show the "
			    "names, monitor --once those of its metrics");
}

static const enum list_kind part_of[] = {
	[EXPLAIN_NODE] = LIST_NODES,	  [EXPLAIN_METRIC] = LIST_METRICS,
	[EXPLAIN_ACCOUNT] = LIST_ACCOUNT, [EXPLAIN_EVENT] = LIST_EVENTS,
	[EXPLAIN_GROUP] = LIST_GROUPS,
};

static int find_explained(struct search *s, const char *name)
{
	const struct model *m = s->x->m;
	const struct explain_from from = { m, s->x->account, s->x->monitor, "", "" };
	struct list *part;

	if (!meant_by(s->e, &from, name))
		return unknown_name(s->x, name, s->err);
	memset(s->seen, 0, m->n_metrics * sizeof(*s->seen));
	memset(s->needed, 0, m->n_events * sizeof(*s->needed));
	memset(s->latency, 0, m->n_events * sizeof(*s->latency));
	if (s->e->kind == EXPLAIN_ACCOUNT)
		find_account(s);
	else if (s->e->kind == EXPLAIN_EVENT) {
		const struct model_event *e = &s->x->m->event[s->e->index];
		struct model_words w;
		struct buf b = BUF_INIT;

		s->e->name = e->name;
		if (!model_describe(&w, s->x->a, s->x->m, e->name, NULL)) {
			s->e->says = w.text;
			s->e->wrong = w.wrong;
			s->e->vendors = w.vendors;
		}
		buf_printf(&b, "%s/%s/%s", *e->pmu ? e->pmu : "cpu", e->code, e->modifiers);
		keep_text(s, &b, &s->e->formula);
		s->needed[s->e->index] = true;
		add_names(s, &s->e->users, false, metric_uses);
		add_names(s, &s->e->users, true, account_uses);
	} else if (s->e->kind == EXPLAIN_MONITOR)
		find_explained_row(s, name);
	else if (s->e->kind == EXPLAIN_METRIC || s->e->kind == EXPLAIN_NODE) {
		const struct model_metric *t = &s->x->m->metric[s->e->index];

		s->e->name = t->name;
		s->e->says = or_null(t->says);
		s->e->advice = or_null(t->try_);
		s->e->formula = t->text;
		(void)need_event(s, EXPR_METRIC, s->e->index);
		add_names(s, &s->e->children, false, explained_is_child);
		add_names(s, &s->e->related, false, is_related);
	} else if (find_explained_group(s, name))
		return -1;
	keep_needs(s);
	if (s->e->kind == EXPLAIN_EVENT || s->e->kind == EXPLAIN_MONITOR)
		return 0;
	part = &s->x->part[part_of[s->e->kind]];
	reserve(part, s->x->a, 1, false);
	part->index[part->n++] = s->e->index;
	return 0;
}

int explain_make(struct explain *out, struct arena *a, const struct explain_from *from,
		 const char *const *name, size_t n, struct err *err)
{
	struct search s = { .x = out, .err = err };
	const struct model *m = from->m;

	*out = (struct explain){ .m = m,
				 .account = from->account,
				 .monitor = from->monitor,
				 .a = a,
				 .models = from->models,
				 .all = from->all };
	s.group = arena_xalloc(a, (n + 1) * sizeof(*s.group));
	out->name = arena_xalloc(a, (n + 1) * sizeof(*out->name));
	s.seen = arena_xalloc(a, m->n_metrics + 1);
	s.needed = arena_xalloc(a, m->n_events + 1);
	s.latency = arena_xalloc(a, m->n_events + 1);
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		s.system[i] = NAN;
	for (size_t i = 0; i < sizeof(part_of) / sizeof(*part_of); i++)
		out->part[part_of[i]] = list_of(part_of[i], m, from->account);
	out->part[LIST_GROUPS].base = s.group;
	for (; out->n < n; out->n++) {
		s.e = &out->name[out->n];
		*s.e = (struct explained){ .name = NULL };
		if (find_explained(&s, name[out->n]))
			return -1;
	}
	return 0;
}
