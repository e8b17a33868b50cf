/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/plan.h"

void plan_print(struct buf *out, const struct plan *p, const struct model *m,
		const struct schedule_limits *l)
{
	struct schedule_limits with = *l;

	for (size_t s = 0; s < p->n_stages; s++) {
		const struct plan_stage *x = &p->stage[s];

		buf_printf(out, "stage %zu %s:", s,
			   x->under == MODEL_NONE ? "always" : m->metric[x->under].path);
		for (size_t i = 0; i < x->n_groups; i++)
			buf_printf(out, " %u", x->group[i]);
		buf_puts(out, "\n");
		for (size_t i = 0; i < x->n_metrics; i++) {
			uint32_t g = p->metric_group[x->metric[i]];

			buf_printf(out, "\t%s", m->metric[x->metric[i]].path);
			if (g != MODEL_NONE)
				buf_printf(out, " %u\n", g);
			else
				buf_puts(out, p->mixed[x->metric[i]] ? " mixed\n" : " -\n");
		}
	}
	if (p->n_groups && p->group[0].pinned) {
		with.beside = p->group[0].event;
		with.n_beside = p->group[0].n;
	}
	for (size_t g = 0; g < p->n_groups; g++) {
		const struct plan_group *x = &p->group[g];

		buf_printf(out, "group %zu%s%s: ", g, x->core ? "" : " aside",
			   x->pinned ? " always" : "");
		schedule_print_group(out, m, x->pinned ? l : &with, x->event, x->n);
		buf_puts(out, "\n");
	}
	for (size_t i = 0; i < p->n_impossible; i++)
		buf_printf(out, "impossible: %s\n", m->event[p->impossible[i]].name);
	for (size_t i = 0; i < p->n_latency; i++)
		buf_printf(out, "latency: %s\n", m->event[p->latency[i]].name);
	for (size_t g = 0; g < p->n_samplers; g++) {
		buf_printf(out, "sampled together %zu: ", g);
		schedule_print_group(out, m, l, p->sampler[g].event, p->sampler[g].n);
		buf_puts(out, "\n");
	}
	buf_printf(out, "groups for all: %u\n", p->groups_for_all);
	if (p->n_stages > 1)
		buf_printf(out, "groups down to one node: %u at most\n", p->groups_at_once);
}
