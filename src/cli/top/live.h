/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live - the screen of `top`: views of the last interval that monitor/top.h found, and keys.
 *
 *	live_open(&l, cli, &err)	targets and events; the screen is not touched
 *	live_run(&l, &err)		until the user or a signal ends it
 *	live_close(&l)
 *
 * Every view but the first lines of the first is a table (top_tables.c) in a pager, which is made
 * anew after each interval; sort, filter, place and folds stay. keys.def lists the keys;
 * live_keys.c acts on them, live_draw.c draws. One thread: keys come between readings of the loop.
 */
#ifndef CYCLADE_CLI_LIVE_H
#define CYCLADE_CLI_LIVE_H

#include <regex.h>

#include "base/hash.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/screen/sheet.h"
#include "monitor/top.h"
#include "report/sampled_tree.h"

enum live_view {
#define VIEW(id, name, form) VIEW_##id,
#include "cli/top/views.def"
#undef VIEW
	VIEWS
};

struct live_tab { /* a view's table; its own rows are made anew after each interval */
	struct sheet s;
	struct buf rows; /* of it that the filter leaves */
};

enum live_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_FILE };

struct live_node { /* of the tree: a row of its view */
	uint32_t metric, part;
	uint64_t id, parent; /* from 1; parent 0: none */
	const struct model_metric *m;
	const struct tree_node *n;
	const char *label; /* the part's, or NULL */
};

struct live {
	struct cli *cli;
	struct measure_opts opts;
	struct top *top;
	struct sampled_tree tree;
	struct tree_report report; /* of the last interval; n_views 0: there is none */
	VEC(struct live_node) node;
	struct u64map folds; /* node id -> 1 open, 2 closed, by hand */
	struct style style;
	enum live_view view;
	struct live_tab tab[VIEWS];
	unsigned lines, columns;
	enum live_prompt prompt;
	char typed[256];
	char filter[256]; /* "": none */
	regex_t re;
	bool has_re;
	char message[512]; /* until the next key */
	bool held, help;
	uint64_t interval_ns;
};

int live_open(struct live *l, struct cli *cli, struct err *err) MUST_USE;
int live_run(struct live *l, struct err *err) MUST_USE;
void live_close(struct live *l);

/* ---- the parts of it ------------------------------------------------------------------------- */

extern const char *const live_views[VIEWS];
extern const struct table_form *const live_forms[VIEWS];

/* The view's table of the last interval, filtered and sorted. */
struct sheet *live_sheet(struct live *l);
/* It is to be made anew: an interval ended, the filter or the order changed. */
void live_refresh(struct live *l);
void live_key(struct live *l, int key);
void live_draw(struct live *l);
void live_say(struct live *l, const char *fmt, ...) PRINTF_(2, 3);
/* Sets the filter; a text that is no regular expression is looked for as it is. */
void live_filter(struct live *l, const char *text);
/* Why there is no tree; "". */
const char *live_no_tree(const struct live *l);
/* The tree's nodes of the last interval as rows. */
int live_nodes(struct live *l, struct err *err) MUST_USE;
bool live_node_open(const struct live *l, const struct live_node *n);

/* Names and actions of keys, for the page of keys. */
struct live_key_text {
	const char *keys, *text;
};
const struct live_key_text *live_key_texts(size_t *n);

#endif
