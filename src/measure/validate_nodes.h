/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_nodes - whether nodes of the model's tree come out in kernels that are built to be bound
 * by them (nodes/node_kernel.def).
 *
 *	validate_nodes(&node, &n, &opts, &err)
 *	validate_spin(kernel, at, sizes, seconds, &err)		the program that is counted
 *
 * Each kernel runs in a process of its own, `self validate --spin KERNEL@WHERE`, which is counted
 * as stat --no-mux does: each group of events in a run of its own.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_NODES_H
#define CYCLADE_MEASURE_VALIDATE_NODES_H

#include "measure/measure_opts.h"
#include "measure/validate.h"

enum validate_node_verdict { NODE_UNTESTED, NODE_BOUND, NODE_NOT_BOUND };

struct validate_node {
	const char *node; /* its path */
	uint32_t metric;
	const struct kernel *kernel;
	enum calibrate_at at;
	struct estimate share;
	enum validate_node_verdict verdict; /* NODE_BOUND: it is over its threshold */
	const char *why;		    /* of NODE_UNTESTED */
};

struct validate_nodes_opts {
	struct arena *a;		 /* of the results */
	const struct measure_opts *opts; /* root and model; the rest is set here */
	const struct model *m;
	const struct calibrate_sizes *sizes;
	const char *self;   /* the program's path */
	const bool *wanted; /* by metric; NULL: all */
	bool quick;
	bool (*news)(void *ctx, double done); /* false: stop */
	void *ctx;
};

/* Seconds that validate_nodes() will take, about; 0: memory ran out. */
double validate_nodes_time(const struct validate_nodes_opts *opts);
int validate_nodes(struct validate_node **out, size_t *n, const struct validate_nodes_opts *opts,
		   struct err *err) MUST_USE;

/* "walk@L3": ERR_USAGE if there is no such kernel or place. */
int validate_kernel_at(const struct kernel **k, enum calibrate_at *at, const char *text,
		       struct err *err) MUST_USE;
int validate_spin(const struct kernel *k, enum calibrate_at at, const struct calibrate_sizes *sizes,
		  double seconds, struct err *err) MUST_USE;
extern const char *const validate_at_key[AT_WALKS + 1]; /* "L1", ... "" for AT_ANY */

#endif
