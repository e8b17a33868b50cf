/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_latency - a retire latency that formulas of a tree asked for, and where it is from.
 */
#ifndef CYCLADE_MEASURE_TREE_LATENCY_H
#define CYCLADE_MEASURE_TREE_LATENCY_H

#include <stdint.h>

enum tree_latency_source { TREE_LATENCY_UNKNOWN, TREE_LATENCY_SAMPLED, TREE_LATENCY_STATIC };

struct tree_latency {		   /* a retire latency that formulas asked for; core cycles */
	const char *event, *where; /* where: "cpu_core"; NULL: there is one kind of core */
	uint64_t samples;
	unsigned least, most; /* of the samples */
	double mean, error;   /* of the samples, half width at 95 %; NAN: not known */
	double used;	      /* the value in formulas; NAN: they have none */
	enum tree_latency_source source;
	const char *why; /* it is not sampled, or NULL */
};

#endif
