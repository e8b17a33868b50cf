/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drawing - an svg of boxes with names, for documents: no scripts, no fonts of its own, readable in
 * print and on dark screens.
 *
 *	drawing_begin(&g, out, width, height, css, dark)
 *	drawing_box(), drawing_label(), drawing_text()
 *	drawing_end(&g)
 *
 * Texts may hold anything: they are escaped. `css` has the colours of classes on paper, `dark` has
 * those on a dark screen.
 */
#ifndef CYCLADE_REPORT_DRAWING_H
#define CYCLADE_REPORT_DRAWING_H

#include "base/buf.h"

#define DRAWING_WIDTH  1200.0
#define DRAWING_ROW    17.0
#define DRAWING_MARGIN 10.0
#define DRAWING_LEAST  0.4 /* narrower boxes are left out */
#define DRAWING_LETTER 6.6 /* the width of one */

struct drawing {
	struct buf *out;
	struct buf name; /* of the box at hand: the user's, to be made with buf_puts() */
	struct buf safe, text;
};

/* `css` and `dark` are rules: ".on{fill:#f0a060}". */
void drawing_begin(struct drawing *g, struct buf *out, double width, double height, const char *css,
		   const char *dark);
void drawing_box(struct drawing *g, const char *kind, double x, double y, double width,
		 double height);
/* g->name in a box, folded to its width (show/fold.h); nothing if it is too narrow. */
void drawing_label(struct drawing *g, double x, double y, double width);
/* y is the text's base line; `anchor` "start", "middle" or "end". */
void drawing_text(struct drawing *g, double x, double y, const char *anchor, const char *text);
/* A box and a text behind it; returns where the next one begins. */
double drawing_key(struct drawing *g, const char *kind, double x, double y, const char *text);
void drawing_end(struct drawing *g);

#endif
