/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"

static int add_cpus(struct nodes *n, const struct pd_node *node, struct err *err)
{
	struct arena a = ARENA_INIT;
	const uint32_t *list;
	size_t count;
	int ret = 0;

	if (!cpu_list_parse(&a, node->cpus, strlen(node->cpus), &list, &count) && count) {
		uint32_t most = list[count - 1] + 1;
		int32_t *v = most > n->n_cpus ? realloc(n->of_cpu, most * sizeof(*v)) : n->of_cpu;

		if (v) {
			n->of_cpu = v;
			for (; n->n_cpus < most; n->n_cpus++)
				v[n->n_cpus] = NODE_NONE;
			for (size_t i = 0; i < count; i++)
				v[list[i]] = (int32_t)node->id;
		} else {
			ret = err_nomem(err);
		}
	}
	arena_free(&a);
	return ret;
}

int nodes_read(struct nodes *out, const struct pd_info *info, struct err *err)
{
	*out = (struct nodes){ .info = info, .n = (uint32_t)info->n_nodes };
	for (size_t i = 0; i < info->n_nodes; i++)
		if (info->nodes[i].id <= INT32_MAX && add_cpus(out, &info->nodes[i], err))
			return -1;
	/* nodes of memory alone are in both */
	if (info->n_memory > out->n)
		out->n = (uint32_t)info->n_memory;
	return 0;
}

void nodes_free(struct nodes *n)
{
	free(n->of_cpu);
	*n = (struct nodes){ 0 };
}

int32_t nodes_of_cpu(const struct nodes *n, uint32_t cpu)
{
	return cpu < n->n_cpus ? n->of_cpu[cpu] : NODE_NONE;
}

int32_t nodes_of_address(const struct nodes *n, uint64_t physical)
{
	const struct pd_info *info = n->info;
	uint64_t block;

	if (!info || !info->n_memory)
		return NODE_NONE;
	block = physical / info->memory_block;
	for (size_t i = 0; i < info->n_memory; i++) {
		const struct pd_memory_node *m = &info->memory[i];

		if (block < m->n_blocks && m->block[block / 64] >> (block % 64) & 1)
			return m->id <= INT32_MAX ? (int32_t)m->id : NODE_NONE;
	}
	return NODE_NONE;
}
