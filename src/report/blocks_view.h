/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_view - counted blocks made ready to be shown: which rows, in which order.
 *
 *	blocks_view_build(&v, blocks, images, &source, &opts, &err)
 *	blocks_format_find("term", &err)->write(&buf, v, &sink_opts, &err)
 *	blocks_view_free(v)
 *
 * With a function's name, rows are the blocks of the functions that it means, by address; without,
 * all blocks that ran, most instructions retired first. The view borrows from all that it is made
 * of.
 */
#ifndef CYCLADE_REPORT_BLOCKS_VIEW_H
#define CYCLADE_REPORT_BLOCKS_VIEW_H

#include "analyse/blocks.h"
#include "base/num.h"
#include "report/page.h"
#include "report/sink.h"
#include "report/view.h"
#include "symbol/source.h"

struct blocks_row {
	const struct block_function *f;
	uint32_t block;
	double insns; /* retired in it */
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
	struct blocks_row *row; /* blocks that ran */
	size_t n_rows;
	struct blocks_row *loop; /* `block` is the loop: most runs of the head first */
	size_t n_loops;
	struct flow_balance balance; /* of blocks */
	struct flow_balance places;  /* of places, where no block can be judged */
};

int blocks_view_build(struct blocks_view **out, const struct blocks *b, struct images *images,
		      const struct view_source *source, const struct blocks_view_opts *opts,
		      struct err *err) MUST_USE;
void blocks_view_free(struct blocks_view *v); /* NULL is fine */

/* Whether a format needs blocks_loops(): never; for one function, and for all where stacks are
 * timed; always. */
enum blocks_visits { VISITS_NO, VISITS_OF_FUNCTION, VISITS_OF_ALL };

struct blocks_format {
	const char *name;
	int (*write)(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
		     struct err *err);
	bool machine;
	enum blocks_visits visits;
};
const struct blocks_format *blocks_format_find(const char *name, struct err *err);

#define BLOCKS_FORMAT(name, write, machine, visits)                                        \
	int write(struct buf *out, const struct blocks_view *v, const struct sink_opts *o, \
		  struct err *err);
#include "report/flow/blocks.def"
#undef BLOCKS_FORMAT

/* ---- what the faces share ------------------------------------------------------------------ */

/* Names safe for nothing; never NULL. */
const char *blocks_dso(const struct blocks_view *v, const struct block_function *f);
/* "function+0x1a"; the first block has the name alone. Not safe for terminals. */
void blocks_put_name(struct buf *b, const struct block_function *f, uint32_t block);
/* The ELF's own address of an image address; the address itself where there is no ELF. */
uint64_t blocks_vaddr(const struct blocks_view *v, uint32_t image, uint64_t addr);
struct source_line blocks_line(const struct blocks_view *v, const struct block_function *f,
			       uint32_t block);
/* Who is at a place: its symbol, or NULL; and its image's name. */
const struct symbol *blocks_symbol(const struct blocks_view *v, const struct flow_place *at,
				   const char **dso);
/* mispredicted / (mispredicted + predicted); NAN: the processor did not tell. */
double blocks_mispredicted(const struct branch_tally *t);
/* What times of a block, of a loop's iterations, look like; false: none were taken. */
bool blocks_block_shape(const struct blocks_view *v, const struct block *k, struct flow_shape *out);
bool blocks_loop_shape(const struct block_loop *l, struct flow_shape *out);
struct blocks_iteration { /* cycles; NAN: not known */
	double mean, half, sd;
	const char *why; /* there is no error; NULL: too few stacks */
};
struct blocks_iteration blocks_iteration(const struct blocks *b, const struct block_loop *l);
/* "28", or "?" where too few stacks bound it. */
const char *blocks_quantile(char out[NUM_MAX], const struct flow_quantile *q);
void blocks_put_shape(struct buf *b, const struct flow_shape *s);
/* Nothing if there is none. */
void blocks_put_iteration(struct buf *out, const struct blocks *b, const struct block_loop *l);
/* "m" where there are several modes, "t" where the tail has the cycles; else blanks. */
void blocks_mark(char out[3], const struct flow_shape *s);
/* For people: the stretches between two branches with most cycles, of a function if one was asked
 * for. Nothing where none was timed. -1: memory. */
int blocks_put_stretches(struct page *p, const struct blocks_view *v) MUST_USE;
/* Why a figure is not one of executions, or how it became one: a sentence, never NULL. */
const char *blocks_scale_says(const struct blocks *b);
extern const char *const block_drop_key[BLOCK_DROPS];
extern const char *const blocks_filter_name[]; /* by enum flow_filter: "any", ... */

#endif
