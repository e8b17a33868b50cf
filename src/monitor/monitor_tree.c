/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.NAME in a formula: a node or metric of the model's tree, by the model's own formula. Events
 * of the model that it needs become inputs.
 */
#include <math.h>
#include <string.h>

#include "collect/sysfs.h"
#include "measure/drill.h"
#include "monitor/monitor_int.h"

#define PREFIX "tree."

static int make_room(struct monitor *m, struct err *err)
{
	const struct model *model = m->model;

	if (m->node)
		return 0;
	m->model_count = arena_alloc(m->a, (model->n_events + 1) * sizeof(*m->model_count));
	m->node = arena_alloc(m->a, (model->n_metrics + 1) * sizeof(*m->node));
	if (!m->model_count || !m->node)
		return err_nomem(err);
	for (size_t i = 0; i < model->n_events; i++)
		m->model_count[i] = NAN;
	memset(m->node, 0, (model->n_metrics + 1) * sizeof(*m->node));
	return 0;
}

int monitor_node(struct monitor *m, const char *name, size_t len, struct expr_ref *out,
		 struct err *err)
{
	const size_t before = strlen(PREFIX);
	uint32_t i;

	if (len <= before || memcmp(name, PREFIX, before) != 0)
		return 0;
	i = m->model ? model_metric_named(m->model, name + before, len - before) : MODEL_NONE;
	if (i == MODEL_NONE || !m->model->metric[i].expr) {
		*out = (struct expr_ref){ .kind = EXPR_ABSENT };
		return 1;
	}
	if (make_room(m, err))
		return -1;
	*out = (struct expr_ref){ .kind = EXPR_METRIC,
				  .index = i,
				  .program = m->model->metric[i].expr };
	return 1;
}

/* The first PMU of cores, for which the model is. */
const char *monitor_core_pmu(const struct monitor *m)
{
	for (size_t i = 0; i < m->k.machine.n_pmus; i++)
		if (sys_core_pmu(m->k.root, m->k.machine.pmu[i].name))
			return m->k.machine.pmu[i].name;
	return "cpu";
}

int monitor_model_input(struct monitor *m, uint32_t event, uint32_t *out, struct err *err)
{
	const struct model_event *e = &m->model->event[event];
	const char *text;

	if (make_room(m, err))
		return -1;
	text = model_event_text(m->a, e, monitor_core_pmu(m));
	if (!text)
		return err_nomem(err);
	if (monitor_input(m, e->name, strlen(e->name), text, out, err))
		return -1;
	m->input.v[*out].event = event;
	return 0;
}

void monitor_nodes(struct monitor *m, const struct metric *x, const double *system)
{
	struct expr_env env = {
		.count = m->model_count, .n_lps = 1, .system = system, .metric = m->node
	};

	for (size_t i = 0; i < x->n_inputs; i++) {
		uint32_t event = m->input.v[x->input[i]].event;

		if (event != MODEL_NONE)
			m->model_count[event] = m->now[x->input[i]];
	}
	for (size_t i = 0; i < x->n_nodes; i++)
		m->node[x->node[i]] = expr_eval(m->model->metric[x->node[i]].expr, &env);
}
