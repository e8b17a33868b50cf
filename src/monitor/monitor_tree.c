/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.NAME in a formula: a node or metric of the model's tree, by the model's own formula. Events
 * of the model that it needs become inputs.
 */
#include <math.h>
#include <string.h>

#include "monitor/monitor_int.h"

#define PREFIX "tree."

static int make_nodes_room(struct monitor *m, size_t kind, struct err *err)
{
	const struct model *model = m->rows->kind[kind].model;

	if (m->model[kind].node)
		return 0;
	m->model[kind].count = arena_alloc(m->a, (model->n_events + 1) * sizeof(double));
	m->model[kind].node = arena_alloc(m->a, (model->n_metrics + 1) * sizeof(struct value));
	if (!m->model[kind].count || !m->model[kind].node)
		return err_nomem(err);
	for (size_t i = 0; i < model->n_events; i++)
		m->model[kind].count[i] = NAN;
	memset(m->model[kind].node, 0, (model->n_metrics + 1) * sizeof(struct value));
	return 0;
}

int monitor_node(struct monitor *m, size_t kind, const char *name, size_t len, struct expr_ref *out,
		 struct err *err)
{
	const struct model *model = m->rows->kind[kind].model;
	const size_t before = strlen(PREFIX);
	uint32_t i;

	if (len <= before || memcmp(name, PREFIX, before) != 0)
		return 0;
	i = model ? model_metric_named(model, name + before, len - before) : MODEL_NONE;
	if (i == MODEL_NONE || !model->metric[i].expr) {
		*out = (struct expr_ref){ .kind = EXPR_ABSENT };
		return 1;
	}
	if (make_nodes_room(m, kind, err))
		return -1;
	*out = (struct expr_ref){ .kind = EXPR_METRIC,
				  .index = i,
				  .program = model->metric[i].expr };
	return 1;
}

int monitor_model_input(struct monitor *m, size_t kind, uint32_t event, uint32_t *out,
			struct err *err)
{
	const struct core_kind *k = &m->rows->kind[kind];
	const struct model_event *e = &k->model->event[event];
	struct input_name name = { e->name, strlen(e->name), m->rows->hybrid ? kind : ANY_KIND };
	const char *text;

	if (make_nodes_room(m, kind, err))
		return -1;
	text = model_event_text(m->a, e, k->pmu);
	if (!text)
		return err_nomem(err);
	if (monitor_input(m, name, text, out, err))
		return -1;
	m->input.v[*out].event = event;
	return 0;
}

void monitor_nodes(struct monitor *m, const struct metric *x, const double *system)
{
	const struct model *model = m->rows->kind[x->model].model;
	double *count = m->model[x->model].count;
	struct value *node = m->model[x->model].node;
	struct expr_env env = { .count = count, .n_lps = 1, .system = system, .metric = node };

	for (size_t i = 0; i < x->n_inputs; i++) {
		uint32_t event = m->input.v[x->input[i]].event;

		if (event != MODEL_NONE)
			count[event] = m->now[x->input[i]];
	}
	for (size_t i = 0; i < x->n_nodes; i++)
		node[x->node[i]] = expr_eval(model->metric[x->node[i]].expr, &env);
}
