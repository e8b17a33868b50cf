/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_choice - which model a command works with: the one that --model names, else the one for
 * this machine (or the captured one of --sysroot); texts of --models DIR go over those compiled in.
 */
#ifndef CYCLADE_CLI_MODEL_CHOICE_H
#define CYCLADE_CLI_MODEL_CHOICE_H

#include "cli/cli.h"
#include "collect/machine.h"
#include "model/model.h"

/* Lives as long as the options do. */
struct model_sources cli_model_sources(const struct cli *cli);

/* The CPU behind one of the machine's core PMUs; pmu NULL: the first there is, else "cpu". */
struct model_cpu cli_model_cpu(const struct machine *m, const char *pmu);

/* Its id, in the cli's arena. `machine` NULL: read here. */
int cli_model_id(struct cli *cli, const struct machine *machine, const char *pmu, const char **id,
		 struct err *err) MUST_USE;

/* The same, loaded: model_free() it. `system` as for model_load(). */
int cli_model(struct cli *cli, const struct machine *machine, const char *pmu, const double *system,
	      struct model **out, struct err *err) MUST_USE;

/* --cpu is -C's long name: CPUs are numbers, a model is a name, which becomes --model. */
int cli_cpu_or_model(struct options *o, struct err *err) MUST_USE;

#endif
