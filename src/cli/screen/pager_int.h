/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pager_int - what the parts of the pager share.
 */
#ifndef CYCLADE_CLI_PAGER_INT_H
#define CYCLADE_CLI_PAGER_INT_H

#include <regex.h>

#include "base/vec.h"
#include "cli/screen/pager.h"

#define PAGER_NONE UINT32_MAX
enum { PAGER_STEP = 64 }; /* rows from one cursor of the index to the next */

struct pager {
	const struct table *t;
	VEC(struct table_row) index; /* of each PAGER_STEPth row; none where rows are an array */
	struct table_row end;	     /* the last row that is indexed */
	struct table_row near;	     /* the last one that was asked for */
	size_t rows;		     /* indexed */
	bool done;
	uint32_t *order; /* row by line, NULL: as they are; in trees those that are not folded */
	size_t n_order;
	uint32_t *sorted; /* all rows in their order; NULL: as they are */
	struct pager_tree {
		uint32_t *parent, *first, *next; /* by row; first[rows]: of the roots */
		uint16_t *depth;
		bool *open;
	} tree; /* .parent NULL: it is none */
	struct {
		regex_t re;
		bool on, literal, backwards;
		char *text;
		size_t at, left;
		unsigned not_flags;
	} find;
};

/* All of the index. Fails for tables that have more rows than are numbered. */
int pager_index_all(struct pager *p, struct err *err) MUST_USE;
/* The row of this number. */
int pager_at(struct pager *p, size_t row, struct table_row *r, struct err *err) MUST_USE;

/* pager_tree.c */
int pager_tree_open(struct pager *p, struct err *err) MUST_USE;
void pager_tree_arrange(struct pager *p); /* by `sorted`, then by what is folded */
void pager_tree_show(struct pager *p, size_t row);
void pager_tree_free(struct pager *p);

/* pager_find.c */
void pager_find_end(struct pager *p);

#endif
