/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums - from a table of regions' counts to values, and to a document.
 *
 *	report_open(&r, &view, models, &err)	values wanted; models NULL: loaded here
 *	report_value(r, &sums, wish, ...)	one value of one region
 *	report_document(&d, &r, per_thread, &err)	all of them
 *	report_close(r)
 *
 * The same for a set of this process and for a file that another one wrote.
 */
#ifndef CYCLADE_REGION_SUMS_H
#define CYCLADE_REGION_SUMS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cyclade.h"
#include "model/model.h"
#include "model/tree.h"
#include "region/table.h"
#include "show/document.h"

enum wish_kind { WISH_TREE, WISH_METRIC, WISH_EVENT };

struct wish { /* one word of cyclade_open_opts.metrics */
	enum wish_kind kind;
	const char *name;
	unsigned level;		      /* WISH_TREE: down to */
	uint32_t metric[TABLE_PARTS]; /* WISH_METRIC: MODEL_NONE if a part has none */
};

int wishes_read(struct wish **out, size_t *n, struct arena *a, const char *names,
		struct model *const *model, size_t n_parts, struct err *err) MUST_USE;

struct region_sums { /* a region, of all threads or of one */
	struct table_sums s;
	uint32_t tid;
	char comm[16];
};

struct report {
	const struct table_view *v;
	struct arena arena;
	struct model *model[TABLE_PARTS];
	bool own_models;
	struct wish *wish;
	size_t n_wishes;
	bool *wanted[TABLE_PARTS]; /* by metric */
	uint64_t resets;	   /* of PERF_METRICS */
	size_t slower, blind; /* threads that read(2) although others need not; without counters */
	VEC(struct region_sums) region, thread; /* merged, in the order they first appear; each */
};

/* A region's values: of each kind of core a tree. */
struct region_values {
	struct arena arena;
	struct tree tree[TABLE_PARTS];
	bool has_tree[TABLE_PARTS];
	double count[TABLE_EVENTS]; /* extrapolated; NAN: not measured */
	double share[TABLE_EVENTS];
	double wall;
	double cpu_ns;			/* on a CPU, with counters or without */
	double turn_ns[TABLE_PARTS];	/* how long a group of counters keeps them */
	double part_share[TABLE_PARTS]; /* of cpu_ns, on this kind of core */
	bool too_short;
};

int report_open(struct report *r, const struct table_view *v, struct model *const *models,
		struct err *err) MUST_USE;
void report_close(struct report *r);
int values_make(struct region_values *out, const struct report *r, const struct table_sums *s,
		struct err *err) MUST_USE;
void values_free(struct region_values *v);
struct cyclade_value metric_value(const struct region_values *v, size_t part, uint32_t metric);
struct cyclade_value event_value(const struct report *r, const struct region_values *v,
				 const struct table_sums *s, size_t event);

extern const struct document_form regions_document;
/* Fills an open document, which the report must outlive; `per_thread`: rows of each thread, too. */
int report_document(struct document *d, const struct report *r, bool per_thread,
		    struct err *err) MUST_USE;

#endif
