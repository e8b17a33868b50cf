/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accounting - the account of cycles that a recording is to be read by: the model of the CPU it was
 * made on (or --model), its tree, the user's --penalties, how long each event had a counter, and
 * which event is which.
 *
 *	accounting_open(&x, cli, rec, &err)
 *	profile_build() with po.mux = x.mux
 *	accounting_whole(&x, cli, rec, profile, &err)
 *	accounting_close(&x)		after whatever was made with it
 */
#ifndef CYCLADE_CLI_ACCOUNTING_H
#define CYCLADE_CLI_ACCOUNTING_H

#include "analyse/account.h"
#include "analyse/mux.h"
#include "cli/cli.h"

#define ACCOUNTING_NOTES 4

struct accounting {
	struct model *model;
	struct account *acc;
	struct mux *mux;
	struct account_bound bound;
	const char *pmu; /* of a hybrid; else NULL */
	const char *notes[ACCOUNTING_NOTES];
	size_t n_notes;
};

int accounting_open(struct accounting *x, struct cli *cli, const struct pd *rec,
		    struct err *err) MUST_USE;
int accounting_whole(struct accounting *x, struct cli *cli, const struct pd *rec,
		     const struct profile *p, struct err *err) MUST_USE;
void accounting_close(struct accounting *x);

#endif
