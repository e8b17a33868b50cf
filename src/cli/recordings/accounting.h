/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accounting - the account of cycles that a recording is to be read by: the model of the CPU it was
 * made on (or --model), its tree, the user's --penalties, how long each event had a counter, and
 * which event is which. A hybrid has a tree for each kind of its cores: the large ones' first.
 *
 *	accounting_open(&x, cli, rec, bases, &err)
 *	profile_build() with po.mux = x.mux
 *	accounting_whole(&x, cli, rec, profile)		kinds without a sample are gone after it
 *	accounting_close(&x)		after whatever was made with it
 */
#ifndef CYCLADE_CLI_ACCOUNTING_H
#define CYCLADE_CLI_ACCOUNTING_H

#include "analyse/account.h"
#include "analyse/mux.h"
#include "cli/cli.h"

#define ACCOUNTING_CORES 4
#define ACCOUNTING_NOTES (4 + 3 * ACCOUNTING_CORES)

struct accounting_core { /* a kind of cores */
	struct model *model;
	struct account *acc;
	struct account_bound bound;
	const char *pmu; /* of a hybrid; else NULL */
	unsigned cpus;	 /* of this kind; 0: all */
};

struct accounting {
	struct accounting_core core[ACCOUNTING_CORES];
	size_t n_cores; /* 1 at least, once it is open */
	const struct mux *mux;
	struct mux *own_mux; /* the same, unless others share it */
	const char *notes[ACCOUNTING_NOTES];
	size_t n_notes;
};

struct result_bases;
/* `bases` keep the multiplexing, if they are not NULL. */
int accounting_open(struct accounting *x, struct cli *cli, const struct pd *rec,
		    struct result_bases *bases, struct err *err) MUST_USE;
void accounting_whole(struct accounting *x, struct cli *cli, const struct pd *rec,
		      const struct profile *p);
/* Returns the kind of cores with the most cycles, for a single table; call it after
 * accounting_whole. */
const struct accounting_core *accounting_most(const struct accounting *x);
void accounting_close(struct accounting *x);

#endif
