/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_choice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct model_sources cli_model_sources(const struct cli *cli)
{
	return (struct model_sources){ .dir = cli->opt.models.v, .n_dirs = cli->opt.models.n };
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

struct model_cpu cli_model_cpu(const struct machine *m, const char *pmu)
{
	struct model_cpu cpu = { m->vendor ? m->vendor : "unknown", m->family, m->model,
				 m->stepping, pmu ? pmu : first_core_pmu(m) };

	model_cpu_midr(&cpu, m->cpuid);
	return cpu;
}

int cli_model_id(struct cli *cli, const struct machine *machine, const char *pmu, const char **id,
		 struct err *err)
{
	struct model_sources s = cli_model_sources(cli);
	struct machine here;
	struct model_cpu cpu;

	if (cli->opt.model) {
		*id = cli->opt.model;
		return 0;
	}
	if (!machine) {
		if (machine_read(&here, &cli->arena, cli->opt.sysroot ? cli->opt.sysroot : "", err))
			return -1;
		machine = &here;
	}
	cpu = cli_model_cpu(machine, pmu);
	return model_select(id, &cli->arena, &s, &cpu, err);
}

int cli_model(struct cli *cli, const struct machine *machine, const char *pmu, const double *system,
	      struct model **out, struct err *err)
{
	struct model_sources s = cli_model_sources(cli);
	const char *id;

	*out = NULL;
	if (cli_model_id(cli, machine, pmu, &id, err))
		return -1;
	return model_load(out, &s, id, system, err);
}

int cli_cpu_or_model(struct options *o, struct err *err)
{
	if (!o->cpu || !isalpha((unsigned char)*o->cpu))
		return 0;
	if (o->model && strcmp(o->model, o->cpu) != 0) {
		(void)err_set(err, ERR_USAGE, "--cpu %.40s and --model %.40s name two models",
			      o->cpu, o->model);
		return err_hint(err, "CPUs are numbers: --cpu 0-3,8");
	}
	o->model = o->cpu;
	o->cpu = NULL;
	return 0;
}
