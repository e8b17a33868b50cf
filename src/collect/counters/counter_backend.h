/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter_backend - who does the work of counter.h: perf_event (counter_perf.c) or another, which a
 * setup names.
 *
 * open() gets the setup's backend_ctx and makes the `own` of the other functions. Nothing counts
 * before enable(). Contracts are those of the functions counters_* of the same names; close() is
 * called once, also after a failure of the others.
 */
#ifndef CYCLADE_COLLECT_COUNTER_BACKEND_H
#define CYCLADE_COLLECT_COUNTER_BACKEND_H

#include "collect/counter.h"

struct counter_backend {
	int (*open)(void *ctx, void **own, const struct counter_setup *setup, struct err *err);
	size_t (*targets)(const void *own);
	size_t (*split)(const void *own, size_t group);
	const char *(*refused)(const void *own, size_t group, size_t event, int *number);
	bool (*without_kernel)(const void *own);
	size_t (*files)(const void *own);
	int (*enable)(void *own, size_t group, bool on, struct err *err);
	bool (*apart)(void *own, size_t group); /* NULL: it cannot */
	int (*read)(void *own, size_t group, struct counter_value *out, struct err *err);
	void (*close)(void *own);
};

struct counters {
	const struct counter_backend *by;
	void *own;
};

extern const struct counter_backend counter_perf;

#endif
