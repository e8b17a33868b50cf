/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "base/estimate.h"
#include "measure/drill/drill_latency_int.h"

/* A stage that asks for it was open at some time. */
static bool was_asked(const struct drill_core *c, uint32_t event)
{
	for (size_t s = 0; s < c->plan.n_stages; s++)
		for (size_t i = 0; stages_was_open(&c->stages, s) && i < c->plan.stage[s].n_latency;
		     i++)
			if (c->plan.stage[s].latency[i] == event)
				return true;
	return false;
}

static struct tree_latency latency_row_of(const struct drill *d, size_t core, uint32_t event)
{
	const struct drill_core *c = &d->core[core];
	const struct latency_use *u = &d->latency->core[core].use[event];

	return (struct tree_latency){ .event = c->m->event[event].name,
				      .where = d->n_cores > 1 ? c->pmu : NULL,
				      .samples = u->value.n,
				      .least = u->value.least,
				      .most = u->value.most,
				      .mean = u->value.mean,
				      .error = Z95 * u->value.se,
				      .used = c->latency[event],
				      .source = u->source,
				      .why = u->why };
}

int drill_latency_rows(const struct drill *d, struct arena *a, const struct tree_latency **out,
		       size_t *n, struct err *err)
{
	struct tree_latency *row;
	size_t all = 0;

	*n = 0;
	for (size_t c = 0; c < d->n_cores; c++)
		all += d->core[c].plan.n_latency;
	*out = row = arena_alloc(a, (all + 1) * sizeof(*row));
	if (!row)
		return err_nomem(err);
	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t i = 0; i < d->core[c].plan.n_latency; i++)
			if (was_asked(&d->core[c], d->core[c].plan.latency[i]))
				row[(*n)++] = latency_row_of(d, c, d->core[c].plan.latency[i]);
	return 0;
}

const char *drill_latency_note(const struct drill *d, struct arena *a)
{
	const struct tree_latency *row;
	const char *sampled = "", *table = "", *none = "", *where = "";
	size_t of[3] = { 0 }, n;

	if (drill_latency_rows(d, a, &row, &n, NULL) || !n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		of[row[i].source]++;
	if (d->latency->follows)
		where = arena_printf(a, " in %zu task%s", d->latency->n_tasks,
				     d->latency->n_tasks == 1 ? "" : "s");
	if (of[TREE_LATENCY_SAMPLED])
		sampled = arena_printf(a, " %zu sampled%s;", of[TREE_LATENCY_SAMPLED],
				       where ? where : "");
	if (of[TREE_LATENCY_STATIC])
		table = arena_printf(a, " %zu from the model's table;", of[TREE_LATENCY_STATIC]);
	if (of[TREE_LATENCY_UNKNOWN])
		none = arena_printf(a, " %zu not known;", of[TREE_LATENCY_UNKNOWN]);
	if (!sampled || !table || !none)
		return NULL;
	return arena_printf(a, "retire latencies:%s%s%s -v lists them", sampled, table, none);
}

const char *drill_latency_why(const struct drill *d, struct arena *a)
{
	const struct tree_latency *row;
	const char *best = NULL;
	size_t most = 0, n;

	if (drill_latency_rows(d, a, &row, &n, NULL))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		for (size_t j = 0; j < n && row[i].why; j++)
			same += row[j].why == row[i].why;
		if (same > most) {
			most = same;
			best = row[i].why;
		}
	}
	return best ? arena_printf(a, "not sampled: %s", best) : NULL;
}

void drill_latency_describe(struct buf *out, const struct drill *d)
{
	const struct drill_latency *l = d->latency;

	for (size_t g = 0; g < l->n_groups; g++) {
		buf_printf(out, "sampled for retire latencies, group %zu%s\n", g + 1,
			   d->core[l->group[g].core].plan.n_stages > 1
				   ? ", only while its part of the tree is open"
				   : "");
		for (size_t i = 0; i < l->group[g].n; i++) {
			const struct latency_event *e = &l->event[l->group[g].first + i];

			buf_printf(out, "  %s\n      precise, each %llu; type %u, config 0x%llx",
				   e->name, (unsigned long long)e->period, e->attr.type,
				   (unsigned long long)e->attr.config);
			if (e->attr.config1)
				buf_printf(out, ", config1 0x%llx",
					   (unsigned long long)e->attr.config1);
			buf_putc(out, '\n');
		}
	}
}
