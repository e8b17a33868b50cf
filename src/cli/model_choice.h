/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_choice - which model a command works with, by --model, --models and --sysroot.
 */
#ifndef CYCLADE_CLI_MODEL_CHOICE_H
#define CYCLADE_CLI_MODEL_CHOICE_H

#include "cli/cli.h"
#include "plan/model_choice.h"

/* Lives as long as the options do. */
struct model_sources cli_model_sources(const struct cli *cli);

struct model_choice cli_model_choice(struct cli *cli);

/* The machine's own or the one that was named, loaded: model_free() it. `machine` NULL: read
 * here. */
int cli_model(struct cli *cli, const struct machine *machine, const char *pmu, struct model **out,
	      struct err *err) MUST_USE;

/* --model by another name becomes the id; that of a hybrid stays until its PMU is known. */
int cli_model_name(struct cli *cli, struct err *err) MUST_USE;

/* --cpu is -C's long name: CPUs are numbers, a model is a name, which becomes --model. */
int cli_cpu_or_model(struct cli *cli, struct err *err) MUST_USE;

#endif
