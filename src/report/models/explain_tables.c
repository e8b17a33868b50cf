/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explanations of names as tables: the names, then the rows of each in the list of its kind, and
 * the events that each needs.
 */
#include "report/models/models_int.h"

static const char *const explained_kinds[] = { "node",	"metric", "account",
					       "event", "group",  "monitor" };
/* The names that stand at c->which. */
TABLE_GET(explained_names)
{
	const struct explain_names *v = (const void *)((const char *)r->p + c->which);

	out->list = v->v;
	out->n_list = v->n;
	out->none = !v->n;
	out->says = "";
}

#define OF(member)    TABLE_FIELD(struct explained, member)
#define NAMES(member) .get = explained_names, .which = offsetof(struct explained, member)
static const struct table_column name_columns[] = {
	COLUMN("name", "name", T_TEXT, C_KEY, "as the model has it", OF(name)),
	COLUMN("kind", "kind", T_TEXT, 0,
	       "node, metric, account, event, group or monitor (a metric of it)",
	       TABLE_FIELD(struct explained, kind), TABLE_NAMES(explained_kinds)),
	COLUMN("says", "meaning", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "what it means", OF(says)),
	COLUMN("by_vendor", "by vendor", T_FLAG, C_DATA, "the meaning is in the vendor's words",
	       OF(vendors)),
	COLUMN("wrong", "but", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "why the meaning is not right",
	       OF(wrong)),
	COLUMN("formula", "made of", T_TEXT, C_FLEX | C_CUT | C_SPARSE,
	       "formula, sum, or an event's code", OF(formula)),
	COLUMN("verdict", "here", T_TEXT, C_FLEX | C_CUT | C_SPARSE,
	       "what validate found out about an event of this machine", OF(verdict)),
	COLUMN("children", "children", T_LIST, C_FLEX | C_CUT | C_SPARSE, "parts, members",
	       NAMES(children)),
	COLUMN("related", "related", T_LIST, C_FLEX | C_CUT | C_SPARSE, "often seen with it",
	       NAMES(related)),
	COLUMN("used_by", "used by", T_LIST, C_FLEX | C_CUT | C_SPARSE, "made of the event",
	       NAMES(users)),
	COLUMN("try", "try", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "what usually helps", OF(advice)),
};
#undef OF
static const struct table_form names_form = { "names", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(name_columns), .rest = "name" };

static const struct table_form *const forms[] = { &model_head_form,    &names_form,
						  &model_nodes_form,   &model_metrics_form,
						  &model_account_form, &model_groups_form,
						  &model_needs_form };
static const struct format faces[] = { { "term", explain_write_term, false, false } };
const struct document_form explain_document = { "explain", 2, forms, sizeof(forms) / sizeof(*forms),
						faces,	   1 };

void explain_put(struct document *d, const struct explain *x)
{
	const struct model *m = x->m;
	const struct table head = { .form = &model_head_form, .array = m, .n = 1 };
	const struct table parts[] = {
		{ .form = &model_nodes_form, .ctx = &x->part[LIST_NODES], .data_only = true },
		{ .form = &model_metrics_form, .ctx = &x->part[LIST_METRICS], .data_only = true },
		{ .form = &model_account_form, .ctx = &x->part[LIST_ACCOUNT], .data_only = true },
		{ .form = &model_groups_form, .ctx = &x->part[LIST_GROUPS], .data_only = true },
		{ .form = &model_needs_form, .ctx = &x->part[LIST_EVENTS] },
	};

	document_title(d, INK_BOLD, "%s, %s%s%s", m->id, m->title, *m->tma ? ", TMA " : "", m->tma);
	document_table(d, &head);
	document_table(d, &TABLE_OF(names_form, NULL, x->name, x->n));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		document_table(d, &parts[i]);
	if (*m->caution)
		document_note(d, m->caution);
}
