/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of diff_counted: runs, and the nodes of their trees (diff_counted_nodes.c).
 */
#ifndef CYCLADE_REPORT_DIFF_COUNTED_INT_H
#define CYCLADE_REPORT_DIFF_COUNTED_INT_H

#include "report/diff/diff_int.h"
#include "report/diff_counted.h"

struct event_row {
	const char *event;
	double period, samples; /* samples NAN: it was counted */
};

struct node_row {
	const char *where, *node, *unit, *above; /* above: the node; NULL: there is none */
	uint64_t id, parent;
	struct estimate value;
	double slots;
};

/* Facts of a node that "repeats" lacks, and slots of a place's tree. */
struct known_node {
	const char *node, *unit, *above;
};
struct known_tree {
	const char *where;
	double slots;
};

struct function_row {
	const char *event, *dso, *function;
	double period, samples;
	struct estimate share;
};

struct counted_run {
	const char *command;
	double seconds;
	VEC(struct event_row) event;
	VEC(struct node_row) node;
	VEC(struct function_row) function;
	struct document d;
	const struct document *doc;
};

struct diff_counted {
	struct arena a;
	struct counted_run *run;
	size_t n;
	/* of the result: */
	const struct document *of;
	const char *input;
	VEC(struct known_node) node; /* by name */
	VEC(struct known_tree) tree;
};

const struct table *counted_table(const struct diff_counted *c, const char *name);
const char *counted_text(struct diff_counted *c, const struct table *t, const char *key,
			 const struct table_row *r);
/* Empty texts are none. */
const char *counted_word(struct diff_counted *c, const struct table *t, const char *key,
			 const struct table_row *r);
struct estimate counted_number(const struct table *t, const char *key, const struct table_row *r);

/* The result's tables of nodes and trees: before the first node. */
void counted_known(struct diff_counted *c);
/* A node of a run, by its name under `key`. */
void counted_node(struct diff_counted *c, struct counted_run *to, const struct table *t,
		  const char *key, const struct table_row *r);
/* Each node behind the one above it, with their numbers. */
void counted_order(struct diff_counted *c, struct counted_run *r);

#endif
