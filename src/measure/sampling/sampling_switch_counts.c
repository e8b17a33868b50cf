/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

#define MOST_CPUS 65536u

int switch_counts_begin(struct switch_counts *c, const struct sampling *r, uint64_t now,
			struct err *err)
{
	uint32_t most = 0;

	for (size_t i = 0; i < r->k.who.cpus.n; i++)
		if (r->k.who.cpus.v[i] > most)
			most = r->k.who.cpus.v[i];
	if (most >= MOST_CPUS)
		return 0;
	c->of = calloc((size_t)most + 1, sizeof(*c->of));
	if (!c->of)
		return err_nomem(err);
	c->n_cpus = (size_t)most + 1;
	c->since = now;
	return 0;
}

void switch_counts_saw(struct switch_counts *c, const uint8_t *p, size_t size)
{
	uint32_t cpu;

	/* its end: CPU, nothing, identifier */
	if (size < 24 || !(ld16(p + 4) & PERF_RECORD_MISC_SWITCH_OUT))
		return;
	cpu = ld32(p + size - 16);
	if (cpu >= c->n_cpus)
		return;
	c->all++;
	if (++c->of[cpu] > c->most)
		c->most = c->of[cpu];
}

void switch_counts_restart(struct switch_counts *c, uint64_t now)
{
	memset(c->of, 0, c->n_cpus * sizeof(*c->of));
	c->most = 0;
	c->all = 0;
	c->since = now;
}

void switch_counts_end(struct switch_counts *c)
{
	free(c->of);
	c->of = NULL;
}
