/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * selecting - --comm, --cgroup, --only-pid, --only-tid, --cpu and --time as a selection.
 *
 * A time is one of: seconds of the recording's clock, as perf and `info` show them (12.345678901);
 * a time with a unit, after the first sample (500ms); a part of the time between the first and the
 * last sample (10%). Both ends are in, except for the upper end in per cent below 100, as with
 * perf.
 */
#ifndef CYCLADE_CLI_SELECTING_H
#define CYCLADE_CLI_SELECTING_H

#include "analyse/selection.h"
#include "cli/cli.h"
#include "perfdata/perfdata.h"

/* Fills all but the event; lists are in the cli's arena. ERR_NOT_FOUND if the option needs times,
 * CPUs or cgroups and the samples have none. */
int selecting(struct selection *s, const struct pd *rec, struct cli *cli, struct err *err) MUST_USE;

#endif
