/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tracing - the formats for a reader of the raw data of tracepoints, as perf stores it in the
 * header feature TRACING_DATA: perf opens no recording with tracepoints that lacks it.
 */
#ifndef CYCLADE_COLLECT_TRACING_H
#define CYCLADE_COLLECT_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* The formats of the tracepoints of these ids, and of their common fields, from root's tracefs.
 * Costs a look at every tracepoint's id: some 20 ms. */
int tracing_data(struct buf *out, const char *root, const uint64_t *ids, size_t n,
		 struct err *err) MUST_USE;

/* The format of one tracepoint, as the kernel prints it. `name`: SYSTEM:NAME, perhaps with
 * modifiers behind it. */
int tracing_format(struct buf *out, const char *root, uint64_t id, const char *name,
		   struct err *err) MUST_USE;

#endif
