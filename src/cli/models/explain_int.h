/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain_int - for cmd_explain.c and explain_account.c: text in lines behind labels.
 */
#ifndef CYCLADE_CLI_EXPLAIN_INT_H
#define CYCLADE_CLI_EXPLAIN_INT_H

#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "model/account.h"

enum { EXPLAIN_LABEL = 12 };

struct explain {
	struct cli *cli;
	struct model *m;
	const struct account *acc; /* NULL: the model has none */
	struct style st;
	struct buf b;
	double system[SYSTEM_COUNT]; /* not known: only what no machine takes is left out */
	bool *seen;		     /* by metric */
	bool *needed;		     /* by event */
	bool *latency;		     /* by event: its retire latency is needed */
};

/* Text of several words, broken to the width behind `indent` blanks. */
void explain_wrapped(struct explain *x, const char *text, size_t indent);
void explain_label(struct explain *x, const char *label);
/* Nothing where the text is empty. */
void explain_fact(struct explain *x, const char *label, const char *text);
void explain_title(struct explain *x, const char *name, const char *what);
/* The events marked in `needed`, with their encodings; the same as an array "events". */
void explain_events(struct explain *x);
void explain_json_events(struct explain *x, struct json *j);

/* explain_account.c */
void explain_account_node(struct explain *x, uint32_t node);
void explain_account_json(struct explain *x, struct json *j, uint32_t node);
/* Names of the nodes that an event is in, comma after comma, behind what is there. */
void explain_account_users(struct explain *x, uint32_t event, struct buf *names);

/* explain_group.c */
bool explain_is_group(const struct explain *x, const char *name);
void explain_group(struct explain *x, const char *name);
void explain_group_json(struct explain *x, struct json *j, const char *name);

#endif
