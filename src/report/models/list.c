/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists: which rows of a model fit a pattern, in reading order, and the document of one list.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "report/models/models_int.h"

struct making {
	struct list *l;
	struct arena *a;
	const struct list_source *s;
	const struct list_choice *choice;
	struct err *err;
};

#define OF(member) TABLE_FIELD(struct list, member)
static const struct table_column choice_columns[] = {
	COLUMN("left_out", "left out", T_COUNT, 0, "rows that fit, but are more than --limit",
	       OF(left_out)),
};
#undef OF
static const struct table_form choice_form = { "choice", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					       TABLE_COLUMNS(choice_columns) };

#define KIND(word, row, form)                                 \
	{                                                     \
		word, sizeof(struct row),                     \
		{                                             \
			&model_head_form, &form, &choice_form \
		}                                             \
	}
static const struct {
	const char *word;
	size_t stride;
	const struct table_form *table[3];
} kinds[LIST_KINDS] = {
	[LIST_ACCOUNT] = KIND("account", account_node, model_account_form),
	[LIST_EVENTS] = KIND("events", model_event, model_events_form),
	[LIST_GROUPS] = KIND("groups", group_row, model_groups_form),
	[LIST_METRICS] = KIND("metrics", model_metric, model_metrics_form),
	[LIST_MODELS] = KIND("models", model_row, model_rows_form),
	[LIST_NAMES] = KIND("events", list_name, model_names_form),
	[LIST_NODES] = KIND("nodes", model_metric, model_nodes_form),
};

/* Those of no model in particular begin behind its head. */
#define DOCUMENT(kind, head) \
	[kind] = { "list", 2, kinds[kind].table + !(head), 2 + (head), NULL, 0 }
static const struct document_form documents[LIST_KINDS] = {
	DOCUMENT(LIST_ACCOUNT, 1), DOCUMENT(LIST_EVENTS, 1), DOCUMENT(LIST_GROUPS, 1),
	DOCUMENT(LIST_METRICS, 1), DOCUMENT(LIST_MODELS, 0), DOCUMENT(LIST_NAMES, 0),
	DOCUMENT(LIST_NODES, 1),
};

const char *list_word(enum list_kind kind)
{
	return kinds[kind].word;
}

const struct document_form *list_document(enum list_kind kind)
{
	return &documents[kind];
}

/* ---- which rows ------------------------------------------------------------------------------ */

static bool model_fits_pattern(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?[") ? text_glob(pattern, name)
				       : strcasestr(name, pattern) != NULL;
}

static bool metric_fits(const struct making *k, uint32_t i)
{
	const struct model_metric *t = &k->l->m->metric[i];

	if ((t->level > 0) != (k->l->kind == LIST_NODES))
		return false;
	if (!strcmp(t->area, "Aux") && !k->choice->helpers)
		return false;
	return model_fits_pattern(k->choice->pattern, t->name) ||
	       model_fits_pattern(k->choice->pattern, t->path);
}

static int model_fits(const struct making *k, const struct model_row *r, bool *yes)
{
	const char *pattern = k->choice->pattern;

	*yes = model_fits_pattern(pattern, r->id) || model_fits_pattern(pattern, r->title);
	if (*yes)
		return 0;
	return model_has_name(yes, k->a, &k->s->texts, r->id, model_fits_pattern, pattern, k->err);
}

static int row_fits(const struct making *k, uint32_t i, bool *yes)
{
	const struct list *l = k->l;
	const void *row = (const char *)l->base + i * l->stride;
	const char *name;

	if (l->kind == LIST_MODELS)
		return model_fits(k, row, yes);
	*yes = l->kind == LIST_NODES || l->kind == LIST_METRICS
		       ? metric_fits(k, i)
		       : (memcpy(&name, row, sizeof(name)),
			  model_fits_pattern(k->choice->pattern, name));
	return 0;
}

/* ---- rows of the lists ----------------------------------------------------------------------- */

int group_row_fill(struct group_row *out, struct arena *a, const struct model *m, const char *name,
		   struct err *err)
{
	const uint32_t *member;

	out->name = name;
	out->n = model_group_members(&member, a, m, name, strlen(name));
	out->member = arena_xalloc(a, (out->n + 1) * sizeof(*out->member));
	if (out->n && !member)
		return err_nomem(err);
	for (size_t i = 0; i < out->n; i++)
		out->member[i] = m->metric[member[i]].name;
	return 0;
}

static int take_listed_model_groups(struct making *k, size_t *n)
{
	const struct model_group *g;
	struct group_row *row;

	if (model_groups(&g, n, k->a, k->l->m, k->err))
		return -1;
	row = arena_xalloc(k->a, (*n + 1) * sizeof(*row));
	for (size_t i = 0; i < *n; i++)
		if (group_row_fill(&row[i], k->a, k->l->m, g[i].name, k->err))
			return -1;
	k->l->base = row;
	return 0;
}

struct list list_of(enum list_kind kind, const struct model *m, const struct account *acc)
{
	struct list l = { .kind = kind, .m = m, .account = acc, .stride = kinds[kind].stride };

	l.base = kind == LIST_EVENTS			      ? (const void *)m->event
		 : kind == LIST_NODES || kind == LIST_METRICS ? (const void *)m->metric
		 : kind == LIST_ACCOUNT && acc		      ? (const void *)acc->node
							      : NULL;
	return l;
}

static int take_model(struct making *k, size_t *n)
{
	const struct model_row *row;

	switch (k->l->kind) {
	case LIST_ACCOUNT:
		*n = k->s->account->n;
		return 0;
	case LIST_EVENTS:
		*n = k->s->m->n_events;
		return 0;
	case LIST_NODES:
	case LIST_METRICS:
		*n = k->s->m->n_metrics;
		return 0;
	case LIST_GROUPS:
		return take_listed_model_groups(k, n);
	case LIST_MODELS:
		if (model_list(k->a, &k->s->texts, &row, n, k->err))
			return -1;
		k->l->base = row;
		return 0;
	default:
		*n = k->s->n_names;
		k->l->base = k->s->name;
		return 0;
	}
}

struct placed {
	uint32_t order, index;
};

static int listed_model_by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the indices of all rows, as they are read: a tree's parents first. */
static struct placed *listed_model_in_order(const struct making *k, size_t n)
{
	const struct list *l = k->l;
	struct placed *p = arena_xalloc(k->a, (n + 1) * sizeof(*p));
	bool placed = l->kind == LIST_NODES || l->kind == LIST_METRICS;

	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct placed){ placed ? l->m->metric[i].order : i, i };
	if (placed && n)
		qsort(p, n, sizeof(*p), listed_model_by_order);
	return p;
}

