/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list_model - the lists that come from models: models, nodes, metrics, the cycle
 * accounting, and with --model events.
 */
#ifndef CYCLADE_CLI_LIST_MODEL_H
#define CYCLADE_CLI_LIST_MODEL_H

#include "base/buf.h"
#include "cli/cli.h"

int list_models(struct cli *cli, const char *pattern);
int list_nodes(struct cli *cli, const char *pattern);
int list_account(struct cli *cli, const char *pattern);
int list_metrics(struct cli *cli, const char *pattern);
int list_groups(struct cli *cli, const char *pattern);
int list_model_events(struct cli *cli, const char *pattern);

/* ---- for all lists ---- */

/* How a list is written; `list` is what list_put() was given. */
struct list_formats {
	void (*term)(struct buf *b, const void *list);
	void (*csv)(struct buf *b, const void *list, char sep);
	void (*json)(struct buf *b, const void *list);
};

/* In the format that the options ask for; the command's exit code. */
int list_put(struct cli *cli, const struct list_formats *f, const void *list, struct err *err);
/* Text in what is left of the terminal's line behind `used` columns. */
void list_put_rest(struct buf *b, const struct style *st, const char *text, size_t used);
/* That --limit left out so many; nothing of 0. */
void list_put_more(struct buf *b, size_t more);
/* Does a glob, or a piece of a name, fit? NULL fits all. */
bool list_matches(const char *pattern, const char *name);

#endif
