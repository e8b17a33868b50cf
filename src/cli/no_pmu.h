/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_pmu - what is said where there is no cycle counter: what that means now, what was looked at,
 * what helps.
 */
#ifndef CYCLADE_CLI_NO_PMU_H
#define CYCLADE_CLI_NO_PMU_H

/* `why` as event_default gives it; `hypervisor` may be NULL; `so`: "sampling time instead";
 * `meanwhile`: a command that works here, or NULL. To standard error. */
void no_pmu_say(const char *why, const char *hypervisor, const char *so, const char *meanwhile);

#endif
