/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of each NUMA node from a CPU of each node: loads that wait for each other, and reading in
 * order. Memory is bound to its node before it is touched (set_mempolicy).
 */
#include <math.h>
#include <string.h>

#include "base/cpu_list.h"
#include "collect/machine.h"
#include "measure/calibrate/calibrate_int.h"

#define NODES_MOST 16u

/* Nodes that have memory or a CPU that may be used. */
int calibrate_nodes_of(struct calibrate_opts *o, struct arena *a, const struct machine *m,
		       struct err *err)
{
	struct calibrate_node *node = arena_alloc(a, (m->n_nodes + 1) * sizeof(*node));
	const uint32_t *list;
	size_t n;

	if (!node)
		return err_nomem(err);
	o->node = node;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const char *cpus = m->node[i].cpus ? m->node[i].cpus : "";
		struct calibrate_node *x = &node[o->n_nodes++];

		*x = (struct calibrate_node){ .node = m->node[i].id,
					      .has_memory = m->node[i].mem_total_kb > 0 };
		if (cpu_list_parse(a, cpus, strlen(cpus), &list, &n))
			n = 0;
		for (size_t k = 0; k < o->n_cpus && !x->has_cpu; k++)
			if (cpu_list_has(list, n, o->cpus[k])) {
				x->has_cpu = true;
				x->cpu = o->cpus[k];
			}
	}
	return 0;
}

static int figure(struct calibrating *g, const char *kernel, enum calibrate_unit unit,
		  struct estimate *out)
{
	struct job j = { .kernel = { kernel_find(kernel) }, .per = { 1 }, .unit = unit };
	const char *why = NULL;
	struct figure f;

	j.setup[0] = (struct kernel_setup){ .huge = true };
	j.setup[0].bytes = calibrate_bytes(&g->o->sizes, AT_MEMORY, &why);
	if (why) {
		*out = ESTIMATE_NONE(why);
		return 0;
	}
	if (unit == CALIBRATE_GBS)
		j.per[0] = j.bytes = kernel_count(j.kernel[0], Q_LOAD_BYTES, 0);
	if (calibrate_figure(g, &j, &f))
		return -1;
	*out = f.e;
	g->c->repeats += f.repeats;
	g->c->dropped += f.dropped;
	return 0;
}

static int one_place(struct calibrating *g, struct calibrate_place *p)
{
	struct err why = ERR_INIT;

	if (g->b->place(g->b->ctx, p->cpu, (int)p->memory, &why)) {
		p->ns = p->gbs = ESTIMATE_NONE(arena_strdup(g->a, why.what));
		return p->ns.why ? 0 : err_nomem(g->err);
	}
	return figure(g, "walk", CALIBRATE_NS, &p->ns) || figure(g, "read", CALIBRATE_GBS, &p->gbs)
		       ? -1
		       : 0;
}

int calibrate_nodes(struct calibrating *g)
{
	const struct calibrate_opts *o = g->o;
	size_t n = o->n_nodes < NODES_MOST ? o->n_nodes : NODES_MOST;
	struct err ignored = ERR_INIT;
	int rc = 0;

	if (n < 2) {
		g->c->no_places =
			n ? "this machine has one NUMA node" : "sysfs has no NUMA nodes here";
		return 0;
	}
	g->c->place = arena_alloc(g->a, (n * n + 1) * sizeof(*g->c->place));
	if (!g->c->place)
		return err_nomem(g->err);
	for (size_t i = 0; !rc && i < n * n; i++) {
		const struct calibrate_node *from = &o->node[i / n], *at = &o->node[i % n];
		struct calibrate_place *p = &g->c->place[g->c->n_places];

		if (!from->has_memory || !at->has_cpu)
			continue;
		*p = (struct calibrate_place){ .memory = from->node,
					       .node = at->node,
					       .cpu = at->cpu };
		g->c->n_places++;
		rc = one_place(g, p);
		if (g->o->news && !g->o->news(g->o->news_ctx, 1)) {
			g->c->stopped = true;
			break;
		}
	}
	if (!g->c->n_places)
		g->c->no_places = "no NUMA node has memory, or a CPU that this process may use";
	(void)g->b->place(g->b->ctx, o->cpu, -1, &ignored);
	return rc;
}
