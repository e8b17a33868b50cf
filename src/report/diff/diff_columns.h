/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_columns - columns of items and machines that the tables of diff and of sum share.
 */
#ifndef CYCLADE_REPORT_DIFF_COLUMNS_H
#define CYCLADE_REPORT_DIFF_COLUMNS_H

#include "report/diff/diff_int.h"

/* The row is a struct diff_item. diff_amount: its estimate at c->which, in the item's kind;
 * diff_node: the path; diff_node_name: for people, the last part of it; diff_event: if there are
 * several. */
table_get diff_amount, diff_node, diff_node_name, diff_event;

/* The table of x->match, whose context is the diff; the names of its kinds. */
extern const struct table_form diff_matches_form;
extern const char *const diff_match_kinds[];

/* clang-format off */
#define DIFF_OF(member) TABLE_FIELD(struct diff_item, member)
#define DIFF_AT(member) .which = offsetof(struct diff_item, member)
#define DIFF_AMOUNT(key, head, means, member, flags) \
	COLUMN(key, head, T_AMOUNT, C_ERROR | C_WHY | (flags), means, .get = diff_amount, \
	       DIFF_AT(member))
#define DIFF_TOTAL_KEYS \
	COLUMN("name", "total", T_TEXT, C_KEY, "an event, elapsed time, IPC", DIFF_OF(key[0]))
#define DIFF_NODE_KEYS \
	COLUMN("where", "where", T_TEXT, C_KEY | C_SPARSE, "the kind of core", DIFF_OF(key[0])), \
	COLUMN("node", "node", T_TEXT, C_KEY | C_DATA, "its path", .get = diff_node), \
	COLUMN("node_name", "tree", T_TEXT, C_PEOPLE | C_FLEX, "", .get = diff_node_name)
#define DIFF_EVENT \
	COLUMN("event", "event", T_TEXT, C_KEY | C_DATA, "that sampled", DIFF_OF(key[0])), \
	COLUMN("event_shown", "event", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = diff_event)
#define DIFF_ROW_KEYS(flags) \
	DIFF_EVENT, \
	COLUMN("dso", "dso", T_TEXT, C_KEY | C_DROP, "the file of the code", DIFF_OF(key[1])), \
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX | (flags), "its name", \
	       DIFF_OF(key[2]))
/* The row is a struct diff_side_sum. */
#define DIFF_SIDE_OF(member) TABLE_FIELD(struct diff_side_sum, member)
#define DIFF_MACHINE \
	COLUMN("command", "command", T_TEXT, 0, "what was recorded", DIFF_SIDE_OF(command)), \
	COLUMN("host", "host", T_TEXT, 0, "the machine's name", DIFF_SIDE_OF(host)), \
	COLUMN("arch", "arch", T_TEXT, 0, "its architecture", DIFF_SIDE_OF(arch)), \
	COLUMN("os_release", "kernel", T_TEXT, 0, "its kernel", DIFF_SIDE_OF(os_release)), \
	COLUMN("cpu", "cpu", T_TEXT, 0, "its CPU", DIFF_SIDE_OF(cpu)), \
	COLUMN("recorder", "recorder", T_TEXT, 0, "version of what recorded", \
	       DIFF_SIDE_OF(recorder))
/* clang-format on */

#endif
