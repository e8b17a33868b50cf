/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of an interval as rows that can be folded: those below a node that is worth a look are
 * open, unless the user closed them.
 */
#include "cli/top/live.h"

const char *live_no_tree(const struct live *l)
{
	if (*top_no_samples(l->top))
		return top_no_samples(l->top);
	if (*top_no_cycles(l->top))
		return top_no_cycles(l->top);
	return l->tree.r ? sampling_tree(l->tree.r)->why : "";
}

static bool is_live_counted(const struct tree_source *s, uint32_t metric)
{
	const struct tree_node *n = &s->tree->node[metric];

	return s->tree->model->metric[metric].level && (!s->counted || s->counted[metric]) &&
	       (n->doubt != DOUBT_NONE || n->value.why == VALUE_OK);
}

static uint64_t id_of(size_t part, uint32_t metric)
{
	return ((uint64_t)part << 32 | metric) + 1;
}

/* The node's children, and theirs, in the model's order. */
static int put_below(struct live *l, size_t part, uint32_t parent, unsigned depth, struct err *err)
{
	enum { DEEPEST = 12 };
	const struct tree_source *s = &l->report.view[part].source;

	for (uint32_t i = 0; i < s->tree->n && depth < DEEPEST; i++) {
		const struct model_metric *m = &s->tree->model->metric[i];
		const struct live_node n = { .metric = i,
					     .part = (uint32_t)part,
					     .id = id_of(part, i),
					     .parent =
						     parent == MODEL_NONE ? 0 : id_of(part, parent),
					     .m = m,
					     .n = &s->tree->node[i],
					     .label = s->label };

		if (m->parent != parent || !is_live_counted(s, i))
			continue;
		if (vec_push(&l->node, n))
			return err_nomem(err);
		if (put_below(l, part, i, depth + 1, err))
			return -1;
	}
	return 0;
}

int live_nodes(struct live *l, struct err *err)
{
	l->node.n = 0;
	for (size_t i = 0; i < l->report.n_views; i++)
		if (put_below(l, i, MODEL_NONE, 0, err))
			return -1;
	return 0;
}

bool live_node_open(const struct live *l, const struct live_node *n)
{
	const uint64_t *by_hand = u64map_find(&l->folds, n->id);

	return by_hand && *by_hand ? *by_hand == 1 : n->n->over || n->n->path;
}
