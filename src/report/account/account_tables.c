/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account of cycles as tables: the account of each kind of cores, its nodes, the rows by all
 * nodes, how sure each figure of a row is, and the events. Values are cycles, or the node's unit. A
 * hybrid's kinds of cores differ by `pmu`, and rows have the nodes of all accounts.
 */
#include <math.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/account/account_result.h"
#include "report/recorded.h"

/* ---- events ---------------------------------------------------------------------------------- */

/* Returns the kind of cores whose tree has the event; NULL: none has. */
static const struct account_view *account_head_user_of(const struct table *t, size_t event)
{
	const struct account_result *x = t->ctx;

	for (size_t k = 0; k < x->n; k++)
		if (account_uses(x->v[k]->source.bound, event))
			return x->v[k];
	return NULL;
}

static const struct mux_event *mux_of(const struct table *t, size_t event)
{
	const struct mux *m = result_of(t)->v[0]->source.mux;
	size_t n;

	return m && mux_events(m, &n)[event].told ? &mux_events(m, &n)[event] : NULL;
}

TABLE_GET(event_pmu)
{
	const struct account_view *v = account_head_user_of(t, r->i);

	out->text = v ? v->source.pmu : NULL;
}

TABLE_CELL(account_head_event_name, out->text = result_view_of(t, r)->source.view->event[r->i].name)
TABLE_CELL(suspect_account_head, out->n = account_head_user_of(t, r->i) &&
					  account_head_user_of(t, r->i)->source.bound->dead[r->i])
TABLE_CELL(account_head_used, out->n = account_head_user_of(t, r->i) != NULL)

TABLE_GET(account_head_factor)
{
	const struct mux_event *m = mux_of(t, r->i);

	if (m)
		memcpy(&out->e.v, (const char *)m + c->which, sizeof(out->e.v));
	else
		out->e.why = "its time on a counter was not recorded";
}

TABLE_GET(windows)
{
	const struct mux_event *m = mux_of(t, r->i);

	out->none = !m;
	out->n = m ? m->windows : 0;
}

#define OF(member)     TABLE_FIELD(struct tally, member)
#define FACTOR(member) .get = account_head_factor, .which = offsetof(struct mux_event, member)
static const struct table_column event_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "that are selected", OF(samples)),
	COLUMN("occurrences", "occurrences", T_COUNT, C_DATA, "sum of their corrected periods",
	       OF(period)),
	COLUMN("factor", "weight", T_REAL, C_WHY, "mean correction for the time without a counter",
	       FACTOR(mean)),
	COLUMN("least", "least", T_REAL, 0, "the least of them", FACTOR(least)),
	COLUMN("most", "most", T_REAL, 0, "the greatest of them", FACTOR(most)),
	COLUMN("windows", "windows", T_COUNT, C_DATA, "how many there are", .get = windows),
	COLUMN("suspect", "suspect", T_FLAG, 0, "has no sample, though any program has it",
	       .get = suspect_account_head),
	COLUMN("used", "used", T_FLAG, 0, "an account uses it", .get = account_head_used),
	COLUMN("pmu", "cores", T_TEXT, C_SPARSE, "kind of cores of a hybrid", .get = event_pmu),
	COLUMN("event", "event", T_TEXT, C_KEY, "that was recorded",
	       .get = account_head_event_name),
};
#undef OF
#undef FACTOR
static const struct table_form events_form = { "events", NULL, 0, TABLE_COLUMNS(event_columns),
					       .rest = "event" };

/* ---- events that were not recorded: r->p is the model's -------------------------------------- */

static bool missing_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0) {
		const struct model *m = result_acc_of(t, r)->model;

		for (; r->at[1] < m->n_events; r->at[1]++)
			if (result_view_of(t, r)->source.bound->event[r->at[1]] < 0 &&
			    account_wants(result_view_of(t, r), (uint32_t)r->at[1]))
				return (r->p = &m->event[r->at[1]]);
	}
	return false;
}

static const struct table_column missing_columns[] = {
	PMU,
	COLUMN("event", "event", T_TEXT, C_KEY, "the model's name of it",
	       TABLE_FIELD(struct model_event, name)),
};
static const struct table_form missing_form = { "not_recorded", NULL, TABLE_DATA,
						TABLE_COLUMNS(missing_columns),
						.next = missing_next };

/* ---- all of it ------------------------------------------------------------------------------- */

TABLE_CELL(account_head_version, out->text = result_view_of(t, r)->source.view->version)
static const struct table_column head_columns[] = {
	COLUMN("version", "version", T_TEXT, 0, "of cyclade", .get = account_head_version),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = {
	&head_form,	    &recorded_form,	    &account_branches_form,
	&account_tree_form, &account_accounts_form, &account_nodes_form,
	&account_rows_form, &account_cells_form,    &events_form,
	&missing_form,	    &recorded_losses_form
};
const struct document_form account_document = { "account", 3, forms, sizeof(forms) / sizeof(*forms),
						NULL,	   0 };

static struct account_result *make_account_head_result(struct document *d,
						       struct account_view *const *v, size_t n)
{
	struct account_result *x = arena_xalloc(&d->a, sizeof(*x));
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most += v[i]->source.bound->acc->n;
	*x = (struct account_result){ .v = v, .n = n };
	x->name = arena_xalloc(&d->a, (most + 1) * sizeof(*x->name));
	x->node = arena_xalloc(&d->a, (n * most + 1) * sizeof(*x->node));
	for (size_t i = 0; i < n; i++) {
		const struct account *acc = v[i]->source.bound->acc;

		for (size_t k = 0; k < acc->n; k++) {
			size_t at = 0;

			while (at < x->n_names && strcmp(x->name[at], acc->node[k].name) != 0)
				at++;
			if (at == x->n_names)
				x->name[x->n_names++] = acc->node[k].name;
		}
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < x->n_names; k++)
			x->node[i * x->n_names + k] = account_find(v[i]->source.bound->acc,
								   x->name[k], strlen(x->name[k]));
	return x;
}

static const struct account_view *most_cycles(struct account_view *const *v, size_t n)
{
	const struct account_view *most = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i]->source.bound->whole[0].v > most->source.bound->whole[0].v)
			most = v[i];
	return most;
}

void account_put(struct document *d, struct account_view *const *v, size_t n)
{
	const struct account_source *s = &v[0]->source;
	struct account_result *x = make_account_head_result(d, v, n);
	const struct table accounts = { .form = &account_accounts_form, .ctx = x };
	const struct table nodes = { .form = &account_nodes_form, .ctx = x };
	const struct table events =
		TABLE_OF(events_form, x, v[0]->whole, v[0]->n_events, .data_only = !v[0]->opts.all);
	const struct table missing = { .form = &missing_form, .ctx = x };

	d->failed |= !x;
	if (!x)
		return;
	document_table(d, &(struct table){ .form = &head_form, .ctx = x, .array = x, .n = 1 });
	recorded_head(d, s->view);
	for (size_t i = 0; i < n; i++)
		account_put_people(d, &v[i]);
	document_table(d, &accounts);
	document_table(d, &nodes);
	account_put_rows(d, x);
	account_put_cells(d, x);
	document_table(d, &events);
	document_table(d, &missing);
	account_put_legend(d, v, n);
	for (size_t i = 0; i < n; i++)
		account_put_facts(d, v[i]);
	for (size_t i = 0; i < s->n_notes; i++)
		document_note(d, s->notes[i]);
	recorded_tail(d, s->view);
	account_put_next(d, most_cycles(v, n));
}
