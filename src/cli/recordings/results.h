/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results - all results of a recording, as documents, each made when first asked for: for commands
 * that show several or query across them.
 *
 *	results_open(&all, cli, path, &err)
 *	results_get(&d, all, RESULT_CALLS, NULL, &err)
 *	results_close(all)
 *
 * Symbols and the selection follow the options of `cli`, which must outlive the results; they
 * change nothing in it. Documents are whole, as for programs: --min and --limit are the reader's.
 */
#ifndef CYCLADE_CLI_RESULTS_H
#define CYCLADE_CLI_RESULTS_H

#include "cli/recordings/result.h"

struct results;

/* `input`: the recording as the user named it. */
int results_open(struct results **out, struct cli *cli, const char *input,
		 struct err *err) MUST_USE;
/* First, if most results are wanted: walks over the samples for all of them at once, and for the
 * cube of that event (SIZE_MAX: none). Trees of more than so many `chains` are left to
 * results_get(). */
int results_walk(struct results *all, size_t cube_event, size_t chains, struct err *err) MUST_USE;
/* *d lives until results_close(). `function`: NULL, or the one that it is of; each is another
 * document. Fails, each time alike, if the recording has no data for it: *err has the reason. */
int results_get(struct document **d, struct results *all, enum result_id id, const char *function,
		struct err *err) MUST_USE;
/* The recording itself: records, images, address spaces. */
const struct recording *results_recording(const struct results *all);
/* Shared data, for others that use the same selection. */
struct result_bases *results_bases(struct results *all);
/* False: the recording has no data for it (no branch stacks, no call chains). Costs nothing. */
bool results_able(const struct results *all, enum result_id id);
void results_close(struct results *all);

#endif
