/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory is local and which is remote: the NUMA node of the CPU, and those of other sockets.
 */
#include <string.h>

#include "base/cpu_list.h"
#include "collect/machine.h"
#include "measure/validate.h"

/* Sockets of a node's CPUs, all the same; -1: none, or not known (a node of memory alone). */
static int socket_of(const struct machine *m, const uint32_t *cpus, size_t n)
{
	int socket = -1;

	for (size_t i = 0; i < n; i++) {
		int of = m->cpu && cpus[i] < m->cpus_available ? m->cpu[cpus[i]].socket : -1;

		if (of < 0 || (i && of != socket))
			return -1;
		socket = of;
	}
	return socket;
}

int validate_memory(struct validate_opts *o, struct arena *a, const struct machine *m, unsigned cpu,
		    struct err *err)
{
	unsigned *remote = arena_alloc(a, (m->n_nodes + 1) * sizeof(*remote));
	int here = socket_of(m, &(uint32_t){ cpu }, 1);

	if (!remote)
		return err_nomem(err);
	o->remote = remote;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const char *text = m->node[i].cpus ? m->node[i].cpus : "";
		const uint32_t *cpus;
		int socket;
		size_t n;

		if (cpu_list_parse(a, text, strlen(text), &cpus, &n))
			n = 0;
		socket = socket_of(m, cpus, n);
		if (n && cpu_list_has(cpus, n, cpu))
			o->own_node = m->node[i].id + 1;
		else if (here >= 0 && socket >= 0 && socket != here && m->node[i].mem_total_kb)
			remote[o->n_remote++] = m->node[i].id + 1;
	}
	if (!o->own_node)
		o->n_remote = 0;
	if (!o->n_remote)
		o->no_remote = m->n_nodes < 2 ? "this machine has one NUMA node"
					      : "no other socket has memory of its own";
	return 0;
}
