/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_document: which tables it has, and in which order they stand.
 */
#include "base/num.h"
#include "report/memory/memory_int.h"
#include "report/recorded.h"

enum {
	ROWS = 15, /* of sources and of functions, shown to people without --limit */
	LEAST = 5,
};

#define SMALL 0.005 /* a share of the samples that people are not shown unless asked for */

/* ---- the head -------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct memory, member)
static const struct table_column head_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "of events that tell of memory", OF(samples)),
	COLUMN("no_access", "no access", T_COUNT, 0,
	       "IBS ops that access no memory, samples that tell of none", OF(no_access)),
	COLUMN("latency", "latency", T_TEXT, 0, "that the tables by source and so on have",
	       TABLE_CTX(struct memory_view, latency), .name_of = memop_latency_key),
	COLUMN("without", "without", T_COUNT, C_LOSS,
	       "samples without what should tell of memory, or damaged", OF(without)),
};
#undef OF

static const struct table_form summary_form = { "summary", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = { &summary_form,
						  &recorded_form,
						  &memory_sources_form,
						  &memory_tlb_form,
						  &memory_snoops_form,
						  &memory_locks_form,
						  &memory_blocks_form,
						  &memory_objects_form,
						  &memory_object_sources_form,
						  &memory_walks_form,
						  &memory_regions_form,
						  &memory_map_form,
						  &memory_picture_form,
						  &memory_nodes_form,
						  &memory_object_nodes_form,
						  &memory_object_ways_form,
						  &memory_locked_form,
						  &memory_allocations_form,
						  &memory_sites_form,
						  &memory_functions_form,
						  &memory_lines_form,
						  &memory_instructions_form,
						  &memory_threads_form,
						  &memory_cpus_form,
						  &memory_types_form,
						  &memory_fields_form,
						  &memory_fields_by_address_form,
						  &memory_object_types_form,
						  &memory_computed_form,
						  &memory_layouts_form,
						  &memory_latencies_form,
						  &memory_source_latencies_form,
						  &memory_function_latencies_form,
						  &memory_instruction_latencies_form,
						  &memory_histogram_form,
						  &memory_source_histogram_form,
						  &memory_linear_form,
						  &memory_source_linear_form,
						  &recorded_losses_form };
static const struct format faces[] = { { "svg", memory_svg, true, true } };
const struct document_form memory_document = { .name = "mem",
					       .version = 2,
					       .table = forms,
					       .n_tables = sizeof(forms) / sizeof(*forms),
					       .face = faces,
					       .n_faces = 1 };

bool memory_shows_threads(const struct show *s)
{
	return show_wants(s, &memory_threads_form) || show_wants(s, &memory_cpus_form);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_groups(struct document *d, const struct memory_view *v,
		       const struct table_form *form, enum memory_by by)
{
	const struct memory *m = v->m;
	struct table t = { .form = form,
			   .ctx = v,
			   .array = &m->group[m->first[by]],
			   .stride = sizeof(*m->group),
			   .n = m->first[by + 1] - m->first[by] };

	if (by == MEMORY_FUNCTION || by == MEMORY_SOURCE || by == MEMORY_LINE || by == MEMORY_FIELD)
		t.people = v->limit ? v->limit : table_enough(&t, 0, LEAST, ROWS, SMALL);
	/* it was not recorded */
	t.data_only = by >= MEMORY_TLB && by <= MEMORY_BLOCK && t.n == 1 &&
		      !m->group[m->first[by]].key[0];
	document_table(d, &t);
}

void memory_put(struct document *d, struct memory_view *v)
{
	v->latency = memory_shown_latency(v->m);
	document_table(d,
		       &(struct table){ .form = &summary_form, .ctx = v, .array = v->m, .n = 1 });
	recorded_head(d, &v->source);
	if (v->m->samples) {
		const struct memory *m = v->m;
		uint64_t told = m->samples - m->without;
		bool bare = !m->raw && told && m->no_access == told;
		const char *nothing =
			m->n_computed ? "of a precise event" : "of an event with latencies";
		bool timed = told && memory_spread(m, &m->group[m->first[MEMORY_ALL]], v->latency);
		char a[NUM_MAX];

		(void)num_exact(a, told - (bare ? 0 : m->no_access));
		if (timed)
			document_title(
				d, INK_PLAIN, "%s samples %s. Shown: %s latency in cycles, %s", a,
				bare ? "with nothing but latencies" : "of memory operations",
				memop_latency_head(v->latency), memop_latency_means(v->latency));
		else
			document_title(d, INK_PLAIN, "%s samples %s, none with a latency", a,
				       bare ? nothing : "of memory operations");
	} else
		document_title(d, INK_PLAIN, "no samples of memory operations (record --mem)");
	add_groups(d, v, &memory_sources_form, MEMORY_SOURCE);
	add_groups(d, v, &memory_tlb_form, MEMORY_TLB);
	add_groups(d, v, &memory_snoops_form, MEMORY_SNOOP);
	add_groups(d, v, &memory_locks_form, MEMORY_LOCK);
	add_groups(d, v, &memory_blocks_form, MEMORY_BLOCK);
	memory_put_objects(d, v);
	memory_put_map(d, v);
	memory_put_nodes(d, v);
	add_groups(d, v, &memory_functions_form, MEMORY_FUNCTION);
	add_groups(d, v, &memory_lines_form, MEMORY_LINE);
	add_groups(d, v, &memory_instructions_form, MEMORY_INSTRUCTION);
	add_groups(d, v, &memory_threads_form, MEMORY_THREAD);
	add_groups(d, v, &memory_cpus_form, MEMORY_CPU);
	add_groups(d, v, &memory_types_form, MEMORY_TYPE);
	add_groups(d, v, &memory_fields_form, MEMORY_FIELD);
	memory_put_places(d, v);
	memory_put_computed(d, v);
	memory_put_layouts(d, v);
	memory_put_latencies(d, v);
	memory_put_linear(d, v);
	memory_put_facts(d, v);
	memory_put_object_facts(d, v);
	memory_put_place_facts(d, v);
	memory_put_node_facts(d, v);
	recorded_tail(d, &v->source);
}
