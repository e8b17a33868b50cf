/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules - what Linux and the PMUs' drivers refuse. README.md lists the rules with the kernel's
 * functions. Rules that the backing event meets anyway (rights, targets, unknown bits) are left to
 * the real kernel.
 */
#ifndef CYCLADE_SIM_RULES_H
#define CYCLADE_SIM_RULES_H

#include "context.h"

/* The counters that this event may use, with its precise_ip; 0 or an errno. */
int sim_rules_precise(const struct sim *sim, struct sim_counter *k);
/* 0 or the errno that perf_event_open has for this event; k->leader is set, its group is open. */
int sim_rules(const struct sim *sim, const struct sim_counter *k, pid_t pid, int cpu, bool cgroup);

#endif
