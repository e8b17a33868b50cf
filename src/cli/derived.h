/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * derived - derived events of IBS as events of commands: AMD's, and the user's own.
 *
 * The user's own are in --ibs-events FILE, else in ibs-events beside the configuration file, if it
 * is there (store/ibs_own.h has the format).
 *
 * When a recording is read, -e NAME means the samples of IBS that are the event: -e becomes the
 * recorded event that they are samples of, and the selection asks each sample. An event of the
 * recording with that name goes before. With other names beside it those are as usual; two derived
 * events may be of ops and of fetches, but not both of one, whose samples would be in both. When a
 * recording is made, -e NAME becomes --ibs and --keep.
 */
#ifndef CYCLADE_CLI_DERIVED_H
#define CYCLADE_CLI_DERIVED_H

#include "analyse/selection.h"
#include "cli/cli.h"
#include "perfdata/perfdata.h"
#include "report/view.h"
#include "store/ibs_event.h"

/* The user's own; read once. */
int derived_own(struct cli *cli, const struct ibs_own **out, struct err *err) MUST_USE;

/* record: takes derived events out of -e. *keep: the predicate of --keep with theirs. */
int derived_record(struct cli *cli, const char **keep, struct err *err) MUST_USE;

/* Recordings: *out NULL if -e names no derived event. */
struct derived;
int derived_open(struct derived **out, struct cli *cli, const struct pd *rec,
		 struct err *err) MUST_USE;
void derived_select(struct derived *d, struct selection *s); /* NULL is fine */
/* Adds a note on which samples are meant, and one if AMD means them otherwise on older CPUs. */
void derived_note(const struct derived *d, struct view_source *s, struct arena *a);
void derived_close(struct derived *d); /* NULL is fine */

#endif
