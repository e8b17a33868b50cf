/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_view - counted blocks made ready to be shown: which rows, in which order.
 *
 *	blocks_view_build(&v, blocks, images, &source, &opts, &err)
 *	document_open(&d, &blocks_document, v)
 *	blocks_put(&d, v)
 *	blocks_view_free(v)					behind document_close()
 *
 * With a function's name, rows are the blocks of the functions that it means, by address; without,
 * all blocks, most instructions retired first. The view borrows from all that it is made of.
 */
#ifndef CYCLADE_REPORT_BLOCKS_VIEW_H
#define CYCLADE_REPORT_BLOCKS_VIEW_H

#include "analyse/blocks.h"
#include "base/num.h"
#include "base/vec.h"
#include "report/page.h"
#include "report/view.h"
#include "show/document.h"
#include "show/graph.h"
#include "symbol/source.h"

struct blocks_row {
	const struct block_function *f;
	uint32_t block; /* or edge, or loop: its number in the function */
	double weight;	/* the larger, the earlier */
};

/* A line of a function as people read it: a block, an edge out of it or into it, or how many blocks
 * did not run, how many more edges there are. */
struct blocks_listing {
	const struct block_function *f;
	const struct block_edge *edge;
	uint32_t block;
	size_t n;
	enum { LIST_BLOCK, LIST_OUT, LIST_IN, LIST_COLD, LIST_MORE } kind;
};

struct blocks_interval { /* code from a branch to the next */
	const struct flow_span *span;
	double weight, cycles; /* of all its runs */
};

struct blocks_view_opts {
	const char *function; /* as the person typed it; NULL: all */
	size_t limit;	      /* rows; 0: as fits people */
};

struct blocks_view {
	const struct blocks *b;
	struct images *images;
	struct view_source source;
	struct blocks_view_opts opts;
	VEC(struct blocks_row) row, edge, loop;
	VEC(struct blocks_listing) listing; /* of functions that were asked for */
	VEC(struct blocks_interval)
	interval;			  /* most time first; if none is timed, most weight */
	size_t ran;			  /* of the rows: blocks that did */
	bool timed;			  /* blocks are */
	double cycles, group[FLOW_SLOTS]; /* of all intervals: time, weight */
	struct flow_balance balance;	  /* of blocks */
	struct flow_balance places;	  /* of places, if no block can be judged */
};

int blocks_view_build(struct blocks_view **out, const struct blocks *b, struct images *images,
		      const struct view_source *source, const struct blocks_view_opts *opts,
		      struct err *err) MUST_USE;
void blocks_view_free(struct blocks_view *v); /* NULL is fine */

/* Tables, lines and graphs; the view, which is the document's ctx, must outlive it. */
extern const struct document_form blocks_document;
void blocks_put(struct document *d, const struct blocks_view *v);
/* Returns boxes and arrows of a struct blocks_view. NULL: the code is not there. */
struct graph *blocks_graph(const void *view, struct err *err);
/* Returns true if visits of loops are shown, for which blocks_loops() reads all stacks once
 * more. */
bool blocks_shows_visits(const struct show *s, bool of_function, bool timed);

/* ---- shared by tables and graph -------------------------------------------------------------- */

/* Names safe for nothing; never NULL. */
const char *blocks_dso(const struct blocks_view *v, const struct block_function *f);
/* Returns the ELF's own address of an image address; the address itself if there is no ELF. */
uint64_t blocks_vaddr(const struct blocks_view *v, uint32_t image, uint64_t addr);
struct source_line blocks_line(const struct blocks_view *v, const struct block_function *f,
			       uint32_t block);
/* Returns the symbol at a place, or NULL; and sets its image's name. */
const struct symbol *blocks_symbol(const struct blocks_view *v, const struct flow_place *at,
				   const char **dso);
/* mispredicted / (mispredicted + predicted); NAN: not recorded. */
double blocks_mispredicted(const struct branch_tally *t);
/* Returns why a figure is not one of executions, or how it became one: a sentence, never NULL. */
const char *blocks_scale_says(const struct blocks *b);

#endif
