/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_int - an account half made; for account*.c.
 */
#ifndef CYCLADE_MODEL_ACCOUNT_INT_H
#define CYCLADE_MODEL_ACCOUNT_INT_H

#include "model/account.h"
#include "model/load/model_int.h"

#define PENALTY_MAX 1e6 /* cycles: more than a page fault takes */

struct account_row {		       /* by raw row */
	uint32_t node;		       /* its index, MODEL_NONE */
	uint32_t parent;	       /* rows; MODEL_NONE */
	uint32_t child, last, sibling; /* rows; MODEL_NONE */
};

struct account_build {
	struct account *acc;
	const struct model *m;
	struct arena *a;
	struct raw *r;
	struct account_row *row;
	uint32_t *row_of;   /* by node */
	const char **words; /* for the nearest name; made when first needed */
	struct err *err;
};

/* "file:line: ..." and, as the hint, the key's value in the line with a caret below it. */
int account_fail(struct account_build *b, const struct raw_value *v, enum account_key key,
		 const char *fmt, ...) PRINTF_(4, 5);
/* account_build.c: fills acc->node of the rows, parents first; acc->order comes last. */
int account_nodes(struct account_build *b) MUST_USE;
/* "167", "3.5 ref" */
bool account_cost(const char *s, size_t len, double *penalty, bool *reference, bool *ns);

#endif
