/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdicts - the verdicts of `validate` on this machine's events, for other commands.
 */
#ifndef CYCLADE_CLI_VERDICTS_H
#define CYCLADE_CLI_VERDICTS_H

#include "cli/cli.h"
#include "measure/validate_kept.h"
#include "perfdata/perfdata.h"

/* Reads them; out->when is 0 if there are none. `machine` has MACHINE_NAMES and MACHINE_MODEL;
 * NULL: read here. A file that cannot be read is an error, and then there are none. out->path is
 * NULL without an error if they have no place: cli_verdicts_nowhere() returns the reason. */
int cli_verdicts(struct cli *cli, const struct machine *machine, struct validate_kept *out,
		 struct err *err) MUST_USE;
const char *cli_verdicts_nowhere(const struct machine *m);
/* The same; an error becomes a note. In the cli's arena; NULL: out of memory. */
const struct validate_kept *cli_verdicts_noted(struct cli *cli);

/* The file of this machine in another folder beside the verdicts; NULL: out of memory. */
const char *verdicts_beside(struct cli *cli, const struct validate_kept *k, const char *folder);

/* The recording is of this machine's CPU model and kernel; *here is this machine. `why`: the error
 * if memory is short. */
bool verdicts_is_here(struct machine *here, struct cli *cli, const struct pd_info *i,
		      struct err *why);

/* "exact (validated 2026-11-23)", "over-counts: 2 times what it should (...)"; NULL: out of memory.
 */
const char *verdicts_of(struct cli *cli, const struct validate_kept *k, const char *event);

/* A note for each of the recording's events (`event` SIZE_MAX: all) that failed validation on this
 * machine. */
void verdicts_notes(const char *const **note, size_t *n, struct cli *cli, const struct pd *rec,
		    size_t event);

/* By the model's events: "failed validation here: over-counts, 2 times", or NULL. *out is NULL if
 * the recording is of another CPU model or kernel than this machine, or nothing was kept. */
const char *const *verdicts_wrong(struct cli *cli, const struct pd_info *i, const struct model *m);

#endif
