/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * browse - the results of a recording on a terminal: a stack of views, of which the top is seen.
 *
 *	browse_open(&b, cli, path, &err)	reads the recording; the screen is not touched
 *	browse_run(&b, &err)			until the user ends it
 *	browse_close(&b)
 *
 * keys.def lists the keys; browse_keys.c acts on them, browse_draw.c draws. Everything on the
 * screen is a table of a document (view.h), in its cells' own words.
 */
#ifndef CYCLADE_CLI_BROWSE_H
#define CYCLADE_CLI_BROWSE_H

#include "cli/browse/view.h"

struct browse {
	struct cli *cli;
	const char *path;
	struct style style;
	struct sources sources;
	VEC(struct browse_view *) stack;
	unsigned lines, columns; /* of the screen */
	char message[512];	 /* in place of the lines below the rows; until the next key */
	char found[128];	 /* was searched for last */
	bool ended;
};

int browse_open(struct browse *b, struct cli *cli, const char *path, struct err *err) MUST_USE;
int browse_run(struct browse *b, struct err *err) MUST_USE;
void browse_close(struct browse *b);

/* ---- the parts of it ------------------------------------------------------------------------- */

enum { BROWSE_NUMBERED = 9 }; /* as 1 ... 9 number them; others have no key of their own */
/* The results by their number, ANNOTATE apart; RESULT_COUNT: no more. */
enum result_id browse_result(size_t number);

struct browse_view *browse_top(const struct browse *b);
/* The table at hand. */
struct browse_tab *browse_tab(struct browse *b);
void browse_say(struct browse *b, const struct err *why);
/* Acts on a key. */
void browse_key(struct browse *b, int key);
void browse_draw(struct browse *b);
/* A text that is typed in the last line but one; false: it was given up. */
bool browse_prompt(struct browse *b, const char *lead, char *text, size_t size);

#endif
