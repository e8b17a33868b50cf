/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results - all that can be made of a recording, as documents, each made when first asked for: for
 * whoever shows several or asks across them.
 *
 *	results_open(&all, cli, path, &err)
 *	results_get(&d, all, RESULT_CALLS, NULL, &err)
 *	results_close(all)
 *
 * Symbols and the selection are as the options of `cli` say, which must outlive the results and
 * whose recording it is: what is there is left as it is. Documents are whole, as for programs:
 * --min and --limit are the reader's.
 */
#ifndef CYCLADE_CLI_RESULTS_H
#define CYCLADE_CLI_RESULTS_H

#include "cli/recordings/result.h"

struct results;

/* `input`: the recording as the user named it. */
int results_open(struct results **out, struct cli *cli, const char *input,
		 struct err *err) MUST_USE;
/* *d lives until results_close(). `function`: NULL, or the one that it is of; each is another
 * document. Fails, each time alike, where the recording has nothing for it: *err says why. */
int results_get(struct document **d, struct results *all, enum result_id id, const char *function,
		struct err *err) MUST_USE;
/* The recording itself: records, images, address spaces. */
const struct recording *results_recording(const struct results *all);
/* For what is made of the same selection beside results. */
struct result_bases *results_bases(struct results *all);
/* False: what was recorded has nothing for it (no branch stacks, no call chains). Costs nothing. */
bool results_able(const struct results *all, enum result_id id);
void results_close(struct results *all);

#endif
