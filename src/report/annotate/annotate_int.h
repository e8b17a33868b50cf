/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_int - what the files of annotate share.
 */
#ifndef CYCLADE_REPORT_ANNOTATE_INT_H
#define CYCLADE_REPORT_ANNOTATE_INT_H

#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "report/annotate.h"

/* annotate_source.c */
void source_file_free(struct source_file *f);
/* Says in a note which files were not found; after the lines were asked for. */
int annotate_note_missing(struct annotate *a) MUST_USE;

/* annotate_rows.c: what the terminal shows, row by row. */
enum annotate_row_kind { ROW_LINE, ROW_INLINE, ROW_INSN, ROW_FOLD };

struct annotate_row {
	enum annotate_row_kind kind;
	size_t first, last; /* instructions [first, last) that it stands for */
	struct tally t;
};
struct annotate_rows {
	VEC(struct annotate_row) v;
};
int annotate_rows(struct annotate_rows *out, const struct annotate *a) MUST_USE;

/* annotate_arrows.c: the column of jump arrows, one cell string per row. */
enum { ARROW_LANES = 6 };
struct annotate_arrows {
	char (*cell)[4 * (ARROW_LANES + 1) + 1];
	unsigned width; /* columns of each; 0: no arrows */
};
int annotate_arrows(struct annotate_arrows *out, const struct annotate *a,
		    const struct annotate_rows *rows, bool ascii) MUST_USE;
void annotate_arrows_free(struct annotate_arrows *w);

/* annotate_blocks.c: nothing where it is not known how often blocks ran. */
enum { ANNOTATE_BLOCKS_WIDTH = 23 };
void annotate_blocks_head(struct buf *out, const struct annotate *a);
void annotate_blocks_blank(struct buf *out, const struct annotate *a);
void annotate_blocks_cells(struct buf *out, const struct annotate *a,
			   const struct annotate_insn *i);
void annotate_blocks_csv_head(struct buf *out, const struct annotate *a, char sep);
void annotate_blocks_csv(struct buf *out, const struct annotate *a, const struct annotate_insn *i,
			 char sep); /* i NULL: of no instruction */
void annotate_blocks_markdown(struct buf *out, const struct annotate *a,
			      const struct annotate_insn *i);
void annotate_blocks_json_head(struct json *j, const struct annotate *a);
void annotate_blocks_json(struct json *j, const struct annotate *a, const struct annotate_insn *i);

/* annotate_account.c: nothing where there is no account. */
enum { ANNOTATE_ACCOUNT_MAX = 4, ANNOTATE_ACCOUNT_WIDTH = 13 };
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
void annotate_account_csv_head(struct buf *out, const struct annotate *a, char sep);
void annotate_account_csv(struct buf *out, const struct annotate *a,
			  const struct annotate_insn *insn, char sep); /* NULL: of none */
void annotate_account_json_head(struct json *j, const struct annotate *a);
void annotate_account_json(struct json *j, const struct annotate *a,
			   const struct annotate_insn *insn);
void annotate_account_markdown_head(struct buf *out, const struct annotate *a, bool rule);
void annotate_account_markdown(struct buf *out, const struct annotate *a,
			       const struct annotate_insn *insn);

/* The share of the function, by period, as `report` counts. */
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
