/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/model_choice.h"

#include <string.h>

#include "base/text.h"

struct model_sources model_choice_sources(const struct model_choice *c)
{
	return (struct model_sources){ .dir = c->dirs.v, .n_dirs = c->dirs.n };
}

void model_choice_put(struct buf *b, const struct model_choice *c)
{
	for (size_t i = 0; i < c->dirs.n; i++) {
		buf_puts(b, "--models ");
		(void)text_put_word(b, c->dirs.v[i]);
		buf_putc(b, ' ');
	}
}

/* PMUs of cores: cpu, cpu_core, cpu_atom, cpu_lowpower, armv8_pmuv3_0, ... Of a hybrid's the large
 * cores' comes first. */
static const char *first_core_pmu(const struct machine *m)
{
	const char *first = NULL;

	for (size_t i = 0; i < m->n_pmus; i++) {
		const char *name = m->pmu[i].name;

		if (!strcmp(name, "cpu_core"))
			return name;
		if (!first && (!strcmp(name, "cpu") || !strncmp(name, "cpu_", 4) ||
			       !strncmp(name, "armv", 4)))
			first = name;
	}
	return first ? first : "cpu";
}

struct model_cpu model_choice_cpu(const struct machine *m, const char *pmu)
{
	struct model_cpu cpu = { m->vendor ? m->vendor : "unknown", m->family, m->model,
				 m->stepping, pmu ? pmu : first_core_pmu(m) };

	model_cpu_midr(&cpu, m->cpuid);
	return cpu;
}

int model_choice_id(const struct model_choice *c, const struct machine *machine, const char *pmu,
		    const char **id, struct err *err)
{
	struct model_sources s = model_choice_sources(c);
	struct machine here;
	struct model_cpu cpu;

	if (c->named)
		return model_named(id, c->a, &s, c->named, pmu, err);
	if (!machine) {
		if (machine_read(&here, c->a, c->root, err))
			return -1;
		machine = &here;
	}
	cpu = model_choice_cpu(machine, pmu);
	return model_select(id, c->a, &s, &cpu, err);
}

int model_choice_load(const struct model_choice *c, const struct machine *machine, const char *pmu,
		      const double *system, struct model **out, struct err *err)
{
	struct model_sources s = model_choice_sources(c);
	const char *id;

	*out = NULL;
	if (model_choice_id(c, machine, pmu, &id, err))
		return -1;
	return model_load(out, &s, id, system, err);
}
