/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree's nodes as figures of a comparison: the same ones in each run.
 */
#include <math.h>

#include "measure/compare/compare_int.h"

static struct compare_figure node_figure_of(struct programs *p, const struct drill_part *part,
					    size_t m)
{
	const struct tree_node *n = &part->tree.node[m];
	const struct model_metric *x = &part->tree.model->metric[m];
	struct compare_figure f = { .name = x->path, .unit = x->level ? "share" : x->unit };

	if (part->label)
		f.name = arena_printf(&p->now, "%s/%s", part->label, x->path);
	if (n->value.why == VALUE_OK && n->doubt == DOUBT_NONE) {
		f.value = n->shown * (x->level ? 1 : x->scale);
	} else {
		f.value = NAN;
		f.why = n->doubt ? "it contradicts another value" : "it could not be counted";
	}
	return f;
}

int compare_tree_figures(struct programs *p, struct compare_figure **out, size_t *n,
			 struct err *err)
{
	size_t most = 0;

	*n = 0;
	if (drill_results(&p->d, &p->k, &p->now, 0, UINT64_MAX, err))
		return -1;
	for (size_t i = 0; i < p->d.n_parts; i++)
		most += p->d.part[i].tree.n;
	*out = arena_alloc(&p->now, (most + 1) * sizeof(**out));
	if (!*out)
		return err_nomem(err);
	for (size_t i = 0; i < p->d.n_parts; i++) {
		const struct drill_part *part = &p->d.part[i];
		const bool *wanted = p->d.core[part->core].plan.wanted;

		for (size_t m = 0; m < part->tree.n; m++) {
			if (wanted && !wanted[m])
				continue;
			(*out)[*n] = node_figure_of(p, part, m);
			if (!(*out)[(*n)++].name)
				return err_nomem(err);
		}
	}
	return 0;
}
