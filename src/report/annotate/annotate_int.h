/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_int - shared by the files of annotate.
 */
#ifndef CYCLADE_REPORT_ANNOTATE_INT_H
#define CYCLADE_REPORT_ANNOTATE_INT_H

#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "report/annotate.h"

/* annotate_source.c */
/* Adds a note on files that were not found; after the lines were asked for. */
void annotate_note_missing(struct annotate *a);

void annotate_name_files(struct annotate *a);
const char *annotate_file(const struct annotate *a, const char *name);

/* annotate_model.c: returns the instruction that holds an address; SIZE_MAX: none. */
size_t annotate_insn_at(const struct annotate *a, uint64_t vaddr);
/* Returns the target of a jump within the function; SIZE_MAX: it is no such jump. */
size_t annotate_jump(const struct annotate *a, const struct annotate_insn *i);

/* annotate_rows.c: the terminal's view, row by row. */
enum annotate_row_kind { ROW_LINE, ROW_INLINE, ROW_INSN, ROW_FOLD };

struct annotate_row {
	enum annotate_row_kind kind;
	size_t first, last; /* instructions [first, last) that it stands for */
	struct tally t;
};
struct annotate_rows {
	VEC(struct annotate_row) v;
};
void annotate_rows(struct annotate_rows *out, const struct annotate *a);

/* annotate_context.c: fills `context`. */
void annotate_make_context(struct annotate *a);
extern const struct table_form annotate_context_form;

/* annotate_arrows.c: the column of jump arrows, one cell string per row. */
enum { ARROW_LANES = 6 };
struct annotate_arrows {
	char (*cell)[4 * (ARROW_LANES + 1) + 1];
	unsigned width; /* columns of each; 0: no arrows */
};
void annotate_arrows(struct annotate_arrows *out, const struct annotate *a,
		     const struct annotate_rows *rows, bool ascii);
void annotate_arrows_free(struct annotate_arrows *w);

/* annotate_blocks.c: nothing if executions of blocks are not known. */
enum { ANNOTATE_BLOCKS_WIDTH = 23 };
void annotate_blocks_head(struct buf *out, const struct annotate *a);
void annotate_blocks_blank(struct buf *out, const struct annotate *a);
void annotate_blocks_cells(struct buf *out, const struct annotate *a,
			   const struct annotate_insn *i);
/* Returns the block that an instruction is in, and sets whether it is the first, or the last, of
 * it; NULL: none, or not known. */
const struct block *annotate_block_of(const struct annotate *a, const struct annotate_insn *i,
				      bool *first, bool *last);

/* annotate_memory.c: nothing if no latencies are known. */
enum { ANNOTATE_MEMORY_WIDTH = 24 };
void annotate_memory_head(struct buf *out, const struct annotate *a);
void annotate_memory_blank(struct buf *out, const struct annotate *a);
void annotate_memory_cells(struct buf *out, const struct annotate *a,
			   const struct annotate_insn *i);
extern const struct table_column annotate_memory_columns[];
extern const size_t annotate_n_memory_columns;

/* annotate_account.c: nothing if there is no account. */
enum { ANNOTATE_ACCOUNT_MAX = 4, ANNOTATE_ACCOUNT_WIDTH = 13 };
struct annotate_account {
	const struct account_bound *bound;
	const struct profile_row **row; /* of the function */
	size_t n_rows, n_events;
	uint32_t *next;	 /* by row: 1 + the next at the same instruction */
	uint32_t *first; /* by instruction: 1 + row */
	uint32_t column[ANNOTATE_ACCOUNT_MAX];
	size_t n_columns;
	struct account_cell *all;  /* of the function */
	struct account_cell *none; /* of no sample */
	struct tally *tally;	   /* of the rows at hand */
	struct account_cell *cell; /* of the instruction `at`; SIZE_MAX: of something else */
	size_t at;
};
size_t annotate_account_width(const struct annotate *a, const struct style *st);
void annotate_account_sum(struct buf *out, const struct annotate *a);
/* `line` 0 to 2: of the heading. */
void annotate_account_head(struct buf *out, const struct annotate *a, const struct style *st,
			   unsigned line);
void annotate_account_cells(struct buf *out, const struct annotate *a, const struct style *st,
			    size_t first, size_t last); /* instructions */
/* The same of all instructions of a source line. */
void annotate_account_line(struct buf *out, const struct annotate *a, const struct style *st,
			   const struct source_line *l);
/* Returns the cells of instructions [first, last), by node; valid until the next call. There must
 * be an account. */
const struct account_cell *annotate_account_of(const struct annotate *a, size_t first, size_t last);
/* "31.2", "~0.4": in per cent of the function's cycles; nothing if it has no sample. */
void annotate_account_put(struct buf *b, const struct annotate *a, uint32_t node,
			  const struct account_cell *c);

/* The ctx of tables: data of rows and columns. */
static inline struct annotate *annotated_of(const struct table *t)
{
	return ((const struct annotate_view *)t->ctx)->a;
}

static inline const struct annotate_insn *annotated_insn_of(const struct table_row *r)
{
	return r->p;
}

/* Returns false for a row of samples at no instruction: it has no address. */
static inline bool is_insn(const struct table *t, const struct table_row *r)
{
	return r->p != &annotated_of(t)->elsewhere;
}

struct annotate_columns {
	struct table_column *v;
	size_t n;
};

/* annotate_code.c: instructions; for people those of --min, and those with most samples. */
extern const struct table_form annotate_instructions_form, annotate_shown_form,
	annotate_hottest_form;
void annotate_code(struct document *d, const struct annotate_view *v);
/* "file.c:12" */
void annotate_put_place(struct table_cell *out, const struct annotate *a,
			const struct source_line *l);
/* Puts the mispredictions or predictions of taken branches, by the column's .which; NULL: no
 * value. */
enum { MISPREDICTED, PREDICTED };
void annotate_put_predicted(const struct table_column *c, const struct branch_tally *b,
			    struct table_cell *out);

/* annotate_costs.c: an account's tables, and columns of instructions: for people, for programs. */
extern const struct table_form annotate_account_form, annotate_costs_form;
void annotate_put_account(struct document *d, const struct annotate_view *v);
void annotate_cost_shares(struct document *d, struct annotate_columns *to,
			  const struct annotate_account *x);
void annotate_costs(struct annotate_columns *to, const struct annotate_account *x);

/* annotate_term.c */
document_write_fn annotate_term;

/* annotate_page.c */
document_write_fn annotate_html;

/* Returns the share of the function, by period, as `report` counts. */
static inline double annotate_share(const struct annotate *a, const struct tally *t)
{
	const struct tally *all = &a->target.total;

	if (all->period)
		return (double)t->period / (double)all->period;
	return all->samples ? (double)t->samples / (double)all->samples : 0;
}

static inline bool same_line(const struct source_line *a, const struct source_line *b)
{
	return a->line == b->line &&
	       (a->file == b->file || (a->file && b->file && !strcmp(a->file, b->file)));
}

#endif
