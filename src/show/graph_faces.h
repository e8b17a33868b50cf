/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_faces - dot and svg of a result that can be drawn:
 *
 *	GRAPH_FACES(faces, draw)	struct graph *draw(const void *ctx, struct err *err)
 *	... = { "calls", ..., GRAPH_FACES_OF(faces) }			document_form
 *
 * The graph has no place for tables; losses and notes then go to document_unsaid().
 */
#ifndef CYCLADE_SHOW_GRAPH_FACES_H
#define CYCLADE_SHOW_GRAPH_FACES_H

#include "show/document.h"
#include "show/graph.h"

/* clang-format off */
#define GRAPH_FACE(name, how, draw) \
	static int name(struct buf *out, const struct document *d, const struct show *s, \
			struct err *err) \
	{ \
		(void)s; \
		return how(out, draw(d->ctx, err), err); \
	}
#define GRAPH_FACES(faces, draw) \
	GRAPH_FACE(faces##_dot, graph_write_dot, draw) \
	GRAPH_FACE(faces##_svg, graph_write_svg, draw) \
	static const struct format faces[2] = { { "dot", faces##_dot, true, true }, \
						{ "svg", faces##_svg, true, true } };
#define GRAPH_FACES_OF(faces) .face = (faces), .n_faces = 2
/* clang-format on */

#endif
