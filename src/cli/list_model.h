/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list_model - the lists that come from models: models, nodes, metrics, and with --model events.
 */
#ifndef CYCLADE_CLI_LIST_MODEL_H
#define CYCLADE_CLI_LIST_MODEL_H

#include "cli/cli.h"

int list_models(struct cli *cli, const char *pattern);
int list_nodes(struct cli *cli, const char *pattern);
int list_metrics(struct cli *cli, const char *pattern);
int list_model_events(struct cli *cli, const char *pattern);

/* Does a glob, or a piece of a name, fit? NULL fits all. */
bool list_matches(const char *pattern, const char *name);

#endif
