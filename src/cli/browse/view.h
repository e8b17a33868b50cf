/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view - a document that is looked at: its tables, and in each of them a place.
 *
 *	browse_view_open(&v, source, id, function, &err)
 *	tab = browse_view_tab(v, width, ascii)	the table at hand, with its pager
 *	browse_view_close(v)
 *
 * The tables are those of the document that have rows, its main one first, tables of one row on
 * their side; then its notes. A page of another kind (keys) has no document.
 */
#ifndef CYCLADE_CLI_BROWSE_VIEW_H
#define CYCLADE_CLI_BROWSE_VIEW_H

#include "cli/screen/sheet.h"
#include "cli/browse/sources.h"

struct browse_tab {
	const char *name;
	struct sheet s; /* closed: not looked at yet */
	bool about;
};

struct browse_view {
	const char *title;     /* "functions", "annotate main" */
	struct source *source; /* NULL: of none */
	enum result_id id;
	const struct document *d;
	VEC(struct browse_tab *) tab;
	size_t at; /* of tab */
	struct arena a;
};

int browse_view_open(struct browse_view **out, struct source *source, enum result_id id,
		     const char *function, struct err *err) MUST_USE;
/* The keys. */
struct browse_view *browse_view_keys(void);
void browse_view_close(struct browse_view *v);
/* The table at hand, ready to be shown in so many columns. */
struct browse_tab *browse_view_tab(struct browse_view *v, unsigned width, bool ascii);
/* The window has another width: texts are broken anew. */
void browse_view_resized(struct browse_view *v);

/* The text of a row's column by its key, put to `out`, empty if it has none. */
bool browse_tab_text(struct browse_tab *x, const char *key, struct buf *out);
/* "DSO:FUNCTION" of the row at hand; false: it is of none. */
bool browse_tab_function(struct browse_tab *x, struct buf *out);
/* The function's name alone. */
bool browse_tab_name(struct browse_tab *x, struct buf *out);
bool browse_tab_number(struct browse_tab *x, const char *key, uint64_t *out);
/* Text that the row has no room for: a name that is cut, an instruction's source line. */
void browse_view_detail(struct browse_view *v, struct buf *out);

#endif
