/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "cli/browse/browse.h"

#include <unistd.h>

#include "cli/screen/screen.h"

enum { INDEX_ROWS = 50000 }; /* indexed before a key is looked for */

enum result_id browse_result(size_t number)
{
	return number < RESULT_ANNOTATE ? (enum result_id)number : RESULT_COUNT;
}

struct browse_view *browse_top(const struct browse *b)
{
	return b->stack.v[b->stack.n - 1];
}

struct browse_tab *browse_tab(struct browse *b)
{
	return browse_view_tab(browse_top(b), b->columns, b->style.ascii);
}

void browse_say(struct browse *b, const struct err *why)
{
	(void)snprintf(b->message, sizeof(b->message), "%.300s%s%.200s", why->what,
		       *why->hint ? ": " : "", why->hint);
}

int browse_open(struct browse *b, struct cli *cli, const char *path, struct err *err)
{
	struct browse_view *v;

	*b = (struct browse){ .cli = cli, .path = path, .style = cli_style(cli, STDOUT_FILENO) };
	if (sources_open(&b->sources, cli, path, err) ||
	    browse_view_open(&v, b->sources.v.v[0], RESULT_FUNCTIONS, NULL, err))
		return -1;
	vec_xpush(&b->stack, v);
	return 0;
}

/* A table that does not know its length is counted while no key is pressed. */
static bool browse_counts(struct browse *b)
{
	return !pager_index(browse_tab(b)->s.pager, INDEX_ROWS);
}

int browse_run(struct browse *b, struct err *err)
{
	if (screen_open(b->style.colour, err))
		return -1;
	while (!b->ended) {
		bool more = browse_counts(b);
		int key;

		browse_draw(b);
		key = screen_key(more ? 0 : -1);
		if (key == SCREEN_NONE && !more)
			break; /* the terminal is gone */
		if (key != SCREEN_NONE)
			browse_key(b, key);
	}
	screen_close();
	return 0;
}

void browse_close(struct browse *b)
{
	while (b->stack.n)
		browse_view_close(b->stack.v[--b->stack.n]);
	vec_free(&b->stack);
	sources_close(&b->sources);
}
