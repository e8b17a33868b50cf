/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups - names that stand for several metrics of a model.
 *
 *	Mem, BvMB, l2_cache		what the model's `groups` lists have
 *	TopdownL2, PipelineL2		nodes of that level, as perf calls them on Intel and on AMD
 *	Fetch_Latency_group		children of that node; perf: tma_fetch_latency_group
 *	Bottlenecks			metrics of the area Bottleneck: together all slots
 *
 * Case does not matter. Metrics that only help others (area Aux) are in no group.
 */
#ifndef CYCLADE_MODEL_GROUPS_H
#define CYCLADE_MODEL_GROUPS_H

#include "model/model.h"

#define MODEL_BOTTLENECKS "Bottlenecks"

struct model_group {
	const char *name;
	size_t n; /* metrics in it */
};

/* Whether metric `metric` belongs to the group of that name. */
bool model_group_has(const struct model *m, uint32_t metric, const char *name, size_t len);
/* How many metrics do; 0: there is no such group. */
size_t model_group_count(const struct model *m, const char *name, size_t len);
/* Those, as the model lists them; *out is NULL if there are none or memory ran out. Returns how
 * many. Arena memory. */
size_t model_group_members(const uint32_t **out, struct arena *a, const struct model *m,
			   const char *name, size_t len);
/* The groups of a model, by name; of those of children, none. Arena memory. */
int model_groups(const struct model_group **out, size_t *n, struct arena *a, const struct model *m,
		 struct err *err) MUST_USE;
/* Name without "Bottleneck_" of a metric that counts the slots which one cause takes; NULL: it is
 * none. */
const char *model_bottleneck_name(const struct model_metric *m);
/* It is a bottleneck, and not the work that is wanted. */
bool model_bottleneck_is_loss(const struct model_metric *m);

#endif
