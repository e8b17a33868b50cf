/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts_out - rows of named facts, written as csv or json: for lists whose terminal form is their
 * own.
 */
#ifndef CYCLADE_CLI_FACTS_OUT_H
#define CYCLADE_CLI_FACTS_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

enum fact_kind { FACT_TEXT, FACT_NUMBER, FACT_BOOL }; /* NAN: not said */

struct fact {
	const char *key;
	enum fact_kind kind;
	const char *text; /* "" is said as nothing */
	double number;
};

#define FACTS_MAX 24

/* Fills at most FACTS_MAX facts of row i; the same keys for each row. Returns how many. */
typedef size_t facts_fn(const void *ctx, size_t i, struct fact *out);

void facts_csv(struct buf *b, char sep, facts_fn *each, const void *ctx, size_t n);
/* Members of an object that is open. */
void facts_json(struct json *j, const struct fact *f, size_t n);

#endif