int list_make(struct list *out, struct arena *a, enum list_kind kind, const struct list_source *s,
	      const struct list_choice *choice, struct err *err)
{
	struct making k = { out, a, s, choice, err };
	struct placed *p;
	size_t n;

	*out = kind == LIST_MODELS || kind == LIST_NAMES
		       ? (struct list){ .kind = kind, .stride = kinds[kind].stride }
		       : list_of(kind, s->m, s->account);
	if (take_model(&k, &n))
		return -1;
	p = listed_model_in_order(&k, n);
	out->index = arena_xalloc(a, (n + 1) * sizeof(*out->index));
	for (size_t i = 0; i < n; i++) {
		bool yes;

		if (row_fits(&k, p[i].index, &yes))
			return -1;
		if (yes && out->n < choice->limit)
			out->index[out->n++] = p[i].index;
		else
			out->left_out += yes;
	}
	return 0;
}

/* ---- as a document --------------------------------------------------------------------------- */

/* Forms like rNNN are no names to type. */
static const char *first_name(const struct list *l)
{
	const struct list_name *name = l->base;

	for (size_t i = 0; i < l->n; i++) {
		const struct list_name *x = &name[l->index[i]];

		if (strcmp(x->kind, "raw") && strcmp(x->kind, "breakpoint") &&
		    strcmp(x->kind, "probe"))
			return x->name;
	}
	return NULL;
}

static void add_listed_model_next(struct document *d, const struct list *l)
{
	struct buf b = BUF_INIT;
	const char *name = l->kind == LIST_NAMES ? first_name(l) : NULL;
	const char *command;
	bool fine = true;

	if (l->kind == LIST_METRICS) {
		buf_puts(&b, "cyclade list groups --model ");
		fine = text_put_word(&b, l->m->id);
	}
	if (name) {
		buf_puts(&b, "cyclade record -e ");
		fine = text_put_word(&b, name);
		buf_puts(&b, " -- ./prog");
	}
	command = b.len && fine ? arena_xstrdup(&d->a, buf_str(&b)) : NULL;
	if (command)
		document_next(d, command, name ? "samples it" : "names for several metrics");
	buf_free(&b);
}

void list_put(struct document *d, const struct list *l)
{
	const struct table rows = { .form = kinds[l->kind].table[1], .ctx = l };
	const struct table choice = { .form = &choice_form, .array = l, .n = 1 };
	char count[NUM_MAX];

	if (l->m) {
		document_title(d, INK_BOLD, "%s of %s: %s%s%s (%s)", kinds[l->kind].word, l->m->id,
			       l->m->title, *l->m->tma ? ", TMA " : "", l->m->tma,
			       num_exact(count, l->n));
		document_table(d,
			       &(struct table){ .form = &model_head_form, .array = l->m, .n = 1 });
	}
	if (l->kind == LIST_NAMES)
		document_title(d, INK_BOLD, "events (%s)", num_exact(count, l->n));
	document_table(d, &rows);
	document_table(d, &choice);
	if (l->left_out)
		document_fact(d, "left out", false, "%s more; a larger --limit shows them",
			      num_exact(count, l->left_out));
	add_listed_model_next(d, l);
}
