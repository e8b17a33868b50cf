/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_int - the tables of memory_document, in the order of memory_tables.c: by source, code,
 * thread and type (memory_group_tables.c), fields by address (memory_place_tables.c), addresses
 * from registers (memory_operand_tables.c), hot and cold fields (memory_layout_tables.c), all
 * latencies (memory_latency_tables.c; also memory_linear_tables.c, memory_svg.c), by object
 * (memory_object_tables.c), NUMA nodes, locked lines (memory_node_tables.c), regions of addresses
 * over time (memory_map_tables.c). Notes: memory_facts.c.
 */
#ifndef CYCLADE_REPORT_MEMORY_MEMORY_INT_H
#define CYCLADE_REPORT_MEMORY_MEMORY_INT_H

#include "report/memory_view.h"

extern const struct table_form memory_sources_form, memory_tlb_form, memory_snoops_form,
	memory_locks_form, memory_blocks_form, memory_classes_form, memory_functions_form,
	memory_lines_form, memory_instructions_form, memory_threads_form, memory_cpus_form,
	memory_types_form, memory_fields_form, memory_layouts_form, memory_objects_form,
	memory_object_sources_form, memory_allocations_form, memory_sites_form, memory_walks_form,
	memory_latencies_form, memory_source_latencies_form, memory_function_latencies_form,
	memory_instruction_latencies_form, memory_histogram_form, memory_source_histogram_form,
	memory_linear_form, memory_source_linear_form, memory_regions_form, memory_map_form,
	memory_picture_form, memory_nodes_form, memory_object_nodes_form, memory_object_ways_form,
	memory_locked_form, memory_fields_by_address_form, memory_object_types_form,
	memory_computed_form;

void memory_put_computed(struct document *d, const struct memory_view *v);
void memory_put_places(struct document *d, const struct memory_view *v);
void memory_put_place_facts(struct document *d, const struct memory_view *v);
void memory_put_layouts(struct document *d, const struct memory_view *v);
void memory_put_latencies(struct document *d, const struct memory_view *v);
#define MEMORY_LINEAR_BINS 1001
struct memory_linear_bin {
	const struct memory_spread *s;
	uint64_t low, high, n; /* samples of [low, high) cycles */
};
/* memory_linear_tables.c: bins of equal width; how many. */
size_t memory_linear_bins(const struct memory_view *v, const struct memory_spread *s,
			  struct memory_linear_bin out[MEMORY_LINEAR_BINS]);
void memory_put_linear(struct document *d, const struct memory_view *v);
/* memory_svg.c: the histograms as a picture. */
document_write_fn memory_svg;
void memory_put_objects(struct document *d, const struct memory_view *v);
void memory_put_map(struct document *d, const struct memory_view *v);
void memory_put_nodes(struct document *d, const struct memory_view *v);
/* Notes on them, after all tables. */
void memory_put_facts(struct document *d, const struct memory_view *v);
void memory_put_object_facts(struct document *d, const struct memory_view *v);
void memory_put_node_facts(struct document *d, const struct memory_view *v);

/* ---- cells that several tables have ---------------------------------------------------------- */

enum memory_figure {
	MEMORY_MEAN,
	MEMORY_P50,
	MEMORY_P90,
	MEMORY_P99,
	MEMORY_MOST,
	MEMORY_TIMED,
	MEMORY_CYCLES_SHARE
};

void memory_cell_figure(const struct memory *m, const struct memory_spread *s, size_t which,
			struct table_cell *out);
void memory_cell_text(struct table_cell *out, const char *text); /* NULL: "not told" */
void memory_cell_source(const struct memory_group *g, struct table_cell *out);
void memory_cell_function(const struct memory_group *g, struct table_cell *out);
void memory_cell_dso(const struct table *t, const struct memory_group *g, struct table_cell *out);
void memory_cell_address(const struct table *t, const struct memory_group *g,
			 struct table_cell *out);
void memory_cell_object(const struct table *t, const struct memory_object *o,
			struct table_cell *out);
struct estimate memory_part(uint64_t n, uint64_t all);

/* clang-format off */
#define MEMORY_CYCLES(key_, which_, flags_, means_, get_) \
	COLUMN(key_, key_, T_REAL, C_ERROR | C_SPARSE | flags_, means_, .get = get_, \
	       .which = which_, .unit = "cycles")
#define MEMORY_SPREAD(get_) \
	COLUMN("timed", "timed", T_COUNT, C_DATA, "samples that have the latency", .get = get_, \
	       .which = MEMORY_TIMED), \
	MEMORY_CYCLES("mean", MEMORY_MEAN, C_DROP, "of the latency", get_), \
	MEMORY_CYCLES("p50", MEMORY_P50, 0, "half of the samples took no longer", get_), \
	MEMORY_CYCLES("p90", MEMORY_P90, C_DROP, "90 % took no longer", get_), \
	MEMORY_CYCLES("p99", MEMORY_P99, C_DROP, "99 % took no longer", get_), \
	COLUMN("most", "most", T_COUNT, C_SPARSE, "the longest", .get = get_, \
	       .which = MEMORY_MOST, .unit = "cycles")
/* clang-format on */

#endif
