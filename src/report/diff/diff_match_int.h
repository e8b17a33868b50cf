/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the steps of diff_match(), for the functions of one file (dso) of base and new side:
 *
 *	match_open(&m, x, side, dso)	diff_files.c	symbols and samples of both sides
 *	match_clones(&m, &err)			diff_inlined.c	f and f.part.0: by name
 *	match_renamed(&m, true, &err)		diff_renamed.c	by code
 *	match_inlined(&m, &err)			diff_inlined.c	by debug information
 *	match_parts(&m, true, &err)		diff_parts.c	inlined and split ones, by code
 *	match_renamed(&m, false, &err), match_parts(&m, false, &err)	uncertain matches
 *	match_close(&m)
 *
 * A function is in one match at most: later steps add to it or leave it alone. All is bounded:
 * MOST_SHAPES functions are decoded at most.
 */
#ifndef CYCLADE_REPORT_DIFF_MATCH_INT_H
#define CYCLADE_REPORT_DIFF_MATCH_INT_H

#include "report/diff/diff_int.h"
#include "symbol/shape.h"

enum { BASE, NEW, BOTH };
enum { MOST_SHAPES = 20000 };

struct match_func {
	const char *name;
	const struct symbol *symbol; /* NULL: sampled, and the file does not have it */
	uint32_t image;
	double samples;		 /* of its side */
	struct match_func *twin; /* of the same name on the other side; NULL: none */
	struct diff_match *match;
	struct shape *shape;  /* once it was asked for */
	const char **inlined; /* likewise: names of functions inlined into it, sorted */
	size_t n_inlined;
};

struct match_file {
	struct images *images;
	struct match_func *f; /* by name */
	size_t n;
	bool known; /* there are symbols */
};

struct matching {
	struct diff *x;
	size_t side;
	const char *dso; /* the new side's name of the file */
	struct match_file of[BOTH];
	size_t n_shapes;
};

/* Returns the number of samples that the item's amounts of a side are worth. */
double diff_samples(const struct diff *x, const struct diff_item *it, int s);
/* The functions of a side's file, by name; f is to be freed. */
void match_open_file(struct match_file *file, const struct diff_side *s, const char *dso);
void match_open(struct matching *m, struct diff *x, size_t side, const char *dso);
void match_close(struct matching *m);
struct match_func *match_named(const struct match_file *file, const char *name);
/* Returns true if it has samples on this side, and none on the other side under this name. */
bool match_alone(const struct match_func *f);
/* Without code its insns are 0. */
const struct shape *match_shape(struct matching *m, int s, struct match_func *f);
/* Returns true if the name of `inlined` is among the functions inlined into `f`. */
bool match_inlines(struct matching *m, int s, struct match_func *f,
		   const struct match_func *inlined);
struct diff_match *match_new(struct matching *m, enum diff_match_kind kind, bool certain);
void match_add(struct matching *m, struct diff_match *to, int s, struct match_func *f);
/* All of `from` goes to `to`. */
void match_absorb(struct matching *m, struct diff_match *to, struct diff_match *from);

void match_clones(struct matching *m);
void match_inlined(struct matching *m);
/* Adds matches that are certain, or those that are not, among the functions left. */
void match_renamed(struct matching *m, bool certain);
void match_parts(struct matching *m, bool certain);

#endif
