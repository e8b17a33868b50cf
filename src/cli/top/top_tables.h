/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * top_tables - the tables of `top`: rows are those of monitor/top.h, and nodes of the tree. A
 * table's ctx is a struct style.
 */
#ifndef CYCLADE_CLI_TOP_TABLES_H
#define CYCLADE_CLI_TOP_TABLES_H

#include "show/table.h"

extern const struct table_form live_functions_form;
extern const struct table_form live_nodes_form;
extern const struct table_form live_processes_form;
extern const struct table_form live_cgroups_form;
extern const struct table_form live_metrics_form;

#endif
