/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The formulas of --why: each metric's, with the values that it was worked out of.
 */
#include "base/buf.h"
#include "report/tree_view.h"

struct names {
	const struct model *m;
};

static const char *formula_name_of(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const struct model *m = ((const struct names *)ctx)->m;

	if (kind == EXPR_METRIC)
		return index < m->n_metrics ? m->metric[index].name : NULL;
	if (kind == EXPR_EVENT || kind == EXPR_LATENCY)
		return index < m->n_events ? m->event[index].name : NULL;
	return NULL;
}

int tree_formulas(const char *const **out, struct arena *a, const struct tree *t,
		  const struct tree_counts *c, struct err *err)
{
	const struct model *m = t->model;
	const char **text = arena_alloc(a, (m->n_metrics + 1) * sizeof(*text));
	struct value *value = arena_alloc(a, (m->n_metrics + 1) * sizeof(*value));
	const struct expr_env env = { .count = c->count,
				      .n_lps = c->n_lps,
				      .metric = value,
				      .latency = c->latency,
				      .system = c->system };
	struct names names = { m };
	struct buf b = BUF_INIT;

	if (!text || !value)
		return err_nomem(err);
	for (size_t i = 0; i < m->n_metrics; i++)
		value[i] = t->node[i].value;
	for (size_t i = 0; i < m->n_metrics; i++) {
		if (!m->metric[i].expr)
			continue;
		buf_reset(&b);
		expr_print(m->metric[i].expr, &env, &b, formula_name_of, &names);
		text[i] = b.failed ? NULL : arena_strdup(a, buf_str(&b));
		if (!text[i])
			break;
	}
	buf_free(&b);
	for (size_t i = 0; i < m->n_metrics; i++)
		if (m->metric[i].expr && !text[i])
			return err_nomem(err);
	*out = text;
	return 0;
}
