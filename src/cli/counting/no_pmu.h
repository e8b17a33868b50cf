/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_pmu - the message if there is no cycle counter: the consequence, the checks, the remedy.
 */
#ifndef CYCLADE_CLI_NO_PMU_H
#define CYCLADE_CLI_NO_PMU_H

#include "cli/cli.h"

/* `why` as event_default gives it; `hypervisor` may be NULL; `so`: "sampling time instead";
 * `meanwhile`: a command that works here, or NULL. To standard error. */
void no_pmu_say(const char *why, const char *hypervisor, const char *so, const char *meanwhile);

/* Why there is no cycle counter here, or "" if there is one. */
void no_pmu_find(const struct cli *cli, char why[256]);
/* The five lines, then the exit code. */
int no_pmu_end(struct cli *cli, const char *why, const char *meanwhile);

#endif
