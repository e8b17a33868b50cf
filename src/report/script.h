/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script - the samples of a recording one by one, in the order of time: as `perf script` prints
 * them, for tools that read that (stackcollapse-perf.pl, Speedscope, the Firefox Profiler), or as
 * lines of JSON.
 *
 *	script_fields(&fields, said, rec, &err)		optional: -F
 *	script_put(out, rec, spaces, &opts, &err)
 *
 * Without fields, those of perf for the kind of each event. Names come from outside: control
 * characters are escaped in them (\xNN).
 *
 * Costs: one walk in file order; some 2 us a sample, 1 us a frame. Text leaves `out` by the way;
 * what is kept in memory is that of in_order.h.
 */
#ifndef CYCLADE_REPORT_SCRIPT_H
#define CYCLADE_REPORT_SCRIPT_H

#include "analyse/selection.h"
#include "base/buf.h"
#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

enum script_field {
#define SCRIPT_FIELD(id, ...) SCRIPT_##id,
#include "report/export/script_field.def"
#undef SCRIPT_FIELD
	SCRIPT_FIELDS
};

struct script_fields {	     /* zeros: perf's */
	uint64_t only;	     /* bits of enum script_field; 0: the default with ... */
	uint64_t more, less; /* ... these, and without those */
};

struct script_opts {
	const struct selection *select;
	struct script_fields fields;
	unsigned machine; /* EM_* of the recording */
	uint32_t max_stack;
	bool json, nanoseconds, no_chains, no_inlines;
	bool tasks, mappings, switches; /* these records, too; not with json */
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
};

/* "comm,ip,sym", or "+addr,-period" for the default with and without these. ERR_NOT_FOUND if no
 * event of the recording has a field that is named. */
int script_fields(struct script_fields *out, const char *said, const struct pd *rec,
		  struct err *err) MUST_USE;
int script_put(struct buf *out, const struct pd *rec, const struct spaces *spaces,
	       const struct script_opts *opts, struct err *err) MUST_USE;

#endif
