/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_int - the tables of memory_document by what is accessed (memory_object_tables.c).
 */
#ifndef CYCLADE_REPORT_MEMORY_MEMORY_INT_H
#define CYCLADE_REPORT_MEMORY_MEMORY_INT_H

#include "report/memory_view.h"

extern const struct table_form memory_objects_form, memory_object_sources_form,
	memory_allocations_form, memory_walks_form;

void memory_put_objects(struct document *d, const struct memory_view *v);
/* What there is to say about them, after all tables. */
void memory_put_object_facts(struct document *d, const struct memory_view *v);

#endif
