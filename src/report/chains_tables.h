/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains_tables - bounds of the hot innermost loops, as a document.
 *
 *	chains_view_build(&x, view, chains, &err)
 *	document_open(&d, &chains_document, x)
 *	chains_put(&d, x)
 *	chains_view_free(x)				behind document_close()
 *
 * The main table, `bounds`, has a row for each loop; `paths` one for each way through it, `code`
 * one for each instruction of a path, `ports` one for each port. People read the instructions of
 * each chain; of a function that was asked for all instructions of the path seen most, marked.
 */
#ifndef CYCLADE_REPORT_CHAINS_TABLES_H
#define CYCLADE_REPORT_CHAINS_TABLES_H

#include "analyse/chains.h"
#include "report/blocks_view.h"

struct chains_row { /* a loop; of it a path, of it an instruction; or a port */
	const struct chain_loop *l;
	const struct chain_path *p;
	const struct chain_insn *i;
	uint32_t path, port;
};

struct chains_view {
	const struct blocks_view *v;
	const struct chains *c;
	const char *penalties; /* the source of measured latencies; NULL: none */
	bool kept;	       /* by calibrate: not asked for here */
	VEC(struct chains_row) path, ways, code, port, shown;
};

/* `v` and `c` outlive it. */
void chains_view_build(struct chains_view **out, const struct blocks_view *v,
		       const struct chains *c);
void chains_view_free(struct chains_view *x); /* NULL is fine */

extern const struct document_form chains_document;
void chains_put(struct document *d, const struct chains_view *x);

#endif
